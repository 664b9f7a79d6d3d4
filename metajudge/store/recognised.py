"""Rows of a block that a DuckDB file has as the newest ones, found by columns."""

from typing import Any, Final

import duckdb
import numpy as np
import numpy.typing as npt
import orjson

from metajudge.store.block_writes import CheckedBlock
from metajudge.store.bulk import Numbers
from metajudge.store.gaps import COLUMNS
from metajudge.store.repeats import same_signals

_APART: Final = 4_096
"""Stored rows with fewer others between them are read together."""
_STRETCHES: Final = 16
"""Where stored rows lie in more stretches than these, as after an input was shuffled, they are compared one by one."""

_COMPARED: Final = ("key", "judgment_digest", "panel_digest", "payload")

_QUERY: Final = f"""
    SELECT a.assessment_id, l.number, {", ".join(f"a.{name}" for name in (*_COMPARED, *COLUMNS))}
    FROM assessment_rows a JOIN lines l ON l.assessment_id = a.assessment_id
    WHERE a.assessment_id BETWEEN $1 AND $2 AND l.assessment_id BETWEEN $1 AND $2
        AND a.signals_1 IS NOT NULL AND NOT a.redacted
    ORDER BY a.assessment_id
"""  # noqa: S608 - our own names


def recognised(connection: duckdb.DuckDBPyConnection, checked: CheckedBlock, stored: Numbers) -> Numbers:
    """The current version of each row that is the result its judgment has already by its panel.

    What is not recognised here, :func:`metajudge.store.repeats.new_rows` compares one by one.

    Args:
        stored: [n] numbers of the assessments that may have the rows' keys; 0 without one.

    Returns:
        [n] numbers; 0 where a row is not recognised.
    """
    block, versions = checked.block, np.zeros(len(checked), dtype=np.int64)
    asked = np.flatnonzero(stored)
    if not len(asked) or not block.parts or block.annotations is not None:
        return versions
    order = np.sort(stored[asked])
    stretches = np.split(order, np.flatnonzero(np.diff(order) > _APART) + 1)
    if len(stretches) > _STRETCHES or _comes_twice(checked):
        return versions
    read = [connection.execute(_QUERY, [int(one[0]), int(one[-1])]).fetchnumpy() for one in stretches]
    found = {name: np.concatenate([np.asarray(one[name]) for one in read]) for name in read[0]}
    asked = asked[np.isin(stored[asked], found["assessment_id"])]
    places = np.searchsorted(found["assessment_id"], stored[asked])
    same = np.ones(len(asked), dtype=bool)
    own = (block.keys, block.judgment_digests, block.panel_digests, checked.payloads)
    for name, column in zip(_COMPARED, own, strict=True):
        same &= found[name][places] == _column(column)[asked]
    same &= _same_parts([found[name][places] for name in COLUMNS], [_column(part)[asked] for part in block.parts])
    versions[asked[same]] = found["number"][places[same]]
    return versions


def _comes_twice(checked: CheckedBlock) -> bool:
    """Whether two rows are about the same judgment and panel: then their order counts."""
    block = checked.block
    return len(set(zip(block.judgment_digests, block.panel_digests, strict=True))) < len(block)


def _same_parts(known: list[npt.NDArray[Any]], new: list[npt.NDArray[Any]]) -> npt.NDArray[np.bool_]:
    """[n] whether the signals of rows are those of the same result."""
    differ = [old != own for old, own in zip(known, new, strict=True)]
    same: npt.NDArray[np.bool_] = ~np.any(differ, axis=0)
    compared: dict[tuple[str, ...], bool] = {}
    for old, own, changed in zip(known, new, differ, strict=True):
        only = changed & (np.sum(differ, axis=0) == 1)
        for place in np.flatnonzero(only).tolist():
            pair = old[place], own[place]
            if pair not in compared:
                compared[pair] = same_signals(_signals(pair[0]), _signals(pair[1]))
            same[place] = compared[pair]
    return same


def _signals(part: str) -> dict[str, Any]:
    found: dict[str, Any] = orjson.loads("{" + part[1:] + "}")
    return found


def _column(values: Any) -> npt.NDArray[Any]:
    return np.array(values, dtype=object)
