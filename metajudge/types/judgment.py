"""An item, and one judge's judgment of it: the record that every reader produces and ``vet`` takes."""

import contextlib
import re
from functools import cached_property, lru_cache
from operator import not_
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias

from orjson import Fragment
from pydantic import BeforeValidator, Field, StringConstraints, model_validator

from metajudge.types.digests import json_bytes, raw_digest
from metajudge.types.frozen import Data, Frozen, left_out
from metajudge.types.label import Label, settled
from metajudge.types.no_answer import never_an_answer
from metajudge.types.right import DEFAULTS, Right, is_right
from metajudge.types.verdict import ID_PATTERN, AnyVerdict, Category, Grade, Ranking, Verdict, kind_of, parse_verdict

NonEmpty = Annotated[str, StringConstraints(min_length=1, pattern=r"\S")]
Name = Annotated[str, StringConstraints(min_length=1, pattern=r"\S", strip_whitespace=True)]
"""Who judged; white space around a name is no part of it."""
Id = Annotated[NonEmpty, BeforeValidator(lambda given: str(given) if type(given) is int else given)]
"""A text; a whole number in JSON is taken as its text."""
ResponseId = Annotated[str, StringConstraints(pattern=rf"^{ID_PATTERN}$")]

Defaulted: TypeAlias = Literal["judge", "id", "item_id"]
"""A field of a judgment that was filled in (:mod:`metajudge.reading.loose`)."""

Scale: TypeAlias = tuple[float, float] | tuple[NonEmpty, ...]
"""The lowest and the highest grade, or the categories; the order of categories is from worst to best."""

_NEUTRAL_LABEL = re.compile(r"[A-Z]|[A-Za-z]?\d{1,3}|[a-z]")

BESIDE = frozenset({"labels", "conversation", "metadata", "question_id"})
"""Fields of an item that are no part of what it is."""


class ToolCall(Frozen):
    """A call of a tool, in an assistant's message; its arguments as the text that the model wrote, mostly JSON."""

    name: NonEmpty
    arguments: str = "{}"
    id: str | None = left_out("What the message with the result names.")


class Message(Frozen):
    """One message of a conversation; what a tool answers has the role ``tool``."""

    role: NonEmpty
    content: str = ""
    tool_calls: tuple[ToolCall, ...] = left_out("The tools that an assistant calls.", ())
    tool_call_id: str | None = left_out("The call that a tool answers.")
    name: str | None = left_out("The tool that answers.")


