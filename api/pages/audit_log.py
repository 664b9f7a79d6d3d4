"""``/audit-log``: every record of the audit log in words, by kind, subject and person."""

from collections.abc import Mapping
from typing import Annotated, Any
from urllib.parse import quote

import orjson
from fastapi import APIRouter, Query, Response
from pydantic import Field

from metajudge.reviews.seen import KIND as SEEN
from metajudge.store import overview
from metajudge.store.overview import Entry

from .page_route import Filters, PageRoute, StoredVisit

router = APIRouter(prefix="/audit-log", include_in_schema=False, route_class=PageRoute)
ROWS = 50
WATCH = "watch"
"""Kind of entries that version 0.2 kept of the systems it watched."""

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


def entry_line(entry: Entry) -> dict[str, Any]:
    """A record as a sentence, with the person or key and the page about it, None where there is none."""
    content = None if entry.is_cut else orjson.loads(entry.text)
    found: Mapping[str, Any] = content if isinstance(content, dict) else {}
    words, link = _said(entry, found)
    who = found.get("by") or found.get("reviewer")
    kind = KINDS.get(entry.kind, entry.kind)
    return {"entry": entry, "kind": kind, "words": words, "who": str(who) if who else None, "link": link}


def _said(entry: Entry, found: Mapping[str, Any]) -> tuple[str, str | None]:
    """A record in words, and the page about it."""
    subject, proposal = entry.subject, found.get("proposal_id")
    match entry.kind:
        case "policy":
            version = f", version {found['digest'][:12]}" if "digest" in found else ""
            return f"Policy {subject}{version}", _at("policies", subject)
        case "activation" if proposal:
            return f"Policy {subject}: proposal {proposal} put in force", _at("proposals", proposal)
        case "activation":
            return f"Policy {subject} changed", _at("policies", subject)
        case "proposal" if proposal is None:
            return f"Proposal for policy {subject}", "/proposals"
        case "proposal":
            refused = ", refused by its test" if found.get("status") == "refused" else ""
            return f"Proposal for policy {subject}{refused}: {found.get('change', '')}", _at("proposals", proposal)
        case "calibration":
            return f"Calibration {subject[:12]} first used", None
        case "promise.broken":
            target = f" of {100 * found['target']:g} %" if isinstance(found.get("target"), int | float) else ""
            return f"The promised precision{target} is broken ({subject})", "/monitor"
        case "rubric":
            return f"Rubric {subject}", None
        case "change":
            action = str(found.get("action", "change"))
            page = {"review": "reviews", "job": "jobs"}.get(action.partition(".")[0])
            return f"{action.replace('.', ' ')}: {subject}", _at(page, subject) if page else None
        case "case":
            decided = (found.get("decision") or {}).get("action")
            return f"Case {subject}{f': {decided}' if decided else ''}", None
    return subject, None


def _at(page: str, name: object) -> str:
    return f"/{page}/{quote(str(name), safe='')}"


class Wish(Filters):
    """The filters of the audit log."""

    PATH = "/audit-log"

    kind: str = Field(default="", max_length=100)
    subject: str = Field(default="", max_length=300)
    person: str = Field(default="", max_length=200)
    before: int | None = Field(default=None, ge=1, le=2**62)


@router.get("")
async def audit_log(visit: StoredVisit, wish: Annotated[Wish, Query()]) -> Response:
    """Records of what a person was shown, or of what version 0.2 watched, are listed if their kind is chosen."""
    found = await visit.ask(
        overview.entries,
        kinds=[wish.kind] if wish.kind else None,
        without=() if wish.kind else (SEEN, WATCH),
        subject=wish.subject.strip() or None,
        person=wish.person.strip() or None,
        before=wish.before,
        limit=ROWS + 1,
    )
    kinds = await visit.ask(overview.entry_kinds)
    return visit.page(
        "audit_log.html",
        part="list",
        wish=wish,
        lines=[entry_line(one) for one in found[:ROWS]],
        older=wish.address(before=found[ROWS - 1].entry_id) if len(found) > ROWS else None,
        kinds={name: f"{KINDS.get(name, name)} ({count})" for name, count in kinds.items()},
        is_filtered=bool(wish.kind or wish.subject or wish.person),
    )
