"""Labelled judgments as the rows of a calibration, with evidence over all records."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from metajudge.calibration.calibration import Calibration
from metajudge.calibration.domain import MEANINGS
from metajudge.calibration.files import read_agent_scores
from metajudge.calibration.folds import CROSS_FIT_MEASURED
from metajudge.calibration.predictions import Predictions, in_domain
from metajudge.calibration.sources import TEXT_SIGNALS
from metajudge.calibration.table import SignalTable, table_of
from metajudge.errors import InputError
from metajudge.evidence.rewards import RewardScore
from metajudge.evidence.units import note_of
from metajudge.evidence.verdicts import Verdicts, VerdictsBuilder
from metajudge.feedback.labels import ReviewLabels
from metajudge.reading import JudgmentSource, Reject
from metajudge.reading.rewards import find_reward_scores, read_reward_scores
from metajudge.types import Judgment, Right, VerdictKind
from metajudge.vetting.drawing import choices, drawn_rows

SHOWN_JUDGES = 20


@dataclass(frozen=True, slots=True)
class LabelledRecords:
    """Judgments with labels, and what else belongs to them.

    Attributes:
        records: every judgment of the input; evidence is computed over all of them.
        folders: where files of reward scores are looked for, beside the judgments.
        notify: receives what to know about the input: bad lines that were left out, and notices of its readers.
    """

    records: JudgmentSource | Sequence[Judgment]
    folders: Sequence[Path] = ()
    agent_scores: Path | None = None
    notify: Callable[[str], None] = lambda notice: None

    def table(
        self,
        signals: Sequence[str] | None,
        judges: Sequence[str] | None = None,
        *,
        known: Sequence[str] | None = None,
        people: ReviewLabels | None = None,
        kind: VerdictKind | None = None,
        right: Right | None = None,
    ) -> SignalTable:
        """All records as evidence, the judgments by some judges as rows.

        Args:
            signals: the signals to compute; None for the default ones of the verdicts' kind.
            judges: whose judgments are rows; all of them must be present.
            known: the judges where none are asked for; some of them must be present. None for every judge.
            kind: of the verdicts that are rows; None where all are of one kind.
            right: what counts as right; None for the default of the data.

        Raises:
            InputError: a judge is absent, people decided none of these judgments, or people grade on another scale.
        """
        wanted, named = judges or known, signals or ()
        found = self._collected(signals, None if wanted is None else frozenset(wanted), people is not None)
        facts = found.facts()
        scales = facts.rules().scales
        if people is None and scales.unlike_people():
            raise InputError(" ".join(scales.sentences()))
        table = table_of(
            facts,
            signals,
            kind=kind,
            right=right,
            report=found.reported,
            rewards=self._rewards() if "rewards" in named else None,
            agent_scores=read_agent_scores(self.agent_scores)
            if self.agent_scores is not None and "agents" in named
            else None,
        )
        missing = sorted(set(wanted or ()) - set(table.known_judges))
        if missing and (judges or len(missing) == len(set(wanted or ()))):
            more = ", ..." if len(table.known_judges) > SHOWN_JUDGES else ""
            present = ", ".join(table.known_judges[:SHOWN_JUDGES]) + more
            raise InputError(f"no judgment by {', '.join(map(repr, missing))}; the judges here are {present}")
        unit = self.records.unit if isinstance(self.records, JudgmentSource) else None
        table = table if unit is None else replace(table, unit=unit)
        note = note_of(facts.asked, unit)
        if note is not None:
            self.notify(note)
        return table if people is None else _relabelled(table, people, found.contents)

    def _collected(self, signals: Sequence[str] | None, wanted: frozenset[str] | None, by_content: bool) -> "_Read":
        """All records, read once."""
        source = self.records

        def start() -> _Read:
            return _Read(signals, wanted, by_content)

        if not isinstance(source, JudgmentSource):
            found = start()
            found.add_block(source)
            return found
        found = source.collect(start)
        if found.first is not None:
            were = "s were" if source.rejects > 1 else " was"
            self.notify(
                f"{source.rejects} bad line{were} left out, the first at {found.first}; `metajudge vet` writes "
                "them to a file"
            )
        for notice in source.notices:
            self.notify(notice)
        return found

    def _rewards(self) -> list[RewardScore] | None:
        files = [found for path in self.folders if (found := find_reward_scores(path)) is not None]
        return [one for file in files for one in read_reward_scores(file)] if files else None


class _Read:
    """What a table needs to know of records; texts are not kept.

    Attributes:
        first: the first record that cannot be read.
        contents: judgment id -> digest, where these are asked for.
    """

    def __init__(self, signals: Sequence[str] | None, wanted: frozenset[str] | None, by_content: bool) -> None:
        self.first: Reject | None = None
        self.contents: dict[str, str] = {}
        self._builder = VerdictsBuilder(texts=signals is None or not TEXT_SIGNALS.isdisjoint(signals))
        self._judges, self._by_content = wanted, by_content
        self._reported = list[bool]()

    def add_block(self, block: Sequence[Judgment | Reject]) -> None:
        """Takes some records."""
        judgments = [record for record in block if isinstance(record, Judgment)]
        if self.first is None and len(judgments) < len(block):
            self.first = next(record for record in block if isinstance(record, Reject))
        if self._by_content:
            self.contents |= {judgment.id: judgment.digest for judgment in judgments}
        self._builder.add_all(judgments)
        self._reported += [self._judges is None or one.judge in self._judges for one in judgments]

    def facts(self) -> Verdicts:
        """The facts of all."""
        return self._builder.facts()

    @property
    def reported(self) -> NDArray[np.bool_]:
        """[n] which become rows."""
        return np.array(self._reported, dtype=bool)


def _relabelled(table: SignalTable, people: ReviewLabels, contents: dict[str, str]) -> SignalTable:
    right = {name: people.right[content] for name, content in contents.items() if content in people.right}
    if not right:
        raise InputError(
            f"none of the {len(people.right)} judgments that people decided is among these records: give records that "
            "were vetted with --data, or leave it out"
        )
    weights = {name: people.weights[content] for name, content in contents.items() if content in people.weights}
    return table.with_labels(right, weights)


@dataclass(frozen=True, slots=True)
class ThresholdRows:
    """The rows on which a guaranteed threshold is searched.

    Attributes:
        table: labelled judgments inside the calibration's domain.
        probabilities: theirs, in [0, 1].
        approximate: whether the calibration was fitted on some of them.
        notes: which rows were left out, and why.
        floor: lowest probability that their questions were drawn from; None where all could be drawn.
        stated_random: whether the user stated that labels without a recorded choice were drawn at random.
    """

    table: SignalTable
    probabilities: NDArray[np.float64]
    approximate: bool
    notes: tuple[str, ...]
    floor: float | None = None
    stated_random: bool = False


def threshold_rows(
    fitted: Calibration,
    table: SignalTable,
    *,
    only_new: bool | None = None,
    allow_other: bool = False,
    stated_random: bool = False,
    judges: Sequence[str] = (),
) -> ThresholdRows:
    """Chooses the rows that a guarantee can be based on: labelled ones whose items were drawn at random.

    Args:
        only_new: only questions that were not fitted on; False for all; None for new ones where there are any.
        stated_random: whether the user stated that labels without a recorded choice were drawn at random.
        judges: whose judgments, together; empty for all of the calibration's.

    Raises:
        InputError: no row is left.
    """
    table = table.by(fitted.unit).select(table.labelled)
    drawn, floor, notes = drawn_rows(fitted, table, judges, stated_random)
    table = table.select(drawn)
    new = [question not in fitted.provenance.questions for question in table.questions]
    if only_new and not any(new):
        raise InputError(
            "every question was fitted on: give other data, fit with --share .5, or take --questions all and an "
            "approximate threshold"
        )
    approximate = not all(new) and (only_new is False or not any(new))
    if not all(new) and not approximate:
        count = len({question for question, fresh in zip(table.questions, new, strict=True) if fresh})
        notes.append(f"Searched on the {count} of {len(set(table.questions))} questions that were not fitted on.")
        table = table.select(new)
    if approximate:
        notes.append(
            "Cross-fitted: questions of the fit are searched with their out-of-fold probabilities, so a guarantee is "
            f"approximate ({CROSS_FIT_MEASURED})."
        )
    predicted = fitted.probabilities(table, allow_other)
    covered = in_domain(predicted, approximate)
    notes += _left_out(predicted, covered)
    return ThresholdRows(
        table.select(covered),
        np.ma.getdata(predicted.probabilities)[covered],
        approximate,
        tuple(notes),
        floor,
        stated_random and any(one is None for one in choices(table.select(covered))),
    )


def _left_out(predicted: Predictions, covered: NDArray[np.bool_]) -> list[str]:
    """Why judgments lie outside the calibration's domain, where its guarantee does not apply."""
    left = [marks for marks, kept in zip(predicted.marks, covered, strict=True) if not kept]
    counts = Counter(mark for marks in left for mark in marks)
    why = "; ".join(f"{count} {MEANINGS[mark].partition(':')[0]}" for mark, count in sorted(counts.items()))
    if left and not covered.any():
        raise InputError(
            f"all {len(left)} labelled judgments lie outside the calibration's domain, where no guarantee applies: "
            f"{why}. Give data like those it was fitted on, or fit one for these with `metajudge calibrate fit`"
        )
    return [f"{len(left)} judgments are left out, since no guarantee would cover them: {why}."] if left else []
