"""Columns of numbers that commands give on recorded data, kept as ``arrays/NAME.npz`` and compared ever after.

A column is kept whole where it is short or packs well. Of any other, a fixed sample of its rows is kept, with the count,
the sums of values and of squares, and the quantiles of all its rows. Words are kept as digests, rows are named by the
digest of their id, so that no recorded text is kept. A column that is new is no difference; one that is missing is.
"""

import hashlib
import json
import math
import zlib
from collections.abc import Iterable, Mapping
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import numpy as np

from tests.edges.recorded import RECORD, steady

ARRAYS = Path(__file__).with_name("arrays")
SAMPLED = 200
"""Rows kept of a column that is not kept whole: those with the smallest digests."""

WHOLE_BYTES = 3000
"""A column is kept whole if it packs into as many bytes."""

QUANTILES = np.linspace(0, 1, 21)
UNTOLD = {"provenance", "made_by", "inputs", "next", "notices"}
"""Parts of a document that say where it comes from."""

Column = Mapping[str, float | str | bool | None]
"""Row -> value, a row named by any text."""


def digest(text: str) -> int:
    """32 bits of a text's digest."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")


def check_arrays(name: str, columns: Mapping[str, Column], *, tolerance: float = 1e-9) -> None:
    """Compares columns with a recording, or writes it where ``METAJUDGE_RECORD`` names ``arrays/NAME``.

    Args:
        name: of the file in ``arrays/``, without its ending.
        columns: by name.
        tolerance: how far two numbers may lie apart, relative to the larger one (absolute below 1).

    Raises:
        AssertionError: naming the columns that differ.
    """
    path = ARRAYS / f"{name}.npz"
    if any(fnmatch(f"arrays/{name}", pattern) for pattern in RECORD):
        path.parent.mkdir(exist_ok=True)
        _write(path, columns)
        return
    assert path.exists(), f"there is no recording {name}: record it with METAJUDGE_RECORD='arrays/{name}'"
    places = []
    for column, recorded in _read(path).items():
        found = columns.get(column)
        places += (
            [f"{column}: was recorded, is missing"] if not found else _differences(column, recorded, found, tolerance)
        )
    assert not places, f"{name} differs from its recording in {len(places)} places:\n" + "\n".join(places[:20])


def figures(document: Any) -> dict[str, dict[str, float]]:
    """The numbers of a document by their last name; rows are the paths, in their order."""
    columns: dict[str, dict[str, float]] = {}
    for path, value in _numbers(steady(document), "$"):
        columns.setdefault(f"{path.split('.')[1].partition('[')[0]}..{_last(path)}", {})[path] = value
    return columns


def fields(records: Iterable[Mapping[str, Any]], names: Iterable[str], *, row: str) -> dict[str, Column]:
    """Columns of records, ordered by the field that names the row.

    Args:
        records: plain objects.
        names: paths of fields with dots, ``*`` for every name of an object.
        row: the field that names a record.
    """
    columns: dict[str, dict[str, Any]] = {}
    for record in sorted(records, key=lambda one: str(one[row])):
        for name in names:
            for path, value in _found(record, name.split("."), ()):
                columns.setdefault(".".join(path), {})[str(record[row])] = value
    return columns


def _found(value: Any, names: list[str], path: tuple[str, ...]) -> Iterable[tuple[tuple[str, ...], Any]]:
    if not names:
        yield path, json.dumps(value) if isinstance(value, list | dict) else value
        return
    inner = value if isinstance(value, Mapping) else {}
    for name in inner if names[0] == "*" else [names[0]]:
        yield from _found(inner.get(name), names[1:], (*path, name))


def _numbers(value: Any, path: str) -> Iterable[tuple[str, float]]:
    if isinstance(value, Mapping):
        for name in sorted(value.keys() - UNTOLD):
            yield from _numbers(value[name], f"{path}.{name.replace('.', '_')}")
    elif isinstance(value, list):
        for place, one in enumerate(value):
            yield from _numbers(one, f"{path}[{place}]")
    elif isinstance(value, int | float):
        yield path, float(value)


def _last(path: str) -> str:
    return path.rpartition(".")[2].partition("[")[0]


def _packed(column: Column) -> np.ndarray:
    """Numbers as they are, truths as 0 and 1, words as digests, nothing as NaN."""
    cells = column.values()
    values = [digest(one) if isinstance(one, str) else math.nan if one is None else float(one) for one in cells]
    return np.array(values, dtype=np.float64)


def _sums(values: np.ndarray) -> np.ndarray:
    known = values[~np.isnan(values)]
    quantiles = np.quantile(known, QUANTILES) if known.size else np.zeros(len(QUANTILES))
    return np.array([values.size, known.size, math.fsum(known), math.fsum(known**2), *quantiles])


def _write(path: Path, columns: Mapping[str, Column]) -> None:
    parts: dict[str, list[np.ndarray]] = {kind: [] for kind in _KINDS}
    names = [name for name, column in columns.items() if column]
    for name in names:
        values, rows = _packed(columns[name]), _rows(columns[name])
        none = np.array([], dtype=np.float64)
        is_whole = len(zlib.compress(values.tobytes())) <= WHOLE_BYTES
        chosen = np.argsort(rows, kind="stable")[: 0 if is_whole else SAMPLED]
        kept = (
            _identity(rows),
            values if is_whole else none,
            rows[chosen],
            values[chosen],
            none if is_whole else _sums(values),
        )
        for kind, part in zip(_KINDS, kept, strict=True):
            parts[kind].append(part)
    lengths = {f"{kind}_lengths": np.array([len(one) for one in parts[kind]], dtype=np.uint32) for kind in _KINDS}
    np.savez_compressed(
        path, names=np.array(names), **lengths, **{kind: np.concatenate(parts[kind]) for kind in _KINDS}
    )


_KINDS = ("rows", "whole", "sampled", "values", "sums")
"""Of each column: the identity of its rows; all values, or sampled rows with their values, and sums of all values."""


def _read(path: Path) -> dict[str, dict[str, np.ndarray]]:
    with np.load(path) as file:
        ends = {kind: np.cumsum(file[f"{kind}_lengths"])[:-1] for kind in _KINDS}
        parts = {kind: np.split(file[kind], ends[kind]) for kind in _KINDS}
        names = [str(name) for name in file["names"]]
    return {name: {kind: parts[kind][place] for kind in _KINDS} for place, name in enumerate(names)}


def _rows(column: Column) -> np.ndarray:
    return np.array([digest(row) for row in column], dtype=np.uint32)


def _identity(rows: np.ndarray) -> np.ndarray:
    return np.array([zlib.crc32(rows.tobytes())], dtype=np.uint32)


def _differences(name: str, recorded: Mapping[str, np.ndarray], found: Column, tolerance: float) -> list[str]:
    values, rows = _packed(found), _rows(found)
    if _identity(rows) != recorded["rows"]:
        return [f"{name}: its rows are others, now {len(rows)}"]
    texts, places = list(found), []
    if recorded["sums"].size:
        pairs = zip(_SUMS, recorded["sums"], _sums(values), strict=True)
        places = [
            f"{name}: {what} {float(old)!r}, now {float(new)!r}"
            for what, old, new in pairs
            if not _alike(old, new, tolerance)
        ]
        chosen = np.argsort(rows, kind="stable")[: len(recorded["sampled"])]
        texts, old_values, values = [texts[place] for place in chosen], recorded["values"], values[chosen]
    else:
        old_values = recorded["whole"]
    cells = zip(texts, old_values, values, strict=True)
    changed = [
        f"{name} of {row}: {float(old)!r}, now {float(new)!r}"
        for row, old, new in cells
        if not _alike(old, new, tolerance)
    ]
    return places + changed[:5]


_SUMS = ("rows", "values", "sum", "sum of squares", *(f"quantile {one:.2f}" for one in QUANTILES))


def _alike(old: float, new: float, tolerance: float) -> bool:
    return math.isclose(old, new, rel_tol=tolerance, abs_tol=tolerance) or (math.isnan(old) and math.isnan(new))
