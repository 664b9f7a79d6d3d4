"""A tool of its own: two functions and an entry."""

from collections.abc import Callable
from pathlib import Path

import pytest

from metajudge.readers import assessed_formats, open_judgments
from metajudge.readers.assessed_formats import AssessedFormat
from metajudge.readers.assessed_runs import AssessedRun
from metajudge.readers.people import PersonScore
from metajudge.readers.scored_runs import RecordedRun, RecordedScore
from metajudge.types import Category, Grade

Write = Callable[..., Path]


def test_a_new_tool_is_two_functions_and_an_entry(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    def run_of(row: object) -> AssessedRun:
        assert isinstance(row, dict)
        scores = [
            RecordedScore(id=None, run=None, judge=judge, value=value, comment=why, meta={}, name="ok")
            for judge, value, why in row["said"]
        ]
        return AssessedRun(
            RecordedRun(row["ticket"], row["asked"], row["told"]), scores, [PersonScore("ok", "anna", None, True)]
        )

    ours = AssessedFormat("Tickets", lambda record: {"ticket", "said"} <= record.keys(), run_of)
    monkeypatch.setattr(assessed_formats, "assessed_formats", lambda: (ours,))
    row = {
        "ticket": "t1",
        "asked": "?",
        "told": "!",
        "said": [["heron", 4, "Good."], ["heron", 5, ""], ["wren", True, ""]],
    }
    source = open_judgments([write("week.1.jsonl", row)])
    found = list(source)
    assert source.formats == {str(source.formats and next(iter(source.formats))): "Tickets"}
    assert [(one.id, one.verdict) for one in found] == [
        ("week:1/heron", Grade(4)),
        ("week:1/heron/2", Grade(5)),
        ("week:1/wren", Category(True)),
    ]
    assert {one.item.id for one in found} == {"t1"}
    assert [label.annotator for label in found[0].item.labels] == ["anna"]
