"""How a command runs: its event loop, what Ctrl-C does, notes beside the output."""

import asyncio
import contextlib
import gc
import signal
import sys
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from metajudge.concurrency import YOUNG_OBJECTS

T = TypeVar("T")


def run(main: Coroutine[Any, Any, T]) -> T:
    """Runs a command's coroutine to its end."""
    gc.set_threshold(YOUNG_OBJECTS, 20, 100)
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        return runner.run(main)


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ImportError:
        return None
    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory


def say(sentence: str) -> None:
    """Tells the user something beside the output."""
    print(f"metajudge: note: {sentence}", file=sys.stderr)  # noqa: T201


def stop_on_interrupt(stop: Any, end: Any) -> None:
    """The first Ctrl-C lets calls in flight finish, the second one does not."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()

    def interrupted() -> None:
        if stop.asked and task is not None:
            task.cancel()
            return
        say("stopping: calls in flight get ten seconds to finish; Ctrl-C again stops at once")
        stop.ask(end)

    for name in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(NotImplementedError):
            loop.add_signal_handler(name, interrupted)
