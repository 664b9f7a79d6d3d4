"""What vetting a large file by free evidence costs, beside parsing the same file once.

    metajudge bench perf million [--judgments 1000000] [--runs 3] [--folder DIR] [--json-out OUT]

Writes made verdicts (:func:`made_lines`: texts of 2 KB, five judges, both orders) and runs ``metajudge vet`` on them,
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
from itertools import chain, count, islice
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import orjson
import typer

from .measuring import METAJUDGE, Finished, JsonOut, finished, keep

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
    out: JsonOut = None,
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
        for number, line in enumerate(made_lines(judgments + appended, seed)):
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
        file.writelines(made_lines(min(judgments, LABELLED), seed, labelled=True))


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


SYLLABLES = tuple(
    "an ber con dis el for gra hin is jo ka lor men nu of pre qua ra sto ti un ver wa xi yon ze".split()  # noqa: SIM905
)
OPENINGS = ("I worked through the task first.", "Both responses address the question.", "Checking each step:")
SYMBOLS = (" “quoted” ", " (e.g. `f(x)`) ", " … ", " naïve ", " \\frac{a}{b} ", ' "as asked" ', "\n\n", "\n- ", " → ")


JUDGES, CHARACTERS, SHARE_RIGHT = 5, 2000, 0.75
"""Of the made verdicts: judges on each item, and characters of question, responses and rationale together, about."""


def made_lines(judgments: int, seed: int = 0, *, labelled: bool = False) -> Iterator[bytes]:
    """One line of metajudge JSONL each, sorted by item."""
    rng = random.Random(seed)
    prose = _made_prose(rng, 400_000)
    items = (_item_lines(rng, prose, number, labelled=labelled) for number in count())
    yield from islice(chain.from_iterable(items), judgments)


def _item_lines(rng: random.Random, prose: str, number: int, *, labelled: bool) -> list[bytes]:
    quarter = CHARACTERS // 4
    best = rng.choice(("A", "B"))
    item: dict[str, Any] = {
        "id": f"item-{number}",
        "question": f"{_passage(rng, prose, quarter)} ({number})",
        "responses": {name: _passage(rng, prose, quarter) for name in "AB"},
        "category": rng.choice(("Coding", "Knowledge", "Math", "Reasoning")),
    }
    if labelled:
        item["label"] = "A>B" if best == "A" else "B>A"
    lines = []
    for judge in range(JUDGES):
        for order in ("AB", "BA"):
            winner = best if rng.random() < SHARE_RIGHT else "AB".replace(best, "")
            loser = "AB".replace(winner, "")
            sign = rng.choice((">", ">>"))
            said = f"Assistant {winner} is better.\n\nMy final verdict is: [[{winner}{sign}{loser}]]"
            made = {
                "id": f"item-{number}/judge-{judge}/{order}",
                "item": item,
                "judge": f"judge-{judge}",
                "verdict": f"{winner}{sign}{loser}",
                "rationale": f"{rng.choice(OPENINGS)} {_passage(rng, prose, quarter)}\n\n{said}",
                "order": list(order),
            }
            lines.append(orjson.dumps(made) + b"\n")
    return lines


def _passage(rng: random.Random, prose: str, length: int) -> str:
    start = rng.randrange(len(prose) - length)
    return prose[start : start + length]


def _made_prose(rng: random.Random, length: int) -> str:
    """Text of at least this many characters, of which passages are taken."""
    words = ["".join(rng.choices(SYLLABLES, k=rng.randint(1, 3))) for _ in range(3000)]
    weights = [1 / (place + 10) for place in range(len(words))]
    parts: list[str] = []
    size = 0
    while size < length:
        sentence = " ".join(rng.choices(words, weights, k=rng.randint(6, 20))).capitalize() + "."
        if rng.random() < 0.4:
            sentence += rng.choice(SYMBOLS)
        parts.append(sentence)
        size += len(sentence) + 1
    return " ".join(parts)
