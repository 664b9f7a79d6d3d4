"""What follows on vetting: a probability, a policy's decision, a place in the store, a review by people."""

import json
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metajudge.concurrency import off_the_loop
from metajudge.errors import ConfigurationError
from metajudge.store.protocol import Store
from metajudge.strategies import Panel, Vetter
from metajudge.strategies.rule import check_cut
from metajudge.types import Assessment, Decision, Judgment, digest
from metajudge.vetting.summary import VetSummary

if TYPE_CHECKING:
    from metajudge.bulk.endings import Annotate, Annotated, Codes
    from metajudge.bulk.reading import Intake
    from metajudge.bulk.run import Block
    from metajudge.calibration.calibration import Calibration
    from metajudge.decision import Policy
    from metajudge.evidence.rewards import RewardScore
    from metajudge.monitor.records import BrokenPromises
    from metajudge.panels.config import PanelConfig
    from metajudge.reviews.opening import Reviewed
    from metajudge.reviews.rows import ReviewRow
    from metajudge.vetting.probability import Probabilities
    from metajudge.vetting.queueing import Asking, BlockReviews

CALIBRATION = "calibration"
"""The kind of calibrations in the store's change log; their subject is the digest."""

REVIEWS_AT_ONCE = 200
"""Reviews are queued in the store in groups of this size, and at the end of a run."""


