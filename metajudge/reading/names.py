"""What the names of columns say: a field, whose value it is, which response it is about; words are in names.toml."""

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, Literal

from metajudge.files.packaged import packaged
from metajudge.types import letters

_DATA: Final[Mapping[str, Mapping[str, Any]]] = packaged("reading", "names")
FIELDS: Final[Mapping[str, tuple[str, ...]]] = {name: tuple(known) for name, known in _DATA["fields"].items()}
"""Field -> names of columns, the likeliest first."""
_WORDS: Final = {name: frozenset(known) for name, known in _DATA["words"].items()}
_STEMS: Final = {name: frozenset(known) for name, known in _DATA["stems"].items()}
_SIDES: Final = {word: side for side, words in _DATA["sides"].items() for word in words}
ANNOTATORS: Final = FIELDS["annotator"]
"""Who gave a label."""
LABEL_TIMES: Final = FIELDS["label_time"]
"""When a label was given."""
RULING_FLAGS: Final = FIELDS["ruling"]
"""Whether a label is a ruling on what people said, where the values are true and false; else such a ruling."""

_FLAG: Final = frozenset(("", "true", "false", "yes", "no", "0", "1"))
_LONGEST: Final = 100
_SHARED: Final = frozenset(("vote", "label", "judgment", "verdict"))
"""What many people say together, where a name says nothing of people: ``majority_vote``."""
_PERSONS: Final = frozenset(("annotator", "annotators", "person", "people", "manual"))
"""Names of people, which are no labels by themselves."""
_ALONE: Final = frozenset(("llm", "ai", "autorater"))
"""Words for a judge that name its verdict, and not the judge, where they stand alone."""
_INDEX: Final = re.compile(r"\d{1,3}|[a-h]")
_GLUED: Final = re.compile(r"([a-z]+?)_?(\d{1,3})?")
_MARKS: Final = "abcdefgh12345678"
_DOT: Final = re.compile(r"\.(?=[^\W\d])")
"""Between the parts of a path; the one in ``gpt-4.5`` divides nothing."""


def base_name(column: str) -> str:
    """The last part of a column's name, in lower case, with ``_`` between its words; without accents and brackets."""
    return "_".join(_parts(column))


def _last(column: str) -> str:
    bare = re.sub(r"\([^()]{0,80}\)|\[[^\[\]]{0,80}\]", " ", column[: 2 * _LONGEST])
    return _DOT.split(bare)[-1]


def _folded(text: str) -> str:
    plain = unicodedata.normalize("NFKD", text.lower())
    return "".join(one for one in plain if not unicodedata.combining(one)).replace("ß", "ss")


def _parts(column: str) -> list[str]:
    return [part for part in re.split(r"[\s_/:-]+", _folded(_last(column)).strip()) if part]


