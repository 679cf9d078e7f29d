"""Every form is written whole or not at all, and what has none is refused first."""

import pytest
from every_pool import NotExported
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from shareboost import ShareBoostClassifier
from shareboost.export import save_model, to_c, to_js, to_onnx

every_exporter = pytest.mark.parametrize(
    "export", [to_c, to_js, to_onnx, save_model], ids=lambda export: export.__name__
)


@every_exporter
def test_a_file_is_written_whole_or_not_at_all(export, fitted_model, tmp_path):
    clf, path = fitted_model("columns"), tmp_path / "model"
    returned = export(clf, path)
    whole = path.read_bytes()
    if isinstance(returned, str):
        assert returned == path.read_text()
    path.write_text("mine")
    with pytest.raises(FileExistsError, match="overwrite=True"):
        export(clf, path)
    assert path.read_text() == "mine"
    export(clf, str(path), overwrite=True)
    assert path.read_bytes() == whole
    with pytest.raises(FileNotFoundError):
        export(clf, tmp_path / "nowhere" / "model")
    with pytest.raises(IsADirectoryError):
        export(clf, tmp_path, overwrite=True)
    with pytest.raises(TypeError, match="PathLike object, not int"):
        export(clf, 3)
    assert [file.name for file in tmp_path.iterdir()] == ["model"]


@every_exporter
def test_what_cannot_be_exported_is_refused_before_a_file_is_touched(export, tmp_path):
    path = tmp_path / "model"
    path.write_text("mine")
    with pytest.raises(NotFittedError):
        export(ShareBoostClassifier(), path, overwrite=True)
    with pytest.raises(TypeError, match="LogisticRegression"):
        export(LogisticRegression(), path, overwrite=True)
    clf = ShareBoostClassifier(2).fit(*load_iris(return_X_y=True))
    clf.path_.features = NotExported(clf.selected_)
    with pytest.raises(TypeError, match="NotExported cannot be"):
        export(clf, path, overwrite=True)
    assert path.read_text() == "mine"
