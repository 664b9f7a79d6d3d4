"""What a reader of the results must know before relying on them."""

from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum

from metajudge.peers.evaluators import EvaluatorStanding, Independence
from metajudge.peers.figures import Figure
from metajudge.peers.standing import ModelStanding
from metajudge.peers.table import PeerTable
from metajudge.types.frozen import Finite

SELF_VOTE_PLACES = 0.5
"""A model's mean place over questions that moves by more than this between SIE and SFE is its own vote's doing."""

FEW_EVALUATORS = 5
"""Below this, one evaluator's habits are a large part of every consensus."""

FEW_INDEPENDENT = 0.5
"""Evaluators worth less than this share of their number in independent ones are worth a caution."""

ORDER_LEVEL = 0.05
"""Level at which an order effect is reported, shared among the evaluators (Bonferroni)."""

AMBIGUOUS_SHARE = 0.25
"""Questions without a single best order, beyond which it is worth saying."""


class CautionKind(StrEnum):
    """What a caution is about."""

    SELF_VOTE = "self_vote"
    AMBIGUOUS = "ambiguous"
    FEW_VOTERS = "few_voters"
    CLIQUE = "clique"
    LOST_EVALUATOR = "lost_evaluator"
    LEFT_OUT = "left_out"
    ORDER_EFFECT = "order_effect"
    CANDIDATES_DIFFER = "candidates_differ"


class Caution(Finite):
    """One sentence of warning, and what it is about: ``names`` are models or evaluators."""

    kind: CautionKind
    message: str
    names: tuple[str, ...] = ()


class Ambiguity(Finite):
    """How often the rule's best order is not the only one.

    Attributes:
        share: of the questions counted, with Wilson's interval; absent for rules that give one weak order.
        by_voters: number of ballots -> questions with that many, and how many of these are ambiguous.
        overall_optima: equally good orders of all ballots together; None where unknown.
        overall_counted: False where ``overall_optima`` says how many there are at least.
        orders: some of them.
    """

    share: Figure
    by_voters: dict[int, tuple[int, int]]
    overall_optima: int | None
    overall_counted: bool = True
    orders: tuple[tuple[str, ...], ...]


def self_vote_cautions(standings: Iterable[ModelStanding]) -> Iterator[Caution]:
    """Models whose mean place moves by more than :data:`SELF_VOTE_PLACES` when their own ballots are left out."""
    for one in standings:
        shift = one.sie_less_sfe.value
        if shift is not None and abs(shift) > SELF_VOTE_PLACES + 1e-9:
            way = "better" if shift < 0 else "worse"
            text = (
                f"{one.model} ranks {abs(shift):.2f} places {way} with its own ballots than without "
                f"(SIE {one.sie.value:.2f}, SFE {one.sfe.value:.2f}): use the self-free place"
            )
            yield Caution(kind=CautionKind.SELF_VOTE, message=text, names=(one.model,))


def ambiguity_cautions(found: Ambiguity) -> Iterator[Caution]:
    """Several equally good orders, overall or in many questions."""
    if found.overall_optima is not None and found.overall_optima > 1:
        least = "" if found.overall_counted else "at least "
        text = (
            f"{least}{found.overall_optima:,} overall orders are equally good: read places with their spans, and "
            "settle it with more questions"
        )
        yield Caution(kind=CautionKind.AMBIGUOUS, message=text)
    even = {voters: counts for voters, counts in found.by_voters.items() if voters % 2 == 0 and counts[1]}
    share = found.share.value
    if share is not None and share > AMBIGUOUS_SHARE:
        panels = ", ".join(map(str, sorted(even)))
        hint = f"; panels of {panels} can split evenly: add or leave out one evaluator" if even else ""
        text = f"{100 * share:.0f} % of the questions have several equally good orders, whose places are averaged{hint}"
        yield Caution(kind=CautionKind.AMBIGUOUS, message=text)


def voter_cautions(evaluators: Sequence[EvaluatorStanding], independence: Independence) -> Iterator[Caution]:
    """Few evaluators, cliques, lost ones, order effects."""
    voting = sum(1 for one in evaluators if one.ballots)
    if voting < FEW_EVALUATORS:
        text = f"{voting} evaluators delivered ballots: with fewer than {FEW_EVALUATORS} each one's habits weigh"
        yield Caution(kind=CautionKind.FEW_VOTERS, message=f"{text} heavily in the consensus")
    yield from _dependence_cautions(voting, independence)
    for one in evaluators:
        failures = sum(one.lost.values())
        if failures:
            kinds = ", ".join(f"{count} {kind}" for kind, count in one.lost.items())
            what = "every ballot" if not one.ballots else f"{failures} ballots"
            text = f"{one.evaluator} failed on {what} ({kinds}): it has no vote there"
            yield Caution(kind=CautionKind.LOST_EVALUATOR, message=text, names=(one.evaluator,))
        effect, p_value = one.order_effect, one.order_p.value
        if effect.value is not None and p_value is not None and p_value * voting < ORDER_LEVEL:
            where = "first" if effect.value > 0 else "last"
            text = (
                f"{one.evaluator} prefers answers it reads {where}: mean tau-b of place and position "
                f"{effect.value:.2f} (p = {p_value:.2g})"
            )
            yield Caution(kind=CautionKind.ORDER_EFFECT, message=text, names=(one.evaluator,))


def _dependence_cautions(voting: int, found: Independence) -> Iterator[Caution]:
    effective = found.effective.value
    if effective is not None and effective < FEW_INDEPENDENT * voting:
        text = (
            f"the {voting} evaluators share so many errors that they are worth about {effective:.1f} independent ones: "
            "add evaluators of other families"
        )
        yield Caution(kind=CautionKind.FEW_VOTERS, message=text)
    for clique in found.cliques:
        text = (
            f"{', '.join(clique)} agree with each other more than their agreement with the others explains, as those "
            "do who share a bias or a source: see what the consensus is without all but one of them"
        )
        yield Caution(kind=CautionKind.CLIQUE, message=text, names=clique)


def coverage_cautions(table: PeerTable, inclusive_questions: Iterable[int]) -> Iterator[Caution]:
    """Questions that are not counted, and models missing from some."""
    if table.left_out:
        first = table.left_out[0]
        text = f"{len(table.left_out)} questions are not counted; {first.question_id}: {first.reason}"
        yield Caution(kind=CautionKind.LEFT_OUT, message=text)
    counts = dict(zip(table.models, inclusive_questions, strict=True))
    missing = {name: len(table.questions) - count for name, count in counts.items() if count < len(table.questions)}
    if missing:
        names = ", ".join(f"{name} in {count}" for name, count in missing.items())
        text = (
            f"no answer was ranked of {names} of the {len(table.questions)} questions: mean places are over different "
            "questions, and a place among fewer answers is a smaller number"
        )
        yield Caution(kind=CautionKind.CANDIDATES_DIFFER, message=text, names=tuple(missing))
