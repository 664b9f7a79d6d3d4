"""Rows that say what a row before said give the judgment that a full check gives."""

import itertools
from pathlib import Path
from typing import Any

import pytest

from metajudge.reading import Reject, alike, open_judgments, parse_map
from tests.reading.binary_tables import write_parquet

MAP = (
    "verdict=winner,question=q,responses.A=a,responses.B=b,judge=who,id=id,rationale=why,order=shown,swapped=swapped,"
    "models.A=m1,models.B=m2,meta=extra,no_verdict=reason,label=gold"
)


def row(number: int, **changes: Any) -> dict[str, Any]:
    plain = {"q": "2+2?", "a": "4", "b": "5", "winner": "A", "who": "gpt", "id": f"j{number}", "why": f"W {number}."}
    return plain | {"m1": "x", "m2": "y"} | dict.fromkeys(("shown", "swapped", "extra", "reason", "gold")) | changes


CHANGES: list[dict[str, Any]] = [
    *({"winner": word} for word in ("A", "B>>A", "x", None, "purple")),
    {"winner": "x", "m1": "y", "m2": "x"},
    *({"winner": None, "reason": reason} for reason in ("cut off", "late")),
    *({"shown": order} for order in (["B", "A"], ["A", "A"], ["A", "C"])),
    *({"swapped": "true"}, {"id": "\u00a0"}, {"who": " "}, {"who": "\u3000"}),
    *({"extra": {"k": 1}}, {"extra": {"k": 2}}, {"gold": "B"}, {"q": "3+3?", "winner": "B"}),
    *({"why": why} for why in (None, "naïve → “so”")),
]


def read(path: Path) -> list[tuple[Any, ...]]:
    found = open_judgments([path], mapping=parse_map([MAP], ["purple=tie"])).scan()
    return [
        (one.reason,)
        if isinstance(one, Reject)
        else (one.digest, one.order, one.no_verdict, one.meta, one.model_dump())
        for one in found
    ]


def test_judgments_and_rejects_are_those_of_a_full_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    beside = CHANGES + CHANGES[7:] + CHANGES[:7] + CHANGES[3:] + CHANGES[:3]
    pairs = itertools.chain.from_iterable(zip(CHANGES * 3, beside, strict=True))
    path = write_parquet(tmp_path / "votes.parquet", [row(number, **one) for number, one in enumerate(pairs)])
    quick, spared = read(path), list[Any]()
    # Without the comparison, rows that it would have spared a check are checked.
    monkeypatch.setattr(alike.Alike, "find", lambda _, said: None if said is None else spared.append(said))
    assert quick == read(path)
    assert len(spared) > len(quick) / 2  # else nothing was compared
    assert {len(one) for one in quick} == {1, 5}


def test_the_callers_own_data_is_not_shared(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "votes.parquet", [row(1, extra={"k": [1]}), row(2, extra={"k": [1]})])
    first, second = open_judgments([path], mapping=parse_map([MAP + ",meta.by=who"]))
    assert first.meta == second.meta
    assert first.meta is not second.meta
