"""Which vetted judgments a run asks people about: one by one, and by columns where judgments are vetted in blocks."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from metajudge.reviews.opening import Place, Reviewed, place_of, review_of
from metajudge.reviews.rows import OPEN, Own, ReviewForm, ReviewRow
from metajudge.stats.arrays import Indices
from metajudge.types import AnyVerdict, Assessment, Judgment, is_right, kind_of
from metajudge.types.judgment import Scale
from metajudge.types.right import DEFAULTS
from metajudge.vetting.policies import weights_of

if TYPE_CHECKING:
    from metajudge.bulk.endings import Endings
    from metajudge.bulk.reading import Intake
    from metajudge.bulk.run import Block
    from metajudge.decision import Policy
    from metajudge.reviews.review import Review
    from metajudge.strategies import Panel, Vetter
    from metajudge.types.decision import Decision

ROWS_AT_ONCE: Final = 4_096
"""Blocks put their reviews into the store when there are so many, and at the end of a run.

A DuckDB file takes as many rows without writing them to its log first."""


@dataclass(frozen=True, slots=True)
class Asking:
    """What decides who is asked about which judgments; see :func:`metajudge.reviews.opening.review_of`."""

    policy: "Policy"
    audit_share: float
    seed: int
    reviewers: int

    def place(self, decision: "Decision", digest: str) -> Place | None:
        """The place of a decision in the queue; None where no review is needed."""
        return place_of(decision, digest, self.audit_share, self.seed)

    def is_sure(self, decision: "Decision") -> bool:
        """Whether every judgment with this decision is reviewed, whatever its content."""
        return place_of(decision, "", 0.0, self.seed) is not None

    def review(
        self, of: Judgment | Reviewed, assessment: Assessment, panel: "Panel", place: Place | None = None
    ) -> "Review | None":
        """The review of a judgment; None where none is needed."""
        return review_of(
            of,
            assessment,
            now=time.time(),
            criterion_weights=weights_of(panel),
            audit_share=self.audit_share,
            seed=self.seed,
            reviewers=self.reviewers,
            scale=panel.scale,
            rule=self.policy.review,
            place=place,
        )


class BlockReviews:
    """Reviews of the judgments of one run, block by block, without an object for each."""

    def __init__(self, asking: Asking, intake: "Intake", vetter: "Vetter", endings: "Endings") -> None:
        self._asking, self._intake, self._vetter, self.endings = asking, intake, vetter, endings
        decisions = [one.decision for one in endings.finals]
        self._always = np.array([one is not None and asking.is_sure(one) for one in decisions], dtype=bool)
        margins = [np.nan if one is None or one.margin is None else one.margin for one in decisions]
        self._margins = np.array(margins, dtype=np.float64)
        self._forms: dict[tuple[int, int], ReviewForm] = {}
        self._verdicts: dict[tuple[int, int, Scale | None], str] = {}

    def rows(self, block: "Block") -> Iterator[ReviewRow]:
        """The rows of the queue that a block's decisions need, in the order of its judgments."""
        intake, facts, at = self._intake, self._intake.facts, self._chosen(block)
        rows = block.rows[at]
        kinds = zip(block.codes[at].tolist(), facts.category[rows].tolist(), strict=True)
        about = zip(facts.item[rows].tolist(), facts.judge[rows].tolist(), strict=True)
        said = zip(facts.verdict[rows].tolist(), facts.truth[rows].tolist(), strict=True)
        places = zip((block.first + at).tolist(), rows.tolist(), strict=True)
        for (place, row), kind, (item_code, judge), (verdict, truth), (probability, margin) in zip(
            places, kinds, about, said, self._numbers(block, at), strict=True
        ):
            item = facts.items[item_code]
            form = self._forms.get(kind) or self._form(kind, place, row)
            text = self._verdicts.get((verdict, truth, item.scale)) or self._verdict(form, verdict, truth, item.scale)
            own = Own(facts.judgment_ids[row], intake.digest(row), item.id, facts.judges[judge], item.digest)
            yield form.row(own, text, now=time.time(), probability=probability, margin=margin)

    def _chosen(self, block: "Block") -> Indices:
        """Places in the block of judgments that people are asked about."""
        chosen = self._always[block.codes]
        if self._asking.audit_share:
            for at in np.flatnonzero(~chosen).tolist():
                decision = self.endings.finals[block.codes[at]].decision
                digest = self._intake.digest(int(block.rows[at]))
                chosen[at] = decision is not None and self._asking.place(decision, digest) is not None
        return np.flatnonzero(chosen)

    def _numbers(self, block: "Block", at: Indices) -> Iterator[tuple[float | None, float | None]]:
        """Probability and margin of judgments of a block."""
        said, codes, rows = self.endings.annotated, block.codes[at], block.first + at
        assert said is not None, "where a policy decides"
        margins = np.where(said.decided[codes], said.margins[rows], self._margins[codes])
        columns = (said.probabilities[rows], margins)
        return zip(*([None if one != one else one for one in column.tolist()] for column in columns), strict=True)

    def _form(self, kind: tuple[int, int], place: int, row: int) -> ReviewForm:
        """The form of reviews with an ending, in a category; from one of the judgments."""
        facts, assessment = self._intake.facts, self.endings.assessment(place)
        category = None if kind[1] < 0 else facts.categories[kind[1]]
        assert assessment.decision is not None
        found = self._asking.review(
            replace(OPEN, category=category),
            assessment,
            self._vetter.panel_of(category),
            self._asking.place(assessment.decision, self._intake.digest(row)),
        )
        assert found is not None
        return self._forms.setdefault(kind, ReviewForm(found))

    def _verdict(self, form: ReviewForm, verdict: int, truth: int, scale: Scale | None) -> str:
        facts = self._intake.facts
        said = facts.verdict_of(verdict)
        correct = is_correct(said, None if truth < 0 else facts.truths[truth])
        text = form.verdict(replace(OPEN, verdict=said, scale=scale, correct=correct))
        return self._verdicts.setdefault((verdict, truth, scale), text)


def reviewed(intake: "Intake", row: int) -> Reviewed:
    """What a review says of a judgment of an intake."""
    facts = intake.facts
    item, category = facts.items[facts.item[row]], int(facts.category[row])
    verdict, truth = facts.verdict_of(int(facts.verdict[row])), int(facts.truth[row])
    return Reviewed(
        id=facts.judgment_ids[row],
        digest=intake.digest(row),
        item_id=item.id,
        judge=facts.judges[facts.judge[row]],
        category=None if category < 0 else facts.categories[category],
        verdict=verdict,
        scale=item.scale,
        correct=is_correct(verdict, None if truth < 0 else facts.truths[truth]),
        question=item.digest,
    )


def is_correct(verdict: AnyVerdict | None, truth: AnyVerdict | None) -> bool | None:
    """Whether a verdict is right by the item's label and the default rule; None where that is unknown."""
    return None if verdict is None or truth is None else is_right(verdict, truth, DEFAULTS[kind_of(verdict)])
