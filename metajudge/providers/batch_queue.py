"""Requests gathered into batches: who asks waits until the provider's batch has the answer, for minutes or a day.

Requests of one model that arrive together go out together. Each batch is noted down before it is submitted
(:mod:`metajudge.providers.batch_folder`), so that a run which is stopped or dies resumes from there, and none is
submitted twice.
"""

import asyncio
import copy
import random
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from metajudge.concurrency import heard
from metajudge.errors import (
    BadRequestError,
    BatchPendingError,
    ConfigurationError,
    ContextTooLongError,
    NotFoundError,
    ProviderError,
    RateLimitedError,
)
from metajudge.providers.batch_folder import BatchFolder, BatchRecord, BatchState
from metajudge.providers.batch_services import BatchAnswer, BatchResults, BatchService, BatchStatus, Ending
from metajudge.providers.client import Headers
from metajudge.providers.http_errors import Asked, error_from_response
from metajudge.providers.model import Endpoint

_AROUND_BODY = 200
"""Bytes of a line besides the body: custom id, method, URL."""
_TOLD_EVERY_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchSettings:
    """How batches are made and waited for.

    Attributes:
        folder: where batches under way are noted down.
        in_flight: records worked on at once, which bounds memory; a batch can contain no more requests.
        max_requests: in one batch; None for what the provider allows.
        live_below: rounds of fewer requests are asked live, at full price, rather than wait for a batch; 0 for never.
        wait_s: leave the batches to their provider after so many seconds without progress; None to wait.
        linger_s: a batch is submitted when nothing has arrived for so long.
        first_poll_s, longest_poll_s: seconds between looks at a batch, growing from the one to the other.
        attempts: of submitting a batch, and of fetching its results.
        probe: ask the first request of each model live, so that a wrong key, name or setting shows at once and not
            a day later in every request of a batch.
    """

    folder: Path
    in_flight: int = 20_000
    max_requests: int | None = None
    live_below: int = 0
    wait_s: float | None = None
    linger_s: float = 1.0
    first_poll_s: float = 10.0
    longest_poll_s: float = 300.0
    attempts: int = 8
    probe: bool = True

    def __post_init__(self) -> None:
        for name in ("in_flight", "longest_poll_s", "attempts"):
            if not getattr(self, name) > 0:
                raise ConfigurationError(f"{name} of batches must be positive, not {getattr(self, name)}")

    def pauses(self) -> Iterator[float]:
        """Seconds to wait after each attempt, growing; as many as there are attempts."""
        wait = min(1.0, self.first_poll_s)
        for _ in range(self.attempts):
            yield wait
            wait = min(2 * wait, self.longest_poll_s)


@dataclass(slots=True)
class Probe:
    """The first request of a model, asked live: under way, done, or failed in a way all others would."""

    done: bool = False
    running: asyncio.Event | None = None
    failed: ProviderError | None = None


@dataclass(slots=True)
class BatchQueue:
    """The batches of one run.

    Args:
        settings: see :class:`BatchSettings`.
        say: called with notices about batches.
    """

    settings: BatchSettings
    say: Callable[[str], None] = field(default=lambda _sentence: None)
    folder: BatchFolder = field(init=False)
    released: str | None = field(init=False, default=None)
    _touched: set[str] = field(init=False, default_factory=set)
    lanes: "dict[tuple[Endpoint, str, Headers], BatchLane]" = field(init=False, default_factory=dict)
    _probes: dict[tuple[Endpoint, str], Probe] = field(init=False, default_factory=dict)
    _tasks: set[asyncio.Task[None]] = field(init=False, default_factory=set)
    _busy: set[str] = field(init=False, default_factory=set)
    _deadline: asyncio.TimerHandle | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.folder = BatchFolder(self.settings.folder)

    def probe(self, endpoint: Endpoint, model: str) -> Probe:
        """The probe of a model, shared by all who ask it."""
        return self._probes.setdefault((endpoint, model), Probe(done=not self.settings.probe))

    def lane(self, service: BatchService, asked: Asked, headers: Headers) -> "BatchLane":
        """Where requests wait that may share a batch: of one endpoint and model, with the same headers."""
        key = (service.client.endpoint, asked.model, headers)
        if key not in self.lanes:
            self.lanes[key] = BatchLane(self, service, asked, headers)
        return self.lanes[key]

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Runs what a lane does in the background."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def busy(self, label: str) -> None:
        """A batch is being submitted, looked at for the first time, or fetched: the run is not left meanwhile."""
        self._touched.add(label)
        self._busy.add(label)

    def resting(self, label: str) -> None:
        """Nothing is to be done about a batch but to wait."""
        if label in self._busy:
            self._busy.discard(label)
            self.progressed()

    def progressed(self) -> None:
        """Something has come or gone: the time to wait for progress starts anew."""
        if self.settings.wait_s is None or self.released is not None:
            return
        if self._deadline is not None:
            self._deadline.cancel()
        wait = max(self.settings.wait_s, 2 * self.settings.linger_s + 0.1)
        self._deadline = asyncio.get_running_loop().call_later(wait, self._leave)

    def _leave(self) -> None:
        if self._busy or any(lane.gathered for lane in self.lanes.values()):
            self.progressed()
        elif any(any(lane.waiting.values()) for lane in self.lanes.values()):
            self.release("the time to wait for batches is over")

    def release(self, reason: str) -> None:
        """Leaves the batches to their provider: waiting callers are told that the answer is pending."""
        if self.released is None:
            self.released = reason
            for lane in self.lanes.values():
                lane.release()

    def pending(self) -> BatchPendingError:
        """The error for callers waiting for a batch that is left to its provider."""
        return BatchPendingError(
            f"{self.released}; submitted batches are kept: run the same command again to collect them"
        )

    async def aclose(self) -> None:
        """Stops waiting; a submission on its way is seen through, so that its outcome is known."""
        self.release("the run has ended")
        if others := set(self.folder.records) - self._touched:
            self.say(
                f"{len(others)} batches in {self.folder.path} contain requests of another command: run that command "
                "again to collect them"
            )
        if self._deadline is not None:
            self._deadline.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=30.0)
        for task in tuple(self._tasks):
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    def settle(self) -> None:
        """Forgets what was handed over, once that is stored, and lets go of the folder."""
        self.folder.settle()
        self.folder.close()


