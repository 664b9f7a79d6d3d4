"""How candidates did over many evaluations: wins, points, cost, latency, and the Pareto front. Pure."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import numpy as np
from pydantic import SerializerFunctionWrapHandler, model_serializer

from metajudge.clashes.choice import Choice, Limits, choose
from metajudge.clashes.pareto import CandidateFigures, ParetoStanding, front_by_prompts
from metajudge.clashes.record import ClashRecord
from metajudge.clashes.uncertainty import Draws, Lead, Observed, draws_of, lead_of
from metajudge.judging.answers import CandidateAnswer
from metajudge.stats.arrays import Floats
from metajudge.stats.association import share_of
from metajudge.stats.interval_estimate import Estimate
from metajudge.types.frozen import Frozen


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


class CandidateStanding(Frozen):
    """One candidate over all evaluations that count.

    Attributes:
        quality: mean share of the Borda points there were to have, in [0, 1]; every evaluation counts the same.
        wins, ties: evaluations won alone, and those whose first place is shared.
        judged: evaluations with a verdict (a tie is one) in which it was ranked.
        failed: answers that failed, one for each set of answers.
        own_first: how often it put itself first when asked, of how many: (first, asked).
        share: the quality with its 95 % interval by prompt (score interval with an effective number, see
            :func:`metajudge.stats.association.share_of`), of which only the ends are written; None below two prompts.
        best: share of resampled prompts in which its quality is the highest; None for too few prompts.
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
    share: Estimate | None = None
    best: float | None = None

    @model_serializer(mode="wrap")
    def _write(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        found = write(self)
        low, high = (None, None) if self.share is None else self.share.interval
        del found["share"], found["best"]
        return {**found, "low": low, "high": high, "best": self.best}


@dataclass(frozen=True, slots=True)
class Standings:
    """All candidates over a run.

    Attributes:
        candidates: best quality first; equal ones by name.
        prompts: those with a verdict that ranks a candidate.
        lead: how far the best is ahead of the next; None for too few prompts.
        choice: the cheapest within limits that is near the best; None where no limit was given.
    """

    candidates: tuple[CandidateStanding, ...]
    prompts: int
    lead: Lead | None
    choice: Choice | None


def standings_of(records: Sequence[ClashRecord], limits: Limits | None = None) -> Standings:
    """Every candidate's standing, and what the prompts can say of them together.

    Args:
        records: those that count, see :func:`metajudge.clashes.run.counting_records`.
    """
    names = sorted({one.name for record in records for one in record.candidates})
    figures = {name: _figures(name, records) for name in names}
    means = [CandidateFigures(name, *(one.mean for one in figures[name][:3])) for name in names]
    observed = _observed(names, figures, records)
    draws: Draws | None = draws_of(observed) if names else None
    front = {one.candidate.name: one for one in front_by_prompts(means, draws)}
    best = {} if draws is None else draws.best()
    shares = {name: _shares(name, records) for name in names}
    found = []
    for name in names:
        one = _standing(name, records, figures[name], front[name])
        found.append(one.model_copy(update={"share": _share(shares[name]), "best": best.get(name)}))
    ordered = sorted(found, key=lambda one: -1.0 if one.quality.mean is None else one.quality.mean, reverse=True)
    by_prompt = {name: {item: fmean(values) for item, values in shares[name].items()} for name in names}
    lead = lead_of([one.name for one in ordered], by_prompt)
    choice = None if limits is None or not names else choose(means, limits, draws)
    return Standings(tuple(ordered), observed.prompts, lead, choice)


def standings(records: Sequence[ClashRecord]) -> list[CandidateStanding]:
    """Every candidate's standing, best quality first; equal ones by name."""
    return list(standings_of(records).candidates)


def _shares(name: str, records: Sequence[ClashRecord]) -> dict[str, list[float]]:
    """Prompt -> a candidate's shares of points in its evaluations."""
    found: dict[str, list[float]] = {}
    for record in records:
        share = points_share(record, name)
        if share is not None:
            found.setdefault(record.item_id, []).append(share)
    return found


def _share(shares: Mapping[str, Sequence[float]]) -> Estimate | None:
    if len(shares) < 2:
        return None
    values = [value for given in shares.values() for value in given]
    clusters = [number for number, given in enumerate(shares.values()) for _ in given]
    return share_of(np.clip(values, 0.0, 1.0), clusters)


def _observed(
    names: Sequence[str],
    figures: Mapping[str, tuple[Average, Average, Average, Average]],
    records: Sequence[ClashRecord],
) -> Observed:
    """Sums and counts by prompt; nothing of costs and latencies whose mean is not known."""
    places = {item: place for place, item in enumerate(dict.fromkeys(record.item_id for record in records))}
    tables: list[tuple[Floats, Floats]] = [
        (np.zeros((len(places), len(names))), np.zeros((len(places), len(names)))) for _ in range(3)
    ]
    for column, name in enumerate(names):
        _, cost, latency, _ = figures[name]
        given = _generated(name, records)
        values = (
            [(item, value) for item, row in _shares(name, records).items() for value in row],
            [(item, one.cost_usd or 0.0) for item, one in given if cost.mean is not None],
            [(item, one.latency_s or 0.0) for item, one in given if latency.mean is not None],
        )
        for (sums, counts), found in zip(tables, values, strict=True):
            for item, value in found:
                sums[places[item], column] += value
                counts[places[item], column] += 1
    return Observed(tuple(names), *tables)


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
    generated = [one for _, one in _generated(name, records)]
    given = any(one.source == "given" for _, one in _answers_by_prompt(name, records))
    why = "the answers were given, not generated" if given else "none of its answers arrived"
    return (
        quality,
        _average([one.cost_usd for one in generated], "a price or the usage is not known", why),
        _average([one.latency_s for one in generated], "a latency is not known", why),
        _average([one.first_token_s for one in generated], "not measured", why),
    )


def _standing(
    name: str,
    records: Sequence[ClashRecord],
    figures: tuple[Average, Average, Average, Average],
    pareto: ParetoStanding,
) -> CandidateStanding:
    answers = [one for _, one in _answers_by_prompt(name, records)]
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


def _answers_by_prompt(name: str, records: Iterable[ClashRecord]) -> list[tuple[str, CandidateAnswer]]:
    """A candidate's answers with their prompts; repeats that judged the same one count it once."""
    found: dict[tuple[str, int], CandidateAnswer] = {}
    for record in records:
        for one in record.candidates:
            if one.name == name:
                found.setdefault((record.item_id, record.cycle), one)
    return [(item, one) for (item, _), one in found.items()]


def _generated(name: str, records: Iterable[ClashRecord]) -> list[tuple[str, CandidateAnswer]]:
    """Of these, those that it was asked for and gave."""
    found = _answers_by_prompt(name, records)
    return [(item, one) for item, one in found if one.source == "generated" and one.failure is None]


def _average(values: Sequence[float | None], unknown: str, none: str) -> Average:
    known = [value for value in values if value is not None]
    if not values:
        return Average(None, 0, why=none)
    if len(known) < len(values):
        return Average(
            None, len(known), len(values) - len(known), why=f"{unknown} ({len(values) - len(known)} of {len(values)})"
        )
    return Average(fmean(known), len(known))
