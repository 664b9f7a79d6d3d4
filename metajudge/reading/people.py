"""Labels that people gave, in the words of an input or of a file of labels: where they belong, and what became of them.

A judge's verdict is never a label, and a person's score is never a verdict. Scores by people in an input are labels of
the judgments on the same item.

A person and a judge may score several things about one item (``correctness``, ``tone``). A score by a person is a label
of the verdicts of the same name; where no verdict has that name, and all scores by people have one name, of every
verdict on the item. Where verdicts of several names stand on the items and people's scores have such names, each name
makes an item of its own (``ITEM/NAME``), because each has its own labels.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol, runtime_checkable

from pydantic import TypeAdapter, ValidationError

from metajudge.errors import InputError
from metajudge.reading.containers.cells import cell
from metajudge.reading.vocabulary import NoVerdict, UnknownValueError, Vocabulary
from metajudge.types import Item, Judgment, Label
from metajudge.types.label import Chosen, combined

NAMED = 3
"""How many names, ids or places are listed."""
_KINDS = ("annotator_kind", "source.source_type")
"""Where Phoenix and MLflow say who gave an annotation: LLM, HUMAN or CODE; LLM_JUDGE, HUMAN or CODE."""
_NAMES = ("name", "annotation_name", "assessment_name")
_ANNOTATORS = ("identifier", "annotator", "user_id", "source.source_id", "source_id")
_VALUES = ("result.label", "label", "result.score", "feedback.value", "value", "score")
_TIMES = ("updated_at", "created_at", "timestamp", "time")
_TIME = TypeAdapter(datetime)


class PeopleOnlyError(InputError):
    """An input with scores by people and without a verdict by a judge."""


@dataclass(frozen=True, slots=True)
class PersonScore:
    """What one person said of one target; None for what the export does not say.

    Attributes:
        name: of the score: what was asked of the person.
        annotator: who gave it.
        target: id of the item it is about.
        value, time: as recorded.
    """

    name: str
    annotator: str | None = None
    target: str | None = None
    value: Any = None
    time: Any = None


@dataclass(frozen=True, slots=True)
class ByPeople:
    """A score by a person, and its position."""

    score: PersonScore
    file: str
    line: int

    @property
    def where(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass
class PeopleCount:
    """The scores by people in an input.

    Attributes:
        count: how many.
        names, annotators: how often each score's name occurs, and each annotator where the export says who.
        first: position of the first one; None if there are none.
        matched: how many are labels of an item that a judge judged.
        unmatched: the first other ones, each with its position and reason.
    """

    count: int = 0
    names: Counter[str] = field(default_factory=Counter)
    annotators: Counter[str] = field(default_factory=Counter)
    first: str | None = None
    matched: int = 0
    unmatched: list[str] = field(default_factory=list)

    def add(self, found: ByPeople, reason: str | None = None) -> None:
        """Counts one; ``reason`` says why it is no label of any judged item."""
        self.count += 1
        self.names[found.score.name] += 1
        self.annotators.update([found.score.annotator] if found.score.annotator is not None else [])
        self.first = self.first or found.where
        if reason is None:
            self.matched += 1
        elif len(self.unmatched) < NAMED:
            self.unmatched.append(f"{found.score.name} at {found.where} ({reason})")

    def notice(self) -> str | None:
        """What became of them; None if there are none."""
        if not self.count:
            return None
        scores = "1 score by a person" if self.count == 1 else f"{self.count:,} scores by people"
        by = f" by {listed(self.annotators)}" if self.annotators else ""
        about = f"{scores} ({listed(self.names)}{by}, the first at {self.first})"
        left = self.count - self.matched
        if not left:
            return f"{about} {'is read as a label' if self.count == 1 else 'are read as labels'}."
        first = f"the first: {'; '.join(self.unmatched)}"
        if not self.matched:
            return f"{about}: no judge's verdict is about the same item, so no label is read; {first}."
        some = f"{self.matched:,} read as labels, {left:,} without a judge's verdict on the same item"
        return f"{about}: {some}; {first}."

    def to_json(self) -> dict[str, Any]:
        return dict(vars(self))


def says_who(columns: Iterable[str]) -> bool:
    """Whether a table's columns say which scores people gave."""
    return not {*_KINDS, "source"}.isdisjoint(columns)


def named_score(row: Mapping[str, Any]) -> str:
    """The name of a row's score; empty where it has none."""
    return str(_filled(row, _NAMES) or "")


def person_score_of(row: Mapping[str, Any]) -> PersonScore | None:
    """A row of a table that says a person gave it, as Phoenix and MLflow do; None for any other."""
    if not any(cell(row, kind) == "HUMAN" for kind in _KINDS):
        return None
    annotator = _filled(row, _ANNOTATORS)
    value = next((one for key in _VALUES if (one := cell(row, key)) not in (None, "")), None)
    name = named_score(row) or "(no name)"
    return PersonScore(name, None if annotator is None else str(annotator), None, value, _filled(row, _TIMES))


