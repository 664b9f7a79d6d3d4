"""Scores that people gave, in exports of other tools: they are no judge's verdicts, and are counted, not lost.

They are not read as verdicts or labels yet.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from metajudge.readers.cells import cell

_NAMED = 3
_KINDS = ("annotator_kind", "source.source_type")
"""Where Phoenix and MLflow say who gave an annotation: LLM, HUMAN or CODE; LLM_JUDGE, HUMAN or CODE."""
_NAMES = ("name", "annotation_name", "assessment_name")
_ANNOTATORS = ("identifier", "annotator", "user_id", "source.source_id", "source_id")


@dataclass(frozen=True, slots=True)
class PersonScore:
    """One score by a person.

    Attributes:
        name: of the score.
        annotator: who gave it; None where the export does not say.
    """

    name: str
    annotator: str | None = None


@dataclass(frozen=True, slots=True)
class ByPeople:
    """A score by a person, and its position."""

    score: PersonScore
    file: str
    line: int


@dataclass(slots=True)
class PeopleCount:
    """The scores by people in an input.

    Attributes:
        count: how many.
        names: how often each score's name occurs.
        annotators: how many each annotator gave, where the export says who.
        first: position of the first one; None if there are none.
    """

    count: int = 0
    names: Counter[str] = field(default_factory=Counter)
    annotators: Counter[str] = field(default_factory=Counter)
    first: str | None = None

    def add(self, found: ByPeople) -> None:
        self.count += 1
        self.names[found.score.name] += 1
        if found.score.annotator is not None:
            self.annotators[found.score.annotator] += 1
        self.first = self.first or f"{found.file}:{found.line}"

    def notice(self) -> str | None:
        """A notice about them; None if there are none."""
        if not self.count:
            return None
        scores = "1 score by a person is" if self.count == 1 else f"{self.count:,} scores by people are"
        by = f" by {_listed(self.annotators)}" if self.annotators else ""
        return (
            f"{scores} not read as verdicts or labels yet: {_listed(self.names)}{by}, the first at {self.first}. To "
            "use them as labels, give them as a column of a table (--map label=COLUMN)."
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "count": self.count,
            "names": dict(self.names),
            "annotators": dict(self.annotators),
            "first": self.first,
        }


def person_score_of(row: Mapping[str, Any]) -> PersonScore | None:
    """A row of a table that says a person gave it, as Phoenix and MLflow do; None for any other."""
    if not any(cell(row, kind) == "HUMAN" for kind in _KINDS):
        return None
    name = next((str(cell(row, key)) for key in _NAMES if cell(row, key)), "(no name)")
    annotator = next((str(cell(row, key)) for key in _ANNOTATORS if cell(row, key)), None)
    return PersonScore(name, annotator)


def _listed(counts: Counter[str]) -> str:
    shown = ", ".join(f"{name} ({count:,})" for name, count in counts.most_common(_NAMED))
    return shown + (f" and {len(counts) - _NAMED} more" if len(counts) > _NAMED else "")
