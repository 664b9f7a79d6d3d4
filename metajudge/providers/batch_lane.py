"""The batches of one model: gather, submit, wait, fetch, hand over."""

import asyncio
import copy
import random
import time
from collections.abc import Coroutine, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from metajudge.concurrency import heard
from metajudge.errors import (
    BadReplyError,
    BadRequestError,
    BatchPendingError,
    ConfigurationError,
    ContextTooLongError,
    ModelTimeoutError,
    NotFoundError,
    ProviderError,
    RateLimitedError,
)
from metajudge.providers.batch_folder import BatchRecord, BatchState
from metajudge.providers.batch_protocol import BatchAnswer, BatchLine, BatchService, BatchStatus, Ending
from metajudge.providers.batch_queue import BatchQueue, Lane
from metajudge.providers.batch_results import BatchResults, read_results
from metajudge.providers.http_errors import Asked, error_from_response

_AROUND_BODY = 200
"""Bytes of a line besides the body: custom id, method, URL."""

_TOLD_EVERY_S = 60.0


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
    """

    def __init__(
        self, queue: BatchQueue, service: BatchService, asked: Asked, headers: tuple[tuple[str, str], ...]
    ) -> None:
        self._queue = queue
        self._folder = queue.folder
        self._settings = queue.settings
        self._service = service
        self._asked = asked
        self._headers = headers
        self._gathered: dict[tuple[str, bool], list[_Entry]] = {}
        self._size = 0
        self._timer: asyncio.TimerHandle | None = None
        self._waiting: dict[str, dict[str, list[_Entry]]] = {}
        self._answers: dict[str, dict[str, BatchAnswer]] = {}
        self._left = asyncio.Event()
        limit = service.limits.requests
        self._most = min(limit, self._settings.max_requests or limit)

    @property
    def gathering(self) -> bool:
        """Whether requests wait to be submitted."""
        return bool(self._gathered)

    @property
    def asked_for(self) -> bool:
        """Whether anybody waits for a batch."""
        return any(self._waiting.values())

    def holds(self, key: str, fresh: bool) -> bool:
        """Whether a batch under way, or one whose answers have been fetched, contains this request."""
        return self._folder.find(key, fresh) is not None

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
        record = self._folder.find(key, fresh)
        if record is None:
            self._gather(entry)
        else:
            self._attach(record, entry)
        return await entry.answer

    def release(self) -> None:
        """Tells everyone who waits that the answer is pending, and stops looking at batches."""
        self._left.set()
        if self._timer is not None:
            self._timer.cancel()
        entries = [entry for group in self._gathered.values() for entry in group]
        entries += [one for batch in self._waiting.values() for group in batch.values() for one in group]
        self._gathered.clear()
        self._waiting.clear()
        _fail(entries, self._queue.pending())

    def _gather(self, entry: _Entry) -> None:
        size = len(entry.body) + _AROUND_BODY
        most = self._service.limits.bytes
        if size > most:
            problem = f"a request of {size:,} bytes for {self._asked} is more than a whole batch may contain ({most:,})"
            _fail([entry], ContextTooLongError(f"{problem}. Shorten the input", sent=False))
            return
        if self._size + size > most:
            self._flush()
        self._gathered.setdefault((entry.key, entry.fresh), []).append(entry)
        self._size += size
        if len(self._gathered) >= self._most:
            self._flush()
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(self._settings.linger_s, self._flush)

    def _flush(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        gathered, self._gathered, self._size = self._gathered, {}, 0
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
            record = self._folder.begin(str(self._service.endpoint), self._asked.model, tuple(groups), fresh)
            self._waiting[record.label] = groups
            self._queue.busy(record.label)
            try:
                record = await self._submit(record, groups)
                refused = await self._collect(record)
            finally:
                self._queue.resting(record.label)
            if refused is None:
                return
            self._waiting.pop(record.label, None)
            self._folder.drop(record)
            if not isinstance(refused, RateLimitedError) or not refused.retryable or attempt == self._settings.attempts:
                raise refused
            self._queue.say(f"{refused}; submitting it again in a while")
            await self._pause(self._settings.longest_poll_s)

    async def _submit(self, record: BatchRecord, groups: dict[str, list[_Entry]]) -> BatchRecord:
        lines = [BatchLine(record.custom_id(key), entries[0].body) for key, entries in groups.items()]
        wait = min(1.0, self._settings.first_poll_s)
        for attempt in range(1, self._settings.attempts + 1):
            try:
                batch_id = await self._service.submit(record.label, lines, self._asked, self._headers)
                break
            except ProviderError as error:
                found = await self._found_after(error, record)
                if found is not None:
                    batch_id = found
                    break
                if not error.retryable or attempt == self._settings.attempts or self._left.is_set():
                    self._waiting.pop(record.label, None)
                    self._folder.drop(record)
                    if isinstance(error, NotFoundError):
                        raise ConfigurationError(
                            f"{error}. Has this server a batch API? Leave out --batch to ask it live"
                        ) from None
                    raise error from None
                await asyncio.sleep(max(wait * random.uniform(0.5, 1.0), error.retry_after or 0.0))
                wait = min(2 * wait, self._settings.longest_poll_s)
        record = self._folder.submitted(record, batch_id)
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
        unclear = error.sent and (error.status is None or error.status < 400 or error.status >= 500)
        if not unclear:
            return None
        wait = min(1.0, self._settings.first_poll_s)
        for _ in range(self._settings.attempts):
            await asyncio.sleep(wait)
            wait = min(2 * wait, self._settings.longest_poll_s)
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
        answers = self._answers.get(record.label)
        if answers is not None:
            self._hand_over(record, entry.key, [entry], answers)
            return
        begun = record.label in self._waiting
        groups = self._waiting.setdefault(record.label, {})
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
                    found = await self._find(record, foreign)
                    if found is None:
                        self._start_anew(record)
                        return
                    self._queue.say(f"batch {found} was submitted by a run that died; it is collected, not sent again")
                    record = self._folder.submitted(record, found)
                refused = await self._collect(record, adopted=adopted)
                if refused is None:
                    return
                if not isinstance(refused, _ForeignBatchError):
                    self._start_anew(record)
                    return
                foreign.add(record.batch_id or "")
                record = self._folder.disowned(record)
        finally:
            self._queue.resting(record.label)

    def _start_anew(self, record: BatchRecord) -> None:
        """A batch that does not exist, or was refused as a whole: its requests go into another one."""
        self._folder.drop(record)
        for entry in _all(self._waiting.pop(record.label, {}).values()):
            if not entry.answer.done():
                self._gather(entry)

    async def _collect(self, record: BatchRecord, *, adopted: bool = False) -> ProviderError | None:
        """Waits for a batch and hands its answers over; returns why, where there are none to hand over."""
        status = await self._ended(record)
        if status is None:
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
        wait, troubles, told_at = self._settings.first_poll_s, 0, time.monotonic()
        done = -1
        assert record.batch_id is not None
        while not self._left.is_set():
            try:
                status = await self._service.look(record.batch_id, self._asked)
                troubles = 0
            except ProviderError as error:
                troubles += 1
                if not error.retryable or troubles > 4 * self._settings.attempts:
                    self._waiting.pop(record.label, None)
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
            await self._pause(wait * random.uniform(0.8, 1.0))
            wait = min(1.5 * wait, self._settings.longest_poll_s)
        return None

    async def _fetch(self, record: BatchRecord, status: BatchStatus) -> tuple[list[bytes], BatchResults]:
        """Fetches the results; again where a file is cut, as often as settings allow."""
        wait = min(1.0, self._settings.first_poll_s)
        last: ProviderError | None = None
        for attempt in range(1, self._settings.attempts + 1):
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
            await asyncio.sleep(wait)
            wait = min(2 * wait, self._settings.longest_poll_s)
        assert last is not None
        raise BatchPendingError(f"the results of batch {record.batch_id} cannot be fetched: {last}. Try again later")

    def _read(self, record: BatchRecord, files: Sequence[bytes], unanswered: Ending) -> BatchResults:
        ids = [record.custom_id(key) for key in record.keys]
        return read_results(files, ids, self._service.read, unanswered)

    def _deliver(self, record: BatchRecord, results: BatchResults) -> None:
        answers = self._answers[record.label] = {key: results.answers[record.custom_id(key)] for key in record.keys}
        for key, entries in self._waiting.pop(record.label, {}).items():
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

    async def _pause(self, seconds: float) -> None:
        """Waits, or returns at once when the run is left."""
        await heard(self._left, seconds)


def lane_of(queue: BatchQueue, service: BatchService, asked: Asked, headers: tuple[tuple[str, str], ...]) -> Lane:
    """The lane of one model in a run's queue, made on first use."""
    key = (service.endpoint, asked.model, headers)
    return queue.lane(key, lambda own: BatchLane(own, service, asked, headers))


class _ForeignBatchError(BadRequestError):
    """A batch that was taken for ours by its size contains other requests."""


def answer_error(answer: BatchAnswer, asked: Asked) -> ProviderError:
    """The typed error of an answer that is none, as the same would be live."""
    match answer.ending:
        case Ending.EXPIRED:
            return ModelTimeoutError(f"{asked} did not answer this request before the batch expired", status=408)
        case Ending.CANCELED:
            return BadRequestError(
                f"the batch was canceled before {asked} answered this request; run the same command again to ask it",
                status=409,
            )
        case Ending.CONTRADICTORY:
            return BadReplyError(f"the batch contains several different answers of {asked} to this request")
        case Ending.MISSING:
            return BadReplyError(f"the batch's results contain no answer of {asked} to this request", status=502)
    assert answer.status is not None
    return error_from_response(answer.status, {}, answer.content, asked)


def _all(groups: Iterable[Iterable[_Entry]]) -> list[_Entry]:
    return [entry for group in groups for entry in group]


def _fail(entries: Iterable[_Entry], error: BaseException) -> None:
    for entry in entries:
        if not entry.answer.done():
            entry.answer.set_exception(copy.copy(error))
