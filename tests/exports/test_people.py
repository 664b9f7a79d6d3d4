"""What several people say of an item, spread over its records, chooses between judgments."""

import pytest

from metajudge.types import Label
from tests.exports.stored import exported_from, filled
from tests.exports.test_graded import pairs
from tests.exports.vetted import assessment, exported, judgment, rows_of, single


def labelled(number, *labels, **changes):
    said = judgment(number, **changes)
    entries = tuple(Label(value=value, annotator=name) for name, value in labels)
    return said.model_copy(update={"item": said.item.model_copy(update={"labels": entries})})


@pytest.fixture
def said():
    """Three people in two records, one of them in both, say B; the judges say A and B."""
    return [
        labelled(0, ("ann", "B>A"), ("ben", "A>B"), judge="owl", verdict="A>B"),
        labelled(0, ("ann", "B>A"), ("cal", "B>A"), judge="jay", verdict="B>A"),
        labelled(1, ("ann", "B>A"), ("ben", "A>B"), judge="owl", verdict="A>B"),
        labelled(1, judge="jay", verdict="B>A"),
    ]


OPTIONS = {"kind": "judgments", "by_label": True, "selection": {"rule": "all"}}


@pytest.mark.parametrize("stored", [False, True])
def test_the_majority_over_all_records_is_the_label_and_a_tie_is_none(tmp_path, said, stored):
    if stored:
        store = filled(tmp_path / "s.duckdb", [(one, assessment(one)) for one in said])
        exported_from(store, tmp_path / "d", **OPTIONS)
        rows = rows_of(tmp_path / "d")
    else:
        _, rows = exported(tmp_path / "d", said, **OPTIONS)
    assert [row["judge"] for row in rows] == ["jay over owl"]


def test_grades_and_categories_come_out_of_a_store_as_people_corrected_them(tmp_path):
    said = [
        *(single(0, 3), single(1, 8)),
        *(single(2, "pass", question="Q"), single(3, False, question="Q")),
        single(4, {"category": "[a>b]"}, question="Q"),
    ]
    records = [(one, assessment(one)) for one in said]
    reviews = [(said[0], ["9.5"])]
    result, _ = exported_from(filled(tmp_path / "s.duckdb", records, reviews), tmp_path / "d")
    assert pairs(rows_of(tmp_path / "d")) == [("item-0", "item-1", 1.5), ("item-2", "item-3", 1.0)]
    assert result.stats["kinds"] == {"category": {"judgments": 3, "kept": 3}, "grade": {"judgments": 2, "kept": 2}}
