"""Files of rankings: JSONL, CSV, PrefLib, and judgments as ballots, recognised by their content.

From judgments, every judge ranks the models that wrote the responses. A response's id is a candidate only where it
names one: ``A`` and ``B`` give a response's position in its item, and another model has that position in the next item.

PrefLib files are strict or tied, complete or incomplete orders (Mattei and Walsh, "PrefLib", 2013). The present format
has its metadata in lines that begin with ``#``; the former one counts candidates in its first line, names them in the
next, and then gives voters, their sum and the number of orders. Both give an order a line, with how many voters cast
it: ``12: 3,{1,4},2``.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

import orjson

from metajudge.errors import InputError
from metajudge.reading.containers.kinds import Container, container_of
from metajudge.reading.containers.lines import BOM, Line, Reject, Source, head_of, open_bytes, read_lines, undamaged
from metajudge.reading.containers.sheets import csv_table
from metajudge.reading.formats.known import OWN, format_of
from metajudge.reading.mapping import FieldMap
from metajudge.reading.reader import each, split
from metajudge.reading.saved_maps import saved_map
from metajudge.reading.source import open_judgments
from metajudge.types import Category, Grade, Judgment, Pairwise, Ranking
from metajudge.types.verdict import kind_of

Groups: TypeAlias = tuple[tuple[str, ...], ...]

_RANKINGS = ("ranking", "verdict")
_VOTERS = ("voter", "evaluator", "judge", "ballot")
_QUESTIONS = ("question_id", "question", "item")
_ORDERS = ("soc", "soi", "toc", "toi")
"""PrefLib's kinds of orders: strict or with ties, complete or incomplete."""

_BARE = re.compile(rb"\[\s*(?:\[\s*)?\"")
"""How a first line begins that is a list of names, or of groups of them."""
_ORDER = re.compile(r"(\d{1,18})\s*[:,](.+)")
_GROUP = re.compile(r"\{([^{}]*)\}|([^{},]+)")
_NOUNS = (
    r"(?:model|assistant|response|resp|output|answer|candidate|cand|system|option|completion|conversation|summary|text|"
    r"choice|slot|side|position|generation)s?"
)
_PLACE = r"(?:[a-z]|\d{1,3}|one|two|three|first|second|third|left|right|top|bottom|chosen|rejected|baseline|reference)"
_SLOT = re.compile(rf"(?:{_NOUNS}[\s_.-]*)?{_PLACE}|{_NOUNS}", re.I)
_LETTERED = re.compile(r"[a-z][_.-]?\d{1,3}", re.I)


@dataclass(frozen=True, slots=True)
class FileBallot:
    """One ranking of a file.

    Attributes:
        ranking: groups of tied candidates, best first; no candidate twice.
        weight: above 0; 1 where the file gives none.
        voter, question: None where the file names none.
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
        format: what it was read as: ``jsonl``, ``csv``, ``preflib`` or ``judgments``.
        candidates: all names the file declares (PrefLib, a CSV with a column a candidate), ranked or not; None where
            it declares none.
        ballots: in the file's order.
        rejects: lines that contain no ballot, and why.
    """

    name: str
    format: str
    candidates: tuple[str, ...] | None
    ballots: tuple[FileBallot, ...]
    rejects: tuple[Reject, ...]


