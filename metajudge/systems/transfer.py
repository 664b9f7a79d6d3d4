"""Moves verdicts and notes: what a system has into a folder, and assessments beside the verdicts they are about.

A pull fetches later only what is new or changed. A push puts each note once, whatever ends the run in between.
The pulled folder has one file a part (``traces.jsonl``; ``spans.jsonl`` and ``annotations.jsonl``), which ``vet`` and
``audit`` read as they read that system's export, and ``pulled.json``: from where, and how far the last complete pull
came.
"""

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from metajudge.errors import ConfigurationError, InputError
from metajudge.files.replacing import replacing
from metajudge.runs.outputs import AttemptFile, written_to
from metajudge.systems.system import Found, Note, System, SystemCallError, Wrote, answers_of
from metajudge.types.frozen import Frozen

STATE = "pulled.json"
AGAIN = timedelta(days=1)
"""A later pull reads so much of the time before again: verdicts are given after the traces they are about."""

_SPAN = re.compile(r"(\d{1,6})([mhd])")
_UNITS = {"m": "minutes", "h": "hours", "d": "days"}


@dataclass(slots=True)
class PullCounts:
    """What a pull brought.

    Attributes:
        new: part -> records that were not there before.
        replaced: part -> records that took the place of earlier ones.
        since: from when on it was asked for; None for everything.
        newest: when the newest record began or changed, of this pull and those before; None where none says.
        complete: whether the system was read to the end; if not, the same command starts from the same place.
    """

    new: dict[str, int] = field(default_factory=dict)
    replaced: dict[str, int] = field(default_factory=dict)
    since: datetime | None = None
    newest: datetime | None = None
    complete: bool = False


def since_of(given: str | None, now: datetime) -> datetime | None:
    """``2026-11-01``, ``2026-11-01T08:00``, ``30m``, ``24h`` or ``7d`` before now, or ``all``, as a time in UTC.

    Raises:
        ConfigurationError: anything else.
    """
    if given is None or given == "all":
        return None
    if span := _SPAN.fullmatch(given):
        return now - timedelta(**{_UNITS[span[2]]: int(span[1])})
    try:
        found = datetime.fromisoformat(given)
    except ValueError:
        raise ConfigurationError(
            f"--since {given}: give a date (2026-11-01), a date and time, a span such as 24h or 7d, or all"
        ) from None
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)


def pull(system: System, folder: Path, since: str | None, *, now: datetime, limit: int | None = None) -> PullCounts:
    """Fetches records into a folder.

    Args:
        since: see :func:`since_of`; None goes on from the last complete pull (a day before its newest record), or
            fetches everything.
        limit: records of a system's first part at most; the pull is then not complete.

    Returns:
        What it brought. What came before a failure is kept, and the failure raised.

    Raises:
        SystemCallError: the system could not be read to the end.
        InputError: the folder has something else, or was pulled from elsewhere.
        OutputError: the disk is full.
    """
    state = _state(folder, system.source)
    newest = None if state.get("newest") is None else datetime.fromisoformat(str(state["newest"]))
    start = since_of(since, now) if since is not None else None if newest is None else newest - AGAIN
    counts = PullCounts(since=start)
    with written_to(folder):
        folder.mkdir(parents=True, exist_ok=True)
        _write(folder / STATE, {**state, "source": system.source})
        with _Gathering(folder, system.identity) as gathered:
            try:
                newest = _gather(system, start, gathered, newest, limit, counts)
            finally:
                gathered.merge(counts)
        counts.newest = newest
        if counts.complete:
            _write(folder / STATE, {"source": system.source, "newest": None if newest is None else newest.isoformat()})
    return counts


def _gather(
    system: System,
    start: datetime | None,
    gathered: "_Gathering",
    newest: datetime | None,
    limit: int | None,
    counts: PullCounts,
) -> datetime | None:
    """Fetches; returns the time of the newest record."""
    first: str | None = None
    met = 0
    with answers_of(system.source):
        for found in system.pull(start):
            first = first or found.part
            met += found.part == first
            if limit is not None and met > limit:
                return newest
            gathered.add(found)
            if found.at is not None and (newest is None or found.at > newest):
                newest = found.at
    counts.complete = True
    return newest


class _Gathering:
    """New records beside the old files, until they are merged into them."""

    def __init__(self, folder: Path, identity: Callable[[str, Mapping[str, Any]], str]) -> None:
        self._folder = folder
        self._identity = identity
        self._stack = ExitStack()
        self._open: dict[str, BinaryIO] = {}
        self._places: dict[str, dict[str, tuple[int, int]]] = {}

    def __enter__(self) -> "_Gathering":
        return self

    def add(self, found: Found) -> None:
        """Keeps a record; of two with one identity the later."""
        if found.part not in self._open:
            path = self._folder / f".{found.part}.new"
            self._stack.callback(path.unlink, missing_ok=True)
            self._open[found.part] = self._stack.enter_context(path.open("w+b"))
            self._places[found.part] = {}
        line = orjson.dumps(found.record, option=orjson.OPT_APPEND_NEWLINE)
        file = self._open[found.part]
        self._places[found.part][self._identity(found.part, found.record)] = (file.tell(), len(line))
        file.write(line)

    def merge(self, counts: PullCounts) -> None:
        """Puts what was gathered into the files of the folder, each in one step."""
        for part, file in self._open.items():
            places = self._places[part]
            target, replaced = self._folder / f"{part}.jsonl", 0
            with replacing(target) as new, new.open("wb") as lines:
                for line in _lines(target):
                    if self._identity(part, orjson.loads(line)) in places:
                        replaced += 1
                    else:
                        lines.write(line)
                for start, length in places.values():
                    file.seek(start)
                    lines.write(file.read(length))
            counts.replaced[part], counts.new[part] = replaced, len(places) - replaced

    def __exit__(self, *_: object) -> None:
        self._stack.close()


