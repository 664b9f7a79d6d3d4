"""What follows on vetting: a probability, a policy's decision, a place in the store, a review by people."""

import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from metajudge.concurrency import off_the_loop
from metajudge.errors import ConfigurationError
from metajudge.store import Store
from metajudge.strategies import StrategyName, Vetter
from metajudge.strategies.rule import check_cut
from metajudge.types import Assessment, Judgment, Right, digest
from metajudge.vetting.summary import VetSummary

if TYPE_CHECKING:
    from metajudge.calibration.calibration import Calibration
    from metajudge.decision import Policy
    from metajudge.evidence.rewards import RewardScore
    from metajudge.evidence.verdicts import Verdicts
    from metajudge.monitor.records import BrokenPromises
    from metajudge.panels.config import PanelConfig
    from metajudge.reviews.opening import Reviewed
    from metajudge.reviews.review import ReviewRow
    from metajudge.stats.arrays import Bools, Indices
    from metajudge.vetting.history import History
    from metajudge.vetting.intake import Intake
    from metajudge.vetting.own_fit import OwnFit
    from metajudge.vetting.probability import Probabilities

NO_CALIBRATION: Final = "none"
"""In place of a calibration: labels of the input are not used either."""

REVIEWS_AT_ONCE = 1_000
"""Reviews are queued in the store in groups of about this size, and at the end of a run."""


