"""Reviews, for people: a sheet in the terminal, and counts."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime

from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from metajudge.cli.options import advised
from metajudge.reviewables.sheet import Passage, Said, Section, Sheet, Table
from metajudge.reviews.agreement import ReviewerAgreement
from metajudge.reviews.review import ReviewStatus
from metajudge.stats.agreement import Agreement, landis_koch
from metajudge.stats.interval_estimate import CONFIDENCE

NARROWEST = 40
"""Characters of a column, below which answers are printed one below the other."""
_Say = Callable[[str], None]


def print_sheet(sheet: Sheet, *, before: Sheet | None = None, keys: bool = False) -> None:
    """Prints a sheet; judged texts are printed unchanged.

    Args:
        before: the sheet printed before, of the same item; texts that are the same are not printed again.
        keys: whether keys are pressed to decide; else the commands are printed.
    """
    console = Console(highlight=False)

    def say(text: str = "") -> None:
        console.print(text, markup=False, soft_wrap=True)

    category = f", {sheet.category}" if sheet.category else ""
    blind = ", blind" if sheet.blind else f", {sheet.heading}"
    say(f"Review {sheet.review_id} ({sheet.status}){category}{blind}")
    say(sheet.why)
    if sheet.missing:
        say(f"\n{sheet.missing}")
    shown = () if before is None else before.passages
    for group in _together(sheet.passages):
        new = [one for one in group if one not in shown]
        if not new:
            say("\n" + "\n".join(f"{one.title}: as above" for one in group))
        elif len(new) > 1 and console.width >= len(new) * NARROWEST + len(new) - 1:
            _side_by_side(console, new)
        else:
            for one in new:
                say(f"\n{_title(one)}\n{one.text}")
    for section in sheet.machine:
        _print_section(say, section)
    if sheet.tips:
        say("\nWhat tips the decision\n" + "\n".join(f"  {one}" for one in sheet.tips))
    if sheet.people:
        say("\nPeople")
        for said in sheet.people:
            say(f"  {_said(said)}")
    say("")
    for line in _keys(sheet) if keys else _commands(sheet):
        say(line)


def _together(passages: tuple[Passage, ...]) -> Iterator[tuple[Passage, ...]]:
    """Responses as one group, everything else alone."""
    responses = tuple(one for one in passages if one.kind == "response")
    for one in passages:
        if one.kind != "response":
            yield (one,)
        elif one is responses[0]:
            yield responses


def _title(one: Passage) -> str:
    extra = ", ".join(part for part in (one.name, one.note) if part)
    return f"{one.title}{f' ({extra})' if extra else ''}{' *' if one.picked else ''}"


def _side_by_side(console: Console, passages: list[Passage]) -> None:
    grid = Grid(box=None, padding=(0, 1), expand=True, show_edge=False)
    for one in passages:
        grid.add_column(Text(_title(one)), ratio=1, overflow="fold")
    grid.add_row(*(Text(one.text) for one in passages))
    console.print()
    console.print(grid)


def _print_section(say: _Say, section: Section) -> None:
    say(f"\n{section.title}")
    for fact in section.facts:
        say(f"  {fact.name}: {fact.value}")
    for table in section.tables:
        _print_table(say, table)
    for text in section.texts:
        say(f"  {text.title}")
        say("\n".join(f"    {line}" for line in text.text.split("\n")))


def _print_table(say: _Say, table: Table) -> None:
    """One row a block: cells hold sentences, which no column of a terminal does."""
    say(f"  {table.caption}")
    for row in table.rows:
        first, *rest = row
        cells = [
            f"{name}: {cell}" for name, cell in zip(table.columns[1:], rest, strict=True) if cell and "\n" not in cell
        ]
        say(f"    {first}{'; ' if cells else ''}{'; '.join(cells)}")
        for name, cell in zip(table.columns[1:], rest, strict=True):
            if "\n" in cell:
                say(f"      {name}:")
                say("\n".join(f"        {line}" for line in cell.split("\n")))


def _said(one: Said) -> str:
    marks = [
        word for word, is_so in (("blind", one.blind), ("in bulk", one.bulk), ("replaced", not one.current)) if is_so
    ]
    extra = f" ({', '.join(marks)})" if marks else ""
    reason = f": {one.reason}" if one.reason else ""
    at = datetime.fromtimestamp(one.at, UTC)
    return f"{at:%Y-%m-%d %H:%M} UTC {one.what} by {one.who}{extra}: {one.words}{reason}"


def _keys(sheet: Sheet) -> Iterator[str]:
    for one in sheet.choices:
        if one.key:
            yield f"  {one.key}  {one.words}{f': {one.help}' if one.help else ''}"
    if sheet.hint:
        yield f"  v  write: {sheet.hint}"
    yield "  s  skip   u  undo the last decision   q  quit"


def _commands(sheet: Sheet) -> Iterator[str]:
    """Commands that can be copied as they stand, once a name is in the place of NAME."""
    command = advised("review", "decide", sheet.review_id, "--reviewer", sheet.reviewer or "NAME")
    lines = []
    if sheet.hint:
        example = next((one.value for one in sheet.choices if one.field == "verdict" and "much" not in one.words), None)
        lines.append(f'{command} --verdict "{example or sheet.asks.upper()}"')
    blind = " --blind" if sheet.blind else ""
    for one in sheet.choices:
        if one.field == "outcome":
            scores = " --score CRITERION=NUMBER" if one.value == "modify" else ""
            lines.append(f"{command} --outcome {one.value}{scores}{blind}")
    for place, line in enumerate(lines):
        yield f"{'Decide: ' if place == 0 else 'Or:     '}{line}"
        if place == 0 and sheet.hint:
            yield f"        your own: {sheet.hint}"


def print_stats(counts: dict[ReviewStatus, int], found: ReviewerAgreement) -> None:
    """Prints counts and agreement."""
    console = Console(highlight=False)
    for status, count in counts.items():
        console.print(f"{status.value:<9}{count:>7}", markup=False)
    for name, outcomes in found.by_reviewer.items():
        given = ", ".join(f"{count} {outcome}" for outcome, count in outcomes.items())
        console.print(f"{name}: {given}", markup=False)
    console.print(f"Reviews with several decisions: {found.shared}, unanimous: {found.unanimous}", markup=False)
    if found.alpha is not None:
        console.print(f"Krippendorff's alpha: {_agreement(found.alpha)}", markup=False)
    for (first, second), kappa in found.pairs.items():
        console.print(f"Cohen's kappa {first}, {second}: {_agreement(kappa)}", markup=False)


def agreement_data(found: ReviewerAgreement) -> dict[str, object]:
    """The same as plain data."""

    def data(one: Agreement | None) -> dict[str, object] | None:
        if one is None:
            return None
        low, high = one.ends or (None, None)
        kept = {"n": one.n, "confidence": CONFIDENCE, "method": one.method, "reason": one.reason}
        return {"estimate": one.estimate, "low": low, "high": high, **kept}

    return {
        "shared": found.shared,
        "unanimous": found.unanimous,
        "alpha": data(found.alpha),
        "kappa": [{"first": a, "second": b, **(data(one) or {})} for (a, b), one in found.pairs.items()],
        "by_reviewer": found.by_reviewer,
    }


def _agreement(one: Agreement) -> str:
    if one.estimate is None:
        return f"undefined ({one.reason}), n {one.n}"
    interval = ""
    if one.bounded is not None:
        interval = f", {100 * CONFIDENCE:g} % interval {one.bounded.low:.2f} to {one.bounded.high:.2f}"
    return f"{one.estimate:.2f} ({landis_koch(one.estimate)}{interval}), n {one.n}"
