"""What the commands that ask no model cost a judgment, as a multiple of parsing the same file once with orjson.

    python -m metajudge.benchmarks.offline_speed FILE.jsonl [--rounds 3] [--only NAME]

FILE has labelled judgments in metajudge JSONL, such as those of ``made_verdicts --labelled``. Every command runs as a
process of its own; its CPU time is user and system time of the process and its children, start-up included. Rounds are
interleaved: each runs every command once, parsing among them, and a figure is the median over rounds.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Annotated

import duckdb
import typer

PARSING = "orjson"
COLUMNS = "judgments.parquet"
"""The same judgments in columns; writing it is not measured."""

_PARSE = "import sys, orjson\nfor line in open(sys.argv[1], 'rb'): orjson.loads(line)"


@dataclass(frozen=True, slots=True)
class Cost:
    """What one run of a command cost: CPU seconds, and the most memory that its process held, in megabytes."""

    seconds: float
    megabytes: float


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the table; the ratio is to parsing."""

    name: str
    microseconds: float
    ratio: float
    megabytes: float

    def __str__(self) -> str:
        return f"{self.name:<24} {self.microseconds:>9.1f} {self.ratio:>8.1f} {self.megabytes:>9.0f}"


def commands(file: Path, work: Path) -> dict[str, list[str]]:
    """Name -> command; those that come first make what later ones read."""
    program = [sys.executable, "-m", "metajudge"]
    calibration, lines, store = str(work / "calibration.json"), str(work / "out.jsonl"), str(work / "store.duckdb")
    free = ["--strategy", "signals", "--store"]
    laid = ["--calibration", calibration, "--policy", "verdict"]
    table = ["--no-label-free", "--out", str(work / "out.parquet")]
    columns = str(work / COLUMNS)
    return {
        PARSING: [sys.executable, "-c", _PARSE, str(file)],
        "calibrate fit": [*program, "calibrate", "fit", "--data", str(file), "--out", calibration],
        "vet": [*program, "vet", str(file), *free, store, "--out", lines],
        "vet, calibration, policy": [*program, "vet", str(file), *free, str(work / "laid.duckdb"), *laid],
        "vet to Parquet": [*program, "vet", str(file), *free, str(work / "table.duckdb"), *table],
        "vet of Parquet": [*program, "vet", columns, *free, str(work / "columns.duckdb"), "--out", f"{lines}.columns"],
        "fit of Parquet": [*program, "calibrate", "fit", "--data", columns, "--out", f"{calibration}.columns"],
        "audit": [*program, "audit", str(file), "--out", str(work / "audit")],
        "bench file": [*program, "bench", "file", str(file)],
        "export from a file": [*_export(program, work / "pairs"), "--assessments", lines, "--judgments", str(file)],
        "export from a store": [*_export(program, work / "pairs-of-store"), "--store", store],
        "diff": [*program, "diff", lines, lines, "--labels", str(file)],
    }


def write_columns(file: Path, out: Path) -> None:
    """Writes the judgments of a file as Parquet, a column a field."""
    with duckdb.connect() as connection:
        read = connection.read_json(str(file), format="newline_delimited")
        read.write_parquet(str(out))


def _export(program: Sequence[str], out: Path) -> list[str]:
    return [*program, "export", "preferences", "--ignore-decisions", "--out", str(out)]


def measured(command: Sequence[str], work: Path) -> Cost:
    """Runs a command to its end.

    Raises:
        RuntimeError: it failed, with what it said.
    """
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, "METAJUDGE_STORE": str(work / "own.duckdb")}
    done = subprocess.run(command, cwd=work, env=environment, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}: {done.stderr.strip()[-500:]}")
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(seconds, after.ru_maxrss / 1000)


def rows(costs: Mapping[str, Sequence[Cost]], judgments: int) -> list[Row]:
    """Medians over rounds, each a judgment and against parsing.

    Args:
        costs: name -> its runs, :data:`PARSING` among them.
        judgments: at least 1.
    """
    floor = median(one.seconds for one in costs[PARSING])
    found = []
    for name, runs in costs.items():
        seconds = median(one.seconds for one in runs)
        found.append(Row(name, 1e6 * seconds / judgments, seconds / floor, max(one.megabytes for one in runs)))
    return found


def main(
    file: Path,
    rounds: Annotated[int, typer.Option(min=1)] = 3,
    only: Annotated[list[str] | None, typer.Option(help="These alone, and what makes their input. Repeatable.")] = None,
    as_json: Annotated[bool, typer.Option("--json")] = False,
) -> None:
    """Measures the commands on a file of labelled judgments; memory is the most of any process so far."""
    with file.open("rb") as stream:
        judgments = sum(1 for _ in stream)
    costs: dict[str, list[Cost]] = {}
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            write_columns(file.resolve(), Path(folder) / COLUMNS)
            for name, command in commands(file.resolve(), Path(folder)).items():
                if only is None or name in (PARSING, "calibrate fit", "vet", *only):
                    costs.setdefault(name, []).append(measured(command, Path(folder)))
    found = rows(costs, judgments)
    if as_json:
        typer.echo(json.dumps([{slot: getattr(row, slot) for slot in Row.__slots__} for row in found], indent=2))
        return
    typer.echo(f"{file.name}: {judgments} judgments, median of {rounds} rounds\n")
    typer.echo(f"{'command':<24} {'us each':>9} {'x orjson':>8} {'most MB':>9}")
    for row in found:
        typer.echo(str(row))


if __name__ == "__main__":
    typer.run(main)
