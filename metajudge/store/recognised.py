"""Rows of a block that a DuckDB file has as the newest ones, found by columns."""

from typing import Any, Final

import duckdb
import numpy as np
import numpy.typing as npt

from metajudge.store.block_writes import CheckedBlock
from metajudge.store.bulk import Numbers
from metajudge.store.gaps import COLUMNS

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
    own = (block.keys, block.judgment_digests, block.panel_digests, checked.payloads, *block.parts)
    for name, column in zip((*_COMPARED, *COLUMNS), own, strict=True):
        same &= found[name][places] == _column(column)[asked]
    versions[asked[same]] = found["number"][places[same]]
    return versions


def _comes_twice(checked: CheckedBlock) -> bool:
    """Whether two rows are about the same judgment and panel: then their order counts."""
    block = checked.block
    return len(set(zip(block.judgment_digests, block.panel_digests, strict=True))) < len(block)


def _column(values: Any) -> npt.NDArray[Any]:
    return np.array(values, dtype=object)
