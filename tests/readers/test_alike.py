"""Rows that say what a row before said give the judgment that a full check gives."""

import itertools
from pathlib import Path
from typing import Any

import pytest

from metajudge.readers import Reject, alike, open_judgments, parse_map
from tests.readers.binary_tables import write_parquet

MAP = (
    "verdict=winner,question=q,responses.A=a,responses.B=b,judge=who,id=id,rationale=why,order=shown,swapped=swapped,"
    "models.A=m1,models.B=m2,meta=extra,no_verdict=reason,label=gold"
)


def row(number: int, **changes: Any) -> dict[str, Any]:
    plain = {
        "q": "2+2?",
        "a": "4",
        "b": "5",
        "winner": "A",
        "who": "gpt",
        "id": f"j{number}",
        "why": f"Words {number}.",
    }
    rest = {"shown": None, "swapped": None, "m1": "x", "m2": "y", "extra": None, "reason": None, "gold": None}
    return {**plain, **rest, **changes}


CHANGES: list[dict[str, Any]] = [
    {},
    {"winner": "B>>A"},
    {"winner": "x"},
    {"winner": "x", "m1": "y", "m2": "x"},
    {"winner": None},
    {"winner": None, "reason": "cut off"},
    {"winner": None, "reason": "late"},
    {"shown": ["B", "A"]},
    {"shown": ["A", "A"]},
    {"shown": ["A", "C"]},
    {"swapped": "true"},
    {"winner": "purple"},
    {"extra": {"k": 1}},
    {"extra": {"k": 2}},
    {"who": " "},
    {"who": "\u3000"},
    {"id": "\u00a0"},
    {"why": None},
    {"why": "naïve → “so”"},
    {"gold": "B"},
    {"q": "3+3?", "winner": "B"},
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
    pairs = itertools.chain.from_iterable(
        zip(CHANGES * 3, CHANGES + CHANGES[7:] + CHANGES[:7] + CHANGES[3:] + CHANGES[:3], strict=True)
    )
    path = write_parquet(tmp_path / "votes.parquet", [row(number, **one) for number, one in enumerate(pairs)])
    quick = read(path)
    checked = _checked(monkeypatch)
    assert quick == read(path)
    assert len(checked) > len(quick) / 2  # else nothing was compared
    assert {len(one) for one in quick} == {1, 5}


def _checked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Turns the comparison off; returns the rows that it would have spared a check, as they come."""
    spared: list[str] = []

    def none(self: alike.Alike, said: Any) -> None:
        if said is not None:
            spared.append(said)

    monkeypatch.setattr(alike.Alike, "find", none)
    return spared


def test_the_callers_own_data_is_not_shared(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "votes.parquet", [row(1, extra={"k": [1]}), row(2, extra={"k": [1]})])
    first, second = open_judgments([path], mapping=parse_map([MAP + ",meta.by=who"]))
    assert first.meta == second.meta
    assert first.meta is not second.meta
