"""People first, then the policy, then the rule: a rejected verdict never trains anybody by way of a rule."""

import json

import pytest

from metajudge.errors import InputError
from metajudge.exports import ExportRequest, check, export
from tests.exports.stored import POLICY, exported_from, filled, vetted
from tests.exports.vetted import assessment, bar, judgment

OTHER = POLICY.model_copy(update={"name": "other", "digest": "e" * 32})


@pytest.fixture
def store(tmp_path):
    """Item 0 a person approved, 1 rejected, 2 corrected, 3 cannot tell; 4 to 8 a policy decided; 9 to 11 nobody."""
    said = [judgment(number) for number in range(12)]
    actions = ["REVIEW"] * 4 + ["APPROVE", "REJECT", "REVIEW", "REVIEW_PRIORITY", "APPROVE"] + [None] * 3
    accepted = [False, True, True, True, False, True, True, True, True, True, False, True]
    records = [(one, vetted(one, action, kept)) for one, action, kept in zip(said, actions, accepted, strict=True)]
    reviews = [
        (said[0], ["approve"]),
        (said[1], ["reject"]),
        (said[2], ["B>>A"]),
        (said[3], ["cannot_tell"]),
        (said[8], ["reject"]),  # an audit of what the policy approved
        (said[11], ["reject"], {"reviewers": 2}),  # one of two has decided: nothing is settled
    ]
    return filled(tmp_path / "s.duckdb", records, reviews)


KEPT = {"item-0": "people", "item-2": "people_corrected", "item-4": "policy", "item-9": "rule", "item-11": "rule"}
WHY = {
    "rejected_by_people": 2,
    "people_cannot_tell": 1,
    "rejected_by_policy": 1,
    "waiting_for_review": 2,
    "discarded": 1,
}


def test_people_come_first_then_the_policy_then_the_rule(tmp_path, store):
    result, rows = exported_from(store, tmp_path / "d")
    assert {item: row["kept_by"] for item, row in rows.items()} == KEPT
    selection = next(step for step in result.steps if step.name == "selection")
    assert dict(selection.dropped) == WHY
    assert result.stats["decisions"] == {
        "ignored": False,
        "kept": {"people": 1, "people_corrected": 1, "policy": 1, "rule": 2},
        "dropped": {"people": 3, "policy": 1, "waiting_for_review": 2, "rule": 1},
        "people_dropped": {"rejected_by_people": 2, "people_cannot_tell": 1},
        "outside_guarantee": None,
    }
    assert check(tmp_path / "d").faults == []
    card = (tmp_path / "d" / "README.md").read_text()
    for said in ("| kept | 2 | 1 | 2 | |", "| dropped | 3 | 1 | 1 | 2 |", "In 1 of these a person's verdict replaces"):
        assert said in card
    assert json.loads((tmp_path / "d" / "stats.json").read_text())["kept_by"]["people_corrected"] == 1


def test_a_corrected_verdict_prefers_what_the_person_preferred_and_carries_no_score_of_the_judges(tmp_path, store):
    _, rows = exported_from(store, tmp_path / "d")
    row = rows["item-2"]
    assert (row["chosen_id"], row["rejected_id"], row["margin"]) == ("B", "A", 2.0)
    assert (row["score"], row["probability"]) == (None, None)


def test_all_does_not_bring_back_what_a_person_or_a_policy_rejected(tmp_path, store):
    _, rows = exported_from(store, tmp_path / "d", selection={"rule": "all"})
    assert set(rows) == {*KEPT, "item-10"}


def test_only_the_explicit_opt_out_ignores_decisions_and_the_card_says_so(tmp_path, store):
    result, rows = exported_from(store, tmp_path / "d", selection={"rule": "all"}, ignore_decisions=True)
    assert len(rows) == 12
    assert {row["kept_by"] for row in rows.values()} == {"rule"}
    assert rows["item-2"]["chosen_id"] == "A"
    assert result.stats["decisions"]["ignored"] is True
    card = (tmp_path / "d" / "README.md").read_text()
    assert "**Decisions of people and policies were ignored**" in card


@pytest.mark.parametrize("reviews", [[(["approve"], ["reject"])], [(["reject"], ["approve"])]])
def test_of_two_reviews_of_one_judgment_the_newest_decision_counts(tmp_path, reviews):
    said = judgment(0)
    first, second = reviews[0]
    store = filled(
        tmp_path / "s.duckdb",
        [(said, vetted(said, "REVIEW")), (judgment(1), assessment(judgment(1)))],
        [(said, first), (said, second, {"policy": OTHER})],
    )
    _, rows = exported_from(store, tmp_path / "d")
    assert ("item-0" in rows) == (second == ["approve"])


