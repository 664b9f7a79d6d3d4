"""A pairwise judge: verdicts turned back to response ids, one repair, typed failures, no guess."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metajudge.errors import (
    BudgetExceeded,
    ConnectionFailedError,
    ContextTooLongError,
    FailureKind,
    RateLimitedError,
    RefusedError,
)
from metajudge.judging.pairwise import PairwiseJudge, orders_of
from metajudge.judging.records import judgment_of
from metajudge.providers.scripted import ScriptedModel
from metajudge.providers.stack import Resources, wrap_model
from metajudge.types import Item, Reply, Usage
from tests.doubles.judging import arbitrary, item, prefers, verdict

SWAP = {"A": "B", "B": "A"}


def judge(*replies, **options):
    model = ScriptedModel(list(replies), name="scripted-judge")
    return PairwiseJudge("owl", model, **options), model


class TestVerdicts:
    @pytest.mark.parametrize(
        ("mark", "given", "swapped"),
        [("A>>B", "A>>B", "B>>A"), ("A>B", "A>B", "B>A"), ("A=B", "A=B", "A=B"), ("B>A", "B>A", "A>B")],
    )
    async def test_a_mark_means_the_responses_shown_and_the_verdict_their_ids(self, mark, given, swapped):
        owl, _ = judge(verdict(mark), verdict(mark))
        assert str((await owl.compare(item(), ("A", "B"))).verdict) == given
        assert str((await owl.compare(item(), ("B", "A"))).verdict) == swapped

    @given(st.text(max_size=20), st.text(max_size=20), st.text(max_size=20))
    @pytest.mark.slow
    async def test_renaming_and_turning_everything_mirrors_the_verdict(self, question, first, second):
        judge = PairwiseJudge("arbitrary", arbitrary())
        one = item(question=question, first=first, second=second)
        twin = item(question=question, first=second, second=first)
        for order in orders_of(one):
            turned = (SWAP[order[0]], SWAP[order[1]])
            assert judge.request(one, order).content() == judge.request(twin, turned).content()
            mine = (await judge.compare(one, order)).verdict
            theirs = (await judge.compare(twin, turned)).verdict.relabelled(SWAP)
            assert (mine.winner, mine.strength) == (theirs.winner, theirs.strength)


class TestFailures:
    async def test_a_refusal_by_the_providers_filter_is_one_too(self):
        owl, _ = judge(RefusedError("filtered", status=400))
        assert (await owl.compare(item(), ("A", "B"))).no_verdict == "filtered"

    @pytest.mark.parametrize(
        "error",
        [RateLimitedError("slow down", status=429), ConnectionFailedError("cut"), ContextTooLongError("too long")],
    )
    async def test_a_judge_that_cannot_be_asked_has_not_answered(self, error):
        owl, _ = judge(error)
        game = await owl.compare(item(), ("A", "B"))
        assert (game.verdict, game.no_verdict, game.replied) == (None, None, False)
        assert (game.failure.kind, game.failure.message) == (error.kind, str(error))

    async def test_a_repair_that_cannot_be_sent_is_a_failed_call_and_not_a_bad_answer(self):
        owl, _ = judge("prose", RateLimitedError("slow down", status=429))
        game = await owl.compare(item(), ("A", "B"))
        assert (game.failure.kind, game.replied, game.spent.calls) == (FailureKind.RATE_LIMITED, False, 2)

    async def test_a_spent_budget_is_raised(self):
        owl, _ = judge(BudgetExceeded("spent"))
        with pytest.raises(BudgetExceeded):
            await owl.compare(item(), ("A", "B"))

    async def test_an_unknown_cost_stays_unknown(self):
        owl, _ = judge(Reply("prose", "stop", "m"), verdict())
        game = await owl.compare(item(), ("A", "B"))
        assert game.cost_usd is game.spent.cost_usd is None


class TestStoredReplies:
    async def test_a_stored_reply_costs_nothing_anew_and_gives_the_same_game(self):
        stored = Reply(verdict("A>>B"), "stop", "m", Usage(9, 0, 0, 4), 0.002, attempts=0, cached=True)
        owl, _ = judge(stored)
        game = await owl.compare(item(), ("A", "B"))
        assert (game.spent.calls, game.spent.cached_calls, game.spent.cost_usd, game.cost_usd) == (0, 1, 0.0, 0.002)
        assert game.replies == 1

    async def test_an_item_and_its_swapped_twin_share_their_calls(self):
        inner = prefers("four")
        owl = PairwiseJudge("owl", wrap_model(inner, resources=Resources(cache=_Memory())))
        twin = item("twin", question=item().question, first="five", second="four")
        mine = [await owl.compare(item(), order) for order in orders_of(item())]
        theirs = [await owl.compare(twin, order) for order in orders_of(twin)]
        assert [str(game.verdict) for game in mine] == ["A>B", "A>B"]
        assert [str(game.verdict) for game in theirs] == ["B>A", "B>A"]
        assert {game.request_digest for game in mine} == {game.request_digest for game in theirs}


class _Memory:
    async def find_reply(self, key):
        return None


def test_orders_of_two_of_three_responses_and_of_a_pair():
    three = item(responses={"A": "1", "B": "2", "C": "3"})
    assert orders_of(three, pair=("C", "A")) == (("A", "C"), ("C", "A"))
    assert orders_of(item(), "given") == (("A", "B"),)


class TestIdentities:
    LEAKING = Item(
        id="q", question="What is 2 + 2?", responses={"a": "As GPT-4 by OpenAI, 4.", "b": "I am Claude: 4"},
        models={"a": "gpt-4", "b": "claude-v1"},
    )  # fmt: skip

    async def test_names_are_hidden_where_the_item_names_its_models_and_the_record_keeps_text_and_report(self):
        model = ScriptedModel([verdict("A=B")])
        game = await PairwiseJudge("j", model).compare(self.LEAKING, ("a", "b"))
        prompt = model.requests[0].messages[0].text.lower()
        assert not [name for name in ("gpt", "openai", "claude") if name in prompt]
        made = judgment_of(game)
        assert made.item == self.LEAKING
        assert [one["text"] for one in made.meta["blinding"]["hidden"]] == ["GPT-4", "OpenAI", "Claude"]

    @pytest.mark.parametrize("change", [{"models": None}, {"responses": {"a": "4", "b": "five"}}])
    async def test_the_request_is_the_same_as_ever_where_nothing_is_hidden(self, change):
        item = self.LEAKING.model_copy(update=change)
        model = ScriptedModel([verdict("A=B")])
        judge = PairwiseJudge("j", model)
        game = await judge.compare(item, ("a", "b"))
        assert model.requests[0].messages == judge.request(item, ("a", "b")).messages
        assert "blinding" not in judgment_of(game).meta