class Completion:
    """Adds what calibration and policy say of assessments, and queues reviews.

    Args:
        allow_other: whether judges, agents, rubrics or prompts may differ from those the calibration was fitted on.
        policy: as given; which version is in force is known once :meth:`start` has a store to ask.
        audit_share, reviewers: see :func:`metajudge.reviews.opening.review_of`.
        policy_per_call: whether each judgment is given a policy: then reviews need none here.

    Attributes:
        uses_labels: whether labels of an input give its probabilities where free evidence alone would decide.
        opened: reviews queued so far that were not there before.
        history: answers verdicts that stand alone, where there is no calibration.

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
        self.uses_labels = calibration is None
        if isinstance(calibration, str | Path) and str(calibration) == NO_CALIBRATION:
            calibration = None
        if isinstance(calibration, str | Path):
            from metajudge.calibration.files import load_calibration

            calibration = load_calibration(calibration)
        self.calibration = calibration
        self.policy: Policy | None = None
        self.history: History | None = None
        self._fits: Sequence[str] = ()
        self.opened = 0
        self._allow_other = allow_other
        self._given = policy
        self._audit_share = audit_share
        self._reviewers = reviewers
        self._waiting: list[ReviewRow] = []
        self._store: Store | None = None
        self._broken: BrokenPromises | None = None
        self._seed = 0
        self._without_labels: str | None = None
        if not 0 <= audit_share <= 1:
            raise ConfigurationError(
                f"the review sample must be a fraction from 0 to 1, not {audit_share:g}; .05 is one in twenty"
            )
        if reviewers < 1:
            raise ConfigurationError(f"a review needs at least one reviewer, not {reviewers}")
        if (audit_share or reviewers > 1) and policy is None and not policy_per_call:
            raise ConfigurationError("reviews are opened by a policy: give one (--policy NAME)")

    @property
    def needs_every_score(self) -> bool:
        """Whether every agent must be asked: an agent not asked has no score to decide on."""
        reads_agents = self.calibration is not None and "agents" in self.calibration.identity.signals
        return reads_agents or self._given is not None

    async def start(self, store: Store | None, vetter: Vetter, say: Callable[[str], None]) -> None:
        """Finds the version of the policy in force and checks that it fits the panels.

        The calibration's content is kept, once per digest, so that probabilities can be explained without its file.

        Raises:
            PolicyError: no such policy.
            ConfigurationError: one for other panels, or for cases.
        """
        self._store, self._seed = store, vetter.seed or 0
        if store is not None and self.calibration is not None:
            from metajudge.monitor.records import BrokenPromises
            from metajudge.monitor.stored import keep_calibration

            self._broken = BrokenPromises(store)
            await keep_calibration(store, self.calibration, now=time.time())
        if self.uses_labels:
            from metajudge.vetting.history import History

            self.history = History(store)
            self._fits = sorted((await self.history.fits()).values())
        if self._given is None:
            return
        from metajudge.feedback.loop import policy_in_force

        self.policy = await policy_in_force(self._given, store)
        self.check(self.policy, vetter, say)

    async def own_fit(self, table: "Intake", vetter: Vetter, right: Right | None) -> "OwnFit | None":
        """P(right) by the labels of the input; None where something else decides, or there are no labels.

        Raises:
            ConfigurationError: a typed cut in P, and no label to compare it with.
        """
        free = all(one.strategy is StrategyName.SIGNALS and not one.threshold_typed for one in vetter.panels)
        scored = self.policy is not None and self.policy.basis == "score"
        if scored or not (self.uses_labels and free):
            return None
        from metajudge.vetting.own_fit import own_fit

        facts, wanted = table.facts, np.isin(np.arange(len(table.facts)), table.wanted)
        found = await off_the_loop(lambda: own_fit(facts, wanted, right), table.characters)
        if found is not None and self._store is not None:
            from metajudge.monitor.stored import keep_calibration

            await keep_calibration(self._store, found.calibration, now=time.time())
        if found is None:
            for cut in {one.cut for one in vetter.panels}:
                check_cut(cut, calibrated=False, policy=False)
        return found

    def check(self, policy: "Policy", vetter: Vetter, say: Callable[[str], None]) -> None:
        """Checks that a policy can decide on the panels' results; reports where its input is missing."""
        from metajudge.vetting.policies import check_panels, mismatch

        check_panels(policy, vetter.panels)
        remark = mismatch(policy, vetter.panels, calibrated=self.calibration is not None)
        if remark is not None and self.uses_labels and policy.basis == "probability":
            self._without_labels = remark
        elif remark is not None:
            say(remark)

    def say_without_labels(self, say: Callable[[str], None]) -> None:
        """Reports what is missing where labels of the input might have given probabilities, and did not."""
        remark, self._without_labels = self._without_labels, None
        if remark is not None:
            say(remark)

    def check_cuts(self, panel: "PanelConfig") -> None:
        """Refuses a panel's cut in P without a calibration, or beside a policy.

        Raises:
            ConfigurationError: see :func:`metajudge.strategies.rule.check_cut`.
        """
        for cut in panel.cuts:
            calibrated = self.calibration is not None or (self.uses_labels and not panel.agents)
            check_cut(cut, calibrated=calibrated, policy=self._given is not None)

    def config(self) -> dict[str, Any]:
        """Its part of a run's record."""
        found: dict[str, Any] = {}
        if self.calibration is not None:
            found["calibration"] = self.calibration.digest
        if self._fits:
            found["history"] = self._fits
        if self.policy is not None:
            found["policy"] = {"name": self.policy.name, "digest": self.policy.digest}
        if self.policy is not None or self._audit_share:
            found["audit_share"] = self._audit_share
        return found

    def describe(self, summary: VetSummary, own: "OwnFit | None" = None) -> None:
        """Notes in a run's summary which calibration and policy it uses."""
        if own is not None:
            summary.calibrated, summary.fitted, summary.limits = True, own.sentence, own.limits
        if self.calibration is not None:
            summary.calibrated, summary.transferred = True, self.calibration.is_shipped
            summary.guarantees = self.calibration.meanings
        if self.policy is not None:
            summary.policy = f"{self.policy.name} {self.policy.digest}"

    def check_calibration(self, vetter: Vetter) -> None:
        """Refuses panels with other agents than those that the calibration was fitted on.

        Raises:
            InputError: naming what differs.
        """
        if self.calibration is not None:
            from metajudge.evidence.verdicts import VerdictsBuilder

            self.probabilities(VerdictsBuilder().facts(), vetter, strict=False)

    def probabilities(
        self,
        facts: "Verdicts",
        vetter: Vetter,
        *,
        wanted: "Bools | None" = None,
        rewards: "Iterable[RewardScore] | None" = None,
        strict: bool = True,
        own: "Calibration | None" = None,
    ) -> "Probabilities | None":
        """What the calibration says of the judgments of an input; None without one.

        Args:
            facts: of all records of the input.
            wanted: [n] which of them are vetted; None for all.
            strict: whether an input of which no judge is one of the calibration's is an error.
            own: a calibration fitted to the labels of the input, in place of the one given.

        Raises:
            InputError: the calibration is for something else, or a signal it reads is not there.
        """
        calibration = own or self.calibration
        if calibration is None:
            return None
        from metajudge.vetting.probability import Probabilities

        return Probabilities.of_facts(
            calibration,
            facts,
            panels=vetter.panels,
            wanted=wanted,
            rewards=rewards,
            allow_other_identity=self._allow_other or own is not None,
            judges_must_be_known=strict,
        )

    async def broken_promises(self) -> frozenset[str]:
        """Promises that audits have broken: they are stamped on nothing."""
        return frozenset() if self._broken is None else await self._broken.now()

    async def queue(
        self,
        finals: Sequence[Assessment],
        rows: "Indices",
        judgments: Sequence[Judgment] | None,
        vetter: Vetter,
        policy: "Policy | None",
        table: "Intake | None",
    ) -> None:
        """Queues the reviews that a policy's decisions need; some wait for :meth:`open_reviews`.

        Args:
            judgments: where they are at hand; else their rows in ``table`` say what a review names.
        """
        if policy is None or self._store is None:
            return
        from metajudge.reviews.opening import place_of, review_of
        from metajudge.vetting.policies import weights_of

        drawn: dict[str, Any] = {"audit_share": self._audit_share, "seed": self._seed}
        for at, (final, row) in enumerate(zip(finals, rows.tolist(), strict=True)):
            if final.decision is None or place_of(final.decision, final.judgment_digest, **drawn) is None:
                continue
            if judgments is not None:
                of: Judgment | Reviewed = judgments[at]
            else:
                assert table is not None
                of = table.reviewed(row, final.judgment_digest)
            panel = vetter.panel_of(final.category)
            own: dict[str, Any] = {"criterion_weights": weights_of(panel), "scale": panel.scale, "rule": policy.review}
            review = review_of(of, final, now=time.time(), reviewers=self._reviewers, **drawn, **own)
            if review is not None:
                self._waiting.append(review.row)
        if len(self._waiting) >= REVIEWS_AT_ONCE:
            await self.open_reviews()

    async def open_reviews(self) -> None:
        """Puts what waits into the store's queue; what is there already stays as it is."""
        waiting, self._waiting = self._waiting, []
        if waiting and self._store is not None:
            opened = await self._store.reviews.open_rows(waiting)  # awaited first: += reads before it waits
            self.opened += opened


def stored_key(key: str, assessment: Assessment) -> str:
    """The key of an assessment in the store: with the signals, which depend on the judgments around it."""
    if assessment.signals is None:
        return key
    return digest([key, {name: signal.model_dump() for name, signal in assessment.signals.items()}])
