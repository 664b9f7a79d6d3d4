"""What follows on vetting: a probability, a policy's decision, a place in the store, a review by people."""

import json
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from metajudge.bulk.endings import Annotate, Annotated, Codes
from metajudge.bulk.reading import Intake
from metajudge.bulk.run import Block
from metajudge.concurrency import off_the_loop
from metajudge.errors import ConfigurationError
from metajudge.store.protocol import Store
from metajudge.strategies import Panel, Vetter
from metajudge.types import Assessment, Judgment, digest, is_right, kind_of
from metajudge.types.right import DEFAULTS
from metajudge.vetting.summary import VetSummary

if TYPE_CHECKING:
    from metajudge.calibration.calibration import Calibration
    from metajudge.decision import Policy
    from metajudge.evidence.rewards import RewardScore
    from metajudge.monitor.records import BrokenPromises
    from metajudge.reviews import Review
    from metajudge.reviews.opening import Reviewed
    from metajudge.vetting.probability import Probabilities

CALIBRATION = "calibration"
"""The kind of calibrations in the store's change log; their subject is the digest."""

REVIEWS_AT_ONCE = 200
"""Reviews are queued in the store in groups of this size, block by block, and at the end of a run."""


class Completion:
    """Adds what calibration and policy say of an assessment, and keeps both in the store.

    Args:
        calibration: or its file.
        allow_other: whether judges, agents, rubrics or prompts may differ from those the calibration was fitted on.
        policy: as given; which version is in force is known once :meth:`start` has a store to ask.
        audit_share, reviewers: see :func:`metajudge.reviews.opening.review_of`.
        policy_per_call: whether :meth:`complete` is given a policy: then reviews need none here.

    Attributes:
        policy: in force, once started.
        opened: reviews queued so far that were not there before.

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
        self._allow_other = allow_other
        self._given = policy
        self._audit_share = audit_share
        self._reviewers = reviewers
        self._waiting: list[Review] = []
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

        Args:
            key: under which the assessment is looked up.
            policy: decides in place of the one in force.
            new: whether the panel has just found the assessment.
        """
        policy = policy or self.policy
        completed = assessment
        if probabilities is not None:
            broken = frozenset[str]() if self._broken is None else await self._broken.now()
            completed = probabilities.complete(judgment, assessment, broken)
        if policy is not None:
            from metajudge.vetting.policies import decided

            completed = decided(policy, completed, vetter.panel_for(judgment))
        if self._store is not None and (new or completed is not assessment):
            if assessment.signals is not None:  # depends on the judgments around it, which are no part of the key
                key = digest([key, {name: signal.model_dump() for name, signal in assessment.signals.items()}])
            await self._store.save_assessment(key, judgment, completed, self._run_id, assessment)
            if policy is not None:
                self._queue(judgment, completed, vetter.panel_for(judgment), policy)
                if len(self._waiting) >= REVIEWS_AT_ONCE:
                    await self.open_reviews()
        return completed

    async def annotate(
        self, intake: Intake, vetter: Vetter, rewards: "Iterable[RewardScore] | None"
    ) -> Annotate | None:
        """What adds calibration and policy to many assessments by free evidence at once; None without either.

        Raises:
            InputError: as for :meth:`evidence`.
        """
        if not self.active:
            return None
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
        broken = frozenset[str]() if self._broken is None else await self._broken.now()

        def annotated(found: Sequence[Assessment], codes: Codes, rows: Codes) -> Annotated:
            return annotated_column(found, codes, probabilities=probabilities, rows=rows, policy=policy, broken=broken)

        return annotated

    async def queue_block(self, block: Block, intake: Intake, vetter: Vetter) -> None:
        """Queues the reviews that a block's decisions need."""
        policy = self.policy
        if policy is None or self._store is None:
            return
        from metajudge.reviews.opening import place_of

        decisions = [one.decision for one in block.endings.finals]
        for at, (row, code) in enumerate(zip(block.rows.tolist(), block.codes.tolist(), strict=True)):
            decision = decisions[code]
            if decision is None or place_of(decision, intake.digest(row), self._audit_share, self._seed) is None:
                continue
            reviewed = _reviewed(intake, row)
            panel = vetter.panel_of(reviewed.category)
            self._queue(reviewed, block.endings.assessment(block.first + at), panel, policy)
        await self.open_reviews()

    async def open_reviews(self) -> None:
        """Puts what waits into the store's queue; what is there already stays as it is."""
        waiting, self._waiting = self._waiting, []
        if waiting and self._store is not None:
            opened = await self._store.reviews.open(waiting)  # awaited first: += reads before it waits
            self.opened += opened

    def _queue(self, judgment: "Judgment | Reviewed", assessment: Assessment, panel: Panel, policy: "Policy") -> None:
        from metajudge.reviews.opening import review_of
        from metajudge.vetting.policies import weights_of

        review = review_of(
            judgment,
            assessment,
            now=time.time(),
            criterion_weights=weights_of(panel),
            audit_share=self._audit_share,
            seed=self._seed,
            reviewers=self._reviewers,
            scale=panel.scale,
            rule=policy.review,
        )
        if review is not None:
            self._waiting.append(review)


def _reviewed(intake: Intake, row: int) -> "Reviewed":
    from metajudge.reviews.opening import Reviewed

    facts = intake.facts
    item, category = facts.items[facts.item[row]], int(facts.category[row])
    verdict, truth = facts.verdict_of(int(facts.verdict[row])), int(facts.truth[row])
    correct = None
    if verdict is not None and truth >= 0:
        correct = is_right(verdict, facts.truths[truth], DEFAULTS[kind_of(verdict)])
    return Reviewed(
        id=facts.judgment_ids[row],
        digest=intake.digest(row),
        item_id=item.id,
        judge=facts.judges[facts.judge[row]],
        category=None if category < 0 else facts.categories[category],
        verdict=verdict,
        scale=item.scale,
        correct=correct,
        question=item.digest,
    )


def _loaded(given: "str | Path | Calibration | None") -> "Calibration | None":
    if not isinstance(given, str | Path):
        return given
    from metajudge.calibration.files import load_calibration

    return load_calibration(given)
