"""Judgments of one's own on a benchmark's items, beside the recorded ones."""

from collections import Counter
from collections.abc import Iterator, Mapping

from metajudge.reading import JudgmentSource, Reject
from metajudge.reading.formats import realmistake, rewardbench2
from metajudge.types import Item, Judgment, digest

WITHHELD = frozenset({realmistake.WITHHELD, rewardbench2.WITHHELD})
"""Stands for responses whose texts a benchmark's records lack."""

NO_ITEM = "neither the item's id nor its question and responses are recorded"
OTHER_TEXTS = "the item's id is recorded with another question or other responses"


class RecordedItems:
    """A benchmark's items, found by id or by content."""

    def __init__(self) -> None:
        self._by_id: dict[str, Item] = {}
        self._by_content: dict[str, Item] = {}
        self._judgments: set[str] = set()
        self.judges: set[str] = set()

    def add(self, judgment: Judgment) -> None:
        """Notes the item of a recorded judgment."""
        item = judgment.item
        self.judges.add(judgment.judge)
        self._judgments.add(judgment.id)
        if item.id not in self._by_id:
            self._by_id[item.id] = item
            self._by_content.setdefault(_content(item), item)

    def match(self, judgment: Judgment) -> Judgment | str:
        """The judgment on the recorded item, in terms of its response ids, or the reason why it matches none."""
        named = self._by_id.get(judgment.item.id)
        same = named is not None and (
            judgment.item.responses.keys() == named.responses.keys()
            if set(named.responses.values()) <= WITHHELD  # the texts are not recorded
            else _content(judgment.item) == _content(named)
        )
        item = named if same else self._by_content.get(_content(judgment.item))
        if item is None:
            return NO_ITEM if named is None else OTHER_TEXTS
        names = _names(judgment.item, item)
        data = {name: getattr(judgment, name) for name in Judgment.model_fields}
        data |= {
            "id": judgment.id if judgment.id not in self._judgments else f"{judgment.judge}: {judgment.id}",
            "item": item,
            "verdict": None if judgment.verdict is None else judgment.verdict.relabelled(names),
            "order": tuple(names[name] for name in judgment.order),
            "labels": judgment.labels or judgment.shown_labels,
        }
        return Judgment(**data)


class WithOwnJudges:
    """Recorded judgments, then those of one's own on the same items; what matches nothing is counted.

    Attributes:
        matched: judge -> how many judgments of one's own matched.
        unmatched: reason -> how many did not; ``first`` is the id of the first.
    """

    def __init__(self, recorded: JudgmentSource, own: JudgmentSource) -> None:
        self._recorded, self._own = recorded, own
        self.matched, self.unmatched = Counter[str](), Counter[str]()
        self.first: str | None = None

    @property
    def formats(self) -> Mapping[str, str]:
        """Path -> format, of both."""
        return {**self._recorded.formats, **self._own.formats}

    @property
    def judgments(self) -> int:
        """Recorded ones and those of one's own that matched."""
        return self._recorded.judgments + self.matched.total()

    @property
    def rejects(self) -> int:
        """Bad lines of both."""
        return self._recorded.rejects + self._own.rejects

    @property
    def duplicates(self) -> int:
        """Repeated lines of both."""
        return self._recorded.duplicates + self._own.duplicates

    @property
    def notices(self) -> list[str]:
        """What is to be known of both, and how the own judgments matched."""
        found = [*self._recorded.notices, *self._own.notices]
        yours, left = "judgments of your own", f"are left out, the first {self.first!r}"
        found += [f"{n:,} {yours} by {judge} are on recorded items." for judge, n in sorted(self.matched.items())]
        return [*found, *(f"{n:,} {yours} {left}: {reason}." for reason, n in self.unmatched.items())]

    def all(self) -> Iterator[Judgment]:
        """Every judgment."""
        return (one for one in self.scan() if isinstance(one, Judgment))

    def scan(self) -> Iterator[Judgment | Reject]:
        """Every judgment and every bad line."""
        items = RecordedItems()
        self.matched, self.unmatched, self.first = Counter(), Counter(), None
        for record in self._recorded.scan():
            if isinstance(record, Judgment):
                items.add(record)
            yield record
        for record in self._own.scan():
            if isinstance(record, Reject):
                yield record
                continue
            found = items.match(record)
            if isinstance(found, str):
                self.unmatched[found] += 1
                self.first = self.first or record.id
            else:
                self.matched[found.judge] += 1
                yield found


def _content(item: Item) -> str:
    """The same for the same question and response texts, whatever their ids and order."""
    return digest([item.question.strip(), sorted(text.strip() for text in item.responses.values())])


def _names(own: Item, recorded: Item) -> dict[str, str]:
    """Own response id -> the recorded one: the same id where its text is the same or not recorded, else by text."""
    if own.responses.keys() == recorded.responses.keys() and all(
        recorded.responses[name] in WITHHELD or recorded.responses[name].strip() == text.strip()
        for name, text in own.responses.items()
    ):
        return {name: name for name in own.responses}
    left = {name: text.strip() for name, text in recorded.responses.items()}
    names = {}
    for name, text in own.responses.items():
        names[name] = next(other for other, found in left.items() if found == text.strip())
        del left[names[name]]
    return names