def read_ranking_file(path: Path | str, mapping: FieldMap | None = None) -> RankingFile:
    """Reads a file of rankings, plain or gzip.

    - JSONL: objects with ``ranking`` (or ``verdict``): a list of candidates or of groups of tied ones, or text such as
      ``"B > A = C"``; optionally ``weight``, a voter and a question. Or the bare list, one a line.
    - CSV (or TSV): a column ``ranking`` with such text; or columns ``candidate`` and ``rank`` with a voter, a row a
      place; or a column a candidate, with ranks in the cells (empty: not ranked). Optionally ``weight``, a voter and a
      question.
    - PrefLib: ``.soc``, ``.soi``, ``.toc``, ``.toi``, in its present or its former format.
    - Judgments in any format that :func:`metajudge.reading.open_judgments` reads: each verdict ranks the models that
      wrote the responses. Where no judgment names its models, the responses' ids are the candidates, if they name any
      (see :func:`are_slots`) and recur from item to item.

    Args:
        path: the file.
        mapping: which column of a table of judgments is what; None for the one that is kept for the file.

    Raises:
        InputError: the file is unreadable, is none of these, or has no ballots; or it contains judgments that do not
            say which models wrote the responses.
    """
    source = Source(Path(path), str(path))
    found = _read(source, mapping)
    if not found.ballots:
        why = f": {found.rejects[0]}" if found.rejects else " (it is empty)"
        raise InputError(f"{source.name} contains no ballots{why}")
    return found


def _read(source: Source, mapping: FieldMap | None) -> RankingFile:
    if _suffix(source) in _ORDERS:
        return _preflib(source)
    head = b"" if source.path.is_dir() else head_of(source, 4096).lstrip()
    bare = mapping is None and _BARE.match(head) is not None
    if not bare and (mapping is not None or _holds_judgments(source)):
        return _judged(source, mapping)
    if bare or head.startswith(b"{"):
        return _ballots(source, "jsonl", _text_lines(source), _json_ballot)
    return _preflib(source) if head.startswith(b"#") else _csv(source)


def _suffix(source: Source) -> str:
    return Path(source.name.removesuffix(".gz")).suffix.removeprefix(".")


def _ballots(
    source: Source,
    form: str,
    rows: Iterable[Line | Reject],
    read: Callable[[Line], FileBallot],
    candidates: tuple[str, ...] | None = None,
) -> RankingFile:
    """A file of which every row is a ballot; ``read`` raises :class:`InputError` where one is none."""
    ballots, rejects = split(each(source, rows, read))
    return RankingFile(source.name, form, candidates, tuple(ballots), tuple(rejects))


def _ballot(row: Line, data: Mapping[str, Any], ranking: Groups) -> FileBallot:
    """A ranking with what its record says beside it."""
    weight = weight_of(data.get("weight", 1))
    return FileBallot(ranking, weight, _name(data, _VOTERS), _name(data, _QUESTIONS), row.number)


def _name(data: Mapping[str, Any], keys: Sequence[str]) -> str | None:
    """The first of the fields that is there; an object (as a judgment's item) goes by its id."""
    value = next((data[key] for key in keys if data.get(key) is not None), None)
    if isinstance(value, dict):
        value = value.get("id")
    return None if value is None else str(value)


def _text_lines(source: Source) -> list[Line]:
    """The lines of a text file that are not blank.

    Raises:
        InputError: it is not UTF-8, or damaged.
    """
    with undamaged(source), open_bytes(source) as stream:
        try:
            text = stream.read().removeprefix(BOM).decode()
        except UnicodeDecodeError as error:
            raise InputError(
                f"{source.name} is not UTF-8 (byte 0x{error.object[error.start]:02x}): save it so"
            ) from None
    lines = enumerate(re.split(r"\r\n?|\n", text), start=1)
    return [Line(number, line.encode(), {}) for number, line in lines if line.strip()]


def _json_ballot(line: Line) -> FileBallot:
    try:
        data = orjson.loads(line.raw)
    except orjson.JSONDecodeError as error:
        raise InputError(f"not JSON: {error}") from None
    if isinstance(data, list):
        data = {"ranking": data}
    key = next((key for key in _RANKINGS if key in data), None) if isinstance(data, dict) else None
    if key is None:
        raise InputError("the line is neither a list nor an object with 'ranking' or 'verdict'")
    value = data[key]
    if isinstance(value, str):
        return _ballot(line, data, ranking_from_text(value))
    if not isinstance(value, list):
        null = "null: a ballot without a ranking" if value is None else "neither a list of candidates nor text"
        raise InputError(f"'{key}' is {null}, such as 'B > A = C'")
    return _ballot(line, data, _checked([group if isinstance(group, list) else [group] for group in value]))


