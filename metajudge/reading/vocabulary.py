"""What the values of a verdict column mean: ids, marks, model names, ties, grades, categories, what the user says."""

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from metajudge.errors import InputError
from metajudge.reading.containers.cells import key_of, parsed
from metajudge.types import AnyVerdict, Category, Grade, Judgment, Pairwise, Ranking, parse_verdict
from metajudge.types.interval import Interval
from metajudge.types.judgment import Scale, silent_reason
from metajudge.types.no_answer import no_answer

TIE: Final = "tie"
NONE: Final = "none"

_TIES: Final = frozenset(
    [
        *("tie", "tied", "draw", "equal", "same", "both", "both_good", "both_bad", "bothgood", "bothbad"),
        *("tie_bothbad", "tie_both_bad", "equally_good"),
    ]
)
_NOUNS = r"(?:model|assistant|response|output|answer|candidate|system|option|chosen|completion)"
_NAMED = re.compile(rf"(?:{_NOUNS})?[\s_-]*([^\s_-].*)", re.I)
_NUMBERED = re.compile(rf"{_NOUNS}[\s_-]*(\d{{1,9}})", re.I)
_MARK = re.compile(r"(?:\[\[\s*)?([\w.-]+)\s*(>>|>|==?|<<|<)\s*([\w.-]+)\s*(?:\]\])?")
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?", re.I)
_END = r"([+-]?(?:\d+(?:\.\d+)?|\.\d+))?"
_RANGE: Final = re.compile(rf"{_END}\.\.{_END}")
_ABSENT: Final = frozenset(["none", "null", "nan", "na", "n/a", "<na>", "nat"])
"""Words that tools write where a single response has no value."""
_NONE_OF_THEM: Final = frozenset(["none", "na"])
"""Those of them that may say of several responses that none of them is good."""
_INFINITE: Final = re.compile(r"[+-]?(?:inf|infinity)", re.I)

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


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Reads the values of one column.

    Known by default are verdicts (``A>>B``, ``[[A=B]]``, ``B<A``, ``[["B"], ["A", "C"]]``), a response's
    id in any case and with words such as ``model_`` before it, ``output_1`` and the like by position, words for a
    tie in any case, and a number where there is a single response. A bare number for several responses is not: it
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
            :func:`~metajudge.types.no_answer.no_answer`.
    """

    values: Mapping[str, str]
    categories: bool = False
    column: Literal["verdict", "label"] = "verdict"
    beside: Collection[str] = ()
    _meanings: Mapping[str, str | None] = field(init=False, repr=False, compare=False)
    _ranges: Sequence[tuple[Interval, str]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", _of_column(self.values, self.column))
        object.__setattr__(self, "_ranges", ranges_in(self.values))
        found: dict[str, str | None] = {}
        for key, meaning in self.values.items():
            folded = key.strip().casefold()
            found[folded] = meaning if found.get(folded, meaning) == meaning else None
        object.__setattr__(self, "_meanings", found)

    def read(
        self, value: Any, ids: Sequence[str], models: Mapping[str, str], scale: Scale | None = None
    ) -> AnyVerdict | NoVerdict:
        """What a value says about these responses.

        Args:
            value: a cell.
            ids: the responses' ids, in their order.
            models: id -> the model that wrote it, where known; a model's name then denotes its response.
            scale: of the item, where declared.

        Raises:
            UnknownValueError: it means nothing here, or may stand for no answer.
            InfiniteValueError: it is an infinite number, which is no grade.
        """
        key = key_of(value)
        meaning = self._meaning(key)
        if meaning is not None:
            if meaning.lower() == NONE:
                return NoVerdict(f"the judge said {key!r}, which stands for no verdict")
            return self._named(meaning, ids, {}) or self._category(meaning, ids) or _unknown(meaning, ids)
        if key == "":
            return NoVerdict("the verdict is empty")
        if isinstance(value, list):
            return _ranking(value, ids)
        if self.categories and key not in (*ids, *models.values()) and self._says_nothing(key, len(ids) > 1, scale):
            absent = key.casefold() in _ABSENT
            return NoVerdict(f"the verdict is {key!r}" + ("" if absent else ", which stands for no answer"))
        if _INFINITE.fullmatch(key) and key not in ids:
            raise InfiniteValueError(f"the score is infinite ({key}), which is no grade")
        return self._named(key, ids, models) or self._category(value, ids) or _unknown(key, ids)

    def read_named(
        self, value: Any, ids: Sequence[str], models: Mapping[str, str], columns: Mapping[str, str], scale: Scale | None
    ) -> AnyVerdict | NoVerdict:
        """As :meth:`read`; where models are not named, the columns of the responses may be named after them."""
        try:
            return self.read(value, ids, models, scale)
        except UnknownValueError:
            known = {column.strip().casefold() for name, column in columns.items() if name in ids}
            if models or len(ids) < 2 or key_of(value).casefold() not in known:
                raise
            return self.read(value, ids, {name: column for name, column in columns.items() if name in ids})

    def _says_nothing(self, key: str, several: bool, scale: Scale | None) -> bool:
        if several and key.casefold() in _NONE_OF_THEM:
            return False
        declared = scale or ()
        words = any(isinstance(one, str) and one.casefold() == key.casefold() for one in declared)
        ends = (float(scale[0]), float(scale[1])) if scale and not isinstance(scale[0], str) else None
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
        key = key_of(value)
        if key.casefold() in ("true", "false"):
            return Category(key.casefold() == "true")
        name = _written_out(value)
        if name is not None:
            return Category(name)
        short = isinstance(value, str) and 0 < len(key) <= MOST_CHARACTERS and "\n" not in key
        return Category(key) if short and key[0] not in "[{" and not _MARK.fullmatch(key) else None

    def _meaning(self, key: str) -> str | None:
        if key in self.values:
            return self.values[key]
        meaning = self._meanings.get(key.casefold())
        if meaning is None and self._ranges and _NUMBER.fullmatch(key):
            number = float(key)
            return next((means for one, means in self._ranges if one.contains(number)), None)
        return meaning

    def _named(self, text: str, ids: Sequence[str], models: Mapping[str, str]) -> AnyVerdict | None:
        wrote = [name for name, model in models.items() if model == text]
        wrote = wrote or [name for name, model in models.items() if model.strip().casefold() == text.casefold()]
        if len(wrote) == 1:
            return _winner(wrote[0], ids)
        if wrote:
            raise UnknownValueError(f"{text!r} wrote several of the responses ({', '.join(wrote)})")
        mark = _MARK.fullmatch(text.strip())
        if mark is not None and len(ids) > 1:
            return _pair(mark, ids)
        if len(ids) == 1:
            return Grade(float(text)) if _NUMBER.fullmatch(text) and math.isfinite(float(text)) else None
        if re.sub(r"[\s_()-]+", "_", text.casefold()).strip("_") in _TIES:
            return Pairwise(ids[0], ids[1], 0) if len(ids) == 2 else Ranking((tuple(ids),))
        found = _id(text, ids)
        if found is not None:
            return _winner(found, ids)
        return _ranking_text(text, ids)


def beside(own: Iterable[str], others: Iterable[str]) -> frozenset[str]:
    """What stands beside a value: all of its column, and the words of columns that say the same."""
    return frozenset(own) | {one for one in others if not _NUMBER.fullmatch(one)}


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


def _id(text: str, ids: Sequence[str]) -> str | None:
    folded = {name.casefold(): name for name in ids}
    if len(folded) < len(ids):
        folded = {name: name for name in ids}
    if text in ids:
        return text
    if text.casefold() in folded:
        return folded[text.casefold()]
    named = _NAMED.fullmatch(text)
    if named is not None and named[1].casefold() in folded and not _NUMBER.fullmatch(text):
        return folded[named[1].casefold()]
    numbered = _NUMBERED.fullmatch(text)
    if numbered is not None and 1 <= int(numbered[1]) <= len(ids):
        return ids[int(numbered[1]) - 1]
    return None


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
