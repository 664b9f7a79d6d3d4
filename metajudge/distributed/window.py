"""What workers ask of the driver: it alone has the store and the batches open.

Questions and answers pass through an actor, because the driver of a run on Ray cannot be called.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from itertools import count
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from metajudge.distributed.journal import current_batch
from metajudge.errors import MetajudgeError
from metajudge.providers.batch_queue import BatchQueue, LaneKey, OwnLane, Probe
from metajudge.providers.model import Endpoint

if TYPE_CHECKING:
    from metajudge.providers.batch_protocol import BatchAnswer

AT_ONCE: Final = 100_000
"""Questions that may be open at a time: with batches, every call in flight is one."""

REPLY, BATCH, HELD = "reply", "batch", "held"
"""Kinds of questions: a stored reply, the answer of a batch, and which requests are in batches already."""

Handler: TypeAlias = Callable[[Any], Awaitable[Any]]


class Window:
    """Carries questions to the driver and answers back; Ray runs it as an actor."""

    def __init__(self) -> None:
        self._numbers = count()
        self._asked: list[tuple[int, str, Any]] = []
        self._answers: dict[int, asyncio.Future[Any]] = {}
        self._news = asyncio.Event()

    async def ask(self, kind: str, what: Any) -> Any:
        """The driver's answer, and the error where it is one."""
        number = next(self._numbers)
        answer = self._answers[number] = asyncio.get_running_loop().create_future()
        self._asked.append((number, kind, what))
        self._news.set()
        return await answer

    async def take(self) -> list[tuple[int, str, Any]]:
        """The questions since the last time; waits until there is one."""
        await self._news.wait()
        self._news.clear()
        asked, self._asked = self._asked, []
        return asked

    async def answer(self, number: int, found: Any, error: MetajudgeError | None) -> None:
        """Answers a question."""
        answer = self._answers.pop(number)
        if not answer.done():
            answer.set_result((found, error))


async def serve(window: Any, handlers: Mapping[str, Handler]) -> None:
    """Answers workers' questions until it is cancelled.

    Args:
        handlers: kind of question -> what answers it.
    """
    open_questions = set[asyncio.Task[None]]()

    async def reply(number: int, kind: str, what: Any) -> None:
        found, error = None, None
        try:
            found = await handlers[kind](what)
        except MetajudgeError as raised:
            error = raised
        except Exception as raised:  # a worker must not wait for ever
            error = MetajudgeError(f"the driver of the run failed: {raised!r}")
        await window.answer.remote(number, found, error)

    try:
        while True:
            for question in await window.take.remote():
                task = asyncio.create_task(reply(*question))
                open_questions.add(task)
                task.add_done_callback(open_questions.discard)
    finally:
        for task in tuple(open_questions):
            task.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.gather(*open_questions, return_exceptions=True)


async def ask(window: Any, kind: str, what: Any = None) -> Any:
    """Asks the driver.

    Raises:
        MetajudgeError: what the driver's answer is.
    """
    found, error = await window.ask.remote(kind, what)
    if error is not None:
        raise error
    return found


class RemoteBatches:
    """A worker's :class:`~metajudge.providers.batch_queue.Batches`: the driver gathers the requests of all workers.

    Args:
        held: keys of requests that are in batches already, with whether they are asked anew.
    """

    def __init__(self, window: Any, held: frozenset[tuple[str, bool]], *, probe: bool) -> None:
        self._window = window
        self._held = held
        self._probe = probe
        self._probes: dict[tuple[Endpoint, str], Probe] = {}

    def probe(self, endpoint: Endpoint, model: str) -> Probe:
        """The probe of a model, shared by the agents of this worker."""
        return self._probes.setdefault((endpoint, model), Probe(done=not self._probe))

    def lane(self, key: LaneKey, make: Callable[[BatchQueue], OwnLane]) -> "RemoteLane":
        """The driver's lane."""
        return RemoteLane(self._window, key, self._held)


class RemoteLane:
    """A lane of the driver's queue."""

    def __init__(self, window: Any, lane: LaneKey, held: frozenset[tuple[str, bool]]) -> None:
        self._window, self._lane, self._held = window, lane, held

    def holds(self, key: str, fresh: bool) -> bool:
        """Whether a batch had this request when the worker started."""
        return (key, fresh) in self._held

    async def ask(self, key: str, fresh: bool, body: bytes) -> "BatchAnswer | None":
        """See :meth:`~metajudge.providers.batch_lane.BatchLane.ask`."""
        found: BatchAnswer | None = await ask(self._window, BATCH, (self._lane, key, fresh, body, current_batch.get()))
        return found
