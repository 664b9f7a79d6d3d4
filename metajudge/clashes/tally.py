"""From the rankings of a declared panel to a verdict: Borda points, ties, agreement, confidence, triage. Pure.

With K candidates, voter j of weight w_j gives ``B(i, j) = K - rank_j(i)`` points to candidate i, ties at the mean of
their ranks; ``S(i) = sum_j w_j B(i, j)`` and the winner has the most. Candidates with equal points share the first
place: that is a result, and nothing breaks it. The panel is declared before anybody is asked. Who is not of it has no
vote here at all, and who was lost stays in every denominator.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from pydantic import Field

from metajudge.errors import ConfigurationError, InputError
from metajudge.types import Ranking
from metajudge.types.frozen import Frozen
from metajudge.voting import borda

TallyStatus = Literal["ok", "tie", "no_verdict"]
Triage = Literal["accept", "escalate"]

INDEPENDENT_VOTERS = 2
"""Below this there is no unanimity: one voter cannot agree with itself."""


@dataclass(frozen=True, slots=True)
class Voter:
    """One declared voter.

    Attributes:
        weight: above 0.
        panel: True for a judge of the panel; False for a candidate that was given a vote. The quorum counts judges.
        model: id of the model that votes; voters of one model are not independent. None where it is not known: then
            the voter counts as a model of its own.
    """

    name: str
    weight: float = 1.0
    panel: bool = True
    model: str | None = None

    @property
    def identity(self) -> str:
        """What makes two voters the same one: the model's id, whatever provider serves it."""
        return self.name if self.model is None else f"model {self.model.rpartition('/')[2].lower()}"


class Tally(Frozen):
    """The verdict of a panel, and how sure it is.

    Attributes:
        status: ``ok`` with a winner, ``tie`` where the first place is shared, ``no_verdict`` below the quorum.
        scores: candidate -> Borda points of the rankings there are; empty without a verdict.
        ranking: candidates by points, groups of equals, best first.
        winner: None for a tie or no verdict.
        tied: those that share the first place.
        voters, votes: how many were declared, and how many of them gave a ranking.
        quorum: judges of the panel that have to give a ranking.
        agreement: share of the declared weight that put the winner first, alone. None without a winner.
        margin: ``(S1 - S2) / (W (K - 1))`` in [0, 1], with W the declared weight; 0 for a tie. None without a verdict
            and for a single candidate.
        independent: different models among the declared voters; None in records of earlier versions.
        unanimous: every declared voter gave a ranking and put the same candidate first, alone. Never with fewer than
            :data:`INDEPENDENT_VOTERS` independent voters or two candidates: then no disagreement is possible.
        settled: no ranking of those who were lost could change winner or tie.
        triage: ``accept`` a unanimous verdict, ``escalate`` anything else to a person.
        why: in words, why there is no verdict, or why it is escalated.
    """

    status: TallyStatus
    scores: dict[str, float] = Field(default_factory=dict)
    ranking: tuple[tuple[str, ...], ...] = ()
    winner: str | None = None
    tied: tuple[str, ...] = ()
    voters: int
    votes: int
    quorum: int
    independent: int | None = None
    agreement: float | None = None
    margin: float | None = None
    unanimous: bool = False
    settled: bool = False
    triage: Triage = "escalate"
    why: str | None = None

    @property
    def complete(self) -> bool:
        """Whether every declared voter gave a ranking."""
        return self.votes == self.voters