def ranking_from_text(text: str) -> Groups:
    """Reads ``"B > A = C"``; names may contain anything but ``>`` and ``=``.

    Raises:
        InputError: an empty text, place or name, or a candidate named twice.
    """
    return _checked([[name.strip() for name in group.split("=")] for group in text.replace(">>", ">").split(">")])


def _checked(groups: Sequence[Sequence[object]]) -> Groups:
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
    return tuple(tuple(map(str, group)) for group in groups)


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


def _csv(source: Source) -> RankingFile:
    table = csv_table(source)
    header = [name.strip() for name in table.columns()]
    rows = [row if isinstance(row, Reject) else _filled(row) for row in table.rows()]
    if "ranking" in header:
        return _ballots(
            source, "csv", rows, lambda row: _ballot(row, row.data, ranking_from_text(row.data.get("ranking", "")))
        )
    if "candidate" in header and "rank" in header:
        if not set(_VOTERS) & set(header):
            raise InputError(f"{source.name}: rows with candidate and rank need a column that names the voter")
        return _places(source, rows)
    candidates = tuple(name for name in header if name not in (*_VOTERS, *_QUESTIONS, "weight"))
    if len(candidates) < 2:
        raise InputError(
            f"{source.name}: the columns {', '.join(header)} make no ballots; give a column 'ranking', columns "
            "'candidate' and 'rank', or a column a candidate"
        )

    def by_columns(row: Line) -> FileBallot:
        return _ballot(row, row.data, _by_rank({name: row.data[name] for name in candidates if name in row.data}))

    return _ballots(source, "csv", rows, by_columns, candidates)


def _filled(row: Line) -> Line:
    """A row with the cells that are not empty."""
    cells = ((name.strip(), str(value or "").strip()) for name, value in row.data.items())
    return Line(row.number, row.raw, {name: text for name, text in cells if text})


def _places(source: Source, rows: Sequence[Line | Reject]) -> RankingFile:
    """Ballots of which every row is one place."""
    held: dict[tuple[str | None, str | None], list[Line]] = {}
    for row in rows:
        if isinstance(row, Line):
            held.setdefault((_name(row.data, _VOTERS), _name(row.data, _QUESTIONS)), []).append(row)
    ballots = {places[0].number: places for places in held.values()}

    def made(first: Line) -> FileBallot:
        places = ballots[first.number]
        ranks = {row.data.get("candidate", ""): row.data.get("rank", "") for row in places}
        ranking = _by_rank(ranks)
        if len(ranks) < len(places):
            raise InputError("the voter ranks a candidate twice")
        if len({weight_of(row.data.get("weight", 1)) for row in places}) > 1:
            raise InputError("the rows of one ballot have different weights")
        return _ballot(first, first.data, ranking)

    rejects = [row for row in rows if isinstance(row, Reject)]
    return _ballots(source, "csv", [*rejects, *(places[0] for places in held.values())], made)


def _by_rank(ranks: Mapping[str, str]) -> Groups:
    """Candidates by their ranks, lower ones first."""
    groups: dict[Fraction, list[str]] = {}
    for name, text in ranks.items():
        try:
            groups.setdefault(Fraction(text), []).append(name)
        except (ValueError, ZeroDivisionError):
            raise InputError(f"the rank is {text!r}: a rank is a number, 1 for the best, or empty") from None
    return _checked([groups[rank] for rank in sorted(groups)])


