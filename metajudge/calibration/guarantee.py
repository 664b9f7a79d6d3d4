"""Thresholds with a finite-sample guarantee on precision.

The least selective threshold is sought such that, with probability at least ``1 - delta`` over the draw of the
labelled questions, the precision of all judgments it keeps is at least the target (learn-then-test: Angelopoulos,
Bates, Candes, Jordan, Lei, "Learn then Test: Calibrating Predictive Algorithms to Achieve Risk Control", 2022).
Thresholds are tested by an exact test whose unit is the question (:mod:`metajudge.calibration.question_test`) or by
bets (:mod:`metajudge.calibration.labelled_sample`), on a grid without any label (:mod:`metajudge.calibration.starts`).
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

from pydantic import Field

from metajudge.calibration.labelled_sample import LabelledSample
from metajudge.calibration.looks import Looks, Sample, Turn
from metajudge.calibration.procedures import (
    DEFAULT,
    Procedure,
    ProcedureName,
    check_procedure,
    check_promise,
    last_rejected,
)
from metajudge.calibration.promise import Promise, percent
from metajudge.calibration.starts import Reference, Setting, procedure_foreseen, procedure_in_ranks
from metajudge.errors import InputError
from metajudge.stats.arrays import Bools, Floats
from metajudge.stats.intervals import clopper_pearson_lower
from metajudge.types import GuaranteedThreshold, GuaranteePopulation, GuaranteeUnit, text_digest
from metajudge.types.frozen import Frozen

Unit: TypeAlias = GuaranteeUnit


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
        category: of items; None for all together.
        among: promises made together at this delta (by judge or category); each was sought at a share of it.
        look, level: the look of the ledger that found it, and what that spent of delta; None outside a ledger.
        counted_by: what a question is, ``item`` or a field; None for the question itself.
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
    unit: Unit
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
            + f" {self.left_out} questions with more judgments are outside of it."
            * (self.left_out > 0)
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
    procedure: ProcedureName | None = None,
    reference: Sequence[float] | Floats | None = None,
    reference_questions: Sequence[str] | None = None,
    most_per_question: int | None = None,
    looks: Looks | None = None,
    approximate: bool = False,
    judges: Sequence[str] = (),
    category: str | None = None,
    or_lower: bool = False,
) -> Guarantee | Abstention:
    """The least selective threshold whose precision is guaranteed, or the reason why no threshold passes.

    Args:
        scores: [n] on any scale; higher is more trustworthy. Scores are rounded to 1e-9, as they are where it is used.
        correct: [n].
        questions: [n] the question of each judgment.
        target: precision of all kept judgments to guarantee, in (0, 1).
        delta: probability of failure allowed, in (0, 1).
        procedure: ``ranks``, the default, is the exact test; ``e_process`` bets, and may be read after any label.
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
        category: of the items; recorded.
        or_lower: where the target is not reached, the highest lower one that is, in the same look: targets from
            :data:`LOWEST` are tested in rising order, each at one threshold that the probabilities of the reference fix
            without labels, and the last one at its whole grid. This is one fixed sequence, so the chance that any of
            its promises is false stays at most ``delta``. The scores must be probabilities.

    Raises:
        InputError: target or delta out of range, unequal lengths, nothing given, a score that is no number, only
            questions with more judgments than declared, or a look that the ledger refuses.
        ConfigurationError: an unknown procedure.
    """
    check_promise(target, delta)
    procedure = check_procedure(procedure)
    sample = LabelledSample.of(scores, correct, questions, most_per_question)
    given = None if reference is None else Reference.of(reference, reference_questions)
    search = _Search(sample, target, procedure or DEFAULT, given, most_per_question)
    if or_lower and (search.anytime or given is None or not 0 <= min(given.scores) <= max(given.scores) <= 1):
        raise InputError(
            "lower targets are sought by the test in ranks, with probabilities of other questions as the reference: "
            "leave out e_process and anytime, and give the reference, or leave out the lower targets"
        )
    about = {"approximate": approximate, "judges": tuple(judges), "category": category}

    def found(turn: Turn | None) -> Guarantee | Abstention:
        return search.highest(delta, turn, about) if or_lower else search.result(delta, turn, about)

    if looks is None:
        return found(None)
    return looks.look(
        Sample.of(sample.scores, sample.correct, sample.questions),
        target=target,
        delta=delta,
        settings=text_digest(f"{search.settings} {about}" + " or lower" * or_lower),
        test=found,
        store=lambda result: result.model_dump(mode="json"),
        restore=lambda data: (Guarantee if data["kind"] == "guarantee" else Abstention).model_validate(data),
        judges=judges,
    )


class _Search:
    """One search for a threshold.

    Args:
        procedure: by which thresholds are tested.
        reference: scores without labels; None to set questions aside.
    """

    def __init__(
        self,
        sample: LabelledSample,
        target: float,
        procedure: ProcedureName,
        reference: Reference | None,
        most: int | None,
    ) -> None:
        self.target, self.procedure, self.left_out = target, procedure, sample.left_out
        self.anytime = procedure == "e_process"
        if self.anytime and reference is None:
            raise InputError(
                "the e-process needs a reference: its thresholds must stay the same while labels are added"
            )
        self.unlabelled = reference
        self.sample, self.reference = sample.set_aside() if reference is None else (sample, reference)
        self.most = max(self.sample.most, self.reference.most) if most is None else most

    @property
    def settings(self) -> str:
        """Everything the test depends on but labels, target and delta, as text."""
        known = "" if self.unlabelled is None else text_digest(str(sorted(self.unlabelled.scores.tolist())))
        return f"{self.procedure} {known} {self.most}"

    def result(self, delta: float, turn: Turn | None, about: Mapping[str, object]) -> Guarantee | Abstention:
        """What the search finds at the whole of delta, or at the level of a turn."""
        return self._tested(self.target, self._fixed(delta if turn is None else turn.level), delta, turn, about)

    def highest(self, delta: float, turn: Turn | None, about: Mapping[str, object]) -> Guarantee | Abstention:
        """The highest target that passes before the first that does not, in rising order."""
        found: Guarantee | None = None
        level = delta if turn is None else turn.level
        for target in (*rising(self.target), self.target):
            last = target == self.target
            procedure = self._fixed(level) if last else procedure_foreseen(self.reference, self._setting(target, level))
            result = self._tested(target, procedure, delta, turn, about)
            if isinstance(result, Abstention):
                reason = f"not even {100 * target:g} % can be promised: {result.reason}"
                return found or result.model_copy(update={"target": self.target, "reason": reason})
            found = result
        assert found is not None
        return found

    def _tested(
        self, target: float, procedure: Procedure, delta: float, turn: Turn | None, about: Mapping[str, object]
    ) -> Guarantee | Abstention:
        level = delta if turn is None else turn.level
        counts = self.sample.in_order(None if turn is None else turn.first_seen).counts(procedure.grid)
        if turn is not None and turn.anytime and not self.anytime:
            raise InputError("this ledger is read at any time: its looks need the procedure `e_process`")
        p_values = counts.p_values(target, self.most, anytime=self.anytime, credited=procedure.credited)
        at = int(last_rejected(p_values, level))
        alone = self.most == 1 and not self.anytime
        spent = {"look": None if turn is None else turn.number, "level": None if turn is None else level}
        if at < 0:
            reason = counts.why_none(target, level, alone)
            number = counts.questions
            return Abstention(
                reason=reason, target=target, delta=delta, questions=number, procedure=procedure
            ).model_copy(update=spent)
        kept, errors = int(counts.kept[:, at].sum()), int(counts.errors[:, at].sum())
        return Guarantee(
            threshold=procedure.grid[at],
            target=target,
            delta=delta,
            questions=counts.questions,
            kept=kept,
            errors=errors,
            precision=(kept - errors) / kept,
            lower=clopper_pearson_lower(kept - errors, kept, 1 - level).low if alone else None,
            coverage=kept / counts.judgments,
            unit="all_kept",
            procedure=procedure,
            judgments=counts.judgments,
            kept_questions=int((counts.kept[:, at] > 0).sum()),
            most_per_question=self.most,
            left_out=self.left_out,
        ).model_copy(update={**spent, **about})

    def _fixed(self, level: float) -> Procedure:
        """The procedure, fixed without a label."""
        made = procedure_in_ranks(self.procedure, self.reference, self._setting(self.target, level))
        return made if self.unlabelled is not None else made.model_copy(update={"origin": f"{made.origin}, set aside"})

    def _setting(self, target: float, level: float) -> Setting:
        questions = max(1, len(self.sample.names))  # none where the only one was set aside: nothing passes then
        return Setting(target, level, questions, self.most)


LOWEST, RISE = 0.5, 0.02
"""The first target of a look over several, and the steps to the next."""


def rising(target: float) -> list[float]:
    """The targets below one that a look over several tests before it, ascending."""
    steps = range(max(0, round((target - LOWEST) / RISE + 0.5)))
    return [one for step in steps if (one := round(LOWEST + RISE * step, 9)) < round(target, 9)]


def guaranteed_by_group(
    scores: Sequence[float] | Floats,
    correct: Sequence[bool] | Bools,
    questions: Sequence[str],
    groups: Sequence[str],
    *,
    by: Literal["judge", "category"],
    delta: float,
    reference: Mapping[str, Sequence[float] | Floats] | None = None,
    judges: Sequence[str] = (),
    **options: Any,
) -> dict[str, Guarantee | Abstention]:
    """A threshold for each judge or each category, such that all promises together hold with probability 1 - delta.

    Each of J groups is sought at delta / J (Bonferroni). A group whose last threshold passes hands its level to those
    that are left (Holm, "A Simple Sequentially Rejective Multiple Test Procedure", 1979).

    Args:
        scores: [n].
        correct: [n].
        questions: [n].
        groups: [n] judge or category of each judgment.
        reference: by group.
        judges: whose judgments, where groups are categories.
        options: further arguments of :func:`guaranteed_threshold`.

    Returns:
        By group, in order of its name.

    Raises:
        InputError: see :func:`guaranteed_threshold`.
    """
    if len(groups) != len(scores):
        raise InputError(f"{len(scores)} scores and {len(groups)} groups: they must match one to one")
    names = sorted(set(groups))
    found: dict[str, Guarantee | Abstention] = {}
    done: set[str] = set()
    while True:
        left = [name for name in names if name not in done]
        for name in left:
            at = [row for row, group in enumerate(groups) if group == name]
            result = guaranteed_threshold(
                [float(scores[row]) for row in at],
                [bool(correct[row]) for row in at],
                [questions[row] for row in at],
                delta=delta / len(left),
                reference=None if reference is None else reference[name],
                judges=(name,) if by == "judge" else judges,
                category=name if by == "category" else None,
                **options,
            )
            update = {"delta": delta, "among": len(names)} if isinstance(result, Guarantee) else {"delta": delta}
            found[name] = result.model_copy(update=update)
        passed = {
            name
            for name in left
            if isinstance(one := found[name], Guarantee) and one.threshold == one.procedure.grid[-1]
        }
        if not passed or len(done) + len(passed) == len(names):
            return {name: found[name] for name in names}
        done |= passed
