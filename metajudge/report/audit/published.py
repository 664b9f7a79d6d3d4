"""An audit as it is shown: with its files and commands; texts are shortened, and what looks like a secret is hidden."""

from typing import Any

from metajudge.audit.card import AuditDocument, Disagreement, NextCommand
from metajudge.audit.gather import EXCERPT
from metajudge.files.secrets import without_secrets


def published(
    found: AuditDocument,
    *,
    inputs: tuple[str, ...] = (),
    next_commands: tuple[NextCommand, ...] | None = None,
    notices: tuple[str, ...] = (),
) -> AuditDocument:
    """The document of an audit.

    Args:
        found: what the audit found.
        inputs: the files' names, for the reader.
        next_commands: the next steps with commands; without, the steps have none.
        notices: what reading the files gave to know, before the audit's own notices.
    """
    shown = {
        "inputs": inputs,
        "judges": tuple(one.model_copy(update={"worst": tuple(map(_shown, one.worst))}) for one in found.judges),
        "next": found.next if next_commands is None else next_commands,
        "notices": tuple(dict.fromkeys((*notices, *found.notices))),
    }
    return found.model_copy(update=shown)


def _shown(one: Disagreement) -> Disagreement:
    texts: dict[str, Any] = {
        name: _cut(without_secrets(getattr(one, name))) for name in ("question", "response", "rationale")
    }
    return one.model_copy(update=texts)


def _cut(text: str) -> str:
    """The text, with dots where it or the audit ended it early."""
    if len(text) < EXCERPT:
        return text
    return text[: EXCERPT - 3].rstrip() + "..."