@dataclass(frozen=True, slots=True)
class _Declared:
    """What a PrefLib file says of its orders: the names by number, their kind, and how many voters cast them."""

    names: Mapping[str, str]
    kind: str
    voters: int | None

    def ballot(self, line: Line) -> FileBallot:
        """An order as a ballot. Raises InputError: it is none, or contradicts the file."""
        found = _ORDER.fullmatch(line.raw.decode())
        if found is None or int(found[1]) < 1:
            raise InputError("not an order: expected the number of voters, then candidates, as in '12: 3,{1,4},2'")
        if rest := _GROUP.sub("", found[2]).replace(",", "").strip():
            raise InputError(f"the order contains {rest!r}: groups are written {{1,4}}")
        ranking = _checked([group for tied, one in _GROUP.findall(found[2]) if (group := self._named(tied or one))])
        count = sum(map(len, ranking))
        if self.kind.startswith("s") and len(ranking) < count:
            raise InputError(f"the order has ties, and the file is of type {self.kind} (strict)")
        if self.kind.endswith("c") and count < len(self.names):
            raise InputError(f"the order leaves candidates out, and the file is of type {self.kind} (complete)")
        return FileBallot(ranking, Fraction(found[1]), None, None, line.number)

    def _named(self, text: str) -> list[str]:
        codes = [code.strip() for code in text.split(",") if code.strip()]
        unknown = next((code for code in codes if code not in self.names), None)
        if unknown is not None:
            raise InputError(f"the order names candidate {unknown}, which the file does not declare")
        return [self.names[code] for code in codes]


def _preflib(source: Source) -> RankingFile:
    lines = [Line(line.number, line.raw.strip(), {}) for line in _text_lines(source)]
    present = bool(lines) and lines[0].raw.startswith(b"#")
    declared, orders = _present(source, lines) if present else _former(source, lines)
    if declared.kind and declared.kind not in _ORDERS:
        raise InputError(f"{source.name} has PrefLib data of type {declared.kind!r}: orders are {', '.join(_ORDERS)}")
    names = tuple(declared.names.values())
    if not names:
        raise InputError(f"{source.name} names no candidates ('# ALTERNATIVE NAME 1: ...')")
    if len(set(names)) < len(names) or "" in names:
        raise InputError(f"{source.name} gives two candidates one name, or one none: names must differ")
    found = _ballots(source, "preflib", orders, declared.ballot, names)
    cast = sum(int(ballot.weight) for ballot in found.ballots)
    if found.rejects or declared.voters in (None, cast):
        return found
    reason = f"the file announces {declared.voters} voters and contains {cast}: it may be cut off"
    last = source.reject(lines[-1].number, reason, lines[-1].raw)
    return RankingFile(source.name, "preflib", names, found.ballots, (last,))


def _present(source: Source, lines: Sequence[Line]) -> tuple[_Declared, list[Line]]:
    """What the lines that begin with ``#`` say, and the others."""
    facts: dict[str, str] = {}
    for line in lines:
        fact, _, value = line.raw.decode().partition(":")
        if fact.startswith("#"):
            facts[fact.removeprefix("#").strip()] = value.strip()
    start = "ALTERNATIVE NAME "
    names = {fact.removeprefix(start): name for fact, name in facts.items() if fact.startswith(start)}
    voters = facts.get("NUMBER VOTERS", "")
    kind = facts.get("DATA TYPE", "").lower() or _kind_by_suffix(source)
    declared = _Declared(names, kind, int(voters) if re.fullmatch(r"\d{1,18}", voters) else None)
    return declared, [line for line in lines if not line.raw.startswith(b"#")]


def _former(source: Source, lines: Sequence[Line]) -> tuple[_Declared, list[Line]]:
    """What the first lines of the former format say, and the others."""
    texts = (line.raw.decode() for line in lines)
    try:
        count = int(next(texts))
        pairs = [text.split(",", 1) for text in islice(texts, count)]
        names = {code.strip(): name.strip() for code, name in pairs}
        voters = int(next(texts).split(",")[0])
    except (ValueError, StopIteration):
        raise InputError(
            f"{source.name} is no PrefLib file: it begins neither with '#' nor with the number of candidates, their "
            "names and the number of voters"
        ) from None
    return _Declared(names, _kind_by_suffix(source), voters), list(lines[count + 2 :])


def _kind_by_suffix(source: Source) -> str:
    suffix = _suffix(source)
    return suffix if suffix in _ORDERS else ""


def _holds_judgments(source: Source) -> bool:
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
    return found is not None and not any(key in first for key in _RANKINGS)


