"""Ballots of files: their rankings as data and as text, files that contain one ranking a line, and judgments.

From judgments, every judge ranks the models that wrote the responses. A response's id is a candidate only where it
names one: ``A`` and ``B`` give a response's position in its item, and another model has that position in the next item.
"""

import io
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, TypeAlias

import orjson

from metajudge.errors import InputError
from metajudge.reading.containers.kinds import Container, container_of
from metajudge.reading.containers.lines import Line, Reject, Source, open_bytes, read_lines, undamaged
from metajudge.reading.formats.known import OWN, format_of
from metajudge.reading.mapping import FieldMap
from metajudge.reading.reader import each, split
from metajudge.reading.saved_maps import saved_map
from metajudge.reading.source import open_judgments
from metajudge.types import Category, Grade, Judgment, Pairwise, Ranking
from metajudge.types.verdict import kind_of

Groups: TypeAlias = tuple[tuple[str, ...], ...]
Format: TypeAlias = Literal["jsonl", "csv", "preflib", "judgments"]

VOTERS = ("voter", "evaluator", "judge", "ballot")
"""Fields and columns that may name the voter."""

QUESTIONS = ("question_id", "question", "item")
"""Fields and columns that may name the question a ballot is about."""


@dataclass(frozen=True, slots=True)
class FileBallot:
    """One ranking of a file.

    Attributes:
        ranking: groups of tied candidates, best first; no candidate twice.
        weight: above 0; 1 where the file gives none.
        voter: None where the file names none.
        question: None where the file names none.
        line: its line number.
    """

    ranking: Groups
    weight: Fraction
    voter: str | None
    question: str | None
    line: int


@dataclass(frozen=True, slots=True)
class RankingFile:
    """What a file of ballots contains.

    Attributes:
        name: the path as given.
        format: what it was read as.
        candidates: all names the file declares (PrefLib, a CSV with a column a candidate), ranked or not; None where
            it declares none.
        ballots: in the file's order.
        rejects: lines that contain no ballot, and why.
    """

    name: str
    format: Format
    candidates: tuple[str, ...] | None
    ballots: tuple[FileBallot, ...]
    rejects: tuple[Reject, ...]


def ranking_file(
    source: Source,
    form: Format,
    rows: Iterable[Line | Reject],
    read: Callable[[Line], FileBallot],
    candidates: tuple[str, ...] | None = None,
) -> RankingFile:
    """A file of which every row is a ballot; ``read`` raises :class:`InputError` where one is none."""
    ballots, rejects = split(each(source, rows, read))
    return RankingFile(source.name, form, candidates, tuple(ballots), tuple(rejects))


def read_ranking_lines(source: Source) -> RankingFile:
    """Reads one object or one list a line; see :func:`metajudge.reading.ranking_files.read_ranking_file`."""
    texts = (Line(number, text.encode(), {}) for number, text in enumerate(text_lines(source), start=1) if text.strip())
    return ranking_file(source, "jsonl", texts, _json_ballot)


def _json_ballot(line: Line) -> FileBallot:
    try:
        data = orjson.loads(line.raw)
    except orjson.JSONDecodeError as error:
        raise InputError(f"not JSON: {error}") from None
    if isinstance(data, list):
        data = {"ranking": data}
    key = next((key for key in _BALLOT if key in data), None) if isinstance(data, dict) else None
    if key is None:
        raise InputError("the line is neither a list nor an object with 'ranking' or 'verdict'")
    value = data[key]
    if not isinstance(value, str | list):
        null = "null: a ballot without a ranking" if value is None else "neither a list of candidates nor text"
        raise InputError(f"'{key}' is {null}, such as 'B > A = C'")
    ranking = ranking_from_text(value) if isinstance(value, str) else _listed(value)
    weight = weight_of(data.get("weight", 1))
    return FileBallot(ranking, weight, _name(data, VOTERS), _name(data, QUESTIONS), line.number)


def _listed(value: list[Any]) -> Groups:
    return checked_ranking([group if isinstance(group, list) else [group] for group in value])


def _name(data: dict[str, Any], keys: Sequence[str]) -> str | None:
    """The first of the fields that is there; an object (as a judgment's item) goes by its id."""
    value = next((data[key] for key in keys if data.get(key) is not None), None)
    if isinstance(value, dict):
        value = value.get("id")
    return None if value is None else str(value)


