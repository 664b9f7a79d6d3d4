"""Messages as tools write them: roles, texts and parts, calls of tools and their results, thoughts, images.

Read are the messages of OpenAI (chat and responses), Anthropic, Gemini, ShareGPT, LangChain and Inspect. What is no
text becomes a reference, an address or a digest: no inline data goes into a record.
"""

import base64
import binascii
import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import orjson

from metajudge.providers.thoughts import split_thoughts
from metajudge.reading.containers.cells import first_of, nested, parsed
from metajudge.types import Message, ToolCall

ROLES: Final[Mapping[str, str]] = {
    **dict.fromkeys(("user", "human", "prompter"), "user"),
    **dict.fromkeys(("assistant", "ai", "gpt", "model", "bot", "chatbot", "function_call", "reasoning"), "assistant"),
    **dict.fromkeys(("system", "developer"), "system"),
    **dict.fromkeys(("tool", "function", "observation", "tool_response", "tool_result", "ipython"), "tool"),
    **dict.fromkeys(("function_response", "function_call_output"), "tool"),
}
"""What a role is called -> its role here, which training libraries take."""
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


class Said(NamedTuple):
    """A message, and what was thought before it."""

    message: Message
    thought: str = ""


def role_of(message: Mapping[str, Any]) -> str | None:
    """The role by its name; None where it is unknown."""
    name = message.get("role") or message.get("from") or message.get("type")
    return ROLES.get(name.strip().lower()) if isinstance(name, str) else None


def named(message: Mapping[str, Any]) -> str:
    """A message's role in words."""
    name = message.get("role") or message.get("from") or message.get("type")
    return f"the role {name!r}" if name else "no role"


def is_chat(value: Any) -> bool:
    """Whether a value is a list of messages."""
    return isinstance(value, list) and bool(value) and all(map(_is_message, value)) and not _are_parts(value)


def chat_in(value: Any) -> Any:
    """A text that is a list of messages with roles, or of the parts of one, as that; anything else as it is."""
    if not isinstance(value, str) or not value.lstrip().startswith("[") or "{" not in value:
        return value
    found = nested(value)
    return found if _are_parts(found) or (is_chat(found) and all(map(role_of, found))) else value


def said_in(chat: Sequence[Mapping[str, Any]]) -> list[Said]:
    """The messages of a chat, each with its thoughts; a message with the results of tools becomes several."""
    found, waiting = list[Said](), ""
    for one in chat:
        several, thought = _read(one)
        waiting = "\n\n".join(filter(None, (waiting, thought)))
        if several:
            found += [Said(several[0], waiting), *map(Said, several[1:])]
            waiting = ""
    if waiting and found:
        found[-1] = Said(found[-1].message, "\n\n".join(filter(None, (found[-1].thought, waiting))))
    return found


def transcript(messages: Sequence[Message]) -> str:
    """Messages as one text, ``role: text`` each; the text itself of a single one that calls no tool.

    Calls are ``assistant calls NAME: ARGUMENTS``, results ``tool NAME: TEXT``, with the call's id in brackets. A line
    of a text that begins like a message gets a backslash, so that no text can look like another message.
    """
    if len(messages) == 1 and not messages[0].tool_calls:
        return messages[0].content
    return "\n\n".join(part for one in messages for part in _shown(one))


def text_of(value: Any, *, answer: bool = False) -> str:
    """A cell as text: messages as :func:`transcript`, parts as their texts; other nested data as JSON.

    Args:
        value: text, number, list of messages, or anything that JSON can contain.
        answer: whether it is a response: of messages it is then the last one.
    """
    if isinstance(value, str):
        return value
    if is_chat(value):
        messages = [one.message for one in said_in(value)]
        return transcript(messages[-1:] if answer else messages)
    if _are_parts(value):
        return _content(value)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value).strip()
    return orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS, default=str).decode()


def _is_message(one: Any) -> bool:
    if not isinstance(one, dict):
        return False
    return "content" in one or (role_of(one) is not None and any(name in one for name in (*_SAID, *_MORE)))


def _are_parts(value: Any) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(one, dict) and "role" not in one and one.get("type") in _PARTS for one in value)
        and any(one["type"] in _TEXTS or one["type"] in _SOURCES or one["type"] == "input_image" for one in value)
    )


