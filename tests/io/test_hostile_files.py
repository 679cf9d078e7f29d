"""A file of any content takes little memory to refuse, or to load."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from model_files import file_of
from mutated_files import documents

TESTS = Path(__file__).resolve().parents[1]


@pytest.mark.quiet
@pytest.mark.skipif(not hasattr(os, "fork"), reason="measured in processes that fork")
def test_no_file_takes_200_mb(tmp_path):
    whole, alone = documents()[:2]
    (tmp_path / "whole").write_bytes(file_of(whole))
    (tmp_path / "alone").write_bytes(file_of(alone))
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([*filter(None, sys.path), str(TESTS)]),
    }
    done = subprocess.run(
        [sys.executable, TESTS / "hostile_files.py", tmp_path],
        capture_output=True,
        text=True,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(found) > 25
    too_much = {name: grown for name, grown, _ in found if grown > 200e6}
    assert not too_much
    assert sum(told != "loaded" for *_, told in found) > 15
