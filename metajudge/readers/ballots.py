"""Ballots in: files of rankings as JSONL, CSV or PrefLib, recognised by what they hold."""

import io
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from metajudge.errors import InputError
from metajudge.readers.lines import Reject, Source, open_bytes, read_lines

if TYPE_CHECKING:
    from metajudge.readers.mapping import FieldMap

Groups: TypeAlias = tuple[tuple[str, ...], ...]
Format: TypeAlias = Literal["jsonl", "csv", "preflib", "judgments"]

PREFLIB_SUFFIXES = (".soc", ".soi", ".toc", ".toi")

VOTERS = ("voter", "evaluator", "judge", "ballot")
"""Fields and columns that may name the voter."""

QUESTIONS = ("question_id", "question", "item")
"""Fields and columns that may name the question a ballot is about."""

_LONGEST_RANKING = 1 << 20
"""Bytes of a first line that is looked at as a bare ranking."""


@dataclass(frozen=True, slots=True)
class FileBallot:
    """One ranking of a file.

    Attributes:
        ranking: groups of tied candidates, best first; no candidate twice.
        weight: above 0; 1 where the file gives none.
        voter: None where the file names none.
        question: None where the file names none.
        line: where it stands.
    """

    ranking: Groups
    weight: Fraction
    voter: str | None
    question: str | None
    line: int


@dataclass(frozen=True, slots=True)
class BallotFile:
    """What a file of ballots holds.

    Attributes:
        name: the path as given.
        format: what it was read as.
        candidates: all names the file declares (PrefLib, a CSV with a column a candidate), ranked or not; None where
            it declares none.
        ballots: in the file's order.
        rejects: lines that hold no ballot, and why.
    """

    name: str
    format: Format
    candidates: tuple[str, ...] | None
    ballots: tuple[FileBallot, ...]
    rejects: tuple[Reject, ...]


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


def ranking_from_text(text: str) -> Groups:
    """Reads ``"B > A = C"``; names may hold anything but ``>`` and ``=``.

    Raises:
        InputError: an empty text, place or name, or a candidate named twice.
    """
    return checked_ranking(
        [[name.strip() for name in group.split("=")] for group in text.replace(">>", ">").split(">")]
    )


def checked_ranking(groups: Sequence[Sequence[object]]) -> Groups:
    """Groups as they are, if they are names, none empty and none twice.

    Raises:
        InputError: saying what is not.
    """
    names = [name for group in groups for name in group]
    if not names:
        raise InputError("the ranking is empty")
    if not all(groups):
        raise InputError("the ranking has an empty group")
    for name in names:
        if not isinstance(name, str) or not name:
            raise InputError(f"the ranking holds {name!r}, which is no name: names are text")
    if len(set(names)) < len(names):
        repeated = next(name for name in names if names.count(name) > 1)
        raise InputError(f"the ranking names {repeated!r} twice")
    return tuple(tuple(str(name) for name in group) for group in groups)


def weight_of(value: object) -> Fraction:
    """A weight as an exact fraction: text and numbers count as the decimals they print as.

    Raises:
        InputError: not a finite number above 0, or one whose exponent no sum of weights could hold.
    """
    try:
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise ValueError
        text = str(value).strip()
        if _has_wild_exponent(text):
            raise InputError(f"the weight is {text}: a weight lies between 1e-100 and 1e100; scale all of them")
        weight = Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise InputError(f"the weight is {value!r}: it is a number above 0") from None
    if weight <= 0:
        raise InputError(f"the weight is {value}: it is a number above 0; leave out ballots that must not count")
    return weight


def _has_wild_exponent(text: str) -> bool:
    """Whether the exact fraction would have more than a hundred digits for its exponent alone."""
    _, _, exponent = text.lower().partition("e")
    return bool(exponent) and abs(int(exponent)) > 100


def text_lines(source: Source) -> Iterator[str]:
    """The lines of a text file without their ends.

    Raises:
        InputError: it is not UTF-8, or damaged.
    """
    with open_bytes(source) as stream:
        text = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")
        try:
            for line in text:
                yield line.rstrip("\r\n")
        except UnicodeDecodeError as error:
            raise InputError(
                f"{source.name} is not UTF-8 (byte 0x{error.object[error.start]:02x}): save it so"
            ) from None
        except (EOFError, OSError) as error:
            raise InputError(f"{source.name} is damaged or ends early ({error})") from None
