import random
import tracemalloc
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from metajudge.evidence import columns, grouping
from metajudge.evidence.columns import SIGNALS, STABILITY, compare, signal_columns
from metajudge.evidence.comparison import agreement, comparable_verdict, decided_verdict, signed_support, stance
from metajudge.evidence.format import ratio_signal
from metajudge.evidence.rules import Rules
from metajudge.evidence.units import Asked
from metajudge.evidence.verdicts import Verdicts, VerdictsBuilder, collected
from metajudge.types import Category, Grade, Item, Judgment, Pairwise, SignalValue, kind_of, parse_right
from tests.evidence.made import made_input
from tests.evidence.verdicts import TRIPLE, judged, length_ratio

COLUMNS = ("item", "judge", "model", "order", "verdict", "truth", "category", "reason", "rationale")
NUMBERS = ("words", "own_words", "other_words", "confidence")


def same(one: Verdicts, other: Verdicts) -> bool:
    tables = ("items", "judges", "models", "orders", "verdicts", "truths", "categories", "reasons", "rationales")
    arrays = (np.array_equal(getattr(one, name), getattr(other, name), equal_nan=True) for name in COLUMNS + NUMBERS)
    return (
        list(one.judgment_ids) == list(other.judgment_ids)
        and all(arrays)
        and all(getattr(one, name) == getattr(other, name) for name in tables)
    )


@pytest.mark.parametrize("texts", [True, False])
@pytest.mark.parametrize("seed", range(6))
def test_facts_of_several_are_those_of_one_after_the_other(seed: int, texts: bool) -> None:
    judgments, builder = made_input(seed)[0], VerdictsBuilder(texts=texts)
    for start in range(0, len(judgments), 7):
        builder.add_all(judgments[start : start + 7])
    assert same(builder.facts(), collected(judgments, texts=texts))


def test_every_fact_of_a_record() -> None:
    item = Item(
        id="t",
        question="?",
        responses={"A": "a", "B": "b b", "C": ""},
        category="c",
        label=[["B"], ["A", "C"]],
        scale=(1, 5),
    )
    meta = {"judge_model": "m", "confidence": 0.75}
    one = judged([["B"], ["A"]], item=item, rationale="B it is", order=("C", "B", "A"), meta=meta)
    facts = collected([one, judged(None, item=item, judge="emu"), judged(4, item=item, order=("B",))])
    assert (facts.judgment_ids[0], facts.judges[0], facts.models) == ("j", "owl", ["m"])
    assert facts.orders[0] == ("C", "B", "A")
    (first,) = facts.items
    assert (first.id, first.digest, first.scale, first.asked) == ("t", item.digest, (1.0, 5.0), Asked.of(item))
    verdict, truth = facts.verdict_of(facts.verdict[0]), facts.truths[facts.truth[0]]
    assert (verdict.to_json(), truth.to_json()) == ([["B"], ["A"]], [["B"], ["A", "C"]])
    assert (facts.categories, facts.reason[0], facts.rationales[0][:2]) == (["c"], -1, (None, "no_text_verdict"))
    assert (facts.words[0], facts.own_words[0], facts.other_words[0], facts.confidence[0]) == (3, 2, 1.0, 0.75)
    assert facts.reasons == ["cut off"]
    assert facts.kind.tolist() == [1, -1, 2]
    assert facts.own_words.tolist() == [2, -1, 2]
    assert np.isnan(facts.other_words).tolist() == [False, True, True]
    assert (facts.model_of, facts.conflicts()) == ({"owl": "m"}, {})


def test_contents_chosen_rows_stated_models_and_rules_of_collected_verdicts() -> None:
    other = Item(id="t", question="another?", responses=TRIPLE.responses)
    facts = collected([judged("A>B", item=TRIPLE), judged("A>B"), judged("A>B", item=other)])
    assert facts.conflicts() == {"t": [0, 2]}
    facts = collected(made_input(3)[0])
    for rows in (slice(1, 4), np.array([3, 1])):
        some = facts.select(rows)
        assert list(some.judgment_ids) == np.array(facts.judgment_ids)[rows].tolist()
        for name in COLUMNS + NUMBERS:
            assert np.array_equal(getattr(some, name), getattr(facts, name)[rows], equal_nan=True), name
    given = [judged("A>B", meta={"judge_model": name}) for name in ("", "m", "other")]
    assert collected(given).model_of == {"owl": "m"}
    facts = collected([judged(grade, order=("A",)) for grade in (1, 2.5, 6)])
    assert str(facts.rules().of("grade")) == "within:0.5"
    assert facts.rules().kinds == {"grade"}
    assert str(facts.rules(parse_right("side:3")).of("grade")) == "side:3"


