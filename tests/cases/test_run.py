"""Judging cases on a session: results, records, reviews, the webhook, and how the run is recorded."""

import pytest

from metajudge.cases.run import CaseTotals, Reviewing, estimate_cases, judge_case, judge_cases
from metajudge.decision import case_rubric
from metajudge.errors import BudgetExceeded, ConfigurationError, InputError, PolicyError
from metajudge.panels.config import panel_config
from metajudge.providers.scripted import ScriptedModel
from metajudge.runs.loop import RunEnd, Stop
from metajudge.session import Session
from metajudge.webhooks.webhook import Webhook
from tests.cases.panels import RISK
from tests.doubles.cases import ANALYSIS, RELEVANCE, flood, reply
from tests.doubles.webhook_receiver import Receiver

CASES = [flood(f"c{number}") for number in range(4)]
UNSURE = dict.fromkeys(ANALYSIS, (8, 0.2))
"""Scores that the shipped policy sends to people."""


def scores(analysis=ANALYSIS, name="judge"):
    def script(request):
        return reply(analysis if "completeness" in request.system else RELEVANCE)

    return ScriptedModel(script, name=name)


def ends_with(error, after=0, name="judge"):
    """A judge whose calls end with an error from some call on."""
    asked = iter(range(10**6))
    return ScriptedModel(lambda request: error if next(asked) >= after else scores()._script(request), name=name)


@pytest.fixture
def where(tmp_path):
    return tmp_path / "s.duckdb"


class TestJudgeCase:
    async def test_no_case_no_agent_a_wrong_policy_and_a_spent_budget_are_named(self):
        async with Session([scores()]) as session:
            with pytest.raises(InputError, match=r"the case is not valid: .*stages"):
                await judge_case(session, {"id": "x", "type": "climate"})
        async with Session() as session:
            with pytest.raises(ConfigurationError, match="no model to ask"):
                await judge_case(session, CASES[0])
        async with Session([scores()]) as session:
            for policy in ("nothing", "legal_brief"):
                with pytest.raises(PolicyError):
                    await judge_case(session, CASES[0], policy=policy)
        async with Session([ends_with(BudgetExceeded("spent"))]) as session:
            with pytest.raises(BudgetExceeded):
                await judge_case(session, CASES[0])


class TestJudgeCases:
    async def test_results_come_in_the_order_of_the_input_whoever_answers_first(self):
        told = []
        async with Session([scores()]) as session:
            totals = await judge_cases(session, CASES, on_result=lambda index, result: told.append((index, result)))
        assert [one.case_id for one in totals.results] == ["c0", "c1", "c2", "c3"]
        assert sorted((index, one.case_id) for index, one in told) == [(n, f"c{n}") for n in range(4)]
        assert (totals.decided, totals.actions, totals.end, totals.exit_code) == (4, {"APPROVE": 4}, RunEnd.FINISHED, 0)
        assert "results" not in totals.to_json()

    async def test_a_case_that_is_none_is_named_and_the_budgets_end_keeps_what_is_decided(self):
        async with Session([scores()]) as session:
            with pytest.raises(InputError, match="case 2 is a str; give a Case"):
                await judge_cases(session, [CASES[0], "x"])
        async with Session([ends_with(BudgetExceeded("spent"), after=2)], concurrency=1) as session:
            totals = await judge_cases(session, CASES)
        assert totals.end is RunEnd.BUDGET
        assert [one.case_id for one in totals.results] == ["c0"]
        assert totals.exit_code == 3

    async def test_an_interruption_keeps_what_is_decided_and_is_on_record(self, where):
        stop, totals = Stop(), CaseTotals(cases=len(CASES))
        async with Session([scores()], store=where, concurrency=1) as session:
            await judge_cases(
                session, CASES, totals=totals, stop=stop, on_result=lambda _index, _result: stop.ask(RunEnd.INTERRUPTED)
            )
            (run,) = await session.store.runs()
        assert totals.end is RunEnd.INTERRUPTED
        assert 1 <= len(totals.results) < len(CASES)
        assert run.status == "interrupted"

    async def test_an_error_is_raised_and_what_was_decided_is_counted(self):
        totals = CaseTotals()
        async with Session([ends_with(RuntimeError("a bug"), after=2)], concurrency=1) as session:
            with pytest.raises(RuntimeError, match="a bug"):
                await judge_cases(session, CASES, totals=totals)
        assert totals.end is RunEnd.FAILED
        assert [one.case_id for one in totals.results] == ["c0"]


class TestTheRecord:
    async def test_a_case_sent_to_people_is_queued_once(self, where):
        async with Session([scores(UNSURE)], store=where) as session:
            first = await judge_cases(session, CASES[:2])
            again = await judge_cases(session, CASES[:2])
            assert first.actions == {"REVIEW": 2}
            assert (first.reviews, again.reviews) == (2, 0)

    async def test_numbers_are_in_the_audit_log_once(self, where):
        async with Session([scores()], store=where) as session:
            for _ in range(2):
                await judge_case(session, CASES[0])
            entries = await session.store.audit_log.entries("case", "c0", limit=10)
        assert [one.payload["decision"]["action"] for one in entries] == ["APPROVE"]

    async def test_a_sample_of_approved_cases_is_queued(self, where):
        async with Session([scores()], store=where) as session:
            none = await judge_cases(session, CASES)
            every = await judge_cases(session, CASES, reviewing=Reviewing(sample=1.0, reviewers=2))
        assert (none.reviews, every.reviews) == (0, 4)

    @pytest.mark.parametrize("share", [-0.1, 1.1])
    def test_a_fraction_outside_0_and_1_is_refused(self, share):
        with pytest.raises(ConfigurationError, match=r"must lie in \[0, 1\]"):
            Reviewing(sample=share)


class TestTheWebhook:
    async def test_each_decision_is_delivered_once_over_all_runs(self, where):
        with Receiver(204) as receiver:
            hook = Webhook.at(receiver.url, "a-secret-of-32-characters-or-more", allow_private=True)
            async with Session([scores()], store=where) as session:
                first = await judge_cases(session, CASES, webhook=hook)
                again = await judge_cases(session, CASES, webhook=hook)
        assert first.webhook == {"delivered": 4, "known": 0, "failed": 0, "given_up": 0}
        assert again.webhook == {"delivered": 0, "known": 4, "failed": 0, "given_up": 0}
        assert len(receiver.requests) == 4

    async def test_one_that_cannot_be_delivered_fails_the_run(self, where):
        with Receiver(400) as receiver:
            hook = Webhook.at(receiver.url, "a-secret-of-32-characters-or-more", allow_private=True)
            async with Session([scores()], store=where) as session:
                totals = await judge_cases(session, CASES[:1], webhook=hook)
        assert (totals.webhook["failed"], totals.exit_code) == (1, 1)


# What judging cases would take, against what it takes.
FLOODS = [flood("a"), flood("b", type="regulatory")]


async def test_as_many_calls_as_a_run_sends():
    config = panel_config({"agents": [{"name": name, "model": "openai:gpt-4o-mini"} for name in "xy"]})
    estimate = estimate_cases(config, RISK, case_rubric(RISK), FLOODS)
    models = [scores(name=name) for name in "xy"]
    async with Session(models, panel=config) as session:
        await judge_cases(session, FLOODS, policy=RISK)
    assert estimate.calls == sum(len(model.requests) for model in models) == 8
    assert estimate.judgments == 2


def test_no_agent_is_refused():
    with pytest.raises(ConfigurationError, match="no model to ask"):
        estimate_cases(panel_config({"agents": []}), RISK, case_rubric(RISK), FLOODS)
