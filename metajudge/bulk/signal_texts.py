"""Signals as JSON, and the keys that depend on them; values that repeat are written once."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any, Final

import numpy as np
import orjson
from numpy.typing import NDArray

from metajudge.evidence.facts import SignalColumn
from metajudge.evidence.grouping import Key
from metajudge.types import SignalValue
from metajudge.types.digests import bytes_digest, json_bytes

_MANY_VALUES: Final = {"rationale", "length_ratio"}
"""Signals with nearly as many values as items: a part of their own each."""

_Part = tuple[NDArray[np.int64], list[str]]
"""[n] places in a table of texts, and the table."""


class SignalTexts:
    """Signals of n judgments as JSON, and as the part of a key that names them."""

    def __init__(self, columns: Mapping[str, SignalColumn]) -> None:
        self._stored = [_part(columns, names, _written) for names in _runs(columns)]
        self._keyed = [_part(columns, names, _canonical) for names in _runs(sorted(columns))]

    def written(self, rows: NDArray[np.integer[Any]]) -> list[str]:
        """Each row's signals as JSON."""
        return _joined(_chosen(self._stored, rows)) if self._stored else ["{}"] * len(rows)

    def keyed(self, rows: NDArray[np.integer[Any]]) -> list[str]:
        """Each row's signals that a key names, as canonical JSON."""
        return _joined(_chosen(self._keyed, rows)) if self._keyed else ["{}"] * len(rows)


def _joined(parts: Sequence[Sequence[str]]) -> list[str]:
    """Signals in parts as JSON objects."""
    return ["{" + "".join(row)[1:] + "}" for row in zip(*parts, strict=True)]


def _chosen(parts: Sequence[_Part], rows: NDArray[np.integer[Any]]) -> list[list[str]]:
    return [[texts[code] for code in codes[rows].tolist()] for codes, texts in parts]


def _runs(names: Iterable[str]) -> list[list[str]]:
    """Signals in their order, those with few values together."""
    return [list(run) for _, run in groupby(names, lambda name: name if name in _MANY_VALUES else "")]


def _part(columns: Mapping[str, SignalColumn], names: Sequence[str], write: Callable[[SignalValue], bytes]) -> _Part:
    """The texts of some signals; a missing one is nothing."""
    key = Key.of(np.zeros(len(columns[names[0]].codes), dtype=np.int64), 1)
    for name in names:
        key = key.then(np.asarray(columns[name].codes, dtype=np.int64) + 1, len(columns[name].values) + 1)
    codes, first = key.distinct()
    fragments = []
    for name in names:
        column, head = columns[name], b"," + orjson.dumps(name) + b":"
        texts = [(head + write(value)).decode() for value in column.values]
        fragments.append([texts[code] if code >= 0 else "" for code in column.codes[first].tolist()])
    return codes, ["".join(row) for row in zip(*fragments, strict=True)]


def _written(value: SignalValue) -> bytes:
    return value.model_dump_json().encode()


def _canonical(value: SignalValue) -> bytes:
    return json_bytes(value.model_dump(), sort_keys=True)


def stored_keys(keys: Sequence[str], signals: Sequence[str]) -> list[str]:
    """Keys of assessments in the store: of the vetting and of the signals, which depend on the judgments around.

    The same as ``digest([key, signals])`` of :mod:`metajudge.types.digests` for each.
    """
    return [bytes_digest(f'["{key}",{own}]'.encode()) for key, own in zip(keys, signals, strict=True)]
