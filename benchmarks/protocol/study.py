"""Our entries and the baselines on the recorded sets, in the form in which anybody's would be measured.

    python -m metajudge.benchmarks.protocol.study DATA_DIR [--only NAME] [--json OUT]

DATA_DIR contains any of ``judgebench``, ``llmbar``, ``mtbench``, ``realmistake`` and ``themis_rewardbench2``. Entries
are written to a temporary folder by ``bench entries`` and read back by ``bench table``.
"""

import json
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from ..label_free import SETS
from .entries import write_entries
from .items import open_asked
from .table import make_table


def measure(data: Path, name: str) -> dict[str, Any]:
    """The table of one set, as plain data."""
    asked = open_asked(data / name)
    with tempfile.TemporaryDirectory(prefix="metajudge-entries-") as scratch:
        _, missing = write_entries(asked, Path(scratch))
        table = make_table(asked, Path(scratch))
    entries = []
    for one in table.entries:
        figures = one.standing.model_dump(mode="json", exclude={"raw", "kept", "n", "questions", "version"})
        entries.append({"rank": None if one.place is None else one.place.shown, **figures})
    return {
        "set": name,
        "n": table.n,
        "questions": table.questions,
        "right": {"value": table.raw.share, "low": table.raw.low, "high": table.raw.high},
        "left_out": table.left_out,
        "not_made": missing,
        "entries": entries,
        "judges": len(table.judges),
    }


def markdown(found: Mapping[str, Any]) -> Iterator[str]:
    """One set as a Markdown table."""
    right = _percent(found["right"])
    yield f"{found['set']}: {found['n']:,} judgments of {found['questions']:,} questions, {right} right"
    yield ""
    titles = ("vetter", "rank", "log loss", "area", "best 60 %", "best 40 %", "kept at 90 %", "without a value")
    yield f"| {' | '.join(titles)} |"
    yield "| --- " * len(titles) + "|"
    for one in found["entries"]:
        numbers = [_number(one[name]) for name in ("log_loss", "auc")]
        shares = [_percent(one[name]) for name in ("precision_60", "precision_40", "coverage_90")]
        cells = [one["vetter"], one["rank"] or "-", *numbers, *shares, f"{one['abstained']:,}"]
        yield f"| {' | '.join(cells)} |"
    yield ""


def _number(one: Mapping[str, Any]) -> str:
    return "-" if "absent" in one else f"{one['value']:.3f} ({one['low']:.3f} to {one['high']:.3f})"


def _percent(one: Mapping[str, Any]) -> str:
    if "absent" in one:
        return "-"
    return f"{100 * one['value']:.1f} ({100 * one['low']:.1f} to {100 * one['high']:.1f})"


def main(
    data: Path,
    only: Annotated[list[str] | None, typer.Option(help="One set alone. Repeatable.")] = None,
    out: Annotated[Path | None, typer.Option("--json", help="Write the figures to this file.")] = None,
) -> None:
    """Makes the tables of the sets that are there."""
    found = []
    for name in SETS:
        if (data / name).is_dir() and name in (only or SETS):
            found.append(measure(data, name))
            for line in markdown(found[-1]):
                typer.echo(line)
    if out is not None:
        out.write_text(json.dumps(found, indent=1), encoding="utf-8")


if __name__ == "__main__":
    typer.run(main)