def _camel(column: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", _last(column))


@lru_cache(maxsize=4096)
def _names(column: str) -> tuple[str, ...]:
    """A name as it is written, and with its inner capitals as beginnings of words."""
    return tuple(dict.fromkeys((base_name(column), base_name(_camel(column)))))


def is_named(column: str, wanted: str) -> bool:
    """Whether a column has a name, however it is written: ``Worker ID``, ``worker-id``, ``WorkerId``."""
    return wanted in _names(column)


def named(wanted: Iterable[str], columns: Sequence[str]) -> str | None:
    """The column of the likeliest of these names; None without one."""
    return next((column for name in wanted for column in columns if is_named(column, name)), None)


def ruling_flag(columns: Iterable[str], values: Callable[[str], Iterable[str]]) -> str | None:
    """The column that says which labels are rulings; None without one.

    Args:
        columns: names.
        values: the first values of a column, as text.
    """
    found = (column for column in columns if base_name(column) in RULING_FLAGS)
    return next((one for one in found if {value.casefold() for value in values(one)} <= _FLAG), None)


def is_label_name(column: str) -> bool:
    """Whether a column's name says that people gave its values: ``label``, ``human_score``, ``gold``, ``expert_2``."""
    return base_name(column) in FIELDS["label"] or _is_value(column, "people")


def is_judges_name(column: str) -> bool:
    """Whether a column's name says that a judge gave its values: ``judge_score``, ``llm_label``, ``gpt4_winner``."""
    return _is_value(column, "judge")


def _is_value(column: str, by: str) -> bool:
    found = heard(column)
    return found is not None and (found.by, found.what, found.criterion) == (by, "value", "")


@dataclass(frozen=True, slots=True)
class Heard:
    """Whose value a column's name says it is, and of what.

    Attributes:
        by: people, a judge, or nobody that the name says.
        who: the judge, as the column spells it; empty for a judge or for people in general.
        what: a verdict or a label, the reason for it, or a text.
        criterion: what was judged (``relevance``); empty for the whole.
        known: whether that is a usual criterion; other words are one only where a second column has them, too.
        bare: whether the name says who and no more: ``gpt-4``, ``human``.
    """

    by: Literal["people", "judge", ""]
    who: str
    what: Literal["value", "reason", "text"]
    criterion: str = ""
    known: bool = True
    bare: bool = False


@lru_cache(maxsize=4096)
def heard(column: str) -> Heard | None:
    """What a column's name says of its values; None where it says nothing of whose they are.

    ``gpt4_score``, ``Claude 3``, ``human_relevance``, ``relevance_judge``, ``llm_critique``, ``majority_vote``.
    """
    if len(column) > _LONGEST:
        return None
    column = _with_object(column)
    found = _heard(_parts(column), column)
    if found is None or found.bare or not found.known:
        other = _heard(_parts(_camel(column)), column)
        found = found if other is None or (found is not None and (other.bare or not other.known)) else other
    return found


def _with_object(column: str) -> str:
    """The path to a value in an object that is named after people or a judge, as one name: ``human.score``."""
    *_, parent, last = ["", *_DOT.split(column)]
    said = last in _WORDS["value"] or last in _WORDS["reason"]
    return f"{parent}_{last}" if said and parent and _by(_parts(parent)) else column


def _heard(parts: list[str], column: str) -> Heard | None:
    found: list[Heard] = []
    for size in range(len(parts) - 1, 0, -1):
        for own, rest in ((parts[:size], parts[size:]), (parts[-size:], parts[:-size])):
            by = _by(own)
            said = None if by is None else _said([one for one in rest if one != "by"], by)
            if by is not None and said is not None:
                who = _spelt(own, column) if by == "judge" and not _is_general(own) else ""
                found.append(Heard(by, who, *said))
    sure = [one for one in found if one.known]
    if sure:
        return next((one for one in sure if one.criterion), sure[0])
    if (whole := _whole(parts, column)) is not None:
        return whole
    return found[0] if found else None


def _by(parts: Sequence[str]) -> Literal["people", "judge"] | None:
    """Whether words name people or a judge."""
    words = [one for one in parts if one not in _WORDS["together"]]
    head = _GLUED.fullmatch(words[0]) if words else None
    rest = all(_INDEX.fullmatch(one) for one in words[1:])
    if head is not None and head[1] in _WORDS["people"] and rest:
        return "people"
    if head is not None and head[1] in _WORDS["judges"] and (rest or _is_general(words)):
        return "judge"
    return "judge" if words == list(parts) and words and _is_model(words[0]) else None


def _is_general(parts: Sequence[str]) -> bool:
    return all(one in _WORDS["judges"] for one in parts)


def _is_model(word: str) -> bool:
    return any(word == one or (word.startswith(one) and word[len(one)].isdigit()) for one in _WORDS["models"])


def _said(parts: list[str], by: str) -> tuple[Literal["value", "reason", "text"], str, bool] | None:
    """What is left of a name beside who: of what kind, of which criterion, and whether that is a usual one."""
    parts = [one for one in parts if not re.fullmatch(r"v\d{1,2}", one)]
    if by == "people" and len(parts) > 1 and _INDEX.fullmatch(parts[-1]):
        parts = parts[:-1]
    values = _WORDS["value"] | (_WORDS["pass"] if by == "judge" else frozenset())
    kinds: tuple[tuple[Literal["value", "reason", "text"], frozenset[str]], ...] = (
        *(("value", values), ("reason", _WORDS["reason"]), ("text", _WORDS["texts"])),
    )
    if "_".join(parts) in _WORDS["criteria"]:
        return "value", "_".join(parts), True
    for what, words in kinds:
        for word, rest in ((parts[-1], parts[:-1]), (parts[0], parts[1:])) if parts else ():
            if word in words:
                return _criterion(what, rest)
    return _criterion("value", parts)


def _criterion(
    what: Literal["value", "reason", "text"], parts: list[str]
) -> tuple[Literal["value", "reason", "text"], str, bool] | None:
    name = "_".join(parts)
    if set(parts) & _WORDS["beside"] or any(one[:1].isdigit() or len(one) < 2 for one in parts):
        return None if name not in _WORDS["criteria"] else (what, name, True)
    return what, name, not name or name in _WORDS["criteria"]


def _whole(parts: list[str], column: str) -> Heard | None:
    """A name that is a judge or people and no more, or a criterion without either."""
    name, by = "_".join(parts), _by(parts) if parts else None
    if by == "people" and name not in _PERSONS:
        return Heard("people", "", "value", bare=True)
    if by == "judge":
        alone = len(parts) == 1 and parts[0] in _WORDS["judges"]
        if alone and parts[0] not in _ALONE:
            return None
        return Heard("judge", "" if _is_general(parts) else _spelt(parts, column), "value", bare=True)
    words = [one for one in parts if one not in _WORDS["together"]]
    if len(words) < len(parts) and len(words) == 1 and words[0] in _SHARED:
        return Heard("people", "", "value")
    metric = re.fullmatch(r"(.{1,60})/v\d{1,2}/(score|justification)", _last(column))
    if metric is not None:
        return Heard("", "", "value" if metric[2] == "score" else "reason", base_name(metric[1]))
    said = _said(parts, "") if by is None and parts else None
    return Heard("", "", *said) if said is not None and said[1] and said[2] and said[0] != "text" else None


def _spelt(parts: Sequence[str], column: str) -> str:
    """Some of a name's words as the column spells them."""
    found = re.search(r"[\s_/:-]{0,9}".join(map(re.escape, parts)), _last(column), re.I)
    return found[0] if found else "_".join(parts)


@lru_cache(maxsize=4096)
def side_of(column: str) -> tuple[str, str] | None:
    """Which response a name is about, by its last or first part: a response's id; the rest of the name.

    ``Antwort_A``, ``left_text``, ``output_1``, ``right``; None for a name that is about none.
    """
    for name in (*_names(column), base_name(column.replace(".", "_"))):
        plain = name.removesuffix("_name")
        first, _, after = plain.partition("_")
        before, _, last = plain.rpartition("_")
        if first in _SIDES:
            return _SIDES[first], after
        if last in _SIDES:
            return _SIDES[last], before
        stem = plain[:-1].rstrip("_")
        if stem and plain[-1] in _MARKS and (last == plain[-1] or _family(stem)):
            return letters(int(last[-1]) - 1) if last[-1].isdigit() else last[-1].upper(), stem
    return None


def about(column: str) -> tuple[str, str] | None:
    """The family (``responses``, ``models``, ``ranks``) and the response that a name is about; None for other names.

    Of a path the last part may name the family, and the one before it the response: ``A.answer``, ``Model B.name``.
    """
    found = side_of(column)
    family = None if found is None else _family(found[1])
    if found is not None and family is not None:
        return family, found[0]
    *_, parent, last = ["", *map(base_name, _DOT.split(column))]
    side = parent.upper() if parent in ("a", "b") else (side_of(parent) or ("",))[0]
    family = "models" if last == "name" else "responses" if last in ("text", "content") else _family(last)
    return (family, side) if family is not None and side else None


def _family(stem: str) -> str | None:
    return next((name for name, words in _STEMS.items() if stem in words or stem.removesuffix("s") in words), None)


def is_text_name(column: str) -> bool:
    """Whether a column's name says that it has a question, a response or a verdict."""
    side = about(column)
    name = base_name(column)
    texts = (*FIELDS["question"], *FIELDS["verdict"], *FIELDS["response"])
    return (name in texts and name != "result") or (side is not None and side[0] == "responses")
