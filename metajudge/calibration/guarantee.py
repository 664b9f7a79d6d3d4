"""Thresholds with a finite-sample guarantee on precision.

The least selective threshold is sought such that, with probability at least ``1 - delta`` over the draw of the
labelled questions, the precision of all judgments it keeps is at least the target (learn-then-test: Angelopoulos,
Bates, Candes, Jordan, Lei, "Learn then Test: Calibrating Predictive Algorithms to Achieve Risk Control", 2022).
Thresholds are tested by an exact test whose unit is the question (:mod:`metajudge.calibration.question_test`), or by
bets, at any time (:mod:`metajudge.calibration.labelled_sample`), on a grid without any label
(:mod:`metajudge.calibration.procedures`).
"""

from collections.abc import Mapping, Sequence
from typing import Literal

from pydantic import Field

from metajudge.calibration.labelled_sample import Counts, LabelledSample
from metajudge.calibration.looks import Looks, Sample, Turn
from metajudge.calibration.procedures import (
    Procedure,
    Reference,
    Setting,
    check_promise,
    last_rejected,
    procedure_in_ranks,
)
from metajudge.calibration.promise import Promise, percent
from metajudge.errors import InputError
from metajudge.stats.arrays import Bools, Floats
from metajudge.stats.intervals import clopper_pearson_lower
from metajudge.types import GuaranteedThreshold, GuaranteePopulation, GuaranteeUnit, text_digest
from metajudge.types.frozen import Frozen


def _unset(value: object) -> bool:
    return value is None


class Guarantee(Frozen):
    """A threshold whose precision is guaranteed.

    Attributes:
        threshold: keep where the score is at least this.
        delta: probability, over the draw of the questions, that the guarantee fails.
        questions: labelled questions it was sought on.
        kept: judgments kept of these; in records of the older units questions kept.
        errors: wrong ones among the kept.
        precision: share of right ones among the kept.
        lower: Clopper and Pearson's lower bound of the precision at the level of the look, for this threshold looked
            at alone and given how many judgments it keeps; None where a question may keep several. The test averages
            over how many are kept, and so passes where this is a little below the target, too.
        coverage: share kept.
        unit: what represents a question in the test; ``all_kept`` but in records of earlier versions.
        seed: of the choice of one judgment a question in records of earlier versions; None for ``all_kept``.
        approximate: whether scores and threshold come from the same questions (cross-fitted): then nothing is proven.
        judges: whose judgments; empty for all.
        procedure: the test procedure.
        judgments: labelled judgments there were.
        kept_questions: questions with a kept judgment.
        most_per_question: judgments of one question that it covers at most.
        left_out: questions with more, which it does not cover and was not sought on.
        population: new questions like the labelled ones; ``this_file`` in records of earlier versions alone.
        category: of items, in records of earlier versions; None for all together.
        among: promises made together at this delta, in records of earlier versions.
        look, level: the look of the ledger that found it, and what that spent of delta; None outside a ledger.
        counted_by: what a question is, ``item`` or a field; None for the question itself.
        floor: lowest score that the labelled questions were drawn from; None where all could be drawn.
        stated_random: whether the user stated that the labelled questions were drawn at random.
    """

    kind: Literal["guarantee"] = "guarantee"
    threshold: float
    target: float
    delta: float
    questions: int
    kept: int
    errors: int
    precision: float
    lower: float | None = None
    coverage: float
    unit: GuaranteeUnit
    seed: int | None = Field(default=None, exclude_if=_unset)
    approximate: bool = False
    judges: tuple[str, ...] = ()
    procedure: Procedure
    judgments: int | None = Field(default=None, exclude_if=_unset)
    kept_questions: int | None = Field(default=None, exclude_if=_unset)
    most_per_question: int | None = Field(default=None, exclude_if=_unset)
    left_out: int = Field(default=0, exclude_if=lambda given: given == 0)
    population: GuaranteePopulation = Field(default="new_questions", exclude_if=lambda given: given == "new_questions")
    category: str | None = Field(default=None, exclude_if=_unset)
    among: int = Field(default=1, exclude_if=lambda given: given == 1)
    look: int | None = Field(default=None, exclude_if=_unset)
    level: float | None = Field(default=None, exclude_if=_unset)
    counted_by: str | None = Field(default=None, exclude_if=_unset)
    floor: float | None = Field(default=None, exclude_if=_unset)
    stated_random: bool = Field(default=False, exclude_if=lambda given: not given)

    def promise(self, fitted: Sequence[str] = ()) -> Promise:
        """What it promises, with its scope.

        Args:
            fitted: the judges of the calibration, which a guarantee for all of them does not name itself.
        """
        scope = {name: getattr(self, name) for name in GuaranteedThreshold.model_fields}
        return Promise(**scope | {"judges": tuple(sorted(self.judges or fitted))})

    def meaning(self, fitted: Sequence[str] = ()) -> str:
        """The promise in words, and what its threshold kept of the labelled questions; see :meth:`promise`."""
        return f"{self.promise(fitted).sentence()} {self.found()}"

    def found(self) -> str:
        """What the threshold kept of the questions it was set on."""
        right = f"{self.kept - self.errors} of them right."
        if self.kept_questions is None:
            return (
                f"There it kept {self.kept} of {self.questions} questions (coverage {percent(self.coverage)}), {right}"
            )
        return (
            f"There it kept {self.kept} of {self.judgments} judgments ({percent(self.coverage)}), of "
            f"{self.kept_questions} of {self.questions} questions, {right}"
            + f" {self.left_out} questions with more judgments are outside of it." * (self.left_out > 0)
            + ("" if self.floor is None else f" All have a judgment with a probability of {self.floor:.4g} or more.")
        )


