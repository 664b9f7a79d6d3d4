"""Assessments as tables: every column is the record's, and the records come back."""

import sys

import pytest

from metajudge.errors import ConfigurationError, InputError
from metajudge.runs.assessment_tables import assessment_lines, schema, table_of, write_table
from metajudge.runs.frames import to_arrow
from metajudge.types import AgentResult, Assessment, Failure, SignalValue

pytest.importorskip("pyarrow", reason="tables need it; pip install 'metajudge-vet[inputs]'")

BASE = {"strategy": "signals", "threshold": 4.5, "panel_digest": "p", "judgment_digest": "d", "metajudge_version": "0"}


def assessment(name, **changes):
    return Assessment.model_validate(
        {"judgment_id": name, "item_id": "i", "judge": "owl", "status": "assessed", **BASE, **changes}
    )


RECORDS = [
    assessment(
        "kept",
        final_score=4.75,
        accepted=True,
        probability=0.9,
        signals={"order": SignalValue(value=1.0, state="agree"), "peers": SignalValue(value=None, state="none")},
    ),
    assessment("bounds", score_bounds=(1.0, 3.5), accepted=False, category="maths \u201cquoted\u201d"),
    assessment("open", status="unscored", failure=Failure(kind="no_evidence", message="line\none")),
    assessment(
        "agents", final_score=3, accepted=False, agents=(AgentResult(agent="a", model="m", weight=1.0, score=3.0),)
    ),
]
LINES = [one.model_dump_json().encode() for one in RECORDS]


def test_every_column_is_the_records():
    rows = table_of(LINES).to_pylist()
    plain = {name: [row[name] for row in rows] for name in schema().names}
    assert plain["judgment_id"] == ["kept", "bounds", "open", "agents"]
    assert plain["score"] == [4.75, None, None, 3.0]
    assert (plain["score_low"], plain["score_high"]) == ([None, 1.0, None, None], [None, 3.5, None, None])
    assert plain["accepted"] == [True, False, None, False]
    assert plain["category"] == [None, "maths \u201cquoted\u201d", None, None]
    assert plain["failure"] == [None, None, "no_evidence", None]
    assert plain["failure_message"] == [None, None, "line\none", None]
    assert plain["signal.order"] == [1.0, None, None, None]
    assert plain["signal.peers"] == [None] * 4
    assert plain["agents"][3] == [{"agent": "a", "score": 3.0}]
    assert [Assessment.model_validate_json(text) for text in plain["assessment"]] == RECORDS


@pytest.mark.parametrize("ending", ["parquet", "arrow", "feather"])
def test_the_records_come_back_from_a_file(tmp_path, ending):
    path = tmp_path / f"out.{ending}"
    write_table(path, [*LINES] * 3)
    assert list(assessment_lines(path)) == LINES * 3
    write_table(path, [])
    assert list(assessment_lines(path)) == []


def test_more_rows_than_are_in_memory_together(tmp_path, monkeypatch):
    monkeypatch.setattr("metajudge.runs.assessment_tables.ROWS", 3)
    path = tmp_path / "out.parquet"
    write_table(path, LINES * 2)
    assert list(assessment_lines(path)) == LINES * 2


def test_from_python_the_columns_are_those_of_a_file():
    assert to_arrow(RECORDS).equals(table_of(LINES))


def test_what_is_no_table_is_named(tmp_path):
    (tmp_path / "x.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(InputError, match=r"x.parquet cannot be read as a table of assessments"):
        list(assessment_lines(tmp_path / "x.parquet"))


def test_without_pyarrow_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ConfigurationError, match="need pyarrow, which is not installed: pip install"):
        table_of(LINES)
