"""What is taken from a store: one item of two contents must not stop, or mix into, an export of the others."""

import json

import pytest

from metajudge.errors import InputError
from metajudge.exports import check, export
from tests.exports.stored import exported_from, filled, vetted
from tests.exports.vetted import assessment, bar, judgment


@pytest.fixture
def store(tmp_path):
    """Two good items, and one whose id is used for two questions."""
    said = [judgment(0), judgment(1), judgment(2), judgment(2, judge="jay", question="Something else?")]
    said.append(judgment(3, category="old"))
    said.append(judgment(3, judge="jay", category="new"))
    return filled(tmp_path / "s.duckdb", [(one, assessment(one), one.judge) for one in said])


def test_an_item_with_two_contents_is_left_out_and_named_and_the_others_are_exported(tmp_path, store):
    result, rows = exported_from(store, tmp_path / "d")
    assert set(rows) == {"item-0", "item-1", "item-3"}
    assert rows["item-3"]["category"] == "new", "the same texts under a new category are no conflict"
    read = result.stats["read"]
    assert (read["conflicting_items"], read["conflicting_judgments"], read["conflicting_item_ids"]) == (
        1,
        2,
        ["item-2"],
    )
    assert result.steps[0].to_json() == {
        "step": "records", "unit": "judgments", "before": 6, "after": 4, "dropped": {"item_with_two_contents": 2},
    }  # fmt: skip
    card = (tmp_path / "d" / "README.md").read_text()
    assert "1 item ids stand for two different contents and were left out: `item-2`." in card
    assert check(tmp_path / "d").faults == []


def test_a_filter_that_leaves_one_content_ends_the_conflict_and_does_not_mix_texts(tmp_path, store):
    result, rows = exported_from(store, tmp_path / "d", filters={"judges": ["jay"]})
    assert rows["item-2"]["question"] == "Something else?"
    assert result.stats["read"]["conflicting_items"] == 0
    assert result.stats["read"]["filtered_out"] == 4
    result = export(tmp_path / "run", store=store, run="owl")
    assert result.rows == {"train": 4}


def test_by_category_the_judgments_of_the_other_content_do_not_vote(tmp_path):
    one = judgment(0, category="x")
    other = judgment(0, judge="jay", verdict="B>A", question="Something else?", category="y")
    store = filled(tmp_path / "s.duckdb", [(said, assessment(said)) for said in (one, other)])
    _, rows = exported_from(store, tmp_path / "d", filters={"categories": ["x"]})
    assert (rows["item-0"]["judge"], rows["item-0"]["chosen_id"]) == ("owl", "A")


def test_conflicts_are_refused_where_that_is_asked_for(tmp_path, store):
    with pytest.raises(InputError, match="stand for two different contents, the first 'item-2'"):
        exported_from(store, tmp_path / "d", conflicts="refuse")
    assert not (tmp_path / "d").exists()


def test_only_conflicting_items_leave_nothing_and_say_so(tmp_path):
    said = [judgment(2), judgment(2, judge="jay", question="Something else?")]
    with pytest.raises(InputError, match=r"2 item with two contents were dropped\. Give each content its own item id"):
        export(tmp_path / "d", store=filled(tmp_path / "s.duckdb", [(one, assessment(one)) for one in said]))


def test_an_empty_store_says_what_to_do(tmp_path):
    with pytest.raises(InputError, match="contains no vetted judgments yet: vet some"):
        export(tmp_path / "d", store=filled(tmp_path / "s.duckdb", []))


def test_a_judgment_of_several_panels_counts_once_with_the_newest_row(tmp_path):
    said = judgment(0)
    rows = [vetted(said, None, True), vetted(said, None, True), vetted(said, None, False, panel_digest="q" * 32)]
    result, found = exported_from(
        filled(tmp_path / "s.duckdb", [(said, row) for row in rows] + [(judgment(1), assessment(judgment(1)))]),
        tmp_path / "d",
    )
    assert set(found) == {"item-1"}
    assert result.stats["read"]["superseded"] == 2
    assert sum(step.before for step in result.steps if step.name == "selection") == 2


def test_a_judgment_without_a_probability_is_counted_and_not_lost(tmp_path):
    said = [judgment(0), judgment(1)]
    records = [(said[0], assessment(said[0], probability=0.9, guarantee=bar())), (said[0], assessment(said[0]))]
    records.append((said[1], assessment(said[1])))
    result, rows = exported_from(
        filled(tmp_path / "s.duckdb", records), tmp_path / "d",
        selection={"rule": "min_probability", "min_probability": 0.8},
    )  # fmt: skip
    assert set(rows) == {"item-0"}
    assert {reason: n for step in result.steps for reason, n in step.dropped.items() if n} == {"no_probability": 1}


def test_the_request_with_its_filters_is_on_record(tmp_path, store):
    exported_from(store, tmp_path / "d", filters={"judges": ["owl"], "since": "2020-01-01"})
    request = json.loads((tmp_path / "d" / "manifest.json").read_text())["request"]
    assert request["filters"]["judges"] == ["owl"]
    assert "(only judge owl, since 2020-01-01T00:00:00+00:00)" in (tmp_path / "d" / "README.md").read_text()
