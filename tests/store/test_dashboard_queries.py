"""Figures and pages over a store: what is counted, what is newest, and what a filter finds."""

import itertools
from typing import Any

import pytest

from metajudge.errors import FailureKind
from metajudge.store import browsing, dashboard
from metajudge.store.browsing import AssessmentFilter
from metajudge.types import Failure, Judgment
from tests.api.pages.filled_store import (
    hostile_assessment,
    hostile_judgment,
    made_agent,
    made_assessment,
    made_judgment,
)
from tests.store.blocks import save_all

pytestmark = pytest.mark.slow


def pair(number, judge="owl", **changes) -> tuple[Judgment, Any]:
    judgment = made_judgment(number, judge=judge)
    judgment = judgment.model_copy(update={"id": f"j{number}-{judge}"})
    return judgment, made_assessment(judgment, number, **changes)


@pytest.fixture
async def many(store):
    await save_all(store, *(pair(number) for number in range(60)))
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

    async def test_text_with_quotes_and_line_breaks_is_found_and_cannot_break_the_query(self, store) -> None:
        judgment = made_judgment(1, rationale='He said "no"; DROP TABLE items;\nthen $1 {} %s')
        await save_all(store, (judgment, made_assessment(judgment, 1)))
        for text in ('said "no"', "items;\nthen", "$1 {} %s"):
            assert len((await page(store, AssessmentFilter(text=text))).lines) == 1
        assert not (await page(store, AssessmentFilter(text="' OR 1=1 --"))).lines

    async def test_an_explanation_that_spells_a_decision_is_not_taken_for_one(self, store) -> None:
        judgment, assessment = pair(0)
        spelt = made_agent("a", "m", (1.0, 2.0, 3.0, 4.0), role='"action":"APPROVE"')
        await save_all(store, (judgment, assessment.model_copy(update={"agents": (spelt,)})))
        assert not (await page(store, AssessmentFilter(decision="APPROVE"))).lines

    async def test_a_rare_text_is_found_in_the_end_and_what_was_searched_is_counted(self, many, monkeypatch) -> None:
        monkeypatch.setattr(browsing, "_CHECKED", 20)
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


class TestOne:
    async def test_forgotten_texts_are_gone_and_numbers_stay(self, store) -> None:
        await save_all(store, pair(1))
        await store.forget("item-1")
        (line,) = (await page(store)).lines
        found = await store.ask(lambda c: browsing.kept_assessment(c, line.number))
        assert found.judgment is None
        assert found.line.final_score == pair(1)[1].final_score
        assert "checked one by one" not in found.payload

    async def test_no_such_number(self, store) -> None:
        assert await store.ask(lambda c: browsing.kept_assessment(c, 5)) is None


class TestTotals:
    async def test_failed_attempts_cost_and_unknown_prices_are_told_apart(self, store, records) -> None:
        failed = records.call(1, None, status="failed", failure_kind=FailureKind.TIMEOUT, usage=None, cost_usd=None)
        unpriced = records.call(2, cost_usd=None)
        for call in (records.call(0), failed, unpriced):
            store.record_call(call)
        await save_all(store, pair(1))
        (spent,) = await store.ask(lambda c: dashboard.spending(c, 0.0))
        assert (spent.attempts, spent.failed, spent.unpriced) == (3, 1, 1)
        assert spent.cost_usd == pytest.approx(0.001)
        (failure,) = await store.ask(lambda c: dashboard.failures(c, 0.0))
        assert failure == dashboard.FailureCount("timeout", 1, 1)  # an attempt; and the agent "late"

    async def test_hostile_names_are_only_names(self, store) -> None:
        judgment = hostile_judgment()
        await save_all(store, (judgment, hostile_assessment(judgment)))
        assert (await store.ask(browsing.names)).judges == (judgment.judge,)
        assert len((await page(store, AssessmentFilter(judge=judgment.judge))).lines) == 1


async def test_a_judgment_without_a_verdict_did_not_fail(store) -> None:
    lost = {"status": "failed", "final_score": None, "accepted": None, "decision": None}
    reasons = (
        (FailureKind.NO_VERDICT, "empty"),
        (FailureKind.NO_VERDICT, "cut off"),
        (FailureKind.AUTH, 'the text "failure":{"kind":"no_verdict" in a message'),
    )
    failed = [
        pair(number, failure=Failure(kind=kind, message=why), **lost) for number, (kind, why) in enumerate(reasons)
    ]
    await save_all(store, *failed, pair(3, accepted=True))
    days = await store.ask(lambda c: dashboard.outcomes_by_day(c, 0.0))
    assert {one.kind: one.n for one in days} == {"no_verdict": 2, "failed": 1, "kept": 1}
    totals = await store.ask(lambda c: dashboard.run_totals(c, ["run-1"]))
    assert totals["run-1"].outcomes == {"no_verdict": 2, "failed": 1, "kept": 1}
    assert totals["run-1"].assessments == 4
    await save_all(store, pair(1, accepted=False), run="run-2")  # the first run is compared by its own versions now
    totals = await store.ask(lambda c: dashboard.run_totals(c, ["run-1", "run-2"]))
    assert totals["run-1"].outcomes == {"no_verdict": 2, "failed": 1, "kept": 1}
    assert totals["run-2"].outcomes == {"not_kept": 1}
