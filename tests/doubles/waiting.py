"""Time in tests: waiting for what is to become true, and a clock that only tests and waits move."""

import asyncio
import time


def until(found, what="", within=30.0):
    """The first true value of a call that is repeated; fails after so many seconds."""
    deadline = time.monotonic() + within
    while not (value := found()):
        assert time.monotonic() < deadline, what
        time.sleep(0.02)
    return value


async def reached(found, what="", within=30.0):
    """The first true value of an awaited call that is repeated; fails after so many seconds."""
    deadline = time.monotonic() + within
    while not (value := await found()):
        assert time.monotonic() < deadline, what
        await asyncio.sleep(0.02)
    return value


class Clock:
    """Seconds; ``waits`` are those that were slept."""

    def __init__(self, now=0.0):
        self.now, self.waits = now, []

    def __call__(self):
        return self.now

    async def sleep(self, seconds):
        self.waits.append(seconds)
        self.now += seconds
