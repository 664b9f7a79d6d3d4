"""An audit as lines of at most 80 characters for a terminal; commands are never broken."""

import textwrap
from collections.abc import Iterable, Iterator

from rich.text import Text

from metajudge.audit.card import AuditDocument, AuditedJudge, Check, CorrectedRate, Figure, Jury
from metajudge.report.audit import tables, words
from metajudge.report.document import Kind
from metajudge.report.svg import shortened
from metajudge.report.tables import one_line

WIDTH = 80
NAME = 12
JUDGE = 22
FIGURE = 39
MOST_JUDGES, MOST_FINDINGS = 8, 4
"""So many are on the first screen, which has 24 lines at most."""
MOST_WORST, FEW = 3, 3
"""So many disagreements are shown of each judge where there are few judges, else one."""
QUOTED = 140


TITLE = 28
CHECKS = (
    "Checks below: effects in points (hundredths) with 95 % intervals. A finding is significant at {level:g} % with "
    "all checks of its judge together. 'sees': the smallest effect that is found with a probability of 80 %."
)

STYLES = {
    "finding": "bold red",
    "error": "bold red",
    "underpowered": "yellow",
    "not_estimable": "yellow",
    "none": "green",
}


def lines(found: AuditDocument) -> Iterator[Text]:
    """What an audit prints: what each judge is worth, findings and the next command on one screen, then the details."""
    yield _bold(words.headline(found))
    yield _line(words.summary(found))
    yield from _side_by_side(found, most=MOST_JUDGES)
    yield from _costliest(found)
    step = next((one for one in found.next if one.command), None)
    if step is not None:
        yield _line("")
        reason = _cut(f"Next: {step.goal}: {words.plain_name(step.reason)}", 2 * WIDTH - 20)
        yield from _wrapped(reason, "", "  ", "bold", len("Next"))
        yield _line(f"  {step.command}")
    yield from _section("What the file holds")
    for name, text in words.holdings_in_words(found.holdings):
        yield from _wrapped(text, f"  {name:<{NAME}}  ", " " * (NAME + 4))
    yield from _section("What it supports today")
    yield from _supports(found)
    if len(found.judges) > MOST_JUDGES or len(found.ceilings) > 1:
        yield from _side_by_side(found)
    if any(judge.checks for judge in found.judges):
        yield _line("")
        yield from _wrapped(CHECKS.format(level=100 * found.level), "  ", "  ")
    for judge in found.judges:
        yield from _judge(found, judge)
    for jury in found.juries:
        yield from _jury(jury)
    yield from _told("Whether the judges are independent (without labels)", words.independence(found.independence))
    yield from _told("Notes", found.notices, "  - ")
    if found.next:
        yield from _section("Next")
    for one in found.next:
        yield from _wrapped(f"{words.started(one.goal)}: {words.plain_name(one.reason)}", "  ", "    ")
        if one.command:
            yield _line(f"    {one.command}", "bold", len(one.command) + 4)


def _told(title: str, texts: Iterable[str], first: str = "  ") -> Iterator[Text]:
    """A section of sentences, unless there are none."""
    for place, text in enumerate(texts):
        if place == 0:
            yield from _section(title)
        yield from _wrapped(text, first, "    ")


def _supports(found: AuditDocument) -> Iterator[Text]:
    possible = [one for one in found.supports if one.possible]
    for one in possible:
        yield from _wrapped(f"{words.plain_name(one.analysis)}: {one.why}", "  yes  ", "       ", "green", 5)
    for one in found.supports:
        if not one.possible:
            yield from _wrapped(f"{words.plain_name(one.analysis)}: {one.why}", "  no   ", "       ", "yellow", 5)
            if one.add:
                yield from _wrapped(one.add, "       + ", "         ")


