"""Everything a set of ballots says, in one record: what ``metajudge peers`` prints and writes, with its cautions."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from pydantic import Field

from metajudge.errors import ConfigurationError
from metajudge.peers.alignment import Plan, ReferenceAlignment, align
from metajudge.peers.consensus import (
    POOLED_RULES,
    RULES,
    Agreements,
    Groups,
    OverallConsensus,
    QuestionConsensus,
    check_rule,
)
from metajudge.peers.figures import Figure, Resamples
from metajudge.peers.human import HumanRanking
from metajudge.peers.influence import Influence, QuestionResult, by_question, influence
from metajudge.peers.record import Ballot
from metajudge.peers.standing import (
    EvaluatorPair,
    EvaluatorStanding,
    Independence,
    ModelStanding,
    evaluator_pairs,
    evaluator_standings,
    self_free_place,
    standings,
)
from metajudge.peers.table import LeftOutQuestion, LostBallot, PeerTable, build_table
from metajudge.stats.intervals import wilson
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

CautionKind = Literal[
    "self_vote", "ambiguous", "few_voters", "clique", "lost_evaluator", "left_out", "order_effect", "candidates_differ"
]
"""What a caution is about."""


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
            yield Caution(kind="self_vote", message=text, names=(one.model,))


def ambiguity_cautions(found: Ambiguity) -> Iterator[Caution]:
    """Several equally good orders, overall or in many questions."""
    if found.overall_optima is not None and found.overall_optima > 1:
        least = "" if found.overall_counted else "at least "
        text = (
            f"{least}{found.overall_optima:,} overall orders are equally good: read places with their spans, and "
            "settle it with more questions"
        )
        yield Caution(kind="ambiguous", message=text)
    even = {voters: counts for voters, counts in found.by_voters.items() if voters % 2 == 0 and counts[1]}
    share = found.share.value
    if share is not None and share > AMBIGUOUS_SHARE:
        panels = ", ".join(map(str, sorted(even)))
        hint = f"; panels of {panels} can split evenly: add or leave out one evaluator" if even else ""
        text = f"{100 * share:.0f} % of the questions have several equally good orders, whose places are averaged{hint}"
        yield Caution(kind="ambiguous", message=text)


def voter_cautions(evaluators: Sequence[EvaluatorStanding], independence: Independence) -> Iterator[Caution]:
    """Few evaluators, cliques, lost ones, order effects."""
    voting = sum(1 for one in evaluators if one.ballots)
    if voting < FEW_EVALUATORS:
        text = f"{voting} evaluators delivered ballots: with fewer than {FEW_EVALUATORS} each one's habits weigh"
        yield Caution(kind="few_voters", message=f"{text} heavily in the consensus")
    yield from _dependence_cautions(voting, independence)
    for one in evaluators:
        failures = sum(one.lost.values())
        if failures:
            kinds = ", ".join(f"{count} {kind}" for kind, count in one.lost.items())
            what = "every ballot" if not one.ballots else f"{failures} ballots"
            text = f"{one.evaluator} failed on {what} ({kinds}): it has no vote there"
            yield Caution(kind="lost_evaluator", message=text, names=(one.evaluator,))
        effect, p_value = one.order_effect, one.order_p.value
        if effect.value is not None and p_value is not None and p_value * voting < ORDER_LEVEL:
            where = "first" if effect.value > 0 else "last"
            text = (
                f"{one.evaluator} prefers answers it reads {where}: mean tau-b of place and position "
                f"{effect.value:.2f} (p = {p_value:.2g})"
            )
            yield Caution(kind="order_effect", message=text, names=(one.evaluator,))


def _dependence_cautions(voting: int, found: Independence) -> Iterator[Caution]:
    effective = found.effective.value
    if effective is not None and effective < FEW_INDEPENDENT * voting:
        text = (
            f"the {voting} evaluators share so many errors that they are worth about {effective:.1f} independent ones: "
            "add evaluators of other families"
        )
        yield Caution(kind="few_voters", message=text)
    for clique in found.cliques:
        text = (
            f"{', '.join(clique)} agree with each other more than their agreement with the others explains, as those "
            "do who share a bias or a source: see what the consensus is without all but one of them"
        )
        yield Caution(kind="clique", message=text, names=clique)


def coverage_cautions(table: PeerTable, inclusive_questions: Iterable[int]) -> Iterator[Caution]:
    """Questions that are not counted, and models missing from some."""
    if table.left_out:
        first = table.left_out[0]
        text = f"{len(table.left_out)} questions are not counted; {first.question_id}: {first.reason}"
        yield Caution(kind="left_out", message=text)
    counts = dict(zip(table.models, inclusive_questions, strict=True))
    missing = {name: len(table.questions) - count for name, count in counts.items() if count < len(table.questions)}
    if missing:
        names = ", ".join(f"{name} in {count}" for name, count in missing.items())
        text = (
            f"no answer was ranked of {names} of the {len(table.questions)} questions: mean places are over different "
            "questions, and a place among fewer answers is a smaller number"
        )
        yield Caution(kind="candidates_differ", message=text, names=tuple(missing))


IncludeSelf = Literal["both", "yes", "no"]
SOURCE = "LLMs Judge Themselves (arXiv 2510.15746), GSM8K, six models, against Chatbot Arena"


class PublishedValue(Finite):
    """One printed figure: what it is, and the row of ours it is compared with."""

    name: str
    row: str
    figure: str
    value: float
    source: str = SOURCE


PUBLISHED = tuple(
    PublishedValue(name=name, row=row, figure=figure, value=value)
    for name, row, figure, value in (
        ("consensus (Kemeny), median over questions", "consensus", "micro median Pearson", 0.771),
        ("best single evaluator, median over questions", "single", "micro median Pearson", 0.714),
        ("consensus, whole data set", "consensus", "macro Pearson", 0.941),
        ("ballots cut to the top k, relative change", "top_k", "change of the median", -0.08),
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How to analyse.

    Attributes:
        quorum: ballots a question needs; None for more than half of those asked for.
        top_k: cut ballots to compare with; for instance (1, 3).
        resamples: draws for bootstrap intervals, 0 for none.
        seed: of resamples.
        without: evaluators whose influence is looked at together, besides each one's.
    """

    rule: str = RULES[0]
    include_self: IncludeSelf = "both"
    quorum: int | None = None
    top_k: tuple[int, ...] = ()
    resamples: int = 2000
    confidence: float = 0.95
    seed: int = 0
    without: tuple[str, ...] = ()

    def check(self) -> None:
        """Raises :class:`ConfigurationError` where an option makes no sense."""
        check_rule(self.rule)
        if self.quorum is not None and self.quorum < 1:
            raise ConfigurationError(f"quorum must be at least 1 ballot, not {self.quorum}")
        for k in self.top_k:
            if k < 1:
                raise ConfigurationError(f"top-k must keep at least one place, not {k}")
        if self.resamples and self.resamples < 100:
            raise ConfigurationError(f"resamples must be 0 or at least 100, not {self.resamples}")


