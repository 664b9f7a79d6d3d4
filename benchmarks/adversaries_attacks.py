"""Attacks on recorded judgments: what dishonest judges would have said in place of what five judges said.

Every attack takes the facts of five judges and gives the facts of an input in which some of them are adversaries.
Labels are used by the attackers alone: an attacker who knows the truth is the worst there can be.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

import numpy as np

from metajudge.evidence.comparison import MAX_STRENGTH
from metajudge.evidence.facts import Facts
from metajudge.evidence.rules import Rules
from metajudge.stats.arrays import Bools, Floats, Indices, Ints
from metajudge.types import AnyVerdict, Pairwise, Right, is_right, kind_of

Attacked = tuple[Facts, Bools]
"""The facts, and [judges] who in them is an adversary."""

NEEDED_VOTE: Final = 0.15
"""A pair's verdict that is the same in both orders and stated as strong passes the default threshold of 4.5 from about
this mean vote of the peers on: ``1.0 + 0.5 + 3.0 x .15 = ln 7``."""


@dataclass(frozen=True, slots=True)
class Attack:
    """One attack.

    Attributes:
        name: what the adversaries do.
        strengths: three, from weak to strong.
        unit: what a strength is.
        run: facts, generator, judges in a drawn order, strength -> the attacked facts.
        base: judges that there are without the attack, of which alone verdicts are counted; None for all five.
        needs: ``pairs`` for strengths, ``both orders`` also for scores that orders enter.
    """

    name: str
    strengths: tuple[float, float, float]
    unit: str
    run: Callable[[Facts, np.random.Generator, Sequence[int], float], Attacked]
    needs: Literal["", "pairs", "both orders"] = ""
    base: int | None = None


def copies(facts: Facts, rng: np.random.Generator, judges: Sequence[int], strength: float) -> Attacked:
    """The first judge's verdicts under the names of as many others; their texts are their own."""
    followers = judges[1 : 1 + round(strength)]
    for judge in followers:
        facts = _following(facts, judge, judges[0], np.ones(len(facts.items), dtype=bool))
    return facts, _marked(facts, [judges[0], *followers])


def added(facts: Facts, rng: np.random.Generator, judges: Sequence[int], strength: float) -> Attacked:
    """Two further judges give the first one's verdicts with a probability, and their texts are their own."""
    attackers = [judges[0], *judges[3:5]]
    for judge in attackers[1:]:
        facts = _following(facts, judge, judges[0], rng.random(len(facts.items)) < strength)
    return facts, _marked(facts, attackers)


def followers(facts: Facts, rng: np.random.Generator, judges: Sequence[int], strength: float) -> Attacked:
    """Two judges give the first one's verdicts on an item with a probability, else their own."""
    for judge in judges[1:3]:
        facts = _following(facts, judge, judges[0], rng.random(len(facts.items)) < strength)
    return facts, _marked(facts, judges[:3])


def fallacy(facts: Facts, rng: np.random.Generator, judges: Sequence[int], strength: float) -> Attacked:
    """Three judges are wrong together, and in the same way, on a share of the questions."""
    number: dict[str, int] = {}
    question = np.array([number.setdefault(one.question, len(number)) for one in facts.items])
    struck = (rng.random(len(number)) < strength)[question]
    rows = np.flatnonzero(_marked(facts, judges[:3])[facts.judge] & struck[facts.item])
    return _wrong(facts, rows, 1), _marked(facts, judges[:3])


def consistent(facts: Facts, rng: np.random.Generator, judges: Sequence[int], strength: float) -> Attacked:
    """One judge repeats its first verdict on an item in the other order, on a share of the items."""
    chosen = rng.random(len(facts.items)) < strength
    rows = np.flatnonzero((facts.judge == judges[0]) & chosen[facts.item] & (facts.verdict >= 0))
    _, first, of = np.unique(facts.item[rows], return_index=True, return_inverse=True)
    verdict, reason = facts.verdict.copy(), facts.reason.copy()
    verdict[rows] = facts.verdict[rows[first]][of.ravel()]
    return replace(facts, verdict=verdict, reason=reason), _marked(facts, judges[:1])


