"""A calibration: from signals to the probability that a judgment is correct, as a file of plain numbers."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Final

import numpy as np
import orjson
from pydantic import Field, model_validator

from metajudge.calibration.domain import NOT_COVERED, Mark, outside_domain
from metajudge.calibration.guarantee import Guarantee
from metajudge.calibration.levels import Level, answering
from metajudge.calibration.looks import Ledger
from metajudge.calibration.predictions import Marks, Named, Predictions
from metajudge.calibration.profiles import Profile
from metajudge.calibration.promise import Promise
from metajudge.calibration.quality import Quality
from metajudge.calibration.shipped import Prior
from metajudge.calibration.sources import EvidenceScales, SignalGroup
from metajudge.calibration.table import SignalTable
from metajudge.errors import InputError
from metajudge.evidence.consensus import Reliability
from metajudge.evidence.dependence import Dependence
from metajudge.evidence.units import ITEM, QUESTION, TEXT
from metajudge.stats.arrays import Bools, Floats
from metajudge.types import Right, VerdictKind, parse_right, text_digest
from metajudge.types.frozen import Frozen

CALIBRATION_VERSION = 1
"""Version of the file's format and of the definitions of its signals."""

FIT: Final = 2
"""Number of the rules by which a calibration is fitted; raise it where a file of earlier ones is to be fitted again."""


class Identity(Frozen):
    """What a calibration is for; anything else is refused unless allowed explicitly.

    Attributes:
        agents: name -> model, where agents' scores are among the signals.
        kind: of the verdicts; files from before kinds were recorded are about pairs.
        right: the rule of what is right, as :func:`~metajudge.types.parse_right` reads it.
    """

    judges: tuple[str, ...]
    signals: tuple[SignalGroup, ...]
    kind: VerdictKind = Field(default="pairwise", exclude_if=lambda given: given == "pairwise")
    right: str = Field(default="top1", exclude_if=lambda given: given == "top1")
    agents: dict[str, str] = Field(default_factory=dict)
    rubrics: tuple[str, ...] = ()
    prompts: tuple[str, ...] = ()
    version: int = CALIBRATION_VERSION


class KnownDependence(Frozen):
    """Judges that were not independent where a calibration was fitted; pairs of names, sorted.

    Attributes:
        possible: pairs that were found dependent, or of which it could not be excluded.
    """

    copies: tuple[tuple[str, str], ...] = ()
    possible: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, found: Dependence) -> "KnownDependence":
        return cls(copies=tuple(sorted(found.found("copy"))), possible=tuple(sorted(found.possible)))

    def is_exceeded_by(self, found: Dependence) -> bool:
        """Whether judges are copies that were none here, or followers or as good as the same where it was excluded."""
        others = found.found("follower") | found.found("cannot be told")
        return bool(found.found("copy") - set(self.copies) or others - set(self.possible))


class Provenance(Frozen):
    """What a calibration was fitted on: never a ground for refusal.

    Attributes:
        data: digest of the judgments' ids, judges, questions and outcomes.
        questions: name of the cluster -> judgment id -> out-of-fold probability.
        verdicts: the same name -> what each of its judgments says, in the order of their ids: for pairs a digit, the
            place in the order shown of the response preferred (1 or 2), else the verdict as text. A judgment that was
            made again under its old id and now says otherwise is not the one fitted on. None in files that do not
            record it.
        seed: of folds and resampling.
        folds: by question.
        repeats: out-of-fold probabilities are means over so many divisions into folds.
        selection: how it came that just these judgments have a label, where that is not by chance.
        dependence: judges that were not independent; None in files that do not record it.
    """

    data: str
    n: int
    questions: dict[str, dict[str, float]]
    verdicts: dict[str, str | tuple[str, ...]] | None = Field(default=None, exclude_if=lambda given: given is None)
    seed: int
    folds: int
    repeats: int
    selection: str | None = Field(default=None, exclude_if=lambda given: given is None)
    dependence: KnownDependence | None = Field(default=None, exclude_if=lambda given: given is None)

    @model_validator(mode="after")
    def _check_verdicts(self) -> "Provenance":
        """A file that was cut or edited must not answer for another verdict."""
        verdicts = self.verdicts
        if verdicts is not None and any(
            len(verdicts.get(name, "")) != len(ids) for name, ids in self.questions.items()
        ):
            raise ValueError("verdicts do not match the questions")
        return self

    def stored(self, question: str) -> dict[str, tuple[float, str | None]]:
        """Judgment id -> out-of-fold probability and what it said, None if not recorded."""
        known = self.questions[question]
        said = None if self.verdicts is None else self.verdicts[question]
        return {name: (known[name], said[at] if said else None) for at, name in enumerate(sorted(known))}


