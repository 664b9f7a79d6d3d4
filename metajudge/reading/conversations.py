"""Conversations: from lists of messages to what was asked and what was answered, in whatever column or export.

Read are the messages of OpenAI (chat and responses), Anthropic, Gemini, ShareGPT, LangChain and Inspect. What is no
text becomes a reference, an address or a digest: no inline data goes into a record. A turn is a message of the user and
all that follows up to the next one. Where all responses share what came before the judged turn, that is the question,
and the judged turn's answer is the response; where they do not, a response begins where they part. A later answer is
never paired with an earlier question: a record with ambiguous turns is rejected.
"""

import base64
import binascii
import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile
from typing import Any, Final, NamedTuple, TypeAlias

import orjson

from metajudge.providers.thoughts import split_thoughts
from metajudge.reading.containers.cells import first_of, key_of, nested, parsed, text_in
from metajudge.reading.containers.lines import BadLine
from metajudge.types import Item, Judgment, Message, ToolCall

ROLES: Final[Mapping[str, str]] = {
    **dict.fromkeys(("user", "human", "prompter"), "user"),
    **dict.fromkeys(("assistant", "ai", "gpt", "model", "bot", "chatbot", "function_call", "reasoning"), "assistant"),
    **dict.fromkeys(("system", "developer"), "system"),
    **dict.fromkeys(("tool", "function", "observation", "tool_response", "tool_result", "ipython"), "tool"),
    **dict.fromkeys(("function_response", "function_call_output"), "tool"),
}
"""What a role is called -> its role here, which training libraries take."""
REASONING: Final = "reasoning"
"""Where a thought is kept: in ``metadata`` of a response, in ``meta`` of a judgment."""
_SAID: Final = ("content", "value", "parts", "output", "text")
_MORE: Final = ("tool_calls", "function_call", "arguments", "summary")
_CALLS: Final = frozenset(("tool_use", "tool_call", "function_call", "functionCall", "server_tool_use"))
_RESULTS: Final = frozenset(("tool_result", "function_response", "functionResponse", "function_call_output"))
_THOUGHTS: Final = ("reasoning_content", "reasoning", "thinking", "redacted_thinking")
_TEXTS: Final = frozenset(("text", "input_text", "output_text", "summary_text", "refusal"))
_SOURCES: Final = (
    *("image_url", "source", "inline_data", "inlineData", "file_data", "fileData", "input_audio", "image", "file"),
    *("audio", "video", "document"),
)
_PARTS: Final = frozenset(
    (*_TEXTS, *_CALLS, *_RESULTS, *_THOUGHTS, *_SOURCES, "input_image", "input_file", "video_url")
)
_INLINE: Final = re.compile(r"data:([\w.+/-]*)(?:;[\w=.-]+)*;base64,([A-Za-z0-9+/=_\s-]+)")
_HEAD: Final = re.compile(r"^(?=\\*(?:system|user|assistant|tool)(?: [^\n]*)?: )", re.MULTILINE)
_ENDS_OF_MARKS: Final = (
    *("hink>", "hinking>", "hought>", "houghts>", "easoning>", "eflection>", "THINK", "_thought|>", "hinking|>"),
    *("channel", "inner_suffix", "think\u25b7"),
)


class Said(NamedTuple):
    """A message, and what was thought before it."""

    message: Message
    thought: str = ""


def is_chat(value: Any) -> bool:
    """Whether a value is a list of messages."""
    return isinstance(value, list) and bool(value) and all(map(_is_message, value)) and not _are_parts(value)


def chat_in(value: Any) -> Any:
    """A text that is a list of messages with roles, or of the parts of one, as that; anything else as it is."""
    if not isinstance(value, str) or not value.lstrip().startswith("[") or "{" not in value:
        return value
    found = nested(value)
    return found if _are_parts(found) or (is_chat(found) and all(map(_role_of, found))) else value


def text_of(value: Any, *, answer: bool = False) -> str:
    """A cell as text: messages as one transcript, or the last one of an answer; other nested data as JSON."""
    if isinstance(value, str):
        return value
    if is_chat(value):
        spoken = [one.message for one in _said_in(value)]
        return _transcript(spoken[-1:] if answer else spoken)
    if _are_parts(value):
        return _content(value)
    if isinstance(value, int | float):
        return key_of(value) or "nan"
    return orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS, default=str).decode()


