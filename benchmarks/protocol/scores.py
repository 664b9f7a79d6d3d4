"""An entry: a file of scores of judgments by one vetter, and what can be wrong with it."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError, model_validator

from metajudge.errors import InputError
from metajudge.types.frozen import Finite

MOST_SHOWN = 20
"""Problems named one by one; the rest is counted."""

Name = Annotated[str, Field(min_length=1, max_length=200, pattern=r"\S")]


class VetterScore(Finite):
    """What a vetter says about one judgment: one line of an entry.

    A line with neither a probability nor a score gives the cause in ``reason``. A judgment without a value ranks
    below all that have one, and is never kept.
    """

    version: Literal[1] = 1
    vetter: Name = Field(description="Name of the vetter; the same in every line of a file.")
    vetter_version: Name = Field(description="Its version; the same in every line of a file.")
    judgment_id: Name
    probability: Annotated[float, Field(ge=0, le=1)] | None = Field(
        default=None, description="That the verdict is right, in [0, 1]."
    )
    score: float | None = Field(
        default=None, description="Higher means more trust; any scale, if it is no probability."
    )
    decision: Literal["keep", "ask", "discard"] | None = Field(
        default=None, description="What the vetter would do, where it says."
    )
    reason: Annotated[str, Field(max_length=500)] | None = Field(
        default=None, description="Why there is neither a probability nor a score."
    )

    @model_validator(mode="after")
    def _check(self) -> "VetterScore":
        if self.probability is not None and self.score is not None:
            raise ValueError("give a probability or a score, not both")
        if self.value is None and not (self.reason or "").strip():
            raise ValueError("there is no probability and no score: say why in reason")
        return self

    @property
    def value(self) -> float | None:
        """The probability or the score; None without one."""
        return self.score if self.probability is None else self.probability


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with a file.

    Attributes:
        kind: a word for counting.
        where: the line, or the judgment.
        what: what is wrong, and what to do.
    """

    kind: str
    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


@dataclass(frozen=True, slots=True)
class Entry:
    """A checked file of scores.

    Attributes:
        scores: judgment id -> its line, for the judgments asked for.
        beside: lines on judgments that are there but were not asked for (without a verdict, or without a label).
    """

    name: str
    version: str
    scores: Mapping[str, VetterScore]
    beside: int

    @property
    def probabilities(self) -> bool:
        """Whether every value is a probability."""
        return all(one.score is None for one in self.scores.values())

    @property
    def title(self) -> str:
        return f"{self.name} {self.version}"


@dataclass(frozen=True, slots=True)
class Checked:
    """What checking a file gave: an entry, or problems."""

    entry: Entry | None
    problems: tuple[Problem, ...]

    def lines(self) -> Iterator[str]:
        """The problems in words: counted by kind, the first ones each."""
        counts = Counter(one.kind for one in self.problems)
        if counts:
            yield "Not scored: " + ", ".join(f"{count:,} {kind}" for kind, count in counts.items()) + "."
        yield from (f"  {one}" for one in self.problems[:MOST_SHOWN])
        if len(self.problems) > MOST_SHOWN:
            yield f"  and {len(self.problems) - MOST_SHOWN:,} more"


def check_entry(path: Path, asked: Set[str], known: Set[str]) -> Checked:
    """Reads a file of scores and finds everything that is wrong with it; nothing is left out in silence.

    Args:
        path: JSONL of :class:`VetterScore`.
        asked: ids of the judgments that must be scored.
        known: ids of all judgments there are.

    Raises:
        InputError: the file cannot be read.
    """
    try:
        lines = path.read_text("utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text: {error.reason} at byte {error.start}") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    problems: list[Problem] = []
    scores: dict[str, VetterScore] = {}
    at: dict[str, int] = {}
    beside = 0
    first: VetterScore | None = None
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        found = _parsed(line, number)
        if isinstance(found, Problem):
            problems.append(found)
            at.setdefault(_named(line), number)
            continue
        first = first or found
        problems += _beside_others(found, first, number)
        if found.judgment_id in at:
            there = at[found.judgment_id]
            what = f"{found.judgment_id} is scored in line {there}, too: keep one of them"
            problems.append(Problem("duplicate", f"line {number}", what))
        elif found.judgment_id not in known:
            what = f"there is no judgment {found.judgment_id}: use the ids of the items' file"
            problems.append(Problem("unknown", f"line {number}", what))
        elif found.judgment_id not in asked:
            beside += 1
        else:
            scores[found.judgment_id] = found
        at.setdefault(found.judgment_id, number)
    problems += _mixed(scores.values())
    problems += _missing(asked, at)
    if first is None and not problems:
        problems.append(Problem("missing", str(path), "the file has no line"))
    if problems or first is None:
        return Checked(None, tuple(problems))
    return Checked(Entry(first.vetter, first.vetter_version, scores, beside), ())


def _parsed(line: str, number: int) -> VetterScore | Problem:
    where = f"line {number}"
    try:
        data = json.loads(line, parse_constant=_no_constant)
    except _NotFiniteError as error:
        what = f"{error} is no number of JSON: write null and a reason where there is no value"
        return Problem("not finite", where, what)
    except ValueError as error:
        return Problem("not JSON", where, f"not a line of JSON ({error}): write one object in each line")
    except RecursionError:
        return Problem("not JSON", where, "nested too deeply: write one flat object in each line")
    try:
        return VetterScore.model_validate(data)
    except ValidationError as error:
        return _invalid(error, where)


def _named(line: str) -> str:
    """The judgment that a faulty line is about, so that it is not also reported as missing; empty where unknown."""
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        return ""
    return str(data.get("judgment_id", "")) if isinstance(data, dict) else ""


def _invalid(error: ValidationError, where: str) -> Problem:
    found = error.errors(include_url=False, include_context=False)[0]
    place = ".".join(map(str, found["loc"]))
    ranged = found["type"] in ("less_than_equal", "greater_than_equal")
    kind = "out of range" if ranged else "not finite" if found["type"] == "finite_number" else "not in the format"
    said = found["msg"].removeprefix("Value error, ")
    hint = (
        "probabilities lie in [0, 1]; give other numbers as score" if ranged else "see `metajudge schema vetter_score`"
    )
    return Problem(kind, where, f"{place}: {said}; {hint}" if place else f"{said}; {hint}")


class _NotFiniteError(ValueError):
    """NaN or infinity in a line."""


def _no_constant(name: str) -> Any:
    raise _NotFiniteError(name)


def _beside_others(found: VetterScore, first: VetterScore, number: int) -> Iterator[Problem]:
    named, others = (found.vetter, found.vetter_version), (first.vetter, first.vetter_version)
    if named != others:
        what = f"it is by {' '.join(named)}, the file by {' '.join(others)}: one file has one vetter of one version"
        yield Problem("other vetter", f"line {number}", what)


def _mixed(scores: Iterable[VetterScore]) -> Iterator[Problem]:
    """Probabilities and other scores cannot be ranked together."""
    forms = Counter("score" if one.probability is None else "probability" for one in scores if one.value is not None)
    if len(forms) > 1:
        what = (
            f"{forms['probability']:,} lines have a probability and {forms['score']:,} a score: give one of both in all"
        )
        yield Problem("mixed", "the file", what)


def _missing(asked: Set[str], there: Mapping[str, int]) -> Iterable[Problem]:
    for name in sorted(asked - there.keys()):
        what = "is not scored: add a line, with probability null and a reason where the vetter has none"
        yield Problem("missing", name, what)
