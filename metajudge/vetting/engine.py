"""The engine: wires panel, providers and store together, and vets one judgment or a million."""

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metajudge.concurrency import all_of
from metajudge.errors import ConfigurationError, FailureKind
from metajudge.evidence.units import stated
from metajudge.panels.building import build_vetter
from metajudge.panels.config import PanelConfig, with_flags
from metajudge.providers.budget import Budget
from metajudge.readers import JudgmentSource
from metajudge.readers.reasons import JudgmentLike, as_judgment
from metajudge.runs.loop import Job, Stop, run_all
from metajudge.session import Agents, Session
from metajudge.settings import Settings
from metajudge.store.protocol import Store
from metajudge.strategies import Panel, StrategyName, Vetter
from metajudge.types import AgentResult, Assessment, Judgment, Right, Status
from metajudge.types.location import StoreLocation
from metajudge.vetting.finishing import Completion
from metajudge.vetting.prompt_set import stored_panels, with_prompt_set
from metajudge.vetting.results import Results
from metajudge.vetting.summary import VetSummary

if TYPE_CHECKING:
    from metajudge.bulk.run import Block
    from metajudge.calibration.calibration import Calibration
    from metajudge.decision import Policy
    from metajudge.evidence.index import EvidenceIndex
    from metajudge.evidence.rewards import RewardScore
    from metajudge.providers.batch_queue import BatchSettings
    from metajudge.strategies.signals import SignalEvidence
    from metajudge.vetting.probability import Probabilities
    from metajudge.webhooks.webhook import Webhook