class Completion:
    """Adds what calibration and policy say of an assessment, and keeps both in the store.

    Args:
        allow_other: whether judges, agents, rubrics or prompts may differ from those the calibration was fitted on.
        policy: as given; which version is in force is known once :meth:`start` has a store to ask.
        audit_share, reviewers: see :func:`metajudge.reviews.opening.review_of`.
        policy_per_call: whether :meth:`complete` is given a policy: then reviews need none here.

    Attributes:
        opened: reviews queued so far that were not there before.
        withdrawn: promises known to be broken, where there is no store to ask.

    Raises:
        ConfigurationError: a review sample outside [0, 1], or no reviewer.
    """

    def __init__(
        self,
        calibration: "str | Path | Calibration | None",
        allow_other: bool,
        policy: "str | Path | Policy | None",
        *,
        audit_share: float = 0.0,
        reviewers: int = 1,
        policy_per_call: bool = False,
    ) -> None:
        self.calibration = _loaded(calibration)
        self.policy: Policy | None = None
        self.opened = 0
        self.withdrawn = frozenset[str]()
        self._allow_other = allow_other
        self._given = policy
        self._audit_share = audit_share
        self._reviewers = reviewers
        self._waiting: list[ReviewRow] = []
        self._blocks: BlockReviews | None = None
        self._store: Store | None = None
        self._broken: BrokenPromises | None = None
        self._run_id = ""
        self._seed = 0
        if not 0 <= audit_share <= 1:
            raise ConfigurationError(
                f"the review sample must be a fraction from 0 to 1, not {audit_share:g}; .05 is one in twenty"
            )
        if reviewers < 1:
            raise ConfigurationError(f"a review needs at least one reviewer, not {reviewers}")
        if (audit_share or reviewers > 1) and policy is None and not policy_per_call:
            raise ConfigurationError("reviews are opened by a policy: give one (--policy NAME)")

    @property
    def active(self) -> bool:
        """Whether there is any post-processing."""
        return self.calibration is not None or self.policy is not None

    @property
    def needs_every_score(self) -> bool:
        """Whether every agent must be asked: an agent not asked has no score to decide on."""
        reads_agents = self.calibration is not None and "agents" in self.calibration.identity.signals
        return reads_agents or self._given is not None

    async def start(self, store: Store | None, run_id: str, vetter: Vetter, say: Callable[[str], None]) -> None:
        """Finds the version of the policy in force and checks that it fits the panels.

        Raises:
            PolicyError: no such policy.
            ConfigurationError: one for other panels, or for cases.
        """
        self._store, self._run_id, self._seed = store, run_id, vetter.seed or 0
        await self._keep_calibration()
        if store is not None and self.calibration is not None:
            from metajudge.monitor.records import BrokenPromises

            self._broken = BrokenPromises(store)
        if self._given is None:
            return
        from metajudge.feedback.in_force import policy_in_force

        self.policy = await policy_in_force(self._given, store)
        self.check(self.policy, vetter, say)

    async def _keep_calibration(self) -> None:
        """Keeps the calibration's content, once per digest, so that probabilities can be explained without its file."""
        if self._store is None or self.calibration is None:
            return
        name = self.calibration.digest
        if not await self._store.audit_log.entries(CALIBRATION, name, limit=1):
            await self._store.audit_log.append(
                CALIBRATION, name, json.loads(self.calibration.to_json()), now=time.time()
            )

    def check(self, policy: "Policy", vetter: Vetter, say: Callable[[str], None]) -> None:
        """Checks that a policy can decide on the panels' results; reports where its input is missing."""
        from metajudge.vetting.policies import check_panels, mismatch

        panels = (vetter.default, *vetter.routes.values())
        check_panels(policy, panels)
        remark = mismatch(policy, panels, calibrated=self.calibration is not None)
        if remark is not None:
            say(remark)

    def check_cuts(self, panel: "PanelConfig") -> None:
        """Refuses a panel's cut in P without a calibration, or beside a policy.

        Raises:
            ConfigurationError: see :func:`metajudge.strategies.rule.check_cut`.
        """
        for cut in panel.cuts:
            check_cut(cut, calibrated=self.calibration is not None, policy=self._given is not None)

    def config(self) -> dict[str, Any]:
        """Its part of a run's record."""
        found: dict[str, Any] = {}
        if self.calibration is not None:
            found["calibration"] = self.calibration.digest
        if self.policy is not None:
            found["policy"] = {"name": self.policy.name, "digest": self.policy.digest}
        if self.policy is not None or self._audit_share:
            found["audit_share"] = self._audit_share
        return found

    def describe(self, summary: VetSummary) -> None:
        """Notes in a run's summary which calibration and policy it uses."""
        if self.calibration is not None:
            summary.calibrated, summary.transferred = True, self.calibration.is_shipped
            summary.guarantees = self.calibration.meanings
        if self.policy is not None:
            summary.policy = f"{self.policy.name} {self.policy.digest}"

    def evidence(
        self,
        judgments: Iterable[Judgment],
        vetter: Vetter,
        *,
        wanted: Callable[[Judgment], bool] | None = None,
        rewards: "Iterable[RewardScore] | None" = None,
        strict: bool = True,
    ) -> "Probabilities | None":
        """The calibration's evidence; None without one.

        Raises:
            InputError: the calibration is for something else, or a signal it reads is not there.
        """
        if self.calibration is None:
            return None
        from metajudge.vetting.probability import Probabilities

        return Probabilities.build(
            self.calibration,
            judgments,
            panels=(vetter.default, *vetter.routes.values()),
            wanted=wanted,
            rewards=rewards,
            allow_other_identity=self._allow_other,
            judges_must_be_known=strict,
        )

    async def evidence_around(
        self, judgment: Judgment, around: Sequence[Judgment], vetter: Vetter
    ) -> "Probabilities | None":
        """The calibration's evidence for one judgment among others; see :meth:`evidence`."""
        if self.calibration is None:
            return None
        wanted = partial(self.evidence, around, vetter, wanted=lambda one: one.id == judgment.id, strict=False)
        return await off_the_loop(wanted, sum(len(one.rationale) for one in around))

    async def complete(
        self,
        key: str,
        judgment: Judgment,
        assessment: Assessment,
        probabilities: "Probabilities | None",
        vetter: Vetter,
        policy: "Policy | None" = None,
        *,
        new: bool = True,
    ) -> Assessment:
        """Adds probability and decision and keeps all of it; a decision for people queues a review.

        The store adds no row for what it has already (:mod:`metajudge.store.repeats`). Without calibration and policy
        an earlier decision on the same result is kept.
        """
        policy = policy or self.policy
        completed = assessment
        if probabilities is not None:
            completed = probabilities.complete(
                judgment,
                assessment,
                vetter.panel_for(judgment),
                await self.broken_promises(),
                policy=policy is not None,
            )
        if policy is not None:
            from metajudge.vetting.policies import decided

            completed = decided(policy, completed, vetter.panel_for(judgment))
        if new or completed is not assessment:
            await self.keep(key, judgment, assessment, completed, vetter, policy)
        return completed

    async def keep(
        self,
        key: str,
        judgment: Judgment,
        assessment: Assessment,
        completed: Assessment,
        vetter: Vetter,
        policy: "Policy | None" = None,
    ) -> None:
        """Keeps an assessment with what was added to it, and queues its review; nothing without a store.

        Args:
            key, policy: as for :meth:`complete`.
        """
        policy = policy or self.policy
        if self._store is None:
            return
        await self._store.save_assessment(stored_key(key, assessment), judgment, completed, self._run_id, assessment)
        if policy is not None:
            self._queue(judgment, completed, vetter.panel_for(judgment), policy)
            if len(self._waiting) >= REVIEWS_AT_ONCE:
                await self.open_reviews()

    async def broken_promises(self) -> frozenset[str]:
        """Promises that audits have broken: they are stamped on nothing."""
        return self.withdrawn if self._broken is None else await self._broken.now()

    async def annotate(
        self, intake: "Intake", vetter: Vetter, rewards: "Iterable[RewardScore] | None"
    ) -> "Annotate | None":
        """What adds calibration and policy to many assessments by free evidence at once; None without either.

        Raises:
            InputError: as for :meth:`evidence`.
        """
        if not self.active:
            return None
        import numpy as np

        from metajudge.vetting.annotating import annotated_column

        probabilities, policy = None, self.policy
        if self.calibration is not None:
            from metajudge.vetting.probability import Probabilities

            wanted = np.zeros(len(intake.facts), dtype=bool)
            wanted[intake.wanted] = True
            probabilities = Probabilities.of_facts(
                self.calibration,
                intake.facts,
                panels=(vetter.default, *vetter.routes.values()),
                wanted=wanted,
                rewards=rewards,
                allow_other_identity=self._allow_other,
            )
        broken = await self.broken_promises()

        def annotated(found: Sequence[Assessment], codes: "Codes", rows: "Codes") -> "Annotated":
            return annotated_column(
                found, codes, vetter.panel_of, probabilities=probabilities, rows=rows, policy=policy, broken=broken
            )

        return annotated

    async def queue_block(self, block: "Block", intake: "Intake", vetter: Vetter) -> None:
        """Queues the reviews that a block's decisions need; some wait for :meth:`open_reviews`."""
        if self.policy is None or self._store is None:
            return
        from metajudge.vetting.queueing import ROWS_AT_ONCE, BlockReviews

        if self._blocks is None or self._blocks.endings is not block.endings:
            self._blocks = BlockReviews(self._asking(self.policy), intake, vetter, block.endings)
        self._waiting += self._blocks.rows(block)
        while len(self._waiting) >= ROWS_AT_ONCE:
            waiting, self._waiting = self._waiting[:ROWS_AT_ONCE], self._waiting[ROWS_AT_ONCE:]
            await self._put_reviews(waiting)

    def queue_row(
        self, row: int, decision: Decision, made: Callable[[], Assessment], intake: "Intake", vetter: Vetter
    ) -> None:
        """Queues the review of a row of an intake if its decision needs one; :meth:`open_reviews` follows."""
        policy = self.policy
        if policy is None or self._store is None:
            return
        from metajudge.vetting.queueing import reviewed

        if self._asking(policy).place(decision, intake.digest(row)) is not None:
            of = reviewed(intake, row)
            self._queue(of, made(), vetter.panel_of(of.category), policy)

    async def open_reviews(self) -> None:
        """Puts what waits into the store's queue; what is there already stays as it is."""
        self._blocks = None  # the end of a run in blocks
        waiting, self._waiting = self._waiting, []
        await self._put_reviews(waiting)

    async def _put_reviews(self, waiting: "Sequence[ReviewRow]") -> None:
        if waiting and self._store is not None:
            opened = await self._store.reviews.open_rows(waiting)  # awaited first: += reads before it waits
            self.opened += opened

    def _queue(self, judgment: "Judgment | Reviewed", assessment: Assessment, panel: Panel, policy: "Policy") -> None:
        from metajudge.reviews.rows import row_of

        review = self._asking(policy).review(judgment, assessment, panel)
        if review is not None:
            self._waiting.append(row_of(review))

    def _asking(self, policy: "Policy") -> "Asking":
        from metajudge.vetting.queueing import Asking

        return Asking(policy, self._audit_share, self._seed, self._reviewers)


def stored_key(key: str, assessment: Assessment) -> str:
    """The key of an assessment in the store: with the signals, which depend on the judgments around it."""
    if assessment.signals is None:
        return key
    return digest([key, {name: signal.model_dump() for name, signal in assessment.signals.items()}])


def _loaded(given: "str | Path | Calibration | None") -> "Calibration | None":
    if not isinstance(given, str | Path):
        return given
    from metajudge.calibration.files import load_calibration

    return load_calibration(given)
