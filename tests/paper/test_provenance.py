"""A measurement tells its revision, and which files have changed since."""

import subprocess

import pytest

from paper import provenance

LONG = "from math import (\n    pi,\n)\n" + "".join(f"number_{i} = {i}\n" for i in range(30))
LONG += 'def circle():\n    """Return it."""\n    return pi\n'


@pytest.fixture
def git(tmp_path):
    def run(*command):
        settings = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        subprocess.run(["git", "-C", tmp_path, *settings, *command], check=True)

    return run


@pytest.fixture
def commit(git):
    def run():
        git("add", ".")
        git("commit", "--quiet", "--message", "some")

    return run


@pytest.fixture
def package(tmp_path, monkeypatch, git, commit):
    """A package in a repository of its own, committed."""
    folder = tmp_path / "package"
    folder.mkdir()
    (folder / "__init__.py").write_text("one = 1\n")
    git("init", "--quiet")
    commit()
    monkeypatch.setattr(provenance, "_FOLDERS", (folder,))
    return folder


def test_a_revision_has_a_plus_where_files_were_changed(package):
    clean = provenance.revision()
    assert clean.isalnum()
    assert provenance.changed_since(clean) == []
    (package / "__init__.py").write_text("one = 2\n")
    assert provenance.revision() == f"{clean}+"
    assert provenance.changed_since(f"{clean}+") == ["package/__init__.py"]


def test_moved_files_and_imports_are_no_changes(package, commit):
    (package / "moved.py").write_text(LONG)
    commit()
    clean = provenance.revision()
    (package / "moved.py").rename(package / "elsewhere.py")
    commit()
    assert provenance.changed_since(clean) == []
    other = LONG.replace("from math import (\n    pi,\n)", "from numpy import pi  # as there")
    (package / "elsewhere.py").write_text(other.replace("Return it.", "Return the number."))
    assert other != LONG
    assert provenance.changed_since(clean) == []
    (package / "elsewhere.py").write_text(other.replace("number_7 = 7", "number_7 = 8"))
    assert provenance.changed_since(clean) == ["package/elsewhere.py"]
    (package / "elsewhere.py").unlink()
    assert provenance.changed_since(clean) == ["package/moved.py"]


def test_an_unknown_revision_is_named(package):
    with pytest.raises(ValueError, match="no revision 0000001 here"):
        provenance.changed_since("0000001")


def test_an_installed_package_has_no_revision(tmp_path, monkeypatch):
    monkeypatch.setattr(provenance, "_FOLDERS", (tmp_path,))
    assert provenance.revision() is None


def test_without_git_there_is_no_revision(package, monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert provenance.revision() is None


def test_a_machine_is_named_by_its_processor():
    assert provenance.processor() in provenance.machine(None)
    assert provenance.machine(None).partition(" ")[0].isdigit()


def test_a_stamp_tells_where_with_what_and_when(package):
    found = provenance.stamp()
    assert found.startswith(provenance.machine(None))
    assert f"revision {provenance.revision()}, 20" in found
