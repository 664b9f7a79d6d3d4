"""What a judge decided: a pairwise preference, a ranking, a grade or a category.

In JSON a pairwise verdict is a string (``"A>>B"``, ``"A>B"``, ``"A=B"``), a ranking a list of groups
of tied ids, best first (``[["B"], ["A", "C"]]``), a grade a number, a category ``true``, ``false`` or any other
string (``"pass"``); one that reads like a pairwise verdict is written ``{"category": "a=b"}``.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self, TypeAlias, get_args

from pydantic import GetPydanticSchema, PlainSerializer
from pydantic_core import core_schema

ID_PATTERN = r"[A-Za-z0-9_.-]+"
"""What a response id looks like."""

_ID = re.compile(ID_PATTERN)
_PAIR = re.compile(rf"\s*({ID_PATTERN})\s*(>>|>|=)\s*({ID_PATTERN})\s*")
_SIGNS = "<>="
"""A string with one of these is a pairwise verdict, or none."""
_STRENGTH: dict[str, Literal[0, 1, 2]] = {"=": 0, ">": 1, ">>": 2}
_SIGN = {0: "=", 1: ">", 2: ">>"}


@dataclass(frozen=True, slots=True)
class Pairwise:
    """``first`` against ``second``: strength 2 is much better (``>>``), 1 better (``>``), 0 a tie (``=``)."""

    first: str
    second: str
    strength: Literal[0, 1, 2]

    @property
    def ids(self) -> tuple[str, ...]:
        return (self.first, self.second)

    @property
    def winner(self) -> str | None:
        """The preferred id, None for a tie."""
        return self.first if self.strength else None

    @property
    def is_tie(self) -> bool:
        return self.strength == 0

    def support(self, response: str, over: str) -> int | None:
        """Signed strength (-2..2) with which this verdict prefers ``response``; None for another pair."""
        if (response, over) == (self.first, self.second):
            return self.strength
        if (response, over) == (self.second, self.first):
            return -self.strength
        return None

    def relabelled(self, names: Mapping[str, str]) -> "Pairwise":
        return Pairwise(names[self.first], names[self.second], self.strength)

    def to_json(self) -> str:
        return f"{self.first}{_SIGN[self.strength]}{self.second}"

    def __str__(self) -> str:
        return self.to_json()


@dataclass(frozen=True, slots=True)
class Ranking:
    """Groups of tied ids, best first."""

    groups: tuple[tuple[str, ...], ...]

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(name for group in self.groups for name in group)

    @property
    def winner(self) -> str | None:
        """The id alone in front, None where the first place is shared."""
        return self.groups[0][0] if len(self.groups[0]) == 1 else None

    @property
    def is_tie(self) -> bool:
        """True where nothing is preferred over anything."""
        return len(self.groups) == 1

    def support(self, response: str, over: str) -> int | None:
        """1, 0 or -1 as ``response`` ranks above, level with or below ``over``; None where either is not ranked."""
        place = {name: i for i, group in enumerate(self.groups) for name in group}
        if response not in place or over not in place:
            return None
        return (place[over] > place[response]) - (place[over] < place[response])

    def relabelled(self, names: Mapping[str, str]) -> "Ranking":
        return Ranking(tuple(tuple(names[name] for name in group) for group in self.groups))

    def to_json(self) -> list[list[str]]:
        return [list(group) for group in self.groups]

    def __str__(self) -> str:
        return " > ".join(" = ".join(group) for group in self.groups)


@dataclass(frozen=True, slots=True)
class _OfOneResponse:
    """A verdict on a single response: it names no response and prefers none."""

    @property
    def ids(self) -> tuple[str, ...]:
        return ()

    @property
    def winner(self) -> None:
        return None

    @property
    def is_tie(self) -> bool:
        return False

    def support(self, response: str, over: str) -> None:
        return None

    def relabelled(self, names: Mapping[str, str]) -> Self:
        return self


@dataclass(frozen=True, slots=True)
class Grade(_OfOneResponse):
    """A number given to a single response, on the judge's own scale."""

    value: float

    def to_json(self) -> float:
        return self.value

    def __str__(self) -> str:
        return f"{self.value:g}"


