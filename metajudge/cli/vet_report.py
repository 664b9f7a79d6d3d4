"""The summary of a vetting run, for people."""

import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
import typer
from rich.console import Console
from rich.table import Table

from metajudge.evidence.counting import Counts
from metajudge.files.command_line import store_words
from metajudge.panels.config import PanelConfig
from metajudge.vetting.bars import Reached
from metajudge.vetting.explanation import filled
from metajudge.vetting.sentences import (
    calibration_lines,
    cost_lines,
    decision_lines,
    dependence_lines,
    evidence_lines,
    form_lines,
    label_lines,
    next_lines,
    vetted_by,
    without_guarantee,
    without_score,
)
from metajudge.vetting.summary import VetSummary

if TYPE_CHECKING:
    from metajudge.vetting.picture import Picture


def print_report(
    summary: VetSummary,
    labels: Counts,
    panel: PanelConfig,
    rejects: Path,
    words: Mapping[str, str] | None = None,
    reports: Sequence[Path] = (),
) -> None:
    """Prints counts, accuracy by the labels, calls and cost, and the next step."""
    console = Console(highlight=False, emoji=False)
    console.print(vetted_by(summary, panel), soft_wrap=True, markup=False)
    table = Table(box=None)
    table.add_column("")
    table.add_column("judgments", justify="right")
    table.add_column("", overflow="fold")
    for row in _counts(summary):
        table.add_row(*row)
    console.print(table)
    for line in (
        *_findings(summary, labels, words or {}),
        *_where(summary, rejects, reports, words or {}),
        *(filled(line, words or {}) for line in next_lines(summary, panel)),
    ):
        console.print(line, soft_wrap=True, markup=False)


