"""What vetting a large file by free evidence costs, beside parsing the same file once.

    metajudge bench perf million [--judgments 1000000] [--runs 3] [--folder DIR] [--json-out OUT]

Writes made verdicts (:mod:`made_verdicts`: texts of 2 KB, five judges, both orders) and runs ``metajudge vet`` on them,
each time in a process of its own:

==============  ====================================================================================================
first           on an empty store
second          the identical command again
again           the same without a file of results: answered from the stored run
changed         the verdicts of 1 % of the lines changed and 1 % of lines of new items appended, on the same store
calibrated      with a calibration and the policy ``verdict``, on an empty store
unsorted        the lines in random order, on an empty store
==============  ====================================================================================================

Costs are CPU seconds of the process (user and system), memory its highest resident size. Before each command the file
is parsed line by line with orjson in another process; a ratio is the median of the command's costs by the median of
these. A million judgments need 6 GB of disk.
"""

import json
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import orjson
import typer

from .made_verdicts import Shape, made_lines
from .measuring import METAJUDGE, Finished, finished, keep

FLOOR = """
import sys, time, orjson
start = time.process_time()
for line in open(sys.argv[1], "rb"):
    orjson.loads(line)
print(time.process_time() - start)
"""

SHARE_CHANGED = 0.01
SHARE_APPENDED = 0.01
LABELLED = 4_000
"""Labelled judgments that the calibration is fitted on."""


def main(
    judgments: Annotated[int, typer.Option(min=200)] = 1_000_000,
    runs: Annotated[int, typer.Option(min=1)] = 3,
    folder: Annotated[Path | None, typer.Option(help="Where to write; default a temporary folder.")] = None,
    out: Annotated[Path | None, typer.Option("--json-out")] = None,
) -> None:
    """Measures and prints a table."""
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        found = measure(judgments, runs, Path(scratch))
    typer.echo(table(found))
    keep(found, out)


def measure(judgments: int, runs: int, scratch: Path) -> dict[str, Any]:
    """Writes the files, runs every command ``runs`` times in turns, and gives costs and ratios by command."""
    _write_files(judgments, scratch)
    finished([*METAJUDGE, "calibrate", "fit", "--data", "labelled.jsonl", "--out", "calibration.json"], scratch)
    floors: list[float] = []
    costs: dict[str, list[Finished]] = {}
    for _ in range(runs):
        for store in scratch.glob("*.db*"):
            store.unlink()
        for name, words in _commands():
            floors.append(float(finished(["-c", FLOOR, words[0]], scratch).printed))
            costs.setdefault(name, []).append(finished([*METAJUDGE, "vet", *words, "--json"], scratch))
    return {
        "judgments": judgments,
        "megabytes": round((scratch / "judgments.jsonl").stat().st_size / 1e6, 1),
        "runs": runs,
        "floor_us": round(median(floors) / judgments * 1e6, 2),
        "store_bytes_a_judgment": round((scratch / "first.db").stat().st_size / judgments),
        "commands": {name: _described(runs_of, median(floors)) for name, runs_of in costs.items()},
    }


def table(found: dict[str, Any]) -> str:
    """The result as a Markdown table, one row a command."""
    lines = [
        f"{found['judgments']:,} judgments, {found['megabytes']:,} MB; parsing {found['floor_us']} us a judgment; "
        f"medians of {found['runs']} runs",
        "",
        "| command | CPU s | times parsing | peak MB | us a judgment |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for name, one in found["commands"].items():
        each = one["cpu_s"] / found["judgments"] * 1e6
        lines.append(f"| {name} | {one['cpu_s']:.1f} | {one['ratio']:.1f} | {one['peak_mb']:.0f} | {each:.0f} |")
    return "\n".join(lines)


def _commands() -> Iterator[tuple[str, list[str]]]:
    yield "first", ["judgments.jsonl", "--store", "first.db", "--out", "out.jsonl"]
    yield "second", ["judgments.jsonl", "--store", "first.db", "--out", "out.jsonl"]
    yield "again", ["judgments.jsonl", "--store", "first.db"]
    yield "changed", ["changed.jsonl", "--store", "first.db", "--out", "out.jsonl"]
    fitted = ["--calibration", "calibration.json", "--policy", "verdict"]
    yield "calibrated", ["judgments.jsonl", "--store", "calibrated.db", "--out", "out.jsonl", *fitted]
    yield "unsorted", ["unsorted.jsonl", "--store", "unsorted.db", "--out", "out.jsonl"]


def _write_files(judgments: int, scratch: Path, seed: int = 0) -> None:
    rng = random.Random(seed)
    appended = round(judgments * SHARE_APPENDED)
    places: list[tuple[int, int]] = []
    with (scratch / "judgments.jsonl").open("wb") as plain, (scratch / "changed.jsonl").open("wb") as changed:
        for number, line in enumerate(made_lines(Shape(judgments + appended), seed)):
            if number < judgments:
                places.append((plain.tell(), len(line)))
                plain.write(line)
            changed.write(_turned(line) if number < judgments and rng.random() < SHARE_CHANGED else line)
    rng.shuffle(places)
    with (scratch / "judgments.jsonl").open("rb") as plain, (scratch / "unsorted.jsonl").open("wb") as unsorted:
        for start, length in places:
            plain.seek(start)
            unsorted.write(plain.read(length))
    with (scratch / "labelled.jsonl").open("wb") as file:
        file.writelines(made_lines(Shape(min(judgments, LABELLED), labelled=True), seed))


def _turned(line: bytes) -> bytes:
    """The line with the other response as the winner."""
    data = orjson.loads(line)
    first, second = data["verdict"][0], data["verdict"][-1]
    data["verdict"] = f"{second}{data['verdict'][1:-1]}{first}"
    return orjson.dumps(data) + b"\n"


def _described(runs: list[Finished], floor: float) -> dict[str, Any]:
    cpu, told = median(one.cpu_s for one in runs), json.loads(runs[-1].printed)
    return {
        "cpu_s": round(cpu, 2),
        "ratio": round(cpu / floor, 1),
        "peak_mb": round(max(one.peak_mb for one in runs)),
        "summary": {name: value for name, value in told.items() if isinstance(value, int)},
    }
