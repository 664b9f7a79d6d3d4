"""Conversations: from lists of messages to what was asked and what was answered, in whatever column or export.

A turn is a message of the user and all that follows up to the next one: calls of tools, what they gave, what was said.
Where all responses share what came before the judged turn, that is the question, and the judged turn's answer is
the response; where they do not, a response begins where they part. A later answer is never paired with an earlier
question: a record with ambiguous turns is rejected with the reason.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from metajudge.providers.thoughts import split_thoughts
from metajudge.reading.containers.lines import BadLine
from metajudge.reading.messages import Said, chat_in, is_chat, named, role_of, said_in, text_of, transcript
from metajudge.types import Item, Judgment, Message

__all__ = ["Exchange", "apart", "chat_in", "exchange", "in_turns", "is_chat", "messages", "text_of", "transcript"]

REASONING = "reasoning"
"""Where a thought is kept: in ``metadata`` of a response, in ``meta`` of a judgment."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """Whole turns.

    Attributes:
        head: what came before the first turn, such as the system's message.
        turns: at least one, each from the user's message on.
    """

    head: tuple[Said, ...]
    turns: tuple[tuple[Said, ...], ...]

    @property
    def asked(self) -> tuple[Message, ...]:
        """What the assistant was given, without its own words."""
        return (*(one.message for one in self.head), *(turn[0].message for turn in self.turns))

    @property
    def said(self) -> tuple[Said, ...]:
        """All messages."""
        return (*self.head, *(one for turn in self.turns for one in turn))

    def upto(self, turn: int | None) -> "Conversation":
        """The conversation as it was when a turn was judged; all of it for None.

        Raises:
            BadLine: it has fewer turns.
        """
        if turn is not None and turn > len(self.turns):
            raise BadLine(f"turn {turn} is judged, and the conversation has {len(self.turns)}")
        return Conversation(self.head, self.turns[:turn])


def in_turns(question: Any, answers: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Lists of texts, one text a turn, as conversations; a list of one text as that text, anything else as it is.

    Args:
        question: a list of the user's texts.
        answers: response id -> a list of the assistant's texts, as many.

    Raises:
        BadLine: the lists have different lengths.
    """
    if not _are_texts(question) or not all(map(_are_texts, answers.values())):
        return question, dict(answers)
    for name, texts in answers.items():
        if len(texts) != len(question):
            raise BadLine(f"the question has {len(question)} turns, and responses.{name} has {len(texts)}")
    if len(question) == 1:
        return question[0] or "", {name: texts[0] or "" for name, texts in answers.items()}
    chats = {name: chat_of(zip(question, texts, strict=True)) for name, texts in answers.items()}
    return next(iter(chats.values())), dict(chats)


def chat_of(turns: Iterable[tuple[str | None, str | None]]) -> list[dict[str, str]]:
    """Texts of a user and of an assistant by turns, as a list of messages."""
    return [
        {"role": role, "content": text or ""}
        for turn in turns
        for role, text in zip(("user", "assistant"), turn, strict=True)
    ]


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(one is None or isinstance(one, str) for one in value)


class Exchange(NamedTuple):
    """What was asked and what was answered, as texts, each answer by its id.

    Attributes:
        conversation: the messages that the question writes; none where it is one text.
        replies: response id -> its messages, of those that are more than one text.
        thoughts: response id -> what was thought before it was given.
    """

    question: str
    answers: dict[str, str]
    conversation: tuple[Message, ...] = ()
    replies: Mapping[str, tuple[Message, ...]] = {}
    thoughts: Mapping[str, str] = {}

    def beside(self) -> dict[str, Any]:
        """The fields of an item beside its texts, those that say anything."""
        found = {"conversation": self.conversation, "replies": self.replies, "metadata": self.metadata()}
        return {name: value for name, value in found.items() if value}

    def metadata(self, known: Mapping[str, Mapping[str, Any]] | None = None) -> dict[str, dict[str, Any]] | None:
        """What is known of the responses, with the thoughts."""
        thoughts = {name: {REASONING: text} for name, text in self.thoughts.items()}
        return {
            name: {**(known or {}).get(name, {}), **thoughts.get(name, {})} for name in [*(known or {}), *thoughts]
        } or None


