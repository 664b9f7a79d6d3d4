"""Judged text for a page: formatted Markdown without anything that acts, loads or styles, or the plain text.

Whatever judges, models and providers wrote is hostile input. Raw HTML in it is shown as text, not read as HTML; what
the Markdown becomes passes an allow-list besides; and the page's content security policy lets no script run that is
not the service's own file.
"""

import re
from functools import cache

import nh3
from markdown_it import MarkdownIt
from markupsafe import Markup, escape

TAGS = frozenset(
    "p br hr strong em s code pre blockquote ul ol li table thead tbody tr th td a".split()  # noqa: SIM905
)
_HEADING, _HEADING_END = re.compile(r"<h[1-6]>"), re.compile(r"</h[1-6]>")
LONGEST = 20_000
"""Longer texts are shown plain: formatting them would keep others waiting."""


@cache
def _markdown() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "linkify": False, "maxNesting": 20})
    return parser.enable(["table", "strikethrough"]).disable("image")


def formatted(text: str) -> Markup:
    """Markdown as safe HTML: no raw HTML, no pictures, links only to the web and without a referrer."""
    if len(text) > LONGEST:
        return plain(text)
    made = _markdown().render(text)
    made = _HEADING.sub("<p><strong>", made)  # the page's outline is the page's own
    made = _HEADING_END.sub("</strong></p>", made)
    clean = nh3.clean(
        made,
        tags=set(TAGS),
        attributes={"a": {"href"}, "ol": {"start"}},
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer nofollow",
        url_relative="deny",
    )
    return Markup('<div class="prose">%s</div>') % Markup(clean)  # noqa: S704 - just cleaned


def plain(text: str) -> Markup:
    """A text as it was written."""
    return Markup('<pre class="text">%s</pre>') % escape(text)


def judged(text: str | None, *, as_written: bool = False) -> Markup:
    """A judged text; an empty or absent one says so."""
    if text is None or not text.strip():
        said = "(empty)" if text is not None else "(not there)"
        return Markup('<p class="quiet">%s</p>') % said
    return plain(text) if as_written else formatted(text)
