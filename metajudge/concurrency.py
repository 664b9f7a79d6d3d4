"""Ordered concurrency: the one place that starts tasks for a known set of coroutines."""

import asyncio
import contextlib
import gc
from collections.abc import Callable, Coroutine, Iterable, Iterator
from typing import Any, TypeVar

T = TypeVar("T")

# Imported modules are several hundred thousand objects that never die; the default has them walked over many times a
# second. What vetting itself allocates is freed by reference counts.
YOUNG_OBJECTS = 5_000
"""Threshold of the garbage collector for young objects in commands and the service."""


_set_apart = False


def set_modules_apart() -> None:
    """Leaves out what is in memory now, which is mostly modules, from all later garbage collections."""
    global _set_apart
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS, 20, 100)
    _set_apart = True


def take_modules_back() -> None:
    """Ends that, for the interpreter's end, which would take what stays for leaked."""
    global _set_apart
    gc.unfreeze()
    _set_apart = False


@contextlib.contextmanager
def modules_kept() -> Iterator[None]:
    """Imports within it are not looked at by the garbage collector.

    Nor by later collections, in a process that has set its modules apart (commands and the service): elsewhere that
    would keep garbage of the caller's.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if _set_apart:
            gc.freeze()
        if enabled:
            gc.enable()


LONG_TEXT = 20_000
"""Texts of at least this many characters are processed in a thread: they take a millisecond or more."""


async def off_the_loop(work: Callable[[], T], characters: int) -> T:
    """Does work on untrusted text; long texts in a thread, so that the event loop is not blocked.

    Args:
        work: pure computation, with patterns whose time grows linearly with the text.
        characters: how long the texts are together.
    """
    return await asyncio.to_thread(work) if characters >= LONG_TEXT else work()


async def heard(event: asyncio.Event, most_s: float) -> bool:
    """Waits for an event, at most so many seconds; returns whether it is set.

    A cancellation that comes together with the event is raised, too: ``asyncio.wait_for`` loses it before Python 3.12.
    """
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(most_s):
            await event.wait()
    return event.is_set()


async def all_of(coroutines: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Runs coroutines at once and returns their results in order.

    If one raises, the others still run to their end (what they have asked for is paid for), and then the first
    error in order is raised. Being cancelled cancels all.
    """
    outcomes = await asyncio.gather(*coroutines, return_exceptions=True)
    results: list[T] = []
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome
        results.append(outcome)
    return results
