"""What one pass over an input has met."""

from dataclasses import dataclass, field

from metajudge.readers.lines import Reject
from metajudge.readers.people import PeopleCount
from metajudge.types import Judgment

KEPT_REJECTS = 1 << 20
"""Bytes of rejects held, so that writing them needs no further pass; of more, none is held."""


@dataclass(slots=True)
class PassCounts:
    """What one pass has met so far.

    Attributes:
        wanted: judgments by the judges asked for.
        kept: the rejects as lines; None where they are too large to be held.
    """

    judgments: int = 0
    wanted: int = 0
    rejects: int = 0
    duplicates: int = 0
    people: PeopleCount = field(default_factory=PeopleCount)
    kept: list[str] | None = field(default_factory=list)
    _size: int = 0

    def add(self, record: Judgment | Reject | None, judges: frozenset[str] | None) -> None:
        """Counts what a line gave; None for a repeated judgment."""
        if record is None:
            self.duplicates += 1
        elif isinstance(record, Reject):
            self.rejects += 1
            self._keep(record)
        else:
            self.judgments += 1
            self.wanted += judges is None or record.judge in judges

    def _keep(self, reject: Reject) -> None:
        if self.kept is None:
            return
        line = reject.to_json() + "\n"
        self._size += len(line)
        self.kept.append(line)
        if self._size > KEPT_REJECTS:
            self.kept = None

    @property
    def total(self) -> int:
        return self.judgments + self.rejects + self.duplicates
