"""Growing pauses between attempts, up to a time limit."""

import random
import threading
import time
from typing import Final

PATIENCE_S: Final = 20.0
"""How long a database that does not answer is asked again before an error is raised."""
_RETRY_S: Final = (0.05, 2.0)


class Pauses:
    """Growing pauses between attempts, up to a time limit."""

    def __init__(self, patience_s: float) -> None:
        self._until = time.monotonic() + patience_s
        self._next, self._longest = _RETRY_S

    @property
    def over(self) -> bool:
        return not self.left

    @property
    def left(self) -> float:
        """Seconds until the time limit, at least 0."""
        return max(0.0, self._until - time.monotonic())

    def wait(self, stop: threading.Event) -> bool:
        """Waits for the next pause; False if no time is left, or ``stop`` was set."""
        pause = min(self._next * (0.5 + random.random()), self.left)
        self._next = min(2 * self._next, self._longest)
        return not self.over and not stop.wait(pause)