@pytest.mark.parametrize("verdict", ["A>B", "B>>A", "A=B", [["B"], ["A", "C"]], None])
def test_the_length_ratio_follows_from_the_facts(verdict: object) -> None:
    one = judged(verdict, item=TRIPLE)
    facts = collected([one])
    given = ratio_signal(one.verdict, int(facts.own_words[0]), float(facts.other_words[0]))
    assert isinstance(given, SignalValue)
    assert given == length_ratio(one)


def test_without_texts_nothing_is_read() -> None:
    (facts,) = [collected([judged("A>B", rationale="[[A]]")], texts=False)]
    assert facts.rationales == [(None, "no_rationale", "no rationale was recorded")]
    assert (facts.words.tolist(), facts.own_words.tolist()) == ([0], [-1])


@pytest.mark.slow
def test_facts_stay_below_250_bytes_a_judgment() -> None:
    builder = VerdictsBuilder()
    tracemalloc.start()
    for number in range(500):
        item = Item(id=f"item-{number}", question=f"{number}?", responses={"A": "w " * 40, "B": "w " * (number % 60)})
        for place in range(10):
            verdict = "A>B" if place % 3 else "B>>A"
            builder.add(
                Judgment(
                    id=f"item-{number}/judge-{place // 2}/{place % 2}",
                    item=item,
                    judge=f"judge-{place // 2}",
                    verdict=verdict,
                    order=("A", "B") if place % 2 else ("B", "A"),
                    rationale="w " * (20 + number % 90) + f"My verdict is [[{verdict}]]",
                )
            )
    facts = builder.facts()
    del builder
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(facts) == 5_000
    assert size / len(facts) < 250


# Evidence by columns is what its definition says, in whatever order.
SEEDS = range(15)


def by_columns(judgments: Sequence[Judgment], right: Any) -> dict[str, dict[str, SignalValue]]:
    """Judgment id -> its signals."""
    facts = collected(judgments)
    found = signal_columns(facts, compare(facts, facts.rules(right)))
    every = ((one.id, {name: column.at(row) for name, column in found.items()}) for row, one in enumerate(judgments))
    return {name: {key: value for key, value in signals.items() if value is not None} for name, signals in every}


def peers_by_definition(own: Judgment, others: Sequence[Judgment], rules: Rules, models: Any) -> Any:
    """The state, the value and the votes: one judgment after the other."""
    verdict = own.verdict
    rule = None if verdict is None else rules.of(kind_of(verdict))
    pair = isinstance(verdict, Pairwise)
    said = decided_verdict(verdict) if pair else comparable_verdict(verdict, rule)
    if isinstance(said, SignalValue):
        return said.state, None, []
    votes: dict[str, list[float]] = {}
    for other in others:
        graded = isinstance(verdict, Grade | Category)
        variant = not pair and models.get(own.judge) is not None and models.get(own.judge) == models.get(other.judge)
        if other.verdict is None or other.judge == own.judge or variant or (graded and other.order != own.order):
            continue
        assert rule is not None
        vote = signed_support(said, other.verdict) if pair else agreement(said, other.verdict, rule)
        if vote is not None:
            votes.setdefault(other.judge, []).append(vote / (2 if pair else 1))
    means = sorted(sum(given) / len(given) for given in votes.values())
    if not means:
        return "no_peers", None, []
    value = sum(means) / (len(means) + (not pair))
    if len(means) > 1 and (means[0] > 0 or means[-1] < 0):
        return ("unanimous_for" if value > 0 else "unanimous_against"), value, means
    return ("balanced" if value == 0 else "for" if value > 0 else "against"), value, means