class Engine(Session):
    """Vets judgments with one panel; use it as ``async with Engine(...) as engine``.

    Args:
        agents: ``[NAME=]PROVIDER:MODEL[@BASE_URL]`` or :class:`~metajudge.providers.model.Model` objects; none
            for the strategy ``signals``, which asks no model.
        panel: a whole configuration; the other arguments override it.
        policy: a decision policy, its file or its name: assessments get its decision on top, and what it sends to
            people is queued for review in the store. Switches early exit off.
        audit_share: probability with which what the policy approves or rejects is reviewed all the same.
        reviewers: how many people are to decide each review.
        policy_per_call: whether :meth:`vet` is given a policy each time: then reviews need none here.
        store: a path or a postgresql:// URL, an open store (left open), or None to keep nothing.
        early_exit: stop asking once the decision is settled; None means off, unless the panel says otherwise.
        calibration: a calibration or its file: assessments get a probability, which decides unless ``threshold`` is
            given. One that reads agents' scores switches early exit off.
        cut: the probability from which on judgments are kept, in [0, 1]; None for the stored promise's threshold, else
            .9.
        allow_other_calibration: apply it although judges, agents, rubrics or prompts differ from those fitted on.
        concurrency: calls in flight at most.
        budget_usd: dollars this engine may spend; a model without a known price is refused then.
        budget: in place of ``budget_usd``, a budget in any currency, perhaps shared; the caller closes it.
        right: what counts as right where verdicts are compared without a model, such as ``Right("within", 0.5)``; for
            the kinds of verdicts it applies to, the default of the kind for others.
        batch: ask through the providers' batch APIs, at half price and within a day; run it again to resume.
        settings: where keys come from; read from the environment by default.
        notify: called once with each notice (a dropped setting, an unknown price).
        command: recorded with the run.
        shared_limits: see :class:`~metajudge.session.Session`.

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
        cut: float | None = None,
        seed: int | None = None,
        early_exit: bool | None = None,
        calibration: "str | Path | Calibration | None" = None,
        allow_other_calibration: bool = False,
        policy: "str | Path | Policy | None" = None,
        audit_share: float = 0.0,
        reviewers: int = 1,
        policy_per_call: bool = False,
        store: str | StoreLocation | Store | None = None,
        concurrency: int = 64,
        budget_usd: float | None = None,
        budget: Budget | None = None,
        right: Right | None = None,
        batch: "BatchSettings | None" = None,
        settings: Settings | None = None,
        notify: Callable[[str], None] | None = None,
        command: str = "python",
        shared_limits: bool = False,
        webhook: "Webhook | None" = None,
    ) -> None:
        super().__init__(
            agents,
            panel=with_flags(
                panel or PanelConfig(),
                rubric=rubric,
                strategy=strategy,
                threshold=threshold,
                cut=cut,
                early_exit=early_exit,
            ),
            seed=seed,
            store=store,
            concurrency=concurrency,
            budget_usd=budget_usd,
            budget=budget,
            batch=batch,
            settings=settings,
            notify=notify,
            command=command,
            shared_limits=shared_limits,
            webhook=webhook,
        )
        self._finishing = Completion(
            calibration,
            allow_other_calibration,
            policy,
            audit_share=audit_share,
            reviewers=reviewers,
            policy_per_call=policy_per_call,
        )
        self._finishing.check_cuts(self.config)
        if self._finishing.needs_every_score:
            self.config = self.config.model_copy(update={"early_exit": False})
        self._vetter: Vetter | None = None
        self._stored_panels = frozenset[str]()
        self._right = right
        # What judgments are vetted by: with its set of prompts once the engine is entered. Other tasks use ``config``.
        self.vetting_config = self.config

    @property
    def calibration(self) -> "Calibration | None":
        """What gives assessments their probability."""
        return self._finishing.calibration

    @property
    def policy(self) -> "Policy | None":
        """What decides on assessments, once the engine is entered."""
        return self._finishing.policy

    @property
    def finishing(self) -> Completion:
        """What follows on vetting; started once the engine is entered."""
        return self._finishing

    @property
    def vetter(self) -> Vetter:
        """The panels, once the engine is entered."""
        if self._vetter is None:
            raise ConfigurationError("the engine is not open: use it as `async with Engine(...) as engine`")
        return self._vetter

    def variant(self, panel: PanelConfig) -> Vetter:
        """Another panel over the same connections, limits, budget and store.

        Raises:
            ConfigurationError: a panel that cannot be built, or an engine that is not open.
            InputError: the engine's calibration is for other agents.
        """
        self._finishing.check_cuts(panel)
        vetter = self._build(self._with_prompt_set(panel))
        self._finishing.evidence((), vetter, strict=False)  # a calibration for other agents is an error now, not later
        return vetter

    async def vet(
        self,
        judgment: JudgmentLike,
        *,
        others: Sequence[JudgmentLike] = (),
        evidence: "EvidenceIndex | None" = None,
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
            heard: called with each agent's result as it arrives; not called for a stored assessment.

        Raises:
            BudgetExceeded: nothing more may be spent.
            InputError: data that is no judgment, or a calibration that is not for these agents.
        """
        judgment = as_judgment(judgment)
        vetter, policy = vetter or self.vetter, policy or self.policy
        if policy is not None:
            self._finishing.check(policy, vetter, self._notices.say)
        around = self._by_unit([judgment, *(one for one in map(as_judgment, others) if one.id != judgment.id)])
        judgment = around[0]
        probabilities = await self._finishing.evidence_around(judgment, around, vetter)
        key = vetter.key(judgment)
        earlier = (await self._find_done([key])).get(key)
        new = earlier is None or earlier.status is not Status.ASSESSED
        if earlier is None or new:
            by_evidence = vetter.panel_for(judgment).strategy is StrategyName.SIGNALS
            # Others are always indexed: contradicting contents of an item are refused in any case.
            weighed = _weighed(evidence or _index(around, self._right)) if by_evidence or others else None
            earlier = await self._ask(vetter, judgment, earlier, weighed, heard)
        assessment = await self._finishing.complete(key, judgment, earlier, probabilities, vetter, policy, new=new)
        await self._finishing.open_reviews()
        return assessment

    async def vet_all(
        self,
        source: JudgmentSource | Sequence[JudgmentLike],
        *,
        on_result: Callable[[int, Judgment, Assessment], None] | None = None,
        results: Results | None = None,
        keep_failures: bool = False,
        stop: Stop | None = None,
        summary: VetSummary | None = None,
        rewards: "Iterable[RewardScore] | None" = None,
    ) -> VetSummary:
        """Vets every judgment of a source, several at once, going on where an earlier run stopped.

        Where no model is asked, the input is read once and vetted in blocks (:mod:`metajudge.bulk`), with the same
        results.

        Args:
            on_result: called with index (in the input), judgment and assessment, in order of completion. These objects
                cost more than free evidence does: leave it out, or give ``results``, for large inputs.
            results: takes what is found, in place of ``on_result``.
            keep_failures: whether judgments that ended unscored or failed before are left so.
            stop: lets the caller stop the run; what is done is kept.
            summary: counted into as results come, for progress displays.
            rewards: reward models' scores, for a calibration that reads them.
        """
        records = source if isinstance(source, JudgmentSource) else self._by_unit(_checked(source))
        if self.calibration is not None and isinstance(records, JudgmentSource):
            self.calibration.check_unit(records.unit)
        summary = summary or VetSummary()
        if results is not None and results.watcher is not None:
            results.watcher.policy = self.policy
        if on_result is None and self._in_blocks():
            stop = stop or Stop()
            async with self.recording(summary, stop):
                try:
                    await self._vet_blocks(records, results or Results(given=self._right), rewards, stop, summary)
                    summary.end = stop.end
                finally:
                    await self._finishing.open_reviews()
                    summary.reviews = self._finishing.opened
            return summary
        if results is not None:
            results.expect(records)
            on_result = results.add
        evidence, probabilities = self._evidence(records, rewards)
        self._finishing.describe(summary)
        if evidence is not None:
            summary.describe_evidence(evidence.index.rules, evidence.index.dependence)

        def is_done(assessment: Assessment | None) -> bool:
            if assessment is None:
                return False
            hopeless = assessment.failure is not None and assessment.failure.kind is FailureKind.NO_VERDICT
            return keep_failures or hopeless or assessment.status is Status.ASSESSED

        async def settle(block: Sequence[Job[Judgment, Assessment]]) -> list[Assessment | None]:
            keys = [self.vetter.key(job.record) for job in block]
            earlier = await self._find_done(keys)
            for job, key in zip(block, keys, strict=True):
                job.key, job.earlier = key, earlier.get(key)
            results = [None if self._finishing.active or not is_done(job.earlier) else job.earlier for job in block]
            rest = [at for at, job in enumerate(block) if results[at] is None and needs_no_model(job)]
            for at, result in zip(rest, await all_of(work(block[at]) for at in rest), strict=True):
                results[at] = result
            return results

        def needs_no_model(job: Job[Judgment, Assessment]) -> bool:
            return is_done(job.earlier) or self.vetter.panel_for(job.record).strategy is StrategyName.SIGNALS

        async def work(job: Job[Judgment, Assessment]) -> Assessment:
            assessment, new = job.earlier, not is_done(job.earlier)
            if assessment is None or new:
                assessment = await self._ask(self.vetter, job.record, assessment, evidence)
            return await self._finishing.complete(job.key, job.record, assessment, probabilities, self.vetter, new=new)

        def finished(job: Job[Judgment, Assessment], assessment: Assessment, _settled: bool) -> None:
            summary.add(assessment, is_done(job.earlier))
            if on_result is not None:
                on_result(job.index, job.record, assessment)

        async with self.recording(summary, stop):
            try:
                summary.end = await run_all(
                    records,
                    work,
                    settle=settle,
                    finished=finished,
                    workers=self.workers,
                    stop=stop,
                    grace_s=self.grace_s,
                )
            finally:
                await self._finishing.open_reviews()
                summary.reviews = self._finishing.opened
        return summary

    def _by_unit(self, judgments: list[Judgment]) -> list[Judgment]:
        """The judgments, with the field stated that is the unit of the calibration, if one is."""
        unit = None if self.calibration is None else self.calibration.field
        return judgments if unit is None else [*map(stated(unit), judgments)]

    def _in_blocks(self) -> bool:
        """Whether judgments can be vetted in blocks: no model is asked, and a calibration reads no agents' scores."""
        panels = (self.vetter.default, *self.vetter.routes.values())
        by_evidence = all(panel.strategy is StrategyName.SIGNALS for panel in panels)
        return by_evidence and (self.calibration is None or "agents" not in self.calibration.identity.signals)

    async def _vet_blocks(
        self,
        records: "JudgmentSource | Sequence[Judgment]",
        results: Results,
        rewards: "Iterable[RewardScore] | None",
        stop: Stop,
        summary: VetSummary,
    ) -> None:
        """Reads the input once, and vets it in blocks; ``summary`` counts."""
        from metajudge.bulk.outcomes import outcomes_of  # what a run that asks models has no use for
        from metajudge.bulk.reading import Reading
        from metajudge.bulk.run import BlockRun

        store = None if self._store is None else self._store.blocks
        reading = Reading(records, self._right)
        with contextlib.closing(reading):
            async for done in reading.blocks():
                results.heard(done)
                if stop.asked:
                    return
                await asyncio.sleep(0)  # an interruption is heard between two blocks
            intake = reading.intake()
            take = results.expect_blocks(intake)
            self._finishing.describe(summary)
            annotate = await self._finishing.annotate(intake, self.vetter, rewards)
            found = outcomes_of(intake.facts, self.vetter.panel_of, self._right)
            summary.describe_evidence(found.rules, found.dependence)

            async def taken(block: "Block") -> None:
                await self._finishing.queue_block(block, intake, self.vetter)
                summary.count_block(block)
                take(block)

            run = BlockRun(intake, found, self.vetter, store, self.run_id, annotate)
            await run.run(taken, stop)
            results.finish_blocks()
            summary.results_known = run.reused

    async def _prepare(self) -> dict[str, Any]:
        self._stored_panels = await stored_panels(self._store)
        panel = self.vetting_config = self._with_prompt_set(self.config)
        vetter = self._build(panel)
        await self._finishing.start(self._store, self.run_id, vetter, self._notices.say)
        self._vetter = vetter
        return {
            "panel": panel.model_dump(mode="json"),
            "panel_digest": vetter.default.digest,
            **self._finishing.config(),
        }

    def _with_prompt_set(self, panel: PanelConfig) -> PanelConfig:
        """The panel with the prompt set it names, or that follows from the store."""
        panel, notice = with_prompt_set(panel, self._stored_panels, self.objects)
        if notice is not None:
            self._notices.say(notice)
        return panel

    def _build(self, panel: PanelConfig) -> Vetter:
        return build_vetter(panel, self.resources, early_exit=False, models=self.objects)

    async def _ask(
        self,
        vetter: Vetter,
        judgment: Judgment,
        earlier: Assessment | None,
        evidence: "SignalEvidence | None",
        on_result: Callable[[AgentResult], None] | None = None,
    ) -> Assessment:
        return await vetter.vet(judgment, retry=earlier is not None, evidence=evidence, on_result=on_result)

    async def _find_done(self, keys: Sequence[str]) -> Mapping[str, Assessment]:
        return {} if self._store is None else await self._store.find_assessments(keys)

    def _evidence(
        self, source: JudgmentSource | Sequence[Judgment], rewards: "Iterable[RewardScore] | None"
    ) -> "tuple[SignalEvidence | None, Probabilities | None]":
        """The free evidence and the calibration's, from one pass over all of the input; None where nothing reads it."""
        panels: Iterable[Panel] = (self.vetter.default, *self.vetter.routes.values())
        index = _index((), self._right) if any(one.strategy is StrategyName.SIGNALS for one in panels) else None
        judges = source.judges if isinstance(source, JudgmentSource) else None
        everything = iter(source.all() if isinstance(source, JudgmentSource) else source)
        probabilities = self._finishing.evidence(
            everything if index is None else _added(index, everything),
            self.vetter,
            wanted=None if judges is None else lambda judgment: judgment.judge in judges,
            rewards=rewards,
        )
        if index is None:
            return None, probabilities
        for judgment in everything:  # those that no calibration has read
            index.add(judgment)
        return _weighed(index), probabilities


def _index(judgments: Iterable[Judgment], right: Right | None) -> "EvidenceIndex":
    from metajudge.evidence.index import EvidenceIndex  # a run that asks models has no use for it

    return EvidenceIndex.build(judgments, right)


def _weighed(index: "EvidenceIndex") -> "SignalEvidence":
    from metajudge.strategies.signals import SignalEvidence

    return SignalEvidence(index)


def _added(index: "EvidenceIndex", judgments: Iterable[Judgment]) -> Iterator[Judgment]:
    for judgment in judgments:
        index.add(judgment)
        yield judgment


def _checked(judgments: Sequence[JudgmentLike]) -> list[Judgment]:
    return [as_judgment(one, place=f"judgment {number}") for number, one in enumerate(judgments, start=1)]
