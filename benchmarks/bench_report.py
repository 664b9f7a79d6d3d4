"""The findings of a benchmark run as a report: tables, curves, bars."""

from collections.abc import Callable, Iterator, Sequence

from metajudge.report.document import (
    Absent,
    BarChart,
    BarSeries,
    Block,
    Cell,
    CoverageChart,
    Mark,
    ReliabilityChart,
    Report,
    Section,
    ShareChart,
    ShareRow,
    Table,
)
from metajudge.report.tables import counts_table, table_to_text
from metajudge.stats.clustered import FEWEST_CLUSTERS, FEWEST_OUTCOMES

from .figure import columns, without
from .findings import OVERALL, BenchFindings, JudgeFindings, PrecisionCell, PrecisionRow, Proportion, SwapCounts
from .grid_report import grid_lines, grid_section, wrapped
from .precision import FEWEST_SELECTED

NOT_ASKED = Absent(absent="the judge was not asked about this category")
NOT_MEASURED = Absent(absent="there is no such judgment")
NO_SELECTION = Absent(absent="too few judgments have such a score")
CHART_SERIES = 5
PAID = "Calls and cost are what was paid for a row: a reply that an earlier row already has is not asked for again."
DIFFERENCES = "Differences are percentage points of precision with a 95 % interval from resampled questions."
BY_QUESTION = (
    "Intervals are by question, since judgments of one question are not independent: 95 %, whole questions resampled; "
    f"with fewer than {FEWEST_CLUSTERS} questions, or {FEWEST_OUTCOMES:g} effective right or wrong judgments, "
    "Wilson's with the effective number of questions."
)
OVERALL_COLUMNS: tuple[tuple[str, str, Callable[[PrecisionRow, PrecisionCell], Cell]], ...] = (
    ("Selection", "text", lambda row, _: row.name),
    ("n", "count", lambda _, cell: cell.n),
    ("Selected", "count", lambda _, cell: cell.selected),
    ("Questions", "count", lambda _, cell: getattr(cell.precision, "questions", 0)),
    ("Precision %", "percent", lambda _, cell: cell.precision),
    ("Coverage %", "percent", lambda _, cell: cell.coverage),
    ("Recall %", "percent", lambda _, cell: cell.recall),
    ("Against raw", "points", lambda _, cell: cell.against_raw),
    ("Against baseline", "points", lambda _, cell: cell.against_baseline),
    ("Threshold", "text", lambda row, _: str(row.threshold)),
    ("Unscored", "count", lambda row, _: row.unscored),
    ("Calls", "count", lambda row, _: row.calls),
    ("Cost", "usd", lambda row, _: row.cost_usd),
)
SWAP_PARTS = ("both right", "both wrong", "orders disagree", "one undecided", "both undecided")


def report_of(findings: BenchFindings) -> Report:
    """The whole report."""
    sections = [grid_section(findings.grid, findings.categories)] if findings.grid is not None else []
    sections += [_accuracy_section(findings)] if findings.accuracy else []
    compact = [one for one in findings.judges if one.compact]
    sections += [_judge_section(one, findings) for one in findings.judges if one not in compact]
    if compact:
        sections.append(Section(title="Judge by judge", blocks=(compact_table(compact),)))
    if findings.grid is None or any(sum(_swaps(one)) for one in findings.judges):
        sections.append(_swap_section(findings))
    counted = "decided ones (verdicts that name a winner on an item with a label)"
    if findings.grid is not None:
        counted = f"that are vetted ({findings.grid.population})"
    elif findings.benchmark == "file":
        counted = "verdicts on an item with a label (a tie is wrong where the label names a winner)"
    return Report(
        title=f"{findings.title}: precision of judgments",
        summary=(
            f"{findings.citation}. Labels: {findings.label_rule}."
            + (f" Games: {findings.games_rule}." if findings.accuracy else ""),
            "Precision is the share of right ones among the judgments kept; coverage the share kept of all "
            f"{counted}; recall the share of the right ones kept.",
            *rule_lines(findings),
            *findings.notes,
        ),
        sections=tuple(sections),
        provenance=findings.provenance,
    )


