"""What reading a large table costs, beside parsing it once, and beside another installation of metajudge.

    metajudge bench perf reading [--rows 1000000] [--beside PYTHON] [--json-out OUT]

Writes pairs of short texts with a verdict and a label, as JSON lines and as CSV, and reads every judgment of them with
a mapping of the columns. Costs are CPU seconds of a process (user and system), memory its highest resident size. The
floor is ``orjson.loads`` of each line, or ``csv.reader``. ``--beside`` names the interpreter of the other installation.
"""

import json
import tempfile
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from .measuring import Finished, JsonOut, finished, keep

COLUMNS: Final = ("id", "question", "response_a", "response_b", "judge", "verdict", "label")
FLOORS: Final = {
    "jsonl": "import sys, orjson\nfor line in open(sys.argv[1], 'rb'): orjson.loads(line)",
    "csv": "import sys, csv\nfor row in csv.reader(open(sys.argv[1], newline='')): pass",
}
READ: Final = """
import sys, importlib, pkgutil, metajudge
name = "reading" if "reading" in {one.name for one in pkgutil.iter_modules(metajudge.__path__)} else "readers"
package = importlib.import_module(f"metajudge.{name}")
columns = {"id": "id", "question": "question", "responses.A": "response_a", "responses.B": "response_b",
           "judge": "judge", "verdict": "verdict", "label": "label"}
source = package.open_judgments([sys.argv[1]], mapping=package.FieldMap(columns=columns))
print(sum(1 for one in source.all()))
"""


def main(
    rows: Annotated[int, typer.Option(min=100)] = 1_000_000,
    beside: Annotated[
        str | None, typer.Option(help="The interpreter of another installation.", metavar="PYTHON")
    ] = None,
    out: JsonOut = None,
) -> None:
    """Measures and prints a table."""
    found: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as scratch:
        for kind, floor in FLOORS.items():
            path = written(Path(scratch) / f"table.{kind}", rows)
            parsed = finished(["-c", floor, str(path)])
            found.append(line(f"{kind}, parsed", parsed, parsed))
            found.append(line(f"{kind}, read", finished(["-c", READ, str(path)]), parsed))
            if beside is not None:
                other = finished(["-c", READ, str(path)], python=beside)
                found.append(line(f"{kind}, read by the other", other, parsed))
    for one in found:
        typer.echo(f"{one['what']:26}{one['cpu_s']:9.1f} s{one['ratio']:7.1f}{one['peak_mb']:8.0f} MB  {one['read']}")
    keep({"rows": rows, "found": found}, out)


def written(path: Path, rows: int) -> Path:
    """Writes the table."""
    made = (
        (
            f"j{n}",
            f"What is {n} and {n % 7}?",
            f"It is {n + n % 7}.",
            "I do not know.",
            "owl",
            "AB"[n % 2],
            "AB"[n % 3 > 0],
        )
        for n in range(rows)
    )
    with path.open("w", newline="", encoding="utf-8") as file:
        if path.suffix == ".csv":
            file.writelines(",".join(row) + "\n" for row in chain([COLUMNS], made))
        else:
            file.writelines(json.dumps(dict(zip(COLUMNS, row, strict=True))) + "\n" for row in made)
    return path


def line(what: str, took: Finished, floor: Finished) -> dict[str, Any]:
    """One line of the table."""
    ratio = took.cpu_s / floor.cpu_s
    return {"what": what, "cpu_s": took.cpu_s, "ratio": ratio, "peak_mb": took.peak_mb, "read": took.printed.strip()}