def _lines(path: Path) -> Iterator[bytes]:
    if path.exists():
        with path.open("rb") as file:
            yield from file


def _state(folder: Path, source: str) -> Mapping[str, object]:
    """What the last pull noted. Raises InputError: the folder is not a pulled one, or from elsewhere."""
    path = folder / STATE
    if not path.exists():
        if folder.is_dir() and any(folder.iterdir()):
            raise InputError(f"{folder} has files that no pull wrote: choose another --out")
        return {}
    try:
        state: Mapping[str, object] = orjson.loads(path.read_bytes())
    except (OSError, orjson.JSONDecodeError) as error:
        raise InputError(f"{path} cannot be read ({error}): choose another --out") from None
    if state.get("source") != source:
        raise InputError(f"{folder} was pulled from {state.get('source')}, not from {source}: choose another --out")
    return state


def _write(path: Path, state: Mapping[str, object]) -> None:
    with replacing(path) as part:
        part.write_bytes(orjson.dumps(state))


MOST_FAILURES_IN_A_ROW = 5
"""So many failures one after the other end a push: the system is away, or the key is wrong."""


class Sent(Frozen):
    """A line of the ledger: one attempt to put one note.

    Attributes:
        address: of the system.
        digest: of the note's content.
        wrote: what became of it; None where it failed, then ``failure`` says why.
        missing: whether it failed because what it is about is not there.
        at: seconds since the epoch.
    """

    address: str
    key: str
    judgment_id: str
    digest: str
    wrote: Wrote | None = None
    failure: str | None = None
    missing: bool = False
    at: float


@dataclass(slots=True)
class PushCounts:
    """What a push did.

    Attributes:
        notes: that were to be put.
        known: of them, those that the ledger says are there with this content; nothing was sent for them.
        missing: of those that failed, the ones about what is not there.
        failures: why notes were not taken, with the judgment's id; the ledger has all of them.
        stopped: why the push ended early; None where it went through.
    """

    notes: int = 0
    known: int = 0
    created: int = 0
    updated: int = 0
    unchanged: int = 0
    failed: int = 0
    missing: int = 0
    failures: list[str] = field(default_factory=list)
    stopped: str | None = None


def push(
    notes: Iterable[Note],
    system: System,
    ledger: Path,
    *,
    told: Callable[[PushCounts], None] = lambda _: None,
    clock: Callable[[], float] = time.time,
) -> PushCounts:
    """Puts notes into a system, one after the other.

    Args:
        ledger: what was sent already, one line an attempt; the same push goes on from there. Without it nothing is
            put twice either, but every note is looked up in the system again.
        told: called after every note.

    Returns:
        The counts. A note that is not taken does not stop the others; five in a row do, unless they are about what
        is not there.

    Raises:
        InputError: the ledger is something else.
        OutputError: the ledger cannot be written.
    """
    counts, in_a_row = PushCounts(), 0
    with AttemptFile(ledger, Sent, "a line of `metajudge push`", exclude_none=True) as file:
        done = {(one.address, one.key): one.digest for one in file.earlier if one.wrote is not None}
        for note in notes:
            counts.notes += 1
            if done.get((system.address, note.key)) == note.digest:
                counts.known += 1
                continue
            if counts.stopped is not None:
                continue
            sent = _sent(note, system, clock)
            file.append(sent)
            if sent.wrote is not None:
                done[system.address, note.key] = note.digest
            _count(counts, sent)
            in_a_row = 0 if sent.wrote is not None or sent.missing else in_a_row + 1
            if in_a_row >= MOST_FAILURES_IN_A_ROW:
                counts.stopped = f"{in_a_row} notes in a row were not taken, the last because {sent.failure}"
            told(counts)
    return counts


def _sent(note: Note, system: System, clock: Callable[[], float]) -> Sent:
    wrote, failure, missing = None, None, False
    try:
        with answers_of(system.address):
            wrote = system.push(note)
    except SystemCallError as error:
        failure, missing = str(error), error.status == 404
    return Sent(
        address=system.address,
        key=note.key,
        judgment_id=note.about,
        digest=note.digest,
        wrote=wrote,
        failure=failure,
        missing=missing,
        at=clock(),
    )


def _count(counts: PushCounts, sent: Sent) -> None:
    if sent.wrote is not None:
        setattr(counts, sent.wrote.value, getattr(counts, sent.wrote.value) + 1)
        return
    counts.failed += 1
    counts.missing += sent.missing
    counts.failures.append(f"{sent.judgment_id}: {sent.failure}")
