"""Progress on standard error: a live line on a terminal, a plain line now and then elsewhere."""

import sys
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from metajudge.providers.metering import Meter
from metajudge.runs.totals import RunTotals

LIVE_EVERY_S = 0.2
PLAIN_EVERY_S = 10.0
WINDOW_S = 30.0
"""The time left follows from what was done in so many seconds."""
EARLIEST_S = 1.0
"""No time left is shown before, as the pace is not known."""
AFTER_READING = 1.0
"""What weighing and keeping results takes of the time that reading the input took, where no model is asked."""


class Progress:
    """Shows rate, spend, failures and the time left during a run.

    Args:
        totals: of the run, read as they grow.
        meter: of the run's calls.
        total: records to come, None where unknown; a function where it becomes known as the input is read.
        clock: seconds from any start; None for the system's.
    """

    def __init__(
        self,
        totals: RunTotals,
        meter: Meter,
        total: int | Callable[[], int | None] | None,
        clock: Callable[[], float] | None = None,
    ) -> None:
        self._totals = totals
        self._meter = meter
        self._total = total if callable(total) else lambda: total
        self._clock = clock or (lambda: time.monotonic())
        self._started = self._shown = self._clock()
        self._live: Any = None
        self._read: tuple[int, int | None] | None = None
        self._began: tuple[float, int] | None = None
        self._recent: deque[tuple[float, int]] = deque()

    def __enter__(self) -> "Progress":
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.live import Live

            self._live = Live(self.line(), console=Console(stderr=True), refresh_per_second=5, transient=True)
            self._live.start()
        return self

    def __exit__(self, *_ended: object) -> None:
        if self._live is not None:
            self._live.stop()

    def update(self) -> None:
        """Refreshes the display if it is time to."""
        now = self._clock()
        if now - self._shown < (LIVE_EVERY_S if self._live is not None else PLAIN_EVERY_S):
            return
        self._shown = now
        if self._live is not None:
            self._live.update(self.line())
        else:
            print(self.line(), file=sys.stderr)  # noqa: T201

    def heard(self, read: tuple[int, int | None]) -> None:
        """Notes how much of the input was read, before there are results: bytes of so many.

        Where the number of bytes is unknown (None), records are counted instead.
        """
        self._read = read
        self.update()

    def line(self) -> str:
        """The state of the run in one line."""
        if self._read is not None and not self._totals.done:
            return self._reading(*self._read)
        totals, meter, total = self._totals, self._meter, self._total()
        now = self._clock()
        elapsed = max(now - self._started, 1e-9)
        rate = totals.done / elapsed
        parts = [f"{totals.done}{'' if total is None else f'/{total}'} {totals.NOUN}", f"{rate:.1f}/s"]
        parts.append(f"{meter.sent} calls")
        parts.append(f"${meter.cost_usd:.4f}{' + unpriced' if meter.unpriced else ''}")
        if totals.lost or meter.failures:
            parts.append(f"{totals.lost} {totals.LOST}, {sum(meter.failures.values())} failed calls")
        left = None if total is None else self._left(total - totals.done, now)
        if left is not None:
            parts.append(f"{_duration(left)} left")
        return ", ".join(parts)

    def _left(self, records: int, now: float) -> float | None:
        """Seconds for so many records at the pace of late; None as long as there is no pace.

        The pace is that of results that took work, since the first of them or within :data:`WINDOW_S`: what was read
        before, and what was only taken from the store, says nothing of what is left.
        """
        worked = self._totals.done - self._totals.taken_over
        if self._began is None:
            if worked <= 0:
                return None if self._totals.done <= 0 else self._at(self._totals.done, now - self._started, records)
            # The first results stand for the wait before them, where nothing was read first.
            self._began = (self._started if self._read is None else now, 0 if self._read is None else worked)
            self._recent.append(self._began)
        self._recent.append((now, worked))
        while len(self._recent) > 2 and self._recent[1][0] < now - WINDOW_S:
            self._recent.popleft()
        then, before = self._recent[0]
        return self._at(worked - before, now - then, records)

    @staticmethod
    def _at(done: int, seconds: float, records: int) -> float | None:
        if done <= 0 or seconds < EARLIEST_S:
            return None
        return max(records, 0) * seconds / done

    def _reading(self, done: int, total: int | None) -> str:
        if total is None:
            return f"reading: {done:,} {self._totals.NOUN}"
        elapsed = self._clock() - self._started
        whole = elapsed * total / done * (1 + AFTER_READING) if done else 0.0
        left = f", {_duration(whole - elapsed)} left" if done and elapsed >= EARLIEST_S else ""
        return f"reading: {100 * done / max(total, 1):.0f} % of {total / 1e6:,.1f} MB{left}"


def _duration(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}" if minutes >= 60 else f"{minutes}:{rest:02}"
