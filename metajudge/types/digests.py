"""Content digests: the identity of texts, records, rubrics and requests."""

import hashlib
from typing import Any

import orjson


def digest(value: Any) -> str:
    """32 hex digits (128 bits of SHA-256) over the canonical JSON of a value: keys sorted, no white space."""
    return hashlib.sha256(orjson.dumps(value, option=orjson.OPT_SORT_KEYS)).hexdigest()[:32]


def text_digest(text: str) -> str:
    """32 hex digits (128 bits of SHA-256) over the UTF-8 bytes of a text (lone surrogates kept)."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
