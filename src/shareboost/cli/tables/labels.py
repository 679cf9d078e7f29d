"""Class labels from the texts of a table, and the texts of labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import CommandError, listed


class LabelTexts:
    """The texts of a column of labels, gathered block by block.

    Each text is kept once, and a row takes the four bytes of its place among them.
    """

    def __init__(self) -> None:
        self._places: dict[str, int] = {}
        self._rows: list[NDArray[np.int32]] = []

    def add(self, column: Any) -> None:
        """Add a block of rows, an array of pyarrow's."""
        encoded = column.dictionary_encode()
        known = [
            self._places.setdefault("" if text is None else text, len(self._places))
            for text in encoded.dictionary.to_pylist()
        ]
        # A missing value has no place in the dictionary: it is the empty text.
        if encoded.null_count:
            known.append(self._places.setdefault("", len(self._places)))
            encoded = encoded.indices.fill_null(len(known) - 1)
        else:
            encoded = encoded.indices
        self._rows.append(np.array(known, dtype=np.int32)[encoded.to_numpy()])

    @property
    def texts(self) -> list[str]:
        """The different texts."""
        return list(self._places)

    @property
    def places(self) -> NDArray[np.int32]:
        """The place of each row's text among them, (n,)."""
        return np.concatenate([np.empty(0, dtype=np.int32), *self._rows])

    def labels(self, target: str, name: str) -> NDArray[Any]:
        """Return the labels of the rows: integers where all texts are whole numbers, else text."""
        check_labels(self.texts, target, name)
        return labels_of(self.texts, target)[self.places]

    def labels_among(self, classes: NDArray[Any], target: str, name: str) -> NDArray[Any]:
        """Return the labels of the rows as a trained model has them."""
        check_labels(self.texts, target, name, least=0)
        known = {text_of(label): place for place, label in enumerate(classes)}
        found = [known.get(_whole(text) or text, -1) for text in self.texts]
        if unknown := [text for text, place in zip(self.texts, found, strict=True) if place < 0]:
            raise CommandError(
                f"Column {target!r} of {name} has labels that the training had not: "
                f"{listed(unknown)}."
            )
        return classes[np.array(found, dtype=np.intp)[self.places]]


def check_labels(texts: Sequence[str], target: str, name: str, least: int = 2) -> None:
    """Raise where the target is no column of labels."""
    if "" in texts:
        raise CommandError(f"The target {target!r} of {name} has rows without a label.")
    if len(texts) < least:
        found = f"one class alone, {texts[0]!r}" if texts else "no rows"
        raise CommandError(
            f"The target {target!r} of {name} has {found}: a classifier takes at least 2 classes."
        )


def labels_of(texts: Sequence[str], target: str) -> NDArray[Any]:
    """Return texts as labels: integers where all are whole numbers, else as they are."""
    whole = [_whole(text) for text in texts]
    if all(text is not None for text in whole):
        return np.array([int(text or "") for text in whole])
    fraction = next((t for t in texts if _is_number(t) and not float(t).is_integer()), None)
    if fraction is not None and all(map(_is_number, texts)):
        raise CommandError(
            f"The target {target!r} holds numbers that are not whole, for instance {fraction}: a "
            "classifier takes labels of classes."
        )
    return np.array(texts, dtype=object)


def text_of(label: Any) -> str:
    """Return the text of a label."""
    text = str(label)
    return _whole(text) or text


def _whole(text: str) -> str | None:
    """Return a whole number of up to 15 digits in its plain form, None for another text."""
    if not _is_number(text) or not float(text).is_integer() or abs(float(text)) >= 1e15:
        return None
    # Codes such as 007 are texts.
    if text.lstrip("+-").startswith("0") and text.lstrip("+-").partition(".")[0] != "0":
        return None
    return str(int(float(text)))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text and text.strip() == text
