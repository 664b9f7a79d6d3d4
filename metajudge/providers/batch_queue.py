"""Requests gathered into batches: who asks waits until the provider's batch has the answer, for minutes or a day.

Requests of one model that arrive together go out together. Each batch is noted down before it is submitted
(:mod:`metajudge.providers.batch_folder`), so that a run which is stopped or dies resumes from there, and none is
submitted twice.
"""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from metajudge.errors import BatchPendingError, ConfigurationError, ProviderError
from metajudge.providers.batch_folder import BatchFolder
from metajudge.providers.model import Endpoint

if TYPE_CHECKING:
    from metajudge.providers.batch_protocol import BatchAnswer


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


@dataclass(slots=True)
class Probe:
    """The first request of a model, asked live: under way, done, or failed in a way all others would."""

    done: bool = False
    running: asyncio.Event | None = None
    failed: ProviderError | None = None


LaneKey = tuple[Endpoint, str, tuple[tuple[str, str], ...]]
"""Endpoint, model and headers: requests that have these in common may share a batch."""


class Lane(Protocol):
    """Where requests of one model wait for their batch; see :mod:`metajudge.providers.batch_lane`."""

    @property
    def gathering(self) -> bool: ...

    @property
    def asked_for(self) -> bool: ...

    def holds(self, key: str, fresh: bool) -> bool: ...

    async def ask(self, key: str, fresh: bool, body: bytes) -> "BatchAnswer | None": ...

    def release(self) -> None: ...


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
    lanes: dict[LaneKey, Lane] = field(init=False, default_factory=dict)
    _probes: dict[tuple[Endpoint, str], Probe] = field(init=False, default_factory=dict)
    _tasks: set[asyncio.Task[None]] = field(init=False, default_factory=set)
    _busy: set[str] = field(init=False, default_factory=set)
    _deadline: asyncio.TimerHandle | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.folder = BatchFolder(self.settings.folder)

    def probe(self, endpoint: Endpoint, model: str) -> Probe:
        """The probe of a model, shared by all who ask it."""
        return self._probes.setdefault((endpoint, model), Probe(done=not self.settings.probe))

    def lane(self, key: LaneKey, make: "Callable[[BatchQueue], Lane]") -> Lane:
        """The lane of requests that may share a batch; ``make`` makes it on first use."""
        if key not in self.lanes:
            self.lanes[key] = make(self)
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
        if self._busy or any(lane.gathering for lane in self.lanes.values()):
            self.progressed()
        elif any(lane.asked_for for lane in self.lanes.values()):
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
