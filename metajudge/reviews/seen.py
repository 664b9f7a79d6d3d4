"""Who was shown the automatic result on a subject, so that their later decisions on it do not count as blind.

The record is kept in the store's audit log under the subject (a judgment, a case, a clash), not under one review or one
assessment: a person who saw any row of a judgment has seen the machine's opinion of it.
"""

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Protocol

KIND = "seen"
"""What these records are called in the audit log."""


class SeenLog(Protocol):
    """What is asked of the audit log."""

    async def append(self, kind: str, subject: str, payload: Mapping[str, Any], *, now: float) -> Any: ...

    async def entries(self, kind: str, subject: str | None = None, limit: int | None = None) -> list[Any]: ...


@dataclass(frozen=True, slots=True)
class Onlooker:
    """A person, by any of the marks there are.

    Attributes:
        reviewer: the name recorded with their decisions; None while it is unknown.
        session: their session in a browser, which may begin before the name is known; None without one.
    """

    reviewer: str | None = None
    session: str | None = None


async def has_seen(log: SeenLog, subject_id: str, person: Onlooker) -> bool:
    """Whether a person was shown the automatic result on a subject."""
    marks = {name: mark for name, mark in asdict(person).items() if mark is not None}
    entries = await log.entries(KIND, _subject(subject_id))
    return any(one.payload.get(name) == mark for one in entries for name, mark in marks.items())


async def remember_seen(log: SeenLog, subject_ids: Collection[str], person: Onlooker, *, now: float) -> None:
    """Records that a person was shown the automatic results on some subjects, once for each."""
    for subject_id in subject_ids:
        if not await has_seen(log, subject_id, person):
            record = {"reviewer": person.reviewer, "session": person.session}
            await log.append(KIND, _subject(subject_id), record, now=now)


def _subject(subject_id: str) -> str:
    """Apart from the subject's own name, under which `metajudge show` lists what was decided about it."""
    return f"seen {subject_id}"
