"""Secrets that are none: what stands in examples and templates until somebody puts a real one there."""

import re

from .keys import hashed

WORDS = ("changeme", "change-me", "change_me", "secret", "password", "key", "test", "example", "your-api-key")
"""Whole secrets that anybody would try first."""

_TEMPLATE = re.compile(
    r"change[-_ ]?me|replace[-_ ]?(me|this|with)|place[-_ ]?holder|your[-_ ]|example|insert[-_ ]|dummy|"
    r"xxxx|\*\*\*|\.\.\.|^<.*>$|^\$\{?\w+\}?$|^\{\{.*\}\}$|sample|default",
    re.IGNORECASE,
)
_HASHES = frozenset(hashed(text) for word in WORDS for text in (word, word.upper(), word.title()))


def is_placeholder(secret: str) -> bool:
    """Whether a secret looks like one that nobody has filled in, or that anybody could guess."""
    text = secret.strip()
    return text.lower() in WORDS or bool(_TEMPLATE.search(text))


def is_placeholder_hash(sha256: str) -> bool:
    """The same for a secret of which there is only the hash."""
    return sha256 in _HASHES or len(set(sha256)) == 1
