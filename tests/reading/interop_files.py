"""Exports that other tools wrote of our cases, and small files in documented shapes; the README beside them names them.

    python -m tests.reading.interop_files

``interop/counts.jsonl`` has a file a line, with what stands in it, counted without metajudge: records, judgments, those
without a verdict, judgments of each judge, and people's answers on what was judged. The command reads each file as
``metajudge audit FILE`` does and prints what it found, beside the own count where that is another.
"""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

from metajudge.errors import InputError
from metajudge.reading import open_judgments

INTEROP = Path(__file__).parent / "interop"
COUNTS = [json.loads(line) for line in (INTEROP / "counts.jsonl").read_text().splitlines()]
COUNTED = ("judgments", "none", "judges", "labels")


def counted(path: Path) -> dict[str, Any]:
    """What is read of a file, as its own count has it; of a file with people's answers alone how many these are.

    ``refused`` has the message where nothing is read.
    """
    try:
        found = list(open_judgments([path]))
    except InputError as error:
        people = re.search(r"([\d,]+) scores? by people", str(error))
        labels = int(people[1].replace(",", "")) if people else 0
        none_read = {"judgments": 0, "none": 0, "judges": [], "labels": labels}
        return none_read if people else {**none_read, "refused": str(error)}
    items = {one.item.id: one.item for one in found}
    return {
        "judgments": len(found),
        "none": sum(one.verdict is None for one in found),
        "judges": sorted(Counter(one.judge for one in found).values()),
        "labels": sum(len(item.labels) or item.label is not None for item in items.values()),
    }


def rows() -> list[dict[str, Any]]:
    """Every file with its own count and, as ``read``, what is read of it."""
    return [{**own, "read": counted(INTEROP / own["file"])} for own in COUNTS]


def table(found: list[dict[str, Any]]) -> list[list[str]]:
    """A line a file: file, tool, records, judgments, without a verdict, by judge, labels, own count if it differs."""
    return [[f"`{one['file']}`", one["tool"], str(one["records"]), *_cells(one["read"]), _beside(one)] for one in found]


def _cells(of: dict[str, Any]) -> list[str]:
    by_judge = [f"{judges} x {count}" for count, judges in sorted(Counter(of["judges"]).items())]
    return [str(of["judgments"]), str(of["none"]), ", ".join(by_judge), str(of["labels"])]


def _beside(one: dict[str, Any]) -> str:
    same = all(one[name] == one["read"][name] for name in COUNTED)
    return "the same" if same and "refused" not in one["read"] else " / ".join(_cells(one))


if __name__ == "__main__":
    for line in table(rows()):
        print(*line, sep=" | ")
