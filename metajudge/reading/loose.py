"""A judgment from loose data: a question, responses and a verdict, with ids and judge where they are known."""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BeforeValidator, Field, TypeAdapter

from metajudge.reading.conversations import apart
from metajudge.reading.vocabulary import NoVerdict, UnknownValueError, Vocabulary
from metajudge.types.digests import digest
from metajudge.types.frozen import Data, Frozen
from metajudge.types.judgment import BESIDE, Judgment, Message, NonEmpty, ResponseId, Scale, letters
from metajudge.types.verdict import AnyVerdict

UNKNOWN: Final = "unknown"
"""The judge of a verdict that names none."""
_OF_ITEM: Final = (
    "question",
    "responses",
    "category",
    "reference",
    "scale",
    "models",
    "conversation",
    "question_id",
    "replies",
)
_OF_JUDGMENT: Final = ("rationale", "order", "instruction", "meta", "no_verdict")


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
    grade, true, false or a word. A bare number about several responses is refused, unless it is an id.
    """

    question: str
    responses: Annotated[
        dict[ResponseId, str],
        BeforeValidator(_by_id, json_schema_input_type=list[str] | dict[str, str]),
        Field(min_length=1, description="Texts, which are named A, B, ..., or id -> text."),
    ]
    verdict: Any
    no_verdict: NonEmpty | None = Field(default=None, description="Why `verdict` is null.")
    rationale: str = ""
    judge: NonEmpty | None = Field(default=None, description=f"Default: `{UNKNOWN}`.")
    id: NonEmpty | None = Field(default=None, description="Default: the digest of the content.")
    item_id: NonEmpty | None = Field(default=None, description="Default: the digest of question and responses.")
    category: str | None = None
    label: Any = Field(default=None, description="What is right, read as the verdict is.")
    reference: str | None = None
    models: dict[str, str] | None = None
    scale: Scale | None = None
    conversation: tuple[Message, ...] = ()
    replies: dict[ResponseId, tuple[Message, ...]] | None = None
    question_id: NonEmpty | None = None
    order: tuple[ResponseId, ...] = ()
    instruction: str | None = None
    meta: Data[dict[str, Any]] = Field(default_factory=dict)

    def record(self) -> dict[str, Any]:
        """The same as a full record.

        Raises:
            ValueError: a verdict or a label that means nothing here.
        """
        plain = self.model_dump(mode="json")
        item = {name: plain[name] for name in _OF_ITEM if plain[name]} | {"question": self.question}
        label = None if self.label is None else self._read("label", self.label)
        if label is not None and not isinstance(label, NoVerdict):
            item["label"] = label.to_json()
        found = {name: plain[name] for name in _OF_JUDGMENT if plain[name]} | {"judge": self.judge or UNKNOWN}
        said = None if self.verdict is None else self._read("verdict", self.verdict)
        if isinstance(said, NoVerdict):
            found = {"no_verdict": said.reason} | found
        found["verdict"] = None if said is None or isinstance(said, NoVerdict) else said.to_json()
        item["id"] = self.item_id or digest({name: one for name, one in item.items() if name not in BESIDE})
        content = {name: one for name, one in found.items() if name != "meta"} | {"item": item["id"]}
        defaulted = [name for name in ("judge", "id", "item_id") if getattr(self, name) is None]
        return {**found, "item": item, "id": self.id or digest(content), "defaulted": defaulted}

    def _read(self, name: Literal["verdict", "label"], value: Any) -> AnyVerdict | NoVerdict:
        words = Vocabulary({}, categories=True, column=name)
        try:
            return words.read(value, tuple(self.responses), self.models or {}, self.scale)
        except UnknownValueError as error:
            raise ValueError(f"{name}: {error}") from None


def _completed(given: Any) -> Any:
    """Loose data as a full record; anything else as it is."""
    if isinstance(given, Mapping) and "item" not in given and not {"question", "responses"}.isdisjoint(given):
        return LooseJudgment.model_validate(given).record()
    return given


GivenJudgment = Annotated[
    Judgment, BeforeValidator(_completed, json_schema_input_type=Judgment | LooseJudgment), AfterValidator(apart)
]
"""A judgment as callers give it: a full record, or loose data; thoughts of models are set apart from its texts."""

JUDGMENTS: Final = TypeAdapter[Judgment](GivenJudgment)
"""Reads a judgment that a caller gives; every way in takes it."""
