"""What every reader offers: a stream of judgments and rejects, each with its place."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Protocol, TypeAlias, TypeVar

from pydantic import ValidationError

from metajudge.errors import InputError
from metajudge.files.secrets import data_without_secrets
from metajudge.reading.containers.lines import BadLine, Line, Reject, Source
from metajudge.reading.conversations import apart
from metajudge.reading.people import ByPeople, PersonScore
from metajudge.reading.reasons import reason_of
from metajudge.types import Judgment

T = TypeVar("T")

UNREADABLE = (InputError, BadLine, KeyError, TypeError, AttributeError, ValueError)
"""What reading a record raises: our own reasons, and what looking into data of another shape gives; see :func:`why`."""


@dataclass(frozen=True, slots=True)
class FoundJudgment:
    """A judgment and its position.

    Attributes:
        name: of the score that it is, in formats in which people and judges score several things of one item.
    """

    judgment: Judgment
    file: str
    line: int
    name: str | None = None


Found: TypeAlias = FoundJudgment | Reject | ByPeople


def prefixed(found: Found) -> Found:
    """A judgment with its file's name before its id."""
    if not isinstance(found, FoundJudgment):
        return found
    name = f"{found.file}/{found.judgment.id}"
    return replace(found, judgment=found.judgment.model_copy(update={"id": name}))


def cleaned(found: Found) -> Found:
    """A judgment with the thoughts of models apart from its texts, and without keys in what a tool noted beside it."""
    if not isinstance(found, FoundJudgment):
        return found
    judgment = found.judgment
    noted = {"meta": judgment.meta, "no_verdict": judgment.no_verdict}
    clean = data_without_secrets(noted)
    judgment = apart(judgment if clean is noted else judgment.model_copy(update=clean))
    return found if judgment is found.judgment else replace(found, judgment=judgment)


class Reader(Protocol):
    """One input in one format. ``read`` starts anew at each call and keeps one record in memory at a time."""

    format: str

    def read(self) -> Iterator[Found]: ...


@dataclass(eq=False)
class LineReader:
    """A format in which each row is independent.

    Attributes:
        format: its name, for people.
        source: what the rows are part of.
        rows: starts anew at each call.
        made: the judgments (or scores by people) of a row; raises what :func:`attempt` reports.
        shape: as for :func:`attempt`.
    """

    format: str
    source: Source
    rows: Callable[[], Iterable[Line | Reject]]
    made: Callable[[Line], Sequence[Judgment | PersonScore]]
    shape: str | None = None

    def read(self) -> Iterator[Found]:
        for found in each(self.source, self.rows(), self._found, self.shape):
            yield from [found] if isinstance(found, Reject) else found

    def _found(self, row: Line) -> list[FoundJudgment | ByPeople]:
        place = self.source.name, row.number
        return [
            ByPeople(one, *place) if isinstance(one, PersonScore) else FoundJudgment(one, *place, self.named(row))
            for one in self.made(row)
        ]

    def named(self, row: Line) -> str | None:
        """The name of the score that a row's judgment is; None where there is none."""
        return None


def why(error: Exception, shape: str | None = None) -> str:
    """The reason for a reject; where the data has another shape than ``shape``, that.

    Raises:
        Exception: the error itself, where no shape is given and it speaks of none of the input's fields.
    """
    if isinstance(error, ValidationError):
        return reason_of(error)
    if isinstance(error, BadLine | InputError):
        return str(error)
    if shape is None:
        raise error
    return f"not the shape of {shape} ({error!r})"


def attempt(source: Source, line: Line, read: Callable[[Line], T], shape: str | None = None) -> T | Reject:
    """A line's content, or why it cannot be read.

    Args:
        shape: what the data is taken for where ``read`` looks into it without a schema; data of another shape is then
            a reject, too.
    """
    try:
        return read(line)
    except UNREADABLE as error:
        return source.reject(line.number, why(error, shape), line.raw)


@contextmanager
def inside(place: str, shape: str) -> Iterator[None]:
    """Names a part of a record in whatever is wrong with it.

    Raises:
        BadLine: what :data:`UNREADABLE` lists.
    """
    try:
        yield
    except UNREADABLE as error:
        raise BadLine(f"{place}: {why(error, shape)}" if place else why(error, shape)) from None


def each(
    source: Source, rows: Iterable[Line | Reject], read: Callable[[Line], T], shape: str | None = None
) -> Iterator[T | Reject]:
    """Every row's content, or why it cannot be read; arguments as for :func:`attempt`."""
    return (row if isinstance(row, Reject) else attempt(source, row, read, shape) for row in rows)


def split(found: Iterable[T | Reject]) -> tuple[list[T], list[Reject]]:
    """What :func:`each` found, apart from what could not be read."""
    whole = list(found)
    return [one for one in whole if not isinstance(one, Reject)], [one for one in whole if isinstance(one, Reject)]
