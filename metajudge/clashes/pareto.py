"""The Pareto front of candidates over quality, cost and latency. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Standing = Literal["front", "dominated", "not_comparable"]


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
        dominated_by: candidates at least as good in all three figures and better in one, sorted.
        why: why it cannot be compared; None where it can.
    """

    candidate: CandidateFigures
    standing: Standing
    dominated_by: tuple[str, ...] = ()
    why: str | None = None


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


def _dominates(one: CandidateFigures, other: CandidateFigures) -> bool:
    mine, theirs = _losses(one), _losses(other)
    return mine != theirs and all(a <= b for a, b in zip(mine, theirs, strict=True))


def _losses(one: CandidateFigures) -> list[float]:
    """Quality turned round, cost and latency: lower is better. Only for candidates of which all three are known."""
    quality = None if one.quality is None else -one.quality
    return [value for value in (quality, one.cost_usd, one.latency_s) if value is not None]
