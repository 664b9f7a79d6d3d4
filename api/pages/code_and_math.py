"""Finds code and mathematics in plain text, line by line; the text is not changed."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

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