def ranking_from_text(text: str) -> Groups:
    """Reads ``"B > A = C"``; names may contain anything but ``>`` and ``=``.

    Raises:
        InputError: an empty text, place or name, or a candidate named twice.
    """
    return checked_ranking(
        [[name.strip() for name in group.split("=")] for group in text.replace(">>", ">").split(">")]
    )


def checked_ranking(groups: Sequence[Sequence[object]]) -> Groups:
    """Groups as they are, if they are names, none empty and none twice.

    Raises:
        InputError: saying what is not.
    """
    names = [name for group in groups for name in group]
    if not names:
        raise InputError("the ranking is empty")
    if not all(groups):
        raise InputError("the ranking has an empty group")
    for name in names:
        if not isinstance(name, str) or not name:
            raise InputError(f"the ranking contains {name!r}, which is not a name: names are text")
    if len(set(names)) < len(names):
        repeated = next(name for name in names if names.count(name) > 1)
        raise InputError(f"the ranking names {repeated!r} twice")
    return tuple(tuple(str(name) for name in group) for group in groups)


def weight_of(value: object) -> Fraction:
    """A weight as an exact fraction: text and numbers count as the decimals they print as.

    Raises:
        InputError: not a finite number above 0, or one so large that a sum of weights would overflow.
    """
    try:
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise ValueError
        text = str(value).strip()
        exponent = text.lower().partition("e")[2]
        if exponent and abs(int(exponent)) > 100:  # digits that the exact fraction would have
            raise InputError(f"the weight is {text}: a weight lies between 1e-100 and 1e100; scale all of them")
        weight = Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise InputError(f"the weight is {value!r}: it is a number above 0") from None
    if weight <= 0:
        raise InputError(f"the weight is {value}: it is a number above 0; leave out ballots that must not count")
    return weight


def text_lines(source: Source) -> Iterator[str]:
    """The lines of a text file without their ends.

    Raises:
        InputError: it is not UTF-8, or damaged.
    """
    with undamaged(source), open_bytes(source) as stream, io.TextIOWrapper(stream, "utf-8-sig", newline="") as text:
        try:
            for line in text:
                yield line.rstrip("\r\n")
        except UnicodeDecodeError as error:
            raise InputError(
                f"{source.name} is not UTF-8 (byte 0x{error.object[error.start]:02x}): save it so"
            ) from None


_BALLOT = ("ranking", "verdict")
_NOUNS = (
    r"(?:model|assistant|response|resp|output|answer|candidate|cand|system|option|completion|conversation|summary|text|"
    r"choice|slot|side|position|generation)s?"
)
_PLACE = r"(?:[a-z]|\d{1,3}|one|two|three|first|second|third|left|right|top|bottom|chosen|rejected|baseline|reference)"
_SLOT = re.compile(rf"(?:{_NOUNS}[\s_.-]*)?{_PLACE}|{_NOUNS}", re.I)
_LETTERED = re.compile(r"[a-z][_.-]?\d{1,3}", re.I)


def holds_judgments(source: Source) -> bool:
    """Whether a file contains judgments, whose verdicts are about an item's responses, and not rankings as they are."""
    if source.path.is_dir() or saved_map(source.path) is not None:
        return True
    container = container_of(source)
    if container is not Container.LINES:
        return container is not Container.CSV
    first = next((line.data for line in read_lines(source) if isinstance(line, Line)), {})
    found = format_of(first)
    if found is OWN or isinstance(first.get("item"), dict):
        return True
    return found is not None and not any(key in first for key in _BALLOT)


def are_slots(ids: tuple[str, ...]) -> bool:
    """Whether response ids say where responses stand, and not who wrote them: ``A``, ``left``, ``response_b``, ``2``.

    A letter with a number (``A0``, ``o1``) is one only where all ids are: there are models of such names.
    """
    placed = [_SLOT.fullmatch(name) is not None for name in ids]
    return any(placed) or all(_LETTERED.fullmatch(name) is not None for name in ids)


