"""Games of pairs and single grades: replies, verdicts combined by rule, and their records."""

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from metajudge.errors import (
    BudgetExceeded,
    ConnectionFailedError,
    ContextTooLongError,
    FailureKind,
    ModelTimeoutError,
    RateLimitedError,
    RefusedError,
)
from metajudge.judging.judges import (
    MARKS,
    SCHEMA,
    GradingJudge,
    PairwiseJudge,
    orders_of,
    parse_pairwise_reply,
    stated_marks,
)
from metajudge.judging.records import combine, judgment_of, support
from metajudge.prompts.meta_judge import render_request
from metajudge.providers.scripted import ScriptedModel
from metajudge.providers.stack import Resources, wrap_model
from metajudge.types import Absent, Item, Judgment, Pairwise, Reply, Usage, parse_verdict
from tests.doubles.judging import arbitrary, item, prefers, verdict
from tests.doubles.ranking import fails, says

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

    async def test_a_repair_that_cannot_be_sent_is_a_failed_call_a_spent_budget_raised_a_cost_unknown(self):
        owl, _ = judge("prose", RateLimitedError("slow down", status=429))
        game = await owl.compare(item(), ("A", "B"))
        assert (game.failure.kind, game.replied, game.spent.calls) == (FailureKind.RATE_LIMITED, False, 2)
        owl, _ = judge(BudgetExceeded("spent"))
        with pytest.raises(BudgetExceeded):
            await owl.compare(item(), ("A", "B"))
        owl, _ = judge(Reply("prose", "stop", "m"), verdict())
        game = await owl.compare(item(), ("A", "B"))
        assert game.cost_usd is game.spent.cost_usd is None


class TestStoredReplies:
    async def test_a_stored_reply_costs_nothing_anew_and_swapped_twins_share_their_calls(self):
        stored = Reply(verdict("A>>B"), "stop", "m", Usage(9, 0, 0, 4), 0.002, attempts=0, cached=True)
        owl, _ = judge(stored)
        game = await owl.compare(item(), ("A", "B"))
        assert (game.spent.calls, game.spent.cached_calls, game.spent.cost_usd, game.cost_usd) == (0, 1, 0.0, 0.002)
        assert game.replies == 1
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


# Two games become one verdict by a named rule.
PAIR = ("A", "B")


def combined(rule, *marks):
    found = combine(PAIR, [None if mark is None else parse_verdict(mark) for mark in marks], rule)
    return None if isinstance(found, Absent) else str(found)


@pytest.mark.parametrize(
    ("marks", "agree", "total", "strength"),
    [
        (("A>B", "A>B"), "A>B", "A>B", "A>B"),
        (("A>>B", "A>B"), "A>B", "A>B", "A>>B"),
        (("A>>B", "A>>B"), "A>>B", "A>B", "A>>B"),
        (("A>B", "B>A"), "A=B", "A=B", "A=B"),
        (("A>>B", "B>A"), "A=B", "A=B", "A>B"),
        (("A>B", "A=B"), "A=B", "A>B", "A>B"),
        (("B>A", "B=A"), "A=B", "B>A", "B>A"),
        (("A=B", "A=B"), "A=B", "A=B", "A=B"),
        (("A>B", None), None, "A>B", None),
        ((None, None), None, None, None),
    ],
)
def test_each_rule_by_hand(marks, agree, total, strength):
    assert combined("agree", *marks) == agree
    assert combined("sum", *marks) == total
    assert combined("strength", *marks) == strength


def test_the_order_of_games_and_the_names_change_nothing():
    marks = ["A>>B", "A>B", "A=B", "B>A", "B>>A", None]
    turned = {"A": "B", "B": "A"}
    for rule, one, two in itertools.product(("agree", "sum", "strength"), marks, marks):
        assert combined(rule, one, two) == combined(rule, two, one)
        mirror = [None if mark is None else str(parse_verdict(mark).relabelled(turned)) for mark in (one, two)]
        found, other = combined(rule, one, two), combined(rule, *mirror)
        if found is None or other is None:
            assert found is other
            continue
        assert parse_verdict(other).support("B", "A") == parse_verdict(found).support("A", "B")


# A pairwise judge's reply: read strictly, or refused with what is wrong.
@pytest.mark.parametrize("mark", MARKS)
def test_each_of_the_five_verdicts_is_read_and_follows_the_schema(mark):
    reply = parse_pairwise_reply(verdict(mark, "because"))
    assert (reply.verdict, reply.reasoning) == (mark, "because")
    Draft202012Validator(dict(SCHEMA.schema)).validate(json.loads(verdict(mark)))


def test_the_reasoning_comes_before_the_verdict_and_a_code_fence_and_a_thought_are_tolerated():
    assert list(SCHEMA.schema["properties"]) == SCHEMA.schema["required"] == ["reasoning", "verdict"]
    assert parse_pairwise_reply(f"<think>A>>B?</think>```json\n{verdict('B>A')}\n```").verdict == "B>A"


