"""The Pareto front of candidates over quality, cost and latency. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from metajudge.clashes.uncertainty import FEWEST, LEVEL, Draws, level_of

Standing = Literal["front", "dominated", "undecided", "not_comparable"]


@dataclass(frozen=True, slots=True)
class CandidateFigures:
    """What is known of one candidate.

    Attributes:
        quality: higher is better, for instance the mean share of Borda points.
        cost_usd, latency_s: lower is better; means over the same evaluations.
        None: not known.
    """

    name: str
    quality: float | None
    cost_usd: float | None
    latency_s: float | None

    @property
    def unknown(self) -> tuple[str, ...]:
        """The figures that are not known."""
        values = {"quality": self.quality, "cost": self.cost_usd, "latency": self.latency_s}
        return tuple(name for name, value in values.items() if value is None)


@dataclass(frozen=True, slots=True)
class ParetoStanding:
    """A candidate's position on the Pareto front.

    Attributes:
        dominated_by: candidates at least as good in all three figures and better in one, sorted; where it is undecided,
            those that may be so.
        why: why it cannot be compared, or is not decided; None where it is.
        probability: share of resampled prompts in which the surest of ``dominated_by`` dominates; None where the means
            alone were compared.
    """

    candidate: CandidateFigures
    standing: Standing
    dominated_by: tuple[str, ...] = ()
    why: str | None = None
    probability: float | None = None


def pareto_front(candidates: Sequence[CandidateFigures]) -> list[ParetoStanding]:
    """The Pareto standing of each candidate, in the order given.

    A candidate is on the front where no other is at least as good in quality, cost and latency and better in one of
    them; equals do not dominate each other. One with an unknown figure is not comparable: it neither dominates nor is
    dominated, because an unknown cost is not a cost of zero.
    """
    known = [one for one in candidates if not one.unknown]
    found = []
    for one in candidates:
        if one.unknown:
            why = f"{' and '.join(one.unknown)} not known"
            found.append(ParetoStanding(one, "not_comparable", why=why))
            continue
        better = tuple(sorted(other.name for other in known if _dominates(other, one)))
        found.append(ParetoStanding(one, "dominated" if better else "front", better))
    return found


def front_by_prompts(candidates: Sequence[CandidateFigures], draws: Draws | None) -> list[ParetoStanding]:
    """The Pareto standing of each candidate as far as the prompts decide it, in the order given.

    *Dominated* is said where another candidate dominates it in so many resamples that, of equal candidates, any is
    called dominated with a chance of at most 5 %; *front* where no other dominates it in more than 5 % of them;
    *undecided* is the rest, and everything below :data:`~metajudge.clashes.uncertainty.FEWEST` prompts.

    Args:
        draws: of the same candidates; None for too few prompts.
    """
    means = pareto_front(candidates)
    if draws is None:
        why = f"fewer than {FEWEST} prompts"
        return [
            one if one.standing == "not_comparable" else replace(one, standing="undecided", why=why) for one in means
        ]
    comparable = [one.name for one in candidates if not one.unknown]
    return [one if one.standing == "not_comparable" else _by_prompts(one, draws, comparable) for one in means]


def _by_prompts(one: ParetoStanding, draws: Draws, comparable: Sequence[str]) -> ParetoStanding:
    own = draws.names.index(one.candidate.name)
    shares = {name: draws.dominates(draws.names.index(name), own) for name in comparable if name != one.candidate.name}
    surest = max(shares.values(), default=0.0)
    surely = tuple(sorted(name for name, share in shares.items() if share >= level_of(len(comparable))))
    if surely:
        return ParetoStanding(one.candidate, "dominated", surely, probability=surest)
    if surest <= LEVEL:
        return ParetoStanding(one.candidate, "front", probability=surest)
    named = tuple(sorted(name for name, share in shares.items() if share > LEVEL))
    return ParetoStanding(one.candidate, "undecided", named, "the prompts do not decide it", surest)


def _dominates(one: CandidateFigures, other: CandidateFigures) -> bool:
    mine, theirs = _losses(one), _losses(other)
    return mine != theirs and all(a <= b for a, b in zip(mine, theirs, strict=True))


def _losses(one: CandidateFigures) -> list[float]:
    """Quality turned round, cost and latency: lower is better. Only for candidates of which all three are known."""
    quality = None if one.quality is None else -one.quality
    return [value for value in (quality, one.cost_usd, one.latency_s) if value is not None]
