"""Content digests: the identity of texts, records, rubrics and requests."""

import hashlib
from typing import Any

import orjson


def digest(value: Any) -> str:
    """32 hex digits (128 bits of SHA-256) over the canonical JSON of a value: keys sorted, no white space.

    A lone surrogate, which JSON cannot represent, counts as U+FFFD, as it is sent (:func:`json_bytes`).
    """
    return bytes_digest(json_bytes(value, sort_keys=True))


def bytes_digest(content: bytes) -> str:
    """32 hex digits (128 bits of SHA-256) over bytes."""
    return raw_digest(content).hex()


def raw_digest(content: bytes) -> bytes:
    """The 16 bytes whose hex digits are :func:`bytes_digest`."""
    return hashlib.sha256(content).digest()[:16]


def text_digest(text: str) -> str:
    """32 hex digits (128 bits of SHA-256) over the UTF-8 bytes of a text (lone surrogates kept)."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def json_bytes(value: Any, *, sort_keys: bool = False) -> bytes:
    """JSON of plain data without white space; lone surrogates become U+FFFD.

    Raises:
        TypeError: a value that JSON has no form for.
    """
    option = orjson.OPT_SORT_KEYS if sort_keys else None
    try:
        return orjson.dumps(value, option=option)
    except TypeError:  # it cannot say whether a surrogate is the reason
        return orjson.dumps(_valid(value), option=option)


def valid_text(text: str) -> str:
    """The text with lone surrogates, halves of characters that UTF-8 cannot represent, replaced by U+FFFD."""
    if text.isascii():
        return text
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        # Two halves that belong together are one character.
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def _valid(value: Any) -> Any:
    match value:
        case str():
            return valid_text(value)
        case dict():
            return {_valid(key): _valid(inner) for key, inner in value.items()}
        case list() | tuple():
            return [_valid(inner) for inner in value]
    return value
