"""Judged text for a page: as written, or formatted Markdown without scripts, external content or styles.

Text of judges, models and providers is untrusted input. Raw HTML in it is shown as text; the rendered Markdown is
filtered by an allow-list; and the page's content security policy runs only the service's own scripts.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import nh3
from latex2mathml.converter import convert
from markdown_it import MarkdownIt
from markdown_it.rules_inline import link
from markupsafe import Markup, escape
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.texmath import index as texmath
from mdit_py_plugins.texmath import texmath_plugin

TAGS = frozenset(
    "p br hr strong em s code pre blockquote ul ol li table thead tbody tr th td a".split()  # noqa: SIM905
)
MATH_TAGS = frozenset(
    "math mrow mi mn mo mtext mspace ms mfrac msqrt mroot msub msup msubsup munder mover munderover mtable mtr mtd mpadded".split()  # noqa: SIM905, E501
)
_MATH_ATTRIBUTES = {"math": {"display"}, "mo": {"stretchy", "fence"}, "mtable": {"columnalign"}}
_HEADING, _HEADING_END = re.compile(r"<h[1-6]>"), re.compile(r"</h[1-6]>")
LONGEST = 20_000
"""Longer texts are shown as written: formatting them would block other requests."""
LONGEST_MARKED = 100_000
"""Longer texts are shown as written without marking code and formulas in them."""
LONGEST_FORMULA = 2_000
Kind = Literal["text", "fence", "code", "math"]

LONGEST_FORMULA_LINES = 60
"""Most lines of a displayed formula; a longer one is treated as text."""
_LINE = 300
"""Characters of a line that are inspected."""

_FENCE = re.compile(r"[ \t>]{0,40}(`{3,40}|~{3,40})")
_FORMULA_ENDS = {"$$": "$$", "\\[": "\\]", "\\begin{": "\\end{"}
_STATEMENT = re.compile(
    r"(?:async def|def|class|struct|enum|interface)\s\w"
    r"|(?:for|while|if|elif|with|except|switch|catch)\b.*[:{]\s*$"
    r"|(?:else|try|finally|do)\s*[:{]"
    r"|(?:return|raise|yield|break|continue|pass)\b(?!.*[.!?]$)"
    r"|import\s[\w.{*\"']|from\s[\w.]+\simport\s|#include\s*[<\"]|using\s+namespace\s|package\s\w|@\w+"
    r"|(?:public|private|protected|static|void|int|long|float|double|char|bool|auto|const|let|var|function|fn|func)\s.*[;{(,=]\s*$"
    r"|[A-Za-z_][\w.\[\], ]{0,80}\s?(?:[-+*/%|&^]|//|\*\*|<<|>>|:)?=(?!=)\s?\S"
    r"|[A-Za-z_][\w.]{0,80}\(.*\)\s*[;:]?\s*$"
    r"|.*[;{}]\s*$"
)
_CONTINUED = re.compile(r"[ ]{2,}\S|\t\S|\s*(?:#|//|/\*|\*/)|\s*[\])}]+[,;]?\s*$|\s*$")
_INLINE = re.compile(
    r"(?P<code>`[^`\n]{1,300}`)"
    r"|(?P<math>\\\([^\n]{1,300}?\\\)|\$\$[^$\n]{1,300}\$\$|\$(?![\s$])[^$\n]{1,300}(?<![\s\\])\$(?!\d))"
)


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a text; the parts of a text, joined, are the text.

    Attributes:
        kind: ``fence`` is code between Markdown's fences, ``code`` is code without.
    """

    kind: Kind
    text: str


def parts(text: str) -> list[Part]:
    """The blocks of a text: prose, fenced code, unfenced code, displayed formulas."""
    lines = text.splitlines(keepends=True)
    found: list[Part] = []
    at = 0
    while at < len(lines):
        kind, end = _block(lines, at)
        block = "".join(lines[at:end])
        if kind == "text" and found and found[-1].kind == "text":
            found[-1] = Part("text", found[-1].text + block)
        else:
            found.append(Part(kind, block))
        at = end
    return found


def inline_parts(text: str) -> Iterator[Part]:
    """Code and formulas within lines of prose."""
    at = 0
    for match in _INLINE.finditer(text):
        if match.start() > at:
            yield Part("text", text[at : match.start()])
        yield Part("code" if match["code"] else "math", match.group())
        at = match.end()
    if at < len(text):
        yield Part("text", text[at:])


def _block(lines: list[str], at: int) -> tuple[Kind, int]:
    fence = _FENCE.match(lines[at])
    if fence is not None:
        return "fence", _fence_end(lines, at + 1, fence[1])
    formula = _formula_end(lines, at)
    if formula is not None:
        return "math", formula
    code = _code_end(lines, at)
    if code > at:
        return "code", code
    return "text", at + 1


def _fence_end(lines: list[str], at: int, fence: str) -> int:
    while at < len(lines):
        close = _FENCE.match(lines[at])
        at += 1
        if close is not None and close[1].startswith(fence) and not lines[at - 1][close.end() :].strip():
            break
    return at


def _formula_end(lines: list[str], at: int) -> int | None:
    start = lines[at][:_LINE].lstrip()
    opening = next((mark for mark in _FORMULA_ENDS if start.startswith(mark)), None)
    if opening is None:
        return None
    closing = _FORMULA_ENDS[opening]
    if closing in start[len(opening) :]:
        return at + 1
    for end in range(at + 1, min(at + LONGEST_FORMULA_LINES, len(lines))):
        if closing in lines[end][:_LINE]:
            return end + 1
    return None


