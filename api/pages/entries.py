"""Sentences for records of the audit log."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import orjson

from metajudge.store.overview import Entry

KINDS: Mapping[str, str] = {
    "activation": "proposal activated",
    "analysis": "patterns searched",
    "backtest": "proposal tested again",
    "calibration": "calibration first used",
    "case": "case judged",
    "change": "change",
    "policy": "policy version stored",
    "promise.broken": "promise broken",
    "proposal": "proposal made",
    "rubric": "rubric stored",
    "seen": "machine result shown to a person",
    "snapshot": "report stored",
    "webhook": "webhook sent",
}
"""Kind of a record -> its name on the pages; other kinds are shown by their own name."""

CHANGES = ("policy", "activation", "proposal", "calibration", "promise.broken", "rubric")
"""What changes how judgments are decided from then on."""


@dataclass(frozen=True, slots=True)
class EntryLine:
    """A record in words.

    Attributes:
        entry: the record.
        words: what happened; ``who``: the person or key, None if none is recorded.
        link: the page about it, None without one.
    """

    entry: Entry
    kind: str
    words: str
    who: str | None
    link: str | None


def entry_line(entry: Entry) -> EntryLine:
    """A record as a sentence, with the page about it."""
    content = None if entry.is_cut else orjson.loads(entry.text)
    found: Mapping[str, Any] = content if isinstance(content, dict) else {}
    words, link = _SAID.get(entry.kind, _other)(entry, found)
    who = found.get("by") or found.get("reviewer")
    return EntryLine(entry, KINDS.get(entry.kind, entry.kind), words, str(who) if who else None, link)


def _policy(entry: Entry, found: Mapping[str, Any]) -> tuple[str, str | None]:
    version = f", version {found['digest'][:12]}" if "digest" in found else ""
    return f"Policy {entry.subject}{version}", f"/policies/{quote(entry.subject, safe='')}"


def _activation(entry: Entry, found: Mapping[str, Any]) -> tuple[str, str | None]:
    name = found.get("proposal_id")
    about = f"Policy {entry.subject}: proposal {name} put in force" if name else f"Policy {entry.subject} changed"
    return about, f"/proposals/{quote(str(name), safe='')}" if name else _policy(entry, found)[1]


def _proposal(entry: Entry, found: Mapping[str, Any]) -> tuple[str, str | None]:
    name = found.get("proposal_id")
    if name is None:
        return f"Proposal for policy {entry.subject}", "/proposals"
    refused = ", refused by its test" if found.get("status") == "refused" else ""
    words = f"Proposal for policy {entry.subject}{refused}: {found.get('change', '')}"
    return words, f"/proposals/{quote(str(name), safe='')}"


def _calibration(entry: Entry, _found: Mapping[str, Any]) -> tuple[str, str | None]:
    return f"Calibration {entry.subject[:12]} first used", None


def _broken(entry: Entry, found: Mapping[str, Any]) -> tuple[str, str | None]:
    target = f" of {100 * found['target']:g} %" if isinstance(found.get("target"), int | float) else ""
    return f"The promised precision{target} is broken ({entry.subject})", "/monitor"


def _rubric(entry: Entry, _found: Mapping[str, Any]) -> tuple[str, str | None]:
    return f"Rubric {entry.subject}", None


def _change(entry: Entry, found: Mapping[str, Any]) -> tuple[str, str | None]:
    action = str(found.get("action", "change"))
    link = {"review": f"/reviews/{quote(entry.subject, safe='')}", "job": f"/jobs/{quote(entry.subject, safe='')}"}
    return f"{action.replace('.', ' ')}: {entry.subject}", link.get(action.partition(".")[0])


def _case(entry: Entry, found: Mapping[str, Any]) -> tuple[str, str | None]:
    action = (found.get("decision") or {}).get("action")
    return f"Case {entry.subject}{f': {action}' if action else ''}", None


def _other(entry: Entry, _found: Mapping[str, Any]) -> tuple[str, str | None]:
    return entry.subject, None


_SAID: Mapping[str, Callable[[Entry, Mapping[str, Any]], tuple[str, str | None]]] = {
    "policy": _policy,
    "activation": _activation,
    "proposal": _proposal,
    "calibration": _calibration,
    "promise.broken": _broken,
    "rubric": _rubric,
    "change": _change,
    "case": _case,
}
