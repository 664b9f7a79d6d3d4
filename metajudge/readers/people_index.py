"""Scores by people in an input, by the item they are about: labels of the judgments on the same item.

A person and a judge may score several things about one item (``correctness``, ``tone``). A score by a person is a label
of the verdicts of the same name; where no verdict has that name, and all scores by people have one name, of every
verdict on the item. Where verdicts of several names stand on the items and people's scores have such names, each name
makes an item of its own (``ITEM/NAME``), because each has its own labels.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from metajudge.readers.people import ByPeople, label_of, with_labels
from metajudge.readers.vocabulary import UnknownValueError, Vocabulary
from metajudge.types import Item, Judgment, Label


@dataclass(frozen=True, slots=True)
class Target:
    """What a score is about.

    Attributes:
        item: id of the item.
        name: of the score.
        by_people: the score, where a person gave it; None for a judge's.
        responses: ids of the item's responses.
    """

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
    """Scores by people, by item.

    Args:
        readers: of an input.
    """

    def __init__(self, readers: Iterable[object]) -> None:
        self._judged: dict[str, set[str]] = {}
        self._people: dict[str, list[ByPeople]] = {}
        self._responses: dict[str, tuple[str, ...]] = {}
        given = [reader for reader in readers if isinstance(reader, ScoredByPeople)]
        for reader in given:
            for target in reader.targets():
                self._responses[target.item] = target.responses
                if target.by_people is None:
                    self._judged.setdefault(target.item, set()).add(_folded(target.name))
                else:
                    self._people.setdefault(target.item, []).append(target.by_people)
        self._names = {_folded(one.score.name) for given in self._people.values() for one in given}
        self._judges = {name for names in self._judged.values() for name in names}
        separate = any(reader.separate for reader in given)
        self._apart = len(self._judges) > 1 and (separate or bool(self._judges & self._names))
        self._vocabulary = Vocabulary({}, categories=True)

    def reason(self, found: ByPeople) -> str | None:
        """Why a score by a person is no label of any judgment; None where it is one."""
        target, name = found.score.target, _folded(found.score.name)
        if target is None or target not in self._judged:
            return "the export does not say of what" if target is None else f"no verdict on {target}"
        if found.score.value is None or found.score.value == "":
            return "it has no value"
        try:
            self._vocabulary.read(found.score.value, self._responses[target], {})
        except UnknownValueError as error:
            return str(error)
        if name in self._judged[target] or (name not in self._judges and len(self._names) == 1):
            return None
        return f"no verdict of that name on {target}"

    def labelled(self, judgment: Judgment, name: str | None) -> Judgment:
        """The judgment with the labels of its item.

        Args:
            judgment: of the input.
            name: of its score; None where it has none.
        """
        own = self._people.get(judgment.item.id)
        if name is None or (own is None and not self._apart):
            return judgment
        labels = [] if own is None else list(self._labels(own, judgment.item, _folded(name)))
        return with_labels(judgment, labels, f"{judgment.item.id}/{name}" if self._apart else None)

    def _labels(self, given: Iterable[ByPeople], item: Item, name: str) -> Iterator[Label]:
        for one in given:
            said = _folded(one.score.name)
            if said != name and (said in self._judges or len(self._names) > 1):
                continue
            try:
                label = label_of(one.score.value, one.score.annotator, one.score.time, item, self._vocabulary)
            except UnknownValueError:
                continue
            if label is not None:
                yield label


def _folded(name: str) -> str:
    return name.strip().casefold()
