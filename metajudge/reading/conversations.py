"""Conversations as texts: from lists of messages to one question and its answers, in whatever column or export.

A conversation of one turn gives the user's message and the assistant's, as they are. One of several turns gives all of
the user's turns as the question and all of the assistant's as the response, each with its number and role, up to the
turn that was judged. A later answer is never paired with an earlier question: a record with ambiguous
turns is rejected with the reason.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

import orjson

from metajudge.reading.containers.lines import BadLine

Role = Literal["user", "assistant", "system"]

_ROLES: Final[Mapping[str, Role]] = {
    **dict.fromkeys(("user", "human", "prompter"), "user"),
    **dict.fromkeys(("assistant", "ai", "gpt", "model", "bot", "chatbot"), "assistant"),
    **dict.fromkeys(("system", "developer"), "system"),
}


@dataclass(frozen=True, slots=True)
class Turn:
    """A user's message and the assistant's answer."""

    user: str
    assistant: str


@dataclass(frozen=True, slots=True)
class Conversation:
    """Whole turns of a user and an assistant.

    Attributes:
        turns: at least one.
        system: the system's message before them; None without one.
    """

    turns: tuple[Turn, ...]
    system: str | None = None

    @property
    def asked(self) -> tuple[str | None, tuple[str, ...]]:
        """What the assistant was given, without its own words."""
        return self.system, tuple(turn.user for turn in self.turns)

    def upto(self, turn: int | None) -> "Conversation":
        """The conversation as it was when a turn was judged; all of it for None.

        Raises:
            BadLine: it has fewer turns.
        """
        if turn is None:
            return self
        if turn > len(self.turns):
            raise BadLine(f"turn {turn} is judged, and the conversation has {len(self.turns)}")
        return Conversation(self.turns[:turn], self.system)

    def question(self) -> str:
        """The user's only message as it is; of several turns, each with its number, after the system's message."""
        if len(self.turns) == 1:
            user = self.turns[0].user
            return user if self.system is None else f"system: {self.system}\n\nuser: {user}"
        turns = [f"[turn {number}] user: {turn.user}" for number, turn in enumerate(self.turns, start=1)]
        return "\n\n".join(turns if self.system is None else [f"system: {self.system}", *turns])

    def answer(self) -> str:
        """The assistant's only message as it is; of several turns, each with its number."""
        if len(self.turns) == 1:
            return self.turns[0].assistant
        turns = (f"[turn {number}] assistant: {turn.assistant}" for number, turn in enumerate(self.turns, start=1))
        return "\n\n".join(turns)


def is_chat(value: Any) -> bool:
    """Whether a value is a list of messages."""
    return isinstance(value, list) and bool(value) and all(isinstance(one, dict) and "content" in one for one in value)


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
    chats = {
        name: [
            message
            for asked, answered in zip(question, texts, strict=True)
            for message in ({"role": "user", "content": asked or ""}, {"role": "assistant", "content": answered or ""})
        ]
        for name, texts in answers.items()
    }
    return next(iter(chats.values())), dict(chats)


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(one is None or isinstance(one, str) for one in value)


class Exchange(NamedTuple):
    """What was asked and what was answered, as texts, each answer by its id.

    Attributes:
        messages: those that the question writes, as (role, text); none where it is one text.
    """

    question: str
    answers: dict[str, str]
    messages: tuple[tuple[str, str], ...]


def exchange(question: Any, answers: Mapping[str, Any], turn: int | None = None) -> Exchange:
    """What was asked and what was answered, from cells that may contain conversations.

    Args:
        question: a text, or a list of messages: what was asked so far, or the conversation that an answer contains too.
        answers: response id -> a text, a list with one message, or a whole conversation.
        turn: the turn that was judged, from 1; None for the last one.

    Raises:
        BadLine: the parts do not make one conversation: other user's turns on one side, a question that is none of
            them, roles that are unknown between several turns, a turn that is not there.
    """
    found = {name: conversation_of(value) for name, value in answers.items()}
    spoken = {name: one.upto(turn) for name, one in found.items() if one is not None}
    if not spoken:
        asked = sum(_role(one) == "user" for one in question) if is_chat(question) else turn
        if turn is not None and asked != turn:
            raise BadLine(f"turn {turn} is judged, and the question contains {asked} of the user's turns")
        texts = {name: text_of(value, answer=True) for name, value in answers.items()}
        return Exchange(text_of(question), texts, messages(question))
    first = next(iter(spoken.values()))
    other = next((name for name, one in spoken.items() if one.asked != first.asked), None)
    if other is not None:
        raise BadLine(
            f"the user's turns in responses.{other} are not those in responses.{next(iter(spoken))}: the answers "
            "belong to different conversations"
        )
    if len(first.turns) > 1 and len(spoken) < len(answers):
        alone = next(name for name in answers if name not in spoken)
        raise BadLine(
            f"responses.{alone} is one answer, and responses.{next(iter(spoken))} a conversation of "
            f"{len(first.turns)} turns"
        )
    texts = {
        name: spoken[name].answer() if name in spoken else text_of(value, answer=True)
        for name, value in answers.items()
    }
    whole = next(one for one in found.values() if one is not None)
    system = () if first.system is None else (("system", first.system),)
    said = (*system, *(("user", one.user) for one in first.turns))
    return Exchange(_question(question, first, whole), texts, said if len(said) > 1 else ())


