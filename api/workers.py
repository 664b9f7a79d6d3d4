"""Several processes that serve one address, on a store that they can share.

uvicorn's own supervisor (``uvicorn.supervisors.Multiprocess``, as of 0.54) is not enough here. It starts a worker that
ended anew at once and for ever, where the pauses here double. One worker that cannot start, because the database is
away for a moment, ends all others; one that dies while it starts is started again for ever. It waits without limit for
a worker that does not end. And its workers import everything anew, where a fork shares the memory of what was imported.
"""

import os
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType
from typing import Final

from metajudge.errors import ConfigurationError, MetajudgeError

FIRST_PAUSE_S: Final = 0.5
LONGEST_PAUSE_S: Final = 30.0
"""Pauses before a worker that ended soon is started again: they double from the first to the longest."""
STEADY_S: Final = 10.0
"""A worker that served this long before it ended is started again at once."""
FAILED_STARTS: Final = 3
"""Starts in a row that may fail while no worker serves; then the service ends."""
STOP_S: Final = 30.0
"""Seconds that workers have to end once they are told to; then they are killed."""
_STOPPED_BY: Final = (signal.SIGINT, signal.SIGTERM)

Serve = Callable[[Callable[[], None]], None]


def supervise(serve: Serve, workers: int) -> None:
    """Runs so many processes until this one is told to stop; one that ends is started again.

    Args:
        serve: serves until the process is told to stop, in a process of its own each; calls what it is given once it
            can answer requests.

    Raises:
        ConfigurationError: no worker can start; the workers have said why.
    """
    failure = _Supervisor(serve, workers).run()
    if failure is not None:
        raise ConfigurationError(failure)


@dataclass(slots=True)
class _Worker:
    """A process, or the pause before it is started again (``pid`` None, from ``due`` on it can be started).

    ``pipe`` gets a byte once the worker serves, and is closed when its process has ended, however that came about.
    """

    due: float = 0.0
    pid: int | None = None
    pipe: int = -1
    serving_since: float | None = None
    soon_ended: int = 0


class _Supervisor:
    def __init__(self, serve: Serve, workers: int) -> None:
        self._serve = serve
        self._workers = [_Worker() for _ in range(workers)]
        self._failed_starts = 0
        self._failure: str | None = None
        self._stop_by: float | None = None
        self._told = False
        self._wake, self._waker = os.pipe()

    def run(self) -> str | None:
        """Returns when all workers have ended: None where this process was told to stop, else why none can start."""
        before = {one: signal.signal(one, self._tell) for one in _STOPPED_BY}
        try:
            while self._stop_by is None or any(one.pid for one in self._workers):
                self._step()
        finally:
            for one, handler in before.items():
                signal.signal(one, handler)
            os.close(self._wake)
            os.close(self._waker)
        return self._failure

    def _tell(self, _number: int, _frame: FrameType | None) -> None:
        self._told = True
        os.write(self._waker, b".")

    def _step(self) -> None:
        if self._told and self._stop_by is None:
            self._stop()
        now = time.monotonic()
        if self._stop_by is None:
            for one in self._workers:
                if one.pid is None and one.due <= now:
                    self._start(one)
        elif now >= self._stop_by:
            self._signal(signal.SIGKILL)
        pipes = {one.pipe: one for one in self._workers if one.pid is not None}
        heard, _, _ = select.select([self._wake, *pipes], [], [], self._patience(now))
        for pipe in heard:
            if pipe == self._wake:
                os.read(pipe, 100)
            elif os.read(pipe, 1):
                pipes[pipe].serving_since = time.monotonic()
                self._failed_starts = 0
            else:
                self._ended(pipes[pipe])

    def _patience(self, now: float) -> float | None:
        """Seconds until there is something to do even if nothing happens."""
        if self._stop_by is not None:
            return max(0.1, self._stop_by - now)
        due = [one.due for one in self._workers if one.pid is None]
        return max(0.0, min(due) - now) if due else None

    def _start(self, worker: _Worker) -> None:
        ended, alive = os.pipe()
        signal.pthread_sigmask(signal.SIG_BLOCK, _STOPPED_BY)  # until the child has handlers of its own
        pid = os.fork()
        if pid == 0:
            _run(self._serve, alive)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOPPED_BY)
        os.close(alive)
        worker.pid, worker.pipe, worker.serving_since = pid, ended, None

    def _ended(self, worker: _Worker) -> None:
        assert worker.pid is not None
        os.close(worker.pipe)
        code = os.waitstatus_to_exitcode(os.waitpid(worker.pid, 0)[1])
        now = time.monotonic()
        since, worker.pid, worker.serving_since = worker.serving_since, None, None
        if self._stop_by is not None:
            return
        if since is not None and now - since >= STEADY_S:
            worker.soon_ended, worker.due = 0, now
            return
        worker.due = now + min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2.0**worker.soon_ended)
        worker.soon_ended = min(worker.soon_ended + 1, 30)
        if since is None:
            self._start_failed(code)

    def _start_failed(self, code: int) -> None:
        self._failed_starts += 1
        if self._failed_starts < FAILED_STARTS or any(one.serving_since is not None for one in self._workers):
            return
        how = f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
        self._failure = (
            f"no worker could start, {self._failed_starts} times in a row; the last one {how}: "
            "what it said above tells why"
        )
        self._stop()

    def _stop(self) -> None:
        self._stop_by = time.monotonic() + STOP_S
        self._signal(signal.SIGTERM)

    def _signal(self, number: signal.Signals) -> None:
        for one in self._workers:
            if one.pid is not None:
                os.kill(one.pid, number)


def _run(serve: Serve, alive: int) -> None:
    """The life of a worker's process, which ends here."""
    code = 0
    try:
        for one in _STOPPED_BY:
            signal.signal(one, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOPPED_BY)

        def ready() -> None:
            os.write(alive, b".")

        serve(ready)
    except MetajudgeError as error:
        print(f"metajudge: {error}", file=sys.stderr, flush=True)  # noqa: T201
        code = 2
    except BaseException:
        traceback.print_exc()
        code = 1
    finally:
        os._exit(code)  # never back into what the parent was doing
