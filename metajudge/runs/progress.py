"""Progress on standard error: a live line on a terminal, a plain line now and then elsewhere."""

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any

from metajudge.providers.metering import Meter
from metajudge.runs.totals import RunTotals

LIVE_EVERY_S = 0.2
PLAIN_EVERY_S = 10.0


class Progress:
    """Shows rate, spend, failures and the time left during a run.

    Args:
        totals: of the run, read as they grow.
        meter: of the run's calls.
        total: records to come, None where unknown; a function where it becomes known as the input is read.
    """

    def __init__(self, totals: RunTotals, meter: Meter, total: int | Callable[[], int | None] | None) -> None:
        self._totals = totals
        self._meter = meter
        self._total = total if callable(total) else lambda: total
        self._started = self._shown = time.monotonic()
        self._live: Any = None
        self._read: tuple[int, int | None] | None = None

    def __enter__(self) -> "Progress":
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.live import Live

            self._live = Live(self.line(), console=Console(stderr=True), refresh_per_second=5, transient=True)
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def update(self) -> None:
        """Refreshes the display if it is time to."""
        now = time.monotonic()
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
        elapsed = max(time.monotonic() - self._started, 1e-9)
        rate = totals.done / elapsed
        parts = [f"{totals.done}{'' if total is None else f'/{total}'} {totals.NOUN}", f"{rate:.1f}/s"]
        parts.append(f"{meter.sent} calls")
        parts.append(f"${meter.cost_usd:.4f}{' + unpriced' if meter.unpriced else ''}")
        if totals.lost or meter.failures:
            parts.append(f"{totals.lost} {totals.LOST}, {sum(meter.failures.values())} failed calls")
        if total is not None and rate > 0:
            parts.append(f"{_duration(max(total - totals.done, 0) / rate)} left")
        return ", ".join(parts)

    def _reading(self, done: int, total: int | None) -> str:
        if total is None:
            return f"reading: {done:,} {self._totals.NOUN}"
        elapsed = time.monotonic() - self._started
        left = f", {_duration(elapsed * (total - done) / done)} left" if done else ""
        return f"reading: {100 * done / max(total, 1):.0f} % of {total / 1e6:,.1f} MB{left}"


def _duration(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}" if minutes >= 60 else f"{minutes}:{rest:02}"