@dataclass(frozen=True, slots=True)
class Category(_OfOneResponse):
    """What a single response was called: ``True`` or ``False``, or a name such as ``pass`` or ``relevant``."""

    value: str | bool

    def to_json(self) -> bool | str | dict[str, str]:
        if isinstance(self.value, str) and any(sign in self.value for sign in _SIGNS):
            return {"category": self.value}
        return self.value

    def __str__(self) -> str:
        return str(self.value).lower() if isinstance(self.value, bool) else self.value


AnyVerdict: TypeAlias = Pairwise | Ranking | Grade | Category

VerdictKind: TypeAlias = Literal["pairwise", "ranking", "grade", "category"]

VERDICT_KINDS: tuple[VerdictKind, ...] = get_args(VerdictKind)


def kind_of(verdict: AnyVerdict) -> VerdictKind:
    """The kind of a verdict."""
    match verdict:
        case Pairwise():
            return "pairwise"
        case Ranking():
            return "ranking"
        case Grade():
            return "grade"
        case Category():
            return "category"


def parse_verdict(value: Any) -> AnyVerdict:
    """Reads a verdict from its JSON form.

    Args:
        value: a string such as ``"A>>B"``, a list of ids or of groups of ids, a finite number, a boolean, or any other
            string that is not blank: a category.

    Raises:
        ValueError: with what was found and what is accepted.
    """
    match value:
        case Pairwise() | Ranking() | Grade() | Category():
            return value
        case str() if any(sign in value for sign in _SIGNS):
            return _parse_pair(value)
        case str() if value.strip():
            return Category(value.strip())
        case bool():
            return Category(value)
        case {"category": str(name)} if len(value) == 1 and name.strip():
            return Category(name.strip())
        case int() | float():
            if math.isfinite(value):
                return Grade(float(value))
        case list() | tuple():
            return _parse_ranking(value)
    raise ValueError(
        f"not a verdict: {short(value)}; expected 'A>>B', 'A>B', 'A=B', a ranking such as [['A'], ['B', 'C']], "
        "a finite number, true, false or a category such as 'pass'"
    )


def _parse_pair(text: str) -> Pairwise:
    found = _PAIR.fullmatch(text)
    if found is None:
        raise ValueError(
            f"not a verdict: {short(text)}; a pairwise verdict is ID>>ID, ID>ID or ID=ID with ids of "
            f"letters, digits, '_', '.', '-' (for the second response write B>A)"
        )
    first, sign, second = found.groups()
    if first == second:
        raise ValueError(f"not a verdict: {short(text)} compares {first!r} with itself")
    return Pairwise(first, second, _STRENGTH[sign])


def _parse_ranking(value: list[Any] | tuple[Any, ...]) -> Ranking:
    groups = tuple(tuple(group) if isinstance(group, list | tuple) else (group,) for group in value)
    names = [name for group in groups for name in group]
    if not names or not all(groups):
        raise ValueError("not a verdict: an empty ranking or an empty group of tied ids")
    for name in names:
        if not isinstance(name, str) or not _ID.fullmatch(name):
            raise ValueError(f"not a verdict: {short(name)} is not a response id")
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(f"not a verdict: the ranking names {', '.join(repeated)} more than once")
    return Ranking(groups)


def short(value: Any) -> str:
    """A value as a message shows it: its beginning, if it is long."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


_JSON_SCHEMA = core_schema.union_schema(
    [
        core_schema.str_schema(pattern=rf"^\s*{ID_PATTERN}\s*(>>|>|=)\s*{ID_PATTERN}\s*$"),
        core_schema.bool_schema(),
        core_schema.str_schema(pattern=r"\S"),
        core_schema.typed_dict_schema(
            {"category": core_schema.typed_dict_field(core_schema.str_schema(min_length=1))}, extra_behavior="forbid"
        ),
        core_schema.list_schema(
            core_schema.union_schema(
                [core_schema.str_schema(), core_schema.list_schema(core_schema.str_schema(), min_length=1)]
            ),
            min_length=1,
        ),
        core_schema.float_schema(allow_inf_nan=False),
    ]
)

Verdict = Annotated[
    AnyVerdict,
    GetPydanticSchema(
        lambda _source, _handler: core_schema.no_info_plain_validator_function(
            parse_verdict, json_schema_input_schema=_JSON_SCHEMA
        )
    ),
    PlainSerializer(
        lambda verdict: verdict.to_json(), return_type=bool | str | list[list[str]] | float | dict[str, str]
    ),
]
"""A verdict as a field of a pydantic model."""
