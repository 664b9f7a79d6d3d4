"""The event loop of a command: uvloop where it is installed, and a garbage collector that keeps out of the way."""

import asyncio
import gc
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

# Imported SDKs are half a million objects that never die; the default of 700 has them walked over many times a
# second. What vetting itself allocates is freed by reference counts.
YOUNG_OBJECTS = 5_000


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
