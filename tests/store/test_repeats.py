"""What is saved again: the newest row always holds the last word, and what says nothing new leaves no row."""

import asyncio
from functools import partial

import pytest

from metajudge.errors import FailureKind
from metajudge.store import open_store
from metajudge.store.browsing import AssessmentFilter, page_of_assessments
from metajudge.types import Failure, SignalValue, Status, TokenUsage
from metajudge.types.assessment import GuaranteedThreshold
from tests.api.pages.filled_store import made_agent, made_assessment, made_judgment

JUDGMENT = made_judgment(1)
RESULT = made_assessment(JUDGMENT, 1, decision=None, probability=None, calibrated=False)
TIMEOUT = Failure(kind=FailureKind.TIMEOUT, message="no reply within 60.1 s")
FAILED = RESULT.model_copy(
    update={"status": Status.UNSCORED, "final_score": None, "accepted": None, "failure": TIMEOUT}
)


def by(policy, result=RESULT):
    decision = made_assessment(JUDGMENT, 1).decision.model_copy(update={"policy": policy})
    return result.model_copy(update={"decision": decision})


def calibrated(name, probability, result=RESULT):
    return result.model_copy(update={"calibration": name, "probability": probability, "calibrated": True})


async def save(store, *assessments, run="run-1"):
    """One after the other, under the key of the result."""
    for one in assessments:
        await store.save_assessment("key", JUDGMENT, one, run)


async def kept(store):
    """(the newest row, how many older ones)"""
    found = await store.show(JUDGMENT.id)
    (newest,) = await store.newest_assessments()
    assert found["assessments_total"] == 1
    return newest[1], found["history_total"]


AGAIN = FAILED.model_copy(update={"failure": TIMEOUT.model_copy(update={"message": "no reply within 59.8 s"})})
REFUSED = FAILED.model_copy(update={"failure": Failure(kind=FailureKind.REFUSED, message="no")})
ONE, TWO = calibrated("one", 0.8), calibrated("two", 0.4)
STANDS = {
    "a policy that is used again": ([RESULT, by("x"), by("y"), by("x")], by("x"), 3),
    "a calibration that is used again": ([RESULT, ONE, TWO, ONE], ONE, 3),
    "vetting without a policy takes no decision back": ([RESULT, by("x"), RESULT], by("x"), 1),
    "a decision does not stand once the result is another": ([FAILED, by("x", FAILED), RESULT], RESULT, 2),
    "a failure that fails in the same way leaves one row": ([FAILED, AGAIN, FAILED, AGAIN, FAILED], FAILED, 0),
    "a retry with another outcome is history": ([FAILED, REFUSED, FAILED, RESULT], RESULT, 3),
}


class TestWhatCounts:
    @pytest.mark.parametrize("case", STANDS)
    async def test_the_last_word_stands_and_is_shown(self, store, case) -> None:
        said, stands, older = STANDS[case]
        await save(store, *said)
        assert await kept(store) == (stands, older)
        (line,) = (await store.ask(partial(page_of_assessments, wanted=AssessmentFilter(), limit=5))).lines
        assert line.action == (None if stands.decision is None else stands.decision.action)

    async def test_other_evidence_is_another_result_also_when_it_comes_back(self, store) -> None:
        signals = {"peers": SignalValue(value=1.0, state="agree")}
        other = RESULT.model_copy(update={"signals": signals})
        await store.save_assessment("one", JUDGMENT, RESULT, "r")
        await store.save_assessment("two", JUDGMENT, other, "r")
        await store.save_assessment("one", JUDGMENT, RESULT, "r")
        assert await kept(store) == (RESULT, 2)


class TestNothingNew:
    async def test_the_same_after_reopening_leaves_one_row(self, store, reopen) -> None:
        await save(store, FAILED, by("x", FAILED))
        again = await reopen(store)
        await save(again, FAILED, by("x", FAILED))
        assert await kept(again) == (by("x", FAILED), 1)
        assert await again.find_assessments(["key"]) == {"key": FAILED}

    async def test_the_first_under_a_key_is_kept_whatever_it_says(self, store, reopen) -> None:
        await store.save_assessment("one", JUDGMENT, RESULT, "r")
        await store.close()
        again = await reopen()  # which keys there are is not known yet
        await again.save_assessment("two", JUDGMENT, RESULT, "r")
        assert set(await again.find_assessments(["one", "two"])) == {"one", "two"}

    async def test_many_at_once_leave_a_result_and_a_decision(self, store) -> None:
        await asyncio.gather(*(save(store, RESULT, by("x")) for _ in range(20)))
        assert await kept(store) == (by("x"), 1)
        assert (await store.show(JUDGMENT.id))["history"][0]["payload"].get("decision") is None

    async def test_replicas_that_save_the_same_at_once_leave_one_row_and_one_annotation(self, postgres_url) -> None:
        replicas = [await open_store(postgres_url) for _ in range(3)]
        for turn in range(10):  # judgments that are new: the race is for the first row
            judgment = made_judgment(turn)
            said = made_assessment(judgment, turn)  # with a probability and a decision
            done = [
                one.save_assessment("key " + judgment.id, judgment, said, "r") for one in replicas for _ in range(4)
            ]
            await asyncio.gather(*done)
            found = await replicas[0].show(judgment.id)
            assert (found["assessments_total"], found["history_total"]) == (1, 1)
        for one in replicas:
            await one.close()


class TestComparison:
    @pytest.mark.parametrize(
        ("changes", "older"),
        [
            ({"calls": 0, "cached_calls": 3, "cost_usd": None}, 0),
            ({"usage": TokenUsage(input_tokens=5)}, 0),
            ({"agents": tuple(one.model_copy(update={"latency_s": 9.0, "calls": 0}) for one in RESULT.agents)}, 0),
            ({"decided_by": "score", "cut": 4.5, "cut_from": "default"}, 0),
            ({"final_score": 4.9}, 1),
            ({"accepted": True}, 1),
            ({"seed": 3}, 1),
            ({"metajudge_version": "9"}, 1),
            ({"agents": (made_agent("strict", "fox-2", (2.0, 3.0, 4.0, 5.0)), *RESULT.agents[1:])}, 1),
            ({"agents": RESULT.agents[:2]}, 1),
        ],
    )
    async def test_what_it_cost_and_the_name_of_the_rule_are_no_news_and_anything_else_is(
        self, store, changes, older
    ) -> None:
        other = RESULT.model_copy(update=changes)
        await save(store, RESULT, other)
        assert await kept(store) == (other if older else RESULT, older)

    async def test_a_result_is_kept_as_found_under_a_guarantee_that_turned_its_outcome(self, store) -> None:
        promised = GuaranteedThreshold(threshold=0.8, target=0.9, delta=0.1)
        turned = calibrated("one", None).model_copy(
            update={"guarantee": promised, "status": Status.UNSCORED, "accepted": None, "failure": TIMEOUT}
        )
        for _ in range(3):
            await store.save_assessment("key", JUDGMENT, turned, "r", RESULT)
        await save(store, RESULT)
        assert await kept(store) == (turned, 1)
        assert await store.find_assessments(["key"]) == {"key": RESULT}
        (line,) = (await store.ask(partial(page_of_assessments, wanted=AssessmentFilter(), limit=5))).lines
        assert (line.outcome, line.probability) == ("unscored", None)
