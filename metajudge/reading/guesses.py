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

    def with_given(self, given: FieldMap) -> FieldMap:
        """The mapping, in which what is given goes before what is guessed."""
        families = ("responses.", "models.") if given.response_ids else ()
        columns = {
            name: column
            for name, column in self.mapping.columns.items()
            if column not in given.columns.values() and name not in given.constants and not name.startswith(families)
        }
        texts = (
            {} if given.response_ids else {name: one for name, one in self.texts.items() if name not in given.columns}
        )
        return FieldMap(
            columns=given.columns | columns | given.columns,
            constants=texts | given.constants,
            values=self.values | given.values,
        )

    def questions(self, given: FieldMap) -> list[str]:
        """What a person must say that is not given."""
        answered = {name.split(".")[0] for name in (*given.columns, *given.constants)}
        return [
            problem
            for problem in self.problems
            if not any(f"--map {name}" in problem for name in answered)
            and not (given.values and ("taken for" in problem or "say what each means" in problem))
        ]

    def is_sure(self, given: FieldMap) -> bool:
        """Whether no column that is not given is a mere possibility, and no value's meaning is.

        A column of verdicts whose values mean nothing by themselves is none any more where meanings are given.
        """
        answered = {*given.columns, *given.constants, *(["verdict"] if given.values else [])}
        return not self.values and all(one.confidence != "low" or one.field in answered for one in self.fields)


MISSING: Final = {
    "verdict": "no column looks like a verdict: --map verdict=COLUMN",
    "question": "no column looks like the question: --map question=COLUMN",
    "judge": "no column names the judge: --map judge=COLUMN, or judge:=NAME for one judge",
    "responses.A": "no column looks like a response: --map responses.A=COLUMN,responses.B=COLUMN",
}
"""What is to be said where no column is found for a field."""