class CandidateLoss(Frozen):
    """Out-of-fold log loss of one of the models tried."""

    name: str
    log_loss: float


class JudgeGroup(Frozen):
    """Judges that share one fit.

    Attributes:
        chosen: name of the model, the one with the lowest out-of-fold log loss.
        tried: all models tried, best first.
    """

    judges: tuple[str, ...]
    chosen: str
    tried: tuple[CandidateLoss, ...]
    levels: tuple[Level, ...]


class Recipe(Frozen):
    """By what rules a calibration was made; a file that names none is of version 0.2.

    Attributes:
        unit: the unit of dependence (:mod:`metajudge.evidence.units`): item, question, or a field.
    """

    unit: str = QUESTION
    fit: int = FIT


class Calibration(Frozen):
    """P(judgment correct) from signals, with its identity, provenance and out-of-fold quality.

    ``quality`` has the figures over all judges under ``""`` and those of each judge under its name; ``profiles`` and
    ``categories`` say how signals and categories were distributed in the fit. ``looks`` is the ledger of the tests that
    sought its guarantees; files from before it was kept have none. ``note`` says why every P is the same, where it is.
    ``recipe`` is None in files of version 0.2, of which ``sharing`` is, too; ``shipped`` is there in the shipped
    default alone.
    """

    identity: Identity
    provenance: Provenance
    reliabilities: dict[str, Reliability]
    reward_scales: dict[str, float]
    groups: tuple[JudgeGroup, ...]
    sharing: dict[str, float] | None = Field(default=None, exclude_if=lambda given: given is None)
    note: str | None = Field(default=None, exclude_if=lambda given: given is None)
    quality: dict[str, Quality]
    profiles: dict[str, Profile]
    categories: dict[str, int]
    guarantees: tuple[Guarantee, ...] = ()
    looks: Ledger | None = Field(default=None, exclude_if=lambda given: given is None)
    shipped: Prior | None = Field(default=None, exclude_if=lambda given: given is None)
    recipe: Recipe | None = Field(default=None, exclude_if=lambda given: given is None)

    @property
    def unit(self) -> str:
        """What its clusters are: those of version 0.2 are texts of questions."""
        return TEXT if self.recipe is None else self.recipe.unit

    @property
    def field(self) -> str | None:
        """The field whose values are its clusters; None where these follow from the items."""
        return None if self.unit in (TEXT, QUESTION, ITEM) else self.unit

    def check_unit(self, given: str | None) -> None:
        """Refuses another unit than that of the fit.

        Args:
            given: the unit asked for; None where it follows from the items.

        Raises:
            InputError: with the command that fits by the unit given, or the unit to give.
        """
        found = QUESTION if self.unit == TEXT else self.unit
        if not self.is_shipped and given not in (None if self.field is None else found, found):
            fit = "" if given is None else f", or fit it again: `metajudge calibrate fit --unit {given} ...`"
            raise InputError(f"this calibration was fitted by {found}: give `--unit {found}`{fit}")

    @property
    def is_shipped(self) -> bool:
        """Whether it is the shipped default as it is: for any judge and kind of verdicts, and without guarantees."""
        return self.shipped is not None

    @cached_property
    def scales(self) -> EvidenceScales:
        """What signals take from the data fitted on."""
        return EvidenceScales(self.reliabilities, self.reward_scales)

    @property
    def kind(self) -> VerdictKind:
        """The kind of verdicts it is for."""
        return self.identity.kind

    @property
    def right(self) -> Right:
        """The rule of what is right."""
        return parse_right(self.identity.right)

    @property
    def digest(self) -> str:
        """Digest of the file's content but for the looks, which change neither a probability nor a guarantee."""
        return text_digest(self.model_copy(update={"looks": None}).to_json().decode())

    @property
    def fit_digest(self) -> str:
        """Digest of what was fitted, without guarantees and looks."""
        return self.model_copy(update={"guarantees": ()}).digest

    def guarantee_for(self, judge: str, category: str | None = None) -> Guarantee | None:
        """The guarantee for one judge's judgments: its own if there is one, else one that includes the judge.

        One for all judges is for those that were fitted on. One for a category covers only its items, and goes before
        one for all categories.

        Args:
            category: of the item; None where it is not known, and then no category's guarantee covers it.
        """
        mine = [
            one
            for one in self.guarantees
            if judge in (one.judges or self.identity.judges) and one.category in (None, category)
        ]
        everyone = len(self.identity.judges) + 1
        return min(mine, key=lambda one: (one.category is None, len(one.judges) or everyone), default=None)

    def promise_for(self, judge: str, marks: Iterable[str], category: str | None = None) -> Promise | None:
        """What is promised of one judgment: the only place that says whether a guarantee covers it.

        Args:
            marks: of its probability; None where one of them puts it outside the calibration's domain.
            category: of the item; None where it is not known.
        """
        found = self.guarantee_for(judge, category)
        return None if found is None or outside_domain(marks) else self._promise(found)

    def outside_guarantee(self, judge: str, marks: Iterable[str], category: str | None = None) -> tuple[str, ...]:
        """Why no guarantee covers a judgment although there are some: its marks, or that its judge has none."""
        given = tuple(marks)
        if not self.guarantees or self.promise_for(judge, given, category) is not None:
            return ()
        return outside_domain(given) or (NOT_COVERED,)

    @property
    def promises(self) -> tuple[Promise, ...]:
        """What the guarantees promise, each with the judges it decides on."""
        return tuple(self._promise(one) for one in self.guarantees)

    @property
    def meanings(self) -> list[str]:
        """The promises in words, each with what its threshold kept of the labelled questions."""
        return [f"{self._promise(one).sentence()} {one.found()}" for one in self.guarantees]

    def _promise(self, guarantee: Guarantee) -> Promise:
        promise = guarantee.promise(self.identity.judges)
        category = guarantee.category
        decides = tuple(one for one in promise.judges if self.guarantee_for(one, category) == guarantee)
        return promise.model_copy(update={"decides": decides})

    def crowded(self, table: SignalTable) -> Bools:
        """[n] whether a row's question has more rows here than the guarantee of its judge was declared for."""
        found, table = np.zeros(len(table), dtype=bool), table.by(self.unit)
        if all(one.most_per_question is None for one in self.guarantees):
            return found
        about, questions = Named.of(list(zip(table.judges, table.categories, strict=True))), Named.of(table.questions)
        by = [self.guarantee_for(*one) for one in about.names]
        for guarantee in self.guarantees:
            mine = np.array([one == guarantee for one in by], dtype=bool)[about.codes]
            if guarantee.most_per_question is not None:
                counts = np.bincount(questions.codes[mine], minlength=len(questions.names))
                found |= mine & (counts[questions.codes] > guarantee.most_per_question)
        return found

    def probabilities(self, table: SignalTable, allow_other_identity: bool = False) -> Predictions:
        """P(correct) of every row of a table; reliabilities and scales are those of the fit.

        A judgment that was fitted on gets its stored out-of-fold probability. A row is masked only where its judge is
        unknown, that was allowed, and more than one model could answer.

        Args:
            table: with at least the signals of this calibration.
            allow_other_identity: whether judges, signals, agents, rubrics or prompts may differ from the fit's.

        Raises:
            InputError: the table does not match the identity, with what differs.
        """
        if self.shipped is not None:
            return self.shipped.predict(table)
        table = table.by(self.unit)
        if not allow_other_identity:
            self._check_identity(table)
        scaled = table if table.scales is self.scales else table.with_scales(self.scales)
        values, found, marks = np.zeros(len(table)), np.zeros(len(table), dtype=bool), Marks(len(table))
        whose = Named.of(table.judges)
        for group in self.groups:
            known = whose.among(group.judges) if len(self.groups) > 1 else np.ones(len(table), dtype=bool)
            for level, rows in answering(group.levels, table, np.flatnonzero(known)):
                values[rows], found[rows] = level.probabilities(scaled, rows), True
            group.levels[0].mark(scaled, known, marks)
        self._mark_missing_evidence(scaled, marks)
        self._take_stored(table, values, marks)
        marks.add(Mark.OTHER_JUDGE, ~whose.among(self.identity.judges))
        marks.add(Mark.CROWDED, self.crowded(table))
        fitted = self.provenance.dependence
        if fitted is not None and fitted.is_exceeded_by(table.dependence):
            marks.add(Mark.DEPENDENT, np.ones(len(table), dtype=bool))
        return Predictions(np.ma.MaskedArray(values, mask=~found), marks.bits)

    def to_json(self) -> bytes:
        return orjson.dumps(
            self.model_dump(mode="json"), option=orjson.OPT_SORT_KEYS | orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
        )

    def with_guarantee(self, guarantee: Guarantee) -> "Calibration":
        """The same calibration with a guaranteed threshold; an earlier one for the same judges and category goes."""
        about = (guarantee.judges, guarantee.category)
        kept = tuple(one for one in self.guarantees if (one.judges, one.category) != about)
        return self.model_copy(update={"guarantees": (*kept, guarantee)})

    def _mark_missing_evidence(self, table: SignalTable, marks: Marks) -> None:
        """Order and peers are never absent as columns; the fit's profiles record whether they were ever missing."""
        for name in ("order.missing", "peers.none"):
            profile, column = self.profiles.get(name), table.columns.get(name)
            if profile is not None and profile.is_always(0.0):
                marks.add(Mark.ABSENT_SIGNAL, np.ones(len(table), dtype=bool) if column is None else column.values > 0)

    def _take_stored(self, table: SignalTable, values: Floats, marks: Marks) -> None:
        known = {name: self.provenance.stored(name) for name in set(table.questions) & self.provenance.questions.keys()}
        if not known:
            return
        stored, seen = np.zeros(len(table), dtype=bool), np.zeros(len(table), dtype=bool)
        rows = zip(table.judgment_ids, table.questions, table.said, strict=True)
        for row, (judgment, question, said) in enumerate(rows):
            if question not in known:
                continue
            probability, recorded = known[question].get(judgment, (None, None))
            if probability is not None and recorded in (None, said):
                values[row], stored[row] = probability, True
            else:
                seen[row] = True
        marks.clear(stored)
        marks.add(Mark.SEEN, stored)
        marks.add(Mark.SEEN_QUESTION, seen)

    def _check_identity(self, table: SignalTable) -> None:
        problems = list(_differences(self.identity, table))
        if problems:
            raise InputError(
                f"this calibration is for something else: {'; '.join(problems)}. Fit one for these data with "
                "`metajudge calibrate fit`, or apply it anyway with --allow-other-calibration"
            )


def _differences(identity: Identity, table: SignalTable) -> Sequence[str]:
    problems = []
    if (table.kind, str(table.right)) != (identity.kind, identity.right):
        problems.append(
            f"verdicts of the kind {table.kind}, right by the rule {table.right}, but it was fitted on "
            f"{identity.kind}, right by {identity.right}"
        )
    others = sorted(set(table.judges) - set(identity.judges))
    if others:
        problems.append(f"judgments by {_named(others)}, but it was fitted on {_named(identity.judges)}")
    missing = [name for name in identity.signals if name not in table.signals]
    if missing:
        problems.append(f"it reads the signals {', '.join(identity.signals)}, and {', '.join(missing)} is not given")
    scores = table.agent_scores
    if "agents" in identity.signals and scores is not None:
        found: Mapping[str, tuple[object, object]] = {
            "agents": (dict(scores.agents), identity.agents),
            "rubrics": (scores.rubrics, identity.rubrics),
            "prompts": (scores.prompts, identity.prompts),
        }
        problems += [
            f"its {what} are {fitted}, here {given}" for what, (given, fitted) in found.items() if given != fitted
        ]
    return problems


def _named(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