def exchange(question: Any, answers: Mapping[str, Any], turn: int | None = None) -> Exchange:
    """What was asked and what was answered, from cells that may contain conversations.

    Args:
        question: a text, or a list of messages: what was asked so far, or the conversation that an answer contains too.
        answers: response id -> a text, a list with the messages of the answer, or a whole conversation.
        turn: the turn that was judged, from 1; None for the last one.

    Raises:
        BadLine: the parts do not make one conversation: other user's turns on one side, a question that is none of
            them, roles that are unknown between several turns, a turn that is not there.
    """
    if type(question) is str and all(type(value) is str for value in answers.values()):
        return Exchange(question, dict(answers))
    found = {name: _conversation_of(value) for name, value in answers.items()}
    spoken = {name: one.upto(turn) for name, one in found.items() if one is not None}
    tails = {name: _reply(value) for name, value in answers.items() if name not in spoken}
    if not spoken:
        asked = sum(role_of(one) == "user" for one in question) if is_chat(question) else turn
        if turn is not None and asked != turn:
            raise BadLine(f"turn {turn} is judged, and the question contains {asked} of the user's turns")
        history = tuple(said_in(question)) if is_chat(question) else ()
        return _exchange(text_of(question), history, tails)
    first = _same_asked(spoken, answers)
    history = _shared([one.said for one in spoken.values()])
    tails |= {name: one.said[len(history) :] for name, one in spoken.items()}
    whole = next(one for one in found.values() if one is not None)
    text = _question(question, first, whole)
    asked_of = transcript([one.message for one in history]) if text is None else text
    return _exchange(asked_of, history, {name: tails[name] for name in answers})


def messages(value: Any) -> tuple[Message, ...]:
    """Several messages; none where a value is no list of them."""
    return tuple(one.message for one in said_in(value)) if is_chat(value) and len(value) > 1 else ()


def with_more(conversation: tuple[Message, ...], question: str) -> tuple[Message, ...]:
    """The messages of a question that goes on behind them, with passages to answer from, say."""
    text = transcript(conversation)
    if not conversation or question == text or not question.startswith(text):
        return conversation
    last = conversation[-1]
    return (*conversation[:-1], last.model_copy(update={"content": last.content + question[len(text) :]}))


def apart(judgment: Judgment) -> Judgment:
    """A judgment whose texts are without the thoughts of models, which are kept in ``metadata`` and ``meta``."""
    global _last_apart
    if _last_apart is None or _last_apart[0] is not judgment.item:
        _last_apart = judgment.item, item_apart(judgment.item)
    item, rationale = _last_apart[1], judgment.rationale
    thought, rationale = split_thoughts(rationale) if _may_think(rationale) else ("", rationale)
    if not thought:
        return judgment if item is judgment.item else judgment.model_copy(update={"item": item})
    meta = {REASONING: thought.strip()} | judgment.meta
    return judgment.model_copy(update={"item": item, "rationale": rationale, "meta": meta})


def item_apart(item: Item) -> Item:
    """An item whose responses are without thoughts; the item itself where there are none."""
    texts = {name: text for name, text in item.responses.items() if _may_think(text)}
    split = {name: split_thoughts(text) for name, text in texts.items() if name not in (item.replies or ())}
    thoughts = {name: one.thought.strip() for name, one in split.items() if one.thought}
    if not thoughts:
        return item
    responses = item.responses | {name: split[name].answer for name in thoughts}
    known = Exchange("", {}, thoughts=thoughts).metadata(item.metadata)
    return item.model_copy(update={"responses": responses, "metadata": known})


def thinks(judgment: Judgment) -> bool:
    """Whether a thought is kept beside its texts."""
    known = judgment.item.metadata
    return REASONING in judgment.meta or (known is not None and any(REASONING in one for one in known.values()))


_last_apart: tuple[Item, Item] | None = None
"""The item of the last judgment, and the same without thoughts: judgments of one item follow each other."""
_MARKS: Final = (
    *("hink>", "hinking>", "hought>", "houghts>", "easoning>", "eflection>", "THINK", "_thought|>", "hinking|>"),
    *("channel", "inner_suffix", "think\u25b7"),
)


def _may_think(text: str) -> bool:
    """Whether a text may contain a thought, by the ends of its marks: found far faster than the marks themselves."""
    return ("<" in text or "[" in text or "\u25c1" in text) and any(mark in text for mark in _MARKS)


def _exchange(question: str, history: Sequence[Said], tails: Mapping[str, Sequence[Said]]) -> Exchange:
    """With the texts of the responses, and the messages of those that one text cannot give back."""
    replies = {name: tuple(one.message for one in said) for name, said in tails.items()}
    thoughts = {
        name: text
        for name, said in tails.items()
        if (text := "\n\n".join(one.thought for one in (*history, *said) if one.thought))
    }
    conversation = tuple(one.message for one in history)
    return Exchange(
        question,
        {name: transcript(said) for name, said in replies.items()},
        conversation if len(conversation) > 1 else (),
        {name: said for name, said in replies.items() if len(said) > 1 or said[0].tool_calls},
        thoughts,
    )