def confident(facts: Facts, rng: np.random.Generator, judges: Sequence[int], strength: float) -> Attacked:
    """One judge states every verdict as strong as it can, with four times the words and a mark that agrees."""
    return _texts(facts, rng, judges, strength, strong=True)


def injected(facts: Facts, rng: np.random.Generator, judges: Sequence[int], strength: float) -> Attacked:
    """One judge's rationales are written for the reader: they agree with its verdict by every form that is read."""
    return _texts(facts, rng, judges, strength, strong=False)


def threshold_seen(facts: Facts, rng: np.random.Generator, judges: Sequence[int], strength: float) -> Attacked:
    """Judges in agreement who see the others' verdicts and the threshold: wrong wherever that is kept, else honest."""
    attackers = list(judges[: round(strength)])
    marked = _marked(facts, attackers)
    honest = ~marked[facts.judge] & (facts.verdict >= 0)
    vote, voters = _votes_for_wrong(facts, honest)
    peers = voters + len(attackers) - 1
    mean = (vote + len(attackers) - 1) / np.maximum(peers, 1)
    passes = (peers > 0) & (mean > NEEDED_VOTE)
    rows = np.flatnonzero(marked[facts.judge] & passes[facts.item])
    return _wrong(facts, rows, 2), marked


ATTACKS: Final = (
    Attack("copies under other names", (1, 2, 3), "copies", copies),
    Attack("two copies are added to three", (0.8, 0.9, 1.0), "probability", added, base=3),
    Attack("two judges follow a third", (0.3, 0.6, 0.9), "probability", followers),
    Attack("three judges share a fallacy", (0.1, 0.2, 0.4), "share of questions", fallacy),
    Attack("one judge games the order", (0.33, 0.67, 1.0), "share of items", consistent, "both orders"),
    Attack("long confident rationales", (0.33, 0.67, 1.0), "share of items", confident, "pairs"),
    Attack("injected rationales", (0.33, 0.67, 1.0), "share of items", injected),
    Attack("the threshold is seen", (1, 2, 3), "judges in agreement", threshold_seen, "both orders"),
)


def rules_of(facts: Facts) -> Rules:
    """What counts as right."""
    return facts.rules()


def right_of(facts: Facts) -> Floats:
    """[n] 1 where a verdict is right by the label, 0 where it is wrong, NaN where it cannot be said."""
    rules, known = rules_of(facts), dict[tuple[int, int], float]()
    for verdict, truth in {*zip(facts.verdict.tolist(), facts.truth.tolist(), strict=True)}:
        found = None
        if verdict >= 0 and truth >= 0:
            own = facts.verdicts[verdict]
            found = is_right(own, facts.truths[truth], _rule(rules, own))
        known[verdict, truth] = float("nan") if found is None else float(found)
    pairs = zip(facts.verdict.tolist(), facts.truth.tolist(), strict=True)
    return np.array([known[pair] for pair in pairs])


def _rule(rules: Rules, verdict: AnyVerdict) -> Right:
    return rules.of(kind_of(verdict))


def _marked(facts: Facts, judges: Sequence[int]) -> Bools:
    found = np.zeros(len(facts.judges), dtype=bool)
    found[list(judges)] = True
    return found


def _following(facts: Facts, judge: int, leader: int, items: Bools) -> Facts:
    """The verdicts of one judge replaced by those of another on some items; its rows without counterpart go."""
    cell = facts.item.astype(np.int64) * len(facts.orders) + facts.order
    theirs = np.flatnonzero(facts.judge == leader)
    order = theirs[np.argsort(cell[theirs], kind="stable")]
    mine = np.flatnonzero((facts.judge == judge) & items[facts.item])
    if not len(order) or not len(mine):
        return facts
    place = np.minimum(np.searchsorted(cell[order], cell[mine]), len(order) - 1)
    there = cell[order[place]] == cell[mine]
    changed = {name: getattr(facts, name).copy() for name in ("verdict", "reason", "rationale")}
    for name, column in changed.items():
        column[mine[there]] = getattr(facts, name)[order[place[there]]]
    kept = np.ones(len(facts), dtype=bool)
    kept[mine[~there]] = False
    return replace(facts, **changed).select(np.flatnonzero(kept))


