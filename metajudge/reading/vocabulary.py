"""What the values of a verdict column mean: ids, marks, model names, ties, grades, categories, what the user says."""

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from metajudge.errors import InputError
from metajudge.reading.containers.cells import key_of, names_in, parsed
from metajudge.reading.containers.lines import BadLine
from metajudge.types import AnyVerdict, Category, Grade, Judgment, Pairwise, Ranking, parse_verdict
from metajudge.types.interval import Interval
from metajudge.types.judgment import Scale, silent_reason
from metajudge.types.no_answer import no_answer, passing
from metajudge.types.written import LONGEST, NUMBER, WORDS, Written, either, folded, unwrapped, written

TIE: Final = "tie"
NONE: Final = "none"

SIDES: Final[Mapping[str, int]] = {**dict.fromkeys(WORDS["first"], 0), **dict.fromkeys(WORDS["second"], 1)}
"""Words for the first and the second of two responses."""
_TIES: Final = frozenset(WORDS["tie"])
_NOUN: Final = either(WORDS["nouns"])
_BEFORE: Final = re.compile(rf"{_NOUN}[\s_-]*(?=[^\s_-])", re.I)
_BEHIND: Final = re.compile(rf"(.*[^\s_-])[\s_-]+(?:{_NOUN}|wins|won|is[\s_]better)", re.I | re.S)
_MARK = re.compile(r"(?:\[\[\s*)?([\w.-]+)\s*(>>|>|==?|<<|<)\s*([\w.-]+)\s*(?:\]\])?")
_END = r"([+-]?(?:\d+(?:\.\d+)?|\.\d+))?"
_RANGE: Final = re.compile(rf"{_END}\.\.{_END}")
_ABSENT: Final = frozenset(["none", "null", "nan", "na", "n/a", "<na>", "nat"])
"""Words that tools write where a single response has no value."""
_NONE_OF_THEM: Final = frozenset(["none", "na"])
"""Those of them that may say of several responses that none of them is good."""
_INFINITE: Final = re.compile(r"[+-]?(?:inf|infinity)", re.I)
_SWAPPED: Final = frozenset(("swapped", "swap", "reversed", "reverse", "flipped", "inverted"))
_AS_THEY_ARE: Final = frozenset(("original", "normal", "unswapped", "not_swapped", "straight", "forward", "same"))
_FEW: Final = 10
"""Numbers up to this are no percentages."""

MOST_CHARACTERS: Final = 40
"""Length of the longest word that is read as a category."""
MOST_CATEGORIES: Final = 20
"""How many different words a column may contain to be read as categories."""


class UnknownValueError(ValueError):
    """A value that means nothing here; the message says what would be understood."""


class InfiniteValueError(UnknownValueError):
    """An infinite number: it has no meaning that a user could give, so it stops nothing but its own record."""


@dataclass(frozen=True, slots=True)
class NoVerdict:
    """The judge gave none, and why."""

    reason: str


def ranges_in(values: Mapping[str, str]) -> list[tuple[Interval, str]]:
    """The ranges among values (``..0.4``, ``0.4..0.6``, ``0.6..``), each with its meaning.

    Raises:
        ValueError: an empty range, or two that overlap and mean different things.
    """
    found: list[tuple[Interval, str]] = []
    for text, meaning in values.items():
        ends = _RANGE.fullmatch(text.strip())
        if ends is None or not (ends[1] or ends[2]):
            continue
        try:
            one = Interval(at_least=float(ends[1]) if ends[1] else None, below=float(ends[2]) if ends[2] else None)
        except ValueError:
            raise ValueError(f"{text!r} is an empty range: LOW..HIGH contains LOW and ends below HIGH") from None
        for other, means in found:
            if meaning != means and one.overlaps(other):
                raise ValueError(f"{text!r} overlaps with another range that means {means}")
        found.append((one, meaning))
    return found


class Beside(frozenset[str]):
    """The values of a column, and the words of columns that say the same.

    Attributes:
        tops: numbers in those other columns that are written with the highest one (``4/5``), with that one.
    """

    tops: Mapping[str, float]


def beside(own: Iterable[str], others: Iterable[str]) -> Beside:
    """What stands beside a value: all of its column, and the words of columns that say the same."""
    numbers = {one: number for one in others if (number := written(one)) is not None}
    found = Beside((*own, *(one for one in others if one not in numbers)))
    found.tops = {one: number.of for one, number in numbers.items() if number.of is not None}
    return found


