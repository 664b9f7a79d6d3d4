"""Slots for calls in flight at one endpoint: fewer while the provider keeps answering that it is too much."""

import asyncio
from collections import deque

_WINDOW = 20
_TOO_MANY = 8


class AdaptiveSlots:
    """A first come, first served semaphore whose size follows the provider's rate limit.

    Where 8 of the last 20 answers were "rate limited", the number of slots is halved; each other answer adds
    one divided by their number (additive increase, multiplicative decrease, as in TCP's congestion control).
    Single refusals among good answers change nothing. Only answers to calls that started after the last
    halving count towards the next.

    Args:
        most: the number of slots while nothing is refused.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._allowed = float(most)
        self._taken = 0
        self._queue: deque[asyncio.Future[None]] = deque()
        self._recent: deque[bool] = deque(maxlen=_WINDOW)
        self._era = 0

    @property
    def allowed(self) -> int:
        """How many slots there are at present."""
        return int(self._allowed)

    async def acquire(self) -> int:
        """Waits for a slot.

        Returns:
            A mark to hand to :meth:`release`.
        """
        if self._taken < self.allowed and not self._queue:
            self._taken += 1
            return self._era
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():  # granted and cancelled at once: the next in line has it
                self._taken -= 1
            self._grant()
            raise
        return self._era

    def release(self, mark: int, limited: bool | None) -> None:
        """Gives a slot back.

        Args:
            limited: whether the provider answered that it is asked too much; None without an answer.
        """
        self._taken -= 1
        if limited is not None:
            self._learn(mark, limited)
        self._grant()

    def _learn(self, mark: int, limited: bool) -> None:
        if not limited:
            self._allowed = min(self._most, self._allowed + 1 / self._allowed)
        if mark != self._era:
            return
        self._recent.append(limited)
        if limited and sum(self._recent) >= _TOO_MANY:
            self._allowed = max(1.0, self._allowed / 2)
            self._recent.clear()
            self._era += 1

    def _grant(self) -> None:
        while self._queue and self._taken < self.allowed:
            turn = self._queue.popleft()
            if not turn.done():
                self._taken += 1
                turn.set_result(None)
