"""Ballots in: files of rankings as JSONL, CSV or PrefLib, recognised by what they hold."""

import json
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metajudge.errors import InputError
from metajudge.readers.ballot_file import (
    QUESTIONS,
    VOTERS,
    BallotFile,
    FileBallot,
    Format,
    checked_ranking,
    ranking_from_text,
    text_lines,
    weight_of,
)
from metajudge.readers.lines import Reject, Source, open_bytes, read_lines

if TYPE_CHECKING:
    from metajudge.readers.mapping import FieldMap

PREFLIB_SUFFIXES = (".soc", ".soi", ".toc", ".toi")

_LONGEST_RANKING = 1 << 20
"""Bytes of a first line that is looked at as a bare ranking."""


def read_ballots(path: Path | str, mapping: "FieldMap | None" = None) -> BallotFile:
    """Reads a file of rankings, plain or gzip.

    - JSONL: objects with ``ranking`` (or ``verdict``): a list of candidates or of groups of tied ones, or text such as
      ``"B > A = C"``; optionally ``weight``, a voter and a question. Or the bare list, one a line.
    - CSV (or TSV): a column ``ranking`` with such text; or columns ``candidate`` and ``rank`` with a voter, a row a
      place; or a column a candidate, with ranks in the cells (empty: not ranked). Optionally ``weight``, a voter and a
      question.
    - PrefLib: ``.soc``, ``.soi``, ``.toc``, ``.toi``, in its present or its former format.
    - Judgments in any format that :func:`metajudge.readers.open_judgments` reads: each verdict ranks the models that
      wrote the responses; see :func:`metajudge.readers.judged_ballots.read_judged_ballots`.

    Args:
        path: the file.
        mapping: which column of a table of judgments is what.

    Raises:
        InputError: the file cannot be read, is none of these, or holds no ballot; or it holds judgments that do not
            say which models wrote the responses.
    """
    from metajudge.readers.ballots_csv import read_csv_ballots
    from metajudge.readers.judged_ballots import holds_judgments, read_judged_ballots
    from metajudge.readers.preflib import read_preflib

    source = Source(Path(path), str(path))
    readers: dict[Format, Callable[[Source], BallotFile]] = {
        "jsonl": read_json_ballots,
        "csv": read_csv_ballots,
        "preflib": read_preflib,
    }
    suffix = Path(source.name.removesuffix(".gz")).suffix
    if mapping is None and suffix not in PREFLIB_SUFFIXES and _holds_bare_rankings(source):
        found = read_bare_rankings(source)
    elif suffix not in PREFLIB_SUFFIXES and (mapping is not None or holds_judgments(source)):
        found = read_judged_ballots(source, mapping)
    else:
        found = readers[_format_of(source)](source)
    if not found.ballots:
        why = f": {found.rejects[0]}" if found.rejects else " (it is empty)"
        raise InputError(f"{source.name} holds no ballot{why}")
    return found


def _format_of(source: Source) -> Format:
    if Path(source.name.removesuffix(".gz")).suffix in PREFLIB_SUFFIXES:
        return "preflib"
    with open_bytes(source) as stream:
        head = stream.read(4096).removeprefix(b"\xef\xbb\xbf").lstrip()
    if head.startswith(b"{"):
        return "jsonl"
    return "preflib" if head.startswith(b"#") else "csv"


def read_json_ballots(source: Source) -> BallotFile:
    """Reads one object a line; see :func:`read_ballots`."""
    ballots: list[FileBallot] = []
    rejects: list[Reject] = []
    for line in read_lines(source):
        if isinstance(line, Reject):
            rejects.append(line)
            continue
        try:
            ballots.append(_json_ballot(line.data, line.number))
        except InputError as error:
            rejects.append(source.reject(line.number, str(error), line.raw))
    return BallotFile(source.name, "jsonl", None, tuple(ballots), tuple(rejects))


def _holds_bare_rankings(source: Source) -> bool:
    """Whether the first line is a JSON list of names or of groups of them."""
    if source.path.is_dir():
        return False
    with open_bytes(source) as stream:
        head = stream.readline(_LONGEST_RANKING).removeprefix(b"\xef\xbb\xbf").strip()
    if not head.startswith(b"["):
        return False
    try:
        entries = json.loads(head)
    except (ValueError, RecursionError):
        return False
    return all(isinstance(name, str) for entry in entries for name in (entry if isinstance(entry, list) else [entry]))


def read_bare_rankings(source: Source) -> BallotFile:
    """Reads one list a line, as :func:`metajudge.voting.kemeny` takes them; see :func:`read_ballots`."""
    ballots: list[FileBallot] = []
    rejects: list[Reject] = []
    for number, line in enumerate(text_lines(source), start=1):
        if not line.strip():
            continue
        try:
            ballots.append(_bare_ballot(line, number))
        except InputError as error:
            rejects.append(source.reject(number, str(error), line.encode()))
    return BallotFile(source.name, "jsonl", None, tuple(ballots), tuple(rejects))


def _bare_ballot(line: str, number: int) -> FileBallot:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError(f"not JSON: {error}") from None
    if not isinstance(value, list):
        raise InputError("the line is no list: the first line is a bare ranking, so every line must be one")
    ranking = checked_ranking([group if isinstance(group, list) else [group] for group in value])
    return FileBallot(ranking, Fraction(1), None, None, number)


def _json_ballot(data: dict[str, Any], line: int) -> FileBallot:
    key = next((key for key in ("ranking", "verdict") if key in data), None)
    if key is None:
        raise InputError("the object has neither 'ranking' nor 'verdict'")
    value = data[key]
    if value is None:
        raise InputError(f"'{key}' is null: a ballot without a ranking")
    if isinstance(value, str):
        ranking = ranking_from_text(value)
    elif isinstance(value, list):
        ranking = checked_ranking([group if isinstance(group, list) else [group] for group in value])
    else:
        raise InputError(f"'{key}' is neither a list of candidates nor text such as 'B > A = C'")
    return FileBallot(ranking, weight_of(data.get("weight", 1)), _name(data, VOTERS), _name(data, QUESTIONS), line)


def _name(data: dict[str, Any], keys: Sequence[str]) -> str | None:
    """The first of the fields that is there; an object (as a judgment's item) goes by its id."""
    value = next((data[key] for key in keys if data.get(key) is not None), None)
    if isinstance(value, dict):
        value = value.get("id")
    return None if value is None else str(value)