def messages(value: Any) -> tuple[tuple[str, str], ...]:
    """Several messages as (role, text); none where a value is no list of them."""
    several = value if is_chat(value) and len(value) > 1 else ()
    return tuple((str(one.get("role") or one.get("from") or "message"), text_of(one["content"])) for one in several)


def conversation_of(value: Any) -> Conversation | None:
    """A list of messages as turns; None for what is no list of several messages.

    With one message of a user, anything between it and the last answer (a tool's calls, say) is left out.

    Raises:
        BadLine: the list does not end with an answer; or it has several turns, and roles that are unknown.
    """
    if not is_chat(value) or len(value) == 1:
        return None
    roles = [_role(one) for one in value]
    users = roles.count("user")
    if roles[-1] != "assistant":
        raise BadLine(
            f"the conversation ends with a message of {_named(value[-1])}, not with an answer of the assistant"
        )
    if users == 0:
        if roles.count("assistant") > 1:
            raise BadLine("the messages are several answers of an assistant, and the question is missing")
        return None
    system, body = (text_of(value[0]["content"]), value[1:]) if roles[0] == "system" else (None, value)
    if users == 1:
        user = next(one for one, role in zip(value, roles, strict=True) if role == "user")
        return Conversation((Turn(text_of(user["content"]), text_of(value[-1]["content"])),), system)
    turns = []
    for number in range(0, len(body), 2):
        pair = body[number : number + 2]
        if [_role(one) for one in pair] != ["user", "assistant"]:
            strange = next(one for one, role in zip(pair, ("user", "assistant"), strict=False) if _role(one) != role)
            raise BadLine(
                f"the conversation has {users} turns, and a message of {_named(strange)} where user and assistant "
                "would alternate, so no answer can be matched to its question; map question and answers as texts"
            )
        turns.append(Turn(text_of(pair[0]["content"]), text_of(pair[1]["content"])))
    return Conversation(tuple(turns), system)


def text_of(value: Any, *, answer: bool = False) -> str:
    """A cell as text: messages as ``role: text``, a single one as its text; other nested data as JSON.

    Args:
        value: text, number, list of messages, or anything that JSON can contain.
        answer: whether it is a response: of messages it is then the last one.
    """
    if isinstance(value, str):
        return value
    if is_chat(value):
        if answer or len(value) == 1:
            return text_of(value[-1]["content"])
        return "\n\n".join(f"{role}: {text}" for role, text in messages(value))
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value).strip()
    return orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS, default=str).decode()


def _question(given: Any, judged: Conversation, whole: Conversation) -> str:
    """The question beside conversations: of several turns, always the conversation's own.

    Raises:
        BadLine: what is mapped to the question is not part of the conversation.
    """
    if is_chat(given) and _role(given[-1]) == "assistant":
        return judged.question()  # the column of the conversation itself
    text = text_of(given)
    if len(judged.turns) == 1:
        later = {turn.user.strip() for turn in whole.turns[1:]} - {whole.turns[0].user.strip()}
        if text.strip() in later:
            raise BadLine("the question is that of a later turn than the one that was judged")
        return text
    known = {*(turn.user.strip() for turn in whole.turns), (judged.system or "").strip()}
    if is_chat(given) or text.strip() in known:
        return judged.question()
    raise BadLine(
        f"the question is none of the user's {len(judged.turns)} turns in the conversation: map question to the column "
        "of the conversation"
    )


def _role(message: Mapping[str, Any]) -> Role | None:
    name = message.get("role") or message.get("from") or message.get("type")
    return _ROLES.get(name.strip().lower()) if isinstance(name, str) else None


def _named(message: Mapping[str, Any]) -> str:
    name = message.get("role") or message.get("from") or message.get("type")
    return f"the role {name!r}" if name else "no role"
