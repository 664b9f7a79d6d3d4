"""Everything a set of ballots says, in one record: what ``metajudge peers`` prints and writes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from pydantic import Field

from metajudge.errors import ConfigurationError
from metajudge.peers.alignment import Plan, ReferenceAlignment, align
from metajudge.peers.cautions import (
    Ambiguity,
    Caution,
    ambiguity_cautions,
    coverage_cautions,
    self_vote_cautions,
    voter_cautions,
)
from metajudge.peers.consensus import POOLED_RULES, RULES, Agreements, OverallConsensus, QuestionConsensus, check_rule
from metajudge.peers.evaluators import (
    EvaluatorPair,
    EvaluatorStanding,
    Independence,
    evaluator_pairs,
    evaluator_standings,
)
from metajudge.peers.figures import Figure, Resamples
from metajudge.peers.human import HumanRanking
from metajudge.peers.influence import Influence, QuestionResult, by_question, influence
from metajudge.peers.record import Ballot
from metajudge.peers.standing import ModelStanding, self_free_place, standings
from metajudge.peers.table import LeftOutQuestion, LostBallot, PeerTable, build_table
from metajudge.stats.intervals import wilson
from metajudge.types.frozen import Finite

Groups = tuple[tuple[str, ...], ...]
IncludeSelf = Literal["both", "yes", "no"]
SOURCE = "LLMs Judge Themselves (arXiv 2510.15746), GSM8K, six models, against Chatbot Arena"


class PublishedValue(Finite):
    """One printed figure: what it is, and the row of ours it is compared with."""

    name: str
    row: str
    figure: str
    value: float
    source: str = SOURCE


PUBLISHED = (
    PublishedValue(
        name="consensus (Kemeny), median over questions", row="consensus", figure="micro median Pearson", value=0.771
    ),
    PublishedValue(
        name="best single evaluator, median over questions", row="single", figure="micro median Pearson", value=0.714
    ),
    PublishedValue(name="consensus, whole data set", row="consensus", figure="macro Pearson", value=0.941),
    PublishedValue(
        name="ballots cut to the top k, relative change", row="top_k", figure="change of the median", value=-0.08
    ),
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
        self_free_order=_self_free_order(placed),
        standings=placed,
        by_question=by_question(table, inclusive),
        influence=influence(table, inclusive, options.rule, options.without) if len(table.evaluators) > 1 else None,
        ambiguity=ambiguity,
        rules=tuple(_rule_ranking(rule, agreements.overall(rule)) for rule in POOLED_RULES),
        references=_references(agreements, humans, options, resamples),
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


def _self_free_order(placed: Sequence[ModelStanding]) -> Groups:
    """Models by mean SFE place; one that does not evaluate has its SIE place, which has no ballot of its own."""
    places = {one.model: round(figure.value, 9) for one in placed if (figure := self_free_place(one)).value is not None}
    levels = sorted(set(places.values()))
    return tuple(tuple(sorted(name for name, place in places.items() if place == level)) for level in levels)


def _rule_ranking(rule: str, found: OverallConsensus | str) -> RuleRanking:
    if isinstance(found, str):
        return RuleRanking(rule=rule, absent=found)
    return RuleRanking(rule=rule, ranking=found.ranking)


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


def _references(
    agreements: Agreements, humans: Sequence[HumanRanking], options: Options, resamples: Resamples
) -> tuple[ReferenceAlignment, ...]:
    pooled = tuple(rule for rule in POOLED_RULES if rule not in RULES)
    plan = Plan(options.rule, RULES, pooled, options.top_k, options.include_self)
    return tuple(align(agreements, human, plan, resamples) for human in humans)


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
