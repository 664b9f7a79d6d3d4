import csv
import gzip
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

Write = Callable[..., Path]
Table = Callable[..., Path]
Record = Callable[..., dict[str, Any]]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes lines (objects, or text and bytes as they are) to a file; packed where asked, whatever its name."""

    def _write(name: str, *lines: Any, packed: bool = False) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        raw = b"".join(_bytes(line) + b"\n" for line in lines)
        path.write_bytes(gzip.compress(raw) if packed else raw)
        return path

    return _write


def _bytes(line: Any) -> bytes:
    if isinstance(line, bytes):
        return line
    return line.encode() if isinstance(line, str) else json.dumps(line, ensure_ascii=False).encode()


@pytest.fixture
def record() -> Record:
    """A judgment record of our own format; keyword arguments replace its fields."""

    def _record(id: str = "j1", **changes: Any) -> dict[str, Any]:
        item = {"id": "q1", "question": "2 + 2?", "responses": {"A": "4", "B": "5"}, "label": "A>B"}
        data = {"version": 1, "id": id, "item": item, "judge": "gpt", "verdict": "A>>B", "rationale": "4 is right."}
        return {**data, **changes}

    return _record


@pytest.fixture
def table(tmp_path: Path) -> Table:
    """Writes rows to a CSV file; the first one is the header."""

    def write(*rows: Sequence[Any], name: str = "people.csv") -> Path:
        path = tmp_path / name
        with path.open("w", newline="") as stream:
            csv.writer(stream).writerows(rows)
        return path

    return write
