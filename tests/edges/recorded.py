"""Recordings of what users meet: written once, compared ever after.

A recording is a JSON file below ``recordings/``. Tests compare what they see with it; they never write it. To write
recordings anew, name them, separated by spaces, with ``*`` for any part of a name::

    METAJUDGE_RECORD='commands/vet_*' python -m pytest -q tests/edges

``wrong.json`` lists the recordings that are known to hold wrong figures, each with what is wrong. A recording changes in the
commit that changes the behaviour, and that commit names it in CHANGELOG.md; no recording is deleted.
"""

import html
import json
import math
import os
import re
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

RECORDINGS = Path(__file__).with_name("recordings")
RECORD = os.environ.get("METAJUDGE_RECORD", "").split()

VOLATILE = re.compile(
    r"^(run_id|.*_run_id|(?!timeout_s|lease_s).*_s|seconds|amends|receiver|.*_at|at|date|time|day|version|made_by|metajudge"
    r"|metajudge_version|request_id|trace_id|job_id|claim_id|review_id|event_id|expires.*|created|updated|cursor|next_cursor|token)$"
)
"""Names of fields whose values differ from run to run: times, durations, random ids, versions of the product."""

CHANGING = (
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"), "UUID"),
    (re.compile(r"\b\d{8}T?-?\d{6}\w*(-[0-9a-f]+)?\b"), "RUN"),
    (re.compile(r"\b\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?"), "TIME"),
    (re.compile(r"http://127\.0\.0\.1:\d+"), "http://127.0.0.1:PORT"),
    (re.compile(r"\b\d+(\.\d+)? ?(ms|s|min|seconds|minutes)\b"), "DURATION"),
    (re.compile(r"\bmetajudge \d+(\.\d+)+\S*"), "metajudge VERSION"),
)
RANDOM_ID = re.compile(r"(?<!\.)\b((?=\d*[a-f])(?=[a-f]*\d)[0-9a-f]{8,}|\d{12}|\d{16})\b")
"""Ids and digests in text that people read; in JSON they are compared, unless their field is volatile."""
MARKUP = re.compile(r"<(style|script)\b.*?</\1>|<[^>]*>", re.DOTALL | re.IGNORECASE)
WIDTH = 120
"""Columns of a line of a recording."""
NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d[\d,]*\.?\d*|\.\d+)(?:e[-+]?\d+)?%?")


def steady(value: Any, folder: Path | None = None) -> Any:
    """Plain data in which whatever differs from run to run is named by its kind.

    Args:
        value: what JSON can hold.
        folder: in which the command ran; its path is written ``FOLDER``.
    """
    if isinstance(value, dict):
        if {"table", "added", "digest"} <= value.keys():  # of rows with times in them
            value = value | {"digest": "*"}
        return {
            str(name): "*" if VOLATILE.match(str(name)) and one is not None else steady(one, folder)
            for name, one in value.items()
        }
    if isinstance(value, list | tuple):
        return [steady(one, folder) for one in value]
    return steady_text(value, folder) if isinstance(value, str) else value


def steady_text(text: str, folder: Path | None = None) -> str:
    """Text in which times, durations, random ids, ports and versions are named by their kind."""
    if folder is not None:
        text = text.replace(str(folder.resolve()), "FOLDER").replace(str(folder), "FOLDER")
    for pattern, kind in CHANGING:
        text = pattern.sub(kind, text)
    return text


def numbers(text: str, folder: Path | None = None) -> list[str]:
    """The numbers of a text, in their order, as they are printed; words may change around them."""
    return [one.rstrip(".,") for one in NUMBER.findall(RANDOM_ID.sub("ID", steady_text(text, folder)))]


def page_numbers(page: str, folder: Path | None = None) -> list[str]:
    """The numbers that a reader of an HTML page sees."""
    return numbers(html.unescape(MARKUP.sub(" ", page)), folder)


def check(name: str, found: Any, *, tolerance: float = 1e-9) -> None:
    """Compares with a recording, or writes it where ``METAJUDGE_RECORD`` names it.

    Args:
        name: path of the recording below ``recordings/``, without its ending.
        found: plain data.
        tolerance: how far floats may lie apart, relative to the larger one (absolute below 1).

    Raises:
        AssertionError: naming the first places that differ, or the recording that is missing.
    """
    path = RECORDINGS / f"{name}.json"
    found = json.loads(json.dumps(found))
    if any(fnmatch(name, pattern) for pattern in RECORD):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(laid_out(found) + "\n", "utf-8")
        return
    assert path.exists(), f"there is no recording {name}: record it with METAJUDGE_RECORD={name!r}"
    places = differences(json.loads(path.read_text("utf-8")), found, tolerance)
    assert not places, f"{name} differs from its recording:\n" + "\n".join(places[:20])


def laid_out(value: Any, depth: int = 0) -> str:
    """JSON in which whatever fits in a line is on one, and short entries share lines."""
    line = json.dumps(value, ensure_ascii=False)
    if len(line) + depth <= WIDTH or not isinstance(value, dict | list):
        return line
    if isinstance(value, dict):
        parts = [f"{json.dumps(name, ensure_ascii=False)}: {laid_out(one, depth + 1)}" for name, one in value.items()]
    else:
        parts = [laid_out(one, depth + 1) for one in value]
    space = "\n" + " " * (depth + 1)
    lines: list[str] = []
    for part in parts:
        shared = bool(lines) and "\n" not in lines[-1] + part and len(lines[-1]) + len(part) + depth + 4 <= WIDTH
        lines = [*lines[:-1], f"{lines[-1]}, {part}"] if shared else [*lines, part]
    first, last = "{}" if isinstance(value, dict) else "[]"
    return first + space + f",{space}".join(lines) + space[:-1] + last


def differences(recorded: Any, found: Any, tolerance: float, place: str = "$") -> list[str]:
    """Where two plain values differ, one line a place."""
    if isinstance(recorded, dict) and isinstance(found, dict):
        places = [f"{place}.{name}: was recorded, is missing" for name in recorded.keys() - found.keys()]
        places += [f"{place}.{name}: is new" for name in found.keys() - recorded.keys()]
        for name in recorded.keys() & found.keys():
            places += differences(recorded[name], found[name], tolerance, f"{place}.{name}")
        return sorted(places)
    if isinstance(recorded, list) and isinstance(found, list):
        places = [] if len(recorded) == len(found) else [f"{place}: {len(recorded)} entries, now {len(found)}"]
        for number, (one, other) in enumerate(zip(recorded, found, strict=False)):
            places += differences(one, other, tolerance, f"{place}[{number}]")
        return places
    if "*" in (recorded, found):  # differs from run to run, but is there
        return [] if None not in (recorded, found) else [f"{place}: {recorded!r}, now {found!r}"]
    if _are_numbers(recorded, found) and isinstance(recorded, float) | isinstance(found, float):
        alike = math.isclose(recorded, found, rel_tol=tolerance, abs_tol=tolerance)
    else:
        alike = type(recorded) is type(found) and recorded == found
    return [] if alike else [f"{place}: {recorded!r}, now {found!r}"]


def _are_numbers(*values: Any) -> bool:
    return all(isinstance(one, int | float) and not isinstance(one, bool) for one in values)
