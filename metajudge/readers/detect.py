"""Which format an input has, by its content."""

import stat
import zlib
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any

from metajudge.errors import InputError
from metajudge.readers import judgebench, llmbar
from metajudge.readers.jsonl import JudgmentLines
from metajudge.readers.lines import Line, Source, open_bytes, read_lines
from metajudge.readers.llmbar_results import ResultFile, is_result_path
from metajudge.readers.pairs import is_pair
from metajudge.readers.reader import Reader

SNIFFED_LINES = 1_000
"""How many lines are looked at for a record of a known format."""

EXPECTED = (
    "expected metajudge JSONL (one object a line with id, item, judge, verdict), a JudgeBench output file (pair_id, "
    "response_A, response_B, judgments), or a JudgeBench or LLMBar folder (a file of pairs and one of judgments)"
)


class Shape(Enum):
    """What a file's records are."""

    JUDGMENTS = "judgments"
    OUTPUT = "JudgeBench output"
    PAIRS = "pairs without judgments"
    GAMES = "judgments without their pairs (JudgeBench)"
    EVALUATIONS = "judgments without their pairs (LLMBar)"
    LIST = "one JSON list"
    EMPTY = "nothing"
    UNKNOWN = "something else"


def readers_of(path: Path, name: str) -> list[Reader]:
    """The readers for a file or a folder.

    Args:
        path: what to read.
        name: what to call it in messages.

    Raises:
        InputError: there is nothing here that any reader knows, with what was looked for and what was found.
    """
    try:
        mode = path.stat().st_mode
    except OSError as error:
        raise InputError(f"cannot read {name}: {error.strerror or error}") from error
    if stat.S_ISDIR(mode):
        return _folder(path, name)
    return [_file(Source(path, name))]


def shape_of(record: dict[str, Any]) -> Shape:
    """What one record is, by its keys."""
    if JudgmentLines.recognises(record):
        return Shape.JUDGMENTS
    if judgebench.is_output(record):
        return Shape.OUTPUT
    if llmbar.is_evaluation(record):
        return Shape.EVALUATIONS
    if judgebench.is_game(record):
        return Shape.GAMES
    if is_pair(record):
        return Shape.PAIRS
    return Shape.UNKNOWN


def _file(source: Source) -> Reader:
    shape, found = _sniff(source)
    match shape:
        case Shape.JUDGMENTS:
            return JudgmentLines(source)
        case Shape.OUTPUT:
            return judgebench.JudgeBenchOutput(source)
        case Shape.LIST:
            return _list(source)
        case Shape.GAMES | Shape.EVALUATIONS:
            raise InputError(
                f"{source.name} holds judgments that name their pair by item_id, but not the pairs: give the folder "
                "that holds both files"
            )
        case Shape.PAIRS:
            raise InputError(f"{source.name} holds pairs, but no judgments: give the folder that holds both files")
        case Shape.EMPTY:
            raise InputError(f"{source.name} is empty; {EXPECTED}")
        case Shape.UNKNOWN:
            raise InputError(f"{source.name} holds no judgment that can be read: {found}; {EXPECTED}")


def _list(source: Source) -> Reader:
    if is_result_path(source.path.resolve()):
        return ResultFile(source)
    raise InputError(
        f"{source.name} is one JSON list; give one object a line (jq -c '.[]' {source.name} > judgments.jsonl)"
    )


def _folder(path: Path, name: str) -> list[Reader]:
    """Readers for every file of a known format directly in a folder, or for the result files below it."""
    readers: list[Reader] = []
    pairs: list[Source] = []
    games: list[tuple[Shape, Source]] = []
    files = _files(path, name)
    for source in files:
        match _sniff_quietly(source):
            case Shape.JUDGMENTS:
                readers.append(JudgmentLines(source))
            case Shape.OUTPUT:
                readers.append(judgebench.JudgeBenchOutput(source))
            case Shape.PAIRS:
                pairs.append(source)
            case (Shape.GAMES | Shape.EVALUATIONS) as shape:
                games.append((shape, source))
            case _:
                pass
    if games and not pairs:
        raise InputError(
            f"{name} holds judgments ({games[0][1].path.name}), but not the pairs they name (item_id, question, "
            "response_a, response_b)"
        )
    for kind, source in games:
        is_judgebench = kind is Shape.GAMES
        readers.append(judgebench.games(pairs, source) if is_judgebench else llmbar.evaluations(pairs, source))
    readers = readers or [ResultFile(source) for source in _result_files(path, name)]
    if not readers:
        seen = ", ".join(source.path.name for source in files[:5]) + (", ..." if len(files) > 5 else "")
        raise InputError(f"{name} holds no file of judgments (found: {seen or 'nothing'}); {EXPECTED}")
    return readers


def _files(path: Path, name: str) -> list[Source]:
    try:
        entries = sorted(path.iterdir())
    except OSError as error:
        raise InputError(f"cannot read {name}: {error.strerror or error}") from error
    return [Source(entry, str(entry)) for entry in entries if entry.is_file() and not entry.name.startswith(".")]


def _result_files(path: Path, name: str) -> Iterator[Source]:
    for found in sorted(path.rglob("result.json")):
        if is_result_path(found.resolve()):
            yield Source(found, str(Path(name) / found.relative_to(path)))


def _sniff_quietly(source: Source) -> Shape:
    """The shape of a file that nobody named: what cannot be read is no input."""
    try:
        return _sniff(source)[0]
    except InputError:
        return Shape.UNKNOWN


def _sniff(source: Source) -> tuple[Shape, str]:
    """A file's shape by its first record of a known one, and what else stands there."""
    with open_bytes(source) as stream:
        try:
            head = stream.read(4096)
        except (EOFError, OSError, zlib.error) as error:
            raise InputError(f"{source.name} is a damaged gzip file: {error}") from error
    if b"\0" in head:
        raise InputError(f"{source.name} is not text; {EXPECTED}")
    head = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if head.startswith(b"["):
        return Shape.LIST, ""
    found = ""
    for number, line in enumerate(read_lines(source)):
        if isinstance(line, Line):
            shape = shape_of(line.data)
            if shape is not Shape.UNKNOWN:
                return shape, ""
        found = found or _description(line)
        if number >= SNIFFED_LINES:
            break
    return (Shape.UNKNOWN, found) if found else (Shape.EMPTY, "")


def _description(line: Any) -> str:
    if isinstance(line, Line):
        keys = ", ".join(sorted(line.data)[:8])
        return f"line {line.number} has the fields {keys}" if keys else f"line {line.number} is an empty object"
    return f"line {line.line}: {line.reason}"