ONE_LOOK = (
    "No ledger covers this look: adding labels and looking again spends confidence. Look through a ledger (`Looks`, "
    "which `metajudge calibrate threshold` keeps in the calibration file)."
)
"""What to do after an abstention; a number of further labels read off the same labels would be far too small."""


class Abstention(Frozen):
    """Why no threshold can be guaranteed."""

    kind: Literal["abstention"] = "abstention"
    reason: str
    target: float
    delta: float
    questions: int
    procedure: Procedure
    look: int | None = Field(default=None, exclude_if=_unset)
    level: float | None = Field(default=None, exclude_if=_unset)

    def meaning(self) -> str:
        """The abstention and what to do next, in words."""
        outside = f" {ONE_LOOK}" if self.look is None else ""
        return f"No threshold can be guaranteed: {self.reason}.{outside}"


def guaranteed_threshold(
    scores: Sequence[float] | Floats,
    correct: Sequence[bool] | Bools,
    questions: Sequence[str],
    *,
    target: float,
    delta: float,
    reference: Sequence[float] | Floats | None = None,
    reference_questions: Sequence[str] | None = None,
    most_per_question: int | None = None,
    looks: Looks | None = None,
    approximate: bool = False,
    judges: Sequence[str] = (),
    or_lower: bool = False,
    anytime: bool = False,
    floor: float | None = None,
    stated_random: bool = True,
) -> Guarantee | Abstention:
    """The least selective threshold whose precision is guaranteed, or the reason why no threshold passes.

    Args:
        scores: [n] on any scale; higher is more trustworthy. Scores are rounded to 1e-9, as they are where it is used.
        correct: [n].
        questions: [n] the question of each judgment: drawn at random, all with the same probability.
        target: precision of all kept judgments to guarantee, in (0, 1).
        delta: probability of failure allowed, in (0, 1).
        reference: [r] scores without labels of other questions, whose ranks fix the thresholds tried: of the questions
            fitted on (out of fold), or unlabelled ones. None sets 15 % of the questions aside for it, chosen by digest,
            whose labels are then not used.
        reference_questions: [r] the question of each; None for one judgment a question.
        most_per_question: judgments of one question that may be kept at most, declared beforehand; questions with more
            are left out, and nothing is promised of them. None for the most that a question has here or in the
            reference: right where the number is known from how the judgments were collected.
        looks: the ledger that divides delta over all looks at these labels; None for a look that no ledger covers.
        approximate: whether the scores were fitted on these questions (out of fold); recorded.
        judges: whose judgments these are; recorded.
        or_lower: where the target is not reached at the first threshold, the highest lower one that is there, in the
            same look: targets from :data:`LOWEST` are tested in rising order at the first threshold, then the last one
            at the thresholds after it. This is one fixed sequence, so the chance that any promise of the look is false
            stays at most ``delta``.
        anytime: bets, which may be read after any label, in place of the exact test; needs a reference.
        floor: score of the best judgment that a question needs to be drawn, fixed without labels: no threshold below is
            tried. Labelled questions below it are left out. None where all could be drawn.
        stated_random: whether that the questions were drawn at random is the caller's word, and no record's.

    Raises:
        InputError: target or delta out of range, unequal lengths, nothing given, a score that is no number, only
            questions with more judgments than declared, or a look that the ledger refuses.
    """
    check_promise(target, delta)
    sample = LabelledSample.of(scores, correct, questions, most_per_question)
    given = None if reference is None else Reference.of(reference, reference_questions)
    search = _Search(sample, target, given, most_per_question, or_lower=or_lower, anytime=anytime, floor=floor)
    about = {"approximate": approximate, "judges": tuple(judges), "stated_random": stated_random}
    if looks is None:
        return search.result(delta, None, about)
    return looks.look(
        Sample.of(sample.scores, sample.correct, sample.questions),
        target=target,
        delta=delta,
        settings=search.settings(approximate, judges, alone=not or_lower),
        test=lambda turn: search.result(delta, turn, about),
        store=lambda result: result.model_dump(mode="json"),
        restore=lambda data: (Guarantee if data["kind"] == "guarantee" else Abstention).model_validate(data),
        judges=judges,
    )


