"""What the adapters share: one judgment vetted, by the library in this process or by a running service."""

import asyncio
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from metajudge.client import AsyncClient
from metajudge.errors import ConfigurationError
from metajudge.panels.config import PanelConfig, load_panel_file
from metajudge.settings import Settings
from metajudge.types import Assessment, Judgment
from metajudge.vetting.engine import Engine

ENGINE_OPTIONS = (
    *("rubric", "strategy", "threshold", "cut", "seed", "store", "calibration", "allow_other_calibration", "policy"),
    *("audit_share", "reviewers", "concurrency", "budget_usd"),
)
SERVICE_OPTIONS = ("panel", "rubric", "strategy", "policy")


@dataclass(slots=True)
class _Shared:
    """The engine of one event loop, open while anybody vets."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    users: int = 0
    engine: Engine | None = None


class Vetting:
    """Vets judgments one by one, as an evaluation tool hands them over.

    Such tools do not signal when they are done, so the engine is open while a judgment is being vetted and closed with
    the last one under way: connections are shared, and a store is not held longer than it is used.

    Args:
        agents: as for :class:`~metajudge.vetting.engine.Engine`.
        config: a panel file.
        service: URL of a running `metajudge serve`, in place of agents. Its key is METAJUDGE_API_KEY, or in the
            settings file: tools write what a scorer was given into their logs.
        options: of the engine, or of the service's request (``panel``, ``rubric``, ``strategy``, ``policy``).

    Raises:
        ConfigurationError: an option that is unknown, or agents and a service together.
    """

    def __init__(
        self,
        agents: Sequence[Any] = (),
        *,
        config: str | Path | None = None,
        service: str | None = None,
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
        self._shared: WeakKeyDictionary[asyncio.AbstractEventLoop, _Shared] = WeakKeyDictionary()

    async def vet(self, judgment: Judgment) -> Assessment:
        """Vets one judgment.

        Raises:
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
                engine = Engine(self._agents, panel=self._panel, command="adapter", **self._options)
                shared.engine = await engine.__aenter__()
            shared.users += 1
            return shared.engine

    async def _leave(self, shared: _Shared) -> None:
        async with shared.lock:
            shared.users -= 1
            if shared.users == 0 and shared.engine is not None:
                engine, shared.engine = shared.engine, None
                await engine.__aexit__(None, None, None)


def vetting_one(
    what: str,
    otherwise: str,
    when: Mapping[str, str],
    agents: Sequence[Any],
    config: str | None,
    service: str | None,
    options: Mapping[str, Any] | None,
    made: Vetting | None = None,
) -> Vetting:
    """What vets the results of one judge of a tool, each without another beside it.

    Args:
        what: one result, for messages.
        otherwise: what may become of one that does not count; the other choice is ``keep``.
        when: option -> the choice made.
        options: further ones of :class:`Vetting`.
        made: the result, where the caller has one; agents, config, service and options are then not read.

    Raises:
        ConfigurationError: another choice, or neither agents nor a panel file nor a service.
    """
    for name, value in when.items():
        if value not in (otherwise, "keep"):
            raise ConfigurationError(f"{name} is {otherwise!r} or 'keep', not {value!r}")
    if made is not None:
        return made
    if not agents and config is None and service is None:
        raise ConfigurationError(
            f"a single {what} has no free evidence: give agents=[...], config=PANEL_FILE or service=URL"
        )
    return Vetting(agents, config=config, service=service, **(options or {}))


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