def precision_table(judge: JudgeFindings, findings: BenchFindings) -> Table:
    """Precision by category."""
    there = [name for name in (*findings.categories, OVERALL) if name in judge.rows[0].cells]
    return Table(
        caption=f"{judge.judge}: precision in % (95 % interval by question)",
        columns=columns("Selection", *((name, "percent") for name in there)),
        rows=tuple((row.name, *(row.cells[name].precision for name in there)) for row in judge.rows),
    )


def overall_table(judge: JudgeFindings, category: str = OVERALL) -> Table:
    """Everything about one category's selections."""
    rows = [
        tuple(of(row, row.cells[category]) for _, _, of in OVERALL_COLUMNS)
        for row in judge.rows
        if category in row.cells
    ]
    where = "all categories" if category == OVERALL else category
    asked = any(isinstance(row.calls, int) for row in judge.rows)
    notes = ((BY_QUESTION, DIFFERENCES, PAID) if asked else (BY_QUESTION, DIFFERENCES)) if category == OVERALL else ()
    # Columns without a single figure are left out; where the table has notes, the reason becomes one.
    titles = columns(*((title, kind) for title, kind, _ in OVERALL_COLUMNS))
    gone = [at for at in range(len(titles)) if all(isinstance(row[at], Absent) for row in rows)]
    reasons = ((titles[at].title, rows[0][at]) for at in gone)
    why = [f"No column {title}: {one.absent}." for title, one in reasons if isinstance(one, Absent) and notes]
    table = Table(caption=f"{judge.judge}: {where}", columns=titles, rows=tuple(rows), notes=(*notes, *why))
    return without(table, gone)


def accuracy_table(findings: BenchFindings) -> Table:
    """Accuracy by the benchmark's own rule."""
    there = [c for c in (*findings.categories, OVERALL) if any(c in one.cells for one in findings.accuracy)]
    pairs = any(one.kind in ("pairwise", "pointwise") for one in findings.accuracy)
    alike = pairs or any(isinstance(one.agreeing, Proportion) for one in findings.accuracy)
    what, items = ("Games", "Pairs") if pairs else ("Verdicts", "Items")
    titles: list[str | tuple[str, str]] = ["Judge", "Kind", *["Responses by"] * pairs]
    titles += [(name, "percent") for name in there]
    titles += [(f"{what} decided", "count"), (f"Right of decided {what.lower()} %", "percent")]
    titles += [(f"{items} judged alike", "count"), ("Right of these %", "percent")] * alike
    rows = []
    for one in findings.accuracy:
        cells: list[Cell] = [one.judge, one.kind, *[one.responses_by or "several models or unknown"] * pairs]
        cells += [one.cells[name].share if name in one.cells else NOT_ASKED for name in there]
        cells += [one.decided, _share(one.precision)]
        cells += [one.agreeing.n if isinstance(one.agreeing, Proportion) else 0, _share(one.agreeing)] if alike else []
        rows.append(tuple(cells))
    rule = f"Rule: {findings.games_rule}."
    return Table(caption="Accuracy of judges in %", columns=columns(*titles), rows=tuple(rows), notes=(rule,))


def measures_table(findings: BenchFindings) -> Table:
    """Further shares over all categories, as the benchmark's source prints them."""
    rows = []
    for one in findings.accuracy:
        cells = [one.measures.get(name, {}).get(OVERALL, NOT_MEASURED) for name in findings.measures]
        if any(isinstance(cell, Proportion) for cell in cells):
            rows.append((one.judge, *cells))
    titles = columns("Judge", *((name, "percent") for name in findings.measures))
    return Table(caption="Further shares in % (95 % interval by question)", columns=titles, rows=tuple(rows))


