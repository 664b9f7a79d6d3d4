"""The analysis: four questions, each with effects, simultaneous intervals by question, n and a verdict.

Everything is computed from the plan, the sample and the scores alone, so that anybody can compute it again.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from metajudge.errors import InputError
from metajudge.report import Absent, Measured
from metajudge.scoring import exceeds, majority_vote, weighted_average
from metajudge.stats.arrays import Bools, Floats
from metajudge.stats.influence import Effect, Influence, area, log_ratio
from metajudge.types.frozen import Finite

from ..findings import Proportion
from ..ranked import Ranked
from .plan import LivePlan
from .records import LiveItem, RunRecord, ScoreLine
from .setup import FREE_EVIDENCE, PANEL, Comparison, Topic

Verdict = Literal["yes", "no, the other way round", "no difference found", "too few to say"]

FEWEST = 10
"""Questions with a right judgment, and questions with a wrong one, below which no comparison is answered."""

SHARES = (0.6, 0.4)


class Answer(Finite):
    """One comparison.

    Attributes:
        effect: difference of two areas, or ratio of two costs, with its simultaneous interval.
        confidence: of the interval alone; all intervals hold together with one less the plan's level.
        p_value: two-sided, of no difference; not adjusted.
        n: judgments that both have a score on; ``questions`` of them, ``missing`` without one.
        verdict: what the interval says.
        why: the verdict in a sentence.
    """

    topic: Topic
    name: str
    first: str
    second: str
    measure: Literal["area", "cost"]
    effect: Measured | Absent
    confidence: float
    p_value: float | None
    n: int
    questions: int
    missing: int
    verdict: Verdict
    why: str


class ArmFigures(Finite):
    """What one arm is worth, and what it takes; all intervals are 95 % and by question.

    Attributes:
        scored: judgments with a score; ``missing`` without.
        best: share kept in per cent -> precision of so many.
        kept: judgments above the threshold; ``kept_right`` of them are right.
        usd: dollars of all its calls; ``usd_each`` and ``tokens_each`` for each right verdict kept.
    """

    arm: str
    models: tuple[str, ...]
    scored: int
    missing: int
    area: Measured | Absent
    best: dict[str, Measured | Absent]
    kept: int | None
    kept_right: int | None
    precision: Proportion | Absent
    calls: int
    tokens: int
    usd: float | Absent
    usd_each: Measured | Absent
    tokens_each: Measured | Absent


class LiveFindings(Finite):
    """The report's data.

    Attributes:
        plan: digest of the plan.
        complete: whether all of the plan was done; without it no comparison is answered.
        usd: dollars of all calls, by the scores; None where a price or the usage is unknown.
    """

    version: Literal[1] = 1
    plan: str
    run_id: str
    complete: bool
    judgments: int
    questions: int
    right: int
    calls: int
    failures: dict[str, int]
    input_tokens: int
    output_tokens: int
    usd: float | None
    answers: tuple[Answer, ...]
    arms: tuple[ArmFigures, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """The sample with every arm's scores and costs.

    Attributes:
        right: [n].
        questions: [n].
        scores: arm -> [n], NaN for a missing score.
        usd: arm -> [n], NaN where unknown.
        tokens: arm -> [n].
        threshold: a score strictly above it is kept.
    """

    right: Bools
    questions: list[str]
    scores: dict[str, Floats]
    usd: dict[str, Floats]
    tokens: dict[str, Floats]
    threshold: float


def table_of(plan: LivePlan, items: Sequence[LiveItem], lines: Sequence[ScoreLine]) -> Table:
    """Joins sample and scores; the panel's scores are made from its agents' by the rule of vetting.

    Raises:
        InputError: a line of an unknown agent or judgment, or two lines of one.
    """
    at = {one.judgment: place for place, one in enumerate(items)}
    n, setup = len(items), plan.setup
    scores = {name: np.full(n, np.nan) for name in setup.agents}
    usd = {name: np.full(n, np.nan) for name in setup.agents}
    tokens = {name: np.zeros(n) for name in setup.agents}
    seen: set[tuple[str, str]] = set()
    for line in lines:
        if line.agent not in scores or line.judgment not in at:
            raise InputError(f"a score of {line.agent} on {line.judgment}: the plan has no such agent or judgment")
        if (line.agent, line.judgment) in seen:
            raise InputError(f"{line.agent} has two scores on {line.judgment}")
        seen.add((line.agent, line.judgment))
        place = at[line.judgment]
        scores[line.agent][place] = np.nan if line.score is None else line.score
        usd[line.agent][place] = np.nan if line.usd is None else line.usd
        tokens[line.agent][place] = line.input_tokens + line.output_tokens
    scores[PANEL] = _panel_scores(plan, np.array([scores[name] for name in setup.panel]).T)
    usd[PANEL] = np.sum([usd[name] for name in setup.panel], axis=0)
    tokens[PANEL] = np.sum([tokens[name] for name in setup.panel], axis=0)
    scores[FREE_EVIDENCE] = np.array([np.nan if one.evidence is None else one.evidence for one in items])
    usd[FREE_EVIDENCE], tokens[FREE_EVIDENCE] = np.zeros(n), np.zeros(n)
    right = np.array([one.right for one in items], dtype=bool)
    return Table(right, [one.question for one in items], scores, usd, tokens, setup.threshold)


def _panel_scores(plan: LivePlan, values: Floats) -> Floats:
    valid = np.isfinite(values)
    filled = np.where(valid, values, 0.0)
    if plan.setup.panel_strategy == "majority_vote":
        found, _ = majority_vote(filled, plan.setup.threshold, valid)
    else:
        found, _ = weighted_average(filled, None, valid)
    return np.asarray(found.filled(np.nan), dtype=np.float64)


def analyse(plan: LivePlan, items: Sequence[LiveItem], lines: Sequence[ScoreLine], run: RunRecord) -> LiveFindings:
    """All figures of a run.

    Raises:
        InputError: scores that are not the plan's.
    """
    table = table_of(plan, items, lines)
    complete = run.end == "finished" and len(lines) == len(items) * len(plan.setup.agents)
    costs = [line.usd for line in lines]
    failures: dict[str, int] = {}
    for line in lines:
        if line.score is None:
            failures[line.agent] = failures.get(line.agent, 0) + 1
    return LiveFindings(
        plan=plan.digest,
        run_id=run.run_id,
        complete=complete,
        judgments=len(items),
        questions=len(set(table.questions)),
        right=int(table.right.sum()),
        calls=sum(line.calls for line in lines),
        failures=failures,
        input_tokens=sum(line.input_tokens for line in lines),
        output_tokens=sum(line.output_tokens for line in lines),
        usd=None if None in costs else math.fsum(cost for cost in costs if cost is not None),
        answers=tuple(answer(plan, table, one, complete=complete) for one in plan.setup.comparisons),
        arms=tuple(_arm(plan, table, lines, arm) for arm in plan.setup.arms),
    )


def answer(plan: LivePlan, table: Table, comparison: Comparison, *, complete: bool) -> Answer:
    """One comparison on the judgments that both arms have a score on."""
    rows = _rows(table, comparison)
    n, missing = int(rows.sum()), int((~rows).sum())
    found: Effect | str
    if not complete:
        found = "the run has not ended: the plan is answered when all of it is done"
    elif missing > plan.setup.most_missing * len(rows):
        found = f"{missing} of {len(rows)} judgments lack a score of one of the two"
    else:
        try:
            found = influence_of(table, comparison, rows).effect(plan.setup.confidence)
        except InputError as error:
            found = str(error)
    effect, p_value = _shown(found, comparison.measure)
    verdict, why = judged(found, plan, comparison.measure)
    return Answer(
        **comparison.model_dump(),
        effect=effect,
        confidence=plan.setup.confidence,
        p_value=p_value,
        n=n,
        questions=len({question for question, row in zip(table.questions, rows, strict=True) if row}),
        missing=missing,
        verdict=verdict,
        why=why,
    )


def influence_of(table: Table, comparison: Comparison, rows: Bools | None = None) -> Influence:
    """The comparison's effect by question: a difference of areas, or of logarithms of costs.

    Raises:
        InputError: too few questions, nothing right kept, or unknown costs.
    """
    rows = _rows(table, comparison) if rows is None else rows
    questions = [question for question, row in zip(table.questions, rows, strict=True) if row]
    right = table.right[rows]
    _check_enough(right, questions)
    first, second = (table.scores[name][rows] for name in (comparison.first, comparison.second))
    if comparison.measure == "area":
        return area(first, right, questions).minus(area(second, right, questions))
    kept = [
        right & exceeds(table.scores[name][rows], table.threshold) for name in (comparison.first, comparison.second)
    ]
    dollars = [table.usd[name][rows] for name in (comparison.first, comparison.second)]
    for name, paid, hits in zip((comparison.first, comparison.second), dollars, kept, strict=True):
        if not np.isfinite(paid).all():
            raise InputError("a price or the usage of a call is unknown")
        if not hits.any() or not paid.any():
            raise InputError(f"{name} {'costs nothing' if hits.any() else 'keeps no right verdict'}")
    one, other = (log_ratio(paid, hits, questions) for paid, hits in zip(dollars, kept, strict=True))
    return one.minus(other)


def judged(found: Effect | str, plan: LivePlan, measure: Literal["area", "cost"]) -> tuple[Verdict, str]:
    """The verdict by the interval: all above 0, all below, all within what matters, or none of these."""
    if isinstance(found, str):
        return "too few to say", f"{found[:1].upper()}{found[1:]}."
    setup = plan.setup
    relevant = setup.relevant if measure == "area" else math.log(setup.relevant_ratio)
    words = f"{100 * setup.relevant:g} points" if measure == "area" else f"a factor of {setup.relevant_ratio:g}"
    if found.low > 0:
        return "yes", "The whole interval lies above no difference."
    if found.high < 0:
        return "no, the other way round", "The whole interval lies below no difference."
    if -relevant < found.low and found.high < relevant:
        return "no difference found", f"The whole interval lies within {words} of no difference."
    return "too few to say", f"The interval allows no difference, and one of {words} or more."


def _shown(found: Effect | str, measure: Literal["area", "cost"]) -> tuple[Measured | Absent, float | None]:
    if isinstance(found, str):
        return Absent(absent=found), None
    low, value, high = found.low, found.estimate, found.high
    if measure == "cost":
        low, value, high = (math.exp(min(one, 700)) for one in (low, value, high))
    return Measured(value=value, low=low, high=high), found.p_value


def _rows(table: Table, comparison: Comparison) -> Bools:
    both = np.isfinite(table.scores[comparison.first]) & np.isfinite(table.scores[comparison.second])
    return np.asarray(both)


def _check_enough(right: Bools, questions: Sequence[str]) -> None:
    of = np.asarray(questions, dtype=object)
    ones, zeros = len(set(of[right])), len(set(of[~right]))
    if min(ones, zeros) < FEWEST:
        raise InputError(
            f"right judgments of {ones} questions and wrong ones of {zeros}: each needs at least {FEWEST} questions"
        )


def _arm(plan: LivePlan, table: Table, lines: Sequence[ScoreLine], arm: str) -> ArmFigures:
    members = plan.setup.members(arm)
    mine = [line for line in lines if line.agent in members]
    scored = np.isfinite(table.scores[arm])
    scores, right = table.scores[arm][scored], table.right[scored]
    questions = [question for question, row in zip(table.questions, scored, strict=True) if row]
    paid, tokens = table.usd[arm][scored], table.tokens[arm][scored]
    by_threshold = bool(members) or plan.sample.evidence == "score of signals"
    kept = exceeds(scores, plan.setup.threshold) if by_threshold else np.zeros(len(scores), dtype=bool)
    no_threshold = Absent(absent="no threshold is fixed for it")
    return ArmFigures(
        arm=arm,
        models=tuple(plan.setup.agents[name].model for name in members),
        scored=int(scored.sum()),
        missing=int((~scored).sum()),
        area=_measured(lambda: area(scores, right, questions), lambda value: min(1.0, max(0.0, value))),
        best={f"{100 * share:.0f}": _best(scores, right, questions, share) for share in SHARES},
        kept=int(kept.sum()) if by_threshold else None,
        kept_right=int((kept & right).sum()) if by_threshold else None,
        precision=_precision(right, kept, questions) if by_threshold else no_threshold,
        calls=sum(line.calls for line in mine),
        tokens=int(table.tokens[arm].sum()),
        usd=_dollars(mine),
        usd_each=_each(paid, kept & right, questions) if members else Absent(absent="no model is asked"),
        tokens_each=_each(tokens, kept & right, questions) if members else Absent(absent="no model is asked"),
    )


def _dollars(lines: Sequence[ScoreLine]) -> float | Absent:
    costs = [line.usd for line in lines]
    return Absent(absent="a price or the usage is unknown") if None in costs else math.fsum(c for c in costs if c)


def _precision(right: Bools, kept: Bools, questions: Sequence[str]) -> Proportion | Absent:
    if not kept.any():
        return Absent(absent="nothing is kept")
    return Proportion.of(right[kept], np.asarray(questions)[kept])


def _best(scores: Floats, right: Bools, questions: Sequence[str], share: float) -> Measured | Absent:
    if len(set(questions)) < FEWEST:
        return Absent(absent=f"fewer than {FEWEST} questions")
    return Ranked(scores, right, questions).precision(share).measured()


def _each(amounts: Floats, hits: Bools, questions: Sequence[str]) -> Measured | Absent:
    """A sum for each right verdict kept, by the interval of its logarithm."""
    if not np.isfinite(amounts).all():
        return Absent(absent="a price or the usage is unknown")
    if not hits.any():
        return Absent(absent="no right verdict is kept")
    if not amounts.any():
        return Absent(absent="it costs nothing")
    return _measured(lambda: log_ratio(amounts, hits, questions), math.exp)


def _measured(figure: Callable[[], Influence], shown: Callable[[float], float]) -> Measured | Absent:
    try:
        found = figure().effect()
    except InputError as error:
        return Absent(absent=str(error))
    return Measured(value=shown(found.estimate), low=shown(found.low), high=shown(found.high))
