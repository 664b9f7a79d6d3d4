"""``metajudge demo``: what vetting does, on the shipped sample, without a key, a network or a store."""

import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from metajudge.cli.options import echo_lines
from metajudge.evidence.counting import Counted
from metajudge.files.command_line import command
from metajudge.report.files import check_report_kind
from metajudge.vetting.demo import Demonstration, Vetted, demonstrate, save_sample

WIDTH = 80
BAR = 20


def demo(
    save: Annotated[
        str | None, typer.Option(help="Write the sample's judgments to this new file as well.", metavar="FILE")
    ] = None,
    report: Annotated[
        Path, typer.Option(help="Where the report of the sample is written.", metavar="FILE.html")
    ] = Path("demo-report.html"),
    no_report: Annotated[bool, typer.Option("--no-report", help="Write no report.")] = False,
) -> None:
    """Show what vetting does: 96 recorded judgments, vetted by free evidence. No key, no network.

    Writes a report to demo-report.html in the current folder; another file of that name is left alone.
    """
    if save is not None:
        save_sample(save)
    if not no_report:
        check_report_kind(report)
    echo_lines(_lines(demonstrate(), _blocks()))
    if not no_report:
        from metajudge.vetting.report.demo import write_demo_report  # after the text, which needs less

        why_not = write_demo_report(report)
        told = f"Report: {report} (open it in a browser)" if why_not is None else f"No report: {why_not}"
        echo_lines(["", told])
    echo_lines(_next(save))


def _blocks() -> str:
    """Characters for the full and the empty part of a bar that the output can encode."""
    try:
        "█░".encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return "#."
    return "█░"


def _lines(found: Demonstration, blocks: str) -> Iterator[str]:
    rows = found.rows
    every, discarded = rows["all"], rows["discarded"]
    yield f"{every.n} recorded judgments of {found.judges} fictional judges: which can be trusted?"
    yield "Free evidence alone: no model asked, no key, no network; labels only count."
    yield ""
    yield from (_bar(*row, blocks) for row in (("all verdicts", every), ("kept", rows["kept"])))
    silent, questions = rows["no_verdict"].n, every.share.clusters if every.share else 0
    yield f"  {'discarded':<12}  {discarded.n}, of which {discarded.right} are right; no verdict {silent}"
    yield f"  (precision with 95 % intervals by question, of which there are {questions})"
    yield ""
    yield from _example("Kept", found.example_kept)
    yield ""
    yield from _example("Discarded", found.example_discarded)
    yield ""
    fooled_by = ", ".join(sorted({one.judgment.item.id for one in found.fooled}))
    judges = len({one.judgment.judge for one in found.fooled})
    yield f"{'Fooled us':<10} {fooled_by}: {len(found.fooled)} verdicts kept although wrong"
    yield _indented(
        f"Why: {judges} judges share one fallacy, in both orders, so they support each other. Agreement cannot see an "
        "error that judges share; meta-judges, labels and a calibration can."
    )


def _bar(name: str, row: Counted, blocks: str) -> str:
    assert row.share is not None
    filled = round(BAR * row.share.estimate)
    bar = blocks[0] * filled + blocks[1] * (BAR - filled)
    low, high = 100 * row.share.low, 100 * row.share.high
    counts = f"{row.right} of {row.compared} right"
    return f"  {name:<12}  {counts:<14}  {100 * row.share.estimate:4.1f} %  {bar}  {low:.1f} to {high:.1f}"


def _example(name: str, one: Vetted) -> Iterator[str]:
    judgment = one.judgment
    outcome = "right" if one.right else "wrong"
    yield f"{name:<10} {judgment.id}: {judgment.verdict}, score {one.score:.1f} of 5, by the label {outcome}"
    yield _indented(f'"{judgment.item.question.splitlines()[0]}"')
    yield _indented("Why: " + "; ".join(one.because) + ".")


def _next(saved: str | None) -> Iterator[str]:
    name = saved or "sample.jsonl"
    yield ""
    yield "Your own verdicts: a spreadsheet, a log of another tool, JSON lines"
    yield "  metajudge import FILE"
    if saved is None:
        yield "This sample: as a file, vetted into a store, and what a model would cost"
        yield f"  {command('demo', '--save', name)}"
    else:
        yield "This sample: vetted into a store, and what a model would cost"
    yield f"  {command('vet', name, '--report', 'vet.html')}"
    yield f"  {command('vet', name, '--agent', 'openai:gpt-4o-mini', '--dry-run')}"


def _indented(text: str) -> str:
    return textwrap.fill(text, WIDTH, initial_indent=" " * 11, subsequent_indent=" " * 11)
