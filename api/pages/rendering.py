"""Renders templates as pages or parts of pages."""

import hashlib
import mimetypes
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from http import HTTPStatus
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qsl

import orjson
from fastapi import APIRouter, HTTPException, Request, Response
from fastapi.responses import HTMLResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from metajudge import __version__
from metajudge.store.texts import excerpt, plain
from metajudge.types import AnyVerdict, Category, Grade, Pairwise, Ranking

from ..authorization import permits
from ..sessions import Viewer
from .judged_text import judged

LONGEST = 6_000
"""Words of a text that are compared; of longer texts whole lines are compared instead."""

_WORDS = re.compile(r"\w+|[^\w\s]")
_LINES = re.compile(r"[^\n]+")
_DIFFERENT = Markup('<mark class="differs">%s</mark>')


@dataclass(frozen=True, slots=True)
class Difference:
    """Two texts, marked.

    Attributes:
        first, second: the whole texts, escaped; what the other does not have is in ``<mark class="differs">``.
        unit: what was compared: ``words`` (with punctuation) or ``lines``.
        same: units in common, in the same order; ``counts``: units of the first and of the second text.
    """

    first: Markup
    second: Markup
    unit: str
    same: int
    counts: tuple[int, int]

    @property
    def sentence(self) -> str:
        """What the marks mean, with the counts."""
        first, second = self.counts
        return (
            f"Marked: {self.unit} that the other text does not have in the same place. In common: {self.same} of "
            f"{first} and {second} {self.unit}."
        )


def difference(first: str, second: str) -> Difference | None:
    """Marks where two texts differ; None if they have more than :data:`LONGEST` words and more lines than that."""
    for unit, pattern in (("words", _WORDS), ("lines", _LINES)):
        found = [list(pattern.finditer(text)) for text in (first, second)]
        if max(map(len, found)) <= LONGEST:
            one, other = ([part[0] for part in parts] for parts in found)
            kept, kept_other = in_common(one, other)
            return Difference(
                _marked(first, found[0], kept),
                _marked(second, found[1], kept_other),
                unit,
                sum(kept),
                (len(one), len(other)),
            )
    return None


def in_common(first: Sequence[str], second: Sequence[str]) -> tuple[list[bool], list[bool]]:
    """For each part of two sequences whether it belongs to their longest common subsequence."""
    kept, kept_other = [False] * len(first), [False] * len(second)
    start = 0
    while start < min(len(first), len(second)) and first[start] == second[start]:
        kept[start] = kept_other[start] = True
        start += 1
    end, end_other = len(first), len(second)
    while end > start and end_other > start and first[end - 1] == second[end_other - 1]:
        end, end_other = end - 1, end_other - 1
        kept[end] = kept_other[end_other] = True
    for place, other in _matches(first[start:end], second[start:end_other]):
        kept[start + place] = kept_other[start + other] = True
    return kept, kept_other


def _matches(first: Sequence[str], second: Sequence[str]) -> list[tuple[int, int]]:
    """The places of a longest common subsequence, last first."""
    rows = _rows(first, second)
    found = []
    column, row = len(first), len(second)
    while column and row:
        if rows[row - 1] >> (column - 1) & 1:
            column -= 1
            continue
        row -= 1
        if not row or rows[row - 1] >> (column - 1) & 1:
            column -= 1
            found.append((column, row))
    return found


def _rows(first: Sequence[str], second: Sequence[str]) -> list[int]:
    """One row of bits for each part of ``second``: bit i is 0 where part i of ``first`` lengthens the subsequence."""
    places: dict[str, int] = {}
    for place, part in enumerate(first):
        places[part] = places.get(part, 0) | 1 << place
    every = (1 << len(first)) - 1
    row, rows = every, []
    for part in second:
        hit = row & places.get(part, 0)
        row = (row + hit | row - hit) & every
        rows.append(row)
    return rows


def _marked(text: str, parts: Sequence[re.Match[str]], kept: Sequence[bool]) -> Markup:
    """The text with a mark around each run of parts that are not kept, spaces within the run included."""
    made, done, place = [], 0, 0
    while place < len(parts):
        if kept[place]:
            place += 1
            continue
        begin = parts[place].start()
        while place < len(parts) and not kept[place]:
            place += 1
        end = parts[place - 1].end()
        made += [escape(text[done:begin]), _DIFFERENT % text[begin:end]]
        done = end
    return Markup("").join([*made, escape(text[done:])])


TEMPLATES = Path(__file__).parent / "templates"
NAVIGATION = (
    ("Start", "/", "h"),
    ("Reviews", "/reviews", "r"),
    ("Clashes", "/clash", "c"),
    ("Assessments", "/assessments", "a"),
    ("Outcomes", "/outcomes", "o"),
    ("Search", "/search", "s"),
    ("Dashboard", "/dashboard", "d"),
    ("Monitor", "/monitor", "m"),
    ("Policies", "/policies", "p"),
    ("Jobs", "/jobs", "j"),
    ("Runs", "/runs", "u"),
    ("Audit log", "/audit-log", "l"),
)
"""Name, address and the key that leads there after ``g``."""
FOLDER = Path(__file__).parent / "static"
FOREVER = "public, max-age=31536000, immutable"

router = APIRouter(include_in_schema=False)
Tone = Literal["good", "bad", "warn", ""]
"""The colour of a mark; its text carries the same meaning."""