def test_the_different_marks_of_a_text_are_found_for_the_reason_alone():
    assert stated_marks('[[A>B]] ... [[ B >> A ]] {"verdict": "A>B"}') == ["A>B", "B>>A"]
    assert stated_marks("A>B, clearly") == []


# Single responses graded from 1 to 10.
def said(grade=7):
    return json.dumps({"reasoning": "Adds up.", "grade": grade})


async def test_a_grade_becomes_a_judgment_of_one_response():
    record = judgment_of(await GradingJudge("j", says(said(7))).grade(item(label="A>B"), "B"))
    assert (record.id, record.order, record.verdict.value) == ("i1/j/B", ("B",), 7.0)
    assert isinstance(record.verdict.value, float)
    assert Judgment.model_validate_json(record.model_dump_json()) == record


async def test_a_judge_that_gives_no_grade_is_recorded_and_one_that_is_lost_is_not():
    found = await GradingJudge("j", says("about seven")).grade(item(), "A")
    record = judgment_of(found)
    assert record.verdict is None
    assert "no usable reply" in record.no_verdict
    lost = await GradingJudge("j", fails(ModelTimeoutError("late"))).grade(item(), "A")
    assert lost.failure.kind is FailureKind.TIMEOUT
    with pytest.raises(ValueError, match="gave no judgment"):
        judgment_of(lost)


# Judgment records of games: complete, readable by the readers, the same whether replies were stored or not.
async def game(reply, order=("A", "B"), pair=None, **options):
    owl = PairwiseJudge("owl", ScriptedModel([reply, reply], name="gpt-x"), **options)
    return await owl.compare(pair or item(label="A>B"), order)


async def test_a_meta_judge_sees_the_letters_the_judge_saw_and_a_refusal_has_no_verdict():
    named = item(responses={"x": "sum 4", "y": "sum 5"})
    prompt = render_request(judgment_of(await game(verdict("A>B"), ("y", "x"), named)))
    assert prompt.index("## Response A") < prompt.index("sum 5") < prompt.index("## Response B")
    assert "A>B: A is better than B" in prompt
    made = judgment_of(await game(Reply("No.", "refusal", "m", Usage(1, 0, 0, 1), 0.0)))
    assert made.verdict is None
    assert made.no_verdict == "owl declined to answer: No."
    assert made.rationale == "No."


async def test_a_judge_that_could_not_be_asked_leaves_no_record_and_a_stored_reply_the_same():
    failed = await game(RateLimitedError("slow down"))
    with pytest.raises(ValueError, match="rate_limited: slow down"):
        judgment_of(failed)
    fresh = Reply(verdict(), "stop", "m", Usage(9, 0, 0, 4), 0.002, latency_s=1.5, attempts=3)
    stored = Reply(verdict(), "stop", "m", Usage(9, 0, 0, 4), 0.002, latency_s=1.5, attempts=0, cached=True)
    assert judgment_of(await game(fresh)) == judgment_of(await game(stored))


# Support of verdicts for a verdict: hand-computed, bounded, mirrored.


def verdicts(*marks):
    return [parse_verdict(mark) for mark in marks]


@pytest.mark.parametrize(
    ("verdict", "found", "expected"),
    [
        ("A>B", ["A>>B", "A>>B"], 1.0),
        ("A>B", ["A>B", "A>B"], 0.5),
        ("A>>B", ["A>B", "A>>B"], 0.75),
        ("A>B", ["A>>B", "B>>A"], 0.0),
        ("A>B", ["A=B", "B>A"], -0.25),
        ("B>A", ["A>>B"], -1.0),
        ("A=B", ["A=B", "A=B"], 1.0),
        ("A=B", ["A=B", "A>B"], 0.5),
        ("A=B", ["A>B", "B>A"], 0.0),
        ("A=B", ["A>>B", "B>>A"], -1.0),
        ([["A"], ["B"]], ["A>>B", "A>B"], 0.75),
        ([["A", "B"]], ["A=B"], 1.0),
    ],
)
def test_by_hand(verdict, found, expected):
    assert support(parse_verdict(verdict), verdicts(*found)) == pytest.approx(expected)


@given(st.sampled_from(MARKS), st.lists(st.sampled_from(MARKS), min_size=1, max_size=4))
def test_it_is_bounded_and_renaming_changes_nothing(mark, marks):
    verdict, found = parse_verdict(mark), verdicts(*marks)
    value = support(verdict, found)
    assert -1 <= value <= 1
    assert support(verdict.relabelled(SWAP), [one.relabelled(SWAP) for one in found]) == value
    if not verdict.is_tie:
        turned = Pairwise(verdict.second, verdict.first, verdict.strength)
        assert support(turned, found) == pytest.approx(-value)


@pytest.mark.parametrize(("verdict", "found"), [("A>B", []), ("A>B", ["A>C"]), ("A>B", ["A>B", "C>B"]), (7, ["A>B"])])
def test_verdicts_on_other_responses_or_none_support_nothing_and_a_grade_cannot_be_supported(verdict, found):
    with pytest.raises(ValueError, match="same two responses"):
        support(parse_verdict(verdict), verdicts(*found))
