"""Figures and pages over a store: what is counted, what is newest, and what a filter finds."""

import asyncio
import itertools
from typing import Any

import pytest

from metajudge.errors import FailureKind
from metajudge.store import browsing, dashboard
from metajudge.store.browsing import AssessmentFilter
from metajudge.types import Judgment, Status
from tests.api.pages.filled_store import (
    hostile_assessment,
    hostile_judgment,
    made_agent,
    made_assessment,
    made_judgment,
)

pytestmark = pytest.mark.slow


async def keep(store, *pairs, run="run-1"):
    """All in one commit, in this order."""
    await asyncio.gather(
        *(store.save_assessment(f"{one.id}-{said.panel_digest}", one, said, run) for one, said in pairs)
    )


def pair(number, judge="owl", **changes) -> tuple[Judgment, Any]:
    judgment = made_judgment(number, judge=judge)
    judgment = judgment.model_copy(update={"id": f"j{number}-{judge}"})
    return judgment, made_assessment(judgment, number, **changes)


@pytest.fixture
async def many(store):
    await keep(store, *(pair(number) for number in range(60)))
    return store


async def page(store, wanted=None, **options):
    wanted = wanted or AssessmentFilter()
    return await store.ask(lambda c: browsing.page_of_assessments(c, wanted, **{"limit": 10, **options}))


def ids(found):
    return [line.judgment_id for line in found.lines]