def read_judged_rankings(source: Source, mapping: FieldMap | None = None) -> RankingFile:
    """Reads every verdict as a ballot on models; what is no ballot is left out with its reason.

    Where no judgment names its models, the responses' ids are the candidates, if they name any (see :func:`are_slots`)
    and recur from item to item.

    Args:
        source: a file or folder of judgments.
        mapping: which column of a table is what; None for the one that is kept for the file.

    Raises:
        InputError: the file contains no judgments that can be read, or none of them says who wrote the responses.
    """
    rejects: list[Reject] = []
    found: list[tuple[int, Judgment, Pairwise | Ranking, Mapping[str, str]]] = []
    for number, record in enumerate(open_judgments([source.path], mapping=mapping).scan(), start=1):
        if isinstance(record, Reject):
            rejects.append(record)
            continue
        try:
            found.append((number, record, _compared(record), _authors(record)))
        except InputError as error:
            rejects.append(_left_out(source, record, number, str(error)))
    ids = [verdict.ids for _, _, verdict, names in found if not names]
    open_ = len(ids) == len(found) and not any(map(are_slots, ids))
    by_id = open_ and _recur(judgment for _, judgment, _, _ in found)
    ballots: list[FileBallot] = []
    for number, record, verdict, names in found:
        if set(verdict.ids) <= names.keys() or by_id:
            ballots.append(_judged_ballot(record, verdict, number, names or {name: name for name in verdict.ids}))
        else:
            why = f"the item does not name the models (item.models) of its responses {', '.join(verdict.ids)}"
            rejects.append(_left_out(source, record, number, why))
    if not ballots and found:
        raise InputError(_models_not_named(source.name, [verdict.ids for _, _, verdict, _ in found]))
    rejects.sort(key=lambda one: one.line)
    return RankingFile(source.name, "judgments", None, tuple(ballots), tuple(rejects))


def _left_out(source: Source, judgment: Judgment, number: int, why: str) -> Reject:
    return Reject(source.name, number, f"{judgment.id}: {why}", str(judgment.verdict))


def _authors(judgment: Judgment) -> Mapping[str, str]:
    """Response id -> model. Raises InputError: one model wrote several of the responses compared."""
    models = judgment.item.models or {}
    compared = [models[name] for name in _compared(judgment).ids if name in models]
    if len(compared) == len(_compared(judgment).ids) and len(set(compared)) < len(compared):
        raise InputError("one model wrote several of the responses")
    return models


def _recur(judgments: Iterable[Judgment]) -> bool:
    """Whether some response id occurs in several items, as a candidate's name does."""
    items = {(one.item.id, name) for one in judgments for name in one.item.responses}
    seen = Counter(name for _, name in items)
    return len({item for item, _ in items}) == 1 or any(count > 1 for count in seen.values())


def _compared(judgment: Judgment) -> Pairwise | Ranking:
    """The verdict, if it compares responses. Raises InputError: the verdict is missing, or is a grade or a category."""
    if judgment.verdict is None:
        raise InputError(f"no verdict ({judgment.no_verdict})")
    if isinstance(judgment.verdict, Grade | Category):
        raise InputError(f"a {kind_of(judgment.verdict)} of one response is no ballot")
    return judgment.verdict


def _judged_ballot(
    judgment: Judgment, verdict: Pairwise | Ranking, number: int, names: Mapping[str, str]
) -> FileBallot:
    if isinstance(verdict, Ranking):
        groups = verdict.groups
    else:
        groups = ((verdict.first,), (verdict.second,)) if verdict.strength else ((verdict.first, verdict.second),)
    ranking = tuple(tuple(names[name] for name in group) for group in groups)
    return FileBallot(ranking, Fraction(1), judgment.judge, judgment.item.id, number)


def _models_not_named(name: str, slots: list[tuple[str, ...]]) -> str:
    ids = ", ".join(sorted({one for given in slots[:1_000] for one in given})[:6])
    columns = ",".join(f"models.{one}=COLUMN" for one in sorted(slots[0])[:2])
    count = "1 judgment does" if len(slots) == 1 else f"{len(slots):,} judgments do"
    return (
        f"{name}: {count} not name the models (item.models) that wrote the responses {ids}. Such names are "
        f"positions, and another model has that position in the next item. Name the models: in each judgment's "
        f"item.models, or in a table with --map {columns}. To rank the responses to one question, give "
        "a file of rankings"
    )
