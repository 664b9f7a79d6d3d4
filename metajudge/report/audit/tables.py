"""Tables of an audit that several formats show."""

from collections.abc import Sequence

from metajudge.audit.card import AuditDocument, AuditedJudge, Ceiling, Check, CorrectedRate, Disagreement
from metajudge.report.audit import words
from metajudge.report.document import Absent, Cell, Column, Kind, Table

NO_LABELS = "no verdict of this judge can be compared with a label"


def columns(*given: str | tuple[str, Kind] | tuple[str, Kind, str]) -> tuple[Column, ...]:
    """Columns by title, with a kind and a note where they are given."""
    return tuple(_column(one) if isinstance(one, str) else _column(*one) for one in given)


def _column(title: str, kind: Kind = "text", note: str = "") -> Column:
    return Column(title=title, kind=kind, note=note)


def comparison(found: AuditDocument) -> Table:
    """One row a judge: how often it is right, beside people, and what its checks found."""
    titles = columns(
        "Judge",
        ("Verdicts", "count"),
        ("Labelled", "count"),
        ("Right %", "percent", "share of labelled verdicts that are right, with its 95 % interval"),
        ("Kappa", "number", "agreement beyond chance; the judge's section names the statistic"),
        ("Like its peers %", "percent", "equal to the majority of the other judges"),
        "Findings",
    )
    rows = [_compared(judge, found) for judge in found.judges]
    rows += [_people(one) for one in found.ceilings]
    return Table(caption="The judges side by side", columns=titles, rows=tuple(rows))


def _people(ceiling: Ceiling) -> tuple[Cell, ...]:
    """People beside the judges: how often one person is right by the majority of the others."""
    none = Absent(absent="people are the reference")
    agreement, name = ceiling.agreement, f"people, {words.KINDS[ceiling.kind][1]} (human ceiling)"
    return (name, agreement.n, agreement.n, words.cell(agreement), none, none, "")


def _compared(judge: AuditedJudge, found: AuditDocument) -> tuple[Cell, ...]:
    figures = judge.figures
    return (
        name_of(judge, found),
        judge.n,
        judge.n_labelled,
        words.cell(figures.get("accuracy"), NO_LABELS),
        words.cell(figures.get("kappa"), NO_LABELS if not judge.n_labelled else "kappa cannot be computed"),
        words.cell(figures.get("peer_agreement"), "too few other judges judged the same items"),
        ", ".join(one.title for one in judge.findings) or "none",
    )


def name_of(judge: AuditedJudge, found: AuditDocument) -> str:
    """The judge's name, with the kind of its verdicts where judges gave several kinds."""
    several = len({one.kind for one in found.judges}) > 1
    return f"{judge.judge} ({words.KINDS[judge.kind][1]})" if several else judge.judge


def checks(judge: AuditedJudge) -> Table:
    """Every check of a judge: how it ended, its effect, and what it says, its power included."""
    titles = columns(
        "Check",
        "Result",
        "Effect (95 %)",
        ("p, corrected", "number", "after Holm's correction over the checks of this judge"),
        "What it says",
    )
    rows = tuple(_check(one) for one in judge.checks)
    return Table(caption=f"Checks of {judge.judge}", columns=titles, rows=rows)


def _check(one: Check) -> tuple[Cell, ...]:
    adjusted: Cell = Absent(absent=f"not tested: {words.untested(one)}") if one.adjusted_p is None else one.adjusted_p
    return (one.title, words.STATUS[one.status], f"{words.effect(one)}: {one.unit}", adjusted, one.sentence)


def rates(given: Sequence[CorrectedRate], caption: str) -> list[Table]:
    """Naive and corrected rates side by side: a table of shares and one of mean grades, as far as there are any."""
    return [_rates(found, kind, caption) for kind, found in words.by_kind(given)]


def _rates(given: Sequence[CorrectedRate], kind: Kind, caption: str) -> Table:
    unit = " %" if kind == "percent" else ""
    titles = columns(
        "Rate",
        "By judge",
        ("Items", "count"),
        ("Labelled", "count"),
        (f"Naive{unit}", kind, "by the verdicts alone, as if all were right"),
        (f"Labels alone{unit}", kind),
        (f"Prediction-powered{unit}", kind, "verdicts and labels together, without bias"),
        (f"Rogan-Gladen{unit}", kind, "corrected by sensitivity and specificity"),
    )
    rows = tuple(_rate(one) for one in given)
    notes = tuple(f"{one.of}, {one.judge}: {one.note}" for one in given if one.note and one.ppi and one.rogan_gladen)
    return Table(caption=caption, columns=titles, rows=rows, notes=notes)


def _rate(one: CorrectedRate) -> tuple[Cell, ...]:
    why = one.note or "no labels"
    estimates = (one.naive, one.labels_only, one.ppi, one.rogan_gladen)
    return (one.of, one.judge, one.n, one.n_labelled, *(words.cell(figure, why) for figure in estimates))


def supports(found: AuditDocument) -> Table:
    """What the file supports today, and what one more column would add."""
    titles = columns("Analysis", "Today", "What would add it")
    rows = tuple(
        (words.plain_name(one.analysis), f"{'yes' if one.possible else 'no'}: {one.why}", one.add)
        for one in found.supports
    )
    return Table(caption="What the file supports today", columns=titles, rows=rows)


def worst(given: Sequence[Disagreement]) -> Table:
    """Verdicts far from their labels, with their texts."""
    titles = columns("Judgment", "Verdict", "Label", "Question", "Response", "Rationale")
    rows = tuple(
        (one.judgment, plain(one.verdict), label(one), one.question, one.response, one.rationale) for one in given
    )
    return Table(caption="The worst disagreements with people", columns=titles, rows=rows)


def label(one: Disagreement) -> str:
    """The label of a verdict, and how many people gave it where they are several."""
    if one.people < 2:
        return plain(one.label)
    return f"{plain(one.label)} ({one.people} people{', all' if one.unanimous else ''})"


def plain(value: object) -> str:
    """A verdict or label in its JSON form as text."""
    if isinstance(value, bool):
        return "pass" if value else "fail"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, list | tuple):
        return " > ".join(" = ".join(map(str, one)) if isinstance(one, list | tuple) else str(one) for one in value)
    return str(value)
