"""People's labels joined with judgments by an id: of the judgment, of the item, or of the item and the response.

:func:`join` joins labels with judgments in memory, and :func:`join_source` with judgments that are streamed.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal, NamedTuple, TypeAlias, get_args

from metajudge.errors import InputError
from metajudge.reading.containers.cells import key_of
from metajudge.reading.label_files import LabelRow, LabelRows
from metajudge.reading.mapping import quoted
from metajudge.reading.people import NAMED, first_of, label_of, listed, with_labels
from metajudge.reading.seen import plural
from metajudge.reading.source import JudgmentSource
from metajudge.reading.vocabulary import UnknownValueError, Vocabulary, beside
from metajudge.types import Category, Judgment, Label
from metajudge.types.label import answered_again, is_ruling

On: TypeAlias = Literal["id", "item", "item+response"]
Key: TypeAlias = tuple[str, ...]
Judged: TypeAlias = dict[On, dict[Key, list[Judgment]]]
"""The judgments by each key that may name them."""

_ONS: Final[tuple[On, ...]] = get_args(On)
_SHOWN = 8


def parse_on(text: str) -> On:
    """Reads ``id``, ``item`` or ``item+response``. Raises InputError: anything else."""
    found = next((on for on in _ONS if text.strip() == on), None)
    if found is None:
        raise InputError(f"--on {text!r} is no key: give {', '.join(_ONS[:-1])} or {_ONS[-1]}")
    return found


@dataclass(frozen=True, slots=True)
class JoinReport:
    """What a join gave; all counts are of the whole input, before any filter by judge.

    Attributes:
        on, columns: by what the labels were joined, and the columns of the labels that contain it.
        guessed: whether that was found by the values, not given.
        labels, matched: how many there are, and how many of them are about a judgment of the input.
        unmatched: keys of the first other ones, each with its position.
        unreadable: those whose value means nothing on their item, each with its position.
        judgments, labelled: how many there are, and how many of them have a label now, or had one.
        unlabelled: ids of the first other ones.
        own: how many had a label of their own in the record; that one stays the truth.
        annotators: how many different people gave labels, as far as they are named.
        notices: what is to be known, a sentence each.
    """

    on: On
    columns: list[str]
    guessed: bool
    labels: int
    matched: int
    unmatched: list[str]
    unreadable: list[str]
    judgments: int
    labelled: int
    unlabelled: list[str]
    own: int
    annotators: int
    notices: list[str]

    def to_json(self) -> dict[str, Any]:
        """Plain data, without the sentences."""
        return {name: one for name, one in asdict(self).items() if name != "notices"}


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
    joiner = _Joiner(judgments, labels, on, values)
    return [joiner.labelled(one) for one in judgments], joiner.report


def join_source(
    source: JudgmentSource, labels: LabelRows, on: On | None = None, values: Mapping[str, str] | None = None
) -> JoinReport:
    """Adds people's labels to every judgment that a source gives from now on; reads the source once for its ids.

    What the join gave is among the source's notices. Arguments, and what is raised, as for :func:`join`.
    """
    joiner = _Joiner(source.all(), labels, on, values)
    source.label(joiner.labelled, joiner.report.notices)
    return joiner.report


class _Way(NamedTuple):
    """A key by which labels may be joined, and the columns that contain it."""

    on: On
    columns: tuple[str, ...]

    def key(self, row: LabelRow) -> Key:
        """What a label is joined by; empty where a cell is."""
        parts = tuple(row.keys.get(column, "") for column in self.columns)
        return parts if all(parts) else ()

    def __str__(self) -> str:
        what = {"id": "the judgment's id", "item": "the item's id", "item+response": "the item's id and the response"}
        return f"{what[self.on]} (column {' and '.join(map(repr, self.columns))})"


class _Joiner:
    """Labels by what they are joined by, and what that gives; arguments as for :func:`join`."""

    def __init__(
        self, judgments: Iterable[Judgment], labels: LabelRows, on: On | None, values: Mapping[str, str] | None
    ) -> None:
        given = list(judgments)
        judged: Judged = {one: {} for one in _ONS}
        for judgment in given:
            for one, keys in _keys_of(judgment).items():
                for key in keys:
                    judged[one].setdefault(key, []).append(judgment)
        recorded = {key_of(row.value) for row in labels.rows if not isinstance(row.value, Label)}
        words = {str(one.verdict) for one in given if isinstance(one.verdict, Category)}
        self._vocabulary = Vocabulary(values or {}, categories=True, column="label", beside=beside(recorded, words))
        self._way = _way(labels, on, judged, given)
        self._rows: dict[Key, list[LabelRow]] = {}
        for row in labels.rows:
            if key := self._way.key(row):
                self._rows.setdefault(key, []).append(row)
        self.report = self._report(labels, given, judged[self._way.on], guessed=on is None)

    def labelled(self, judgment: Judgment) -> Judgment:
        """The judgment with its labels; itself where there are none."""
        labels: list[Label] = []
        for row in self._rows_of(judgment):
            with suppress(UnknownValueError):
                labels += filter(None, [self._said(row, judgment)])
        return with_labels(judgment, labels) if labels else judgment

    def _rows_of(self, judgment: Judgment) -> Iterable[LabelRow]:
        found = (row for key in _keys_of(judgment)[self._way.on] for row in self._rows.get(key, ()))
        return {id(row): row for row in found}.values()

    def _said(self, row: LabelRow, judgment: Judgment) -> Label | None:
        """What a label says of a judgment; None where it stands for no answer, or names other responses."""
        if isinstance(row.value, Label):
            return row.value if set(row.value.value.ids) <= judgment.item.responses.keys() else None
        return label_of(row.value, row.annotator, row.time, judgment.item, self._vocabulary, row.chosen)

    def _report(
        self, labels: LabelRows, judgments: list[Judgment], judged: dict[Key, list[Judgment]], *, guessed: bool
    ) -> JoinReport:
        unmatched, unreadable, useless = list[str](), list[str](), set[int]()
        silent, unknown, meant, answers = Counter[str](), Counter[str](), set[str](), Counter[tuple[Key, str]]()
        for row in labels.rows:
            key, shown, place = self._way.key(row), _shown(row.value), f" at {row.file}:{row.line}"
            if key not in judged:
                unmatched.append(("/".join(key) or "without an id") + place)
                continue
            try:
                label, fault = self._said(row, judged[key][0]), isinstance(row.value, Label)
            except UnknownValueError:
                label, fault = None, True
                unknown[shown] += 1
            if label is not None:
                meant.add(shown)
                answers.update([(key, row.annotator)] if row.annotator and not is_ruling(row.annotator) else [])
                continue
            useless.add(id(row))
            if fault:
                unreadable.append(shown + place)
            else:
                silent[shown] += 1
        _require_meanings({value: count for value, count in unknown.items() if value not in meant})
        bare = [one for one in judgments if one.item.label is None and not one.item.labels]
        without = [one.id for one in bare if all(id(row) in useless for row in self._rows_of(one))]
        matched, own = len(labels.rows) - len(unmatched) - len(useless), len(judgments) - len(bare)
        notices = [
            f"{matched:,} of {plural('label', len(labels.rows))} joined by {self._way}"
            f"{', which was guessed: --on says otherwise' if guessed else ''}; judgments with a label: "
            f"{len(judgments) - len(without):,} of {len(judgments):,}.",
            *(f"{note}." for note in labels.notes),
        ]
        if silent:
            notices.append(f"{plural('label', silent.total())} that stand for no answer: {listed(silent)}.")
        if again := answered_again(answers.total() - len(answers)):
            notices.append(again)
        if unmatched:
            first = "; ".join(unmatched[:NAMED])
            notices.append(f"{plural('label', len(unmatched))} without a judgment, the first: {first}.")
        if unreadable:
            notices.append(f"Labels that mean nothing on their item: {first_of(unreadable)}.")
        if without:
            first = ", ".join(without[:NAMED])
            notices.append(f"{plural('judgment', len(without))} without a label, the first: {first}.")
        if own:
            stays = "a label there stays the truth, several are added to"
            notices.append(f"{plural('judgment', own)} with labels in the record itself: {stays}.")
        return JoinReport(
            on=self._way.on,
            columns=list(self._way.columns),
            guessed=guessed,
            labels=len(labels.rows),
            matched=matched,
            unmatched=unmatched[:NAMED],
            unreadable=unreadable,
            judgments=len(judgments),
            labelled=len(judgments) - len(without),
            unlabelled=without[:NAMED],
            own=own,
            annotators=len({row.annotator for row in labels.rows if row.annotator}),
            notices=notices,
        )


def _require_meanings(unknown: Mapping[str, int]) -> None:
    """Raises InputError: labels whose values mean nothing on any item, with their counts and what says a meaning."""
    if unknown:
        first = list(unknown)[:_SHOWN]
        shown = ", ".join(f"{value} ({unknown[value]:,})" for value in first)
        means = ",".join(f"{value.strip(chr(39))}=MEANING" for value in first)
        raise InputError(
            f"labels: {shown}{', ...' * (len(unknown) > _SHOWN)} mean nothing on the items that they are about. Say "
            f"what each means, --map-values {quoted(means)} (an id, A>B, tie, a number, a word or none), or write that "
            "in the labels"
        )


def _keys_of(judgment: Judgment) -> dict[On, list[Key]]:
    """The keys by which labels of a judgment are looked up.

    A response is named by its id or by the model that wrote it. ``X/Y`` is also the item X with Y, a model or the name
    of what people and judges scored.
    """
    item = judgment.item
    names = (*item.responses, *(item.models or {}).values()) if len(item.responses) == 1 else ()
    question, sign, response = item.id.rpartition("/")
    pairs = [*((item.id, name) for name in names), *([(question, response)] if sign else [])]
    return {"id": [(judgment.id,)], "item": [(item.id,)], "item+response": list(dict.fromkeys(pairs))}


def _way(labels: LabelRows, on: On | None, judged: Judged, judgments: Sequence[Judgment]) -> _Way:
    """By what labels are joined: of the columns that fit the key given, or any key, those with the most matches.

    Raises:
        InputError: nothing matches, or two keys match equally well and mean different things.
    """
    ways = [way for one in ([on] if on else _ONS) for way in _candidates(labels, one)]
    shares = {way: sum(way.key(row) in judged[way.on] for row in labels.rows) for way in ways}
    most = max(shares.values(), default=0)
    if not most:
        raise InputError(_nothing(labels, on, judgments))
    best = [way for way in ways if shares[way] == most]
    for row in labels.rows if on is None and len({way.on for way in best}) > 1 else ():
        given = [[one.id for one in judged[way.on].get(way.key(row), ())] for way in best]
        if any(one != given[0] for one in given):
            several = "; ".join(f"--on {way.on}: {way}" for way in best)
            raise InputError(
                f"the labels can be joined in several ways with as many matches: {several}. Say which one."
            )
    return best[0]


def _candidates(labels: LabelRows, on: On) -> Iterator[_Way]:
    """Ways in which columns of the labels may be this key."""
    ahead, behind = (labels.ids, labels.items) if on == "id" else (labels.items, labels.ids)
    for column in dict.fromkeys([*ahead, *behind]):
        if on == "item+response":
            yield from (_Way(on, (column, one)) for one in labels.responses if one != column)
        elif on == "id" or not labels.several:
            yield _Way(on, (column,))


def _nothing(labels: LabelRows, on: On | None, judgments: Sequence[Judgment]) -> str:
    first, ours = labels.rows[0], "there is no judgment"
    columns = dict.fromkeys([*labels.ids, *labels.items, *labels.responses])
    theirs = ", ".join(f"{name}={first.keys.get(name, '')!r}" for name in columns) or "no column of ids"
    for judgment in judgments[:1]:
        item = judgment.item
        names = [name for key, name in _keys_of(judgment)["item+response"] if key == item.id]
        ours = f"the first judgment has id={judgment.id!r}, item={item.id!r}"
        ours += f", response={names[-1]!r}" if names else ""
    by = f" with --on {on}" if on else ""
    return (
        f"no label matches a judgment{by}: the first label has {theirs}; {ours}. Say which columns contain the "
        "key: --labels-map item_id=COLUMN (or id=COLUMN, response=COLUMN), and --on id, item or item+response"
    )


def _shown(value: Any) -> str:
    text = str(value.value) if isinstance(value, Label) else repr(value)
    return text if len(text) <= 40 else text[:37] + "..."
