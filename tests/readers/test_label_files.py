"""Files of people's labels: columns guessed and mapped, and labels inside of files of judgments."""

from collections.abc import Callable
from pathlib import Path

import pytest

from metajudge.errors import InputError
from metajudge.readers import write_jsonl
from metajudge.readers.label_files import parse_labels_map, read_labels
from metajudge.types import Category, Grade, Item, Judgment, Label

Table = Callable[..., Path]


def test_several_columns_are_several_people(table: Table) -> None:
    rows = read_labels([table(("item_id", "human_1", "human_2"), ("q1", 4, 5), ("q2", "", 3))]).rows
    assert [(one.value, one.annotator, one.line) for one in rows] == [
        ("4", "human_1", 2),
        ("5", "human_2", 2),
        ("3", "human_2", 3),
    ]


def test_a_mapping_goes_before_the_guess(table: Table) -> None:
    path = table(("a", "b", "c", "label"), ("q1", 4, "anna", 1))
    rows = read_labels([path], {"item_id": "a", "label": "b", "annotator": "c"})
    assert [(one.keys["a"], one.value, one.annotator) for one in rows.rows] == [("q1", "4", "anna")]
    with pytest.raises(InputError, match="no column 'z', mapped to label"):
        read_labels([path], {"label": "z"})


def test_a_value_that_cannot_be_guessed_is_asked_for(table: Table) -> None:
    with pytest.raises(InputError, match=r"no column is named like a label.*--labels-map label=COLUMN"):
        read_labels([table(("item_id", "x", "y"), ("q1", 1, 2))])


def test_labels_of_our_own_records_and_verdicts_of_people_as_judges(tmp_path: Path) -> None:
    item = Item(id="q1", question="?", responses={"A": "x"}, labels=(Label(value=Category("ok"), annotator="an"),))
    records = [Judgment(id=f"{judge}1", item=item, judge=judge, verdict=Grade(1.0)) for judge in ("g", "h")]
    write_jsonl(tmp_path / "own.jsonl", records)
    (row,) = read_labels([tmp_path / "own.jsonl"]).rows  # the item's, once
    assert (row.keys["item_id"], row.value, row.annotator) == ("q1", item.labels[0], "an")
    bare = Item(id="q1", question="?", responses={"A": "x"})
    votes = [Judgment(id=f"{who}1", item=bare, judge=who, verdict=Grade(1.0)) for who in ("anna", "ben")]
    write_jsonl(tmp_path / "people.jsonl", votes)
    found = read_labels([tmp_path / "people.jsonl"])
    assert [(one.annotator, one.keys["id"]) for one in found.rows] == [("anna", "anna1"), ("ben", "ben1")]
    assert "each verdict is a label by its judge" in found.notes[0]


def test_a_file_without_any_label_is_refused(table: Table) -> None:
    with pytest.raises(InputError, match="contains no label: every value is empty"):
        read_labels([table(("item_id", "label"), ("q1", ""))])


def test_a_map_of_labels_is_checked() -> None:
    assert parse_labels_map(["item_id=qid,label=a+b", "annotator=who"]) == {
        "item_id": "qid",
        "label": "a+b",
        "annotator": "who",
    }
    for text in ("qid", "judge=x", "label=", "label=a,label=b"):
        with pytest.raises(InputError, match="is not FIELD=COLUMN, each field once"):
            parse_labels_map([text])
