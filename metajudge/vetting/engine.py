"""The engine: wires panel, providers and store together, and vets one judgment or a million."""

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from metajudge.errors import ConfigurationError
from metajudge.evidence.units import stated
from metajudge.panels.building import build_vetter
from metajudge.panels.config import PanelConfig, with_flags
from metajudge.providers.budget import Budget
from metajudge.reading import JudgmentSource
from metajudge.reading.reasons import JudgmentLike, as_judgment
from metajudge.runs.loop import BLOCK, Job, RunEnd, Stop, run_all
from metajudge.session import Agents, Session, note_unused
from metajudge.settings import Settings
from metajudge.store import Store
from metajudge.strategies import StrategyName, Vetter
from metajudge.types import AgentResult, Assessment, Judgment, Right
from metajudge.types.location import StoreLocation
from metajudge.vetting.annotating import Block
from metajudge.vetting.blocks import Rows, Vetting
from metajudge.vetting.finishing import Completion
from metajudge.vetting.prompt_set import stored_panels, with_prompt_set
from metajudge.vetting.results import Alike, Results
from metajudge.vetting.summary import VetSummary

if TYPE_CHECKING:
    from metajudge.calibration.calibration import Calibration
    from metajudge.decision import Policy
    from metajudge.evidence.rewards import RewardScore
    from metajudge.providers.batch_queue import BatchSettings
    from metajudge.vetting.intake import Intake
    from metajudge.webhooks.webhook import Webhook