class RuleRanking(Finite):
    """One rule over all ballots: groups of tied models, best first, or the reason it is missing."""

    rule: str
    ranking: Groups = ()
    absent: str | None = None


class DomainFindings(Finite):
    """One domain's questions: mean places (SFE where models' own ballots are to be left out), and agreement."""

    domain: str
    questions: int
    places: dict[str, Figure]
    references: tuple[ReferenceAlignment, ...]


class PeerFindings(Finite):
    """What the ballots say.

    Attributes:
        questions, ballots: counted ones.
        overall: groups of models over all ballots at once, best first; empty with ``overall_absent`` saying why.
        self_free_order: groups of models by mean SFE place; those without one are left out.
        by_question: the consensus of each question, by its id.
        influence: what evaluators do to the result, left out and at their worst.
        people: the human ranking that errors of evaluators are measured against, besides without one.
    """

    version: Literal[1] = 1
    rule: str
    include_self: IncludeSelf
    models: tuple[str, ...]
    evaluators: tuple[str, ...]
    questions: int
    ballots: int
    lost: tuple[LostBallot, ...]
    left_out: tuple[LeftOutQuestion, ...]
    overall: Groups
    overall_absent: str | None = None
    self_free_order: Groups
    standings: tuple[ModelStanding, ...]
    by_question: tuple[QuestionResult, ...] = ()
    influence: Influence | None = None
    ambiguity: Ambiguity
    rules: tuple[RuleRanking, ...]
    references: tuple[ReferenceAlignment, ...]
    domains: tuple[DomainFindings, ...]
    evaluator_standings: tuple[EvaluatorStanding, ...]
    pairs: tuple[EvaluatorPair, ...]
    independence: Independence
    people: str | None = None
    cautions: tuple[Caution, ...]
    published: tuple[PublishedValue, ...] = PUBLISHED
    settings: dict[str, str | int | float | bool | None]
    provenance: dict[str, str] = Field(default_factory=dict)