class TestPages:
    async def test_going_older_and_newer_again_shows_every_assessment_once(self, many) -> None:
        pages = [await page(many)]
        assert pages[0].newer is None
        while pages[-1].older is not None:
            pages.append(await page(many, before=pages[-1].older))
        seen = [one for found in pages for one in ids(found)]
        assert seen == [f"j{number}-owl" for number in reversed(range(60))]
        back = [pages[-1]]
        while back[-1].newer is not None:
            back.append(await page(many, after=back[-1].newer))
        assert [ids(one) for one in back] == [ids(one) for one in reversed(pages)]

    async def test_beyond_the_end_is_empty_and_leads_back(self, many) -> None:
        found = await page(many, before=1)
        assert found.lines == ()
        assert found.older is None
        assert ids(await page(many, after=found.newer))[-1] == "j0-owl"

    @pytest.mark.parametrize(
        ("wanted", "numbers"),
        [
            (AssessmentFilter(judge="owl"), range(60)),
            (AssessmentFilter(judge="o"), ()),
            (AssessmentFilter(decision="REVIEW"), range(0, 60, 4)),
            (AssessmentFilter(decision="REVIEW_PRIORITY"), range(1, 60, 4)),
            (AssessmentFilter(agent="kind"), range(60)),
            (AssessmentFilter(agent="nobody"), ()),
            (AssessmentFilter(panel="pp"), range(60)),
            (AssessmentFilter(panel="q"), ()),
            (AssessmentFilter(strategy="majority_vote"), ()),
            (AssessmentFilter(text="(17)"), (17,)),
            (AssessmentFilter(text="J17-OWL"), (17,)),
            (AssessmentFilter(text="**HOW LONG**"), range(60)),
            (AssessmentFilter(run="run-1"), range(60)),
            (AssessmentFilter(run="run-2"), ()),
            (AssessmentFilter(since=1.0), range(60)),
            (AssessmentFilter(until=1.0), ()),
            (AssessmentFilter(outcome="failed"), ()),
            (AssessmentFilter(judge="owl", decision="APPROVE", text="(6)"), (6,)),
        ],
    )
    async def test_filters(self, many, wanted, numbers) -> None:
        found = await page(many, wanted, limit=100)
        assert ids(found) == [f"j{number}-owl" for number in sorted(numbers, reverse=True)]

    async def test_outcomes_are_told_apart(self, store) -> None:
        await keep(
            store,
            pair(1, accepted=True),
            pair(2, accepted=False),
            pair(3, status=Status.UNSCORED, accepted=None, final_score=None),
            pair(4, status=Status.FAILED, accepted=None, final_score=None),
        )
        for place, outcome in enumerate(("kept", "not_kept", "unscored", "failed"), 1):
            found = await page(store, AssessmentFilter(outcome=outcome))
            assert ids(found) == [f"j{place}-owl"]
            assert found.lines[0].outcome == outcome

    async def test_text_with_quotes_and_line_breaks_is_found_and_cannot_break_the_query(self, store) -> None:
        judgment = made_judgment(1, rationale='He said "no"; DROP TABLE items;\nthen $1 {} %s')
        await keep(store, (judgment, made_assessment(judgment, 1)))
        for text in ('said "no"', "items;\nthen", "$1 {} %s"):
            assert len((await page(store, AssessmentFilter(text=text))).lines) == 1
        assert not (await page(store, AssessmentFilter(text="' OR 1=1 --"))).lines

    async def test_an_explanation_that_spells_a_decision_is_not_taken_for_one(self, store) -> None:
        judgment, assessment = pair(0)
        spelt = made_agent("a", "m", (1.0, 2.0, 3.0, 4.0), role='"action":"APPROVE"')
        await keep(store, (judgment, assessment.model_copy(update={"agents": (spelt,)})))
        assert not (await page(store, AssessmentFilter(decision="APPROVE"))).lines

    async def test_a_rare_text_is_found_in_the_end_and_what_was_searched_is_counted(self, many, monkeypatch) -> None:
        monkeypatch.setattr(browsing, "WINDOW", 20)
        wanted = AssessmentFilter(text="(3)")
        looks = [await page(many, wanted, clock=itertools.count(0, 3).__next__)]
        while looks[-1].older is not None:
            assert (looks[-1].cut_short, looks[-1].searched, looks[-1].total) == (True, 20, 60)
            looks.append(await page(many, wanted, before=looks[-1].older, clock=itertools.count(0, 3).__next__))
        assert [ids(found) for found in looks] == [[], [], ["j3-owl"], []]
        assert ids(await page(many, wanted)) == ["j3-owl"], "with time enough one look is enough"

    async def test_a_text_is_searched_in_texts_and_ids_and_not_in_names_of_fields(self, many) -> None:
        for text, count in {"rationale": 0, "OWL": 60, "item-7": 1, "decimals.": 60, "j8-": 1}.items():
            assert len((await page(many, AssessmentFilter(text=text), limit=100)).lines) == count, text

    async def test_lines_say_the_question_and_the_verdict(self, many) -> None:
        line = (await page(many, AssessmentFilter(item="item-3"))).lines[0]
        assert line.question == "A train leaves at 9:40 and arrives at 11:05. **How long** does it take? (3)"
        assert line.verdict == "B>A"
        await many.forget("item-3")
        assert (await page(many, AssessmentFilter(item="item-3"))).lines[0].question is None

    async def test_names_come_most_frequent_first(self, store) -> None:
        await keep(store, pair(1, "rare"), pair(2, "usual"), pair(3, "usual"))
        found = await store.ask(browsing.names)
        assert found.judges == ("usual", "rare")
        assert set(found.agents) == {"strict", "kind", "late"}


class TestOne:
    async def test_everything_about_it(self, store, records) -> None:
        judgment, assessment = pair(1)
        agent = assessment.agents[0].model_copy(update={"prompt_digest": records.key(7)})
        assessment = assessment.model_copy(update={"agents": (agent,)})
        store.record_call(records.call(7, "old"))
        store.record_call(records.call(8))
        await keep(store, (judgment, assessment), pair(2))
        again = assessment.model_copy(update={"panel_digest": "q" * 64})
        await keep(store, (judgment, again))
        (line,) = [
            one for one in (await page(store)).lines if one.panel_digest[0] == "p" and one.judgment_id == "j1-owl"
        ]
        found = await store.ask(lambda c: browsing.kept_assessment(c, line.number))
        assert found.assessment == assessment
        assert found.judgment == judgment
        assert [one.key for one in found.attempts] == [records.key(7)]
        assert [one.panel_digest[0] for one in found.others] == ["q"]

    async def test_forgotten_texts_are_gone_and_numbers_stay(self, store) -> None:
        await keep(store, pair(1))
        await store.forget("item-1")
        (line,) = (await page(store)).lines
        found = await store.ask(lambda c: browsing.kept_assessment(c, line.number))
        assert found.judgment is None
        assert found.line.final_score == pair(1)[1].final_score
        assert "checked one by one" not in found.payload

    async def test_no_such_number(self, store) -> None:
        assert await store.ask(lambda c: browsing.kept_assessment(c, 5)) is None