def _shown(one: Message) -> Iterator[str]:
    about = "".join(f" {part}" for part in (one.name, one.tool_call_id and f"[{one.tool_call_id}]") if part)
    if one.content or not one.tool_calls:
        yield f"{one.role}{about}: {_HEAD.sub(_BACKSLASH, one.content)}"
    for call in one.tool_calls:
        known = f" [{call.id}]" if call.id else ""
        yield f"{one.role} calls {call.name}{known}: {_HEAD.sub(_BACKSLASH, call.arguments)}"


_BACKSLASH: Final = r"\\"


def _read(one: Mapping[str, Any]) -> tuple[list[Message], str]:
    """A message as one or several, and its thoughts."""
    role = role_of(one)
    content = first_of(one, *_SAID)
    texts, calls, results, thoughts = list[str](), list[ToolCall](), list[Message](), list[str]()
    if one.get("type") == "reasoning" or one.get("from") == "reasoning":
        return [], _content(first_of(one, "summary", *_SAID))
    if "function_call" in (one.get("type"), one.get("from"), one.get("role")):
        call = parsed(content) if content is not None else one
        content = content if not isinstance(call, Mapping) or "name" not in call else None
        calls += [] if content is not None else [_call(call)]
    for part in content if isinstance(content, list) else [content]:
        kind = _kind(part)
        if kind in _CALLS:
            calls.append(_call(part.get(kind) if isinstance(part.get(kind), Mapping) else part))
        elif kind in _RESULTS:
            results.append(_result(part.get(kind) if isinstance(part.get(kind), Mapping) else part))
        elif kind in _THOUGHTS or (part.__class__ is dict and part.get("thought") is True):
            thoughts.append(str(first_of(part, "thinking", "reasoning", "text") or ""))
        elif part is not None:
            texts.append(_part(part))
    given = [
        *(one.get("tool_calls") or ()),
        *([one["function_call"]] if isinstance(one.get("function_call"), dict) else ()),
    ]
    calls += [_call(call) for call in given if isinstance(call, Mapping)]
    thoughts += [text for name in _THOUGHTS if isinstance(text := one.get(name), str)]
    text = "\n".join(texts)
    if role == "assistant":
        thought, text = split_thoughts(text)
        thoughts.append(thought)
    about: dict[str, Any] = {"content": text, "tool_calls": tuple(calls)}
    if role == "tool":
        caller = one.get("function") if isinstance(one.get("function"), str) else None
        about |= {
            "tool_call_id": _name(first_of(one, "tool_call_id", "call_id")),
            "name": _name(one.get("name") or caller),
        }
    own = [Message(role=role or _unknown(one), **about)] if text or calls or not results else []
    return [*results, *own], "\n\n".join(filter(None, (thought.strip() for thought in thoughts)))


def _unknown(one: Mapping[str, Any]) -> str:
    return str(one.get("role") or one.get("from") or "message")


def _name(value: Any) -> str | None:
    return None if value in (None, "") else str(value)


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
    kind = next(
        (word for word in ("image", "audio", "video") if word in f"{kind} {inner.get('media_type', '')}"), "file"
    )
    data = first_of(inner, "data", "file_data", "base64")
    media = first_of(inner, "media_type", "mime_type", "mimeType", "format")
    where = first_of(inner, "url", "file_uri", "fileUri", "file_id", "filename")
    if isinstance(data, str) and not data.startswith("data:"):
        return f"[{kind}: {_digest(str(media or ''), data)}]"
    where = where if data is None else data
    if where is None:
        return text_of(dict(part))
    return f"[{kind}: {_by_reference(str(where))}]"


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


def _call(given: Mapping[str, Any]) -> ToolCall:
    inner = given.get("function")
    about: Mapping[str, Any] = inner if isinstance(inner, Mapping) else given
    arguments = first_of(about, "arguments", "args", "input", "parameters")
    text = arguments if isinstance(arguments, str) else text_of({} if arguments is None else arguments)
    name = inner if isinstance(inner, str) else about.get("name")
    return ToolCall(name=str(name or "tool"), arguments=text, id=_name(first_of(given, "call_id", "id")))


def _result(given: Mapping[str, Any]) -> Message:
    content = first_of(given, "content", "output", "response", "result")
    known = _name(first_of(given, "tool_use_id", "tool_call_id", "call_id", "id"))
    return Message(role="tool", content=_content(content), tool_call_id=known, name=_name(given.get("name")))