def are_slots(ids: tuple[str, ...]) -> bool:
    """Whether response ids say where responses stand, and not who wrote them: ``A``, ``left``, ``response_b``, ``2``.

    A letter with a number (``A0``, ``o1``) is one only where all ids are: there are models of such names.
    """
    return any(map(_SLOT.fullmatch, ids)) or all(map(_LETTERED.fullmatch, ids))


def _judged(source: Source, mapping: FieldMap | None) -> RankingFile:
    """Every verdict as a ballot on models; what is no ballot is left out with its reason."""
    rejects: list[Reject] = []
    found: list[tuple[int, Judgment, Pairwise | Ranking]] = []
    for number, record in enumerate(open_judgments([source.path], mapping=mapping).scan(), start=1):
        if isinstance(record, Reject):
            rejects.append(record)
            continue
        try:
            found.append((number, record, _compared(record)))
        except InputError as error:
            rejects.append(_left_out(source, record, number, str(error)))
    ids = [verdict.ids for _, judgment, verdict in found if not judgment.item.models]
    unnamed = len(ids) == len(found) and not any(map(are_slots, ids))
    by_id = unnamed and _recur(judgment for _, judgment, _ in found)
    ballots: list[FileBallot] = []
    for number, judgment, verdict in found:
        names = judgment.item.models or {name: name for name in verdict.ids if by_id}
        if names.keys() >= set(verdict.ids):
            ranking = tuple(tuple(names[name] for name in group) for group in _groups(verdict))
            ballots.append(FileBallot(ranking, Fraction(1), judgment.judge, judgment.item.id, number))
        else:
            why = f"the item does not name the models (item.models) of its responses {', '.join(verdict.ids)}"
            rejects.append(_left_out(source, judgment, number, why))
    if not ballots and found:
        raise InputError(_models_not_named(source.name, [verdict.ids for _, _, verdict in found]))
    rejects.sort(key=lambda one: one.line)
    return RankingFile(source.name, "judgments", None, tuple(ballots), tuple(rejects))


def _compared(judgment: Judgment) -> Pairwise | Ranking:
    """The verdict, if it compares responses. Raises InputError: it does not, or one model wrote several of them."""
    verdict, models = judgment.verdict, judgment.item.models or {}
    if verdict is None:
        raise InputError(f"no verdict ({judgment.no_verdict})")
    if isinstance(verdict, Grade | Category):
        raise InputError(f"a {kind_of(verdict)} of one response is no ballot")
    names = [models.get(name) for name in verdict.ids]
    if None not in names and len(set(names)) < len(names):
        raise InputError("one model wrote several of the responses")
    return verdict


def _groups(verdict: Pairwise | Ranking) -> Groups:
    if isinstance(verdict, Ranking):
        return verdict.groups
    return ((verdict.first, verdict.second),) if verdict.is_tie else ((verdict.first,), (verdict.second,))


def _left_out(source: Source, judgment: Judgment, number: int, why: str) -> Reject:
    return Reject(source.name, number, f"{judgment.id}: {why}", str(judgment.verdict))


def _recur(judgments: Iterable[Judgment]) -> bool:
    """Whether some response id occurs in several items, as a candidate's name does."""
    items = {(one.item.id, name) for one in judgments for name in one.item.responses}
    seen = Counter(name for _, name in items)
    return len({item for item, _ in items}) == 1 or any(count > 1 for count in seen.values())


def _models_not_named(name: str, slots: Sequence[tuple[str, ...]]) -> str:
    ids = ", ".join(sorted({one for given in slots[:1_000] for one in given})[:6])
    columns = ",".join(f"models.{one}=COLUMN" for one in sorted(slots[0])[:2])
    count = "1 judgment does" if len(slots) == 1 else f"{len(slots):,} judgments do"
    return (
        f"{name}: {count} not name the models (item.models) that wrote the responses {ids}. Such names are "
        f"positions, and another model has that position in the next item. Name the models: in each judgment's "
        f"item.models, or in a table with --map {columns}. To rank the responses to one question, give "
        "a file of rankings"
    )
