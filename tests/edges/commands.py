"""Runs one ``metajudge`` command as a user does, in a folder of its own, and says what came of it."""

import csv
import json
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import yaml

from tests.edges.recorded import numbers, page_numbers, steady
from tests.stored.commands import Done, run


def outcome(folder: Path, *words: str, files: tuple[str, ...] = ()) -> dict[str, Any]:
    """What a command did: exit code, ``--json`` exactly, else the numbers it printed, and the files it wrote.

    Args:
        folder: the current folder, in which the command runs.
        words: the command without ``metajudge``.
        files: that it writes; JSON and JSON lines are kept exactly, also TOML, YAML, and CSV and Parquet by their rows; other text by its numbers.
    """
    return told(run(*words), folder, words, files)


def told(done: Done, folder: Path, words: Sequence[str], files: Sequence[str] = ()) -> dict[str, Any]:
    """The same of a command that ran already."""
    found: dict[str, Any] = {"command": steady(list(words), folder), "exit": done.code}
    try:
        found["json"] = steady(json.loads(done.stdout), folder)
    except ValueError:
        found["printed"] = numbers(done.stdout, folder)
    found["notes"] = numbers(done.stderr, folder)
    found["files"] = {name: _content(folder / name, folder) for name in files}
    return found


def _content(path: Path, folder: Path) -> Any:
    if path.is_dir():
        return {one.name: _content(one, folder) for one in sorted(path.iterdir())}
    if not path.exists():
        return None
    if path.suffix == ".parquet":
        return _parquet(path)
    text = path.read_text("utf-8")
    if path.suffix == ".json":
        return steady(json.loads(text), folder)
    if path.suffix == ".jsonl":
        return [steady(json.loads(line), folder) for line in text.splitlines()]
    if path.suffix == ".toml":
        return steady(tomllib.loads(text), folder)
    if path.suffix == ".yaml":
        return steady(yaml.safe_load(text), folder)
    if path.suffix == ".csv":
        return [steady(row, folder) for row in csv.reader(text.splitlines(keepends=True))]
    return page_numbers(text, folder) if path.suffix == ".html" else numbers(text, folder)


def _parquet(path: Path) -> Any:
    with duckdb.connect() as base:
        found = base.sql(f"SELECT * FROM '{path}'")
        return [dict(zip(found.columns, steady(row), strict=True)) for row in found.fetchall()]
