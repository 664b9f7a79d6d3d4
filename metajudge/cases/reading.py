"""Cases in: one JSON object, a list of them, or one a line."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
from pydantic import ValidationError

from metajudge.cases.case import Case
from metajudge.cases.panel import CasePanel
from metajudge.errors import InputError
from metajudge.readers.lines import EXCERPT, Line, Reject, Source, open_bytes, read_lines
from metajudge.readers.reasons import reason_of

MAX_DOCUMENT = 64 * 1024 * 1024
"""A JSON document that is not one object a line is read whole, up to this size."""


@dataclass(slots=True)
class CaseInput:
    """The cases of some files, each id once, and what could not be read or judged."""

    cases: list[Case] = field(default_factory=list)
    rejects: list[Reject] = field(default_factory=list)
    duplicates: int = 0


def read_cases(paths: Sequence[str], panel: CasePanel, limit: int | None = None) -> CaseInput:
    """Reads cases and checks that the panel's policy can judge them.

    Raises:
        InputError: a file cannot be read, two different cases have one id, or there is no case at all.
    """
    found = CaseInput()
    seen: dict[str, tuple[str, str]] = {}
    for path in paths:
        for number, data in _records(path):
            where = f"{path}:{number}"
            case = _case(data, path, number, panel, found)
            if case is None:
                continue
            if case.id in seen:
                _require_same(case, seen[case.id], where)
                found.duplicates += 1
                continue
            if limit is not None and len(found.cases) >= limit:
                return found
            seen[case.id] = case.digest, where
            found.cases.append(case)
    if not found.cases:
        reason = f": {found.rejects[0]}" if found.rejects else ""
        raise InputError(f"the input contains no case that can be judged{reason}")
    return found


def _case(data: dict[str, Any] | Reject, where: str, number: int, panel: CasePanel, found: CaseInput) -> Case | None:
    if isinstance(data, Reject):
        found.rejects.append(data)
        return None
    try:
        case = Case.model_validate(data)
        panel.check(case)
    except ValidationError as error:
        reason = reason_of(error)
    except InputError as error:
        reason = str(error)
    else:
        return case
    found.rejects.append(Reject(where, number, reason, orjson.dumps(data).decode()[:EXCERPT]))
    return None


def _records(path: str) -> Iterator[tuple[int, dict[str, Any] | Reject]]:
    source = Source(Path(path), path)
    if not source.path.is_file():
        raise InputError(f"{path}: no such file; `metajudge schema case` describes the format")
    document = _document(source)
    if document is None:
        for line in read_lines(source):
            yield (line.number, line.data) if isinstance(line, Line) else (line.line, line)
        return
    for number, data in enumerate(document, start=1):
        is_object = isinstance(data, dict)
        yield number, data if is_object else Reject(path, number, "not an object", str(data)[:EXCERPT])


def _document(source: Source) -> list[Any] | None:
    """The entries of a file that is one JSON object over several lines, or a list; None for one object a line."""
    with open_bytes(source) as stream:
        content = stream.read(MAX_DOCUMENT + 1)
    if len(content) > MAX_DOCUMENT:
        return None
    try:
        data = orjson.loads(content.removeprefix(b"\xef\xbb\xbf"))
    except orjson.JSONDecodeError as error:
        if source.path.suffix == ".json" and content.strip():
            raise InputError(f"{source.name}: not one JSON document: {error}") from None
        return None
    return data if isinstance(data, list) else [data]


def _require_same(case: Case, earlier: tuple[str, str], where: str) -> None:
    digest, first = earlier
    if digest != case.digest:
        raise InputError(f"case {case.id!r} has one content at {first} and another at {where}: give each its own id")