def _filled(row: Mapping[str, Any], columns: Sequence[str]) -> Any:
    return next((value for column in columns if (value := cell(row, column))), None)


def label_of(
    value: Any, annotator: str | None, time: Any, item: Item, vocabulary: Vocabulary, chosen: Chosen | None = None
) -> Label | None:
    """What a person said of an item, as a label; None where the cell says nothing.

    Args:
        value, time: as recorded.
        annotator: who said it.
        item: what it is about.
        vocabulary: what words mean.
        chosen: how the item came to be labelled.

    Raises:
        UnknownValueError: the value means nothing on this item.
    """
    found = vocabulary.read(value, tuple(item.responses), item.models or {}, item.scale)
    if isinstance(found, NoVerdict):
        return None
    return Label(value=found, annotator=annotator or None, time=time_of(time), chosen=chosen)


def time_of(value: Any) -> datetime | None:
    """A time as recorded, a text or a number of seconds or milliseconds; None where it is none."""
    if value in (None, "") or isinstance(value, bool):
        return None
    try:
        return _TIME.validate_python(value)
    except ValidationError:
        return None


def with_labels(judgment: Judgment, labels: Sequence[Label], item_id: str | None = None) -> Judgment:
    """The judgment with more labels on its item (:func:`~metajudge.types.label.combined`), or another id for it."""
    item = judgment.item
    every = combined(item.labels, labels)
    if every == item.labels and item_id is None:
        return judgment
    return judgment.model_copy(update={"item": item.model_copy(update={"labels": every, "id": item_id or item.id})})


def listed(counts: Counter[str]) -> str:
    """The most frequent names with their counts."""
    names = [f"{name} ({count:,})" for name, count in counts.most_common()]
    return first_of(names)


def first_of(names: Sequence[str]) -> str:
    """The first few names in a sentence."""
    more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more


@dataclass(frozen=True, slots=True)
class Target:
    """What a score is about: an item and its responses, by their ids; ``by_people`` is None for a judge's score."""

    item: str
    name: str
    by_people: ByPeople | None = None
    responses: tuple[str, ...] = ("A",)


@runtime_checkable
class ScoredByPeople(Protocol):
    """A reader whose input may contain scores by people beside the judges'.

    Attributes:
        separate: whether each name of a score makes an item of its own, even without scores by people.
    """

    separate: bool

    def targets(self) -> Iterator[Target]:
        """What every score is about, by judges and by people, without the texts."""


class PeopleIndex:
    """Scores by people in what some readers read, by item."""

    def __init__(self, readers: Iterable[object]) -> None:
        self._judged: dict[str, set[str]] = {}
        self._people: dict[str, list[PersonScore]] = {}
        self._responses: dict[str, tuple[str, ...]] = {}
        given = [reader for reader in readers if isinstance(reader, ScoredByPeople)]
        for target in (target for reader in given for target in reader.targets()):
            self._responses[target.item] = target.responses
            if target.by_people is None:
                self._judged.setdefault(target.item, set()).add(_folded(target.name))
            else:
                self._people.setdefault(target.item, []).append(target.by_people.score)
        self._judges = {name for names in self._judged.values() for name in names}
        names = {_folded(one.name) for scores in self._people.values() for one in scores}
        self._one_name = len(names) == 1
        separate = any(reader.separate for reader in given) or not self._judges.isdisjoint(names)
        self._apart = len(self._judges) > 1 and separate
        self._vocabulary = Vocabulary({}, categories=True)

    def reason(self, found: ByPeople) -> str | None:
        """Why a score by a person is no label of any judgment; None where it is one."""
        target, value = found.score.target, found.score.value
        if target is None or target not in self._judged:
            return "the export does not say of what" if target is None else f"no verdict on {target}"
        if value in (None, ""):
            return "it has no value"
        try:
            self._vocabulary.read(value, self._responses[target], {})
        except UnknownValueError as error:
            return str(error)
        about = any(self._is_about(found.score, name) for name in self._judged[target])
        return None if about else f"no verdict of that name on {target}"

    def labelled(self, judgment: Judgment, name: str | None) -> Judgment:
        """The judgment with the labels of its item; ``name`` is of its score, None where it has none."""
        own = self._people.get(judgment.item.id, [])
        if name is None or not (own or self._apart):
            return judgment
        labels: list[Label] = []
        for one in (one for one in own if self._is_about(one, _folded(name))):
            with suppress(UnknownValueError):
                label = label_of(one.value, one.annotator, one.time, judgment.item, self._vocabulary)
                labels += [] if label is None else [label]
        return with_labels(judgment, labels, f"{judgment.item.id}/{name}" if self._apart else None)

    def _is_about(self, score: PersonScore, name: str) -> bool:
        """Whether a score by a person is a label of verdicts of a name."""
        said = _folded(score.name)
        return said == name or (self._one_name and said not in self._judges)


def _folded(name: str) -> str:
    return name.strip().casefold()
