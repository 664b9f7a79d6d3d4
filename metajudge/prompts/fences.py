r"""Fences around untrusted text, and what makes such text inert.

Questions, responses, rationales and other models' replies are data. Each is put between two marker lines
that carry its name and a token derived from its own content::

    ⟦BEGIN rationale 5b1d0c8a3f0e9d7c⟧
    ...
    ⟦END rationale 5b1d0c8a3f0e9d7c⟧

A text cannot leave its fence for two independent reasons: the marker characters do not survive inside it,
and it would have to contain its own digest. The token depends on the text alone, so the same input always
renders to the same bytes and providers' prompt caches hit. It has 24 hexadecimal digits in the first prompt set and
16 from the second on.

What :func:`neutralise` changes, and why. Nothing is cut; what is replaced stays legible:

==============================================  ========================  ===========================================
found                                           becomes                   because
==============================================  ========================  ===========================================
``⟦`` ``⟧`` and brackets that look like them    ``[[`` ``]]``             they are, or would pass for, our markers
control characters but ``\n \t \r``, lone       ``[U+0000]`` and so on    they hide text, or cannot be sent at all
surrogates, non-characters
bidirectional embeddings, overrides, isolates   ``[U+202E]`` and so on    shown order would differ from real order
zero-width space, word joiner, invisible        ``[U+200B]`` and so on    they hide text or split words unseen
operators, byte order mark, tag characters,
supplementary variation selectors
chat templates' control tokens, by              ``<|im_start| >``,        a server that tokenises them inside content
``chat_markers.toml``: ``<|im_start|>``,        ``[INST ]``, ``<s >``:    would see a new turn; a space inside
``[INST]``, ``<<SYS>>``, ``</think>``...        one space goes in         makes them plain text
``Human:`` or ``Assistant:`` after an empty     ``Human :``               completion APIs used these as turn markers
line
==============================================  ========================  ===========================================

The second prompt set changes three things more. Control tokens in full-width brackets get their space, too: they become
tokens where a server folds widths. So do the turn markers where the empty line, or the line itself, begins with blanks.
And East Asian brackets before ``BEGIN`` or ``END`` become ``[``: they would pass for our markers. Elsewhere they
are ordinary punctuation and stay. The third set knows more markers, headings (``### Response:``) among them.

Left alone, because ordinary text needs them: joiners (emoji, Persian, Indic scripts), left-to-right and
right-to-left marks, line and paragraph separators, ``[[A>B]]``, ``<<<``, code fences, HTML, template syntax
(values are never rendered again), and words such as "system:" (only the fence can deal with words).
"""

import re
import threading
from dataclasses import dataclass
from functools import cache

from metajudge.concurrency import LONG_TEXT
from metajudge.files.packaged import packaged
from metajudge.prompts.versions import FIRST
from metajudge.types.digests import text_digest

OPEN, CLOSE = "⟦", "⟧"
TOKEN_LENGTHS = {1: 24, 2: 16, 3: 16}
"""Hexadecimal digits of a fence's token, by the prompt sets that changed fences or what they make inert."""

_HIDDEN = (
    *((0x00, 0x08), (0x0B, 0x0C), (0x0E, 0x1F), (0x7F, 0x9F)),  # control characters but \t \n \r
    *((0x200B, 0x200B), (0x2060, 0x206F), (0xFEFF, 0xFEFF), (0xFFF9, 0xFFFB)),  # zero-width, isolates, annotations
    (0x202A, 0x202E),  # bidirectional embeddings and overrides
    *((0xD800, 0xDFFF), (0xFDD0, 0xFDEF), (0xFFFE, 0xFFFF)),  # lone surrogates, non-characters
    (0xE0000, 0xE01EF),  # tag characters, supplementary variation selectors
)
_OPENING, _CLOSING = "⟦〚⟬〘⁅⦋⦍⦏", "⟧〛⟭〙⁆⦌⦎⦐"
_LEGIBLE = {
    **{code: f"[U+{code:04X}]" for first, last in _HIDDEN for code in range(first, last + 1)},
    **{ord(one): "[[" for one in _OPENING},
    **{ord(one): "]]" for one in _CLOSING},
}
"""What stands for each character that does not stay."""
_UNSAFE = re.compile(f"[{_OPENING}{_CLOSING}{''.join(f'{chr(first)}-{chr(last)}' for first, last in _HIDDEN)}]")
_PIECE = 4_096
"""Characters replaced at once: no other thread runs meanwhile."""
_PLAIN_ASCII = bytes([*b"\t\n\r", *range(32, 127)])

_IMITATION = re.compile(r"[【［〖『「](?=\s{0,3}/?\s{0,3}(?:BEGIN|END)\b)")  # noqa: RUF001
_WIDE_BRACKETS = frozenset("＜＞｜［］【〖『「")  # noqa: RUF001
"""Of which imitations, and control tokens in full-width brackets, need one."""


