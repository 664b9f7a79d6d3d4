"""Records of our own in tables with types."""

import json
import math
from pathlib import Path

import pyarrow
import pytest
from pyarrow import parquet

from metajudge.readers import Reject, open_judgments
from metajudge.types import Judgment


def test_records_with_nulls_and_objects_as_text_are_those_of_the_lines(tmp_path: Path) -> None:
    item = {"id": "q1", "question": "?", "responses": {"A": "x", "B": "y"}}
    records = [
        {"version": 1, "id": "a", "item": item, "judge": "g", "verdict": "A>B", "rationale": '{"not": "parsed"}'},
        {
            "version": 1,
            "id": "b",
            "item": item,
            "judge": "g",
            "verdict": None,
            "no_verdict": "late",
            "order": ["B", "A"],
        },
    ]
    rows = [{**one, "item": json.dumps(item), "meta": None} for one in records]
    names = list(dict.fromkeys(name for row in rows for name in row))
    table = pyarrow.table({name: [row.get(name) for row in rows] for name in names if name != "meta"})
    parquet.write_table(table, tmp_path / "records.parquet")
    found = list(open_judgments([tmp_path / "records.parquet"]))
    assert found == [Judgment.model_validate(one) for one in records]


def test_responses_that_only_some_records_have_are_no_responses_of_the_others(tmp_path: Path) -> None:
    items = [{"id": "q1", "question": "?", "responses": {"A": "x", "B": "y", "C": None}}]
    items += [{"id": "q2", "question": "?", "responses": {"A": "x", "B": "y", "C": "z"}}]
    rows = {"id": ["a", "b"], "item": items, "judge": ["g", "g"], "verdict": ["A>B", '[["C"], ["A", "B"]]']}
    parquet.write_table(pyarrow.table({**rows, "version": [1, 1]}), tmp_path / "records.parquet")
    first, second = open_judgments([tmp_path / "records.parquet"])
    assert (list(first.item.responses), str(second.verdict)) == (["A", "B"], "C > A = B")


@pytest.mark.parametrize("name", ["own.jsonl", "own.json", "own.parquet"])
def test_an_infinite_verdict_of_our_own_records_is_a_reject_and_no_word(tmp_path: Path, name: str) -> None:
    item = {"id": "q1", "question": "?", "responses": {"A": "x"}}
    rows = [
        {"version": 1, "id": f"j{number}", "item": item, "judge": "g", "verdict": score}
        for number, score in enumerate((1.5, math.inf, -math.inf))
    ]
    path = tmp_path / name
    if name.endswith("parquet"):
        parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    else:
        path.write_text(json.dumps(rows) if name == "own.json" else "".join(json.dumps(one) + "\n" for one in rows))
    found = list(open_judgments([path]).scan())
    assert [type(one) for one in found] == [Judgment, Reject, Reject]
    assert all("nfinit" in one.reason for one in found if isinstance(one, Reject))


def test_rows_of_one_item_whose_responses_stand_in_another_order_do_not_share_it(tmp_path: Path) -> None:
    texts = pyarrow.map_(pyarrow.string(), pyarrow.string())
    kind = pyarrow.struct([("id", pyarrow.string()), ("question", pyarrow.string()), ("responses", texts)])
    answers = [("A", "x"), ("B", "y")]
    items = [{"id": "q1", "question": "?", "responses": given} for given in (answers, answers[::-1], answers[::-1])]
    rows = {"id": ["a", "b", "c"], "judge": ["g"] * 3, "verdict": ["A>B"] * 3}
    parquet.write_table(pyarrow.table({"item": pyarrow.array(items, kind), **rows}), tmp_path / "records.parquet")
    assert [one.order for one in open_judgments([tmp_path / "records.parquet"])] == [("A", "B"), ("B", "A"), ("B", "A")]
