"""The summary of a vetting run, for people."""

import shlex
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
import typer
from rich.console import Console
from rich.table import Table

from metajudge.evidence.counting import Counts
from metajudge.files.command_line import store_words
from metajudge.panels.config import PanelConfig
from metajudge.vetting.answer import SHOWN, answer_lines
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


@dataclass(frozen=True, slots=True)
class Told:
    """What is told of a run: on the terminal, as JSON, as Markdown and as a report.

    Attributes:
        rejects: the file of bad lines.
        words: what stands in suggested commands in place of placeholders; see :func:`words_of`.
        reports: the files of the report.
        example: a judgment as it was read; it has texts, and is kept nowhere.
    """

    summary: VetSummary
    labels: Counts
    panel: PanelConfig
    rejects: Path
    reached: Sequence[Reached] = ()
    words: Mapping[str, str] = field(default_factory=dict)
    reports: Sequence[Path] = ()
    example: str | None = None

    def print_text(self) -> None:
        """Prints counts, accuracy by the labels, calls and cost, and the next step."""
        console = Console(highlight=False, emoji=False)
        answer = list(answer_lines(self.summary, self.labels))
        for line in [*self._found(), "", *answer, ""] if answer else []:
            console.print(line, soft_wrap=True, markup=False)
        console.print(vetted_by(self.summary, self.panel), soft_wrap=True, markup=False)
        table = Table(box=None)
        table.add_column("")
        table.add_column("judgments", justify="right")
        table.add_column("", overflow="fold")
        for row in _counts(self.summary):
            table.add_row(*row)
        console.print(table)
        for line in self._read_first() if answer else []:
            console.print(line, soft_wrap=True, markup=False)
        following = self._filled(next_lines(self.summary, self.panel))
        for line in (*self._findings(), *self._where(), *following):
            console.print(line, soft_wrap=True, markup=False)

    def _found(self) -> list[str]:
        """What the input holds, and what its labels give."""
        return [*self.summary.found, *filter(None, (self.example, self.summary.fitted))]

    def _read_first(self) -> list[str]:
        """The first ones to read."""
        shown = self.summary.read_first[:SHOWN]
        if not shown:
            return []
        rest = len(self.summary.read_first) - len(shown)
        where = "on the page, and with --json" if self.reports else "with --json"
        more = [f"  ... and {rest} more: {where}"] if rest else []
        return ["", "Read first, the most doubtful first:", *(f"  {one.line()}" for one in shown), *more]

    def markdown(self) -> str:
        """The same for a pull request or a job's summary: the bars first, then the counts; not where files lie."""
        from metajudge.report.markdown import escaped  # only where it is asked for

        bars = [f"- {'reached' if one.passed else '**missed**'}: {escaped(one.sentence())}" for one in self.reached]
        rows = ["| | judgments | |", "| --- | ---: | --- |"]
        rows += [f"| {escaped(name)} | {count} | {escaped(why)} |" for name, count, why in _counts(self.summary)]
        said = [f"- {escaped(line.strip())}" if line.startswith("  ") else escaped(line) for line in self._findings()]
        vetted = escaped(vetted_by(self.summary, self.panel))
        answer = "\n".join(f"- {escaped(line)}" for line in answer_lines(self.summary, self.labels))
        parts = ["### metajudge vet", answer, vetted, *("\n".join(lines).strip() for lines in (bars, rows, said))]
        return "\n\n".join(part for part in parts if part) + "\n"

    def print_json(self) -> None:
        """Prints the same as one JSON object."""
        data = self.summary.to_json()
        for reason in data["reasons"]:
            reason["next"] = None if reason["next"] is None else filled(reason["next"], self.words)
        data["counts"] = self.labels.to_json()
        data["labels"] = _by_labels(self.labels)
        if self.reached:
            data["fail_under"] = [one.to_json() for one in self.reached]
        data["rejects"] = str(self.rejects) if self.summary.bad_lines else None
        data["reports"] = [str(path) for path in self.reports]
        typer.echo(orjson.dumps(data).decode())

    def write_reports(self, picture: "Picture", inputs: Sequence[str]) -> None:
        """Writes the report of the run to each path."""
        from metajudge.report.files import write_report
        from metajudge.vetting.report.page import Place, page, told_of
        from metajudge.vetting.report.stored import when

        place = Place(inputs, self.words, f"metajudge vet {shlex.join(inputs)}", when(time.time()))
        made = page(picture, told_of(self.summary, self.labels, vetted_by(self.summary, self.panel), place))
        for path in self.reports:
            write_report(made, path)

    def _filled(self, lines: Iterable[str]) -> list[str]:
        return [filled(line, self.words) for line in lines]

    def _findings(self) -> list[str]:
        lines = []
        for reason in self.summary.reasons:
            lines += ["", f"Why: {reason.text.rstrip('.')}."]
            lines += [f"  Next: {filled(reason.next, self.words)}"] if reason.next else []
        return [
            *lines,
            *form_lines(self.summary),
            *dependence_lines(self.summary),
            *evidence_lines(self.summary),
            *calibration_lines(self.summary),
            *self._filled(decision_lines(self.summary)),
            *label_lines(self.labels, bool(self.summary.guarantees)),
            *cost_lines(self.summary),
        ]

    def _where(self) -> list[str]:
        summary = self.summary
        lines = []
        if summary.store is not None:
            show = filled("metajudge show JUDGMENT_ID", self.words)
            lines.append(f"Kept in {summary.store}, run {summary.run_id}: `{show}` tells why.")
            if summary.out:
                spread = "://" in summary.out or Path(summary.out).is_dir()
                lines.append(f"Assessments, {'as Parquet' if spread else 'one a line'}: {summary.out}")
        elif summary.out:
            lines.append(
                f"Kept as Parquet in {summary.out}, run {summary.run_id}: column `assessment` has the full records."
            )
        if summary.bad_lines:
            lines.append(f"Bad lines with reasons: {self.rejects}")
        return [*lines, *(f"Report: {path}" for path in self.reports if path.exists())]


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
