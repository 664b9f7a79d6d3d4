"""An event loop whose waiting is over at once: a program that waits for a time of its own finds that it has passed."""

import asyncio
import selectors
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from unittest import mock

LONGEST_S = 30.0
"""Only waits that are no longer pass at once: others are time limits of what does happen."""

PATIENCE_S = 0.03
"""So long does nothing have to happen, and no server be at work, before a wait is over."""


@contextmanager
def quick_time(is_busy: Callable[[], bool], longest_s: float = LONGEST_S) -> Iterator[None]:
    """Event loops that are made inside skip waits of at most so many seconds, except while a server is at work."""

    class Selector(selectors.DefaultSelector):  # type: ignore[misc,valid-type]
        skipped = 0.0

        def select(self, timeout=None):
            if timeout is None or not PATIENCE_S < timeout <= longest_s:
                return super().select(timeout)
            end = time.monotonic() + timeout
            found = super().select(PATIENCE_S)
            while not found and is_busy() and time.monotonic() < end:
                found = super().select(PATIENCE_S)
            self.skipped += 0.0 if found else max(0.0, end - time.monotonic())
            return found

    class Loop(asyncio.SelectorEventLoop):
        def __init__(self) -> None:
            self.selector = Selector()
            super().__init__(self.selector)

        def time(self) -> float:
            return time.monotonic() + self.selector.skipped

    class Policy(asyncio.DefaultEventLoopPolicy):
        def new_event_loop(self):
            return Loop()

    before = asyncio.get_event_loop_policy()
    asyncio.set_event_loop_policy(Policy())
    try:
        with mock.patch.dict(sys.modules, {"uvloop": None}):
            yield
    finally:
        asyncio.set_event_loop_policy(before)