def analyse(
    ballots: Sequence[Ballot], options: Options | None = None, humans: Sequence[HumanRanking] = ()
) -> PeerFindings:
    """Analyses ballots, one a question and evaluator (see :func:`metajudge.peers.record.counted_ballots`).

    The same ballots and options give the same findings, whatever the order of the ballots' evaluators and whatever
    the models are called.

    Raises:
        InputError: fewer than two candidates, or no question with enough ballots.
        ConfigurationError: an unknown rule, or an option out of range.
    """
    options = options or Options()
    options.check()
    table = build_table(ballots, quorum=options.quorum)
    agreements = Agreements(table)
    inclusive, free = agreements.by_question(options.rule), agreements.self_free(options.rule)
    overall = agreements.overall(options.rule)
    resamples = Resamples(
        len(table.questions), options.resamples, np.random.default_rng([options.seed, 1]), options.confidence
    )
    placed = standings(table, inclusive, free, overall, resamples)
    # One that does not evaluate has its SIE place, which has no ballot of its own.
    places = {one.model: round(figure.value, 9) for one in placed if (figure := self_free_place(one)).value is not None}
    levels = sorted(set(places.values()))
    by_rule = [(rule, agreements.overall(rule)) for rule in POOLED_RULES]
    pooled = tuple(rule for rule in POOLED_RULES if rule not in RULES)
    plan = Plan(options.rule, RULES, pooled, options.top_k, options.include_self)
    ambiguity = _ambiguity(table, inclusive, overall)
    voters = evaluator_standings(table, resamples)
    yardstick = humans[0] if humans else None
    pairs, independence = evaluator_pairs(table, yardstick, resamples)
    return PeerFindings(
        rule=options.rule,
        include_self=options.include_self,
        models=table.models,
        evaluators=table.evaluators,
        questions=len(table.questions),
        ballots=int(table.cast.sum()),
        lost=table.lost,
        left_out=table.left_out,
        overall=() if isinstance(overall, str) else overall.ranking,
        overall_absent=overall if isinstance(overall, str) else None,
        self_free_order=tuple(tuple(sorted(n for n, place in places.items() if place == one)) for one in levels),
        standings=placed,
        by_question=by_question(table, inclusive),
        influence=influence(table, inclusive, options.rule, options.without) if len(table.evaluators) > 1 else None,
        ambiguity=ambiguity,
        rules=tuple(
            RuleRanking(rule=rule, absent=one) if isinstance(one, str) else RuleRanking(rule=rule, ranking=one.ranking)
            for rule, one in by_rule
        ),
        references=tuple(align(agreements, human, plan, resamples) for human in humans),
        domains=_domains(table, humans, options),
        evaluator_standings=voters,
        pairs=pairs,
        independence=independence,
        people=None if yardstick is None else yardstick.name,
        cautions=(
            *self_vote_cautions(placed),
            *ambiguity_cautions(ambiguity),
            *voter_cautions(voters, independence),
            *coverage_cautions(table, [int(n) for n in inclusive.there.sum(axis=0)]),
        ),
        settings={
            "quorum": options.quorum if options.quorum is not None else "more than half of the ballots asked for",
            "resamples": options.resamples,
            "confidence": options.confidence,
            "seed": options.seed,
        },
    )


def _ambiguity(table: PeerTable, inclusive: QuestionConsensus, overall: OverallConsensus | str) -> Ambiguity:
    counted = inclusive.optima > 0
    n, several = int(counted.sum()), int((inclusive.optima > 1).sum())
    voters = table.cast.sum(axis=1)
    by_voters = {
        int(number): (
            int((counted & (voters == number)).sum()),
            int(((inclusive.optima > 1) & (voters == number)).sum()),
        )
        for number in np.unique(voters[counted])
    }
    if n:
        interval = wilson(several, n)
        share = Figure(value=interval.estimate, low=interval.low, high=interval.high, n=n)
    else:
        share = Figure(absent="the rule gives one weak order and does not count equally good ones")
    optima, orders = (None, ()) if isinstance(overall, str) else (overall.optima, overall.orders)
    return Ambiguity(
        share=share,
        by_voters=by_voters,
        overall_optima=optima,
        overall_counted=isinstance(overall, str) or overall.counted,
        orders=orders,
    )


def _domains(table: PeerTable, humans: Sequence[HumanRanking], options: Options) -> tuple[DomainFindings, ...]:
    """By domain, where there is more than one; intervals from resampled questions of the domain."""
    names = sorted({name for name in table.domains if name is not None})
    if len(set(table.domains)) < 2:
        return ()
    found = []
    for number, name in enumerate(names):
        part = table.of_questions(np.array([q for q, domain in enumerate(table.domains) if domain == name]))
        rng = np.random.default_rng([options.seed, 2, number])
        resamples = Resamples(len(part.questions), options.resamples, rng, options.confidence)
        agreements = Agreements(part)
        inclusive = agreements.by_question(options.rule)
        free = agreements.self_free(options.rule) if options.include_self == "no" else inclusive
        rows = standings(part, inclusive, free, "not pooled by domain", resamples)
        plan = Plan(options.rule, include_self="no" if options.include_self == "no" else "yes")
        found.append(
            DomainFindings(
                domain=name,
                questions=len(part.questions),
                places={row.model: self_free_place(row) if free is not inclusive else row.sie for row in rows},
                references=tuple(align(agreements, human, plan, resamples) for human in humans),
            )
        )
    return tuple(found)
