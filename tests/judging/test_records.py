"""Judgment records of games: complete, readable by the readers, the same whether replies were stored or not."""

import pytest

from metajudge.errors import RateLimitedError
from metajudge.judging.pairwise import PairwiseJudge
from metajudge.judging.records import judgment_of
from metajudge.prompts.meta_judge import render_request
from metajudge.providers.scripted import ScriptedModel
from metajudge.types import Reply, Usage
from tests.doubles.judging import item, verdict


async def game(reply, order=("A", "B"), pair=None, **options):
    owl = PairwiseJudge("owl", ScriptedModel([reply, reply], name="gpt-x"), **options)
    return await owl.compare(pair or item(label="A>B"), order)


async def test_a_meta_judge_sees_the_letters_the_judge_saw():
    named = item(responses={"x": "sum 4", "y": "sum 5"})
    prompt = render_request(judgment_of(await game(verdict("A>B"), ("y", "x"), named)))
    assert prompt.index("## Response A") < prompt.index("sum 5") < prompt.index("## Response B")
    assert "A>B: A is better than B" in prompt


async def test_a_refusal_is_a_judgment_without_a_verdict():
    made = judgment_of(await game(Reply("No.", "refusal", "m", Usage(1, 0, 0, 1), 0.0)))
    assert made.verdict is None
    assert made.no_verdict == "owl declined to answer: No."
    assert made.rationale == "No."


async def test_a_judge_that_could_not_be_asked_leaves_no_record():
    failed = await game(RateLimitedError("slow down"))
    with pytest.raises(ValueError, match="rate_limited: slow down"):
        judgment_of(failed)


async def test_a_stored_reply_makes_the_same_record():
    fresh = Reply(verdict(), "stop", "m", Usage(9, 0, 0, 4), 0.002, latency_s=1.5, attempts=3)
    stored = Reply(verdict(), "stop", "m", Usage(9, 0, 0, 4), 0.002, latency_s=1.5, attempts=0, cached=True)
    assert judgment_of(await game(fresh)) == judgment_of(await game(stored))
