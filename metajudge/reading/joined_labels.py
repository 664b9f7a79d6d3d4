"""People's labels joined with judgments by an id: of the judgment, of the item, or of the item and the response.

The interface: :func:`read_labels` reads files, :func:`join` joins them with judgments in memory, and
:func:`join_source` with judgments that are streamed.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, get_args

from metajudge.errors import InputError
from metajudge.reading.containers.cells import key_of
from metajudge.reading.label_files import LabelRow, LabelRows
from metajudge.reading.mapping import quoted
from metajudge.reading.people import NAMED, first_of, label_of, listed, with_labels
from metajudge.reading.source import JudgmentSource
from metajudge.reading.vocabulary import UnknownValueError, Vocabulary, beside
from metajudge.types import Category, Judgment, Label
from metajudge.types.label import answered_again, is_ruling

On: TypeAlias = Literal["id", "item", "item+response"]
Key: TypeAlias = tuple[str, ...]

WAYS: Final[tuple[On, ...]] = get_args(On)


def parse_on(text: str) -> On:
    """Reads ``id``, ``item`` or ``item+response``.

    Raises:
        InputError: anything else.
    """
    for way in WAYS:
        if text.strip() == way:
            return way
    raise InputError(f"--on {text!r} is no key: give {', '.join(WAYS[:-1])} or {WAYS[-1]}")


@dataclass(frozen=True, slots=True)
class Way:
    """By what labels are joined.

    Attributes:
        on: judgment's id, item's id, or item's id with the response's id or model.
        columns: the columns of the labels that contain it.
        guessed: whether it was found by the values, not given.
    """

    on: On
    columns: tuple[str, ...]
    guessed: bool

    def key(self, row: LabelRow) -> Key | None:
        """What a label is joined by; None where a cell is empty."""
        parts = tuple(row.keys.get(column, "") for column in self.columns)
        return parts if all(parts) else None

    def __str__(self) -> str:
        what = {"id": "the judgment's id", "item": "the item's id", "item+response": "the item's id and the response"}
        return f"{what[self.on]} (column {' and '.join(map(repr, self.columns))})"


@dataclass(frozen=True, slots=True)
class JoinReport:
    """What a join gave; all counts are of the whole input, before any filter by judge.

    Attributes:
        way: by what the labels were joined.
        labels: how many there are.
        matched: how many of them are about a judgment of the input.
        unmatched: keys of the first other ones, each with its position.
        unreadable: those whose value means nothing on their item, each with its position.
        silent: how often each value stands that stands for no answer.
        older: how many are older answers of a person who answered an item again.
        judgments: how many there are.
        labelled: how many of them have a label now, or had one.
        unlabelled: ids of the first other ones.
        own: how many had a label of their own in the record; that one stays the truth.
        annotators: how many different people gave labels, as far as they are named.
        notes: what was taken for what in the files of labels.
    """

    way: Way
    labels: int
    matched: int
    unmatched: list[str]
    unreadable: list[str]
    silent: Counter[str]
    older: int
    judgments: int
    labelled: int
    unlabelled: list[str]
    own: int
    annotators: int
    notes: list[str]

    def notices(self) -> list[str]:
        """What is to be known, a sentence each."""
        guessed = ", which was guessed: --on says otherwise" if self.way.guessed else ""
        found = [
            f"{self.matched:,} of {_counted(self.labels, 'label')} joined by {self.way}{guessed}; judgments with a "
            f"label: {self.labelled:,} of {self.judgments:,}."
        ]
        found += [f"{note}." for note in self.notes]
        if self.silent:
            found.append(f"{_counted(self.silent.total(), 'label')} that stand for no answer: {listed(self.silent)}.")
        if again := answered_again(self.older):
            found.append(again)
        if left := self.labels - self.matched - len(self.unreadable) - self.silent.total():
            found.append(f"{_counted(left, 'label')} without a judgment, the first: {'; '.join(self.unmatched)}.")
        if self.unreadable:
            found.append(f"Labels that mean nothing on their item: {first_of(self.unreadable)}.")
        if left := self.judgments - self.labelled:
            found.append(f"{_counted(left, 'judgment')} without a label, the first: {', '.join(self.unlabelled)}.")
        if self.own:
            own = _counted(self.own, "judgment")
            found.append(
                f"{own} with labels in the record itself: a label there stays the truth, several are added to."
            )
        return found

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "on": self.way.on,
            "columns": list(self.way.columns),
            "guessed": self.way.guessed,
            **{name: getattr(self, name) for name in _COUNTS},
        }


_COUNTS: Final = (
    *("labels", "matched", "unmatched", "unreadable", "judgments", "labelled", "unlabelled", "own"),
    "annotators",
)


def join(
    judgments: Sequence[Judgment], labels: LabelRows, on: On | None = None, values: Mapping[str, str] | None = None
) -> tuple[list[Judgment], JoinReport]:
    """Judgments with people's labels on their items.

    Args:
        judgments: all of the input, so that what matches nothing is known.
        labels: as :func:`read_labels` gives them.
        on: what labels name; None to find it by the values.
        values: what values of a label mean (``{"good": "pass"}``), as ``--map-values``.

    Returns:
        The judgments in their order, and what the join gave.

    Raises:
        InputError: nothing matches, several keys match and none is given, or a value means nothing on any item.
    """
    joiner = Joiner(judgments, labels, on, values)
    return [joiner.labelled(one) for one in judgments], joiner.report


def join_source(
    source: JudgmentSource, labels: LabelRows, on: On | None = None, values: Mapping[str, str] | None = None
) -> JoinReport:
    """Adds people's labels to every judgment that a source gives from now on; reads the source once for its ids.

    What the join gave is among the source's notices. Arguments, and what is raised, as for :func:`join`.
    """
    joiner = Joiner(source.all(), labels, on, values)
    source.label(joiner.labelled, joiner.report.notices())
    return joiner.report


class Joiner:
    """Labels by what they are joined by.

    Args:
        judgments: read once, for ids and items.
        labels: as :func:`read_labels` gives them.
        on: what labels name; None to find it by the values.
        values: meanings of values, as ``--map-values``.

    Attributes:
        report: what the join gives.
    """

    def __init__(
        self,
        judgments: Iterable[Judgment],
        labels: LabelRows,
        on: On | None = None,
        values: Mapping[str, str] | None = None,
    ) -> None:
        self._judged: list[tuple[str, bool, Mapping[On, Sequence[Key]]]] = []  # id, whether it has a label, keys
        self._first: dict[On, dict[Key, Judgment]] = {way: {} for way in WAYS}
        words = set[str]()
        for judgment in judgments:
            keys = _keys_of(judgment)
            self._judged.append((judgment.id, judgment.item.label is not None or bool(judgment.item.labels), keys))
            words |= {str(judgment.verdict)} if isinstance(judgment.verdict, Category) else set()
            for way, names in keys.items():
                for name in names:
                    self._first[way].setdefault(name, judgment)
        recorded = {key_of(row.value) for row in labels.rows if not isinstance(row.value, Label)}
        self._vocabulary = Vocabulary(values or {}, categories=True, column="label", beside=beside(recorded, words))
        self._labels = labels
        self._way = self._found_way(on)
        self._index: dict[Key, list[LabelRow]] = {}
        for row in labels.rows:
            key = self._way.key(row)
            if key is not None:
                self._index.setdefault(key, []).append(row)
        self.report = self._counted()
        del self._judged, self._first  # of a stream, no judgment is held

    def labelled(self, judgment: Judgment) -> Judgment:
        """The judgment with its labels; itself where there are none."""
        labels = []
        for row in self._rows(_keys_of(judgment)):
            with suppress(UnknownValueError):
                labels.append(self._said(row, judgment))
        given = [one for one in labels if one is not None]
        return with_labels(judgment, given) if given else judgment

    def _rows(self, keys: Mapping[On, Sequence[Key]]) -> list[LabelRow]:
        found = [row for key in keys[self._way.on] for row in self._index.get(key, ())]
        return list({id(row): row for row in found}.values())

    def _said(self, row: LabelRow, judgment: Judgment) -> Label | None:
        """What a label says of a judgment; None where it stands for no answer, or names other responses."""
        if isinstance(row.value, Label):
            return row.value if set(row.value.value.ids) <= judgment.item.responses.keys() else None
        return label_of(row.value, row.annotator, row.time, judgment.item, self._vocabulary, row.chosen)

    def _counted(self) -> JoinReport:
        labels, there = self._labels, self._first[self._way.on]
        unmatched, unreadable, bad = [], [], set()
        silent, unknown, meant = Counter[str](), Counter[str](), set[str]()
        persons = set[tuple[Key | None, str]]()
        older = 0
        for row in labels.rows:
            key = self._way.key(row)
            judgment = None if key is None else there.get(key)
            if judgment is None:
                unmatched.append(f"{'/'.join(key) if key else 'without an id'} at {row.where}")
                continue
            shown, label = _shown(row.value), None
            try:
                label = self._said(row, judgment)
                silent[shown] += label is None and not isinstance(row.value, Label)
            except UnknownValueError:
                unknown[shown] += 1
            if label is not None:
                meant.add(shown)
                if row.annotator and not is_ruling(row.annotator):
                    older += (key, row.annotator) in persons
                    persons.add((key, row.annotator))
                continue
            bad.add(id(row))
            if not silent[shown]:
                unreadable.append(f"{shown} at {row.where}")
        _require_meanings({value: count for value, count in unknown.items() if value not in meant})
        without = [
            name for name, own, keys in self._judged if not own and all(id(row) in bad for row in self._rows(keys))
        ]
        return JoinReport(
            way=self._way,
            labels=len(labels.rows),
            matched=len(labels.rows) - len(unmatched) - len(unreadable) - silent.total(),
            unmatched=unmatched[:NAMED],
            unreadable=unreadable,
            silent=+silent,
            older=older,
            judgments=len(self._judged),
            labelled=len(self._judged) - len(without),
            unlabelled=without[:NAMED],
            own=sum(own for _, own, _ in self._judged),
            annotators=len({row.annotator for row in labels.rows if row.annotator}),
            notes=labels.notes,
        )

    def _found_way(self, on: On | None) -> Way:
        """By what labels are joined: of the columns that fit the key given, or any key, those with the most matches.

        Raises:
            InputError: nothing matches, or two keys match equally well and mean different things.
        """
        ways = [way for one in ([on] if on else WAYS) for way in _candidates(self._labels, one, guessed=on is None)]
        shares = [(sum(way.key(row) in self._first[way.on] for row in self._labels.rows), way) for way in ways]
        most = max((count for count, _ in shares), default=0)
        if not most:
            raise InputError(self._nothing(on))
        best = [way for count, way in shares if count == most]
        kinds = list(dict.fromkeys(way.on for way in best))
        if on is None and len(kinds) > 1 and not self._same(best):
            named = "; ".join(f"--on {way.on}: {way}" for way in best)
            raise InputError(f"the labels can be joined in several ways with as many matches: {named}. Say which one.")
        return best[0]

    def _same(self, ways: Sequence[Way]) -> bool:
        """Whether all ways give every label to the same judgments."""
        by: dict[On, dict[Key | None, list[str]]] = {way.on: {} for way in ways}
        for name, _, keys in self._judged:
            for on, found in by.items():
                for key in keys[on]:
                    found.setdefault(key, []).append(name)
        given = ([by[way.on].get(way.key(row)) for way in ways] for row in self._labels.rows)
        return all(one == several[0] for several in given for one in several)

    def _nothing(self, on: On | None) -> str:
        labels, ours = self._labels, "there is no judgment"
        columns = [*dict.fromkeys([*labels.ids, *labels.items, *labels.responses])]
        theirs = ", ".join(f"{name}={labels.rows[0].keys.get(name, '')!r}" for name in columns) or "no column of ids"
        for name, _, keys in self._judged[:1]:
            (item,) = keys["item"][0]
            response = next((f", response={key[1]!r}" for key in reversed(keys["item+response"]) if key[0] == item), "")
            ours = f"the first judgment has id={name!r}, item={item!r}{response}"
        by = f" with --on {on}" if on else ""
        return (
            f"no label matches a judgment{by}: the first label has {theirs}; {ours}. Say which columns contain the "
            "key: --labels-map item_id=COLUMN (or id=COLUMN, response=COLUMN), and --on id, item or item+response"
        )


def _require_meanings(unknown: Mapping[str, int]) -> None:
    """Refuses labels whose values mean nothing on any item.

    Raises:
        InputError: with the values, their counts, and what says what they mean.
    """
    if not unknown:
        return
    shown = ", ".join(f"{value} ({count:,})" for value, count in list(unknown.items())[:8])
    means = ",".join(f"{value.strip(chr(39))}=MEANING" for value in list(unknown)[:8])
    raise InputError(
        f"labels: {shown}{', ...' if len(unknown) > 8 else ''} mean nothing on the items that they are about. Say what "
        f"each means, --map-values {quoted(means)} (an id, A>B, tie, a number, a word or none), or write that in the "
        "labels"
    )


def _keys_of(judgment: Judgment) -> dict[On, Sequence[Key]]:
    """The keys by which labels of a judgment are looked up.

    A response is named by its id or by the model that wrote it. ``X/Y`` is also the item X with Y, a model or the name
    of what people and judges scored.
    """
    item = judgment.item
    names = (*item.responses, *(item.models or {}).values()) if len(item.responses) == 1 else ()
    question, sign, response = item.id.rpartition("/")
    pairs = dict.fromkeys([*((item.id, name) for name in names), *([(question, response)] if sign else [])])
    return {"id": [(judgment.id,)], "item": [(item.id,)], "item+response": list(pairs)}


def _candidates(labels: LabelRows, on: On, *, guessed: bool) -> Iterator[Way]:
    """Ways in which columns of the labels may be this key."""
    if on == "item+response":
        for item in dict.fromkeys([*labels.items, *labels.ids]):
            yield from (Way(on, (item, one), guessed) for one in labels.responses if one != item)
        return
    if labels.several and on == "item":
        return
    first = labels.ids if on == "id" else labels.items
    other = labels.items if on == "id" else labels.ids
    yield from (Way(on, (column,), guessed) for column in dict.fromkeys([*first, *other]))


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}" + ("" if count == 1 else "s")


def _shown(value: Any) -> str:
    text = str(value.value) if isinstance(value, Label) else repr(value)
    return text if len(text) <= 40 else text[:37] + "..."