def _code_end(lines: list[str], at: int) -> int:
    """The end of the code that begins at a line; the line itself if none begins there."""
    end, last, statements, indented = at, at, 0, 0
    while end < len(lines):
        line = lines[end].rstrip("\r\n")[:_LINE]
        if _FENCE.match(line):
            break
        is_statement = _STATEMENT.match(line.lstrip()) is not None
        if not is_statement and (end == at or not _CONTINUED.match(line)):
            break
        statements += is_statement
        indented += is_statement and line[:1] in " \t"
        end += 1
        last = end if line.strip() else last
    enough = statements >= 3 or (statements >= 2 and indented > 0)
    return last if enough else at


def judged(text: str | None, *, as_written: bool = True) -> Markup:
    """A judged text; a note if it is empty or missing."""
    if text is None or not text.strip():
        note = "(empty)" if text is not None else "(missing)"
        return Markup('<p class="quiet">%s</p>') % note
    return written(text) if as_written or len(text) > LONGEST else formatted(text)


def written(text: str) -> Markup:
    """The unchanged text; code and formulas are set in a fixed width."""
    marked = escape(text) if len(text) > LONGEST_MARKED else Markup("").join(map(_marked, parts(text)))
    return Markup('<div class="text">%s</div>') % marked


def _marked(part: Part) -> Markup:
    if part.kind == "text":
        return Markup("").join(_span(piece) for piece in inline_parts(part.text))
    return _span(part)


def _span(part: Part) -> Markup:
    if part.kind == "text":
        return escape(part.text)
    return Markup('<span class="%s">%s</span>') % ("math" if part.kind == "math" else "code", part.text)


def formatted(text: str) -> Markup:
    """Markdown as safe HTML: no raw HTML, no images, links only to the web and without a referrer.

    Line breaks are kept, unfenced code is set as code, and LaTeX becomes MathML.
    """
    made = _markdown().render("".join(_as_markdown(part) for part in parts(text)))
    made = _HEADING.sub("<p><strong>", made)  # keep judged headings out of the page's outline
    made = _HEADING_END.sub("</strong></p>", made)
    clean = nh3.clean(
        made,
        tags=set(TAGS | MATH_TAGS),
        attributes={"a": {"href"}, "ol": {"start"}, **_MATH_ATTRIBUTES},
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer nofollow",
        url_relative="deny",
    )
    return Markup('<div class="prose">%s</div>') % Markup(clean)  # noqa: S704 - just cleaned


def _as_markdown(part: Part) -> str:
    """A block as Markdown: code between fences, displayed formulas between dollars."""
    block = part.text.strip()
    if part.kind == "code" and "```" not in block:
        return f"\n```\n{part.text.rstrip()}\n```\n"
    if part.kind == "math" and block.startswith("\\[") and block.endswith("\\]"):
        return f"\n$$\n{block[2:-2]}\n$$\n"
    if part.kind == "math" and block.startswith("\\begin{") and block.endswith("}"):
        return f"\n$$\n{block}\n$$\n"
    return part.text


@cache
def _markdown() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "linkify": False, "maxNesting": 20, "breaks": True})
    parser.enable(["table", "strikethrough"]).disable(["image", "code"])  # indented prose is not code
    parser.use(texmath_plugin, delimiters="brackets")
    parser.inline.ruler.at("link", _closed(link, "]"))
    for rule in texmath.rules["brackets"]["inline"]:
        parser.inline.ruler.at(rule["name"], _closed(texmath.make_inline_func(rule), "\\)"))
    for rule in texmath.rules["brackets"]["block"]:
        parser.block.ruler.at(rule["name"], _closed(texmath.make_block_func(rule), "\\]"))

    def dollars(source: str, options: dict[str, Any]) -> str:
        return _formula(source, "block" if options["display_mode"] else "inline")

    def block(_renderer: Any, tokens: Any, at: int, *_rest: Any) -> str:
        return f"<p>{_formula(tokens[at].content, 'block')}</p>"

    parser.use(dollarmath_plugin, allow_space=False, allow_digits=False, double_inline=True, renderer=dollars)
    parser.add_render_rule("math_inline", lambda _renderer, tokens, at, *_: _formula(tokens[at].content, "inline"))
    parser.add_render_rule("math_block", block)
    parser.add_render_rule("math_block_eqno", block)
    return parser


def _closed(rule: Callable[..., bool], closing: str) -> Callable[..., bool]:
    """A rule of formulas or links, asked only where one may end: it reads far ahead at every opening."""

    def asked(state: Any, *place: Any) -> bool:
        text, last = state.env.get(closing, (None, -1))
        if text is not state.src:
            last = state.src.rfind(closing)
            state.env[closing] = state.src, last
        return (state.bMarks[place[0]] if len(place) > 1 else state.pos) < last and rule(state, *place)

    return asked


def _formula(source: str, display: str) -> str:
    """LaTeX as MathML; the source as code if it cannot be converted."""
    if len(source) <= LONGEST_FORMULA:
        try:
            return convert(source.strip(), display=display)
        except Exception:  # noqa: S110 - the parser raises arbitrary errors on untrusted text
            pass
    return f"<code>{escape(source)}</code>"
