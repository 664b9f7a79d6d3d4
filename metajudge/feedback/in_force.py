"""Which version of a policy is in force."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

from metajudge.decision import Policy, load_policy
from metajudge.feedback.loop import ACTIVATION, POLICY, FeedbackLoop
from metajudge.rubric.yaml_documents import looks_like_path
from metajudge.store.protocol import Store

FRESH_S = 2.0
"""Seconds that a looked-up version counts where another process may activate a policy."""

MOST_KNOWN = 1_000


async def policy_in_force(given: str | Path | Policy, store: Store | None) -> Policy:
    """The policy to decide by; its content is kept in the store, so that decisions can be explained later.

    Args:
        given: a policy or its file, taken as it is; or a name, for the version that was last activated in the store,
            else the built-in one.

    Raises:
        PolicyError: no such policy, or a file that is not one.
    """
    named = isinstance(given, str) and not looks_like_path(given)
    if isinstance(given, Policy):
        policy = given
    elif named and store is not None:
        policy = await FeedbackLoop(store, clock=time.time).active(str(given))
    else:
        policy = load_policy(given)
    if store is not None:
        await FeedbackLoop(store, clock=time.time).register(policy)
    return policy


class PoliciesInForce:
    """Remembers which version of each named policy is in force, so that not every vet asks the audit log.

    What this process puts in force counts at once, what others do on a database they share within :data:`FRESH_S`.

    Args:
        clock: seconds from any moment on.
    """

    def __init__(self, store: Store, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._clock = clock
        self._known: dict[str, tuple[tuple[int, ...], float, Policy]] = {}
        self._asking = asyncio.Lock()

    async def named(self, name: str) -> Policy:
        """The version in force; see :func:`policy_in_force`.

        Raises:
            PolicyError: no such policy.
        """
        found = self._remembered(name)
        if found is not None:
            return found
        async with self._asking:  # one asks for all who wait, and registers it once
            found = self._remembered(name)
            if found is None:
                moved, at = self._moved(), self._clock()  # what is added meanwhile makes the answer old
                found = await policy_in_force(name, self._store)
                if len(self._known) >= MOST_KNOWN:
                    self._known.clear()
                self._known[name] = (moved, at, found)
        return found

    def _remembered(self, name: str) -> Policy | None:
        moved, at, policy = self._known.get(name, ((), 0.0, None))
        fresh = moved == self._moved() and self._clock() - at < FRESH_S
        return policy if fresh else None

    def _moved(self) -> tuple[int, ...]:
        return tuple(self._store.audit_log.appended(kind) for kind in (ACTIVATION, POLICY))
