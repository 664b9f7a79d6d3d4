"""Tables of an audit that several formats show."""

from collections.abc import Sequence

from metajudge.audit.card import AuditDocument, AuditedJudge, Ceiling, Check, CorrectedRate, Disagreement, Figure
from metajudge.report.audit import words
from metajudge.report.document import Absent, Cell, Kind, Table
from metajudge.report.tables import columns, table_with

NO_LABELS = "no verdict of this judge can be compared with a label"


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

    def adjusted(one: Check) -> Cell:
        return Absent(absent=f"not tested: {words.untested(one)}") if one.adjusted_p is None else one.adjusted_p

    return table_with(
        f"Checks of {judge.judge}",
        words.by_cost(judge.checks),
        ("Check", lambda one: one.title),
        ("Result", lambda one: words.STATUS[one.status]),
        ("Effect (95 %)", lambda one: f"{words.effect(one)}: {one.unit}"),
        (("p, corrected", "number", "after Holm's correction over the checks of this judge"), adjusted),
        ("What it says", lambda one: one.sentence),
    )


def rates(given: Sequence[CorrectedRate], caption: str) -> list[Table]:
    """Naive and corrected rates side by side: a table of shares and one of mean grades, as far as there are any."""
    return [_rates(found, kind, caption) for kind, found in words.by_kind(given)]


def _rates(given: Sequence[CorrectedRate], kind: Kind, caption: str) -> Table:
    unit = " %" if kind == "percent" else ""

    def cell(figure: Figure | None, one: CorrectedRate) -> Cell:
        return words.cell(figure, one.note or "no labels")

    naive, by_errors = "by the verdicts alone, as if all were right", "corrected by sensitivity and specificity"
    powered = "verdicts and labels together, without bias"
    return table_with(
        caption,
        given,
        ("Rate", lambda one: one.of),
        ("By judge", lambda one: one.judge),
        (("Items", "count"), lambda one: one.n),
        (("Labelled", "count"), lambda one: one.n_labelled),
        ((f"Naive{unit}", kind, naive), lambda one: cell(one.naive, one)),
        ((f"Labels alone{unit}", kind), lambda one: cell(one.labels_only, one)),
        ((f"Prediction-powered{unit}", kind, powered), lambda one: cell(one.ppi, one)),
        ((f"Rogan-Gladen{unit}", kind, by_errors), lambda one: cell(one.rogan_gladen, one)),
        notes=(f"{one.of}, {one.judge}: {one.note}" for one in given if one.note and one.ppi and one.rogan_gladen),
    )


def supports(found: AuditDocument) -> Table:
    """What the file supports today, and what one more column would add."""
    return table_with(
        "What the file supports today",
        found.supports,
        ("Analysis", lambda one: words.plain_name(one.analysis)),
        ("Today", lambda one: f"{'yes' if one.possible else 'no'}: {one.why}"),
        ("What would add it", lambda one: one.add),
    )


def worst(given: Sequence[Disagreement]) -> Table:
    """Verdicts far from their labels, with their texts."""
    return table_with(
        "The worst disagreements with people",
        given,
        ("Judgment", lambda one: one.judgment),
        ("Verdict", lambda one: plain(one.verdict)),
        ("Label", label),
        ("Question", lambda one: one.question),
        ("Response", lambda one: one.response),
        ("Rationale", lambda one: one.rationale),
    )


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
