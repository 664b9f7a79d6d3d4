"""The report of a live experiment: for the terminal and as a page."""

from collections.abc import Iterator, Sequence

from metajudge.report import (
    Absent,
    Cell,
    Column,
    IntervalChart,
    IntervalMark,
    IntervalRow,
    Measured,
    Report,
    Section,
    Table,
)
from metajudge.report.text import table_to_text

from ..observations import IN_WORDS
from .answers import Answer, ArmFigures, LiveFindings
from .plan import LivePlan
from .records import RunRecord
from .setup import QUESTIONS

AREA = "area under the ROC curve: the probability that a right judgment scores above a wrong one, ties one half"


def plan_lines(plan: LivePlan) -> Iterator[str]:
    """The plan in words: sample, agents and prices, what could be seen."""
    sample, setup = plan.sample, plan.setup
    yield f"Plan {plan.digest}: {setup.title}"
    yield (
        f"{sample.judgments:,} judgments of {sample.questions:,} questions, drawn with seed {sample.seed} from "
        f"{sample.of_questions:,} ({sample.source}); {sample.right:,} are right by their label. Free evidence: "
        f"{sample.evidence}."
    )
    for why, count in sample.left_out.items():
        yield f"Note: {count:,} judgments cannot be drawn: {IN_WORDS.get(why, why)}."
    yield table_to_text(price_table(plan))
    if plan.power:
        yield table_to_text(power_table(plan))
    else:
        yield "Power: none. Right and wrong judgments of at least two questions each are needed."
    usd = "an unknown sum" if plan.usd is None else f"${plan.usd:.2f}"
    limit = "no limit" if plan.budget_usd is None else f"a limit of ${plan.budget_usd:g}"
    yield f"{plan.calls:,} calls, about {usd}, with {limit}."


def price_table(plan: LivePlan) -> Table:
    """What each agent takes."""
    unknown = Absent(absent="the price is unknown")
    rows: list[tuple[Cell, ...]] = [
        (
            one.agent, one.model, one.calls, one.input_tokens, one.output_tokens,
            unknown if one.usd is None else one.usd, unknown if one.most_usd is None else one.most_usd,
        )
        for one in plan.prices
    ]  # fmt: skip
    return Table(
        caption="What is asked",
        columns=(
            Column(title="agent"),
            Column(title="model"),
            Column(title="calls", kind="count"),
            Column(title="input tokens", kind="count"),
            Column(title="output tokens", kind="count", note="assumed"),
            Column(title="$", kind="usd"),
            Column(title="$ at most", kind="usd", note="with every reply as long as it may be"),
        ),
        rows=tuple(rows),
        notes=("Input is counted by characters, output is assumed; repairs of unusable replies come on top.",),
    )


def power_table(plan: LivePlan) -> Table:
    """Which true differences of areas would be found, and with which probability."""
    effects = list(plan.power[0].powers)
    never: Cell = Absent(absent="no difference reaches 80 %")
    rows = [
        (f"{one.correlation:g}", never if one.smallest is None else one.smallest, *one.powers.values())
        for one in plan.power
    ]
    level = 1 - plan.setup.confidence
    return Table(
        caption="Probability of a yes, by the true difference of two areas",
        columns=(
            Column(title="correlation"),
            Column(title="found with 80 %", kind="points"),
            *(Column(title=f"{100 * float(effect):g} points", kind="percent") for effect in effects),
        ),
        rows=tuple(rows),
        notes=(
            f"Paired by question, at level {level:.4f}: {plan.setup.level:g} over {len(plan.setup.comparisons)} "
            "comparisons. The lower area is taken as 75 points, each question as judged once.",
        ),
    )


def report_lines(plan: LivePlan, findings: LiveFindings) -> Iterator[str]:
    """The four answers and the figures behind them, for the terminal."""
    for topic, question in QUESTIONS.items():
        yield question
        yield from (f"  {line}" for one in findings.answers if one.topic == topic for line in answer_lines(one))
    yield table_to_text(arm_table(plan, findings))
    yield table_to_text(cost_table(findings))
    yield cost_sentence(findings)


def verdict_words(one: Answer) -> str:
    """What is answered, and why."""
    return f"{one.name[:1].upper()}{one.name[1:]}: {one.verdict}. {one.why}"


def versus(one: Answer) -> str:
    """The two that are compared."""
    return f"{one.first} vs {one.second}"


def answer_lines(one: Answer) -> Iterator[str]:
    """One comparison in two lines."""
    yield verdict_words(one)
    shown = "no effect is shown" if isinstance(one.effect, Absent) else effect_words(one.effect, one.measure)
    yield f"  {versus(one)}: {shown}; n = {one.n:,} judgments of {one.questions:,} questions."


def effect_words(effect: Measured, measure: str) -> str:
    """A difference of areas in points, or a ratio of costs."""
    if measure == "cost":
        return f"{effect.value:.2f} times the cost ({effect.low:.2f} to {effect.high:.2f})"
    return f"{100 * effect.value:+.1f} points ({100 * effect.low:+.1f} to {100 * effect.high:+.1f})"


def cost_sentence(findings: LiveFindings) -> str:
    """Calls, tokens and dollars of the whole run."""
    usd = "dollars unknown" if findings.usd is None else f"${findings.usd:.4f}"
    failures = ", ".join(f"{count} of {agent}" for agent, count in findings.failures.items()) or "none"
    return (
        f"{findings.calls:,} calls, {findings.input_tokens:,} input and {findings.output_tokens:,} output tokens, "
        f"{usd}. Judgments without a score: {failures}."
    )


