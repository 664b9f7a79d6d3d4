"""Several worker processes that serve one address on a shared store.

uvicorn's own supervisor (``uvicorn.supervisors.Multiprocess``, as of 0.54) is not sufficient. It restarts a worker at
once and forever, without increasing pauses. One worker that cannot start, because the database is briefly unavailable,
ends all others; one that dies at its start is restarted forever. It waits without limit for a worker to end. And its
workers import everything again, while forked workers share the memory of imports.
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
"""Pauses before the restart of a worker that ended early; they double from the first to the longest."""
STEADY_S: Final = 10.0
"""A worker that served at least this long is restarted at once."""
FAILED_STARTS: Final = 3
"""Consecutive failed starts without a serving worker after which the service ends."""
STOP_S: Final = 30.0
"""Seconds that workers have to end after the stop signal, if none are given; then they are killed."""
_STOPPED_BY: Final = (signal.SIGINT, signal.SIGTERM)

Serve = Callable[[Callable[[], None]], None]


def supervise(serve: Serve, workers: int, stop_s: float = STOP_S) -> None:
    """Runs worker processes until this process is stopped; ended workers are restarted.

    Args:
        serve: serves until its process is stopped; calls its argument once it can answer requests. Each worker runs
            it in its own process.
        stop_s: seconds that workers have to end after the stop signal; then they are killed.

    Raises:
        ConfigurationError: no worker can start; the workers have printed the reason.
    """
    failure = _Supervisor(serve, workers, stop_s).run()
    if failure is not None:
        raise ConfigurationError(failure)


@dataclass(slots=True)
class _Worker:
    """A worker process, or the pause before its restart (``pid`` is None until after ``due``).

    ``pipe`` receives a byte once the worker serves, and is closed when its process ends for any reason.
    """

    due: float = 0.0
    pid: int | None = None
    pipe: int = -1
    serving_since: float | None = None
    soon_ended: int = 0


class _Supervisor:
    def __init__(self, serve: Serve, workers: int, stop_s: float) -> None:
        self._serve = serve
        self._stop_s = stop_s
        self._workers = [_Worker() for _ in range(workers)]
        self._failed_starts = 0
        self._failure: str | None = None
        self._stop_by: float | None = None
        self._stop_requested = False
        self._wake, self._waker = os.pipe()

    def run(self) -> str | None:
        """Returns when all workers have ended: None if this process was stopped, else why no worker can start."""
        before = {one: signal.signal(one, self._request_stop) for one in _STOPPED_BY}
        try:
            while self._stop_by is None or any(one.pid for one in self._workers):
                self._step()
        finally:
            for one, handler in before.items():
                signal.signal(one, handler)
            os.close(self._wake)
            os.close(self._waker)
        return self._failure

    def _request_stop(self, _number: int, _frame: FrameType | None) -> None:
        self._stop_requested = True
        os.write(self._waker, b".")

    def _step(self) -> None:
        if self._stop_requested and self._stop_by is None:
            self._stop()
        now = time.monotonic()
        if self._stop_by is None:
            for one in self._workers:
                if one.pid is None and one.due <= now:
                    self._start(one)
        elif now >= self._stop_by:
            self._signal(signal.SIGKILL)
        pipes = {one.pipe: one for one in self._workers if one.pid is not None}
        readable, _, _ = select.select([self._wake, *pipes], [], [], self._timeout(now))
        for pipe in readable:
            if pipe == self._wake:
                os.read(pipe, 100)
            elif os.read(pipe, 1):
                pipes[pipe].serving_since = time.monotonic()
                self._failed_starts = 0
            else:
                self._ended(pipes[pipe])

    def _timeout(self, now: float) -> float | None:
        """Seconds until the next scheduled action; None for none."""
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
        if since is not None:
            return
        self._failed_starts += 1
        if self._failed_starts < FAILED_STARTS or any(one.serving_since is not None for one in self._workers):
            return
        how = f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
        self._failure = (
            f"no worker could start, {self._failed_starts} times in a row; the last one {how}: see its output above"
        )
        self._stop()

    def _stop(self) -> None:
        self._stop_by = time.monotonic() + self._stop_s
        self._signal(signal.SIGTERM)

    def _signal(self, number: signal.Signals) -> None:
        for one in self._workers:
            if one.pid is not None:
                os.kill(one.pid, number)


def _run(serve: Serve, alive: int) -> None:
    """Runs a worker's process and exits."""
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
        os._exit(code)  # never return into the parent's code