TONES: Mapping[str, Tone] = {
    "APPROVE": "good",
    "REVIEW": "warn",
    "REVIEW_PRIORITY": "bad",
    "REJECT": "bad",
    "approve": "good",
    "modify": "warn",
    "reject": "bad",
}


def verdict_words(verdict: AnyVerdict | None, names: Mapping[str, str]) -> str:
    """A verdict with the page's names of the responses, such as ``Left is much better than Right``."""
    match verdict:
        case None:
            return "no verdict"
        case Grade():
            return f"grade {verdict}"
        case Category(value):
            return str(value) if isinstance(value, str) else "yes (true)" if value else "no (false)"
        case Pairwise(strength=0):
            return f"{names[verdict.first]} and {names[verdict.second]} are equally good"
        case Pairwise():
            much = "much " if verdict.strength == 2 else ""
            return f"{names[verdict.first]} is {much}better than {names[verdict.second]}"
        case Ranking(groups=((best,), (_, *_))):
            return f"{names[best]} is best"
        case Ranking(groups=(_,)):
            return "all are equally good"
        case Ranking():
            return ", then ".join(" and ".join(names[one] for one in group) for group in verdict.groups)


@dataclass(frozen=True, slots=True)
class Asset:
    """One file."""

    name: str
    content: bytes
    digest: str
    media_type: str

    @property
    def address(self) -> str:
        """Its address with the content digest: it may be cached forever."""
        stem, dot, suffix = self.name.partition(".")
        return f"/static/{stem}.{self.digest}{dot}{suffix}"


@cache
def _assets() -> dict[str, Asset]:
    found = {}
    for path in sorted(FOLDER.iterdir()):
        content = path.read_bytes()
        kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
        found[path.name] = Asset(path.name, content, hashlib.sha256(content).hexdigest()[:12], kind)
    return found


def asset(name: str) -> str:
    """The address of a file of ``static/``.

    Raises:
        KeyError: no file has this name.
    """
    return _assets()[name].address


@router.get("/static/{name}")
async def static(request: Request, name: str) -> Response:
    """A file by its digest address or its plain name."""
    found = next((file for file in _assets().values() if file.address == request.url.path), None)
    headers: dict[str, Any] = {"Cache-Control": FOREVER}
    if found is None:
        found = _assets().get(name)
        headers["Cache-Control"] = "no-cache"
    if found is None:
        raise HTTPException(404, f"there is no file {name!r}")
    charset = "; charset=utf-8" if found.media_type.startswith("text/") else ""
    return Response(found.content, media_type=None, headers={**headers, "Content-Type": found.media_type + charset})


@cache
def environment() -> Environment:
    """Escapes everything and refuses undefined names."""
    built = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    built.globals |= {"asset": asset, "version": __version__, "tones": TONES, "difference": difference}
    built.filters |= {
        "when": when,
        "number": number,
        "judged": judged,
        "percent": percent,
        "excerpt": lambda text: excerpt(plain(text)),
        "query": lambda address: parse_qsl(address.partition("?")[2]),
    }
    return built


def page(
    request: Request,
    template: str,
    viewer: Viewer | None,
    *,
    http_status: int = 200,
    part: str | None = None,
    **given: Any,
) -> Response:
    """Renders a template.

    Args:
        viewer: the person logged in; None on pages without a login (login, errors).
        part: a block of the template, rendered alone if htmx requests a part of the page.
        given: the template's variables.
    """
    loaded = environment().get_template(template)
    navigation = [] if viewer is None else [one for one in NAVIGATION if permits(viewer.caller, one[1])]
    context = {"viewer": viewer, "navigation": navigation, "path": request.url.path, **given}
    if part is not None and wants_part(request):
        block_context = loaded.new_context(context)
        text = "".join(loaded.blocks[part](block_context))
    else:
        text = loaded.render(context)
    return HTMLResponse(text, http_status, headers={"Vary": "HX-Request"})


def error_page(request: Request, viewer: Viewer | None, status: int, detail: str, errors: list[str]) -> Response:
    """An error page; a part of a page if htmx requests it."""
    given = {
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
        "errors": errors,
        "request_id": request.scope.get("state", {}).get("request_id", ""),
    }
    return page(request, "error.html", viewer, http_status=status, part="main", **given)


def wants_part(request: Request) -> bool:
    """Whether htmx sent the request: it inserts the response into the current page."""
    return request.headers.get("hx-request") == "true"


def when(at: float | None) -> Markup:
    """A time in seconds since the epoch, in UTC."""
    if at is None:
        return Markup('<span class="quiet">not known</span>')
    moment = datetime.fromtimestamp(at, UTC)
    return Markup('<time datetime="%s">%s UTC</time>') % (moment.isoformat(), moment.strftime("%Y-%m-%d %H:%M"))


def number(value: float | None, digits: int = 3) -> str:
    """A number with at most ``digits`` significant digits; "none" if missing."""
    return "none" if value is None else f"{value:.{digits}g}"


def indented(data: object) -> str:
    """Data as JSON on several lines."""
    return orjson.dumps(data, option=orjson.OPT_INDENT_2, default=str).decode()


def percent(value: float | None) -> str:
    """A share as per cent; "none" if missing."""
    return "none" if value is None else f"{100 * value:.0f} %"