def messages(value: Any) -> tuple[Message, ...]:
    """Several messages; none where a value is no list of them."""
    return tuple(one.message for one in _said_in(value)) if is_chat(value) and len(value) > 1 else ()


def chat_of(turns: Iterable[tuple[str | None, str | None]]) -> list[dict[str, str]]:
    """Texts of a user and of an assistant by turns, as a list of messages."""
    roles = ("user", "assistant")
    return [{"role": role, "content": text or ""} for turn in turns for role, text in zip(roles, turn, strict=True)]


def in_turns(question: Any, answers: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Lists of texts, one text a turn, as conversations; a list of one text as that text, anything else as it is."""
    for value in (question, *answers.values()):
        if not isinstance(value, list) or not value or not all(one is None or isinstance(one, str) for one in value):
            return question, dict(answers)
    for name, texts in answers.items():
        if len(texts) != len(question):
            raise BadLine(f"the question has {len(question)} turns, and responses.{name} has {len(texts)}")
    if len(question) == 1:
        return question[0] or "", {name: texts[0] or "" for name, texts in answers.items()}
    chats = {name: chat_of(zip(question, texts, strict=True)) for name, texts in answers.items()}
    return next(iter(chats.values())), dict(chats)


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
        found = {name: dict(about) for name, about in (known or {}).items()}
        for name, text in self.thoughts.items():
            found.setdefault(name, {})[REASONING] = text
        return found or None


def exchange(question: Any, answers: Mapping[str, Any], turn: int | None = None) -> Exchange:
    """What was asked and what was answered, from cells that may contain conversations.

    Args:
        question: a text, or a list of messages: what was asked so far, or the conversation that an answer contains too.
        answers: response id -> a text, a list with the messages of the answer, or a whole conversation.
        turn: the turn that was judged, from 1; None for the last one.

    Raises BadLine: the parts do not make one conversation.
    """
    if type(question) is str and all(type(value) is str for value in answers.values()):
        return Exchange(question, dict(answers))
    found = {name: _conversation_of(value) for name, value in answers.items()}
    whole = {name: one for name, one in found.items() if one is not None}
    tails = {name: _reply(answers[name]) for name, one in found.items() if one is None}
    if whole:
        spoken = {name: _upto(one, turn) for name, one in whole.items()}
        history = _history_of(spoken, answers)
        tails |= {name: one[len(history) :] for name, one in spoken.items()}
        text = _question(question, next(iter(spoken.values())), next(iter(whole.values())))
    else:
        history = tuple(_said_in(question)) if is_chat(question) else ()
        asked = sum(_role_of(one) == "user" for one in question) if is_chat(question) else turn
        if turn is not None and asked != turn:
            raise BadLine(f"turn {turn} is judged, and the question contains {asked} of the user's turns")
        text = text_of(question)
    conversation = tuple(one.message for one in history)
    replies = {name: tuple(one.message for one in tails[name]) for name in answers}
    thoughts = {name: _together(one.thought for one in (*history, *tails[name])) for name in answers}
    return Exchange(
        _transcript(conversation) if text is None else text,
        {name: _transcript(said) for name, said in replies.items()},
        conversation if len(conversation) > 1 else (),
        {name: said for name, said in replies.items() if len(said) > 1 or said[0].tool_calls},
        {name: thought for name, thought in thoughts.items() if thought},
    )


def with_more(conversation: tuple[Message, ...], question: str) -> tuple[Message, ...]:
    """The messages of a question that goes on behind them, with passages to answer from, say."""
    text = _transcript(conversation)
    if not conversation or question == text or not question.startswith(text):
        return conversation
    last = conversation[-1]
    return (*conversation[:-1], last.model_copy(update={"content": last.content + question[len(text) :]}))


def apart(judgment: Judgment) -> Judgment:
    """A judgment whose texts are without the thoughts of models, which are kept in ``metadata`` and ``meta``."""
    item = _item_apart(judgment.item)
    changes: dict[str, Any] = {} if item is judgment.item else {"item": item}
    said = judgment.rationale
    is_asked_for = re.search(r"[<\[]\s?/?reasoning\b", said, re.I)  # the judge's reasons, in the tags of its prompt
    thought, rationale = split_thoughts(said) if _may_think(said) and not is_asked_for else ("", "")
    if thought:
        changes |= {"rationale": rationale, "meta": {REASONING: thought.strip()} | judgment.meta}
    return judgment.model_copy(update=changes) if changes else judgment


def _item_apart(item: Item) -> Item:
    """An item whose responses are without thoughts; the item itself where there are none."""
    texts = {name: text for name, text in item.responses.items() if _may_think(text)}
    split = {name: split_thoughts(text) for name, text in texts.items() if name not in (item.replies or ())}
    thoughts = {name: one.thought.strip() for name, one in split.items() if one.thought}
    if not thoughts:
        return item
    responses = item.responses | {name: split[name].answer for name in thoughts}
    known = Exchange("", {}, thoughts=thoughts).metadata(item.metadata)
    return item.model_copy(update={"responses": responses, "metadata": known})


def _may_think(text: str) -> bool:
    """Whether a text may contain a thought, by the ends of its marks: found far faster than the marks themselves."""
    return ("<" in text or "[" in text or "\u25c1" in text) and any(mark in text for mark in _ENDS_OF_MARKS)


def thinks(judgment: Judgment) -> bool:
    """Whether a thought is kept beside its texts."""
    return REASONING in judgment.meta or any(REASONING in one for one in (judgment.item.metadata or {}).values())


Spoken: TypeAlias = tuple[Said, ...]
"""Turns, each from a message of the user on, perhaps with messages before the first one, such as the system's."""


def _conversation_of(value: Any) -> Spoken | None:
    """A list of messages as turns; None for what is no list of several messages with one of a user."""
    if not is_chat(value) or len(value) == 1:
        return None
    said = tuple(_said_in(value))
    starts = _starts(said)
    answers = sum(one.message.role == "assistant" for one in said[starts[-1] if starts else 0 :])
    if _role_of(value[-1]) not in ("assistant", "tool") or not answers:
        raise BadLine(
            f"the conversation ends with a message of {_named(value[-1])}, not with an answer of the assistant"
        )
    if not starts and answers > 1 and not _acts(said):
        raise BadLine("the messages are several answers of an assistant, and the question is missing")
    strange = [_named(one) for one in value if _role_of(one) is None]
    strange += ["the role 'user'" for place in starts[1:] if said[place - 1].message.role in ("user", "system")]
    if len(starts) > 1 and strange:
        raise BadLine(
            f"the conversation has {len(starts)} turns, and a message of {strange[0]} where user and assistant "
            "would alternate, so no answer can be matched to its question; map question and answers as texts"
        )
    return said if starts else None


def _starts(said: Spoken) -> list[int]:
    """The places at which turns begin."""
    return [place for place, one in enumerate(said) if one.message.role == "user"]


def _asked(said: Spoken) -> list[Message]:
    """What the assistant was given, without its own words."""
    first = min(_starts(said), default=len(said))
    return [one.message for place, one in enumerate(said) if place < first or one.message.role == "user"]


def _upto(said: Spoken, turn: int | None) -> Spoken:
    """A conversation as it was when a turn was judged; all of it for None."""
    starts = _starts(said)
    if turn is None:
        return said
    if turn > len(starts):
        raise BadLine(f"turn {turn} is judged, and the conversation has {len(starts)}")
    return said[: [*starts, len(said)][turn]]


def _history_of(spoken: Mapping[str, Spoken], answers: Mapping[str, Any]) -> Spoken:
    """What conversations have in common from the beginning, up to a message of the user; BadLine where nothing."""
    start, first = next(iter(spoken.items()))
    for name, one in spoken.items():
        if _asked(one) != _asked(first):
            raise BadLine(
                f"the user's turns in responses.{name} are not those in responses.{start}: the answers "
                "belong to different conversations"
            )
    turns = len(_starts(first))
    alone = next((name for name in answers if name not in spoken), None)
    if turns > 1 and alone is not None:
        raise BadLine(f"responses.{alone} is one answer, and responses.{start} a conversation of {turns} turns")
    rows = zip(*spoken.values(), strict=False)
    same = tuple(row[0] for row in takewhile(lambda row: all(one.message == row[0].message for one in row), rows))
    return first[: max(_starts(same), default=-1) + 1]


def _reply(value: Any) -> tuple[Said, ...]:
    """The messages of an answer alone: of several only those that go with calls of tools, else the last one."""
    if not is_chat(value):
        return (Said(Message(role="assistant", content=text_of(value))),)
    said = tuple(_said_in(value))
    first = next((place for place, one in enumerate(said) if one.message.role == "assistant"), len(said) - 1)
    return said[first:] if _acts(said) else said[-1:]


def _acts(said: Sequence[Said]) -> bool:
    return any(one.message.tool_calls or one.message.role == "tool" for one in said)


def _question(given: Any, judged: Spoken, whole: Spoken) -> str | None:
    """The question beside conversations; None where it is what they have in common."""
    chat = is_chat(given)
    if chat and _role_of(given[-1]) == "assistant":
        return None  # the column of the conversation itself
    texts = [one.message.content.strip() for one in _said_in(given)] if chat else [text_of(given).strip()]
    turns = len(_starts(judged))
    if turns == 1:
        first, *later = [whole[place].message.content.strip() for place in _starts(whole)]
        if texts[-1] != first and texts[-1] in later:
            raise BadLine("the question is that of a later turn than the one that was judged")
        return None if texts == [first] and judged[0].message.role != "user" else text_of(given)
    if chat or texts[0] in [one.content.strip() for one in _asked(whole)]:
        return None
    raise BadLine(
        f"the question is none of the user's {turns} turns in the conversation: map question to the column of the "
        "conversation"
    )


def _role_name(message: Mapping[str, Any]) -> Any:
    return message.get("role") or message.get("from") or message.get("type")


def _role_of(message: Mapping[str, Any]) -> str | None:
    """The role by its name; None where it is unknown."""
    name = _role_name(message)
    return ROLES.get(name.strip().lower()) if isinstance(name, str) else None


def _named(message: Mapping[str, Any]) -> str:
    """A message's role in words."""
    name = _role_name(message)
    return f"the role {name!r}" if name else "no role"


def _is_message(one: Any) -> bool:
    if not isinstance(one, dict):
        return False
    return "content" in one or (_role_of(one) is not None and any(name in one for name in (*_SAID, *_MORE)))


def _are_parts(value: Any) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(one, dict) and "role" not in one and one.get("type") in _PARTS for one in value)
        and any(one["type"] in _TEXTS or one["type"] in _SOURCES or one["type"] == "input_image" for one in value)
    )


