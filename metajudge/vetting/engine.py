"""The engine: wires panel, providers and store together, and vets one judgment or a million."""

import asyncio
import time
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from metajudge.errors import ConfigurationError, FailureKind
from metajudge.evidence.index import EvidenceIndex
from metajudge.panels.building import build_answering_model, build_vetter, endpoint_limits, key_lookup
from metajudge.panels.config import AgentConfig, PanelConfig, with_flags
from metajudge.providers.budget import Budget
from metajudge.providers.limits import LimitSettings
from metajudge.providers.metering import Meter
from metajudge.providers.model import Model
from metajudge.providers.notices import Notices
from metajudge.providers.retry import RetryPolicy
from metajudge.providers.spec import AgentSpec
from metajudge.providers.stack import Resources
from metajudge.readers import JudgmentSource
from metajudge.readers.in_memory import JudgmentLike, as_judgment
from metajudge.runs.loop import Job, RunEnd, Stop, run_all
from metajudge.settings import Settings
from metajudge.store.protocol import RunRecord, Store
from metajudge.strategies import Panel, SignalEvidence, StrategyName, Vetter
from metajudge.types import AgentResult, Assessment, Judgment, Status
from metajudge.types.location import PostgresUrl, StoreLocation
from metajudge.vetting.finishing import Completion
from metajudge.vetting.summary import VetSummary

if TYPE_CHECKING:
    from metajudge.calibration.calibration import Calibration
    from metajudge.decision import Policy
    from metajudge.evidence.rewards import RewardScore
    from metajudge.providers.batch_queue import BatchQueue, BatchSettings
    from metajudge.vetting.policies import PoliciesInForce

Agents = Sequence[str | Model]

_A_YEAR_S = 365 * 86400.0
_BATCHES_A_CALL = 3
"""Batches that one call may go through when it expires or fails, a day each."""


