"""How candidates did over many evaluations: wins, points, cost, latency, and the Pareto front. Pure."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from metajudge.clashes.pareto import CandidateFigures, ParetoStanding, pareto_front
from metajudge.clashes.record import ClashRecord
from metajudge.judging.answers import CandidateAnswer


@dataclass(frozen=True, slots=True)
class Average:
    """A mean over those values that are known.

    Attributes:
        mean: None where a value is unknown or missing: means over different parts cannot be compared.
        n: how many values there are.
        unknown: how many more are not known.
        why: why there is no mean.
    """

    mean: float | None
    n: int
    unknown: int = 0
    why: str | None = None


@dataclass(frozen=True, slots=True)
class CandidateStanding:
    """One candidate over all evaluations that count.

    Attributes:
        quality: mean share of the Borda points there were to have, in [0, 1]; every evaluation counts the same.
        wins, ties: evaluations won alone, and those whose first place is shared.
        judged: evaluations with a verdict (a tie is one) in which it was ranked.
        failed: answers that failed, one for each set of answers.
        own_first: how often it put itself first when asked, of how many: (first, asked).
    """

    name: str
    quality: Average
    wins: int
    ties: int
    judged: int
    answers: int
    failed: int
    cost_usd: Average
    latency_s: Average
    first_token_s: Average
    own_first: tuple[int, int]
    pareto: ParetoStanding


def standings(records: Sequence[ClashRecord]) -> list[CandidateStanding]:
    """Every candidate's standing, best quality first; equal ones by name.

    Args:
        records: those that count, see :func:`metajudge.clashes.run.counting_records`.
    """
    names = sorted({one.name for record in records for one in record.candidates})
    figures = {name: _figures(name, records) for name in names}
    front = {one.candidate.name: one for one in pareto_front([_of(name, *figures[name]) for name in names])}
    found = [_standing(name, records, figures[name], front[name]) for name in names]
    return sorted(found, key=lambda one: -1.0 if one.quality.mean is None else one.quality.mean, reverse=True)


def points_share(record: ClashRecord, name: str) -> float | None:
    """A candidate's share of the Borda points it could have had from the rankings there are; None where not ranked."""
    tally = record.tally
    if tally is None or name not in tally.scores or len(tally.scores) < 2:
        return None
    cast = sum(vote.weight or 0.0 for vote in record.votes if vote.role != "observer" and vote.groups is not None)
    return tally.scores[name] / (cast * (len(tally.scores) - 1))


def _figures(name: str, records: Sequence[ClashRecord]) -> tuple[Average, Average, Average, Average]:
    shares = [share for record in records if (share := points_share(record, name)) is not None]
    quality = Average(fmean(shares), len(shares)) if shares else Average(None, 0, why="no verdict ranks it")
    answers = _answers(name, records)
    generated = [one for one in answers if one.source == "generated" and one.failure is None]
    given = any(one.source == "given" for one in answers)
    why = "the answers were given, not generated" if given else "none of its answers arrived"
    return (
        quality,
        _average([one.cost_usd for one in generated], "a price or the usage is not known", why),
        _average([one.latency_s for one in generated], "a latency is not known", why),
        _average([one.first_token_s for one in generated], "not measured", why),
    )


def _of(name: str, quality: Average, cost: Average, latency: Average, _first: Average) -> CandidateFigures:
    return CandidateFigures(name, quality.mean, cost.mean, latency.mean)


def _standing(
    name: str,
    records: Sequence[ClashRecord],
    figures: tuple[Average, Average, Average, Average],
    pareto: ParetoStanding,
) -> CandidateStanding:
    answers = _answers(name, records)
    asked = [
        first
        for record in records
        for vote in record.votes
        if vote.own == name and (first := vote.own_first) is not None
    ]
    counts = Counter(_result(record, name) for record in records)
    quality, cost, latency, first_token = figures
    return CandidateStanding(
        name=name,
        quality=quality,
        wins=counts["win"],
        ties=counts["tie"],
        judged=counts["win"] + counts["tie"] + counts["loss"],
        answers=len(answers),
        failed=sum(one.failure is not None for one in answers),
        cost_usd=cost,
        latency_s=latency,
        first_token_s=first_token,
        own_first=(sum(asked), len(asked)),
        pareto=pareto,
    )


def _result(record: ClashRecord, name: str) -> str:
    if record.status not in ("ok", "tie") or name not in record.answered:
        return "none"
    if record.winner == name:
        return "win"
    return "tie" if name in record.tied else "loss"


def _answers(name: str, records: Iterable[ClashRecord]) -> list[CandidateAnswer]:
    """A candidate's answers; repeats that judged the same one count it once."""
    found: dict[tuple[str, int], CandidateAnswer] = {}
    for record in records:
        for one in record.candidates:
            if one.name == name:
                found.setdefault((record.item_id, record.cycle), one)
    return list(found.values())


def _average(values: Sequence[float | None], unknown: str, none: str) -> Average:
    known = [value for value in values if value is not None]
    if not values:
        return Average(None, 0, why=none)
    if len(known) < len(values):
        return Average(
            None, len(known), len(values) - len(known), why=f"{unknown} ({len(values) - len(known)} of {len(values)})"
        )
    return Average(fmean(known), len(known))