def arm_table(plan: LivePlan, findings: LiveFindings) -> Table:
    """What every arm is worth and what it costs."""
    return Table(
        caption="Every arm by itself, with 95 % intervals by question",
        columns=(
            Column(title="arm"),
            Column(title="scored", kind="count"),
            Column(title="missing", kind="count"),
            Column(title="area", kind="percent"),
            Column(title="right of best 60 %", kind="percent"),
            Column(title="right of best 40 %", kind="percent"),
            Column(title="kept", kind="count", note=f"score above {plan.setup.threshold:g}"),
            Column(title="right of kept", kind="percent"),
        ),
        rows=tuple(_arm_row(one) for one in findings.arms),
        notes=(f"Area: {AREA}.",),
    )


def cost_table(findings: LiveFindings) -> Table:
    """What every arm takes, and what each right verdict takes that it keeps."""
    return Table(
        caption="What a right verdict kept takes, with 95 % intervals by question",
        columns=(
            Column(title="arm"),
            Column(title="calls", kind="count"),
            Column(title="tokens", kind="count"),
            Column(title="$", kind="usd"),
            Column(title="right ones kept", kind="count"),
            Column(title="$ each", kind="usd"),
            Column(title="tokens each", kind="count"),
        ),
        rows=tuple(_cost_row(one) for one in findings.arms if one.models),
        notes=("The panel counts its members' calls, which are made once.",),
    )


def _cost_row(one: ArmFigures) -> tuple[Cell, ...]:
    kept: Cell = Absent(absent="no threshold is fixed for it") if one.kept_right is None else one.kept_right
    return one.arm, one.calls, one.tokens, one.usd, kept, one.usd_each, one.tokens_each


def _arm_row(one: ArmFigures) -> tuple[Cell, ...]:
    precision: Cell
    if isinstance(one.precision, Absent):
        precision = one.precision
    else:
        precision = Measured(value=one.precision.share, low=one.precision.low, high=one.precision.high)
    kept: Cell = Absent(absent="no threshold is fixed for it") if one.kept is None else one.kept
    return one.arm, one.scored, one.missing, one.area, one.best["60"], one.best["40"], kept, precision


def answer_table(answers: Sequence[Answer]) -> Table:
    """Every comparison with its effect, n and verdict."""
    rows: list[tuple[Cell, ...]] = [
        (
            versus(one),
            one.effect.absent if isinstance(one.effect, Absent) else effect_words(one.effect, one.measure),
            one.n, one.questions, one.missing, one.verdict,
        )
        for one in answers
    ]  # fmt: skip
    return Table(
        caption="Comparisons",
        columns=(
            Column(title="comparison"),
            Column(title="effect and interval"),
            Column(title="judgments", kind="count"),
            Column(title="questions", kind="count"),
            Column(title="missing", kind="count"),
            Column(title="verdict"),
        ),
        rows=tuple(rows),
    )


def report_of(plan: LivePlan, findings: LiveFindings, run: RunRecord) -> Report:
    """The page of one run."""
    sections = [
        Section(
            title=question,
            paragraphs=tuple(f"{one.name}: {one.verdict}. {one.why}" for one in findings.answers if one.topic == topic),
            blocks=(
                answer_table([one for one in findings.answers if one.topic == topic]),
                *((cost_table(findings),) if topic == "cost" else ()),
            ),
        )
        for topic, question in QUESTIONS.items()
    ]
    chart = area_chart([(one.name, one) for one in findings.answers], findings.answers)
    return Report(
        title=plan.setup.title,
        summary=summary_of(plan, findings),
        sections=(
            Section(title="Answers", blocks=() if chart is None else (chart,)),
            *sections,
            Section(title="Arms", blocks=(arm_table(plan, findings),), paragraphs=(cost_sentence(findings),)),
            Section(title="The plan", blocks=(price_table(plan), *((power_table(plan),) if plan.power else ()))),
        ),
        provenance=provenance_of(plan, run),
    )


def summary_of(plan: LivePlan, findings: LiveFindings) -> tuple[str, ...]:
    """What the report is, in sentences."""
    state = "All of the plan is done." if findings.complete else "The run has not ended: nothing is answered yet."
    share = 100 * plan.setup.level
    return (
        f"{findings.judgments:,} judgments of {findings.questions:,} questions, {findings.right:,} right. {state}",
        f"The intervals hold together with {100 - share:g} % (Bonferroni over {len(findings.answers)} comparisons): "
        f"the probability of any wrong yes is at most {share:g} %. Effects are differences of the {AREA}.",
    )


def provenance_of(plan: LivePlan, run: RunRecord) -> dict[str, str]:
    """Where the figures come from."""
    sample = plan.sample
    return {
        "plan": plan.digest,
        "plan fixed": run.fixed_at,
        "run": run.run_id,
        "ended": f"{run.ended_at or 'not yet'} ({run.end})",
        "data": f"{sample.source}; {sample.judgments} judgments, digest {sample.items}, seed {sample.seed}",
        "versions": ", ".join(f"{name} {value}" for name, value in run.environment.items()),
    }


def area_chart(named: Sequence[tuple[str, Answer]], every: Sequence[Answer]) -> IntervalChart | None:
    """A chart of the differences of areas; None if there are none."""
    rows = tuple(
        IntervalRow(name=versus(one), absent=one.effect.absent)
        if isinstance(one.effect, Absent)
        else IntervalRow(name=versus(one), marks=(IntervalMark(series=0, value=one.effect),))
        for _, one in named
        if one.measure == "area"
    )
    if all(row.absent for row in rows):
        return None
    confidence = every[0].confidence
    return IntervalChart(
        title="Differences of areas",
        description=f"Points, with {100 * confidence:.2f} % intervals by question; the line is no difference.",
        kind="points",
        series=("difference",),
        rows=rows,
        reference=0.0,
    )
