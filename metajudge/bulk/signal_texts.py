"""Signals as JSON, and the keys that depend on them; values that repeat are written once."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from metajudge.evidence.facts import SignalColumn
from metajudge.types import SignalValue
from metajudge.types.digests import bytes_digest, json_bytes


class SignalTexts:
    """Signals of n judgments as JSON, and as the part of a key that names them.

    Args:
        columns: in the order in which an assessment lists them.
    """

    def __init__(self, columns: Mapping[str, SignalColumn]) -> None:
        self._columns = columns
        self._texts = {name: _fragments(name, column.values, _written) for name, column in columns.items()}
        self._keyed = {name: _fragments(name, columns[name].values, _canonical) for name in sorted(columns)}

    def written(self, rows: NDArray[np.integer[Any]]) -> list[bytes]:
        """Each row's signals as in an assessment."""
        return self._joined(self._texts, rows)

    def keyed(self, rows: NDArray[np.integer[Any]]) -> list[bytes]:
        """Each row's signals as canonical JSON."""
        return self._joined(self._keyed, rows)

    def _joined(self, fragments: Mapping[str, list[bytes]], rows: NDArray[np.integer[Any]]) -> list[bytes]:
        parts = [
            [texts[code] for code in self._columns[name].codes[rows].tolist()] for name, texts in fragments.items()
        ]
        return [b"{" + b"".join(row)[1:] + b"}" for row in zip(*parts, strict=True)]


def _fragments(name: str, values: Sequence[SignalValue], write: Callable[[SignalValue], bytes]) -> list[bytes]:
    """Each value after a comma and its name; the last entry, which the code -1 means, is nothing."""
    head = b"," + orjson.dumps(name) + b":"
    return [*(head + write(value) for value in values), b""]


def _written(value: SignalValue) -> bytes:
    return value.model_dump_json().encode()


def _canonical(value: SignalValue) -> bytes:
    return json_bytes(value.model_dump(), sort_keys=True)


def stored_keys(keys: Sequence[str], signals: Sequence[bytes]) -> list[str]:
    """Keys of assessments in the store: of the vetting and of the signals, which depend on the judgments around.

    The same as ``digest([key, signals])`` of :mod:`metajudge.types.digests` for each.

    Args:
        keys: hex digits.
        signals: as canonical JSON.
    """
    return [bytes_digest(b'["%b",%b]' % (key.encode(), own)) for key, own in zip(keys, signals, strict=True)]
