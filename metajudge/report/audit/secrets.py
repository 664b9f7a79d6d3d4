"""Keys and passwords in texts that a report shows, by how they look."""

import re
from typing import Final

HIDDEN: Final = "[hidden]"

_SECRETS: Final = re.compile(
    r"-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----[^\0]*"
    r"|\b(?:sk-|AKIA|AIza|gh[pousr]_|github_pat_|xox[abprs]-|hf_|glpat-|mj_)[A-Za-z0-9_-]{6,}"
    r"|(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_.-]*"
    r"|(?i:\bbearer\s+[A-Za-z0-9._~+/-]{8,})"
    r"|(?i:\b(?:password|passwd|pwd|secret|api[_-]?key|access[_-]?token)\b['\"]?\s?[:=]\s?['\"]?[^\s'\"<>]{6,})"
)
"""Shorter than a whole key, as a shown text may end within one."""


def without_secrets(text: str) -> str:
    """The text with everything that looks like a key or a password replaced by :data:`HIDDEN`."""
    return _SECRETS.sub(HIDDEN, text)
