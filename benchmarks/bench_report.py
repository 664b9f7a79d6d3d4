"""The findings of a benchmark run as a report: tables, curves, bars."""

from collections.abc import Iterator, Sequence

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

from .columns import columns, without
from .findings import (
    OVERALL,
    Accuracy,
    BenchFindings,
    JudgeFindings,
    PrecisionCell,
    PrecisionRow,
    Proportion,
    SwapCounts,
)
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
OVERALL_COLUMNS = columns(
    *("Selection", ("n", "count"), ("Selected", "count"), ("Questions", "count"), ("Precision %", "percent")),
    *(("Coverage %", "percent"), ("Recall %", "percent"), ("Against raw", "points"), ("Against baseline", "points")),
    *("Threshold", ("Unscored", "count"), ("Calls", "count"), ("Cost", "usd")),
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
    return Report(
        title=f"{findings.title}: precision of judgments",
        summary=(
            f"{findings.citation}. Labels: {findings.label_rule}."
            + (f" Games: {findings.games_rule}." if findings.accuracy else ""),
            "Precision is the share of right ones among the judgments kept; coverage the share kept of all "
            f"{_counted(findings)}; recall the share of the right ones kept.",
            *rule_lines(findings),
            *findings.notes,
        ),
        sections=tuple(sections),
        provenance=findings.provenance,
    )


def _counted(findings: BenchFindings) -> str:
    if findings.grid is not None:
        return f"that are vetted ({findings.grid.population})"
    if findings.benchmark == "file":
        return "verdicts on an item with a label (a tie is wrong where the label names a winner)"
    return "decided ones (verdicts that name a winner on an item with a label)"


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
    rows = tuple(_overall_row(row, row.cells[category]) for row in judge.rows if category in row.cells)
    where = "all categories" if category == OVERALL else category
    asked = any(isinstance(row.calls, int) for row in judge.rows)
    notes = ((BY_QUESTION, DIFFERENCES, PAID) if asked else (BY_QUESTION, DIFFERENCES)) if category == OVERALL else ()
    return _without_empty_columns(
        Table(caption=f"{judge.judge}: {where}", columns=OVERALL_COLUMNS, rows=rows, notes=notes)
    )


def _without_empty_columns(table: Table) -> Table:
    """Leaves out columns without a single figure; where the table has notes, the reason becomes one."""
    gone = [place for place in range(len(table.columns)) if all(isinstance(row[place], Absent) for row in table.rows)]
    reasons = ((table.columns[place].title, table.rows[0][place]) for place in gone)
    why = [f"No column {title}: {cell.absent}." for title, cell in reasons if isinstance(cell, Absent) and table.notes]
    return without(table, gone).model_copy(update={"notes": (*table.notes, *why)})


def accuracy_table(findings: BenchFindings) -> Table:
    """Accuracy by the benchmark's own rule."""
    there = [c for c in (*findings.categories, OVERALL) if any(c in one.cells for one in findings.accuracy)]
    pairs = any(one.kind in ("pairwise", "pointwise") for one in findings.accuracy)
    alike = pairs or any(isinstance(one.agreeing, Proportion) for one in findings.accuracy)
    what, items = ("Games", "Pairs") if pairs else ("Verdicts", "Items")
    titles: list[str | tuple[str, str]] = [
        "Judge",
        "Kind",
        *["Responses by"] * pairs,
        *((name, "percent") for name in there),
    ]
    titles += [(f"{what} decided", "count"), (f"Right of decided {what.lower()} %", "percent")]
    titles += [(f"{items} judged alike", "count"), ("Right of these %", "percent")] * alike
    return Table(
        caption="Accuracy of judges in %",
        columns=columns(*titles),
        rows=tuple(_accuracy_row(one, there, pairs=pairs, alike=alike) for one in findings.accuracy),
        notes=(f"Rule: {findings.games_rule}.",),
    )


def measures_table(findings: BenchFindings) -> Table:
    """Further shares over all categories, as the benchmark's source prints them."""
    rows = []
    for one in findings.accuracy:
        cells = [one.measures.get(name, {}).get(OVERALL, NOT_MEASURED) for name in findings.measures]
        if any(isinstance(cell, Proportion) for cell in cells):
            rows.append((one.judge, *cells))
    titles = columns("Judge", *((name, "percent") for name in findings.measures))
    return Table(caption="Further shares in % (95 % interval by question)", columns=titles, rows=tuple(rows))


def terminal_tables(findings: BenchFindings) -> list[Table]:
    """What is worth a look at once; the report has everything."""
    compact = [one for one in findings.judges if one.compact]
    tables = []
    for judge in findings.judges:
        if judge not in compact:
            categories = [precision_table(judge, findings)] if len(judge.rows[0].cells) > 1 else []
            tables += [
                counts_table(f"{judge.judge}: right by the labels", judge.counts),
                *categories,
                overall_table(judge),
            ]
    return tables + ([compact_table(compact)] if compact else [])


def terminal_lines(findings: BenchFindings) -> Iterator[str]:
    """Accuracies, precisions and notes as text; of a grid its own tables alone."""
    yield from rule_lines(findings)
    if findings.grid is not None:
        yield from grid_lines(findings.grid, findings.categories)
        for note in note_lines(findings):
            yield from wrapped(note)
        return
    yield table_to_text(accuracy_table(findings))
    if any(one.measures for one in findings.accuracy) and findings.measures:
        yield "\n" + table_to_text(measures_table(findings))
    for table in terminal_tables(findings):
        yield "\n" + table_to_text(table)
    yield from note_lines(findings)


def rule_lines(findings: BenchFindings) -> list[str]:
    """What counts as right, where not every verdict is on a pair."""
    if set(findings.rules) <= {"pairwise"} and findings.rules.get("pairwise", "top1") == "top1":
        return []
    rules = "; ".join(f"{kind}: {rule}" for kind, rule in findings.rules.items())
    return [f"What counts as right: {rules}."]


def note_lines(findings: BenchFindings) -> Iterator[str]:
    """The notes on all judges and on each."""
    for note in findings.notes:
        yield f"Note: {note}."
    for judge in findings.judges:
        for note in judge.notes:
            yield f"Note on {judge.judge}: {note}"


def _accuracy_row(one: Accuracy, categories: Sequence[str], *, pairs: bool, alike: bool) -> tuple[Cell, ...]:
    cells: list[Cell] = [one.judge, one.kind]
    if pairs:
        cells.append(one.responses_by or "several models or unknown")
    cells += [one.cells[name].share if name in one.cells else NOT_ASKED for name in categories]
    cells += [one.decided, _share(one.precision)]
    if alike:
        cells += [one.agreeing.n if isinstance(one.agreeing, Proportion) else 0, _share(one.agreeing)]
    return tuple(cells)


def _overall_row(row: PrecisionRow, cell: PrecisionCell) -> tuple[Cell, ...]:
    limit = row.threshold
    threshold = "no threshold" if limit.value is None else f"{limit.value:.3g}, {limit.origin}"
    return (
        row.name,
        cell.n,
        cell.selected,
        cell.precision.questions if isinstance(cell.precision, Proportion) else 0,
        cell.precision,
        cell.coverage,
        cell.recall,
        cell.against_raw,
        cell.against_baseline,
        threshold,
        row.unscored,
        row.calls,
        row.cost_usd,
    )


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
    rows = []
    for judge in findings.judges:
        counts = _swaps(judge)
        if sum(counts):
            rows.append(ShareRow(name=judge.judge, counts=counts))
    if not rows:
        return Section(title="Swap consistency", paragraphs=("No pair was judged in both orders.",))
    chart = ShareChart(
        title="What happens when the responses change places",
        description="Pairs judged in both orders, by whether the two verdicts are right, wrong, different or open "
        "(a tie or no verdict).",
        parts=SWAP_PARTS,
        rows=tuple(rows),
    )
    blocks: tuple[Block, ...] = (chart,) if len(rows) <= 40 else (_swap_table(chart),)
    return Section(title="Swap consistency", blocks=blocks)


def _swaps(judge: JudgeFindings) -> tuple[int, ...]:
    return tuple(getattr(judge.swap, name) for name in SwapCounts.model_fields)


def _swap_table(chart: ShareChart) -> Table:
    titles = columns("Judge", *((part, "count") for part in chart.parts))
    return Table(caption=chart.title, columns=titles, rows=tuple((row.name, *row.counts) for row in chart.rows))


def _share(found: Proportion | Absent) -> Cell:
    return found if isinstance(found, Absent) else found.share
