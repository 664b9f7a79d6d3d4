"""What people say, for every kind and through files."""

import json
import time

import pytest

from metajudge.errors import InputError, ReviewError
from metajudge.reviewables.cases import CaseReviewable
from metajudge.reviewables.clashes import ClashReviewable
from metajudge.reviewables.deciding import carries_over, decide_several, import_answers
from metajudge.reviewables.files import COLUMNS, export_rows, read_answers, write_rows
from metajudge.reviewables.judgments import JudgmentReviewable
from metajudge.reviewables.labels import by_label, by_name, in_reviewers_words, labels_for, shown_order
from metajudge.reviewables.reviewable import Answer
from metajudge.reviews.review import Outcome, ReviewState, ReviewStatus
from metajudge.reviews.seen import Onlooker
from metajudge.store import open_store
from metajudge.types import Grade, parse_verdict
from tests.api.pages.filled_store import made_judgment
from tests.reviewables.planted import FIRST, SECOND, case_review, clash_review, in_store, judgment_review, plant, run

TIMELESS = ("nan", "inf", "-inf", "-1")


def state(review):
    return ReviewState(review=review, status=ReviewStatus.OPEN)


def about_judgment(**changes):
    judgment, _, review = judgment_review()
    return JudgmentReviewable(state(review), judgment.model_copy(update=changes))


def values(one, *, blind=False):
    sheet = one.view("ada", blind=blind)
    return [choice.value for choice in sheet.choices if choice.field == "outcome"]


class TestWithoutAVerdict:
    def test_there_is_nothing_to_approve_but_a_verdict(self):
        one = about_judgment(verdict=None, no_verdict="refused")
        assert values(one) == ["modify", "cannot_tell"]
        for outcome in ("approve", "reject"):
            with pytest.raises(InputError, match="nothing to"):
                one.decide("ada", Answer(outcome), decided_at=1.0)
        made = one.decide("ada", Answer(verdict="R1"), decided_at=1.0)
        assert (made.outcome, made.verdict.winner) == (Outcome.MODIFY, one.labels["R1"])
        assert values(about_judgment()) == ["approve", "reject", "modify", "cannot_tell"]
        assert values(about_judgment(), blind=True) == ["cannot_tell"]


class TestOwnVerdicts:
    @pytest.mark.parametrize("make", [about_judgment, lambda: ClashReviewable(state(clash_review()))])
    def test_a_winner_and_a_tie_by_labels(self, make):
        one = make()
        best = next(label for label, name in one.labels.items() if name == FIRST)
        other = next(label for label, name in one.labels.items() if name == SECOND)
        assert one.decide("ada", Answer(verdict=best), decided_at=1.0).outcome is Outcome.APPROVE
        assert one.decide("ada", Answer(verdict=f"{other}>{best}"), decided_at=1.0).verdict.winner == SECOND
        tie = one.decide("ada", Answer(verdict=f"{best}={other}"), decided_at=1.0)
        assert (tie.outcome, tie.verdict.winner) == (Outcome.MODIFY, None)

    def test_a_case_has_none_and_says_what_to_write(self):
        one = CaseReviewable(state(case_review()))
        with pytest.raises(InputError, match="--outcome"):
            one.decide("ada", Answer(verdict="A>B"), decided_at=1.0)
        for choice in one.view("ada", blind=True).choices:
            scores = ("depth=3",) if choice.value == "modify" else ()
            assert one.decide("ada", Answer(choice.value, scores=scores), decided_at=1.0).outcome == choice.value


class TestCarryingOver:
    def test_it_does_for_another_judge_of_the_same_responses(self):
        assert carries_over(about_judgment(), about_judgment(judge="other", verdict=parse_verdict(f"{SECOND}>{FIRST}")))

    @pytest.mark.parametrize(
        "changes",
        [
            {"instruction": "judge the style"},
            {"item": made_judgment(2).item, "order": ("A", "B")},
            {"verdict": Grade(3.0), "order": (FIRST,)},
        ],
    )
    def test_it_does_not_for_another_instruction_item_or_kind(self, changes):
        assert not carries_over(about_judgment(), about_judgment(**changes))

    def test_cases_carry_nothing(self):
        assert not carries_over(CaseReviewable(state(case_review())), CaseReviewable(state(case_review())))


