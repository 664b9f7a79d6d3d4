"""Ballots of files: their rankings as data and as text, and files that contain one ranking a line."""

import io
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, TypeAlias

from metajudge.errors import InputError
from metajudge.readers.lines import Line, Reject, Source, open_bytes, read_lines
from metajudge.readers.reader import each, split

Groups: TypeAlias = tuple[tuple[str, ...], ...]
Format: TypeAlias = Literal["jsonl", "csv", "preflib", "judgments"]

VOTERS = ("voter", "evaluator", "judge", "ballot")
"""Fields and columns that may name the voter."""

QUESTIONS = ("question_id", "question", "item")
"""Fields and columns that may name the question a ballot is about."""


@dataclass(frozen=True, slots=True)
class FileBallot:
    """One ranking of a file.

    Attributes:
        ranking: groups of tied candidates, best first; no candidate twice.
        weight: above 0; 1 where the file gives none.
        voter: None where the file names none.
        question: None where the file names none.
        line: its line number.
    """

    ranking: Groups
    weight: Fraction
    voter: str | None
    question: str | None
    line: int


@dataclass(frozen=True, slots=True)
class RankingFile:
    """What a file of ballots contains.

    Attributes:
        name: the path as given.
        format: what it was read as.
        candidates: all names the file declares (PrefLib, a CSV with a column a candidate), ranked or not; None where
            it declares none.
        ballots: in the file's order.
        rejects: lines that contain no ballot, and why.
    """

    name: str
    format: Format
    candidates: tuple[str, ...] | None
    ballots: tuple[FileBallot, ...]
    rejects: tuple[Reject, ...]


def ranking_file(
    source: Source,
    form: Format,
    rows: Iterable[Line | Reject],
    read: Callable[[Line], FileBallot],
    candidates: tuple[str, ...] | None = None,
) -> RankingFile:
    """A file of which every row is a ballot; ``read`` raises :class:`InputError` where one is none."""
    ballots, rejects = split(each(source, rows, read))
    return RankingFile(source.name, form, candidates, tuple(ballots), tuple(rejects))


def read_ranking_lines(source: Source) -> RankingFile:
    """Reads one object a line; see :func:`metajudge.readers.ranking_files.read_ranking_file`."""
    return ranking_file(source, "jsonl", read_lines(source), lambda line: _json_ballot(line.data, line.number))


def read_bare_rankings(source: Source) -> RankingFile:
    """Reads one list a line, as :func:`metajudge.voting.kemeny` takes them."""
    texts = (Line(number, text.encode(), {}) for number, text in enumerate(text_lines(source), start=1) if text.strip())
    return ranking_file(source, "jsonl", texts, lambda line: _bare_ballot(line.raw, line.number))


def _bare_ballot(line: bytes, number: int) -> FileBallot:
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
    """Reads ``"B > A = C"``; names may contain anything but ``>`` and ``=``.

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
            raise InputError(f"the ranking contains {name!r}, which is not a name: names are text")
    if len(set(names)) < len(names):
        repeated = next(name for name in names if names.count(name) > 1)
        raise InputError(f"the ranking names {repeated!r} twice")
    return tuple(tuple(str(name) for name in group) for group in groups)


def weight_of(value: object) -> Fraction:
    """A weight as an exact fraction: text and numbers count as the decimals they print as.

    Raises:
        InputError: not a finite number above 0, or one so large that a sum of weights would overflow.
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
