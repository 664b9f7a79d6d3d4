"""Keys and passwords in what is shown or stored of people's files: by how they look, and in data by their names."""

import re
from collections.abc import Mapping
from typing import Any, Final

HIDDEN: Final = "[hidden]"

_SECRETS: Final = re.compile(
    r"-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----[^\0]*"
    r"|\b(?:sk-|AKIA|AIza|gh[pousr]_|github_pat_|xox[abprs]-|hf_|glpat-|mj_)[A-Za-z0-9_-]{6,}"
    r"|(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_.-]*"
    r"|(?i:\bbearer\s+[A-Za-z0-9._~+/-]{8,})"
    r"|(?i:\b(?:password|passwd|pwd|secret|api[_-]?key|access[_-]?token)\b['\"]?\s?[:=]\s?['\"]?[^\s'\"<>]{6,})"
)
"""Shorter than a whole key, as a shown text may end within one."""
_NAMES: Final = re.compile(
    r"(?:.*[._-])?(?:authorization|api[._-]?key|cookie|password|passwd|secret|(?:access|auth|refresh|bearer)[._-]?token|token)",
    re.I,
)


def without_secrets(text: str) -> str:
    """The text with everything that looks like a key or a password replaced by :data:`HIDDEN`."""
    return _SECRETS.sub(HIDDEN, text) if _SECRETS.search(text) else text


def data_without_secrets(value: Any) -> Any:
    """Plain data with every text as :func:`without_secrets` gives it, and what is named like a key hidden as a whole.

    Data without any is given back as it is, the same object.
    """
    if isinstance(value, str):
        return without_secrets(value)
    if isinstance(value, Mapping):
        found = {
            name: HIDDEN if isinstance(one, str) and one and _NAMES.fullmatch(str(name)) else data_without_secrets(one)
            for name, one in value.items()
        }
        return found if any(found[name] is not one for name, one in value.items()) else value
    if isinstance(value, list):
        several = [data_without_secrets(one) for one in value]
        return several if any(new is not old for new, old in zip(several, value, strict=True)) else value
    return value
