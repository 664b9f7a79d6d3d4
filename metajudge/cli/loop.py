"""How a command runs: its event loop, what Ctrl-C does, the store that it reads, notes beside the output."""

import asyncio
import contextlib
import signal
import sys
import threading
from collections.abc import Awaitable, Callable, Coroutine
from importlib import import_module
from types import FrameType
from typing import Any, TypeVar

from metajudge.cli.boundary import leave_at_once
from metajudge.cli.options import store_path
from metajudge.concurrency import set_modules_apart, take_modules_back
from metajudge.errors import StoreError
from metajudge.outcomes.sending import sending, webhook_of
from metajudge.runs.loop import RunEnd, Stop
from metajudge.settings import Settings
from metajudge.store import Store, open_store

T = TypeVar("T")

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class _Interrupts:
    """Handling of Ctrl-C while a command's event loop runs.

    The first one asks the run to stop if the command has a stop function, else cancels it. The second one ends the
    process at once: acknowledged records are in the store's log. These are signal handlers of the
    interpreter and not of the loop, whose own run only between two steps and not while a long one blocks it.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.stop: Callable[[], None] | None = None
        self._loop = loop
        self._task: asyncio.Task[object] | None = None
        self._heard = False

    async def watch(self, main: Coroutine[Any, Any, T]) -> T:
        """Handles signals from here on; ``main`` is cancelled if the command has no stop function."""
        self._task = asyncio.current_task()
        if threading.current_thread() is threading.main_thread():
            for name in _SIGNALS:
                signal.signal(name, self._interrupted)
        return await main

    def _interrupted(self, _number: int, _frame: FrameType | None) -> None:
        if self._heard:
            leave_at_once("stopped at once; finished work is kept: run the same command again to resume")
        self._heard = True
        if self._task is None or self._task.done():
            raise KeyboardInterrupt
        self._loop.call_soon_threadsafe(self._first)

    def _first(self) -> None:
        if self.stop is not None:
            self.stop()
        elif self._task is not None:
            self._task.cancel()


_current: _Interrupts | None = None


def run(main: Coroutine[Any, Any, T]) -> T:
    """Runs a command's coroutine to its end.

    Raises:
        KeyboardInterrupt: Ctrl-C cancelled it.
    """
    global _current
    set_modules_apart()
    before = [(name, signal.getsignal(name)) for name in _SIGNALS]
    factory: Callable[[], asyncio.AbstractEventLoop] | None = None
    with contextlib.suppress(ImportError):
        factory = import_module("uvloop").new_event_loop
    try:
        with asyncio.Runner(loop_factory=factory) as runner:
            _current = interrupts = _Interrupts(runner.get_loop())
            return runner.run(interrupts.watch(main))
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
    finally:
        take_modules_back()
        _current = None
        for name, handler in before:
            if signal.getsignal(name) is not handler:
                signal.signal(name, handler)


def run_stoppable(main: Callable[[Stop], Coroutine[Any, Any, T]]) -> T:
    """Runs a coroutine that the first Ctrl-C asks to stop, instead of cancelling it; see :func:`run`."""
    stop = Stop()

    async def stoppable() -> T:
        stop_on_interrupt(stop)
        return await main(stop)

    return run(stoppable())


def say(sentence: str) -> None:
    """Prints a note on standard error."""
    print(f"metajudge: note: {sentence}", file=sys.stderr)  # noqa: T201


def stop_on_interrupt(stop: Stop) -> None:
    """The first Ctrl-C lets calls in flight finish; the second one ends the process at once."""

    def stopping() -> None:
        say("stopping: calls in flight get ten seconds to finish; Ctrl-C again stops at once")
        stop.ask(RunEnd.INTERRUPTED)

    if _current is not None:
        _current.stop = stopping


def with_store(
    given: str | None,
    use: Callable[[Store], Awaitable[T]],
    *,
    maker: str = "vet",
    option: str = "--store",
    decides: bool = False,
) -> T:
    """Opens the store, uses it and closes it.

    Args:
        given: the value of ``--store``; None for the default place.
        use: receives the open store; its result is returned.
        maker: the command that makes such a store, for the message.
        option: the option that names a store.
        decides: whether people decide: then the outcomes go to the webhook of the settings, if there is one.

    Raises:
        StoreError: there is no store, or it cannot be opened.
    """
    path = store_path(given)
    if not path.exists():
        raise StoreError(f"{path}: no such store; name it with {option}, or make one with `metajudge {maker}`")

    hook = webhook_of(Settings.load()) if decides else None

    async def opened() -> T:
        store = await open_store(path)
        try:
            if hook is None:
                return await use(store)
            async with sending(store, hook, say):
                return await use(store)
        finally:
            await store.close()

    return run(opened())
