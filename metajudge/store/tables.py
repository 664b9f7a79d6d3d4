"""The tables of a store that are copied to another one, under the same names and columns in every database."""

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Final

from metajudge.store.sql import quoted, steps_in


@dataclass(frozen=True, slots=True)
class Table:
    """A table that is copied.

    Attributes:
        key: the columns that identify a row; of the tables without such, those whose rows belong together.
        order: in which its rows came.
        numbered: whether the store numbers its rows itself.
        own: columns that belong to the database they are in, with what a copy has there as SQL.
    """

    name: str
    key: tuple[str, ...]
    order: str = ""
    numbered: bool = False
    own: Mapping[str, str] = field(default_factory=dict)

    def selected(self) -> str:
        """The columns as they are copied, for SELECT."""
        own = {name: f"{sql} AS " for name, sql in self.own.items()}
        return ", ".join(own.get(name, "") + quoted(name) for name in columns(self.name))


def _numbered(name: str, key: str) -> Table:
    return Table(name, (key,), key, numbered=True)


HISTORY: Final = (
    Table("items", ("item_digest",), "rowid"),
    Table("judgments", ("judgment_digest",), "rowid"),
    _numbered("calls", "call_id"),
    _numbered("assessments", "assessment_id"),
    _numbered("annotations", "annotation_id"),
    Table("runs", ("run_id",), "rowid", own={"writer_id": "NULL"}),
    _numbered("run_events", "event_id"),
    Table("reviews", ("review_id",), "opened_at, review_id"),
    _numbered("review_claims", "claim_id"),
    _numbered("review_decisions", "decision_id"),
    _numbered("review_events", "event_id"),
    _numbered("audit_log", "entry_id"),
    _numbered("events", "number"),
)
"""Tables whose rows are added and never changed, but for texts that are forgotten."""

SCORES: Final = Table("agent_scores", ("assessment_id",), "assessment_id")
"""Rows of this table go with their assessment."""

STATE: Final = (
    Table("receivers", ("receiver",)),
    Table("event_sends", ("receiver", "number"), own={"holder": "'0'"}),
    Table("event_deliveries", ("number",)),
    Table("event_queue", ("source", "number")),
    Table("service_answers", ("owner", "key"), own={"writer_id": "0"}),
    Table("service_jobs", ("job_id",)),
    Table("service_items", ("job_id", "item")),
    Table("service_results", ("job_id", "item")),
    Table("service_secrets", ("name",)),
    Table("service_ended_sessions", ("mark",)),
    Table("service_logins", ("address", "minute")),
    Table("service_limits", ("name",)),
)
"""Tables whose rows change: a copy has them as they are in the source. Lanes of jobs are made when a service starts."""


@cache
def columns(table: str) -> Mapping[str, str]:
    """The columns of a table with their types in SQLite, in order."""
    found = dict(_schema().execute("SELECT name, type FROM pragma_table_info(?)", [table]).fetchall())
    assert found, table
    return found


@cache
def _schema() -> sqlite3.Connection:
    empty = sqlite3.connect(":memory:", check_same_thread=False)
    for step in steps_in("sqlite"):
        empty.executescript(step.sql)
    return empty
