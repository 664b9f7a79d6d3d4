"""The driver's own session: it has store, run record, policy in force, reviews and batches, as a run in one process.

Calls of Ray block, so the session lives on an event loop of its own, in a thread.
"""

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from types import TracebackType
from typing import Any, Self, TypeVar

from metajudge.distributed.window import BATCH, HELD, REPLY, Handler, serve
from metajudge.providers.batch_lane import lane_of
from metajudge.providers.batch_model import batch_service
from metajudge.providers.batch_queue import BatchQueue, LaneKey
from metajudge.providers.spec import PROVIDERS, parse_agent_spec
from metajudge.runs.loop import RunEnd, Stop
from metajudge.runs.totals import RunTotals
from metajudge.vetting.engine import Engine

T = TypeVar("T")

_WORKERS = "workers"
"""What keeps the queue busy beside its batches."""


class Driver:
    """An engine that is open, and whose run is recorded, within ``with``."""

    def __init__(self, engine: Engine, totals: RunTotals) -> None:
        self.engine = engine
        self._totals = totals
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="driver", daemon=True)
        self._stop: Stop | None = None
        self._ended = asyncio.Event()
        self._error: BaseException | None = None
        self._held: Future[None] | None = None
        self._serving: Future[None] | None = None
        self._batches: DriverBatches | None = None

    def __enter__(self) -> Self:
        self._thread.start()
        opened: Future[None] = Future()
        self._held = asyncio.run_coroutine_threadsafe(self._hold(opened), self._loop)
        try:
            opened.result()
        except BaseException:
            self._leave()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._held is not None
        self._error = error
        self.answer_no_more()
        self._loop.call_soon_threadsafe(self._ended.set)
        try:
            self._held.result()
        except BaseException:
            if error is None:
                raise  # else the run's own error goes on
        finally:
            self._leave()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs a coroutine to its end on the session's loop."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def interrupted(self) -> None:
        """Leaves batches to their provider."""
        stop = self._stop
        assert stop is not None
        self._loop.call_soon_threadsafe(stop.ask, RunEnd.INTERRUPTED)

    def answer(self, window: Any, ranges: int) -> None:
        """Begins to answer workers' questions; see :mod:`metajudge.distributed.window`."""
        handlers = self.run(self._handlers(ranges))
        self._serving = asyncio.run_coroutine_threadsafe(serve(window, handlers), self._loop)

    def ended(self, name: str) -> None:
        """Notes that a range of the work list has ended."""
        if self._batches is not None:
            self._loop.call_soon_threadsafe(self._batches.heard_of, name)

    def answer_no_more(self) -> None:
        """Ends :meth:`answer`; harmless where it was not begun."""
        if self._serving is not None:
            self._serving.cancel()

    async def _hold(self, opened: "Future[None]") -> None:
        try:
            async with self.engine as engine:
                self._stop = Stop()
                async with engine.recording(self._totals, self._stop):
                    opened.set_result(None)
                    await self._ended.wait()
                    await engine.finishing.open_reviews()
                    if self._error is not None:
                        # Any other would end the loop's thread.
                        raise self._error if isinstance(self._error, Exception) else asyncio.CancelledError
        except BaseException as error:
            if not opened.done():
                opened.set_exception(error)
            raise

    def _leave(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _handlers(self, ranges: int) -> dict[str, Handler]:
        queue = self.engine.resources.batches
        found: dict[str, Handler] = {}
        if self.engine.store is not None:
            found[REPLY] = self.engine.store.find_reply
        if isinstance(queue, BatchQueue):
            batches = self._batches = DriverBatches(self.engine, queue, ranges)
            found |= {BATCH: batches.ask, HELD: batches.held}
        return found


class DriverBatches:
    """Puts workers' requests into the driver's batches.

    The batches are not left to their provider before every range has been heard of: workers start one after the other.
    """

    def __init__(self, engine: Engine, queue: BatchQueue, ranges: int) -> None:
        self._awaited, self._heard = ranges, set[str]()
        queue.busy(_WORKERS)
        self._resources = engine.resources
        self._queue = queue
        specs = [parse_agent_spec(agent.spec()) for agent in engine.config.all_agents]
        self._specs = {(spec.endpoint, spec.model): spec for spec in specs}

    def heard_of(self, name: str) -> None:
        """Notes that a range has asked something, or has ended."""
        if name not in self._heard:
            self._heard.add(name)
            if len(self._heard) == self._awaited:
                self._queue.resting(_WORKERS)

    async def ask(self, question: tuple[LaneKey, str, bool, bytes, str]) -> Any:
        """The answer to a request, once its batch has it."""
        (endpoint, model, headers), key, fresh, body, name = question
        self.heard_of(name)
        spec = self._specs[endpoint, model]
        variable = PROVIDERS[spec.provider].key_variable
        client = self._resources.clients.client(endpoint, self._resources.key_for(spec), variable)
        client.open()
        lane = lane_of(self._queue, batch_service(client), client.asked(model), headers)
        return await lane.ask(key, fresh, body)

    async def held(self, _: Any) -> frozenset[tuple[str, bool]]:
        """Requests that are in batches under way, with whether they are asked anew."""
        records = self._queue.folder.records.values()
        return frozenset((key, record.fresh) for record in records for key in record.keys)
