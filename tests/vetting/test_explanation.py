"""Why a run kept nothing or gave no score, as its own results say."""

import asyncio

import pytest

from metajudge.cli.vet_report import words_of
from metajudge.errors import FailureKind
from metajudge.providers.scripted import ScriptedModel
from metajudge.types import AgentResult, Assessment, Failure, Judgment, Status
from metajudge.vetting.engine import Engine
from metajudge.vetting.explanation import MOST_MESSAGES, Gathered, explain, filled
from tests.doubles.judgments import judgment, reply


def summary_of(judgments, *agents, **options):
    async def run():
        async with Engine(agents, **options) as engine:
            return await engine.vet_all(judgments)

    return asyncio.run(run())


def codes(summary):
    return [reason.code for reason in summary.reasons]


def graded(name):
    item = {"id": f"i-{name}", "question": "q", "responses": {"A": "a"}}
    return Judgment.model_validate({"id": name, "judge": "x", "verdict": 7, "item": item})


def paired(number, judge="x", order=("A", "B"), verdict="A>B", **more):
    item = {"id": f"i{number}", "question": f"q{number}", "responses": {"A": "a", "B": "b"}}
    name = f"{number}-{judge}-{''.join(order)}"
    data = {"id": name, "judge": judge, "verdict": verdict, "item": item, "order": list(order), **more}
    return Judgment.model_validate(data)


class TestFreeEvidence:
    @pytest.mark.parametrize(
        ("orders", "kept", "why"),
        [
            ([("AB", "A>B")], 0, "one verdict alone: nothing is stored here, and so no history of judge"),
            ([("AB", "A>B"), ("BA", "B>A")], 0, "this judge's verdict is another one in the other order"),
            ([("AB", "A>B"), ("BA", "A=B")], 0, "this judge's verdict is a tie in the other order"),
            ([("AB", "A=B"), ("BA", "A=B")], 0, "the verdict names no single winner"),
            ([("AB", "A>B"), ("BA", "A>>B")], 8, ""),
        ],
    )
    def test_a_judge_alone_is_kept_where_both_orders_agree_and_never_discarded(self, orders, kept, why):
        given = [paired(n, order=tuple(order), verdict=verdict) for n in range(4) for order, verdict in orders]
        summary = summary_of(given)
        assert (summary.kept, summary.discarded, summary.unscored) == (kept, 0, len(given) - kept)
        assert dict(summary.decided_by) == ({"by agreement of both orders": kept} if kept else {})
        assert [reason.code for reason in summary.reasons] == ([] if kept else ["undecided"])
        assert why in " ".join(reason.text for reason in summary.reasons)
        contradicting = [
            one.model_copy(update={"rationale": "So B it is. My final verdict is: [[B>A]]"}) for one in given
        ]
        assert summary_of(contradicting).kept == kept / 2, "in one of two orders the letters are the other ones"

    KEPT = tuple(paired(0, judge, order, "A>>B") for judge in "xyz" for order in (("A", "B"), ("B", "A")))

    @pytest.mark.parametrize(
        ("given", "options", "said"),
        [
            pytest.param([paired(n) for n in range(4)], {"threshold": 3.2}, ["undecided"], id="a lower threshold"),
            pytest.param(
                [*KEPT, paired(1, verdict="A=B"), paired(2, rationale="So B it is. My final verdict is: [[B>A]]")],
                {},
                ["undecided"],
                id="an own tie or a contradiction leaves it to people",
            ),
            pytest.param(
                [paired(n, judge, order) for n in range(3) for judge in "xyz" for order in (("A", "B"), ("B", "A"))],
                {},
                [],
                id="what keeps judgments needs no explanation",
            ),
        ],
    )
    def test_reasons_where_there_is_evidence(self, given, options, said):
        assert codes(summary_of(given, **options)) == said

    def test_too_few_other_judges_or_no_verdict_leave_judgments_undecided_not_doubtful(self):
        summary = summary_of([*self.KEPT, paired(1), paired(2)])
        (reason,) = summary.reasons
        assert (summary.accepted, reason.code) == (6, "undecided")
        assert (summary.unscored, summary.rejected) == (2, 0)
        assert (
            "2 judgments unscored, one verdict alone: nothing is stored here, and so no history of judge" in reason.text
        )
        summary = summary_of([graded("a"), graded("b").model_copy(update={"item": graded("a").item, "judge": "y"})])
        (reason,) = summary.reasons
        assert (reason.code, summary.unscored, summary.rejected) == ("undecided", 2, 0)
        assert "the other judges who graded it are too few" in reason.text
        empty = [
            Judgment.model_validate({**paired(n).model_dump(), "verdict": None, "no_verdict": "cut"}) for n in (1, 2)
        ]
        (reason,) = summary_of(empty).reasons
        assert (reason.code, reason.next) == ("no_verdicts", "metajudge inspect INPUT")


