"""What a judge's labelled history says of one more verdict of it that stands alone.

A verdict alone has its own strength, rationale, length and stated confidence, its category and what it says; the other
order and other judges are absent. A fit for such verdicts reads no more than that: it is made on the judge's judgments
with no other judgment beside them, whatever stood beside them when they were vetted. Fits are versions in the store's
change log, for one judge, kind of verdict and instruction to the judge, and change by command alone.
"""

import asyncio
import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from metajudge.errors import InputError
from metajudge.reading.loose import UNKNOWN
from metajudge.store import Store
from metajudge.types import VERDICT_KINDS, Judgment, VerdictKind, kind_of, text_digest
from metajudge.vetting.texts import GivenTexts

if TYPE_CHECKING:  # what is read where a fit is made or answers
    from metajudge.calibration.calibration import Calibration
    from metajudge.calibration.sources import SignalGroup
    from metajudge.calibration.table import SignalTable
    from metajudge.feedback.labels import ReviewLabels
    from metajudge.vetting.alone import Alone
    from metajudge.vetting.intake import Intake

HISTORY: Final = "history"
"""The kind of fits in the store's change log; their subject is the judge."""
IN_FORCE: Final = "history in force"
"""The kind of the entries that say which fits answer."""
FEWEST: Final = 30
"""Labelled questions that a fit needs."""
ALONE: "Final[tuple[SignalGroup, ...]]" = ("strength", "confidence", "rationale", "format")
"""Signals that a judgment has without another one beside it."""
REFRESH_S: Final = 2.0
"""Seconds within which a fit put in force by another process answers here."""
OTHERWISE: Final = "give agents, or other verdicts on the item"
"""What else answers for a verdict that stands alone."""
_PLURAL: Final = {"pairwise": "pairs", "ranking": "rankings", "grade": "grades", "category": "categories"}


class About(NamedTuple):
    """What a fit is about; ``instruction`` is the digest of the one the judge was given, None where none is known."""

    judge: str
    kind: VerdictKind
    instruction: str | None

    @classmethod
    def of(cls, judgment: Judgment, kind: VerdictKind) -> "About":
        given = judgment.instruction
        return cls(judgment.judge, kind, text_digest(given) if given and given.strip() else None)

    def __str__(self) -> str:
        under = f", instruction {self.instruction[:8]}" if self.instruction else ", no instruction"
        return f"{_PLURAL[self.kind]}{under}"


@dataclass(frozen=True, slots=True)
class Version:
    """A stored fit.

    Attributes:
        number: from 1, by judge.
        entry: its number in the change log.
        calibration: the digest of what was fitted.
        questions: labelled ones.
        labels: judgments labelled by the item; ``people`` those by reviews.
    """

    about: About
    number: int
    entry: int
    calibration: str
    questions: int
    labels: int
    people: int
    recorded_at: float
    in_force: bool = False


async def versions(store: Store, judge: str | None = None) -> list[Version]:
    """The stored fits, of one judge or of all, oldest first."""
    found: list[Version] = []
    counts: dict[str, int] = {}
    for one in await store.audit_log.entries(HISTORY, judge):
        counts[one.subject] = counts.get(one.subject, 0) + 1
        data = dict(one.payload)
        about = About(one.subject, data.pop("kind"), data.pop("instruction"))
        found.append(Version(about, counts[one.subject], one.entry_id, recorded_at=one.recorded_at, **data))
    active: dict[About, int] = {}
    by_entry = {one.entry: one.about for one in found}
    for one in await store.audit_log.entries(IN_FORCE, judge):
        entry = one.payload["entry"]
        if entry is None:
            active = {about: number for about, number in active.items() if about.judge != one.subject}
        else:
            active[by_entry[entry]] = entry
    return [replace(one, in_force=active.get(one.about) == one.entry) for one in found]


async def put_in_force(store: Store, judge: str, number: int, *, now: float) -> None:
    """Puts a version in force for what it is about; 0 takes every fit of the judge out of force.

    Raises:
        InputError: the judge has no such version.
    """
    entries = {one.number: one.entry for one in await versions(store, judge)}
    if number not in entries and number != 0:
        known = ", ".join(map(str, entries)) or "none"
        raise InputError(f"judge {judge!r} has no version {number} of its history; there are: {known}")
    await store.audit_log.append(IN_FORCE, judge, {"entry": entries.get(number)}, now=now)


