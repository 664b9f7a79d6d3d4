"""A judgment from loose data: a question, responses and a verdict, with ids and judge where they are known."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BeforeValidator, Field, TypeAdapter

from metajudge.reading.containers.cells import key_of
from metajudge.reading.conversations import apart
from metajudge.reading.vocabulary import NoVerdict, UnknownValueError, Vocabulary, beside
from metajudge.types.digests import digest
from metajudge.types.frozen import Data, Frozen
from metajudge.types.judgment import BESIDE, Id, Judgment, Message, NonEmpty, ResponseId, Scale, letters
from metajudge.types.verdict import AnyVerdict, Pairwise
from metajudge.types.written import written

UNKNOWN: Final = "unknown"
"""The judge of a verdict that names none."""
_OF_ITEM: Final = ("category", "reference", "scale", "models", "conversation", "question_id", "replies")
_OF_JUDGMENT: Final = ("rationale", "order", "instruction", "meta", "no_verdict")
_PAIR: Final = ("A", "B")


class UnclearError(ValueError):
    """A verdict or a label that means nothing: its field, the value as text, and what says what it means."""

    def __init__(self, field: str, key: str, reason: str) -> None:
        super().__init__(f"{field}: {reason}; `values` says what it means: {{{key!r}: MEANING}}")
        self.field, self.key, self.reason = field, key, reason


def _by_id(given: Any) -> Any:
    """Responses by their ids: A, B, ... for those of a list."""
    if isinstance(given, list | tuple):
        return {letters(at): text for at, text in enumerate(given)}
    if isinstance(given, Mapping):
        return given
    raise ValueError(f"found a {type(given).__name__}: give a list of texts (named A, B, ...) or an object id -> text")


class LooseJudgment(Frozen):
    """A verdict as a caller has it; what is missing of the ids and the judge is filled in and named in ``defaulted``.

    ``verdict`` is read as files' are: a response's id, ``A>B``, ``A>>B``, ``tie``, a ranking; of a single response a
    grade, true, false or a word. A bare number about several responses is refused, unless it is an id. Question and
    responses may both be left out where ``item_id`` says which item it is: no texts are known then.
    """

    question: str | None = None
    responses: (
        Annotated[
            dict[ResponseId, str],
            BeforeValidator(_by_id, json_schema_input_type=list[str] | dict[str, str]),
            Field(min_length=1, description="Texts, which are named A, B, ..., or id -> text."),
        ]
        | None
    ) = None
    verdict: Any
    values: dict[str, str] = Field(default_factory=dict, description="Word -> what it means: an id, `tie`, `none`, ...")
    no_verdict: NonEmpty | None = Field(default=None, description="Why `verdict` is null.")
    rationale: str = ""
    judge: NonEmpty | None = Field(default=None, description=f"Default: `{UNKNOWN}`.")
    id: Id | None = Field(default=None, description="Default: the digest of the content.")
    item_id: Id | None = Field(default=None, description="Default: the digest of question and responses.")
    category: str | None = None
    label: Any = Field(default=None, description="What is right, read as the verdict is.")
    reference: str | None = None
    models: dict[str, str] | None = None
    scale: Scale | None = None
    conversation: tuple[Message, ...] = ()
    replies: dict[ResponseId, tuple[Message, ...]] | None = None
    question_id: Id | None = None
    order: tuple[ResponseId, ...] = ()
    instruction: str | None = None
    meta: Data[dict[str, Any]] = Field(default_factory=dict)

    def record(self) -> dict[str, Any]:
        """The same as a full record.

        Raises:
            ValueError: a verdict or a label that means nothing here, or a question without responses.
        """
        if self.question is None and self.responses is not None:
            raise ValueError("the question is missing: give question and responses, or item_id and neither")
        plain = self.model_dump(mode="json")
        responses = self.responses if self.responses is not None else dict.fromkeys(self._unsaid(), "")
        item = {name: plain[name] for name in _OF_ITEM if plain[name]}
        item |= {"question": self.question or "", "responses": responses}
        label = None if self.label is None else self._read("label", self.label, tuple(responses))
        if label is not None and not isinstance(label, NoVerdict):
            item["label"] = label.to_json()
        found = {name: plain[name] for name in _OF_JUDGMENT if plain[name]} | {"judge": self.judge or UNKNOWN}
        said = None if self.verdict is None else self._read("verdict", self.verdict, tuple(responses))
        if isinstance(said, NoVerdict):
            found = {"no_verdict": said.reason} | found
        found["verdict"] = None if said is None or isinstance(said, NoVerdict) else said.to_json()
        item["id"] = self.item_id or digest({name: one for name, one in item.items() if name not in BESIDE})
        content = {name: one for name, one in found.items() if name != "meta"} | {"item": item["id"]}
        defaulted = [name for name in ("judge", "id", "item_id") if getattr(self, name) is None]
        return {**found, "item": item, "id": self.id or digest(content), "defaulted": defaulted}

    def _unsaid(self) -> Sequence[str]:
        """The ids of responses without texts: as models or order name them, else as many as the verdict compares."""
        if self.question is not None or self.item_id is None:
            raise ValueError("responses are missing: give question and responses, or item_id and neither")
        if named := (*(self.models or {}), *self.order):
            return sorted(set(named))
        said = self.label if self.verdict is None else self.verdict
        if key_of(said).upper() in _PAIR and key_of(said) not in self.values:
            raise UnclearError(
                "verdict", key_of(said), "it may be a response or a grade: write A>B, or name the models"
            )
        try:
            return _PAIR if isinstance(self._read("verdict", said, _PAIR), Pairwise) else _PAIR[:1]
        except UnclearError:
            return _PAIR[:1]

    def _read(self, name: Literal["verdict", "label"], value: Any, ids: Sequence[str]) -> AnyVerdict | NoVerdict:
        other = key_of(self.label if name == "verdict" else self.verdict)
        around = beside((), (other,) if written(other) is not None else ())
        words = Vocabulary(self.values, categories=True, column=name, beside=around, shown=bool(self.order))
        try:
            return words.read(value, ids, self.models or {}, self.scale)
        except UnknownValueError as error:
            raise UnclearError(name, key_of(value), str(error)) from None


def _completed(given: Any) -> Any:
    """Loose data as a full record; anything else as it is."""
    loose = {"question", "responses", "item_id"}
    if isinstance(given, Mapping) and "item" not in given and not loose.isdisjoint(given):
        return LooseJudgment.model_validate(given).record()
    return given


GivenJudgment = Annotated[
    Judgment, BeforeValidator(_completed, json_schema_input_type=Judgment | LooseJudgment), AfterValidator(apart)
]
"""A judgment as callers give it: a full record, or loose data; thoughts of models are set apart from its texts."""

JUDGMENTS: Final = TypeAdapter[Judgment](GivenJudgment)
"""Reads a judgment that a caller gives; every way in takes it."""
