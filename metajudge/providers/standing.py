"""What the calls so far tell about a model: is a failure one request's own, or would every further call meet it?

One request may be refused for what is in it, with any status. So nothing is concluded from one: calls are held back
only once several different requests failed alike, none has succeeded since, and another one, asked alone, failed too.
"""

import asyncio
from collections.abc import Callable
from typing import Final

from metajudge.errors import ProviderError
from metajudge.providers.wrapper import unsent

FEW: Final = 3
"""Different requests that must have failed before the next one is asked alone."""
MANY: Final = 12
"""The same for holding calls back where the model has answered before: a key that worked is rarely wrong."""
GRACE_S: Final = 0.25
"""How long concurrent first calls wait for the first one. A refusal needs a round trip and no generation."""


def loop_time() -> float:
    """Seconds by the clock of the running event loop, which its waits go by."""
    return asyncio.get_running_loop().time()


class Standing:
    """The evidence about one model at one endpoint with one key; shared by all who ask it.

    Args:
        hold_s: how long calls fail unsent once it is known that they would fail.
        grace_s: see :data:`GRACE_S`.
        clock: monotonic seconds.
    """

    def __init__(self, hold_s: float = 30.0, grace_s: float = GRACE_S, clock: Callable[[], float] = loop_time) -> None:
        self._hold_s, self._grace_s, self._clock = hold_s, grace_s, clock
        self._failed: set[str] = set()
        self._in_flight = 0
        self._answered = False
        self._held_by: ProviderError | None = None
        self._held_until = 0.0
        self._news = asyncio.Event()

    async def admit(self) -> None:
        """Waits until a request may be sent; :meth:`settle` must follow.

        Raises:
            ProviderError: it would fail as others did; it is not sent.
        """
        waited_until: float | None = None
        while True:
            self._check_hold()
            if self._in_flight and (not self._answered or len(self._failed) >= FEW):
                alone = len(self._failed) >= FEW
                if waited_until is None:
                    waited_until = self._clock() + self._grace_s
                left = None if alone else waited_until - self._clock()
                if left is None or left > 0:
                    self._news.clear()
                    try:
                        async with asyncio.timeout(left):
                            await self._news.wait()
                    except TimeoutError:
                        continue
                    waited_until = None  # one has ended: the next one shows more
                    continue
            self._in_flight += 1
            return

    def touch(self) -> None:
        """What is asked of the model has been made plainer: those that wait go on waiting."""
        self._tell()

    def settle(self, content: str, error: BaseException | None) -> None:
        """Tells how a request ended.

        Args:
            content: digest of what was asked, the same for several draws.
            error: None for an answer.
        """
        self._in_flight -= 1
        if error is None:
            self._answered = True
            self._failed.clear()
        elif isinstance(error, ProviderError):
            alone = len(self._failed) >= FEW and self._in_flight == 0
            if error.tells == "all":
                self._hold(error)
            elif error.tells == "something":
                other = content not in self._failed
                self._failed.add(content)
                if alone and other and len(self._failed) > (MANY if self._answered else FEW):
                    self._hold(error)
        self._tell()

    def _hold(self, error: ProviderError) -> None:
        self._held_by = error
        self._held_until = self._clock() + max(self._hold_s, error.retry_after or 0.0)

    def _check_hold(self) -> None:
        if self._held_by is None:
            return
        left = self._held_until - self._clock()
        if left <= 0:
            self._held_by = None
            return
        many = len(self._failed)
        earlier = f"{many} different requests" if many > 1 else "an earlier call"
        why = f"not sent, because {earlier} failed, none succeeded since, and this one would fail too"
        raise unsent(self._held_by, f"{why}: {self._held_by} (tried again in {left:.0f} s)")

    def _tell(self) -> None:
        self._news.set()