def _side_by_side(found: AuditDocument, most: int | None = None) -> Iterator[Text]:
    """The judges by how often they are right, or like their peers; with ``most``, a table of so many rows at most."""
    if not found.judges:
        return
    labelled = any("accuracy" in judge.figures for judge in found.judges)
    share, by = ("right % (95 %)", "accuracy") if labelled else ("like peers % (95 %)", "peer_agreement")
    figures = [(judge, judge.figures.get(by)) for judge in found.judges]
    if most is not None:
        figures.sort(key=lambda one: 1.0 if one[1] is None else -one[1].estimate)
    left = 0 if most is None or len(figures) <= most else len(figures) - most + 1
    yield from _section(f"{'Judges':<{JUDGE + 2}} {'verdicts':>8} {share:>21} {'n':>6} {'kappa':>5}  findings")
    for judge, figure in figures[: len(figures) - left]:
        kappa = "-" if judge.kappa is None else f"{judge.kappa:.2f}"
        name = shortened(one_line(tables.name_of(judge, found)), JUDGE)
        yield _line(f"  {name:<{JUDGE}} {judge.n:>8,} {_measured(figure)} {kappa:>5}  {len(judge.findings)}")
    if left:
        yield _line(f"  and {left} more, in the table below")
    for ceiling in found.ceilings if most is None or len(found.ceilings) == 1 else ():
        name = f"people ({words.KINDS[ceiling.kind][1]})" if len(found.ceilings) > 1 else "people (human ceiling)"
        yield _line(f"  {name:<{JUDGE}} {ceiling.agreement.n:>8,} {_measured(ceiling.agreement)}")


def _measured(figure: Figure | None) -> str:
    """A share with its interval and n, as columns."""
    if figure is None:
        return f"{'-':>21} {'-':>6}"
    text = words.value_and_interval(figure, "percent").replace(" %", "")
    return f"{text:>21} {figure.n:>6,}"


def _costliest(found: AuditDocument) -> Iterator[Text]:
    """The findings that cost most, one line each."""
    if not found.findings:
        return
    shown = found.findings[:MOST_FINDINGS]
    count = f"{len(shown)} of {len(found.findings)}"
    yield from _section(f"Findings, the costliest first ({count}): % of verdicts likely wrong by it")
    for judge, check in shown:
        cost = "-" if check.cost is None else f"{100 * check.cost:.1f}"
        name = shortened(one_line(tables.name_of(judge, found)), JUDGE - 6)
        yield _line(f"  {cost:>5}  {name:<{JUDGE - 6}} {shortened(check.title, TITLE):<{TITLE}} {_effect(check):>25}")


def _effect(check: Check) -> str:
    """The effect with its interval, without units and n; empty where it is not estimated."""
    return words.effect(check).rpartition(", n ")[0].replace(" points", "").replace(" %", "")


def _judge(found: AuditDocument, judge: AuditedJudge) -> Iterator[Text]:
    yield from _section(f"Judge {one_line(tables.name_of(judge, found))}")
    for name, figure in judge.figures.items():
        kind = words.figure_kind(name, judge)
        text = f"{words.value_and_interval(figure, kind)}, n {figure.n:,}"
        yield from _wrapped(text, f"  {words.figure_title(name, judge):<{FIGURE}} ", " " * (FIGURE + 3))
    if judge.alternative is not None:
        yield from _wrapped(words.alternative(judge.alternative), "  ", "      ")
    yield from _classes(judge)
    if len(found.judges) <= FEW and len(judge.rates) < FEW:
        for rate in judge.rates:
            yield from _rate(rate)
    else:
        yield from _rates(judge.rates)
    if judge.checks:
        yield _line("")
    for check in words.by_cost(judge.checks):
        yield from _check(check)
    yield from _worst(judge, MOST_WORST if len(found.judges) <= FEW else 1)


def _classes(judge: AuditedJudge) -> Iterator[Text]:
    for one in judge.classes if judge.kind in ("grade", "category") else ():
        parts = [
            f"{name} {words.value_and_interval(figure, 'percent')}"
            for name, figure in (("sensitivity", one.sensitivity), ("specificity", one.specificity))
            if figure is not None
        ]
        if parts:
            yield from _wrapped(f"Label {one_line(one.value)} ({one.n_labelled:,}): {', '.join(parts)}", "  ", "      ")


def _rate(rate: CorrectedRate) -> Iterator[Text]:
    yield _line("")
    yield from _wrapped(
        f"{one_line(rate.of)}, in {rate.n:,} items of which {rate.n_labelled:,} have labels", "  ", "  "
    )
    given = (
        ("naive (verdicts as if right)", rate.naive),
        ("corrected, prediction-powered", rate.ppi),
        ("corrected, Rogan-Gladen", rate.rogan_gladen),
        ("labels alone", rate.labels_only),
    )
    kind = words.rate_kind(rate)
    for title, figure in given:
        if figure is not None:
            yield _line(f"    {title:<38} {words.value_and_interval(figure, kind)}")
    if rate.note:
        yield from _wrapped(rate.note, "    ", "    ")