def _together(thoughts: Iterable[str]) -> str:
    return "\n\n".join(filter(None, thoughts))


def _said_in(chat: Sequence[Mapping[str, Any]]) -> list[Said]:
    """The messages of a chat, each with its thoughts; a message with the results of tools becomes several."""
    found, waiting = list[Said](), ""
    for one in chat:
        several, thought = _read(one)
        waiting = _together((waiting, thought))
        if several:
            found += [Said(several[0], waiting), *map(Said, several[1:])]
            waiting = ""
    if waiting and found:
        found[-1] = Said(found[-1].message, _together((found[-1].thought, waiting)))
    return found


def _transcript(spoken: Sequence[Message]) -> str:
    """Messages as one text, ``role: text`` each; the text itself of a single one that calls no tool.

    A line of a text that begins like a message gets a backslash, so that no text can look like another message.
    """
    if len(spoken) == 1 and not spoken[0].tool_calls:
        return spoken[0].content
    parts = []
    for one in spoken:
        if one.content or not one.tool_calls:
            about = "".join(f" {part}" for part in (one.name, one.tool_call_id and f"[{one.tool_call_id}]") if part)
            parts.append((f"{one.role}{about}", one.content))
        for call in one.tool_calls:
            about = f" [{call.id}]" if call.id else ""
            parts.append((f"{one.role} calls {call.name}{about}", call.arguments))
    return "\n\n".join(f"{head}: " + _HEAD.sub(r"\\", text) for head, text in parts)