def _wrong(facts: Facts, rows: Indices, strength: Literal[1, 2]) -> Facts:
    """The same facts with a wrong verdict in some rows: the same one for all judges of an item."""
    rules, table = rules_of(facts), dict(zip(facts.verdicts, range(len(facts.verdicts)), strict=True))
    verdict, reason = facts.verdict.copy(), facts.reason.copy()
    said: dict[int, set[int]] = {}
    for item, code in {*zip(facts.item.tolist(), facts.verdict.tolist(), strict=True)}:
        if code >= 0:
            said.setdefault(item, set()).add(code)
    chosen: dict[int, int] = {}
    for row in rows.tolist():
        item, code = int(facts.item[row]), int(facts.truth[row])
        if item not in chosen:
            chosen[item] = (
                -1 if code < 0 else _wrong_code(facts, facts.truths[code], said[item], table, rules, strength)
            )
        if chosen[item] >= 0:
            verdict[row], reason[row] = chosen[item], -1
    return replace(facts, verdict=verdict, reason=reason, verdicts=list(table))


def _wrong_code(
    facts: Facts, truth: AnyVerdict, said: set[int], table: dict[AnyVerdict, int], rules: Rules, strength: Literal[1, 2]
) -> int:
    """A verdict that is wrong on an item; -1 where none is known."""
    if isinstance(truth, Pairwise) and truth.winner is not None:
        loser = truth.second if truth.winner == truth.first else truth.first
        code: int = table.setdefault(Pairwise(loser, truth.winner, strength), len(table))
        return code
    others = [*sorted(said), *(range(len(facts.verdicts)) if not truth.ids else ())]
    wrong = (one for one in others if is_right(facts.verdicts[one], truth, _rule(rules, facts.verdicts[one])) is False)
    return next(wrong, -1)


def _texts(facts: Facts, rng: np.random.Generator, judges: Sequence[int], strength: float, *, strong: bool) -> Attacked:
    chosen = rng.random(len(facts.items)) < strength
    rows = np.flatnonzero((facts.judge == judges[0]) & chosen[facts.item] & (facts.verdict >= 0))
    rationales = [*facts.rationales, (1.0, "agree", "the text names the verdict")]
    rationale, words, verdict = facts.rationale.copy(), facts.words.copy(), facts.verdict.copy()
    rationale[rows] = len(rationales) - 1
    words[rows] = 4 * words[rows] + 200
    table = dict(zip(facts.verdicts, range(len(facts.verdicts)), strict=True))
    if strong:
        for code in np.unique(verdict[rows]).tolist():
            own = facts.verdicts[code]
            if isinstance(own, Pairwise) and own.winner is not None:
                other = own.second if own.winner == own.first else own.first
                stated = table.setdefault(Pairwise(own.winner, other, 2), len(table))
                verdict[rows[facts.verdict[rows] == code]] = stated
    marked = _marked(facts, judges[:1])
    changed: Mapping[str, object] = {"rationale": rationale, "words": words, "verdict": verdict}
    return replace(facts, **changed, rationales=rationales, verdicts=list(table)), marked  # type: ignore[arg-type]


def _votes_for_wrong(facts: Facts, rows: Bools) -> tuple[Floats, Ints]:
    """[items] the sum over judges of their mean signed strength for the wrong response, and how many judges vote."""
    at = np.flatnonzero(rows)
    strength = np.zeros(len(at))
    for place, row in enumerate(at.tolist()):
        own, code = facts.verdicts[facts.verdict[row]], int(facts.truth[row])
        truth = facts.truths[code] if code >= 0 else None
        if isinstance(own, Pairwise) and isinstance(truth, Pairwise) and truth.winner is not None:
            loser = truth.second if truth.winner == truth.first else truth.first
            strength[place] = (own.support(loser, over=truth.winner) or 0) / MAX_STRENGTH
    size = len(facts.judges)
    cell, of = np.unique(facts.item[at].astype(np.int64) * size + facts.judge[at], return_inverse=True)
    mean = np.bincount(of.ravel(), strength) / np.bincount(of.ravel())
    items = cell // size
    votes = np.bincount(items, mean, len(facts.items)).astype(np.float64)
    return votes, np.bincount(items, minlength=len(facts.items)).astype(np.int64)
