"""Facts of some judgments as bytes, with the tables that they need."""

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import orjson
from numpy.typing import NDArray

from metajudge.evidence.facts import CODED, COUNTED, NUMBERS, Facts
from metajudge.evidence.units import ItemFact
from metajudge.types import parse_verdict

_HEAD: Final = 4
"""Bytes of the length of the JSON in front: ids and tables. Columns of int32 and of float64 follow."""


def packed(facts: Facts, rows: NDArray[np.integer[Any]]) -> bytes:
    """The facts of chosen rows; :func:`unpacked` reads them."""
    front: dict[str, Any] = {"ids": [facts.judgment_ids[row] for row in rows.tolist()]}
    columns = []
    for name, table in CODED.items():
        values, codes = getattr(facts, table), getattr(facts, name)[rows]
        used = np.unique(codes[codes >= 0])
        places = np.full(len(values) + 1, -1, dtype="<i4")  # the last one is meant by the code -1
        places[used] = np.arange(len(used))
        columns.append(places[codes])
        front[table] = [_PLAIN.get(table, _same)(values[code]) for code in used.tolist()]
    columns += [getattr(facts, name)[rows].astype("<i4") for name in COUNTED]
    numbers = [getattr(facts, name)[rows].astype("<f8") for name in NUMBERS]
    text = orjson.dumps(front)
    return b"".join((len(text).to_bytes(_HEAD, "big"), text, *(one.tobytes() for one in (*columns, *numbers))))


def unpacked(content: bytes) -> Facts:
    """The facts that :func:`packed` was given."""
    end = _HEAD + int.from_bytes(content[:_HEAD], "big")
    front = orjson.loads(content[_HEAD:end])
    size, names = len(front["ids"]), (*CODED, *COUNTED)
    codes = np.frombuffer(content, dtype="<i4", offset=end, count=size * len(names)).reshape(len(names), size)
    rest = np.frombuffer(content, dtype=np.uint8, offset=end + codes.nbytes).tobytes()
    numbers = np.frombuffer(rest, dtype="<f8").reshape(len(NUMBERS), size)
    tables = {table: [_READ.get(table, _same)(value) for value in front[table]] for table in CODED.values()}
    columns: dict[str, Any] = dict(zip(names, codes.astype(np.int32), strict=True))
    columns |= tables | dict(zip(NUMBERS, numbers, strict=True))
    return Facts(judgment_ids=front["ids"], **columns)


def _same(value: Any) -> Any:
    return value


def _verdict(value: Any) -> Any:
    return value.to_json()


def _item(value: Sequence[Any]) -> ItemFact:
    name, content, question, scale, *asked = value
    return ItemFact(name, content, question, None if scale is None else tuple(scale), *asked)


_PLAIN: Final[dict[str, Callable[[Any], Any]]] = {"items": list, "verdicts": _verdict, "truths": _verdict}
_READ: Final[dict[str, Callable[[Any], Any]]] = {
    "items": _item,
    "orders": tuple,
    "verdicts": parse_verdict,
    "truths": parse_verdict,
    "rationales": tuple,
}