class Engine:
    """Vets judgments with one panel; use it as ``async with Engine(...) as engine``.

    Args:
        agents: ``[NAME=]PROVIDER:MODEL[@BASE_URL]`` or :class:`~metajudge.providers.model.Model` objects; none
            for the strategy ``signals``, which asks no model.
        panel: a whole configuration; the other arguments are laid over it.
        policy: a decision policy, its file or its name: assessments get its decision on top, and what it sends to
            people is queued for review in the store. Switches early exit off.
        audit_share: probability with which what the policy approves or rejects is reviewed all the same.
        reviewers: how many people are to decide each review.
        store: a path or a postgresql:// URL, an open store (left open), or None to keep nothing.
        early_exit: stop asking once the decision is settled; None means off, unless the panel says otherwise.
        calibration: a calibration or its file: assessments get a probability and, where a guaranteed threshold is
            stored, its decision. One that reads agents' scores switches early exit off.
        allow_other_calibration: apply it although judges, agents, rubrics or prompts differ from those fitted on.
        concurrency: calls in flight at most.
        budget_usd: dollars this engine may spend; a model without a known price is refused then.
        budget: in place of ``budget_usd``, a budget in any currency, perhaps shared; the caller closes it.
        batch: ask through the providers' batch APIs, at half price and within a day; the same run again goes on.
        settings: where keys come from; read from the environment by default.
        notify: told each notice (a dropped setting, an unknown price) once.
        command: recorded with the run.

    Raises:
        ConfigurationError: on entering, see :mod:`metajudge.errors`.

    Example:
        >>> async with Engine(["openai:gpt-4o-mini"], rubric="short") as engine:  # doctest: +SKIP
        ...     assessment = await engine.vet(judgment)
    """

    def __init__(
        self,
        agents: Agents = (),
        *,
        panel: PanelConfig | None = None,
        rubric: str | None = None,
        strategy: str | None = None,
        threshold: float | None = None,
        seed: int | None = None,
        early_exit: bool | None = None,
        calibration: "str | Path | Calibration | None" = None,
        allow_other_calibration: bool = False,
        policy: "str | Path | Policy | None" = None,
        audit_share: float = 0.0,
        reviewers: int = 1,
        store: str | StoreLocation | Store | None = None,
        concurrency: int = 64,
        budget_usd: float | None = None,
        budget: Budget | None = None,
        batch: "BatchSettings | None" = None,
        settings: Settings | None = None,
        notify: Callable[[str], None] | None = None,
        command: str = "python",
    ) -> None:
        self.models = {agent.name: agent for agent in agents if not isinstance(agent, str)}
        if len(self.models) != sum(not isinstance(agent, str) for agent in agents):
            raise ConfigurationError("two model objects have the same name: give them different names")
        flags = {"rubric": rubric, "strategy": strategy, "threshold": threshold, "seed": seed, "early_exit": early_exit}
        config = with_flags(panel or PanelConfig(), [a for a in agents if isinstance(a, str)], **flags)
        given = tuple(AgentConfig(name=name, model=f"object:{name}") for name in self.models)
        self.config = config.model_copy(update={"agents": (*config.agents, *given)}) if given else config
        self._completion = Completion(
            calibration, allow_other_calibration, policy, audit_share=audit_share, reviewers=reviewers
        )
        if self._completion.needs_every_score:
            self.config = self.config.model_copy(update={"early_exit": False})
        self.command = command
        self.run_id = uuid.uuid4().hex[:12]
        self.settings = settings
        self._store_given = store
        self._store: Store | None = None
        self._policies: PoliciesInForce | None = None
        self._concurrency = concurrency
        if budget is not None and budget_usd is not None:
            raise ConfigurationError("give budget or budget_usd, not both")
        self._budget = Budget(usd=budget_usd) if budget is None else budget
        self._batch = batch
        self._batches: BatchQueue | None = None
        self._notices = Notices(notify)
        self._tell = notify or (lambda _sentence: None)
        self._resources: Resources | None = None
        self._vetter: Vetter | None = None
        self._finished = False

    async def __aenter__(self) -> Self:
        try:
            await self._open()
        except BaseException:
            await self._close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._close()

    @property
    def calibration(self) -> "Calibration | None":
        """What gives assessments their probability."""
        return self._completion.calibration

    @property
    def policy(self) -> "Policy | None":
        """What decides on assessments, once the engine is entered."""
        return self._completion.policy

    @property
    def vetter(self) -> Vetter:
        """The panels, once the engine is entered."""
        if self._vetter is None:
            raise ConfigurationError("the engine is not open: use it as `async with Engine(...) as engine`")
        return self._vetter

    @property
    def meter(self) -> Meter:
        """Counts of calls, tokens and dollars so far."""
        return self._resources.meter if self._resources else Meter()

    @property
    def store(self) -> Store | None:
        """The open store, None where nothing is kept."""
        return self._store

    @property
    def notices(self) -> tuple[str, ...]:
        """What was said once so far: dropped settings, unknown prices."""
        return self._notices.lines

    def variant(self, panel: PanelConfig) -> Vetter:
        """Another panel over the same connections, limits, budget and store.

        Raises:
            ConfigurationError: a panel that cannot be built, or an engine that is not open.
            InputError: the engine's calibration is for other agents.
        """
        if self._resources is None:
            raise ConfigurationError("the engine is not open: use it as `async with Engine(...) as engine`")
        vetter = build_vetter(panel, self._resources, early_exit=False, models=self.models)
        self._completion.evidence((), vetter, strict=False)  # a calibration for other agents is an error now, not later
        return vetter

    def connect(self) -> None:
        """Imports the providers' SDKs and opens their clients now, rather than while the first call waits."""
        if self._resources is not None:
            self._resources.clients.open()

    def answering_model(self, agent: AgentConfig) -> Model:
        """A model that answers freely and as a stream, over the same connections, limits, budget and store.

        Raises:
            ConfigurationError: no key, no price under a budget, or an engine that is not open.
        """
        if self._resources is None:
            raise ConfigurationError("the engine is not open: use it as `async with Engine(...) as engine`")
        return build_answering_model(agent, self._resources)

    async def vet(
        self,
        judgment: JudgmentLike,
        *,
        others: Sequence[JudgmentLike] = (),
        evidence: EvidenceIndex | None = None,
        vetter: Vetter | None = None,
        policy: "Policy | None" = None,
        heard: Callable[[AgentResult], None] | None = None,
    ) -> Assessment:
        """Vets one judgment; one that was assessed before under the same panel is taken from the store.

        Args:
            judgment: or plain data of the same shape.
            others: judgments that are evidence (the other order, other judges of the item), for strategy ``signals``
                and a calibration; they are not vetted.
            evidence: the same, indexed already, for strategy ``signals``.
            vetter: a :meth:`variant` to vet by in place of the engine's own panel.
            policy: decides in place of the engine's own.
            heard: told what each agent said, as it comes; nothing for an earlier assessment.

        Raises:
            BudgetExceeded: nothing more may be spent.
            InputError: data that is no judgment, or a calibration that is not for these agents.
        """
        judgment = as_judgment(judgment)
        vetter, policy = vetter or self.vetter, policy or self.policy
        if policy is not None:
            self._completion.check(policy, vetter, self._notices.say)
        around = [judgment, *(one for one in map(as_judgment, others) if one.id != judgment.id)]
        probabilities = await self._completion.evidence_around(judgment, around, vetter)
        key = vetter.key(judgment)
        earlier = (await self._find_done([key])).get(key)
        new = earlier is None or earlier.status is not Status.ASSESSED
        if earlier is None or new:
            index = evidence or EvidenceIndex.build(around)
            earlier = await self._work(vetter, Job(0, key, judgment, earlier), index, heard)
        assessment = await self._completion.complete(key, judgment, earlier, probabilities, vetter, policy, new=new)
        await self._completion.open_reviews()
        return assessment

    async def policy_in_force(self, given: "str | Path | Policy") -> "Policy":
        """A policy as given, or by its name: the version last activated in the store; its content is kept there."""
        from metajudge.rubric.yaml_documents import looks_like_path
        from metajudge.vetting.policies import PoliciesInForce, policy_in_force

        if self._store is None or not isinstance(given, str) or looks_like_path(given):
            return await policy_in_force(given, self._store)
        if self._policies is None:
            self._policies = PoliciesInForce(self._store)
        return await self._policies.named(given)

    def output_mode(self, spec: AgentSpec) -> str:
        """How a model is asked for structured output, as found out so far: json_schema, json_object or text."""
        return "unknown" if self._resources is None else self._resources.output_mode(spec)

    async def vet_all(
        self,
        source: JudgmentSource | Sequence[JudgmentLike],
        *,
        on_result: Callable[[int, Judgment, Assessment], None] | None = None,
        keep_failures: bool = False,
        stop: Stop | None = None,
        summary: VetSummary | None = None,
        rewards: "Iterable[RewardScore] | None" = None,
    ) -> VetSummary:
        """Vets every judgment of a source, several at once, going on where an earlier run stopped.

        Args:
            on_result: told index (in the input), judgment and assessment, in order of completion.
            keep_failures: whether judgments that ended unscored or failed before are left so.
            stop: lets the caller stop the run; what is done is kept.
            summary: counted into as results come, for progress displays.
            rewards: reward models' scores, for a calibration that reads them.
        """
        records = source if isinstance(source, JudgmentSource) else _checked(source)
        summary = summary or VetSummary()
        summary.run_id = self.run_id
        index = self._evidence(records)
        probabilities = self._completion.evidence_of(records, self.vetter, rewards)
        self._completion.describe(summary)
        durable_at: float | None = None
        known: set[int] = set()

        async def work(job: Job[Judgment, Assessment]) -> Assessment:
            nonlocal durable_at
            if job.earlier is not None and stands(job.earlier):
                known.add(job.index)
                return await self._completion.complete(
                    job.key, job.record, job.earlier, probabilities, self.vetter, new=False
                )
            assessment = await self._work(self.vetter, job, index)
            assessment = await self._completion.complete(job.key, job.record, assessment, probabilities, self.vetter)
            durable_at = time.monotonic()
            return assessment

        def finished(job: Job[Judgment, Assessment], assessment: Assessment, reused: bool) -> None:
            summary.add(assessment, reused or job.index in known)
            if on_result is not None:
                on_result(job.index, job.record, assessment)

        def stands(assessment: Assessment) -> bool:
            hopeless = assessment.failure is not None and assessment.failure.kind is FailureKind.NO_VERDICT
            return keep_failures or hopeless or assessment.status is Status.ASSESSED

        self.heed(stop)
        try:
            summary.end = await run_all(
                records,
                work,
                key=self.vetter.key,
                find_done=self._find_done,
                # Calibration and policy apply to earlier results anew; no model is asked again for it.
                keep=lambda earlier: not self._completion.active and stands(earlier),
                finished=finished,
                workers=self.workers,
                stop=stop,
                grace_s=self.grace_s,
            )
        except asyncio.CancelledError:
            summary.end = RunEnd.INTERRUPTED
            raise
        finally:
            await self._completion.open_reviews()
            summary.reviews = self._completion.opened
            self._account(summary, durable_at)
            await self.finish(summary.end.value, summary.to_json())
        return summary

    @property
    def workers(self) -> int:
        """Records worked on at once: as many as calls in flight, and more where calls wait for batches."""
        return self._concurrency if self._batch is None else max(self._concurrency, self._batch.in_flight)

    @property
    def grace_s(self) -> float:
        """Seconds for what is in flight once a run is to stop: batches that are paid for are waited for."""
        return 10.0 if self._batch is None else _A_YEAR_S

    def heed(self, stop: Stop | None) -> None:
        """Leaves batches to their provider when the user interrupts a run; :meth:`vet_all` does so by itself."""
        if stop is not None:
            stop.tell(lambda end: self._leave_batches() if end is RunEnd.INTERRUPTED else None)

    def _leave_batches(self) -> None:
        if self._batches is not None:
            self._batches.release("interrupted")

    async def finish(self, status: str, summary: Mapping[str, Any]) -> None:
        """Records how the run ended, for runs other than :meth:`vet_all`; closing alone records the calls."""
        if self._store is not None:
            self._finished = True
            await self._store.finish_run(self.run_id, status, time.time(), summary)

    async def _open(self) -> None:
        settings = self.settings or Settings.load()
        given = self._store_given
        if isinstance(given, str | Path | PostgresUrl):
            from metajudge.store import open_store

            self._store = await open_store(given)
        else:
            self._store = given
        resources = Resources(
            key_for=key_lookup(self.config, settings),
            cache=self._store,
            ledger=self._store,
            run_id=self.run_id,
            limits=LimitSettings(concurrency=self._concurrency),
            endpoint_limits=endpoint_limits(self.config, self._concurrency),
            retry=self._retry(),
            budget=self._budget or None,
            seed=self.config.seed,
            notices=self._notices,
        )
        if self._batch is not None:
            from metajudge.providers.batch_queue import BatchQueue

            self._batches = resources.batches = BatchQueue(self._batch, self._tell)
        self._resources = resources
        vetter = build_vetter(self.config, resources, early_exit=False, models=self.models)
        await self._completion.start(self._store, self.run_id, vetter, self._notices.say)
        self._vetter = vetter
        if self._store is not None:
            config = {"panel": self.config.model_dump(mode="json"), "panel_digest": self._vetter.default.digest}
            config |= self._completion.config()
            await self._store.start_run(RunRecord(self.run_id, self.command, time.time(), "running", config))

    def _retry(self) -> RetryPolicy:
        attempts = self.config.retry.attempts
        if self._batch is None:
            return RetryPolicy(attempts=attempts, total_s=self.config.retry.total_s)
        return RetryPolicy(attempts=min(attempts, _BATCHES_A_CALL), total_s=_A_YEAR_S)

    async def _close(self) -> None:
        batches, self._batches = self._batches, None
        if batches is not None:
            await batches.aclose()
        try:
            await self._close_rest()
        except BaseException:
            if batches is not None:
                batches.folder.close()
            raise
        if batches is not None:  # the replies are stored by now
            batches.settle()

    async def _close_rest(self) -> None:
        if self._resources is not None:
            await self._resources.aclose()
        store, self._store, self._policies = self._store, None, None
        if store is None:
            return
        try:
            if self._vetter is not None and not self._finished:
                await store.finish_run(self.run_id, "finished", time.time(), {"calls": self.meter.sent})
        finally:
            if isinstance(self._store_given, str | Path | PostgresUrl):
                await store.close()

    async def _work(
        self,
        vetter: Vetter,
        job: Job[Judgment, Assessment],
        index: EvidenceIndex | None,
        heard: Callable[[AgentResult], None] | None = None,
    ) -> Assessment:
        evidence = None if index is None else SignalEvidence(index)
        return await vetter.vet(job.record, retry=job.earlier is not None, evidence=evidence, heard=heard)

    async def _find_done(self, keys: Sequence[str]) -> Mapping[str, Assessment]:
        return {} if self._store is None else await self._store.find_assessments(keys)

    def _evidence(self, source: JudgmentSource | Sequence[Judgment]) -> EvidenceIndex | None:
        panels: Iterable[Panel] = (self.vetter.default, *self.vetter.routes.values())
        if not any(panel.strategy is StrategyName.SIGNALS for panel in panels):
            return None
        return EvidenceIndex.build(source.all() if isinstance(source, JudgmentSource) else source)

    def _account(self, summary: VetSummary, durable_at: float | None) -> None:
        meter = self.meter
        summary.calls = meter.sent
        summary.usage = meter.usage
        summary.known_cost_usd = meter.cost_usd
        summary.cost_usd = None if meter.unpriced else meter.cost_usd
        summary.notices = list(self.notices)
        if meter.first_sent_at is not None and durable_at is not None:
            summary.wall_s = durable_at - meter.first_sent_at


def _checked(judgments: Sequence[JudgmentLike]) -> list[Judgment]:
    return [as_judgment(one, place=f"judgment {number}") for number, one in enumerate(judgments, start=1)]
