"""Detects placeholder secrets from examples and templates."""

import re

from .keys import hashed

WORDS = ("changeme", "change-me", "change_me", "secret", "password", "key", "test", "example", "your-api-key")
"""Easily guessed secrets."""

_TEMPLATE = re.compile(
    r"change[-_ ]?me|replace[-_ ]?(me|this|with)|place[-_ ]?holder|your[-_ ]|example|insert[-_ ]|dummy|"
    r"xxxx|\*\*\*|\.\.\.|^<.*>$|^\$\{?\w+\}?$|^\{\{.*\}\}$|sample|default",
    re.IGNORECASE,
)
_HASHES = frozenset(hashed(text) for word in WORDS for text in (word, word.upper(), word.title()))


def is_placeholder(secret: str) -> bool:
    """Whether a secret looks like a placeholder or is easily guessed."""
    text = secret.strip()
    return text.lower() in WORDS or bool(_TEMPLATE.search(text))


def is_placeholder_hash(sha256: str) -> bool:
    """The same for the hash of a secret."""
    return sha256 in _HASHES or len(set(sha256)) == 1