def report_as_markdown(
    summary: VetSummary,
    labels: Counts,
    panel: PanelConfig,
    reached: Sequence[Reached] = (),
    words: Mapping[str, str] | None = None,
) -> str:
    """The same for a pull request or a job's summary: the bars first, then the counts; not where files lie."""
    from metajudge.report.markdown import escaped  # only where it is asked for

    bars = [f"- {'reached' if one.passed else '**missed**'}: {escaped(one.sentence())}" for one in reached]
    rows = ["| | judgments | |", "| --- | ---: | --- |"]
    rows += [f"| {escaped(name)} | {count} | {escaped(why)} |" for name, count, why in _counts(summary)]
    said = [
        f"- {escaped(line.strip())}" if line.startswith("  ") else escaped(line)
        for line in _findings(summary, labels, words or {})
    ]
    parts = [
        "### metajudge vet",
        escaped(vetted_by(summary, panel)),
        "\n".join(bars),
        "\n".join(rows),
        "\n".join(said).strip(),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _findings(summary: VetSummary, labels: Counts, words: Mapping[str, str]) -> list[str]:
    return [
        *_reason_lines(summary, words),
        *form_lines(summary),
        *dependence_lines(summary),
        *evidence_lines(summary),
        *calibration_lines(summary),
        *(filled(line, words) for line in decision_lines(summary)),
        *label_lines(labels, bool(summary.guarantees)),
        *cost_lines(summary),
    ]


def print_json(
    summary: VetSummary,
    labels: Counts,
    rejects: Path,
    reached: Sequence[Reached] = (),
    words: Mapping[str, str] | None = None,
    reports: Sequence[Path] = (),
) -> None:
    """Prints the same as one JSON object."""
    data = summary.to_json()
    for reason in data["reasons"]:
        reason["next"] = None if reason["next"] is None else filled(reason["next"], words or {})
    data["counts"] = labels.to_json()
    data["labels"] = _by_labels(labels)
    if reached:
        data["fail_under"] = [one.to_json() for one in reached]
    data["rejects"] = str(rejects) if summary.bad_lines else None
    data["reports"] = [str(path) for path in reports]
    typer.echo(orjson.dumps(data).decode())


def _by_labels(counts: Counts) -> dict[str, Any] | None:
    """The rows under the names that version 0.2 gave them; None without labels."""
    rows, names = counts.rows(), ("all", "kept", "kept_under_guarantee", "kept_without_guarantee")
    if not counts.labelled:
        return None
    shares = {name: None if (one := rows[name].share) is None else asdict(one) for name in names}
    found: dict[str, Any] = {"right": {kind: str(rule) for kind, rule in counts.rules.items()}}
    for name in names[:2]:
        found |= {name: rows[name].compared, f"{name}_correct": rows[name].right}
    return found | {"precision": shares}


def words_of(inputs: list[str], config: Path | None, agents: list[str] | None, store: str | None) -> dict[str, str]:
    """Replacements for placeholders in suggested commands, from this command line."""
    given = [*(["--config", str(config)] if config else [])]
    for agent in agents or ():
        given += ["--agent", agent]
    return {
        "INPUT": shlex.join(inputs),
        "AGENTS": shlex.join(given) or "--agent openai:gpt-4o-mini",
        "STORE": shlex.join(store_words(store)),
    }


def _counts(summary: VetSummary) -> list[tuple[str, str, str]]:
    """What became of the judgments: a name, how many, why."""
    rows: list[tuple[str, int, str]] = []
    if summary.guarantees:
        without = summary.kept_without_guarantee.total()
        rows.append(("kept", summary.kept_under_guarantee, "under the guarantee"))
        rows.append(("kept without it", without, without_guarantee(summary)))
    else:
        rows.append(("kept", summary.kept, ""))
    rows.append(("discarded", summary.discarded, ""))
    rows += [("asked", summary.asked, "people are to decide")] if summary.asked else []
    rows += without_score(summary)
    for name, count, why in (
        ("of these, known before", summary.reused, "taken from the store, nothing asked"),
        ("of these, renormalised", summary.renormalised, "an agent's answer is missing"),
        ("bad lines", summary.bad_lines, "could not be read as judgments"),
        ("repeated lines", summary.duplicates, "same id and content: vetted once"),
    ):
        rows += [(name, count, why)] if count else []
    return [(name, str(count), why) for name, count, why in rows]


def _reason_lines(summary: VetSummary, words: Mapping[str, str]) -> list[str]:
    lines = []
    for reason in summary.reasons:
        lines += ["", f"Why: {reason.text.rstrip('.')}."]
        lines += [f"  Next: {filled(reason.next, words)}"] if reason.next else []
    return lines


def write_reports(
    paths: Sequence[Path],
    picture: "Picture",
    summary: VetSummary,
    labels: Counts,
    panel: PanelConfig,
    inputs: Sequence[str],
    words: Mapping[str, str],
) -> None:
    """Writes the report of a run to each path."""
    from metajudge.report.files import write_report
    from metajudge.vetting.report.page import Place, page, told_of
    from metajudge.vetting.report.stored import when

    place = Place(inputs, words, f"metajudge vet {shlex.join(inputs)}", when(time.time()))
    made = page(picture, told_of(summary, labels, vetted_by(summary, panel), place))
    for path in paths:
        write_report(made, path)


def _where(summary: VetSummary, rejects: Path, reports: Sequence[Path], words: Mapping[str, str]) -> list[str]:
    lines = []
    if summary.store is not None:
        show = filled("metajudge show JUDGMENT_ID", words)
        lines.append(f"Kept in {summary.store}, run {summary.run_id}: `{show}` tells why.")
        if summary.out:
            spread = "://" in summary.out or Path(summary.out).is_dir()
            lines.append(f"Assessments, {'as Parquet' if spread else 'one a line'}: {summary.out}")
    elif summary.out:
        lines.append(
            f"Kept as Parquet in {summary.out}, run {summary.run_id}: column `assessment` has the full records."
        )
    if summary.bad_lines:
        lines.append(f"Bad lines with reasons: {rejects}")
    lines += [f"Report: {path}" for path in reports]
    if not reports and summary.store is not None and summary.judgments:
        lines.append("For a page with reasons, scores and the doubtful ones: the same command with --report vet.html")
    return lines