def terminal_lines(findings: BenchFindings) -> Iterator[str]:
    """Accuracies, precisions and notes as text; of a grid its own tables alone."""
    yield from rule_lines(findings)
    notes = [f"Note: {note}." for note in findings.notes]
    notes += [f"Note on {judge.judge}: {note}" for judge in findings.judges for note in judge.notes]
    if findings.grid is not None:
        yield from grid_lines(findings.grid, findings.categories)
        for note in notes:
            yield from wrapped(note)
        return
    tables = [accuracy_table(findings)]
    if any(one.measures for one in findings.accuracy) and findings.measures:
        tables.append(measures_table(findings))
    for judge in (one for one in findings.judges if not one.compact):
        tables.append(counts_table(f"{judge.judge}: right by the labels", judge.counts))
        tables += [precision_table(judge, findings)] if len(judge.rows[0].cells) > 1 else []
        tables.append(overall_table(judge))
    compact = [one for one in findings.judges if one.compact]
    tables += [compact_table(compact)] if compact else []
    yield from "\n\n".join(map(table_to_text, tables)).split("\n")
    yield from notes


def rule_lines(findings: BenchFindings) -> list[str]:
    """What counts as right, where not every verdict is on a pair."""
    if set(findings.rules) <= {"pairwise"} and findings.rules.get("pairwise", "top1") == "top1":
        return []
    rules = "; ".join(f"{kind}: {rule}" for kind, rule in findings.rules.items())
    return [f"What counts as right: {rules}."]


def _accuracy_section(findings: BenchFindings) -> Section:
    blocks: list[Block] = [accuracy_table(findings)]
    if findings.measures:
        blocks.append(measures_table(findings))
    pairs = [one for one in findings.accuracy if len(one.cells) > 1]
    if 0 < len(pairs) <= 24:
        series = BarSeries(name="accuracy", values=tuple(one.cells[OVERALL] for one in pairs))
        description = "Share of pairs right by the rule above, with 95 % intervals by question."
        groups, title = tuple(one.judge for one in pairs), "Accuracy over all categories"
        blocks.append(BarChart(title=title, description=description, groups=groups, series=(series,)))
    return Section(title="Accuracy of judges", blocks=tuple(blocks))


def _judge_section(judge: JudgeFindings, findings: BenchFindings) -> Section:
    blocks: list[Block] = [
        counts_table(f"{judge.judge}: right by the labels", judge.counts),
        precision_table(judge, findings),
        overall_table(judge),
        _order_table(judge),
    ]
    if judge.curves:
        blocks.append(coverage_chart(judge))
    blocks.append(_category_chart(judge, findings.categories))
    if judge.reliability:
        description = (
            "Judgments in bins of equal size by their stated probability, with 95 % intervals by question. On the "
            "diagonal a probability means what it says."
        )
        title = f"{judge.judge}: reliability"
        blocks.append(ReliabilityChart(title=title, description=description, series=judge.reliability))
    blocks += [overall_table(judge, name) for name in findings.categories if name in judge.rows[0].cells]
    counts = (
        f"{judge.judgments} judgments, {judge.decided} of them decided ({judge.ties} ties, {judge.without_verdict} "
        f"without a verdict), on {judge.questions} questions."
    )
    return Section(title=judge.judge, paragraphs=(counts, *judge.notes), blocks=tuple(blocks))


def _order_table(judge: JudgeFindings) -> Table:
    orders = list(judge.rows[0].orders)
    pairs = [((f"{order}: selected", "count"), (f"{order}: precision %", "percent")) for order in orders]
    rows = []
    for row in judge.rows:
        cells = [row.orders[order] for order in orders]
        rows.append((row.name, *(one for cell in cells for one in (cell.selected, cell.precision))))
    titles = columns("Selection", *(one for pair in pairs for one in pair))
    return Table(caption=f"{judge.judge}: each order shown by itself", columns=titles, rows=tuple(rows))


