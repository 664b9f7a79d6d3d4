"""Parquet and Arrow files."""

import datetime
import json
from pathlib import Path
from typing import Any

import pytest

from metajudge.reading import parse_map

pyarrow = pytest.importorskip("pyarrow", reason="the writer of the test files; pip install 'metajudge-vet[inputs]'")


parquet = pytest.importorskip("pyarrow.parquet")


ROWS: list[dict[str, Any]] = [
    {"q": "2+2?", "a": "4", "b": "5", "winner": "a", "when": datetime.date(2026, 1, 2), "x": [{"k": 1}], "n": 1.5},
    {"q": "3+3?", "a": "7", "b": "6", "winner": "b", "when": None, "x": [], "n": float("nan")},
]


MAP = parse_map(["verdict=winner,question=q,responses.A=a,responses.B=b,judge:=gpt"])


def write_parquet(path: Path, rows: list[dict[str, Any]], **options: Any) -> Path:
    parquet.write_table(pyarrow.Table.from_pylist(rows), path, **options)
    return path


def write_dataset(folder: Path, rows: list[dict[str, Any]], **state: Any) -> Path:
    """A folder as ``Dataset.save_to_disk`` writes it."""
    folder.mkdir(parents=True)
    data = pyarrow.Table.from_pylist(rows)
    with pyarrow.ipc.new_stream(str(folder / "data-00000-of-00001.arrow"), data.schema) as stream:
        stream.write_table(data)
    files = [{"filename": "data-00000-of-00001.arrow"}]
    (folder / "state.json").write_text(json.dumps({"_data_files": files, "_fingerprint": "f", "_split": None} | state))
    (folder / "dataset_info.json").write_text("{}")
    return folder