async def fit_history(store: Store, judge: str, *, now: float) -> tuple[list[Version], list[str]]:
    """Fits on the labelled judgments of a judge in the store, and puts the fits in force.

    Labels are those of items, and people's decisions on reviews, which count before them.

    Returns:
        The versions made, one a kind of verdicts and an instruction; and why others could not be made.

    Raises:
        InputError: no judgment of the judge is stored, or the judge has no name.
    """
    from metajudge.calibration.fit import fit_calibration, why_not_fit
    from metajudge.feedback.labels import ReviewLabels, review_labels
    from metajudge.monitor.stored import keep_calibration

    if judge == UNKNOWN:
        raise InputError(f"{UNKNOWN!r} is any judge that was not named: a history is one judge's")
    stored = await store.judgments()
    own = [one for one in stored if one.judge == judge]
    if not own:
        known = ", ".join(sorted({one.judge for one in stored})[:20]) or "none"
        raise InputError(f"no judgment by {judge!r} is stored; the judges here are {known}")
    try:
        people = await review_labels(store, now=now)
    except InputError:  # no review was decided yet
        people = ReviewLabels({}, {}, "")
    made, refused = list[int](), list[str]()
    groups: dict[About, list[Judgment]] = {}
    for one in own:
        if one.verdict is not None:
            groups.setdefault(About.of(one, kind_of(one.verdict)), []).append(one)
    for about, judgments in sorted(groups.items(), key=lambda pair: str(pair[0])):
        try:
            table, by_people = _table(about, judgments, people)
            why = _too_few(table) or why_not_fit(table)
        except InputError as error:
            why = str(error)
        if why is not None:
            refused.append(f"{about}: {why}")
            continue
        labels, questions = int(table.labelled.sum()), len(_labelled(table))
        selection = f"labels: {labels - by_people} of items, {by_people} of people's reviews"
        fitted = fit_calibration(table, selection=selection)
        await keep_calibration(store, fitted, now=now)
        entry = {
            "kind": about.kind,
            "instruction": about.instruction,
            "calibration": fitted.digest,
            "questions": questions,
            "labels": labels - by_people,
            "people": by_people,
        }
        made.append((await store.audit_log.append(HISTORY, judge, entry, now=now)).entry_id)
        await store.audit_log.append(IN_FORCE, judge, {"entry": made[-1]}, now=now)
    return [one for one in await versions(store, judge) if one.entry in made], refused


def _labelled(table: "SignalTable") -> set[str]:
    return {name for name, known in zip(table.questions, table.labelled, strict=True) if known}


def _too_few(table: "SignalTable") -> str | None:
    found = len(_labelled(table))
    if found >= FEWEST:
        return None
    return (
        f"{found} labelled questions, and a fit needs {FEWEST}: label {FEWEST - found} more, in the items that are "
        "vetted or with `metajudge review next`"
    )


def _table(about: About, judgments: Sequence[Judgment], people: "ReviewLabels") -> "tuple[SignalTable, int]":
    """The judgments as rows, each alone, and how many of them people labelled in reviews.

    A judgment that was stored several times counts once, as it is now; an item as it was last labelled.
    """
    from metajudge.calibration.table import build_table

    items, newest, by_people = {}, dict[str, Judgment](), dict[str, tuple[bool, float]]()
    for one in judgments:
        if one.item.truth is not None or one.item.id not in items:
            items[one.item.id] = one.item
        earlier = newest.get(one.id)
        if earlier is not None and earlier.verdict != one.verdict:
            by_people.pop(one.id, None)
        if one.digest in people.right:
            by_people[one.id] = people.right[one.digest], people.weights[one.digest]
        newest[one.id] = one
    rows = [
        one.model_copy(update={"item": items[one.item.id]})
        for one in newest.values()
        if (one.item.question, one.item.responses) == (items[one.item.id].question, items[one.item.id].responses)
    ]
    signals = [name for name in ALONE if name != "strength" or about.kind == "pairwise"]
    table = build_table(rows, signals, kind=about.kind)
    reviewed = {name: said for name, said in by_people.items() if name in set(table.judgment_ids)}
    if reviewed:
        right = dict(zip(table.judgment_ids, table.correct.tolist(), strict=True))
        known = {name: right[name] for name, has in zip(table.judgment_ids, table.labelled, strict=True) if has}
        said = {name: value for name, (value, _) in reviewed.items()}
        table = table.with_labels(known | said, {name: weight for name, (_, weight) in reviewed.items()})
    return table.without_absent()[0], len(reviewed)