@pytest.mark.parametrize(("ending", "outcome"), [("csv", ""), ("jsonl", ""), ("csv", "modify")])
def test_a_blind_export_is_filled_in_by_labels_and_imported(tmp_path, ending, outcome):
    path, file = tmp_path / "s.duckdb", tmp_path / f"blind.{ending}"
    ids = run(plant(path))
    one = about_judgment()
    best = next(label for label, name in one.labels.items() if name == SECOND)
    row = export_rows(JudgmentReviewable(state(one.state.review), one.judgment).view(None, blind=True), ())[0]
    assert tuple(row) == COLUMNS
    reason = "=1+1" + "x" * 200_000  # longer than a cell may be by default
    write_rows([row | {"reviewer": "ada", "outcome": outcome, "corrected_verdict": best, "reason": reason}], file)

    async def record():
        store = await open_store(path)
        done = [await import_answers(store, read_answers(file)) for _ in range(2)]
        found = await store.reviews.get(ids["judgment"], now=0.0)
        await store.close()
        return done, next(made for made in found.decisions if made.reviewer == "ada")

    done, made = run(record())
    seen = f"{file}:2: review {ids['judgment']} counts as seen: an outcome (modify) is about the machine's result"
    assert [new for new, _ in done] == [1, 0]
    assert [line.split(";")[0] for line in done[0][1]] == ([seen] if outcome else [])
    told = (made.outcome, made.verdict.winner, made.origin, made.blind)
    assert told == (Outcome.MODIFY, SECOND, "import", not outcome)
    assert made.reason == reason
    assert ending != "csv" or ",'=1+1" in file.read_text("utf-8")


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ({"outcome": "approve"}, "reviewer name"),
        ({"outcome": "modify", "scores": "3", "reviewer": "a"}, "not a JSON object"),
        ({"outcome": "approve", "reviewer": "a", "decided_at": "noon"}, "decided_at"),
        ({}, "contains no decision"),
    ],
)
def test_a_row_that_is_no_answer_is_named(tmp_path, row, told):
    file = tmp_path / "d.jsonl"
    file.write_text(json.dumps({"review_id": "r", **row}) + "\n")
    with pytest.raises(InputError, match=told):
        read_answers(file)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        *((f"review_id,reviewer,outcome,decided_at\nr1,a,approve,{at}\n", "2: decided_at: ") for at in TIMELESS),
        ('{"review_id":"r1","outcome":"approve"}\n', "1: the header cannot be read as CSV"),
        ("review_id,reviewer,outcome,reason\nr1,a,approve\n", "2: the row has 3 cells, the header 4"),
        ("review_id,reviewer,outcome\nr1,   ,approve\n", "2: '   ' is not a valid reviewer name"),
    ],
)
def test_what_a_table_lacks_is_refused_with_its_line_before_anything_is_stored(tmp_path, text, told):
    (tmp_path / "in.csv").write_text(text)
    with pytest.raises(InputError, match=rf"in\.csv:{told}"):
        read_answers(tmp_path / "in.csv")


def test_a_spreadsheet_may_write_semicolons_and_a_name_is_read_without_the_space_around_it(tmp_path):
    (tmp_path / "in.csv").write_text("review_id;reviewer;outcome\nr1; ada ;approve\n")
    (found,) = read_answers(tmp_path / "in.csv")
    assert (found.reviewer, found.answer) == ("ada", Answer("approve"))


def test_one_unknown_review_among_several_records_nothing(tmp_path):
    ids = run(plant(tmp_path / "s.duckdb"))

    async def unchanged(store):
        state = await store.reviews.claim("ada", now=time.time(), review_id=ids["judgment"])
        with pytest.raises(ReviewError, match="no review 'none'"):
            await decide_several(store, [ids["judgment"], "none"], Onlooker("ada"), Answer("approve"))
        after = await store.reviews.get(ids["judgment"], now=time.time())
        return state.decisions == after.decisions

    assert in_store(tmp_path / "s.duckdb", unchanged)


def test_labels_belong_to_the_item_and_orders_to_the_reviewer_whatever_a_response_is_called():
    drawn = {tuple(labels_for("AB", f"item {n}").items()) for n in range(20)}
    assert drawn == {(("R1", "A"), ("R2", "B")), (("R1", "B"), ("R2", "A"))}
    assert labels_for("BA", "item") == labels_for("AB", "item")
    first = [shown_order({"R1": "A", "R2": "B"}, "r", f"p{n}")[0] for n in range(400)]
    assert 150 < first.count("R1") < 250
    assert shown_order({"R1": "A", "R2": "B"}, "r", None) == ["R1", "R2"]
    assert set(labels_for(["R1", "R2"], "x")) == {"S1", "S2"}


LABELS = {"R1": "b", "R2": "a", "R3": "c"}


@pytest.mark.parametrize(
    ("written", "named"),
    [
        ("R2", "a>b=c"),
        ("R1=R2=R3", "b=a=c"),
        ("R3 > R1 = R2", "c>b=a"),
        ("R1>>R2", "b>>a"),
        ("a>b=c", "a>b=c"),
        ("R9>R1", "R9>R1"),
    ],
)
def test_a_winner_a_tie_or_a_whole_ranking_by_labels(written, named):
    assert by_name(written, LABELS) == named


def test_names_become_labels_again():
    assert by_label("c>b=a", LABELS) == "R3>R1=R2"


@pytest.mark.parametrize(
    ("text", "translated"),
    [
        ("Assistant A is right.", "Assistant A [R2] is right."),
        ("Responses A and B differ.", "Responses A and B [R2, R1] differ."),
        ("**Response B**'s proof", "**Response B [R1]**'s proof"),
        ("[[A>>B]]", "[[A>>B]] [R2>>R1]"),
        ("assistant a b", "assistant a b"),
        ("A model answers. A is a letter.", "A model answers. A is a letter."),
        ("Réponse B", "Réponse B [R1]"),
    ],
)
def test_the_judges_labels_are_translated(text, translated):
    assert in_reviewers_words(text, {"A": "R2", "B": "R1"}) == translated


def test_labels_of_several_characters_are_translated_everywhere():
    assert in_reviewers_words("A0 beats A1, not A10", {"A0": "R2", "A1": "R1"}) == "A0 [R2] beats A1 [R1], not A10"