def tally(
    candidates: Sequence[str],
    voters: Sequence[Voter],
    rankings: Mapping[str, Ranking | None],
    *,
    quorum: int | None = None,
) -> Tally:
    """Counts the rankings of a declared panel.

    Args:
        candidates: everyone who is ranked; their order plays no part.
        voters: the declared panel.
        rankings: voter -> ranking of all candidates; None, or no entry, for one who was lost.
        quorum: judges that have to give a ranking; None for more than half of them.

    Raises:
        ConfigurationError: no voter, one declared twice, a weight that is not above 0, or a quorum no panel can reach.
        InputError: a ranking by one that is no voter, or one that does not rank each candidate once.
    """
    needed = check_panel(voters, quorum)
    _check_rankings(candidates, voters, rankings)
    names = sorted(candidates)
    given = {voter.name: ranking for voter in voters if (ranking := rankings.get(voter.name)) is not None}
    judges = sum(voter.panel and voter.name in given for voter in voters)
    independent = len({voter.identity for voter in voters})
    counts = {"voters": len(voters), "votes": len(given), "quorum": needed, "independent": independent}
    if judges < needed:
        panel = sum(voter.panel for voter in voters)
        why = f"{judges} of {panel} judges gave a ranking, {needed} are needed"
        return Tally(status="no_verdict", why=why, **counts)
    weights = [Fraction(repr(voter.weight)) for voter in voters]
    ballots = [given[voter.name].groups for voter in voters if voter.name in given]
    cast = [weight for voter, weight in zip(voters, weights, strict=True) if voter.name in given]
    consensus = borda(ballots, candidates=names, weights=cast)
    total, lost = sum(weights), sum(weights) - sum(cast)
    points = sorted(consensus.scores.values(), reverse=True)
    first = tuple(sorted(consensus.winners))
    winner = first[0] if len(first) == 1 else None
    lead = points[0] - points[1] if len(points) > 1 else 0.0
    behind = {name for name, ranking in given.items() if winner and ranking.winner == winner}
    backing = [weight for voter, weight in zip(voters, weights, strict=True) if voter.name in behind]
    alone = why_no_unanimity(len(names), len(voters), independent)
    unanimous = len(backing) == len(voters) and alone is None
    missing = f"; {len(voters) - len(given)} gave no ranking" if len(given) < len(voters) else ""
    said = f"{len(backing)} of {len(voters)} put {winner} first{missing}"
    if winner is None:
        said = f"{', '.join(first)} share the first place"
    elif alone is not None and len(backing) == len(voters):
        said = alone
    return Tally(
        status="ok" if winner is not None else "tie",
        scores={name: consensus.scores[name] for name in names},
        ranking=tuple(tuple(sorted(group)) for group in consensus.ranking),
        winner=winner,
        tied=first if winner is None else (),
        agreement=float(sum(backing) / total) if winner is not None else None,
        margin=float(lead / (float(total) * (len(names) - 1))) if len(names) > 1 else None,
        unanimous=unanimous,
        settled=lost == 0 or lead > float(lost) * (len(names) - 1) or len(names) == 1,
        triage="accept" if unanimous else "escalate",
        why=None if unanimous else said,
        **counts,
    )


def why_no_unanimity(candidates: int, voters: int, independent: int) -> str | None:
    """Why agreement of these voters on these candidates would say nothing; None where it can say something."""
    if candidates < 2:
        return "one candidate: there was nothing to prefer"
    if independent >= INDEPENDENT_VOTERS:
        return None
    if voters == 1:
        return "one voter cannot agree with itself"
    return f"{voters} voters are one model, which cannot agree with itself"


def check_panel(voters: Sequence[Voter], quorum: int | None = None) -> int:
    """Refuses a panel that makes no sense, and returns its quorum.

    Raises:
        ConfigurationError: see :func:`tally`.
    """
    names = [voter.name for voter in voters]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ConfigurationError(f"{', '.join(repeated)} is a voter twice: each vote counts once")
    judges = sum(voter.panel for voter in voters)
    if judges == 0:
        raise ConfigurationError("a panel needs at least one judge: candidates alone cannot make the verdict")
    for voter in voters:
        if not 0 < voter.weight < float("inf"):
            raise ConfigurationError(
                f"{voter.name} has weight {voter.weight}: a voter's weight is above 0; observe instead"
            )
    if quorum is not None and not 1 <= quorum <= judges:
        raise ConfigurationError(f"a quorum of {quorum} makes no sense for a panel of {judges}: give 1 to {judges}")
    return judges // 2 + 1 if quorum is None else quorum


def _check_rankings(candidates: Sequence[str], voters: Sequence[Voter], rankings: Mapping[str, Ranking | None]) -> None:
    if not candidates or len(set(candidates)) != len(candidates):
        raise InputError(f"cannot count a vote on {', '.join(candidates) or 'no candidate'}: name each candidate once")
    strangers = sorted(set(rankings) - {voter.name for voter in voters})
    if strangers:
        raise InputError(
            f"{', '.join(strangers)} is not of the declared panel: a vote that was not declared cannot count"
        )
    for name, ranking in rankings.items():
        if ranking is not None and sorted(ranking.ids) != sorted(candidates):
            raise InputError(
                f"the ranking of {name} ({ranking}) does not rank each of {', '.join(sorted(candidates))} once"
            )
