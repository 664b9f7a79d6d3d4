"""What an audit costs, beside parsing the same file.

    python benchmarks/audit_speed.py [--verdicts 10000] [--characters 800] [--runs 5]

Writes simulated judgments of five judges on pairs in both orders as JSON lines, with responses and rationales of a
given length, and takes the median CPU time of: parsing every line with orjson, reading the file as judgments, and
auditing them. The ratio is that of reading and auditing together to parsing alone.
"""

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Annotated

import orjson
import typer

from metajudge.audit.report import audit
from metajudge.audit.simulate import UNBIASED, simulate
from metajudge.readers import open_judgments


@dataclass(frozen=True, slots=True)
class Speed:
    """Median CPU seconds.

    Attributes:
        verdicts: in the file.
        megabytes: of the file, a million bytes each.
        parse: orjson on every line.
        read: the file as judgments, checked.
        audit: of the judgments.
    """

    verdicts: int
    megabytes: float
    parse: float
    read: float
    audit: float

    @property
    def ratio(self) -> float:
        """Reading and auditing by parsing."""
        return (self.read + self.audit) / self.parse


def measure(verdicts: int, characters: int, runs: int, folder: Path) -> Speed:
    """Writes the file into a folder and measures."""
    path = folder / "judgments.jsonl"
    made = simulate(UNBIASED, items=-(-verdicts // (2 * len(UNBIASED))), seed=0)
    with path.open("wb") as file:
        for number, judgment in enumerate(made):
            if number < verdicts:
                data = judgment.model_dump(mode="json", exclude_none=True)
                data["rationale"] = _text(characters)
                data["item"]["responses"] = {
                    name: text + _text(characters) for name, text in data["item"]["responses"].items()
                }
                file.write(orjson.dumps(data) + b"\n")
    lines = path.read_bytes().splitlines()
    judgments = list(open_judgments([path]))
    return Speed(
        verdicts=len(lines),
        megabytes=path.stat().st_size / 1e6,
        parse=_seconds(lambda: [orjson.loads(line) for line in lines], runs),
        read=_seconds(lambda: list(open_judgments([path])), runs),
        audit=_seconds(lambda: audit(judgments), runs),
    )


def _text(characters: int) -> str:
    return ("reasons " * (characters // 8 + 1))[:characters]


def _seconds(work: Callable[[], object], runs: int) -> float:
    taken = []
    for _ in range(runs):
        start = time.process_time()
        work()
        taken.append(time.process_time() - start)
    return median(taken)


def main(
    verdicts: Annotated[int, typer.Option(min=10)] = 10_000,
    characters: Annotated[int, typer.Option(min=1)] = 800,
    runs: Annotated[int, typer.Option(min=1)] = 5,
) -> None:
    """Prints the times and the ratio."""
    with tempfile.TemporaryDirectory() as folder:
        found = measure(verdicts, characters, runs, Path(folder))
    print(f"{found.verdicts:,} verdicts, {found.megabytes:.1f} MB, medians of {runs} runs in CPU seconds")
    print(f"parse with orjson {found.parse:.3f}  read as judgments {found.read:.3f}  audit {found.audit:.3f}")
    print(f"audit / parse {found.audit / found.parse:.1f}  (read + audit) / parse {found.ratio:.1f}")


if __name__ == "__main__":
    typer.run(main)
