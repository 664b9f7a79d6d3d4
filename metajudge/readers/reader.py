"""What every reader offers: a stream of judgments and rejects, each with its place."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from metajudge.readers.lines import Reject
from metajudge.readers.people import ByPeople
from metajudge.types import Judgment


@dataclass(frozen=True, slots=True)
class Found:
    """A judgment and where it stands."""

    judgment: Judgment
    file: str
    line: int


MISSHAPEN = (KeyError, TypeError, AttributeError, ValueError)
"""What looking into data of another shape than the documented one raises."""


class Reader(Protocol):
    """One input in one format. ``read`` starts anew at each call and holds one record at a time."""

    format: str

    def read(self) -> Iterator[Found | Reject | ByPeople]: ...
