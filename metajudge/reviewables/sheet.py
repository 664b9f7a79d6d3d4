"""A sheet: everything that one view of a reviewable has, ready to be rendered. Pure.

Terminal, page, CSV, JSONL and HTTP render a sheet and nothing else, so that none of them can show more than the view
has. A blind sheet has no identity (judge, model, candidate names), no score, verdict, action, margin, priority, label,
and no decision or comment of other people.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from metajudge.evidence.words import Tone
from metajudge.reviews.review import Kind

PassageKind = Literal["question", "response", "reference", "context", "output", "criteria", "instruction", "notice"]
Asks = Literal["comparison", "ranking", "grade", "category", "outcome"]


@dataclass(frozen=True, slots=True)
class Passage:
    """One text to read.

    Attributes:
        label: what decisions call a response, such as R1; None for other texts.
        stage: the stage of a case it belongs to; "" elsewhere.
        name: the response's own name; None in a blind view, and for other texts.
        note: what a full view says of it, such as the label under which the judge saw it; "" in a blind view.
    """

    kind: PassageKind
    title: str
    text: str
    label: str | None = None
    stage: str = ""
    name: str | None = None
    note: str = ""
    picked: bool = False


@dataclass(frozen=True, slots=True)
class Choice:
    """Something a reviewer may answer.

    Attributes:
        field: whether ``value`` is a verdict of one's own, or an outcome.
        value: what to submit: ``R1>R2``, ``R1=R2``, ``approve``.
        words: for people.
        key: the one key that records it; "" if it has none.
        help: one sentence; may be "".
    """

    field: Literal["verdict", "outcome"]
    value: str
    words: str
    key: str = ""
    help: str = ""


@dataclass(frozen=True, slots=True)
class Fact:
    """A named value, in words."""

    name: str
    value: str
    tone: Tone = ""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of texts under columns; ``caption`` says what a row is."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Cue:
    """A judged text in a machine section: a rationale, a comment, a comparison."""

    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Section:
    """One part of the machine's result; a blind sheet has none."""

    title: str
    facts: tuple[Fact, ...] = ()
    tables: tuple[Table, ...] = ()
    texts: tuple[Cue, ...] = ()


@dataclass(frozen=True, slots=True)
class Said:
    """What a person did: a decision, an amendment or a comment.

    Attributes:
        what: ``decision``, ``amendment`` or ``comment``.
        words: the outcome with its correction; the comment's text.
        current: False for a decision that a later one replaces.
    """

    what: Literal["decision", "amendment", "comment"]
    who: str
    at: float
    words: str
    reason: str = ""
    blind: bool = False
    bulk: bool = False
    current: bool = True


@dataclass(frozen=True, slots=True)
class Sheet:
    """One view of one reviewable.

    Attributes:
        kind: ``judgment``, ``clash`` or ``case``.
        blind: which view it is.
        heading: its title; in a blind view the review's id alone.
        why: why it is here, in words that tell nothing of the machine's result in a blind view.
        passages: texts to read, in the order of reading.
        asks: what kind of answer is wanted.
        choices: answers that can be picked with one key; a ranking, grade or category may be typed as well.
        hint: how to write an answer of one's own, such as ``R1>R2, R1=R2 or R2>R1``.
        criteria: criterion -> the machine's score; in a blind view names with None, so that scores can be corrected.
        machine: the machine's result; empty in a blind view.
        tips: what tips the decision, one sentence each; empty in a blind view.
        people: what people said; in a blind view the reviewer's own alone.
        record: the flat fields of the view, for tables and HTTP.
        missing: why there is nothing to read; "" otherwise.
    """

    kind: Kind
    blind: bool
    review_id: str
    item_id: str
    category: str | None
    heading: str
    why: str
    status: str
    reviewer: str | None
    passages: tuple[Passage, ...]
    asks: Asks
    choices: tuple[Choice, ...]
    hint: str
    criteria: Mapping[str, float | None] = field(default_factory=dict)
    machine: tuple[Section, ...] = ()
    tips: tuple[str, ...] = ()
    people: tuple[Said, ...] = ()
    record: Mapping[str, Any] = field(default_factory=dict)
    missing: str = ""

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of the responses, in the order shown."""
        return tuple(one.label for one in self.passages if one.label is not None)

    def passage(self, label: str) -> Passage:
        """The response under a label."""
        return next(one for one in self.passages if one.label == label)
