"""Several runs of one plan, or of one plan with other models, pooled by question."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from metajudge.errors import InputError
from metajudge.report import Absent, Column, IntervalChart, IntervalMark, IntervalRow, Measured, Report, Section, Table
from metajudge.stats.arrays import Floats
from metajudge.stats.influence import Effect, Influence, combined, covariances
from metajudge.types import digest
from metajudge.types.frozen import Finite

from .answers import Answer, Verdict, answer, influence_of, judged, table_of
from .folder import LiveRun, read_run
from .report import answer_table, effect_words
from .setup import Comparison
from .verifying import verify


class Heterogeneity(Finite):
    """Whether the folders differ by more than chance, their questions being the same.

    Attributes:
        q: Cochran's Q by generalised least squares, ``(d - m)' S^-1 (d - m)``, with S the covariances of the folders'
            effects by question and m their weighted mean.
        p_value: of no difference between the folders; chi-squared with one degree of freedom less than folders.
        i_squared: ``max(0, (Q - df) / Q)``, the share of the variation that is not chance (Higgins and others, 2003).
        tau: standard deviation between folders by the method of moments, in the unit of the effect.
    """

    q: float
    p_value: float
    i_squared: float
    tau: float


class Pooled(Finite):
    """One comparison over all folders: the mean of their effects, each counting alike, about these folders' models."""

    comparison: Comparison
    effect: Measured | Absent
    confidence: float
    folders: int
    questions: int
    verdict: Verdict
    why: str
    heterogeneity: Heterogeneity | Absent
    each: tuple[Answer, ...]