def _read(one: Mapping[str, Any]) -> tuple[list[Message], str]:
    """A message as one or several, and its thoughts."""
    content = first_of(one, *_SAID)
    if "reasoning" in (one.get("type"), one.get("from")):
        return [], _content(first_of(one, "summary", *_SAID))
    texts, calls, results, thoughts = list[str](), list[ToolCall](), list[Message](), list[str]()
    if "function_call" in (one.get("type"), one.get("from"), one.get("role")):
        call = parsed(content) if content is not None else one
        if content is None or (isinstance(call, Mapping) and "name" in call):
            content = None
            calls.append(_call(call))
    for part in content if isinstance(content, list) else [content]:
        kind = _kind(part)
        if kind in _CALLS or kind in _RESULTS:
            inner = part.get(kind) if isinstance(part.get(kind), Mapping) else part
            if kind in _CALLS:
                calls.append(_call(inner))
            else:
                results.append(_result(inner))
        elif kind in _THOUGHTS or (part.__class__ is dict and part.get("thought") is True):
            thoughts.append(str(first_of(part, "thinking", "reasoning", "text") or ""))
        elif part is not None:
            texts.append(_part(part))
    given = [*(one.get("tool_calls") or ()), one.get("function_call")]
    calls += [_call(call) for call in given if isinstance(call, Mapping)]
    thoughts += [text for name in _THOUGHTS if isinstance(text := one.get(name), str)]
    text, role, about = "\n".join(texts), _role_of(one), dict[str, Any]()
    if role == "assistant":
        thought, text = split_thoughts(text)
        thoughts.append(thought)
    if role == "tool":
        caller = one.get("function") if isinstance(one.get("function"), str) else None
        about = {
            "tool_call_id": text_in(first_of(one, "tool_call_id", "call_id")),
            "name": text_in(one.get("name") or caller),
        }
    role = role or str(one.get("role") or one.get("from") or "message")
    own = [Message(role=role, content=text, tool_calls=tuple(calls), **about)] if text or calls or not results else []
    return [*results, *own], _together(thought.strip() for thought in thoughts)