class History:
    """The fits in force in a store, read again after this process puts one in force, and every two seconds.

    Args:
        store: None where nothing is kept.
    """

    def __init__(self, store: Store | None) -> None:
        self._store = store
        self._fits: dict[About, str] = {}
        self._calibrations: dict[str, Calibration] = {}
        self._read: tuple[int, float] | None = None
        self._turn = asyncio.Lock()

    async def fits(self) -> Mapping[About, str]:
        """What each fit in force is about, and its digest."""
        store = self._store
        if store is None:
            return {}
        async with self._turn:
            appended, clock = store.audit_log.appended(IN_FORCE), time.monotonic()
            if self._read is None or self._read[0] != appended or clock - self._read[1] > REFRESH_S:
                self._fits = {one.about: one.calibration for one in await versions(store) if one.in_force}
                self._read = appended, clock
        return self._fits

    async def _calibration(self, name: str) -> "Calibration":
        from metajudge.calibration.calibration import Calibration
        from metajudge.monitor.stored import CALIBRATION

        found = self._calibrations.get(name)
        if found is None:
            assert self._store is not None
            [entry] = await self._store.audit_log.entries(CALIBRATION, name, limit=1)
            found = self._calibrations[name] = Calibration.model_validate(entry.payload)
        return found

    async def of(self, table: "Intake") -> "Alone | None":
        """What is said of the judgments of a table that stand alone: the only ones of their item.

        Why nothing is said of one is told where judgments are at hand; of files only fits in force answer.
        """
        fits, told = await self.fits(), isinstance(table.texts, GivenTexts)
        if not fits and not told:
            return None
        from metajudge.vetting.alone import Alone
        from metajudge.vetting.probability import Probabilities

        facts = table.facts
        judges = {about.judge for about in fits}
        chosen = np.zeros(len(facts), dtype=bool)
        chosen[table.wanted] = True
        chosen &= (np.bincount(facts.item, minlength=len(facts.items))[facts.item] == 1) & (facts.verdict >= 0)
        if not told:
            chosen &= np.array([name in judges for name in facts.judges], dtype=bool)[facts.judge]
        groups: dict[About, list[int]] = {}
        for row in np.flatnonzero(chosen).tolist():
            about = About.of(table.texts.judgment(row), VERDICT_KINDS[facts.kind[row]])
            groups.setdefault(about, []).append(row)
        found = list[tuple[Probabilities | None, str]]()
        codes, places = np.full(len(facts), -1, dtype=np.intp), np.full(len(facts), -1, dtype=np.intp)
        for about, rows in groups.items():
            codes[rows], places[rows], known = len(found), np.arange(len(rows)), fits.get(about)
            if known is None:
                found.append((None, self._why_none(about, fits)))
                continue
            alone = facts.select(np.array(rows, dtype=np.intp))  # nothing else of the input is evidence
            said = Probabilities.of_facts(await self._calibration(known), alone, judges_must_be_known=False)
            found.append((said, f"the history of judge {about.judge!r} says nothing of a tie: {OTHERWISE}"))
        return Alone(found, codes, places) if found else None

    def _why_none(self, about: About, fits: Mapping[About, str]) -> str:
        same = [one for one in fits if one.judge == about.judge]
        who = f"judge {about.judge!r}"
        if about.judge == UNKNOWN:
            why = "its judge is not named"
        elif self._store is None:
            why = f"nothing is stored here, and so no history of {who}"
        elif not same:
            why = f"there is no history of {who}"
        elif about.kind not in {one.kind for one in same}:
            why = f"the history of {who} has no {_PLURAL[about.kind]}"
        else:
            why = f"the history of {who} is under another instruction"
        name = "NAME" if about.judge == UNKNOWN else shlex.quote(about.judge)
        command = f"`metajudge calibrate history --judge {name}`"
        return f"{why}. {command} fits one to {FEWEST} or more labelled questions; or {OTHERWISE}"