class TestActions:
    async def test_decisions_are_counted_over_all_of_a_panel(self, many) -> None:
        counted = await many.ask(lambda c: dashboard.actions_by_day(c, 0.0, "p" * 64))
        found = {one.kind: one.n for one in counted}
        meant = [pair(number)[1].decision.action for number in range(60)]
        assert found == {action: meant.count(action) for action in set(meant)}
        assert len(found) == 4
        assert await many.ask(lambda c: dashboard.actions_by_day(c, 0.0, "q" * 64)) == []

    async def test_what_no_policy_decided_is_not_counted_whatever_its_texts_say(self, store) -> None:
        judgment, assessment = pair(1)
        said = assessment.model_copy(update={"decision": None, "judge": 'a "action":"APPROVE" judge'})
        await keep(store, (judgment, said))
        assert await store.ask(lambda c: dashboard.actions_by_day(c, 0.0, "p" * 64)) == []


class TestTotals:
    async def test_counts_by_day_judge_and_panel(self, store) -> None:
        await keep(store, pair(1, accepted=True), pair(2, accepted=False), pair(3, "crow", accepted=True))
        await keep(store, pair(4, "crow", status=Status.UNSCORED, accepted=None, final_score=None))
        days = await store.ask(lambda c: dashboard.outcomes_by_day(c, 0.0))
        assert {one.kind: one.n for one in days} == {"kept": 2, "not_kept": 1, "unscored": 1}
        judges = {one.judge: one for one in await store.ask(lambda c: dashboard.judges(c, 0.0))}
        assert judges["crow"] == dashboard.JudgeCount("crow", 2, 1, 0, 1)
        (panel,) = await store.ask(lambda c: dashboard.panels(c, 0.0))
        assert panel.n == 4
        assert await store.ask(lambda c: dashboard.judges(c, 4e9)) == []

    async def test_failed_attempts_cost_and_unknown_prices_are_told_apart(self, store, records) -> None:
        failed = records.call(1, None, status="failed", failure_kind=FailureKind.TIMEOUT, usage=None, cost_usd=None)
        unpriced = records.call(2, cost_usd=None)
        for call in (records.call(0), failed, unpriced):
            store.record_call(call)
        await keep(store, pair(1))
        (spent,) = await store.ask(lambda c: dashboard.spending(c, 0.0))
        assert (spent.attempts, spent.failed, spent.unpriced) == (3, 1, 1)
        assert spent.cost_usd == pytest.approx(0.001)
        (failure,) = await store.ask(lambda c: dashboard.failures(c, 0.0))
        assert failure == dashboard.FailureCount("timeout", 1, 1)  # an attempt; and the agent "late"

    async def test_runs(self, store, records) -> None:
        store.record_call(records.call(0))
        store.record_call(
            records.call(1, None, status="failed", failure_kind=FailureKind.TIMEOUT, usage=None, cost_usd=None)
        )
        await keep(store, pair(1, accepted=True))
        await keep(store, pair(2, accepted=False), run="run-2")
        found = await store.ask(lambda c: dashboard.run_totals(c, ["run-1", "run-2", "run-3"]))
        assert found["run-1"].outcomes == {"kept": 1}
        assert (found["run-1"].attempts, found["run-1"].failures) == (2, {"timeout": 1})
        assert found["run-2"].assessments == 1
        assert (found["run-3"].assessments, found["run-3"].attempts, found["run-3"].cost_usd) == (0, 0, 0.0)

    async def test_hostile_names_are_only_names(self, store) -> None:
        judgment = hostile_judgment()
        await keep(store, (judgment, hostile_assessment(judgment)))
        assert (await store.ask(browsing.names)).judges == (judgment.judge,)
        assert len((await page(store, AssessmentFilter(judge=judgment.judge))).lines) == 1
