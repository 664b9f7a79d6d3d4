"""An item, and one judge's judgment of it: the record that every reader produces and ``vet`` takes."""

import re
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints, model_validator

from metajudge.types.digests import digest
from metajudge.types.frozen import Frozen
from metajudge.types.verdict import ID_PATTERN, Grade, Ranking, Verdict

NonEmpty = Annotated[str, StringConstraints(min_length=1, pattern=r"\S")]
ResponseId = Annotated[str, StringConstraints(pattern=rf"^{ID_PATTERN}$")]

_NEUTRAL_LABEL = re.compile(r"[A-Z]|[A-Za-z]?\d{1,3}|[a-z]")


class Item(Frozen):
    """A question and its candidate responses: one for grading, two for a pairwise verdict, K for a ranking.

    A response may be the empty string (a model may answer nothing); an item without responses is an error.
    """

    id: NonEmpty
    question: str
    responses: dict[ResponseId, str] = Field(min_length=1)
    category: str | None = None
    label: Verdict | None = Field(default=None, description="Ground truth, in terms of response ids.")
    reference: str | None = Field(default=None, description="A reference answer, where there is one.")
    models: dict[str, str] | None = Field(default=None, description="Response id -> the model that wrote it.")

    @model_validator(mode="after")
    def _check(self) -> "Item":
        if self.label is not None:
            _check_known(self.label.ids, self.responses, "label")
        if self.models is not None:
            _check_known(self.models, self.responses, "models")
        return self

    @cached_property
    def digest(self) -> str:
        """Digest of everything but the id: two records with one id and two digests contradict each other."""
        return digest(self.model_dump(mode="json", exclude={"id"}))


class Judgment(Frozen):
    """One judge's output on an item.

    ``verdict`` is in terms of response ids, whatever labels the judge used. ``order`` lists the ids in the
    order in which the judge saw them (default: the order of ``item.responses``), ``labels`` what the judge
    called them, by position (default: see :attr:`shown_labels`).
    """

    version: Literal[1] = Field(default=1, description="Version of this record's format.")
    id: NonEmpty
    item: Item
    judge: NonEmpty
    verdict: Verdict | None
    no_verdict: NonEmpty | None = Field(default=None, description="Why `verdict` is null; required then.")
    rationale: str = ""
    order: tuple[ResponseId, ...] = ()
    labels: tuple[NonEmpty, ...] | None = None
    instruction: str | None = Field(default=None, description="The instruction to the judge.")
    meta: dict[str, Any] = Field(default_factory=dict, description="The caller's own data, kept as it is.")

    @model_validator(mode="before")
    @classmethod
    def _default_order(cls, data: Any) -> Any:
        if isinstance(data, dict) and not data.get("order"):
            item = data.get("item")
            responses = item.responses if isinstance(item, Item) else None
            if isinstance(item, dict):
                responses = item.get("responses")
            if isinstance(responses, dict):
                return {**data, "order": tuple(responses)}
        return data

    @model_validator(mode="after")
    def _check(self) -> "Judgment":
        responses = self.item.responses
        _check_known(self.order, responses, "order")
        if len(set(self.order)) != len(self.order):
            raise ValueError(f"order names a response twice: {', '.join(self.order)}")
        if self.labels is not None and len(set(self.labels)) != len(self.order):
            raise ValueError("labels must give one distinct label for each response in order")
        if self.verdict is None:
            if self.no_verdict is None:
                raise ValueError("verdict is null without a reason: say why in no_verdict")
            return self
        if self.no_verdict is not None:
            raise ValueError("no_verdict is given although there is a verdict")
        if isinstance(self.verdict, Grade):
            if len(self.order) != 1:
                raise ValueError(f"a grade judges one response, but {len(self.order)} were shown")
            return self
        _check_known(self.verdict.ids, responses, "verdict")
        if isinstance(self.verdict, Ranking) and len(self.verdict.ids) < 2:
            raise ValueError("a ranking needs at least two responses")
        unseen = [name for name in self.verdict.ids if name not in self.order]
        if unseen:
            raise ValueError(f"verdict names {', '.join(unseen)}, which order says the judge was not shown")
        return self

    @property
    def shown_labels(self) -> tuple[str, ...]:
        """What the judge called the responses, by position.

        Where the ids are neutral labels themselves (A, B; 1, 2; A0, A1) the judge saw them in their natural
        order whatever response stood there: with order ``["B", "A"]`` it saw response B as "A". Other ids
        (model names, say) were hidden behind A, B, C...
        """
        if self.labels is not None:
            return self.labels
        if all(_NEUTRAL_LABEL.fullmatch(name) for name in self.item.responses):
            return tuple(sorted(self.order, key=_natural))
        return tuple(letters(i) for i in range(len(self.order)))

    @property
    def correct(self) -> bool | None:
        """Whether the verdict names the labelled winner; None without a verdict, a label, or a labelled winner.

        A tie verdict on an item that has a winner is not correct.
        """
        label, verdict = self.item.label, self.verdict
        if label is None or verdict is None or isinstance(verdict, Grade) or isinstance(label, Grade):
            return None
        if label.winner is None:
            return verdict.winner is None if label.is_tie else None
        return verdict.winner == label.winner

    @cached_property
    def digest(self) -> str:
        """Digest of the whole record."""
        return digest(self.model_dump(mode="json"))

    @cached_property
    def vetting_digest(self) -> str:
        """Digest of what vetting depends on: not the label, the models' names or the caller's own data."""
        data = self.model_dump(mode="json", exclude={"meta": True, "item": {"label", "models"}})
        return digest(data)


def letters(index: int) -> str:
    """0 -> A, 25 -> Z, 26 -> AA, as columns of a spreadsheet are counted."""
    name = ""
    index += 1
    while index:
        index, rest = divmod(index - 1, 26)
        name = chr(ord("A") + rest) + name
    return name


def _natural(name: str) -> tuple[str, int]:
    head = name.rstrip("0123456789")
    return head, int(name[len(head) :] or 0)


def _check_known(names: Any, responses: dict[str, str], what: str) -> None:
    unknown = [name for name in names if name not in responses]
    if unknown:
        raise ValueError(
            f"{what} names {', '.join(map(repr, unknown))}, but the item's responses are {', '.join(responses)}"
        )