def test_people_who_are_divided_keep_nothing(tmp_path):
    said = [judgment(0), judgment(1)]
    store = filled(
        tmp_path / "s.duckdb", [(one, vetted(one, "APPROVE")) for one in said],
        [(said[0], ["approve", "reject"], {"reviewers": 2})],
    )  # fmt: skip
    result, rows = exported_from(store, tmp_path / "d")
    assert set(rows) == {"item-1"}
    assert result.stats["decisions"]["people_dropped"] == {"people_divided": 1}


def test_vetting_again_without_a_policy_does_not_lift_a_rejection(tmp_path):
    said = [judgment(0), judgment(1)]
    records = [(said[0], vetted(said[0], "REJECT")), (said[0], vetted(said[0], panel_digest="q" * 32))]
    store = filled(tmp_path / "s.duckdb", [*records, (said[1], vetted(said[1]))])
    _, rows = exported_from(store, tmp_path / "d")
    assert set(rows) == {"item-1"}


def test_the_newest_action_counts_where_a_policy_decided_twice(tmp_path):
    said = [judgment(0), judgment(1)]
    records = [(said[0], vetted(said[0], "REJECT", False)), (said[0], vetted(said[0], "APPROVE", False))]
    records += [(said[1], vetted(said[1], "APPROVE")), (said[1], vetted(said[1], "REJECT"))]
    _, rows = exported_from(filled(tmp_path / "s.duckdb", records), tmp_path / "d")
    assert {item: row["kept_by"] for item, row in rows.items()} == {"item-0": "policy"}


def test_a_person_rejection_outlives_forgetting_when_the_judgment_is_vetted_again(tmp_path):
    said = [judgment(0), judgment(1)]
    filled(tmp_path / "s.duckdb", [(one, vetted(one, "REVIEW")) for one in said], [(said[0], ["reject"])], ["item-0"])
    with pytest.raises(InputError, match="1 waiting for review were dropped"):
        export(tmp_path / "d", store=tmp_path / "s.duckdb")
    filled(tmp_path / "s.duckdb", [(one, vetted(one)) for one in [said[0], judgment(2)]])
    _, rows = exported_from(tmp_path / "s.duckdb", tmp_path / "d")
    assert set(rows) == {"item-2"}


def test_under_a_guarantee_what_people_kept_is_counted_apart_and_not_promised(tmp_path):
    said = [judgment(number) for number in range(4)]
    probabilities = [0.95, 0.3, 0.3, 0.3]
    records = [
        (one, vetted(one, "APPROVE" if number == 2 else None, probability=value, guarantee=bar()))
        for number, (one, value) in enumerate(zip(said, probabilities, strict=True))
    ]
    store = filled(tmp_path / "s.duckdb", records, [(said[1], ["approve"])])
    result, rows = exported_from(store, tmp_path / "d", selection={"rule": "guarantee", "target": 0.9, "delta": 0.1})
    assert {item: row["kept_by"] for item, row in rows.items()} == {
        "item-0": "rule", "item-1": "people", "item-2": "policy",
    }  # fmt: skip
    assert result.stats["decisions"]["outside_guarantee"] == 2
    assert result.stats["rows_outside_guarantee"] == 2
    assert "The guarantee does not cover their 2 rows" in (tmp_path / "d" / "README.md").read_text()


class TestJudgePairs:
    """Pairs that train judges: the judge's own words, so no verdict is put into its mouth."""

    def records(self, action=None):
        good, bad = judgment(0), judgment(0, judge="jay", verdict="B>A")
        return good, bad, [(good, vetted(good, None)), (bad, vetted(bad, action))]

    @pytest.mark.parametrize("voices", [["reject"], ["A>B"]])
    def test_what_people_rejected_or_corrected_is_the_rejected_answer(self, tmp_path, voices):
        good, bad, records = self.records("REVIEW")
        store = filled(tmp_path / "s.duckdb", records, [(bad, voices)])
        _, rows = exported_from(store, tmp_path / "d", kind="judgments")
        row = rows["item-0"]
        assert (row["chosen_id"], row["rejected_id"]) == (good.id, bad.id)
        assert "[[B>A]]" in row["rejected"]

    def test_what_waits_for_a_person_is_no_rejected_answer(self, tmp_path):
        _, _, records = self.records("REVIEW")
        with pytest.raises(InputError, match="nothing is left"):
            export(tmp_path / "d", ExportRequest(kind="judgments"), store=filled(tmp_path / "s.duckdb", records))
