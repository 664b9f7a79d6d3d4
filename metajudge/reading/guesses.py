"""What a guess at the columns of a table is: fields with their reasons, meanings of values, and what is open."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Final, Literal

from metajudge.reading.mapping import FieldMap

Confidence = Literal["high", "medium", "low"]


@dataclass(frozen=True, slots=True)
class FieldGuess:
    """One field, the column taken for it, how sure that is, and why."""

    field: str
    column: str
    confidence: Confidence
    why: str


@dataclass(slots=True)
class Guess:
    """A mapping as guessed.

    Attributes:
        fields: what was taken for what.
        texts: what applies to every row: empty texts, where a table has none.
        values: meanings for words of verdicts and labels.
        verdicts: how often each value of the verdict column occurs among the rows looked at.
        problems: what a person must say.
    """

    fields: list[FieldGuess] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)
    values: dict[str, str] = field(default_factory=dict)
    verdicts: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)

    @property
    def mapping(self) -> FieldMap:
        """The same as a mapping; it may lack fields (see ``problems``)."""
        columns = {one.field: one.column for one in self.fields}
        return FieldMap(columns=columns, constants=self.texts, values=self.values)

    @property
    def is_whole(self) -> bool:
        """Whether nothing is left to ask but, perhaps, the judge's name, and no column is a mere possibility."""
        open_ = set(self.mapping.missing()) - {"judge"} or {one for one in self.problems if one != MISSING["judge"]}
        return not (open_ or self.values or any(one.confidence == "low" for one in self.fields))


MISSING: Final = {
    "verdict": "no column looks like a verdict: --map verdict=COLUMN",
    "question": "no column looks like the question: --map question=COLUMN",
    "judge": "no column names the judge: --map judge=COLUMN, or judge:=NAME for one judge",
    "responses.A": "no column looks like a response: --map responses.A=COLUMN,responses.B=COLUMN",
}
"""What is to be said where no column is found for a field."""