def assessment(name="j", status=Status.ASSESSED, **more):
    common = {"item_id": "i", "judge": "x", "strategy": "majority_vote", "threshold": 4.5, "panel_digest": "p"}
    common |= {"judgment_digest": "d", "metajudge_version": "0"}
    return Assessment(**{"judgment_id": name, "status": status, **common, **more})


def gathered(*assessments):
    found = Gathered()
    for one in assessments:
        found.add(one)
    return found


def unscored(name, message, kind=FailureKind.CONNECTION):
    failure = Failure(kind=kind, message=message)
    agents = tuple(AgentResult(agent=agent, model="m", weight=1, failure=failure) for agent in "ab")
    return assessment(name, Status.UNSCORED, failure=failure, agents=agents)


class TestAgents:
    def test_the_most_frequent_failure_is_named_and_messages_do_not_fill_the_memory(self):
        found = gathered(*(unscored(f"{n}", "refused by host h") for n in range(7)), unscored("late", "late"))
        (reason,) = explain(found)
        assert (
            "No score for 8 of 8 judgments because agents failed, most often with connection (14 times)" in reason.text
        )
        assert reason.text.endswith("refused by host h")
        assert reason.next == "metajudge check AGENTS"
        found = gathered(*(unscored(f"{n}", f"request {n}") for n in range(MOST_MESSAGES + 500)))
        assert len(found.failures) <= MOST_MESSAGES + 1
        assert explain(found)[0].code == "agents_failed"
        assert explain(Gathered()) == []

    @pytest.mark.parametrize(("score", "told"), [(4.0, True), (4.5, True), (3.0, False), (2.0, False)])
    def test_rejudge_support_below_a_threshold_made_for_other_scores(self, score, told):
        found = explain(gathered(assessment(strategy="rejudge", final_score=score, accepted=False)))
        assert ("rejudge_support" in [reason.code for reason in found]) == told
        if told:
            assert "metajudge vet INPUT AGENTS --strategy rejudge --threshold 3" in [reason.next for reason in found]


def test_a_policy_over_scores_on_votes_is_warned_of():
    models = [ScriptedModel(lambda _, place=place: reply(3 + place), name=f"m{place}") for place in range(3)]
    vote = summary_of([judgment("j")], *models, policy="verdict_score", strategy="majority_vote")
    assert codes(vote) == ["vote_under_score_policy"]
    average = summary_of([judgment("j")], *models, policy="verdict_score", strategy="weighted_average")
    assert "vote_under_score_policy" not in codes(average)


def test_a_suggested_command_has_the_users_words_and_never_a_databases_password():
    words = words_of(["a b.jsonl"], None, ["openai:x"], "postgresql://u:secret@h/d")
    assert filled("metajudge vet INPUT AGENTS", words) == "metajudge vet 'a b.jsonl' --agent openai:x"
    assert filled("metajudge show j1", words) == "metajudge show j1"
    assert filled("metajudge show j1", words_of(["a"], None, None, "s.duckdb")) == "metajudge show j1 --store s.duckdb"
