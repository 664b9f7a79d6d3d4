"""Argilla's records, as its SDK writes them."""

import json
from pathlib import Path
from typing import Any

from metajudge.readers import Reject, open_judgments
from metajudge.types import Category, Grade, Pairwise, Ranking
from tests.doubles.interop_cases import CASES
from tests.readers.interop_files import INTEROP


def test_suggestions_are_verdicts_and_responses_labels() -> None:
    source = open_judgments([INTEROP / "argilla.json"])
    found = {(one.judge, one.item.question): one for one in source}
    for case in CASES:
        assert found["gpt-4o-mini/tone", case.question].verdict == Grade(case.tone)
        judgment = found.get(("gpt-4o-mini/correctness", case.question))
        if judgment is None:
            assert case.judge is None
            continue
        assert judgment.verdict == Category("yes" if case.judge else "no")
        words = [one.value for one in judgment.item.labels]
        assert words == [Category("yes" if right else "no") for right in case.people.values()]
        assert judgment.item.responses == {"A": case.answer}
    assert (source.people.count, source.people.matched) == (8, 7)


def record(fields: dict[str, str], suggested: Any, *said: Any) -> dict[str, Any]:
    responses = {"best": [{"value": value, "user_id": f"u{number}"} for number, value in enumerate(said)]}
    suggestions = {"best": {"value": suggested, "agent": "m", "score": None}}
    return {"id": "r", "fields": fields, "metadata": {}, "suggestions": suggestions, "responses": responses}


def read(tmp_path: Path, data: dict[str, Any]) -> Any:
    (tmp_path / "r.json").write_text(json.dumps([data]))
    return next(open_judgments([tmp_path / "r.json"]).scan())


def test_numbered_fields_are_a_pair_and_ranks_a_ranking(tmp_path: Path) -> None:
    pair = {"prompt": "?", "response_a": "x", "response_b": "y"}
    found = read(tmp_path, record(pair, "response_a", "tie", "response_b"))
    assert found.verdict == Pairwise("A", "B", 1)
    assert [one.value for one in found.item.labels] == [Pairwise("A", "B", 0), Pairwise("B", "A", 1)]
    three = {"prompt": "?", "response_1": "x", "response_2": "y", "response_3": "z"}
    ranks = [{"value": name, "rank": rank} for name, rank in (("B", 1), ("A", 2), ("C", 2))]
    assert read(tmp_path, record(three, ranks)).verdict == Ranking((("B",), ("A", "C")))


def test_fields_that_are_no_answer_are_a_reject(tmp_path: Path) -> None:
    (tmp_path / "r.json").write_text(
        json.dumps([record({"q": "?", "x": "1", "y": "2"}, 1), record({"q": "?", "a": "b"}, 2)])
    )
    bad, good = open_judgments([tmp_path / "r.json"]).scan()
    assert isinstance(bad, Reject)
    assert "fields: q, x, y are no question with one response" in bad.reason
    assert not isinstance(good, Reject)