def order_by_definition(own: Judgment, others: Sequence[Judgment]) -> tuple[str, float | None]:
    said = decided_verdict(own.verdict)
    if isinstance(said, SignalValue):
        return said.state, None
    swapped = [
        one
        for one in others
        if one.judge == own.judge and one.order != own.order and sorted(one.order) == sorted(own.order)
    ]
    if not swapped:
        return "missing", None
    signs = [stance(said, one.verdict) for one in swapped if one.verdict is not None]
    known = [sign for sign in signs if sign is not None]
    if not known:
        return "other_no_verdict", None
    total = sum(known)
    return ("agree", 1.0) if total > 0 else ("disagree", -1.0) if total < 0 else ("other_tied", 0.0)


def stability_by_definition(own: Judgment, others: Sequence[Judgment], rules: Rules, models: Any) -> list[Any]:
    assert own.verdict is not None
    rule = rules.of(kind_of(own.verdict))
    said = comparable_verdict(own.verdict, rule)
    if isinstance(said, SignalValue):
        return [(said.state, None)] * 2
    graded = isinstance(own.verdict, Grade | Category)
    same = [one for one in others if one.judge == own.judge and one.order == own.order and one.id != own.id]
    again = [agreement(said, one.verdict, rule) for one in same if one.verdict is not None]
    variants: dict[str, list[int]] = {}
    for one in others:
        variant = models.get(own.judge) is not None and models.get(own.judge) == models.get(one.judge)
        if variant and one.judge != own.judge and one.verdict is not None and (not graded or one.order == own.order):
            sign = agreement(said, one.verdict, rule)
            if sign is not None:
                variants.setdefault(one.judge, []).append(sign)
    means = [sum(signs) / len(signs) for _, signs in sorted(variants.items())]
    return [_stable([sign for sign in again if sign is not None]), _stable(means)]


def _stable(votes: Sequence[float]) -> tuple[str, float | None]:
    if not votes:
        return "missing", None
    value = sum(votes) / len(votes)
    return ("agree" if value == 1 else "disagree" if value == -1 else "mixed"), value


@pytest.mark.parametrize("seed", SEEDS)
def test_columns_say_what_the_definition_says(seed: int) -> None:
    judgments, right = made_input(seed)
    facts = collected(judgments)
    rules = facts.rules(right)
    found = compare(facts, rules)
    for row, own in enumerate(judgments):
        others = [one for one in judgments if one.item.id == own.item.id]
        support = found.peers.at(row)
        state, value, votes = peers_by_definition(own, others, rules, facts.model_of)
        assert (support.state, support.value, support.peers) == (state, value, len(votes))
        if votes:
            assert support.supporting == sum(vote > 0 for vote in votes)
        order = found.order.at(row)
        assert order is not None
        assert (order.state, order.value) == order_by_definition(own, others)
        stability = [found.repeats.at(row), found.variants.at(row)]
        if own.verdict is None or isinstance(own.verdict, Pairwise):
            assert stability == [None, None]
        else:
            said = [(one.state, one.value) for one in stability if one is not None]
            assert said == stability_by_definition(own, others, rules, facts.model_of)


@pytest.mark.parametrize("seed", SEEDS)
def test_an_input_in_any_order_and_in_blocks_says_the_same(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    judgments, right = made_input(seed)
    found = by_columns(judgments, right)
    monkeypatch.setattr(columns, "BLOCK", 5)
    monkeypatch.setattr(grouping, "MOST", 7)
    assert by_columns(judgments, right) == found
    shuffled = random.Random(seed).sample(judgments, len(judgments))
    for name, signals in by_columns(shuffled, right).items():
        for key, signal in signals.items():
            # With several verdicts in the other order a detail may name whichever came first.
            assert (signal.value, signal.state) == (found[name][key].value, found[name][key].state)


def test_signals_come_in_a_fixed_order_and_nothing_is_compared_with_nothing() -> None:
    judgments, right = made_input(1)
    facts = collected(judgments)
    comparisons = compare(facts, facts.rules(right))
    assert tuple(signal_columns(facts, comparisons)) == (*SIGNALS, *STABILITY)
    facts = collected([])
    found = signal_columns(facts, compare(facts, facts.rules(parse_right("within:1"))))
    assert all(len(column.codes) == 0 for column in found.values())
