"""What the adapters share: one judgment vetted, by the library in this process or by a running service."""

import asyncio
import random
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from metajudge.client import AsyncClient
from metajudge.errors import ConfigurationError, StoreLockedError
from metajudge.panels.config import PanelConfig, load_panel_file
from metajudge.rubric.yaml_documents import looks_like_path
from metajudge.settings import Settings
from metajudge.store import open_store
from metajudge.store.protocol import Store
from metajudge.types import Assessment, Judgment
from metajudge.types.location import StoreLocation, store_location
from metajudge.vetting.engine import Engine

ENGINE_OPTIONS = (
    *("rubric", "strategy", "threshold", "cut", "seed", "store", "calibration", "allow_other_calibration", "policy"),
    *("audit_share", "reviewers", "concurrency", "budget_usd"),
)
SERVICE_OPTIONS = ("panel", "rubric", "strategy", "policy")
STORE_WAIT_S = 120.0
"""How long a vetting waits for a store's file that other processes use in turn."""
_LOOKS_S = (0.02, 0.2)
"""A store in use is tried again after a random time in this range, in seconds, so that waiting processes take turns."""


@dataclass(slots=True)
class _Shared:
    """The engine of one event loop, open while anybody vets."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    users: int = 0
    engine: Engine | None = None
    store: Store | None = None


class Vetting:
    """Vets judgments one by one, as an evaluation tool hands them over.

    Such tools do not signal when they are done, so the engine is open while a judgment is being vetted and closed with
    the last one under way: connections are shared, and a store is not held longer than it is used.

    Tools run several processes, and one process at a time can have a store's file: a vetting waits for it. Where it
    stays in use, the judgment is vetted all the same and the outcome is not stored; :attr:`notice` says so. A lock is
    thus never taken for a verdict that failed.

    Args:
        agents: as for :class:`~metajudge.vetting.engine.Engine`.
        config: a panel file.
        store_wait_s: seconds to wait for a store that is in use; not at all for one that a service owns.
        service: URL of a running `metajudge serve`, in place of agents. Its key is METAJUDGE_API_KEY, or in the
            settings file: tools write what a scorer was given into their logs.
        options: of the engine, or of the service's request (``panel``, ``rubric``, ``strategy``, ``policy``).

    Attributes:
        notice: why outcomes are not stored, where they are not.

    Raises:
        ConfigurationError: an option that is unknown, or agents and a service together.
    """

    def __init__(
        self,
        agents: Sequence[Any] = (),
        *,
        config: str | Path | None = None,
        service: str | None = None,
        store_wait_s: float = STORE_WAIT_S,
        **options: Any,
    ) -> None:
        known = ENGINE_OPTIONS if service is None else SERVICE_OPTIONS
        unknown = sorted(set(options) - set(known))
        if unknown:
            raise ConfigurationError(f"vetting has no option {', '.join(unknown)}; there are: {', '.join(known)}")
        if service is not None and (agents or config is not None):
            raise ConfigurationError("a service has its own agents: leave out agents and config, or the service")
        self._service = service
        self._agents = tuple(agents)
        self._panel: PanelConfig | None = None if config is None else load_panel_file(Path(config))
        self._options = {name: value for name, value in options.items() if value is not None}
        self._store = self._options.pop("store", None)
        self._store_wait_s = store_wait_s
        self.notice: str | None = None
        self._shared: WeakKeyDictionary[asyncio.AbstractEventLoop, _Shared] = WeakKeyDictionary()

    async def vet(self, judgment: Judgment) -> Assessment:
        """Vets one judgment.

        Raises:
            StoreLockedError: the store stays in use, and the policy in force is stored in it.
            MetajudgeError: see :mod:`metajudge.errors`; a service's problem is a ``ServiceError``.
        """
        if self._service is not None:
            async with AsyncClient(self._service, Settings.load().service_key) as client:
                return await client.vet(judgment, **self._options)
        shared = self._shared.setdefault(asyncio.get_running_loop(), _Shared())
        engine = await self._enter(shared)
        try:
            return await engine.vet(judgment)
        finally:
            await asyncio.shield(self._leave(shared))

    def vet_now(self, judgment: Judgment) -> Assessment:
        """The same for callers that cannot await; an event loop that runs meanwhile stands still.

        Raises:
            MetajudgeError: as for :meth:`vet`.
        """
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(self.vet(judgment))
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(asyncio.run, self.vet(judgment)).result()

    async def _enter(self, shared: _Shared) -> Engine:
        async with shared.lock:
            if shared.engine is None:
                shared.store = await self._opened()
                engine = Engine(
                    self._agents,
                    panel=self._panel,
                    command="adapter",
                    **self._options,
                    store=shared.store or self._given(),
                )
                try:
                    shared.engine = await engine.__aenter__()
                except BaseException:
                    await _close(shared)
                    raise
            shared.users += 1
            return shared.engine

    async def _leave(self, shared: _Shared) -> None:
        async with shared.lock:
            shared.users -= 1
            if shared.users == 0 and shared.engine is not None:
                engine, shared.engine = shared.engine, None
                try:
                    await engine.__aexit__(None, None, None)
                finally:
                    await _close(shared)

    def _given(self) -> Store | None:
        """A store that the caller opened, and closes."""
        return None if isinstance(self._store, str | StoreLocation) else self._store

    async def _opened(self) -> Store | None:
        """The store that is named, once it can be had; None where none is, or where it stays in use."""
        if not isinstance(self._store, str | StoreLocation):
            return None
        deadline = time.monotonic() + (0.0 if self.notice else self._store_wait_s)
        while True:
            try:
                store = await open_store(store_location(self._store))
            except StoreLockedError as error:
                if error.service_url is not None or time.monotonic() > deadline:
                    self._go_without_store(error)
                    return None
                await asyncio.sleep(random.uniform(*_LOOKS_S))
            else:
                self.notice = None
                return store

    def _go_without_store(self, error: StoreLockedError) -> None:
        policy = self._options.get("policy")
        if isinstance(policy, str) and not looks_like_path(policy):
            raise error  # the version in force is recorded in the store
        self.notice = f"not stored: {error}"


async def _close(shared: _Shared) -> None:
    store, shared.store = shared.store, None
    if store is not None:
        await store.close()


def summary_of(assessment: Assessment) -> dict[str, Any]:
    """What a tool's log keeps of an assessment: the decision, and where it comes from."""
    return {
        "judgment_id": assessment.judgment_id,
        "status": assessment.status.value,
        "accepted": assessment.kept,
        "decided_by": assessment.decided_by,
        "final_score": assessment.final_score,
        "probability": assessment.probability,
        "decision": None if assessment.decision is None else assessment.decision.action.value,
        "failure": None if assessment.failure is None else assessment.failure.model_dump(mode="json"),
        "strategy": assessment.strategy,
        "threshold": assessment.threshold,
        "agents": [f"{one.agent} ({one.model})" for one in assessment.agents],
        "rubric_digest": assessment.rubric_digest,
        "panel_digest": assessment.panel_digest,
        "cost_usd": assessment.cost_usd,
        "metajudge_version": assessment.metajudge_version,
    }


def reason_of(assessment: Assessment) -> str:
    """One sentence: what was decided about the judgment, and by what score."""
    by = ", ".join(f"{one.agent} ({one.model})" for one in assessment.agents) or "free evidence"
    if assessment.decision is not None or assessment.decided_by in ("probability", "agreement"):
        done = {"keep": "keeps the judgment", "discard": "discards the judgment", "ask": "leaves it to a person"}
        return f"metajudge {done[assessment.do.action]}: {assessment.do.reason}, by {by}"
    if assessment.accepted is None:
        failure = assessment.failure
        why = "no reason is known" if failure is None else f"{failure.kind.value}: {failure.message}"
        return f"metajudge could not decide on the judgment ({why}); asked: {by}"
    verb = "keeps" if assessment.accepted else "discards"
    if assessment.guarantee is not None and assessment.probability is not None:
        return f"metajudge {verb} the judgment: probability {assessment.probability:.3f} of being right, by {by}"
    score = "" if assessment.final_score is None else f" score {assessment.final_score:.2f},"
    return f"metajudge {verb} the judgment:{score} threshold {assessment.threshold:g}, by {by}"