Record: TypeAlias = tuple[int, Judgment | None]
"""A row of the table, and its judgment where it is needed."""


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
        concurrency: calls in flight at most; None for 64, where a server on this machine begins with four.
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
        concurrency: int | None = None,
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
        self._finishing.check_calibration(vetter)
        return vetter

    async def vet(
        self,
        judgment: JudgmentLike,
        *,
        others: Sequence[JudgmentLike] = (),
        vetter: Vetter | None = None,
        policy: "Policy | None" = None,
        heard: Callable[[AgentResult], None] | None = None,
    ) -> Assessment:
        """Vets one judgment; one that was assessed before under the same panel is taken from the store.

        Args:
            judgment: or plain data of the same shape.
            others: judgments that are evidence (the other order, other judges of the item), for strategy ``signals``
                and a calibration; they are not vetted.
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
        table = None
        if others or self.calibration is not None or vetter.panel_for(judgment).strategy is StrategyName.SIGNALS:
            from metajudge.vetting.intake import Intake  # what an agent's verdict alone has no use for

            table = await Intake.around(around)
        vetting = Vetting(table, vetter, self._finishing, policy, self._store, self.run_id)
        self._finishing.say_without_labels(self._notices.say)
        await vetting.prepare(self._right, strict=False)
        [known] = await vetting.settle([(0, 0, judgment)])
        block = known or await vetting.ask(0, 0, judgment, heard)
        await self._finishing.open_reviews()
        return marked(block.assessments[0], judgment)

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

        The input is read once, and then vetted in blocks.

        Args:
            on_result: called with index (in the input), judgment and assessment, in order of completion.
            results: takes what is found, block by block.
            keep_failures: whether judgments that ended unscored or failed before are left so.
            stop: lets the caller stop the run; what is done is kept.
            summary: counted into as results come, for progress displays.
            rewards: reward models' scores, for a calibration that reads them.
        """
        records = source if isinstance(source, JudgmentSource) else self._by_unit(_checked(source))
        if self.calibration is not None and isinstance(records, JudgmentSource):
            self.calibration.check_unit(records.unit)
        summary, results, stop = summary or VetSummary(), results or Results(given=self._right), stop or Stop()
        if results.watcher is not None:
            results.watcher.policy = self.policy
        note_unused(self, "vet")
        async with self.recording(summary, stop):
            try:
                await self._vet_records(records, results, on_result, rewards, keep_failures, stop, summary)
            finally:
                await self._finishing.open_reviews()
                summary.reviews = self._finishing.opened
        return summary

    async def _vet_records(
        self,
        records: "JudgmentSource | Sequence[Judgment]",
        results: Results,
        on_result: Callable[[int, Judgment, Assessment], None] | None,
        rewards: "Iterable[RewardScore] | None",
        keep_failures: bool,
        stop: Stop,
        summary: VetSummary,
    ) -> None:
        """Reads the input once, and vets it in blocks; ``summary`` counts."""
        from metajudge.vetting.intake import READ_AT_ONCE, Reading

        panels = self.vetter.panels
        compared = self.calibration is not None or any(one.strategy is StrategyName.SIGNALS for one in panels)
        asking = any(one.strategy is not StrategyName.SIGNALS for one in panels)
        # A source may give its judgments in order alone: they are held where a caller takes them after the block.
        at_hand = asking or (on_result is not None and isinstance(records, JudgmentSource))
        with contextlib.closing(Reading(records, self._right, compared=compared)) as reading:
            async for done in reading.blocks():
                results.heard(done)
                if stop.asked:
                    summary.end = stop.end
                    return
                await asyncio.sleep(0)  # an interruption is heard between two blocks
            table = reading.intake()
            take = results.expect_blocks(table)
            vetting = Vetting(table, self.vetter, self._finishing, self.policy, self._store, self.run_id, keep_failures)
            rows = await self._weigh(vetting, table, rewards, summary)

            def taken(block: Block, alike: Alike | None = None) -> None:
                if alike is None:
                    alike = [(one, 1) for one in block.assessments] if block.reused else vetting.alike(block)
                summary.count_block(block, alike)
                take(block, alike)
                if on_result is not None:
                    of = block.judgments or [table.texts.judgment(row) for row in block.rows.tolist()]
                    for place, judgment, assessment in zip(block.places, of, block.assessments, strict=True):
                        on_result(place, judgment, marked(assessment, judgment))

            async def settle(jobs: Sequence[Job[Record, Block]]) -> list[Block | None]:
                found = await vetting.settle([(job.index, *job.record) for job in jobs])
                for block in dict.fromkeys(one for one in found if one is not None):
                    taken(block)
                return found

            async def work(job: Job[Record, Block]) -> Block:
                row, judgment = job.record
                assert judgment is not None
                return await vetting.ask(job.index, row, judgment)

            each = results.file is not None or results.watcher is not None or on_result is not None
            summary.end = await self._vet_elsewhere(vetting, table, taken, stop, each=each) or await run_all(
                ((row, table.texts.judgment(row) if at_hand else None) for row in rows.tolist()),
                work,
                settle=settle,
                finished=lambda _job, block, settled: None if settled else taken(block),
                workers=self.workers,
                stop=stop,
                grace_s=self.grace_s,
                block=BLOCK if asking else READ_AT_ONCE,
            )
            results.finish_blocks()

    async def _weigh(
        self, vetting: Vetting, table: "Intake", rewards: "Iterable[RewardScore] | None", summary: VetSummary
    ) -> Rows:
        """Works out free evidence and probabilities; returns the rows to vet."""
        from metajudge.vetting.answer import describe_input  # what one judgment has no use for

        describe_input(summary, table)
        own = await self._finishing.own_fit(table, self.vetter, self._right)
        if own is None:
            self._finishing.say_without_labels(self._notices.say)
        self._finishing.describe(summary, own)
        await vetting.prepare(self._right, rewards, own=None if own is None else own.calibration)
        summary.calibrated |= vetting.probabilities is not None
        if vetting.evidence is not None:
            summary.describe_evidence(vetting.evidence.rules, vetting.evidence.dependence)
        return table.wanted

    async def _vet_elsewhere(
        self, vetting: Vetting, table: "Intake", taken: Callable[[Block, Alike], None], stop: Stop, *, each: bool
    ) -> RunEnd | None:
        """Vets the table in other processes; None where that is not done. ``each``: all assessments are looked at."""

    def _by_unit(self, judgments: list[Judgment]) -> list[Judgment]:
        """The judgments, with the field stated that is the unit of the calibration, if one is."""
        unit = None if self.calibration is None else self.calibration.field
        return judgments if unit is None else [*map(stated(unit), judgments)]

    async def _prepare(self) -> dict[str, Any]:
        self._stored_panels = await stored_panels(self._store)
        panel = self.vetting_config = self._with_prompt_set(self.config)
        vetter = self._build(panel)
        await self._finishing.start(self._store, vetter, self._notices.say)
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


def marked(assessment: Assessment, judgment: Judgment) -> Assessment:
    """An assessment with the names of the fields that its judgment was sent without."""
    found = judgment.defaulted
    return assessment.model_copy(update={"defaulted": found}) if found else assessment


def _checked(judgments: Sequence[JudgmentLike]) -> list[Judgment]:
    return [as_judgment(one, place=f"judgment {number}") for number, one in enumerate(judgments, start=1)]
