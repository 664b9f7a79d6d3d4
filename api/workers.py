"""Several processes that serve one address, on a store that they can share."""

import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from types import FrameType

from metajudge.errors import ConfigurationError, MetajudgeError

STARTED_S = 5.0
"""A worker that ends sooner than this did not start, and is not started again."""


def supervise(serve: Callable[[], None], workers: int) -> None:
    """Runs so many processes until this one is told to stop; one that is killed is started again.

    Args:
        serve: serves until the process is told to stop, in a process of its own each.

    Raises:
        ConfigurationError: a worker ended right after its start; it has said why.
    """
    alive: dict[int, float] = {}
    stopping: list[int] = []

    def stop(number: int, _frame: FrameType | None) -> None:
        stopping.append(number)
        for pid in alive:
            os.kill(pid, signal.SIGTERM)

    before = {one: signal.signal(one, stop) for one in (signal.SIGINT, signal.SIGTERM)}
    failed = False
    try:
        for _ in range(workers):
            alive[_started(serve)] = time.monotonic()
        while alive:
            pid, _status = os.wait()
            lasted = time.monotonic() - alive.pop(pid)
            if stopping:
                continue
            if lasted < STARTED_S:
                failed = True
                stop(signal.SIGTERM, None)
            else:
                alive[_started(serve)] = time.monotonic()
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
    if failed:
        raise ConfigurationError("a worker could not start: what it said above tells why")


def _started(serve: Callable[[], None]) -> int:
    pid = os.fork()
    if pid:
        return pid
    for one in (signal.SIGINT, signal.SIGTERM):
        signal.signal(one, signal.SIG_DFL)
    code = 0
    try:
        serve()
    except MetajudgeError as error:
        print(f"metajudge: {error}", file=sys.stderr, flush=True)  # noqa: T201
        code = 2
    except BaseException:
        traceback.print_exc()
        code = 1
    finally:
        os._exit(code)  # never back into what the parent was doing
