"""A measurement tells its revision, and which files have changed since."""

import subprocess

import pytest

from paper import provenance


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package in a repository of its own, committed."""

    def git(*command):
        settings = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        subprocess.run(["git", "-C", tmp_path, *settings, *command], check=True)

    folder = tmp_path / "package"
    folder.mkdir()
    (folder / "__init__.py").write_text("one = 1\n")
    git("init", "--quiet")
    git("add", ".")
    git("commit", "--quiet", "--message", "first")
    monkeypatch.setattr(provenance, "_FOLDERS", (folder,))
    return folder


def test_a_revision_has_a_plus_where_files_were_changed(package):
    clean = provenance.revision()
    assert clean.isalnum()
    assert provenance.changed_since(clean) == []
    (package / "__init__.py").write_text("one = 2\n")
    assert provenance.revision() == f"{clean}+"
    assert provenance.changed_since(f"{clean}+") == ["package/__init__.py"]


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