@dataclass(frozen=True, slots=True)
class _Markers:
    """Control tokens and turn markers of chat templates, each up to the mark before which the space goes.

    The patterns begin with a literal character where they can: the regex engine skips to those far faster.
    """

    angle: re.Pattern[str]
    square: re.Pattern[str]
    speaker: re.Pattern[str]
    wide: re.Pattern[str] | None
    rest: re.Pattern[str] | None


@cache
def _markers(rules: int) -> _Markers:
    found: dict[str, list[str]] = {}
    for one in packaged("prompts", "chat_markers")["marker"]:
        if one["since"] <= rules:
            found.setdefault(one["kind"], []).extend(one["tokens"])
    of = {kind: f"(?:{'|'.join(tokens)})" for kind, tokens in found.items()}
    blank = "" if rules == FIRST else r"[ \t]{0,8}"
    return _Markers(
        angle=re.compile(rf"<{of['angle']}(?=>)"),
        square=re.compile(rf"\[{of['square']}(?=\])"),
        speaker=re.compile(rf"\n{blank}\r?\n{blank}{of['speaker']}(?=:)"),
        wide=re.compile(rf"[<＜][|｜][^\s<>|｜＜＞]{{1,64}}[|｜](?=[>＞])|［{of['square']}(?=］)")  # noqa: RUF001
        if rules > FIRST
        else None,
        rest=re.compile(rf"\n{blank}{of['heading']}(?=:)|◁{of['white']}(?=▷)") if "heading" in of else None,
    )


@cache
def fence_rules(version: int) -> int:
    """The prompt set whose fences a set uses: the newest one up to it that changed them."""
    return max(number for number in TOKEN_LENGTHS if number <= version)


def neutralise(text: str, version: int = FIRST) -> str:
    """Makes marker characters, hidden characters and chat control sequences inert; see the module's table.

    Applying it twice changes nothing more. A long text is worked on once where several agents, orders or stages show it
    one after the other or at once; that takes a thread, not an event loop.
    """
    rules = fence_rules(version)
    if len(text) < LONG_TEXT:
        return _neutralised(text, rules)
    with _turn:
        if (known := _kept.pop((text, rules), None)) is None:
            known = _neutralised(text, rules)
        _kept[text, rules] = known
        while sum(map(len, _kept.values())) > _KEPT and len(_kept) > 1:
            _kept.pop(next(iter(_kept)))
        return known


_turn = threading.Lock()
_kept: dict[tuple[str, int], str] = {}
_KEPT = 16_000_000
"""Characters of long texts that are kept, the last ones shown."""


def _neutralised(text: str, rules: int) -> str:
    # Most of most texts is plain ASCII, which bytes.translate takes out far faster than a pattern could scan it.
    unusual = text.encode("utf-8", "surrogatepass").translate(None, _PLAIN_ASCII).decode("utf-8", "surrogatepass")
    if unusual and _UNSAFE.search(unusual):
        pieces = (text[at : at + _PIECE] for at in range(0, len(text), _PIECE))
        text = "".join(piece.translate(_LEGIBLE) if _UNSAFE.search(piece) else piece for piece in pieces)
    markers = _markers(rules)
    if "<" in text:
        text = markers.angle.sub(r"\g<0> ", text)
    if "]" in text and (rules > 2 or _has_square_end(text)):
        text = markers.square.sub(r"\g<0> ", text)
    if markers.wide is not None and not _WIDE_BRACKETS.isdisjoint(unusual):
        text = markers.wide.sub(r"\g<0> ", text)
        text = _IMITATION.sub("[", text)
    if ":" in text:
        # A fence ends its opening line before the text: one line feed at the start of a text makes an empty line.
        text = markers.speaker.sub(r"\g<0> ", f"\n{text}")[1:]
    if markers.rest is not None and (":" in text or "◁" in text):
        text = markers.rest.sub(r"\g<0> ", f"\n{text}")[1:]
    return text


def _has_square_end(text: str) -> bool:
    """Whether a square token of the first sets may be in a text, by their ends: found far faster than beginnings."""
    return "T]" in text or "S]" in text or "K]" in text or "P]" in text or "D]" in text


def fence(name: str, text: str, version: int = FIRST) -> str:
    """Puts an untrusted text between markers that it cannot forge.

    Args:
        name: what the text is, for the reader: lower-case words, written by us.

    Returns:
        Opening marker line, text, closing marker line; the same bytes for the same input.
    """
    inert = neutralise(text, version)
    label = f"{name} {text_digest(inert)[: TOKEN_LENGTHS[fence_rules(version)]]}"
    return f"{OPEN}BEGIN {label}{CLOSE}\n{inert}\n{OPEN}END {label}{CLOSE}"