class Item(Frozen):
    """A question and its candidate responses: one for grading, two for a pairwise verdict, K for a ranking.

    A response may be the empty string (a model may answer nothing); an item without responses is an error. Where the
    question and all responses are empty, no texts are kept (:attr:`has_texts`). ``labels``,
    ``conversation`` and ``metadata`` are no part of the item's digest: several records may carry labels of one item.
    A label by a word that stands for no answer (``"unsure"``) is left out, unless the scale has it.
    ``question_id`` is part of no digest at all: it says which items are no independent observations.
    A response of several messages is in ``responses`` as one text, with its calls and their results, and in
    ``replies`` as the messages; ``conversation`` are those before it. What a model thought before it answered is in
    ``metadata.ID.reasoning``.
    """

    id: Id
    question: str
    responses: dict[ResponseId, str] = Field(min_length=1)
    category: str | None = None
    label: Verdict | None = Field(default=None, description="Ground truth, in terms of response ids.")
    reference: str | None = Field(default=None, description="A reference answer, where there is one.")
    models: dict[str, Annotated[str, StringConstraints(strip_whitespace=True)]] | None = Field(
        default=None, description="Response id -> the model that wrote it."
    )
    labels: tuple[Label, ...] = left_out("What people say is right, one entry each.", ())
    scale: Scale | None = Field(
        default=None,
        description="For grades the lowest and the highest one, for ordered categories all of them, worst first.",
        exclude_if=not_,  # an empty one is none
    )
    conversation: tuple[Message, ...] = left_out("The messages that `question` contains as text.", ())
    replies: dict[ResponseId, tuple[Message, ...]] | None = left_out(
        "Response id -> its messages, where they are more than one text."
    )
    metadata: Data[dict[str, dict[str, Any]]] | None = left_out(
        "Response id -> what is known of it, such as tokens or latency."
    )
    question_id: Id | None = left_out("Items with the same one are one unit of dependence.")

    @model_validator(mode="before")
    @classmethod
    def _drop_silent_labels(cls, data: Any) -> Any:
        if not isinstance(data, dict) or not (data.get("label") or data.get("labels")):
            return data
        scale, found = data.get("scale"), dict(data)
        if _is_silent(found.get("label"), scale):
            del found["label"]
        if isinstance(labels := found.get("labels"), list | tuple):
            values = [one.get("value") if isinstance(one, dict) else None for one in labels]
            found["labels"] = [one for one, value in zip(labels, values, strict=True) if not _is_silent(value, scale)]
        return found

    @model_validator(mode="after")
    def _check(self) -> "Item":
        if self.label is not None:
            _check_known(self.label.ids, self.responses, "label")
        for one in self.labels:
            _check_known(one.value.ids, self.responses, "labels")
        if self.models is not None:
            _check_known(self.models, self.responses, "models")
        if self.metadata is not None:
            _check_known(self.metadata, self.responses, "metadata")
        _check_known(self.replies or (), self.responses, "replies")
        _check_scale(self.scale)
        return self

    @cached_property
    def truth(self) -> AnyVerdict | None:
        """What is right: ``label``, else what the people of ``labels`` say together; None where there is no label.

        See :func:`~metajudge.types.label.settled`.
        """
        return self.label if self.label is not None else settled(self.labels)

    @property
    def has_texts(self) -> bool:
        """Whether a question or a response is known; without them agents have nothing to read."""
        return bool(self.question) or any(self.responses.values())

    def label_problem(self, shown: int) -> str | None:
        """Why a label cannot be that of a verdict on so many responses; None where all can."""
        for value in (self.label, *(one.value for one in self.labels)):
            if isinstance(value, Category) and shown > 1:
                return f"label: {_several_shown(value, shown)}"
        return None

    @property
    def opening(self) -> str:
        """The question that a conversation of several turns opens with, else the question."""
        asked = [message.content for message in self.conversation if message.role == "user"]
        return asked[0] if len(asked) > 1 else self.question

    @cached_property
    def says_more(self) -> bool:
        """Whether it has one of the fields that are no part of what it is (:data:`BESIDE`)."""
        return any(getattr(self, name) for name in BESIDE)

    @property
    def characters(self) -> int:
        """Length of all its texts."""
        return len(self.question) + len(self.reference or "") + sum(map(len, self.responses.values()))

    @cached_property
    def words(self) -> dict[str, int]:
        """Response id -> its number of words."""
        return {name: count_words(text) for name, text in self.responses.items()}

    @cached_property
    def digest(self) -> str:
        """Digest of what the item is, without its id: two records with one id and two digests contradict each other."""
        return raw_digest(_item_json(self).content).hex()