def _same_asked(spoken: Mapping[str, Conversation], answers: Mapping[str, Any]) -> Conversation:
    """The first conversation, where all are answers to the same.

    Raises:
        BadLine: they are not.
    """
    start, first = next(iter(spoken.items()))
    other = next((name for name, one in spoken.items() if one.asked != first.asked), None)
    if other is not None:
        raise BadLine(
            f"the user's turns in responses.{other} are not those in responses.{start}: the answers "
            "belong to different conversations"
        )
    alone = next((name for name in answers if name not in spoken), None)
    if len(first.turns) > 1 and alone is not None:
        raise BadLine(
            f"responses.{alone} is one answer, and responses.{start} a conversation of {len(first.turns)} turns"
        )
    return first


def _shared(several: Sequence[Sequence[Said]]) -> tuple[Said, ...]:
    """What conversations have in common from the beginning, up to a message of the user."""
    shared = 0
    for number, said in enumerate(zip(*several, strict=False), start=1):
        if any(one.message != said[0].message for one in said):
            break
        if said[0].message.role == "user":
            shared = number
    return tuple(several[0][:shared])


def _reply(value: Any) -> tuple[Said, ...]:
    """The messages of an answer alone: of several only those that go with calls of tools, else the last one."""
    if not is_chat(value):
        return (Said(Message(role="assistant", content=text_of(value))),)
    said = said_in(value)
    first = next((place for place, one in enumerate(said) if one.message.role == "assistant"), len(said) - 1)
    return tuple(said[first:] if _acts(said) else said[-1:])


def _acts(said: Sequence[Said]) -> bool:
    return any(one.message.tool_calls or one.message.role == "tool" for one in said)


def _conversation_of(value: Any) -> Conversation | None:
    """A list of messages as turns; None for what is no list of several messages with one of a user.

    Raises:
        BadLine: the list does not end with an answer; or it has several turns, and roles that are unknown.
    """
    if not is_chat(value) or len(value) == 1:
        return None
    said = said_in(value)
    starts = [place for place, one in enumerate(said) if one.message.role == "user"]
    tail = said[starts[-1] + 1 if starts else 0 :]
    answered = role_of(value[-1]) in ("assistant", "tool") and any(one.message.role == "assistant" for one in tail)
    if not answered:
        raise BadLine(
            f"the conversation ends with a message of {named(value[-1])}, not with an answer of the assistant"
        )
    if not starts:
        if not _acts(said) and sum(one.message.role == "assistant" for one in said) > 1:
            raise BadLine("the messages are several answers of an assistant, and the question is missing")
        return None
    strange = [*(one for one in value if role_of(one) is None), *_unanswered(said, starts)]
    if len(starts) > 1 and strange:
        raise BadLine(
            f"the conversation has {len(starts)} turns, and a message of {named(strange[0])} where user and assistant "
            "would alternate, so no answer can be matched to its question; map question and answers as texts"
        )
    ends = [*starts[1:], len(said)]
    turns = tuple(tuple(said[start:end]) for start, end in zip(starts, ends, strict=True))
    return Conversation(tuple(said[: starts[0]]), turns)


def _unanswered(said: Sequence[Said], starts: Sequence[int]) -> list[dict[str, str]]:
    """The user's messages that follow another one without an answer."""
    return [{"role": "user"} for place in starts[1:] if said[place - 1].message.role in ("user", "system")]


def _question(given: Any, judged: Conversation, whole: Conversation) -> str | None:
    """The question beside conversations; None where it is what they have in common.

    Raises:
        BadLine: what is mapped to the question is not part of the conversation.
    """
    if is_chat(given) and role_of(given[-1]) == "assistant":
        return None  # the column of the conversation itself
    texts = [one.message.content.strip() for one in said_in(given)] if is_chat(given) else [text_of(given).strip()]
    if len(judged.turns) == 1:
        later = {turn[0].message.content.strip() for turn in whole.turns[1:]} - {
            judged.turns[0][0].message.content.strip()
        }
        if texts[-1] in later:
            raise BadLine("the question is that of a later turn than the one that was judged")
        whole_asked = judged.head and texts == [judged.turns[0][0].message.content.strip()]
        return None if whole_asked else text_of(given)
    if is_chat(given) or texts[0] in {one.content.strip() for one in (*judged.asked, *whole.asked)}:
        return None
    raise BadLine(
        f"the question is none of the user's {len(judged.turns)} turns in the conversation: map question to the column "
        "of the conversation"
    )