def coverage_chart(judge: JudgeFindings) -> CoverageChart:
    """Precision against coverage of every score, with the selections that have a threshold of their own."""
    singles = [row for row in judge.rows if row.kind != "raw" and row.threshold.origin != COVERAGE_ORIGIN]
    marks = [
        Mark(name=row.name, coverage=cell.coverage, precision=cell.precision.share)
        for row in singles
        if isinstance((cell := row.cells[OVERALL]).precision, Proportion) and cell.selected >= FEWEST_SELECTED
    ]
    raw = judge.rows[0].cells[OVERALL].precision
    return CoverageChart(
        title=f"{judge.judge}: precision against coverage",
        description="The best-scored judgments first, from left to right; bands are 95 % intervals by "
        "question. Lone shapes are selections with a threshold of their own.",
        curves=judge.curves,
        marks=tuple(marks[:6]),
        raw=raw.share if isinstance(raw, Proportion) else None,
    )


COVERAGE_ORIGIN = "set by coverage, no label used"


def _category_chart(judge: JudgeFindings, categories: Sequence[str]) -> BarChart:
    """The raw row and the rows after it that are no mere points of a curve."""
    groups = tuple(name for name in (*categories, OVERALL) if name in judge.rows[0].cells)
    chosen = [row for row in judge.rows if row.threshold.origin != COVERAGE_ORIGIN][:CHART_SERIES]
    return BarChart(
        title=f"{judge.judge}: precision by category",
        description="Share of right ones among the judgments kept, with 95 % intervals by question.",
        groups=groups,
        series=tuple(
            BarSeries(name=row.name, values=tuple(row.cells[name].precision for name in groups)) for row in chosen
        ),
    )


def compact_table(judges: Sequence[JudgeFindings]) -> Table:
    """One line a judge; a selection that a judge lacks is absent in its line."""
    names = list(dict.fromkeys(row.column or row.name for judge in judges for row in judge.rows))
    raw = judges[0].rows[0].name
    titles: list[str | tuple[str, str]] = ["Judge", ("n", "count")]
    for name in names:
        titles.append((f"{name}: precision %", "percent"))
        titles += [("coverage %", "percent"), ("against raw", "points")] * (name != raw)
    rows = []
    for judge in judges:
        cells: list[Cell] = [judge.judge, judge.decided]
        found = {row.column or row.name: row.cells[OVERALL] for row in judge.rows}
        for name in names:
            cell = found.get(name)
            cells.append(NO_SELECTION if cell is None else cell.precision)
            if name != raw:
                cells += [NO_SELECTION] * 2 if cell is None else [cell.coverage, cell.against_raw]
        rows.append(tuple(cells))
    caption = "One line a judge, all categories together"
    return Table(caption=caption, columns=columns(*titles), rows=tuple(rows), notes=(BY_QUESTION,))


def _swap_section(findings: BenchFindings) -> Section:
    rows = [ShareRow(name=one.judge, counts=counts) for one in findings.judges if sum(counts := _swaps(one))]
    title = "Swap consistency"
    if not rows:
        return Section(title=title, paragraphs=("No pair was judged in both orders.",))
    caption = "What happens when the responses change places"
    if len(rows) > 40:
        titles = columns("Judge", *((part, "count") for part in SWAP_PARTS))
        cells = tuple((row.name, *row.counts) for row in rows)
        return Section(title=title, blocks=(Table(caption=caption, columns=titles, rows=cells),))
    description = (
        "Pairs judged in both orders, by whether the two verdicts are right, wrong, different or open (a tie or no "
        "verdict)."
    )
    chart = ShareChart(title=caption, description=description, parts=SWAP_PARTS, rows=tuple(rows))
    return Section(title=title, blocks=(chart,))


def _swaps(judge: JudgeFindings) -> tuple[int, ...]:
    return tuple(getattr(judge.swap, name) for name in SwapCounts.model_fields)


def _share(found: Proportion | Absent) -> Cell:
    return found if isinstance(found, Absent) else found.share