LOWEST, RISE = 0.5, 0.02
"""The first target of a look over several, and the steps to the next."""


def rising(target: float) -> list[float]:
    """The targets below one that a look over several tests before it, ascending."""
    steps = range(max(0, round((target - LOWEST) / RISE + 0.5)))
    return [one for step in steps if (one := round(LOWEST + RISE * step, 9)) < round(target, 9)]


class _Search:
    """One search for a threshold; the arguments are those of :func:`guaranteed_threshold`."""

    def __init__(
        self,
        sample: LabelledSample,
        target: float,
        reference: Reference | None,
        most: int | None,
        *,
        or_lower: bool,
        anytime: bool,
        floor: float | None,
    ) -> None:
        if anytime and reference is None:
            raise InputError("bets need a reference: their thresholds must stay the same while labels are added")
        self.target, self.floor, self.anytime, self.left_out = target, floor, anytime, sample.left_out
        self.lower = rising(target) if or_lower and not anytime else []
        self.unlabelled = reference
        self.sample, self.reference = sample.set_aside() if reference is None else (sample, reference)
        self.most = max(self.sample.most, self.reference.most) if most is None else most
        self.sample = self.sample.above(floor)

    def settings(self, approximate: bool, judges: Sequence[str], *, alone: bool) -> str:
        """Digest of everything the test depends on but labels, target and delta; earlier versions made the same."""
        known = "" if self.unlabelled is None else text_digest(str(sorted(self.unlabelled.scores.tolist())))
        about = {"approximate": approximate, "judges": tuple(judges), "category": None}
        more = " alone" * (alone and not self.anytime) + ("" if self.floor is None else f" floor {self.floor}")
        return text_digest(f"{'e_process' if self.anytime else 'ranks'} {known} {self.most} {about}{more}")

    def result(self, delta: float, turn: Turn | None, about: Mapping[str, object]) -> Guarantee | Abstention:
        """What the search finds at the whole of delta, or at the level of a turn."""
        if turn is not None and turn.anytime != self.anytime:
            raise InputError("a ledger is read by bets where its schedule is `anytime`, and only there")
        level = delta if turn is None else turn.level
        procedure = self._fixed(level)
        first_seen = None if turn is None else turn.first_seen
        sample = self.sample.in_order(first_seen) if self.anytime else self.sample  # in which bets take the questions
        counts = sample.counts(procedure.grid)
        reached, at = self._passing(counts, procedure, level)
        spent = {"look": None if turn is None else turn.number, "level": None if turn is None else level}
        if reached is None:
            reason = counts.why_none(self.target, level, self._alone)
            reason = f"not even {100 * LOWEST:g} % can be promised: {reason}" if self.lower else reason
            return Abstention(
                reason=reason, target=self.target, delta=delta, questions=counts.questions, procedure=procedure
            ).model_copy(update=spent)
        kept, errors = int(counts.kept[:, at].sum()), int(counts.errors[:, at].sum())
        return Guarantee(
            threshold=procedure.grid[at],
            target=reached,
            delta=delta,
            questions=counts.questions,
            kept=kept,
            errors=errors,
            precision=(kept - errors) / kept,
            lower=clopper_pearson_lower(kept - errors, kept, 1 - level).low if self._alone else None,
            coverage=kept / counts.judgments,
            unit="all_kept",
            procedure=procedure,
            judgments=counts.judgments,
            kept_questions=int((counts.kept[:, at] > 0).sum()),
            most_per_question=self.most,
            left_out=self.left_out,
            floor=self.floor,
        ).model_copy(update={**spent, **about})

    def _passing(self, counts: Counts, procedure: Procedure, level: float) -> tuple[float | None, int]:
        """The highest target that passes before the first that does not, and its last threshold; None for none."""
        reached = None
        for target in self.lower:
            if counts.first.p_values(target, self.most, credited=procedure.credited)[0] > level:
                return reached, 0
            reached = target
        p_values = counts.p_values(self.target, self.most, anytime=self.anytime, credited=procedure.credited)
        at = int(last_rejected(p_values, level))
        return (reached, 0) if at < 0 else (self.target, at)

    @property
    def _alone(self) -> bool:
        return self.most == 1 and not self.anytime

    def _fixed(self, level: float) -> Procedure:
        """The procedure, fixed without a label."""
        questions = max(1, len(self.sample.names))  # none where the only one was set aside: nothing passes then
        setting = Setting(self.target, level, questions, self.most)
        made = procedure_in_ranks("e_process" if self.anytime else "ranks", self.reference, setting, self.floor)
        return made if self.unlabelled is not None else made.model_copy(update={"origin": f"{made.origin}, set aside"})
