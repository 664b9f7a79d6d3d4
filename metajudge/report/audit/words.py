"""Figures, checks and holdings of an audit in words, shared by all of its formats."""

from collections.abc import Iterator, Sequence
from typing import Final

from metajudge.audit.card import Alternative, AuditDocument, AuditedJudge, Check, CorrectedRate, Figure, Holdings, Kappa
from metajudge.evidence.dependence import JudgesTogether, sentences
from metajudge.evidence.local_dependence import FEWEST_QUESTIONS
from metajudge.report.document import Absent, Cell, Kind, Measured
from metajudge.report.tables import one_line, short_figure
from metajudge.types.figure import Ends
from metajudge.types.verdict import VerdictKind

KINDS: Final[dict[VerdictKind, tuple[str, str]]] = {
    "pairwise": ("pair", "pairs"),
    "ranking": ("ranking", "rankings"),
    "grade": ("grade", "grades"),
    "category": ("category", "categories"),
}
"""One and several verdicts of a kind, by what was judged."""

STATUS: Final = {
    "finding": "FINDING",
    "none": "no finding",
    "underpowered": "underpowered",
    "not_estimable": "no estimate",
    "error": "error",
}

ORDER: Final = ("finding", "error", "underpowered", "not_estimable", "none")
"""Of checks, by how they ended."""

_UNITS: Final[dict[Kind, str]] = {"percent": " %", "points": " points"}
_TITLES: Final = {
    "accuracy": "Right by people's labels",
    "kappa": "Agreement beyond chance",
    "ceiling_gap": "Against the human ceiling",
    "peer_agreement": "Agrees with the other judges' majority",
    "flips": "Answers differ between the two orders",
    "first_place": "Of these, prefers what is shown first",
    "repeats": "Same answer when asked again",
    "prompt_agreement": "Same answer under another prompt",
}


def figure_title(name: str, judge: AuditedJudge) -> str:
    """What a figure of a judge is called."""
    figure = judge.figures[name]
    if isinstance(figure, Kappa) or name in _TITLES:
        return figure.name if isinstance(figure, Kappa) else _TITLES[name]
    title = "Share that passes" if _is_share(figure) else "Mean grade"
    return f"{title}, by the labels" if name == "label_mean" else title


def _is_share(figure: Figure) -> bool:
    return not figure.method.startswith("mean grade")


def figure_kind(name: str, judge: AuditedJudge) -> Kind:
    """How a figure of a judge is written."""
    if name == "kappa" or (name in ("mean", "label_mean") and not _is_share(judge.figures[name])):
        return "number"
    return "points" if name == "ceiling_gap" else "percent"


def cell(figure: Figure | None, absent: str = "cannot be estimated from these data") -> Cell:
    """A figure as a cell of a table; without an interval the figure alone."""
    if figure is None:
        return Absent(absent=absent)
    if figure.interval is None:
        return figure.estimate
    return Measured(value=figure.estimate, low=figure.interval[0], high=figure.interval[1])


def value_and_interval(figure: Figure, kind: Kind) -> str:
    """``81.3 % (75.1 to 86.2)``."""
    return _with_ends(figure.estimate, figure.interval, kind) + ("" if figure.interval else " (no interval)")


def _with_ends(value: float, interval: Ends | None, kind: Kind) -> str:
    """A figure with its unit, and its interval without."""
    ends = "" if interval is None else f" ({' to '.join(short_figure(end, kind) for end in interval)})"
    return f"{short_figure(value, kind)}{_UNITS.get(kind, '')}{ends}"


def rate_kind(rate: CorrectedRate) -> Kind:
    """How a rate is written: a mean grade as a number, else as per cent."""
    return "number" if rate.of.startswith("mean") else "percent"


def by_kind(rates: Sequence[CorrectedRate]) -> Iterator[tuple[Kind, list[CorrectedRate]]]:
    """Shares and mean grades apart, as far as there are any."""
    kinds: tuple[Kind, ...] = ("percent", "number")
    parts = ((kind, [one for one in rates if rate_kind(one) == kind]) for kind in kinds)
    yield from ((kind, some) for kind, some in parts if some)


def effect(check: Check) -> str:
    """The effect with its interval, and n; or that there is too little to estimate it.

    A share is written as per cent, a difference as points, hundredths of its unit.
    """
    if check.estimate is None:
        return f"not estimated (n {check.n:,})"
    kind: Kind = "percent" if check.name == "copy" else "points"
    return f"{_with_ends(check.estimate, check.interval, kind)}, n {check.n:,}"


def by_cost(checks: Sequence[Check]) -> list[Check]:
    """Checks by how they ended, the costliest of those first."""
    return sorted(checks, key=lambda one: (ORDER.index(one.status), -(one.cost or 0.0)))


def alternative(one: Alternative) -> str:
    """The alternative-annotator test in a sentence."""
    shares = ", ".join(f"{share:.2f} at epsilon {epsilon}" for epsilon, share in one.winning.items())
    return (
        f"Alternative-annotator test against {counted(one.annotators, 'person', 'people')}: as near to the others as "
        f"the person left out in {value_and_interval(one.advantage, 'percent')} (rho); winning rate {shares} (omega; "
        "from 0.50 on it may stand in for one of them)"
    )