def _call(given: Mapping[str, Any]) -> ToolCall:
    inner = given.get("function")
    about: Mapping[str, Any] = inner if isinstance(inner, Mapping) else given
    arguments = first_of(about, "arguments", "args", "input", "parameters")
    text = text_of({} if arguments is None else arguments)
    name = inner if isinstance(inner, str) else about.get("name")
    return ToolCall(name=str(name or "tool"), arguments=text, id=text_in(first_of(given, "call_id", "id")))


def _result(given: Mapping[str, Any]) -> Message:
    content = _content(first_of(given, "content", "output", "response", "result"))
    known = text_in(first_of(given, "tool_use_id", "tool_call_id", "call_id", "id"))
    return Message(role="tool", content=content, tool_call_id=known, name=text_in(given.get("name")))


def _kind(part: Any) -> str | None:
    """What a part is, by its type, or by the key it has (Gemini)."""
    if not isinstance(part, Mapping):
        return None
    kind = part.get("type")
    return str(kind) if kind else next((name for name in part if name in _PARTS), None)


def _content(value: Any) -> str:
    """Text or parts as text."""
    if value is None:
        return ""
    if isinstance(value, Mapping) and _kind(value) not in _PARTS:
        return text_of(value)
    parts = value if isinstance(value, list) else [value]
    return "\n".join(map(_part, parts)) if all(isinstance(one, str | Mapping) for one in parts) else text_of(value)


def _part(part: Any) -> str:
    """A part as text; what is none, as a reference."""
    if not isinstance(part, Mapping):
        return _by_reference(part) if isinstance(part, str) else text_of(part)
    kind = _kind(part)
    text = part.get("refusal") if kind == "refusal" else part.get("text")
    if isinstance(text, str) and (kind is None or kind in _TEXTS):
        return _by_reference(text)
    place: Any = first_of(part, *_SOURCES)
    inner: Mapping[str, Any] = place if isinstance(place, Mapping) else {"url": place} if place else part
    about = f"{kind} {inner.get('media_type', '')}"
    kind = next((word for word in ("image", "audio", "video") if word in about), "file")
    data = first_of(inner, "data", "file_data", "base64")
    if isinstance(data, str) and not data.startswith("data:"):
        media = first_of(inner, "media_type", "mime_type", "mimeType", "format")
        return f"[{kind}: {_digest(str(media or ''), data)}]"
    where = first_of(inner, "url", "file_uri", "fileUri", "file_id", "filename") if data is None else data
    return text_of(dict(part)) if where is None else f"[{kind}: {_by_reference(str(where))}]"


def _by_reference(text: str) -> str:
    """A text with digests in place of inline data."""
    return _INLINE.sub(lambda found: _digest(found[1], found[2]), text) if ";base64," in text else text


def _digest(media: str, data: str) -> str:
    """Media type and digest of what is encoded."""
    try:
        raw = base64.b64decode(re.sub(r"\s", "", data).translate({45: "+", 95: "/"}), validate=True)
    except (binascii.Error, ValueError):
        raw = data.encode()
    return f"{media} sha256:{hashlib.sha256(raw).hexdigest()}".strip()