def _rates(rates: tuple[CorrectedRate, ...]) -> Iterator[Text]:
    """One line a rate; what the labels alone give is in the report."""
    if not rates:
        return
    yield _line("")
    yield _line(f"  {'Rate (95 %)':<24} {'naive':>17} {'predict.-powered':>17} {'Rogan-Gladen':>17}")
    for rate in rates:
        kind = words.rate_kind(rate)
        given = [_short(figure, kind) for figure in (rate.naive, rate.ppi, rate.rogan_gladen)]
        yield _line(f"  {shortened(one_line(rate.of), 24):<24} {given[0]:>17} {given[1]:>17} {given[2]:>17}")


def _short(figure: Figure | None, kind: Kind) -> str:
    if figure is None:
        return "-"
    text = words.value_and_interval(figure, kind).replace(" %", "").replace(" to ", "-")
    return text.replace(" (no interval)", "")


def _check(check: Check) -> Iterator[Text]:
    """One line with the effect and the smallest effect that would show; more where that says something."""
    status = words.STATUS[check.status]
    sees = "" if check.smallest_effect is None else f"  sees {100 * check.smallest_effect:>5.1f}"
    effect = _effect(check) or f"not estimated, n {check.n:,}"
    text = f"  {status:<12}  {shortened(one_line(check.title), TITLE):<{TITLE}} {effect:>23}{sees}"
    yield _line(text.rstrip(), STYLES[check.status], 2 + len(status))
    if check.unsure or check.status in ("finding", "error", "not_estimable"):
        yield from _wrapped(check.sentence, " " * 16, " " * 16)
    elif check.status == "underpowered" and (enough := words.enough_for(check, "would see")):
        yield _line(f"{'':16}{check.n:,} here; about {enough}")


def _worst(judge: AuditedJudge, most: int) -> Iterator[Text]:
    """The worst verdicts, one for each item."""
    if not judge.worst:
        return
    yield _line("")
    yield _line("  Worst disagreements with people")
    items = {one.item: one for one in reversed(judge.worst)}
    for one in [one for one in judge.worst if items[one.item] is one][:most]:
        head = f"{one.judgment}: verdict {tables.plain(one.verdict)}, label {tables.label(one)}"
        yield from _wrapped(one_line(head), "    ", "      ")
        for name in ("question", "response", "rationale"):
            if text := one_line(getattr(one, name)):
                yield from _wrapped(_cut(text, QUOTED), f"      {name:<10} ", " " * 17)
    yield _line("    (more in the report of --out DIR)")


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 3].rstrip() + "..."


def _jury(jury: Jury) -> Iterator[Text]:
    yield from _section(f"What the jury is worth ({words.KINDS[jury.kind][1]})")
    if jury.effective is not None:
        worth = words.value_and_interval(jury.effective, "number")
        yield _line(f"  Effective number of judges: {worth} of {len(jury.judges)}")
    if jury.sentence:
        yield from _wrapped(jury.sentence, "  ", "  ")
    for judge, why in jury.drop:
        yield from _wrapped(f"{one_line(judge)} can be dropped: {why}", "  ", "    ")
    if jury.cheapest is not None:
        accuracy = words.value_and_interval(jury.cheapest.accuracy, "percent")
        text = f"Cheapest panel that is as good as all: {words.listed(jury.cheapest.judges)}, right {accuracy}"
        yield from _wrapped(text, "  ", "    ")


def _section(title: str) -> Iterator[Text]:
    yield _line("")
    yield _bold(title)


def _bold(text: str) -> Text:
    return _line(text, "bold", len(text))


def _line(text: str, style: str = "", styled: int = 0) -> Text:
    """One line; ``style`` is how a terminal shows its first ``styled`` characters."""
    made = Text(text)
    if styled:
        made.stylize(style, 0, styled)
    return made


def _wrapped(text: str, first: str, rest: str, style: str = "", styled: int = 0) -> Iterator[Text]:
    broken = textwrap.wrap(
        one_line(text),
        WIDTH,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )
    for number, line in enumerate(broken):
        yield _line(line, "" if number else style, 0 if number else styled)