def seen(counts: Mapping[str, int], most: int = 8) -> str:
    """Values with their counts: ``0 (12 times), 1 (9), 2 (3)``."""
    shown: list[str] = []
    for value, count in list(counts.items())[:most]:
        times = "" if shown else " time" if count == 1 else " times"
        plain = value.isprintable() and value and not {" ", ","} & set(value)
        shown.append(f"{value[:LONGEST] if plain else repr(value[:LONGEST])} ({count:,}{times})")
    more = f" and {len(counts) - most:,} more" if len(counts) > most else ""
    return ", ".join(shown) + more


def unclear(column: str, counts: Mapping[str, int], what: str) -> str:
    """What a column has that means nothing: ``winner has 0 (12 times), 1 (9), which are no verdicts here``."""
    nothing = f"are no {what}s" if len(counts) > 1 else f"is no {what}"
    return f"{column} has {seen(counts)}, which {nothing} here"


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Reads the values of one column; the one reading of verdicts and labels.

    Known by default are verdicts (``A>>B``, ``[[A=B]]``, ``B<A``, ``[["B"], ["A", "C"]]``), a response's
    id in any case and with words such as ``model_`` before it, ``output_1`` and the like by position, words for the
    first, the second and a tie in several languages, and where there is a single response a number, also as people
    and models write it (:mod:`metajudge.types.written`). A bare number for several responses is not: it
    might be a position, a score or a label.

    Attributes:
        values: value -> meaning, as the user says: a verdict, an id, ``tie``, ``none``, or a number for a grade. Case
            and outer white space do not matter, unless values that differ in case alone mean different things.
            ``LOW..HIGH`` stands for the numbers from LOW on and below HIGH; either end may be left out.
            ``verdict:VALUE`` and ``label:VALUE`` mean something in columns of verdicts and of people's labels alone.
        categories: whether a boolean or a short word about a single response is a category, and words for no answer
            are known.
        column: of what the column is.
        beside: the values of the column, as text, where they are known; see
            :func:`~metajudge.types.no_answer.no_answer`. They say whether ``4,5`` is one number, and which scale
            numbers are written on: two of them are not compared, so their numbers mean nothing.
        shown: whether another order than that of the ids was shown: ``left`` may then be either response.
    """

    values: Mapping[str, str]
    categories: bool = False
    column: Literal["verdict", "label"] = "verdict"
    beside: Collection[str] = ()
    shown: bool = False
    _meanings: Mapping[str, str | None] = field(init=False, repr=False, compare=False)
    _ranges: Sequence[tuple[Interval, str]] = field(init=False, repr=False, compare=False)
    _tops: frozenset[float] = field(init=False, repr=False, compare=False)
    _own: Sequence[Written] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        given = {key.removeprefix("verdict:").removeprefix("label:") for key in self.values}
        others = self.beside.tops if isinstance(self.beside, Beside) else {}
        object.__setattr__(self, "values", _of_column(self.values, self.column))
        object.__setattr__(self, "_ranges", ranges_in(self.values))
        found: dict[str, str | None] = {}
        for key, meaning in self.values.items():
            name = key.strip().casefold()
            found[name] = meaning if found.get(name, meaning) == meaning else None
        object.__setattr__(self, "_meanings", found)
        own = [number for one in self.beside if self._meaning(one) is None and (number := written(one)) is not None]
        object.__setattr__(self, "_own", own)
        tops = (number.of for number in own if number.of is not None)
        object.__setattr__(self, "_tops", frozenset((*tops, *(top for one, top in others.items() if one not in given))))

    def read(
        self,
        value: Any,
        ids: Sequence[str],
        models: Mapping[str, str],
        scale: Scale | None = None,
        columns: Mapping[str, str] | None = None,
    ) -> AnyVerdict | NoVerdict:
        """What a value says about these responses.

        Args:
            value: a cell.
            ids: the responses' ids, in their order.
            models: id -> the model that wrote it, where known; a model's name then denotes its response.
            scale: of the item, where declared.
            columns: id -> the name of the column it stands in, which may say a side.

        Raises:
            UnknownValueError: it means nothing here, or may stand for no answer.
            InfiniteValueError: it is an infinite number, which is no grade.
        """
        key = key_of(value)
        plain = unwrapped(key)
        meaning = self._meaning(key) or self._meaning(plain)
        if meaning is not None:
            if meaning.lower() == NONE:
                return NoVerdict(f"the judge said {key!r}, which stands for no verdict")
            if len(ids) == 1 and NUMBER.fullmatch(meaning):
                return Grade(float(meaning))
            return self._named(meaning, ids, {}, {}) or self._category(meaning, ids) or _unknown(meaning, ids)
        if key == "":
            return NoVerdict("the verdict is empty")
        if isinstance(value, list):
            return _ranking(value, ids)
        if self.categories and key not in (*ids, *models.values()) and self._says_nothing(key, len(ids) > 1, scale):
            absent = key.casefold() in _ABSENT
            return NoVerdict(f"the verdict is {key!r}" + ("" if absent else ", which stands for no answer"))
        if _INFINITE.fullmatch(key) and key not in ids:
            raise InfiniteValueError(f"the score is infinite ({key}), which is no grade")
        if len(ids) == 1 and (grade := self._grade(plain, scale)) is not None:
            return grade
        for text in dict.fromkeys((key, plain)):
            found = self._named(text, ids, models, columns or {})
            if found is not None:
                return found
        return self._category(value, ids) or _unknown(key, ids)

    def read_named(
        self, value: Any, ids: Sequence[str], models: Mapping[str, str], columns: Mapping[str, str], scale: Scale | None
    ) -> AnyVerdict | NoVerdict:
        """As :meth:`read`; where models are not named, the columns of the responses may be named after them."""
        own = {name: column for name, column in columns.items() if name in ids}
        known = {column.strip().casefold() for column in own.values()}
        named = not models and len(ids) > 1 and key_of(value).casefold() in known
        return self.read(value, ids, own if named else models, scale, own)

    def _says_nothing(self, key: str, several: bool, scale: Scale | None) -> bool:
        key = unwrapped(key) or key
        if several and key.casefold() in _NONE_OF_THEM:
            return False
        declared = scale or ()
        words = any(isinstance(one, str) and one.casefold() == key.casefold() for one in declared)
        ends = (float(scale[0]), float(scale[1])) if scale and not isinstance(scale[0], str) else None
        ends = ends or ((0.0, max(self._tops)) if self._tops else None)
        silent = not words and no_answer(key, self.beside, ends, several=several)
        if silent is None:
            raise UnknownValueError(f"{key!r} may be an answer or stand for none here")
        return silent

    def silent_among(self, keys: Iterable[str], *, several: bool) -> list[str]:
        """The values that stand for no answer by themselves, but for the usual ones that say that a cell is empty."""
        found = []
        for key in keys:
            try:
                known = key == "" or key.casefold() in _ABSENT or self._meaning(key) is not None
                found += [key] if not known and self._says_nothing(key, several, None) else []
            except UnknownValueError:
                continue
        return found

    def _category(self, value: Any, ids: Sequence[str]) -> AnyVerdict | None:
        """A boolean, a short word, or a category as :func:`~metajudge.types.parse_verdict` knows it."""
        if not self.categories or len(ids) != 1:
            return None
        key = unwrapped(key_of(value)) or key_of(value)
        if key.casefold() in ("true", "false"):
            return Category(key.casefold() == "true")
        name = _written_out(value)
        if name is not None:
            return Category(name)
        short = isinstance(value, str) and 0 < len(key) <= MOST_CHARACTERS and "\n" not in key
        return Category(key) if short and key[0] not in "[{" and not _MARK.fullmatch(key) else None

    def _grade(self, text: str, scale: Scale | None) -> Grade | None:
        number = Written(float(text)) if NUMBER.fullmatch(text) else written(text)
        if number is None or not math.isfinite(number.value):
            return None
        if (fault := self._why_no_grade(number, scale)) is not None:
            raise UnknownValueError(f"{text!r} {fault}")
        return Grade(number.value)

    def _why_no_grade(self, number: Written, scale: Scale | None) -> str | None:
        """Why a number says nothing beside the others of its column; None where it does."""
        tops = self._tops if number.of is None else self._tops | {number.of}
        if number.decimals is not None and not self._has_decimal_commas():
            return "may be one number or several here"
        declared = {float(one) for one in (scale or ())[1:2] if number.of is not None and not isinstance(one, str)}
        if len(tops | declared) > 1:
            return f"stands beside numbers out of {' and '.join(f'{one:g}' for one in sorted(tops | declared))}"
        if tops and not 0 <= number.value <= max(tops):
            return f"is not between 0 and {max(tops):g}, which numbers here are written out of"
        bare = [one.value for one in self._own if one.of is None]
        if number.of is None and len(bare) < len(self._own) and max(tops) == 100 and max(bare, default=0) <= _FEW:
            return "stands beside percentages, and may be none"
        return None

    def _has_decimal_commas(self) -> bool:
        """Whether the column says that a comma is a decimal one: beside ``4``, or where all are whole or half."""
        numbers = [one for one in self._own if one.of is None]
        parts = {one.value % 1 for one in numbers if one.decimals is not None}
        others = [one.value for one in numbers if one.decimals is None]
        few = max((one.decimals or 0 for one in numbers), default=0) < 3
        return few and all(one.is_integer() for one in others) and (bool(others) or parts == {0.0, 0.5})

    def _meaning(self, key: str) -> str | None:
        if key in self.values:
            return self.values[key]
        meaning = self._meanings.get(key.casefold())
        if meaning is None and self._ranges and NUMBER.fullmatch(key):
            number = float(key)
            return next((means for one, means in self._ranges if one.contains(number)), None)
        return meaning

    def _named(
        self, text: str, ids: Sequence[str], models: Mapping[str, str], columns: Mapping[str, str]
    ) -> AnyVerdict | None:
        wrote = [name for name, model in models.items() if model == text]
        wrote = wrote or [name for name, model in models.items() if model.strip().casefold() == text.casefold()]
        if len(wrote) == 1:
            return _winner(wrote[0], ids)
        if wrote:
            raise UnknownValueError(f"{text!r} wrote several of the responses ({', '.join(wrote)})")
        if len(ids) == 1:
            return None
        mark = _MARK.fullmatch(text.strip())
        if mark is not None:
            return _pair(mark, ids)
        if folded(text) in _TIES:
            return Pairwise(ids[0], ids[1], 0) if len(ids) == 2 else Ranking((tuple(ids),))
        found = _id(text, ids) or self._side(folded(_core(text)), ids, columns)
        return _winner(found, ids) if found is not None else _ranking_text(text, ids)

    def _side(self, word: str, ids: Sequence[str], columns: Mapping[str, str]) -> str | None:
        """The response that a word for a side denotes; a column named so goes before the order of the ids."""
        place = SIDES.get(word)
        if place is None or len(ids) != 2 or self.shown:
            return None
        if passing(Category(word)) is not None:  # "right" may be the opposite of "wrong"
            others = {folded(one) for one in self.beside} - {word}
            wrong = any(passing(Category(one)) is False for one in others)
            if not others & SIDES.keys() and (wrong or self.column == "label"):
                return None
        parts = {name: set(folded(column).split("_")) & SIDES.keys() for name, column in columns.items()}
        if not any(parts.values()):
            return ids[place]
        return next((name for name, words in parts.items() if {SIDES[one] for one in words} == {place}), None)


def shown_order(value: Any, ids: Sequence[str], swapped: Any = None) -> tuple[str, ...]:
    """The ids in the order in which they were shown.

    Args:
        value: names in their order (``AB``, ``ba``, ``A,B``, ``["B", "A"]``), ``swapped``, or of two responses the
            first one shown; 1 or 2 where they are not named so.
        ids: in their own order, which is the default.
        swapped: whether the order was another one: true, 1, yes, ``swapped``.

    Returns:
        Names that are no ids stay as they are.

    Raises:
        BadLine: ``swapped`` says neither.
    """
    other, word = folded(key_of(swapped)), folded(key_of(value))
    said = other in _SWAPPED or (passing(Category(other)) if other else False)
    if said is None and other not in _AS_THEY_ARE:
        raise BadLine(f"swapped: {other[:40]!r} says neither that it was nor that it was not")
    if said or word in _SWAPPED:
        return tuple(ids)[::-1]
    if word == "" or word in _AS_THEY_ARE:
        return tuple(ids)
    letters = {name.casefold(): name for name in ids}
    if sorted(word) == sorted(letters):
        return tuple(letters[one] for one in word)
    names = names_in(key_of(value) if isinstance(value, int | float) else value)
    found = [_id(name, ids) or name for name in names]
    if len(ids) == 2 and len(found) == 1:
        first = ids[int(word) - 1] if found[0] not in ids and word in ("1", "2") else found[0]
        return (first, *(one for one in ids if one != first)) if first in ids else tuple(found)
    return tuple(found)


def _of_column(values: Mapping[str, str], column: str) -> dict[str, str]:
    """The meanings for columns of verdicts or of labels: those for both, and before them its own."""
    prefixes = ("verdict:", "label:")
    own = {key[len(column) + 1 :]: meaning for key, meaning in values.items() if key.startswith(f"{column}:")}
    return {key: meaning for key, meaning in values.items() if not key.startswith(prefixes)} | own


def _written_out(value: Any) -> str | None:
    """The name in ``{"category": NAME}``, as data or as JSON text."""
    if isinstance(value, str) and value.lstrip().startswith('{"category"'):
        value = parsed(value)
    if isinstance(value, Mapping) and value.keys() == {"category"} and str(value["category"]).strip():
        return str(value["category"]).strip()
    return None


def _core(text: str) -> str:
    """A name without what responses are called: ``model_a`` is ``a``, ``A is better`` is ``A``."""
    behind = _BEHIND.fullmatch(text) if len(text) <= LONGEST else None
    text = text if behind is None else behind[1]
    before = _BEFORE.match(text)
    return text if before is None else text[before.end() :]


def _id(text: str, ids: Sequence[str]) -> str | None:
    known = {name.casefold(): name for name in ids}
    if len(known) < len(ids):
        known = {name: name for name in ids}
    if text in ids or text.casefold() in known:
        return text if text in ids else known[text.casefold()]
    core = _core(text)
    if core != text and core.isascii() and core.isdigit() and core not in known:
        place = int(core[:9])
        return ids[place - 1] if len(core) < 10 and 1 <= place <= len(ids) else None
    return None if NUMBER.fullmatch(text) else known.get(core.strip(" _-").casefold())


def _winner(name: str, ids: Sequence[str]) -> AnyVerdict:
    others = tuple(other for other in ids if other != name)
    if not others:
        raise UnknownValueError(f"{name!r} is the only response: a verdict on it is a number")
    return Pairwise(name, others[0], 1) if len(others) == 1 else Ranking(((name,), others))


def _pair(mark: re.Match[str], ids: Sequence[str]) -> AnyVerdict | None:
    first, second = _id(mark[1], ids), _id(mark[3], ids)
    if first is None or second is None or first == second:
        return None
    sign = mark[2]
    if sign.startswith("<"):
        first, second = second, first
    return Pairwise(first, second, 0 if sign.startswith("=") else 2 if len(sign) == 2 else 1)


def _ranking_text(text: str, ids: Sequence[str]) -> AnyVerdict | None:
    if text.startswith("["):
        value = parsed(text)
        return _ranking(value, ids) if isinstance(value, list) else None
    if not 0 < text.replace(">>", ">").count(">") < len(ids):
        return None
    groups = [[_id(name.strip(), ids) for name in group.split("=")] for group in text.replace(">>", ">").split(">")]
    return _ranking(groups, ids) if all(None not in group for group in groups) else None


def _ranking(value: list[Any], ids: Sequence[str]) -> AnyVerdict:
    try:
        return parse_verdict(value)
    except ValueError as error:
        raise UnknownValueError(f"no ranking of {', '.join(ids)}: {error}") from None


def _unknown(text: str, ids: Sequence[str]) -> AnyVerdict:
    known = (
        "a number, true, false or a short word" if len(ids) == 1 else f"{', '.join(ids[:4])}, {ids[0]}>{ids[1]} or tie"
    )
    raise UnknownValueError(f"{text!r} is no verdict here: known are {known}")


def without_silent_verdicts(judgments: Sequence[Judgment]) -> list[Judgment]:
    """The judgments, without the verdicts that :func:`~metajudge.types.no_answer.no_answer` says are none.

    A number that may be a grade is one here, as a record states its kind; so is whatever a declared scale has.

    Raises:
        InputError: a word that may be an answer or none.
    """
    own = [one for one in judgments if isinstance(one.verdict, Grade | Category) and not one.item.scale]
    seen = Counter(str(one.verdict) for one in own)
    truths = {str(truth) for one in own if (truth := one.item.truth) is not None}
    known = beside(seen, truths)
    found = {key: no_answer(key, known) for key in seen}
    unclear = [key for key in seen if found[key] is None and any(sign.isalpha() for sign in key)]
    if unclear:
        shown = ", ".join(f"{key!r} ({seen[key]:,})" for key in unclear)
        raise InputError(
            f"verdicts: {shown} may be an answer or stand for none: write null, with the reason in no_verdict, or "
            "declare the categories in item.scale"
        )
    silent = {key for key in seen if found[key]}
    if not silent:
        return list(judgments)
    chosen = {id(one) for one in own if str(one.verdict) in silent}
    return [
        one.model_copy(update={"verdict": None, "no_verdict": silent_reason(str(one.verdict))})
        if id(one) in chosen
        else one
        for one in judgments
    ]
