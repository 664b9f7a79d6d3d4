"""How candidates did over many evaluations: wins, points, cost, latency, and the Pareto front. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import numpy as np
from pydantic import SerializerFunctionWrapHandler, model_serializer

from metajudge.clashes.pareto import (
    CandidateFigures,
    Choice,
    Draws,
    Lead,
    Limits,
    Observed,
    ParetoStanding,
    choose,
    draws_of,
    front_by_prompts,
    lead_of,
)
from metajudge.clashes.record import ClashRecord
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
    known = [_Known.of(name, records) for name in names]
    means = [CandidateFigures(one.name, one.quality.mean, one.cost_usd.mean, one.latency_s.mean) for one in known]
    observed = _observed(known, records)
    draws: Draws | None = draws_of(observed) if names else None
    best = {} if draws is None else draws.best()
    found = [
        _standing(one, records, pareto, best.get(one.name))
        for one, pareto in zip(known, front_by_prompts(means, draws), strict=True)
    ]
    ordered = sorted(found, key=lambda one: -1.0 if one.quality.mean is None else one.quality.mean, reverse=True)
    by_prompt = {one.name: {item: fmean(values) for item, values in one.shares.items()} for one in known}
    lead = lead_of([one.name for one in ordered], by_prompt)
    choice = None if limits is None or not names else choose(means, limits, draws)
    return Standings(tuple(ordered), observed.prompts, lead, choice)


@dataclass(frozen=True, slots=True)
class _Known:
    """What is known of one candidate.

    Attributes:
        shares: prompt -> its shares of points in its evaluations.
        answers: with their prompts; repeats that judged the same one count it once.
        generated: of these, those that it was asked for and gave.
    """

    name: str
    shares: Mapping[str, Sequence[float]]
    answers: Sequence[CandidateAnswer]
    generated: Sequence[tuple[str, CandidateAnswer]]
    quality: Average
    cost_usd: Average
    latency_s: Average
    first_token_s: Average

    @classmethod
    def of(cls, name: str, records: Sequence[ClashRecord]) -> "_Known":
        shares: dict[str, list[float]] = {}
        answers: dict[tuple[str, int], CandidateAnswer] = {}
        for record in records:
            tally = record.tally
            if tally is not None and name in tally.scores and len(tally.scores) > 1:
                # Of the Borda points it could have had from the rankings there are.
                cast = sum(vote.weight or 0.0 for vote in record.votes if vote.counted and vote.groups is not None)
                most = cast * (len(tally.scores) - 1)
                shares.setdefault(record.item_id, []).append(tally.scores[name] / most)
            for one in record.candidates:
                if one.name == name:
                    answers.setdefault((record.item_id, record.cycle), one)
        every = [share for given in shares.values() for share in given]
        made = [(i, one) for (i, _), one in answers.items() if one.source == "generated" and one.failure is None]
        given = any(one.source == "given" for one in answers.values())
        why = "the answers were given, not generated" if given else "none of its answers arrived"
        return cls(
            name=name,
            shares=shares,
            answers=list(answers.values()),
            generated=made,
            quality=Average(fmean(every), len(every)) if every else Average(None, 0, why="no verdict ranks it"),
            cost_usd=_average([one.cost_usd for _, one in made], "a price or the usage is not known", why),
            latency_s=_average([one.latency_s for _, one in made], "a latency is not known", why),
            first_token_s=_average([one.first_token_s for _, one in made], "not measured", why),
        )


def _observed(known: Sequence[_Known], records: Sequence[ClashRecord]) -> Observed:
    """Sums and counts by prompt; nothing of costs and latencies whose mean is not known."""
    places = {item: place for place, item in enumerate(dict.fromkeys(record.item_id for record in records))}
    shape = len(places), len(known)
    tables: list[tuple[Floats, Floats]] = [(np.zeros(shape), np.zeros(shape)) for _ in range(3)]
    for column, one in enumerate(known):
        values = (
            [(item, value) for item, row in one.shares.items() for value in row],
            [(item, it.cost_usd or 0.0) for item, it in one.generated if one.cost_usd.mean is not None],
            [(item, it.latency_s or 0.0) for item, it in one.generated if one.latency_s.mean is not None],
        )
        for (sums, counts), found in zip(tables, values, strict=True):
            for item, value in found:
                sums[places[item], column] += value
                counts[places[item], column] += 1
    return Observed(tuple(one.name for one in known), *tables)


def _standing(
    known: _Known, records: Sequence[ClashRecord], pareto: ParetoStanding, best: float | None
) -> CandidateStanding:
    name = known.name
    votes = [vote for record in records for vote in record.votes if vote.own == name]
    asked = [first for vote in votes if (first := vote.own_first) is not None]
    placed = [record for record in records if record.status in ("ok", "tie") and name in record.answered]
    values = [value for given in known.shares.values() for value in given]
    clusters = [number for number, given in enumerate(known.shares.values()) for _ in given]
    return CandidateStanding(
        name=name,
        quality=known.quality,
        wins=sum(record.winner == name for record in placed),
        ties=sum(record.winner != name and name in record.tied for record in placed),
        judged=len(placed),
        answers=len(known.answers),
        failed=sum(one.failure is not None for one in known.answers),
        cost_usd=known.cost_usd,
        latency_s=known.latency_s,
        first_token_s=known.first_token_s,
        own_first=(sum(asked), len(asked)),
        pareto=pareto,
        share=None if len(known.shares) < 2 else share_of(np.clip(values, 0.0, 1.0), clusters),
        best=best,
    )


def _average(values: Sequence[float | None], unknown: str, none: str) -> Average:
    if not values:
        return Average(None, 0, why=none)
    known = [value for value in values if value is not None]
    if lost := len(values) - len(known):
        return Average(None, len(known), lost, f"{unknown} ({lost} of {len(values)})")
    return Average(fmean(known), len(known))
