"""What a file of ballots holds, and the texts, names and weights that every format of it shares."""

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias

from metajudge.errors import InputError
from metajudge.readers.lines import Reject, Source, open_bytes

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