@dataclass(frozen=True, slots=True)
class _Entry:
    """One request and who waits for it; an answer of None means: ask it live."""

    key: str
    fresh: bool
    body: bytes
    answer: "asyncio.Future[BatchAnswer | None]"


class BatchLane:
    """What goes to one model at one endpoint, with the same headers.

    Args:
        queue: of the run.
        service: the endpoint's batch API.
        asked: who is asked, for messages.
        headers: of every request about its batches.

    Attributes:
        gathered: requests that wait to be submitted, by key and whether they are asked anew.
        waiting: batches -> requests -> who waits for them.
    """

    def __init__(self, queue: BatchQueue, service: BatchService, asked: Asked, headers: Headers) -> None:
        self._queue, self._folder, self._settings = queue, queue.folder, queue.settings
        self._service, self._asked, self._headers = service, asked, headers
        self.gathered: dict[tuple[str, bool], list[_Entry]] = {}
        self._size = 0
        self._timer: asyncio.TimerHandle | None = None
        self.waiting: dict[str, dict[str, list[_Entry]]] = {}
        self._answers: dict[str, dict[str, BatchAnswer]] = {}
        self._left = asyncio.Event()
        self._most = min(service.most, self._settings.max_requests or service.most)

    async def ask(self, key: str, fresh: bool, body: bytes) -> BatchAnswer | None:
        """The answer to a request, when its batch has it; None where it is to be asked live.

        Raises:
            BatchPendingError: the batch is left to its provider.
            ProviderError: its batch could not be submitted, or was refused as a whole.
            ConfigurationError: the endpoint has no batch API, or the folder cannot be written.
        """
        if self._queue.released is not None:
            raise self._queue.pending()
        entry = _Entry(key, fresh, body, asyncio.get_running_loop().create_future())
        if (record := self._folder.find(key, fresh)) is None:
            self._gather(entry)
        else:
            self._attach(record, entry)
        return await entry.answer

    def release(self) -> None:
        """Tells everyone who waits that the answer is pending, and stops looking at batches."""
        self._left.set()
        if self._timer is not None:
            self._timer.cancel()
        _fail(_all(self.gathered.values()), self._queue.pending())
        for groups in self.waiting.values():
            _fail(_all(groups.values()), self._queue.pending())
        self.gathered.clear()
        self.waiting.clear()

    def _gather(self, entry: _Entry) -> None:
        size, most = len(entry.body) + _AROUND_BODY, self._service.most_bytes
        if size > most:
            problem = f"a request of {size:,} bytes for {self._asked} is more than a whole batch may contain ({most:,})"
            _fail([entry], ContextTooLongError(f"{problem}. Shorten the input", sent=False))
            return
        if self._size + size > most:
            self._flush()
        self.gathered.setdefault((entry.key, entry.fresh), []).append(entry)
        self._size += size
        if len(self.gathered) >= self._most:
            self._flush()
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(self._settings.linger_s, self._flush)

    def _flush(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        gathered, self.gathered, self._size = self.gathered, {}, 0
        for fresh in (False, True):
            groups = {key: entries for (key, asked_anew), entries in gathered.items() if asked_anew == fresh}
            if 0 < len(groups) < self._settings.live_below:
                for entry in _all(groups.values()):
                    entry.answer.set_result(None)
            elif groups:
                self._queue.start(self._guarded(self._send(groups, fresh), groups))

    async def _guarded(self, work: Coroutine[Any, Any, None], groups: dict[str, list[_Entry]]) -> None:
        """Whatever ends the work, a defect included, no caller is left waiting."""
        try:
            await work
        except Exception as error:
            _fail(_all(groups.values()), error)

    async def _send(self, groups: dict[str, list[_Entry]], fresh: bool) -> None:
        """Submits a batch and collects it; one that is refused for want of room is submitted again later."""
        for attempt in range(1, self._settings.attempts + 1):
            record = self._folder.begin(str(self._service.client.endpoint), self._asked.model, tuple(groups), fresh)
            self.waiting[record.label] = groups
            self._queue.busy(record.label)
            try:
                record = await self._submit(record, groups)
                refused = await self._collect(record)
            finally:
                self._queue.resting(record.label)
            if refused is None:
                return
            self.waiting.pop(record.label, None)
            self._folder.drop(record)
            if not isinstance(refused, RateLimitedError) or not refused.retryable or attempt == self._settings.attempts:
                raise refused
            self._queue.say(f"{refused}; submitting it again in a while")
            await heard(self._left, self._settings.longest_poll_s)

    async def _submit(self, record: BatchRecord, groups: dict[str, list[_Entry]]) -> BatchRecord:
        lines = [(record.custom_id(key), entries[0].body) for key, entries in groups.items()]
        for attempt, pause in enumerate(self._settings.pauses(), 1):
            try:
                batch_id = await self._service.submit(record.label, lines, self._asked, self._headers)
                break
            except ProviderError as error:
                if (found := await self._found_after(error, record)) is not None:
                    batch_id = found
                    break
                if not error.retryable or attempt == self._settings.attempts or self._left.is_set():
                    self.waiting.pop(record.label, None)
                    self._folder.drop(record)
                    if isinstance(error, NotFoundError):
                        raise ConfigurationError(
                            f"{error}. Has this server a batch API? Leave out --batch to ask it live"
                        ) from None
                    raise error from None
                await asyncio.sleep(max(pause * random.uniform(0.5, 1.0), error.retry_after or 0.0))
        record = self._folder.change(record, state=BatchState.SUBMITTED, batch_id=batch_id)
        self._queue.say(
            f"batch {batch_id}: {len(lines):,} requests to {self._asked.model} submitted; it may take a day. Ctrl-C "
            "leaves it to the provider, and the same command collects it"
        )
        return record

    async def _found_after(self, error: ProviderError, record: BatchRecord) -> str | None:
        """The batch that exists although its submission seemed to fail.

        Raises:
            BatchPendingError: that is unknown for now; submitting again might pay twice.
        """
        if not error.sent or (error.status is not None and 400 <= error.status < 500):
            return None
        for pause in self._settings.pauses():
            await asyncio.sleep(pause)
            try:
                return await self._find(record)
            except ProviderError as other:
                error = other
        raise BatchPendingError(
            f"it is unknown whether a batch of {len(record.keys):,} requests was submitted: {error}. Run the same "
            "command again to check and resume"
        )

    async def _find(self, record: BatchRecord, foreign: Iterable[str] = ()) -> str | None:
        known = frozenset(one.batch_id for one in self._folder.records.values() if one.batch_id) | set(foreign)
        return await self._service.find(record.label, record.begun_at, len(record.keys), known, self._asked)

    def _attach(self, record: BatchRecord, entry: _Entry) -> None:
        """Waits for a batch of an earlier process, or of this one."""
        if (answers := self._answers.get(record.label)) is not None:
            self._hand_over(record, entry.key, [entry], answers)
            return
        begun = record.label in self.waiting
        groups = self.waiting.setdefault(record.label, {})
        groups.setdefault(entry.key, []).append(entry)
        if not begun:
            self._queue.busy(record.label)
            self._queue.start(self._guarded(self._resume(record), groups))

    async def _resume(self, record: BatchRecord) -> None:
        """Goes on with a batch of an earlier process from wherever that left it."""
        try:
            if record.state is BatchState.FETCHED:
                await asyncio.sleep(0)  # let all who belong to it attach
                self._deliver(record, self._read(record, self._folder.results(record), Ending(record.unanswered)))
                return
            foreign: set[str] = set()
            while True:
                adopted = record.state is BatchState.BEGUN
                if adopted:
                    if (found := await self._find(record, foreign)) is None:
                        self._start_anew(record)
                        return
                    self._queue.say(f"batch {found} was submitted by a run that died; it is collected, not sent again")
                    record = self._folder.change(record, state=BatchState.SUBMITTED, batch_id=found)
                if (refused := await self._collect(record, adopted=adopted)) is None:
                    return
                if not isinstance(refused, _ForeignBatchError):
                    self._start_anew(record)
                    return
                foreign.add(record.batch_id or "")
                record = self._folder.change(record, state=BatchState.BEGUN, batch_id=None)
        finally:
            self._queue.resting(record.label)

    def _start_anew(self, record: BatchRecord) -> None:
        """A batch that does not exist, or was refused as a whole: its requests go into another one."""
        self._folder.drop(record)
        for entry in _all(self.waiting.pop(record.label, {}).values()):
            if not entry.answer.done():
                self._gather(entry)

    async def _collect(self, record: BatchRecord, *, adopted: bool = False) -> ProviderError | None:
        """Waits for a batch and hands its answers over; returns why, where there are none to hand over."""
        if (status := await self._ended(record)) is None:
            return None
        if status.refusal is not None:
            return error_from_response(status.refusal[0], {}, status.refusal[1], self._asked)
        self._queue.busy(record.label)
        files, results = await self._fetch(record, status)
        if adopted and results.unknown and results.missing == len(record.keys):
            return _ForeignBatchError(f"batch {record.batch_id} belongs to another run")
        record = self._folder.fetched(record, files, status.unanswered.value)
        if oddities := results.oddities():
            self._queue.say(f"batch {record.batch_id}: {oddities}; missing answers are asked for again")
        self._deliver(record, results)
        return None

    async def _ended(self, record: BatchRecord) -> BatchStatus | None:
        """Looks at a batch again and again until it has ended; None where the run is left before."""
        wait, troubles, told_at, done = self._settings.first_poll_s, 0, time.monotonic(), -1
        assert record.batch_id is not None
        while not self._left.is_set():
            try:
                status = await self._service.look(record.batch_id, self._asked)
                troubles = 0
            except ProviderError as error:
                troubles += 1
                if not error.retryable or troubles > 4 * self._settings.attempts:
                    self.waiting.pop(record.label, None)
                    if isinstance(error, NotFoundError):  # deleted, or gone after a month
                        self._folder.drop(record)
                    raise
                self._queue.say(f"batch {record.batch_id} cannot be checked: {error}; trying again")
            else:
                if status.ended:
                    return status
                self._queue.resting(record.label)
                if status.done != done and time.monotonic() - told_at > _TOLD_EVERY_S:
                    done, told_at = status.done, time.monotonic()
                    self._queue.say(f"batch {record.batch_id}: {status.done:,} of {status.total:,} requests done")
            await heard(self._left, wait * random.uniform(0.8, 1.0))
            wait = min(1.5 * wait, self._settings.longest_poll_s)
        return None

    async def _fetch(self, record: BatchRecord, status: BatchStatus) -> tuple[list[bytes], BatchResults]:
        """Fetches the results; again where a file is cut, as often as settings allow."""
        last: ProviderError | None = None
        for attempt, pause in enumerate(self._settings.pauses(), 1):
            try:
                files = [await self._service.fetch(source, self._asked) for source in status.sources]
            except ProviderError as error:
                last = error
                if not error.retryable:
                    raise
            else:
                results = self._read(record, files, status.unanswered)
                if not results.cut or attempt == self._settings.attempts:
                    return files, results
            await asyncio.sleep(pause)
        raise BatchPendingError(f"the results of batch {record.batch_id} cannot be fetched: {last}. Try again later")

    def _read(self, record: BatchRecord, files: Sequence[bytes], unanswered: Ending) -> BatchResults:
        return self._service.results(files, [record.custom_id(key) for key in record.keys], unanswered)

    def _deliver(self, record: BatchRecord, results: BatchResults) -> None:
        answers = self._answers[record.label] = {key: results.answers[record.custom_id(key)] for key in record.keys}
        for key, entries in self.waiting.pop(record.label, {}).items():
            self._hand_over(record, key, entries, answers)
        self._queue.progressed()

    def _hand_over(
        self, record: BatchRecord, key: str, entries: Iterable[_Entry], answers: dict[str, BatchAnswer]
    ) -> None:
        for entry in entries:
            if not entry.answer.done():
                entry.answer.set_result(answers[key])
        self._folder.delivered(record, key)
        if self._folder.all_delivered(record):
            self._answers.pop(record.label, None)


class _ForeignBatchError(BadRequestError):
    """A batch that was taken for ours by its size contains other requests."""


def _all(groups: Iterable[Iterable[_Entry]]) -> list[_Entry]:
    return [entry for group in groups for entry in group]


def _fail(entries: Iterable[_Entry], error: BaseException) -> None:
    for entry in entries:
        if not entry.answer.done():
            entry.answer.set_exception(copy.copy(error))