class MergedFindings(Finite):
    """Everything of a merge; ``names`` are the folders in the order of each list."""

    version: int = 1
    names: tuple[str, ...]
    runs: tuple[str, ...]
    models: tuple[dict[str, str], ...]
    pooled: tuple[Pooled, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Opened:
    """A folder that passed its checks."""

    name: str
    found: LiveRun


def open_folders(folders: Sequence[Path]) -> list[Opened]:
    """Reads and checks folders that can be pooled.

    Raises:
        InputError: fewer than two, one that does not hold, the same run twice, other items or other analyses.
    """
    if len(folders) < 2:
        raise InputError("give at least two folders to pool")
    opened = []
    for folder in folders:
        wrong = [f"{one.name}: {one.words}" for one in verify(folder) if one.holds is False]
        if wrong:
            raise InputError(
                f"{folder} does not hold: {'; '.join(wrong)}. `metajudge bench live verify` shows all of it"
            )
        found = read_run(folder)
        if found.run.end != "finished":
            raise InputError(f"{folder}: the run has not ended ({found.run.end}); continue it first")
        opened.append(Opened(folder.name or str(folder), found))
    _refuse_duplicates(opened)
    _refuse_others(opened)
    return opened


def _refuse_duplicates(opened: Sequence[Opened]) -> None:
    runs: dict[str, str] = {}
    for one in opened:
        replies = digest([line.model_dump(mode="json") for line in sorted(one.found.lines, key=_place)])
        for key in (one.found.run.run_id, replies):
            if key in runs:
                raise InputError(f"{runs[key]} and {one.name} are the same run: give it once")
        runs |= {one.found.run.run_id: one.name, replies: one.name}


def _place(line: object) -> tuple[str, str]:
    return (getattr(line, "agent", ""), getattr(line, "judgment", ""))


def _refuse_others(opened: Sequence[Opened]) -> None:
    first = opened[0]
    for one in opened[1:]:
        mine, other = first.found.plan, one.found.plan
        if mine.sample.items != other.sample.items:
            raise InputError(
                f"{first.name} and {one.name} have different items (samples {mine.sample.items} and "
                f"{other.sample.items}): only runs on the same sample can be pooled by question. Run it by the other's "
                "plan (--plan FOLDER/plan.json)"
            )
        if mine.analyses != other.analyses:
            differing = [name for name, value in mine.setup.analyses.items() if other.setup.analyses.get(name) != value]
            raise InputError(
                f"{first.name} and {one.name} have different analyses ({', '.join(differing) or 'free evidence'}): the "
                "same comparisons, rubric, threshold and levels are needed; the models may differ"
            )


def merge(opened: Sequence[Opened]) -> MergedFindings:
    """Pools every comparison."""
    comparisons = opened[0].found.plan.setup.comparisons
    models = tuple({name: agent.model for name, agent in one.found.plan.setup.agents.items()} for one in opened)
    same = all(one == models[0] for one in models)
    notes = [
        "The pooled effect is the mean over the folders, each counting alike; its interval is by question and speaks "
        "of these folders' models on questions like these, not of other models",
        "all folders have the same models" if same else "the folders have different models",
    ]
    return MergedFindings(
        names=tuple(one.name for one in opened),
        runs=tuple(one.found.run.run_id for one in opened),
        models=models,
        pooled=tuple(_pooled(opened, comparison) for comparison in comparisons),
        notes=tuple(notes),
    )


def _pooled(opened: Sequence[Opened], comparison: Comparison) -> Pooled:
    plan, figures, each = opened[0].found.plan, list[Influence](), list[Answer]()
    found: Effect | str | None = None
    for one in opened:
        table = table_of(one.found.plan, one.found.items, one.found.lines)
        each.append(answer(one.found.plan, table, comparison, complete=True))
        if isinstance(each[-1].effect, Absent):
            found = f"{one.name}: {each[-1].effect.absent}"
        else:
            figures.append(influence_of(table, comparison))
    if found is None:
        whole = combined(figures, [1 / len(figures)] * len(figures))
        found = whole.effect(plan.setup.confidence)
    verdict, why = judged(found, plan, comparison.measure)
    return Pooled(
        comparison=comparison,
        effect=Absent(absent=found) if isinstance(found, str) else _shown(found, comparison),
        confidence=plan.setup.confidence,
        folders=len(opened),
        questions=plan.sample.questions if isinstance(found, str) else found.clusters,
        verdict=verdict,
        why=why,
        heterogeneity=Absent(absent=found) if isinstance(found, str) else heterogeneity(figures),
        each=tuple(each),
    )


def _shown(found: Effect, comparison: Comparison) -> Measured:
    shown = math.exp if comparison.measure == "cost" else float
    return Measured(value=shown(found.estimate), low=shown(found.low), high=shown(found.high))


def heterogeneity(figures: Sequence[Influence]) -> Heterogeneity:
    """Between the effects of several folders on the same questions; see :class:`Heterogeneity`.

    The standard deviation solves ``E[Q] = df + tau^2 trace(P)`` with ``P = W - W 1 (1' W 1)^-1 1' W`` and
    ``W = S^-1`` (DerSimonian and Laird, 1986, for effects that are not independent).
    """
    from scipy.special import chdtrc

    effects: Floats = np.array([one.estimate for one in figures])
    weights = np.linalg.inv(covariances(figures))
    ones = np.ones(len(effects))
    projection = weights - np.outer(weights @ ones, ones @ weights) / float(ones @ weights @ ones)
    q, df = max(0.0, float(effects @ projection @ effects)), len(effects) - 1
    trace = float(np.trace(projection))
    return Heterogeneity(
        q=q,
        p_value=float(chdtrc(df, q)),
        i_squared=max(0.0, (q - df) / q) if q else 0.0,
        tau=math.sqrt(max(0.0, (q - df) / trace)) if trace > 0 else 0.0,
    )


def merged_lines(found: MergedFindings) -> Iterator[str]:
    """The pooled answers for the terminal."""
    yield f"{len(found.names)} runs pooled: {', '.join(found.names)}"
    for one in found.pooled:
        name = f"{one.comparison.first} vs {one.comparison.second}"
        shown = "no effect is shown"
        if not isinstance(one.effect, Absent):
            shown = f"{effect_words(one.effect, one.comparison.measure)}; {one.questions:,} questions"
        yield f"{name}: {one.verdict}. {one.why}"
        yield f"  {shown}; between folders: {heterogeneity_words(one.heterogeneity)}"
    for note in found.notes:
        yield f"Note: {note}."


def heterogeneity_words(found: Heterogeneity | Absent) -> str:
    """Q, its p value and I squared in words."""
    if isinstance(found, Absent):
        return found.absent
    said = f"I2 {100 * found.i_squared:.0f} %, Q {found.q:.2f}, p {found.p_value:.3f}"
    return said + ("; they differ by more than chance" if found.p_value < 0.05 else "")


def merged_report(found: MergedFindings) -> Report:
    """The page of a merge."""
    sections = []
    for one in found.pooled:
        title = f"{one.comparison.first} vs {one.comparison.second} ({one.comparison.name})"
        chart = _chart(found, one)
        paragraphs = (f"{one.verdict}. {one.why}", f"Between folders: {heterogeneity_words(one.heterogeneity)}.")
        sections.append(
            Section(
                title=title,
                paragraphs=paragraphs,
                blocks=(*(() if chart is None else (chart,)), answer_table(one.each)),
            )
        )
    agents = list(found.models[0])
    models = Table(
        caption="Models",
        columns=(Column(title="folder"), *(Column(title=name) for name in agents)),
        rows=tuple(
            (name, *(used.get(agent, "") for agent in agents))
            for name, used in zip(found.names, found.models, strict=True)
        ),
    )
    return Report(
        title=f"{len(found.names)} live experiments pooled",
        summary=tuple(f"{note}." for note in found.notes),
        sections=(*sections, Section(title="Folders", blocks=(models,))),
        provenance=dict(zip(found.names, (f"run {one}" for one in found.runs), strict=True)),
    )


def _chart(found: MergedFindings, one: Pooled) -> IntervalChart | None:
    rows = [(name, each.effect) for name, each in zip(found.names, one.each, strict=True)] + [("pooled", one.effect)]
    marks = tuple(
        IntervalRow(name=name, absent=effect.absent)
        if isinstance(effect, Absent)
        else IntervalRow(name=name, marks=(IntervalMark(series=0, value=effect),))
        for name, effect in rows
    )
    if all(row.absent for row in marks):
        return None
    cost = one.comparison.measure == "cost"
    return IntervalChart(
        title="Effects",
        description=f"{100 * one.confidence:.2f} % intervals by question; the line is no difference.",
        kind="number" if cost else "points",
        series=("effect",),
        rows=marks,
        reference=1.0 if cost else 0.0,
    )
