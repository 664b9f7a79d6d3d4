"""One pass over judgments into columns: numbers and codes, and the first characters of texts."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from metajudge.audit.clues import PROMPTS, VERSIONS, named, time_of
from metajudge.evidence.units import Asked, unit_of
from metajudge.types import Item, Judgment, Label
from metajudge.types.digests import text_digest
from metajudge.types.label import answers, combined, settled
from metajudge.types.verdict import VERDICT_KINDS, AnyVerdict, VerdictKind, kind_of

EXCERPT = 200
"""Characters kept of a question, a response and a rationale."""

T = TypeVar("T")


class Codes(Generic[T]):
    """Values and the numbers that stand for them, in order of their first use."""

    def __init__(self) -> None:
        self.values: list[T] = []
        self._code: dict[T, int] = {}

    def __len__(self) -> int:
        return len(self.values)

    def of(self, value: T) -> int:
        code = self._code.get(value)
        if code is None:
            code = self._code[value] = len(self.values)
            self.values.append(value)
        return code


@dataclass(slots=True)
class ItemFacts:
    """What is kept of an item.

    Attributes:
        id: of the item.
        question: number of its question, the unit of dependence, once all are gathered.
        asked: what it says of it.
        category: None where it has none.
        excerpt: the first characters of the question.
        label: its own label, else None.
        labels: what people said; collected from all records of the item.
        scale: of the item, else ().
    """

    id: str
    question: int
    category: str | None
    excerpt: str
    label: AnyVerdict | None
    labels: tuple[Label, ...]
    scale: tuple[float, float] | tuple[str, ...]
    asked: Asked

    @property
    def people(self) -> tuple[Label, ...]:
        """One answer a person; see :func:`~metajudge.types.label.answers`."""
        return answers(self.labels)

    def truth(self) -> AnyVerdict | None:
        return self.label if self.label is not None else settled(self.labels)

    def add(self, item: Item) -> None:
        """Takes over labels that another record of the same item has."""
        if self.label is None:
            self.label = item.label
        if item.labels and item.labels != self.labels:
            self.labels = combined(self.labels, item.labels)


@dataclass(slots=True)
class Thing:
    """What a judge is asked about: one response, a pair, or the responses of a ranking, in whatever order shown.

    Attributes:
        item: number of its item.
        ids: ids of the responses shown, in the order of the item.
        lengths: characters of each.
        models: the model of each, None where it is not known.
        excerpts: the first characters of each.
    """

    item: int
    ids: tuple[str, ...]
    lengths: tuple[int, ...]
    models: tuple[str | None, ...]
    excerpts: tuple[str, ...]


@dataclass(slots=True)
class Rows:
    """Verdicts of one kind, one entry each."""

    judge: list[int] = field(default_factory=list)
    thing: list[int] = field(default_factory=list)
    verdict: list[int] = field(default_factory=list)
    order: list[int] = field(default_factory=list)
    time: list[float] = field(default_factory=list)
    version: list[int] = field(default_factory=list)
    prompt: list[int] = field(default_factory=list)
    instruction: list[int] = field(default_factory=list)
    id: list[str] = field(default_factory=list)
    rationale: list[str] = field(default_factory=list)
    words: list[int] = field(default_factory=list)


class Gathered:
    """The columns of all judgments.

    Attributes:
        judges: names.
        items: facts of each item, by number.
        things: by kind.
        rows: by kind.
        verdicts: verdicts of the rows, coded.
        orders: orders of response ids, coded.
        versions, prompts, instructions: names, coded; number 0 is "none".
        no_verdict: judge -> judgments without a verdict.
        counts: judge -> judgments.
        duplicates: judgments whose id came before.
        models: judge -> the model behind it, as the records state it.
        relabelled: items whose records have two different labels of their own.
    """

    def __init__(self) -> None:
        self.judges: Codes[str] = Codes()
        self.items: list[ItemFacts] = []
        self.things: dict[VerdictKind, list[Thing]] = {kind: [] for kind in VERDICT_KINDS}
        self.rows: dict[VerdictKind, Rows] = {kind: Rows() for kind in VERDICT_KINDS}
        self.verdicts: Codes[AnyVerdict] = Codes()
        self.orders: Codes[tuple[str, ...]] = Codes()
        self.versions: Codes[str | None] = Codes()
        self.prompts: Codes[str | None] = Codes()
        self.instructions: Codes[str | None] = Codes()
        for codes in (self.versions, self.prompts, self.instructions):
            codes.of(None)
        self.no_verdict: Counter[str] = Counter()
        self.counts: Counter[str] = Counter()
        self.duplicates = 0
        self.relabelled: set[int] = set()
        self.models: dict[str, str] = {}
        self._seen: set[str] = set()
        self._items: dict[str, int] = {}
        self._things: dict[tuple[VerdictKind, int, frozenset[str]], int] = {}
        self._questions: Codes[str] = Codes()

    @property
    def questions(self) -> int:
        return len(self._questions)

    def add(self, judgment: Judgment) -> None:
        """Takes one judgment; a repeated id is counted and left out."""
        if judgment.id in self._seen:
            self.duplicates += 1
            return
        self._seen.add(judgment.id)
        self.counts[judgment.judge] += 1
        item = self._item(judgment.item)
        if judgment.verdict is None:
            self.no_verdict[judgment.judge] += 1
            return
        kind = kind_of(judgment.verdict)
        rows, meta = self.rows[kind], judgment.meta
        rows.judge.append(self.judges.of(judgment.judge))
        rows.thing.append(self._thing(kind, item, judgment))
        rows.verdict.append(self.verdicts.of(judgment.verdict))
        rows.order.append(self.orders.of(judgment.order))
        time = time_of(meta) if meta else None
        rows.time.append(float("nan") if time is None else time)
        rows.version.append(self.versions.of(named(meta, VERSIONS)) if meta else 0)
        rows.prompt.append(self.prompts.of(named(meta, PROMPTS)) if meta else 0)
        rows.instruction.append(self.instructions.of(_short_digest(judgment.instruction)))
        rows.id.append(judgment.id)
        rows.rationale.append(judgment.rationale[:EXCERPT])
        rows.words.append(judgment.words)
        model = meta.get("judge_model")
        if isinstance(model, str) and model:
            self.models.setdefault(judgment.judge, model)

    def _item(self, item: Item) -> int:
        number = self._items.get(item.id)
        if number is not None:
            facts = self.items[number]
            if item.label is not None and facts.label is not None and item.label != facts.label:
                self.relabelled.add(number)
            facts.add(item)
            return number
        number = self._items[item.id] = len(self.items)
        self.items.append(
            ItemFacts(
                id=item.id,
                question=-1,
                category=item.category,
                excerpt=item.question[:EXCERPT],
                label=item.label,
                labels=item.labels,
                scale=item.scale or (),
                asked=Asked.of(item),
            )
        )
        return number

    def settle(self) -> None:
        """Numbers the questions of all items, once these are gathered."""
        unit = unit_of([item.asked for item in self.items])
        for item in self.items:
            item.question = self._questions.of(item.asked.named(unit))

    def _thing(self, kind: VerdictKind, item: int, judgment: Judgment) -> int:
        shown = frozenset(judgment.order)
        key = (kind, item, shown)
        number = self._things.get(key)
        if number is None:
            number = self._things[key] = len(self.things[kind])
            record = judgment.item
            ids = tuple(name for name in record.responses if name in shown)
            models = record.models or {}
            self.things[kind].append(
                Thing(
                    item=item,
                    ids=ids,
                    lengths=tuple(len(record.responses[name]) for name in ids),
                    models=tuple(models.get(name) for name in ids),
                    excerpts=tuple(record.responses[name][:EXCERPT] for name in ids),
                )
            )
        return number


def gather(judgments: Iterable[Judgment]) -> Gathered:
    """Reads all judgments once."""
    found = Gathered()
    for judgment in judgments:
        found.add(judgment)
    found.settle()
    return found


def _short_digest(text: str | None) -> str | None:
    return None if text is None else text if len(text) <= EXCERPT else f"{text[:60]}... {text_digest(text)[:12]}"