class Judgment(Frozen):
    """One judge's output on an item.

    ``verdict`` is in terms of response ids, whatever labels the judge used. ``order`` lists the ids in the
    order in which the judge saw them (default: the order of ``item.responses``), ``labels`` what the judge
    called them, by position (default: see :attr:`shown_labels`). A word that is no verdict anywhere (``"timeout"``) is
    read as null with that reason; ``{"category": "timeout"}`` is a category all the same.
    """

    version: Literal[1] = Field(default=1, description="Version of this record's format.")
    id: Id
    item: Item
    judge: Name
    verdict: Verdict | None
    no_verdict: NonEmpty | None = Field(default=None, description="Why `verdict` is null; required then.")
    rationale: str = ""
    order: tuple[ResponseId, ...] = ()
    labels: tuple[NonEmpty, ...] | None = None
    instruction: str | None = Field(default=None, description="The instruction to the judge.")
    meta: Data[dict[str, Any]] = Field(default_factory=dict, description="The caller's own data, kept as it is.")
    defaulted: tuple[Defaulted, ...] = left_out("What the caller did not say: ids are digests then.", ())

    @model_validator(mode="before")
    @classmethod
    def _default_order(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        item = data.get("item")
        if isinstance(item, dict) and not {"question", "responses"} & item.keys() and (names := _named(data, item)):
            data = {**data, "item": (item := {**item, "question": "", "responses": dict.fromkeys(names, "")})}
        scale = item.scale if isinstance(item, Item) else item.get("scale") if isinstance(item, dict) else None
        if _is_silent(said := data.get("verdict"), scale):
            data = {**data, "verdict": None, "no_verdict": data.get("no_verdict") or silent_reason(str(said))}
        if not data.get("order"):
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
        problem = self.item.label_problem(len(self.order))
        if problem is not None:
            raise ValueError(problem)
        if self.labels is not None and len(set(self.labels)) != len(self.order):
            raise ValueError("labels must give one distinct label for each response in order")
        if self.verdict is None:
            if self.no_verdict is None:
                raise ValueError("verdict is null without a reason: say why in no_verdict")
            return self
        if self.no_verdict is not None:
            raise ValueError("no_verdict is given although there is a verdict")
        if isinstance(self.verdict, Grade | Category):
            if len(self.order) != 1:
                raise ValueError(_several_shown(self.verdict, len(self.order)))
            _check_on_scale(self.verdict, self.item.scale)
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
        return self.labels if self.labels is not None else _shown_as(tuple(self.item.responses), self.order)

    @property
    def shown(self) -> tuple[tuple[str, str], ...]:
        """(what the judge called a response, its id) by position."""
        if self.labels is not None:
            return tuple(zip(self.labels, self.order, strict=True))
        return _pairs_shown(tuple(self.item.responses), self.order)

    def right(self, rule: Right | None = None) -> bool | None:
        """Whether the verdict is right by :attr:`Item.truth`.

        Args:
            rule: what counts as right; None for the default of the verdict's kind
                (:data:`~metajudge.types.right.DEFAULTS`).

        Returns:
            None without a verdict or a truth, and where the rule cannot compare the two: a labelled tie has no winner.
        """
        truth, verdict = self.item.truth, self.verdict
        if truth is None or verdict is None:
            return None
        return is_right(verdict, truth, rule or DEFAULTS[kind_of(verdict)])

    @property
    def characters(self) -> int:
        """Length of all its texts."""
        return self.item.characters + len(self.rationale) + len(self.instruction or "")

    @cached_property
    def words(self) -> int:
        """Number of words of the rationale."""
        return count_words(self.rationale)

    @property
    def correct(self) -> bool | None:
        """:meth:`right` by the default rule of the verdict's kind."""
        return self.right()

    @cached_property
    def digest(self) -> str:
        """Digest of the whole record."""
        return self.digests[0]

    @cached_property
    def vetting_digest(self) -> str:
        """Digest of what vetting depends on: not labels, the models' names or the caller's own data."""
        return self.digests[1]

    @cached_property
    def digests(self) -> tuple[str, str]:
        """:attr:`digest` and :attr:`vetting_digest`, made together: both are of canonical JSON with common parts."""
        whole, vetted = self.raw_digests()
        return whole.hex(), vetted.hex()

    def raw_digest(self) -> bytes:
        """:attr:`digest` as 16 bytes, without the other one; it is made anew at each call."""
        return raw_digest(json_bytes(self._canonical()))

    def raw_digests(self) -> tuple[bytes, bytes]:
        """:attr:`digests` as 16 bytes each; they are made anew at each call."""
        record = self._canonical()
        whole = json_bytes(record)
        record["item"] = _item_json(self.item).vetted
        del record["meta"]
        return raw_digest(whole), raw_digest(json_bytes(record))

    def _canonical(self) -> dict[str, Any]:
        """The record in the order of its keys, as its digest is made of."""
        meta = self.model_dump(mode="json", include={"meta"})["meta"] if self.meta else {}
        return {
            "id": self.id,
            "instruction": self.instruction,
            "item": _item_json(self.item).whole,
            "judge": self.judge,
            "labels": self.labels,
            "meta": Fragment(json_bytes(meta, sort_keys=True)) if meta else meta,
            "no_verdict": self.no_verdict,
            "order": self.order,
            "rationale": self.rationale,
            "verdict": None if self.verdict is None else self.verdict.to_json(),
            "version": self.version,
        }


def _named(data: dict[str, Any], item: dict[str, Any]) -> list[str]:
    """The ids of the responses of an item that is given without texts, sorted; none where nothing names them."""
    order = data.get("order")
    if isinstance(order, list | tuple) and order:
        return sorted(set(map(str, order)))
    for said in (data.get("verdict"), item.get("label")):
        with contextlib.suppress(ValueError):
            if ids := parse_verdict(said).ids:
                return sorted(ids)
    return [] if data.get("verdict") is None else ["A"]


_SHAPE = bytes(ord(" " if chr(code).isspace() else "x") for code in range(128)) + bytes(128)


def count_words(text: str) -> int:
    """Number of words of a text, runs between white space."""
    if not text.isascii():
        return len(text.split())
    # The same, without making the words: the places where something else follows white space.
    shape = text.encode().translate(_SHAPE)
    return shape.count(b" x") + shape.startswith(b"x")


class _ItemJson(NamedTuple):
    """An item as canonical JSON: whole, what vetting depends on, and what it is."""

    whole: Fragment
    vetted: Fragment
    content: bytes


_NO_DIGEST = {"question_id"}
_NOT_VETTED = {"label", "models", *BESIDE}
_NO_CONTENT = {"id", *BESIDE}
_last_item: tuple[Item, _ItemJson] | None = None


def _item_json(item: Item) -> _ItemJson:
    """An item as canonical JSON; that of the last item is kept, as judgments of one item mostly follow each other."""
    global _last_item
    known = _last_item
    if known is None or known[0] is not item:
        data = item.model_dump(mode="json")
        fields = {name: b'"%b":%b' % (name.encode(), json_bytes(data[name], sort_keys=True)) for name in sorted(data)}
        whole, vetted, content = (
            b"{%b}" % b",".join([field for name, field in fields.items() if name not in left_out])
            for left_out in (_NO_DIGEST, _NOT_VETTED, _NO_CONTENT)
        )
        known = _last_item = (item, _ItemJson(Fragment(whole), Fragment(vetted), content))
    return known[1]


@lru_cache(maxsize=1_024)
def _shown_as(responses: tuple[str, ...], order: tuple[str, ...]) -> tuple[str, ...]:
    """The labels of responses by position; an input has few sets of ids and orders."""
    if all(_NEUTRAL_LABEL.fullmatch(name) for name in responses):
        return tuple(sorted(order, key=_natural))
    return tuple(letters(i) for i in range(len(order)))


@lru_cache(maxsize=1_024)
def _pairs_shown(responses: tuple[str, ...], order: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """The same with the ids: :attr:`Judgment.shown`."""
    return tuple(zip(_shown_as(responses, order), order, strict=True))


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


def silent_reason(word: str) -> str:
    """Why a judgment with a verdict that stands for no answer has none."""
    return f"the verdict is {word.strip()!r}, which stands for no answer"


def _is_silent(value: Any, scale: Any) -> bool:
    """Whether a verdict or a label in JSON is a word for no answer, which the scale does not have."""
    if not isinstance(value, str) or not value.strip() or not never_an_answer(value):
        return False
    return not (isinstance(scale, list | tuple) and value.strip() in scale)


def _check_known(names: Any, responses: dict[str, str], what: str) -> None:
    unknown = [name for name in names if name not in responses]
    if unknown:
        raise ValueError(
            f"{what} names {', '.join(map(repr, unknown))}, but the item's responses are {', '.join(responses)}"
        )


def _check_scale(scale: Scale | None) -> None:
    if not scale:
        return
    if isinstance(scale[0], str):
        if len(scale) < 2 or len(set(scale)) < len(scale):
            raise ValueError(f"scale: {list(scale)} are not at least two different categories")
    elif not float(scale[0]) < float(scale[1]):
        raise ValueError(f"scale: the lowest grade {scale[0]:g} is not below the highest {scale[1]:g}")


def _check_on_scale(verdict: Grade | Category, scale: Scale | None) -> None:
    if not scale:
        return
    if isinstance(scale[0], str):
        if isinstance(verdict, Category) and isinstance(verdict.value, str) and verdict.value not in scale:
            raise ValueError(f"category {verdict} is not one of the scale's: {', '.join(map(str, scale))}")
    elif isinstance(verdict, Grade) and not float(scale[0]) <= verdict.value <= float(scale[1]):
        raise ValueError(f"grade {verdict} lies outside the scale {scale[0]:g} to {scale[1]:g}")


def _several_shown(verdict: Grade | Category, shown: int) -> str:
    if isinstance(verdict, Grade):
        return f"a grade judges one response, but {shown} were shown"
    return (
        f"{str(verdict)!r} is not a verdict on {shown} responses: write A>B, B>A or A=B, or a ranking; a word or "
        "a boolean is a verdict on a single response"
    )
