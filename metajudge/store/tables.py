"""A store's tables as rows, for copying between databases."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """A table that is copied.

    Attributes:
        key: the column that identifies a row.
        order: in which they came.
        numbered: whether the store numbers its rows itself.
    """

    name: str
    key: str
    order: str
    numbered: bool = False


TABLES: Final = (
    Table("items", "item_digest", "rowid"),
    Table("judgments", "judgment_digest", "rowid"),
    Table("calls", "call_id", "call_id", numbered=True),
    Table("assessments", "assessment_id", "assessment_id", numbered=True),
    Table("annotations", "annotation_id", "annotation_id", numbered=True),
    Table("runs", "run_id", "rowid"),
    Table("run_events", "event_id", "event_id", numbered=True),
    Table("reviews", "review_id", "opened_at, review_id"),
    Table("review_claims", "claim_id", "claim_id", numbered=True),
    Table("review_decisions", "decision_id", "decision_id", numbered=True),
    Table("review_events", "event_id", "event_id", numbered=True),
    Table("audit_log", "entry_id", "entry_id", numbered=True),
)
"""Every table but ``agent_scores``, whose rows go with their assessment."""

CHILD: Final = "agent_scores"
NUMBERED_LIKE: Final = {"annotations": ("assessments", "assessment_id")}
"""Tables that take their numbers from another table's sequence."""
OWN_COLUMNS: Final = frozenset({"key_hash", "rowid", "writer_id"})
"""Columns that each database fills in by itself."""


class Tables(Protocol):
    """All rows of an open store that nothing else in this process uses meanwhile."""

    def columns(self, table: str) -> list[str]:
        """Names of the columns that every database has, sorted."""

    def count(self, table: str) -> int: ...

    def batches(self, table: Table, columns: Sequence[str], size: int) -> Iterator[list[Row]]:
        """All rows in the order in which they came, as they were at the start."""

    def find(self, table: str, column: str, columns: Sequence[str], values: Sequence[Any]) -> list[Row]:
        """The rows that have one of these values in a column."""

    def insert(self, rows: "Sequence[Insertion]") -> None:
        """Adds rows of several tables, all or none."""


@dataclass(frozen=True, slots=True)
class Insertion:
    """Rows for a table; ``number`` is the column that the store continues to number after them."""

    table: str
    columns: Sequence[str]
    rows: Sequence[Row]
    number: str | None = None
