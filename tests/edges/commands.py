"""Runs one ``metajudge`` command as a user does, in a folder of its own, and says what came of it."""

import json
from pathlib import Path
from typing import Any

from tests.edges.recorded import numbers, steady
from tests.stored.commands import run


def outcome(folder: Path, *words: str, files: tuple[str, ...] = ()) -> dict[str, Any]:
    """What a command did: exit code, ``--json`` exactly, else the numbers it printed, and the files it wrote.

    Args:
        folder: the current folder, in which the command runs.
        words: the command without ``metajudge``.
        files: that it writes; JSON and JSON lines are kept exactly, other text by its numbers.
    """
    done = run(*words)
    found: dict[str, Any] = {"command": steady(list(words), folder), "exit": done.code}
    try:
        found["json"] = steady(json.loads(done.stdout), folder)
    except ValueError:
        found["printed"] = numbers(done.stdout, folder)
    found["notes"] = numbers(done.stderr, folder)
    found["files"] = {name: _content(folder / name, folder) for name in files}
    return found


def _content(path: Path, folder: Path) -> Any:
    if not path.exists():
        return None
    text = path.read_text("utf-8")
    if path.suffix == ".json":
        return steady(json.loads(text), folder)
    if path.suffix == ".jsonl":
        return [steady(json.loads(line), folder) for line in text.splitlines()]
    return numbers(text, folder)
