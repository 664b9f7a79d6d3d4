"""Evidence by columns is what its definition says, in whatever order."""

import random
from collections.abc import Sequence
from typing import Any

import pytest

from metajudge.evidence import columns, grouping
from metajudge.evidence.columns import SIGNALS, STABILITY, compare, signal_columns
from metajudge.evidence.comparison import agreement, comparable_verdict, decided_verdict, signed_support, stance
from metajudge.evidence.rules import Rules
from metajudge.evidence.verdicts import collected
from metajudge.types import Category, Grade, Judgment, Pairwise, SignalValue, kind_of, parse_right
from tests.evidence.made import made_input

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
        support = found.supports[int(found.support[row])]
        state, value, votes = peers_by_definition(own, others, rules, facts.model_of)
        assert (support.state, support.value, support.peers) == (state, value, len(votes))
        if votes:
            assert (support.lowest, support.highest) == (votes[0], votes[-1])
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


def test_signals_come_in_a_fixed_order_and_by_rows() -> None:
    judgments, right = made_input(1)
    facts = collected(judgments)
    comparisons = compare(facts, facts.rules(right))
    every, some = signal_columns(facts, comparisons), signal_columns(facts, comparisons, slice(2, 5))
    assert tuple(every) == (*SIGNALS, *STABILITY)
    for name, column in some.items():
        assert [column.at(row) for row in range(3)] == [every[name].at(row) for row in range(2, 5)]


def test_nothing_is_compared_with_nothing() -> None:
    facts = collected([])
    found = signal_columns(facts, compare(facts, facts.rules(parse_right("within:1"))))
    assert all(len(column.codes) == 0 for column in found.values())