def untested(check: Check) -> str:
    """Why a check has no figure, in short."""
    return "too few observations" if check.status == "underpowered" else STATUS[check.status]


def needed(check: Check) -> str:
    """How many labels or observations would show an effect that matters."""
    enough = enough_for(check, "show")
    return f"too few observations, n {check.n:,}" if enough is None else f"about {enough} points"


def enough_for(check: Check, show: str) -> str | None:
    """So many labels or observations ``show`` an effect that matters; None where that is not known."""
    if check.labels_needed is None:
        return None
    what = "labels" if check.reference == "labels" else "observations"
    return f"{check.labels_needed:,} {what} {show} {100 * check.relevant_effect:.1f}"


def plain_name(name: str) -> str:
    """The name of a check or an analysis as words."""
    return name.replace("_", " ")


def started(text: str) -> str:
    """The text with a capital letter."""
    return text[:1].upper() + text[1:]


def counted(number: int, one: str, several: str | None = None) -> str:
    """``1 judge``, ``3 judges``."""
    return f"{number:,} {one if number == 1 else several or one + 's'}"


def listed(names: Sequence[str], most: int = 6) -> str:
    """Names separated by commas, cut after some."""
    shown = ", ".join(one_line(name) for name in names[:most])
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")


def headline(found: AuditDocument) -> str:
    """What was audited, in a sentence."""
    holds = found.holdings
    verdicts = holds.judgments - holds.no_verdict
    text = (
        f"{counted(verdicts, 'verdict')} of {counted(len(holds.judges), 'judge')} on "
        f"{counted(holds.questions, 'question')}"
    )
    if not holds.labelled_items:
        return f"{text}, without labels"
    return f"{text}, {counted(holds.labelled_items, 'item')} with a label"


def summary(found: AuditDocument) -> str:
    """How the checks ended, in a sentence."""
    checks = [check for judge in found.judges for check in judge.checks]
    counts = {status: sum(check.status == status for check in checks) for status in STATUS}
    if not checks:
        return "No check is possible with these data."
    return (
        f"{counted(len(checks), 'check')}: {counted(counts['finding'], 'finding')}, "
        f"{counts['none']} without a finding, {counts['underpowered']} underpowered"
        + "".join(f", {counts[status]} {STATUS[status]}" for status in ("not_estimable", "error") if counts[status])
        + "."
    )


def holdings_in_words(holds: Holdings) -> list[tuple[str, str]]:
    """What the file holds: name and text, line by line."""
    lines = [("judges", listed([f"{name} {count:,}" for name, count in holds.judges.items()]))]
    for kind, one in holds.kinds.items():
        values = f": {listed(one.values, 8)}" if one.values else ""
        default = " (the default; --right changes it)" if one.right_default else ""
        lines.append((KINDS[kind][1], f"{one.verdicts:,}, {one.labelled:,} comparable with a label{values}"))
        lines.append(("right", f"{one.right}{default}"))
    times = f"{(holds.first_time or '')[:10]} to {(holds.last_time or '')[:10]}, of {holds.with_time:,} judgments"
    both_times = holds.first_time is not None and holds.last_time is not None
    told: tuple[tuple[str, object, str], ...] = (
        ("no verdict", holds.no_verdict, counted(holds.no_verdict, "judgment")),
        ("labels", True, _labels(holds)),
        ("orders", holds.both_orders, f"{counted(holds.both_orders, 'pair')} judged in both orders"),
        ("repeats", holds.repeats, counted(holds.repeats, "repeated judgment")),
        ("models", holds.with_models, f"named for {counted(holds.with_models, 'item')}"),
        ("categories", holds.with_categories, f"of {counted(holds.with_categories, 'item')}"),
        ("times", both_times, times),
        *(("versions", True, f"of {one_line(name)}: {listed(own)}") for name, own in holds.versions.items()),
        ("left out", holds.duplicates, f"{counted(holds.duplicates, 'repeated record')} (the same id)"),
    )
    return [*lines, *((name, text) for name, there, text in told if there)]


def _labels(holds: Holdings) -> str:
    if not holds.labelled_items:
        return "none"
    text = f"for {counted(holds.labelled_items, 'item')}"
    if holds.labels:
        people = f" by {counted(holds.annotators, 'person', 'people')}" if holds.annotators else ""
        text += f" ({counted(holds.labels, 'answer')}{people}; {holds.several_labels:,} by two or more people)"
    if holds.undecided_labels:
        text += f"; {counted(holds.undecided_labels, 'item')} without a majority"
    return text


def independence(groups: Sequence[JudgesTogether]) -> Iterator[str]:
    """Whether the judges are independent of one another, in sentences."""
    for group in groups:
        told = sentences(group)
        if not told and group.tested:
            told = [
                f"None of {counted(group.tested, 'pair')} of judges follow each other ({group.answers}, "
                f"{group.questions:,} questions)."
            ]
        elif not told:
            told = [
                f"It cannot be tested ({group.answers}): that takes four judges, {FEWEST_QUESTIONS} questions that "
                "they share, and answers that vary."
            ]
        yield from told
