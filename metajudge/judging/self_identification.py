r"""Where a text says who wrote it: "I am NAME", "As NAME, I", "trained by MAKER", "NAME here", a signature. Pure.

A text is first folded as a reader sees it: look-alike letters, invisible characters and emphasis undone, places kept.

A pattern finds the words that lead up to a name and ends where the name has to begin. All repeats are bounded and no
two of them compete for the same characters, so the time is linear in the length of the text.
"""

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

_LOOKALIKES = str.maketrans(
    "АВЕЅІЈКМНОРСТХУаеѕіјорсхуԛԝһո" + "ΑΒΕΖΗΙΚΜΝΟΡΤΧΥαινορτυχ" + "ıƖɑɡ",  # noqa: RUF001
    "ABESIJKMHOPCTXYaesijopcxyqwhn" + "ABEZHIKMNOPTXYaivoptux" + "ilag",
)
"""Cyrillic, Greek and other letters that look like Latin ones; each maps to one letter."""
_DASHES = frozenset("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d\u00b7\u2027")
_QUOTES = dict.fromkeys("\u2018\u2019\u201b\u02bc\u00b4`", "'") | dict.fromkeys("\u201c\u201d\u201e\u00ab\u00bb", '"')
_LONGEST = 3
"""The most letters one character expands to, as in the ligature ffi; it bounds the length of a folded text."""
_LEFT_OUT = re.compile(r"[*`~\\]|</?(?:b|i|u|em|strong|code|mark|span|sub|sup)>", re.IGNORECASE)
"""Emphasis in Markdown and HTML. It may occur inside a name and is not part of it."""


@dataclass(frozen=True, slots=True)
class Folded:
    """A text to be searched.

    Attributes:
        text: what is left of the original, in Latin letters where it is drawn with such.
        places: for each character of ``text`` its place in the original.
    """

    text: str
    places: Sequence[int]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The place in the original of a piece of ``text`` that is not empty."""
        return self.places[start], self.places[end - 1] + 1


def fold(text: str) -> Folded:
    """Folds a text, in time linear in its length.

    Example:
        >>> fold("**Open\u200bAI**\u2019s GPT\u20114").text
        "OpenAI's GPT-4"
    """
    if text.isascii() and _LEFT_OUT.search(text) is None:
        return Folded(text, range(len(text)))
    pieces: list[str] = []
    places: list[int] = []
    last = 0
    for left_out in _LEFT_OUT.finditer(text):
        _add(text, last, left_out.start(), pieces, places)
        last = left_out.end()
    _add(text, last, len(text), pieces, places)
    return Folded("".join(pieces), places)


def _add(text: str, start: int, end: int, pieces: list[str], places: list[int]) -> None:
    for place in range(start, end):
        folded = _character(text[place])
        pieces.append(folded)
        places.extend([place] * len(folded))


@lru_cache(maxsize=65536)
def _character(one: str) -> str:
    """A character in Latin letters; nothing for one that is not seen, such as an accent or a joiner of no width."""
    if one.isascii():
        return one
    if one in _DASHES:
        return "-"
    if one in _QUOTES:
        return _QUOTES[one]
    if one.isspace():
        return "\n" if one in "\u2028\u2029\u0085" else " "
    kept = [part for part in unicodedata.normalize("NFKD", one) if unicodedata.category(part) not in ("Mn", "Cf", "Me")]
    return "".join(kept[:_LONGEST]).translate(_LOOKALIKES)


_ARTICLE = r"an?|the|this|your|our|one"
_NOUN = (
    r"ai|a\.i\.|llms?|artificial|intelligence|assistants?|models?|chat\s?bots?|bots?|systems?|agents?|programs?|"
    r"products?|tools?|languages?|generative"
)
_FILL = (
    rf"{_ARTICLE}|{_NOUN}|actually|just|really|only|also|still|currently|in\sfact|not|even|simply|indeed|definitely|"
    r"large|small|virtual|helpful|friendly|multimodal|conversational|computer|advanced|powerful|open|free|harmless|"
    r"honest|new|latest|version|variant|instance|member|part|series|family|creation|iteration|"
    r"of|called|named|known|as|based|on|from|by|at|and|being|which|that|is|was|am|"
    r"pre-?trained|trained|made|created|developed|built|designed|engineered|programmed|fine-?tuned|powered|produced|"
    r"provided|released|published|maintained|operated|hosted|trainer|developer|team|company|researchers|scientists|"
    r"engineers|people|folks|experts|group|lab|labs|good|name|architecture|research|organi[sz]ation|startup|firm"
)
_FILLS = rf"(?:[\s,]{{1,3}}(?:{_FILL})(?![a-z0-9])){{0,14}}"
_GAP = r"[\s\"'(\[{,:_#-]{0,4}"

_SELF = (
    r"i'?m|i\sam|i\swas|i(?:'ve|\shave)\sbeen|call\sme|it's\sme|"
    r"my\s(?:full\s|real\s|model\s|own\s)?(?:name|model|identity|designation|id|version|type)(?:'s|\sis|\swas)?|"
    r"my\s(?:parent\s|current\s)?(?:creators?|developers?|makers?|trainers?|company|team|engineers|designers?|owners?|"
    r"providers?)(?:'s|\sis|\sare|\sat|\sfrom|\sover|\shere)?|"
    r"speaking\sas|answering\sas|responding\sas|"
    r"je\ssuis|je\sm'appelle|ich\sbin|ich\shei(?:sse|ße)|mein\sname\sist|soy|me\sllamo|mi\snombre\ses|sono|mi\schiamo|"
    r"eu\ssou|meu\snome\se|ik\sben|mijn\snaam\sis"
)
_BY = (
    r"(?:made|created|developed|built|designed|engineered|programmed|fine-?tuned|powered|produced|provided|released|"
    r"maintained|operated|owned)\sby|(?:desarrollad|cread)[oa]\spor|(?:entwickelt|erstellt)\svon|(?:developpee?|creee?)\spar|"
    rf"(?:{_NOUN})\s(?:by|from|of|at)|(?:based|built|run|runs|running)\son|(?:version|variant|instance)\sof"
)
_TRAINED = r"trained\sby|entrenad[oa]\spor|trainiert\svon|entrainee?\spar"

_CUES = re.compile(
    rf"(?<![a-z0-9])(?:(?P<me>{_SELF})|(?P<you>you'?re|you\sare)|(?P<as>as|being)|(?P<here>this\sis)|(?P<trained>{_TRAINED})|(?P<by>{_BY})|"
    rf"(?P<comma>i,))(?![a-z0-9]){_FILLS}{_GAP}|(?P<chinese>我是|我叫|我的名字是|私は|由)[\s\"'(]{{0,2}}",
    re.IGNORECASE,
)
_ARTICLE_LAST = re.compile(rf"(?:^|[\s,])(?:{_ARTICLE}){_GAP}$", re.IGNORECASE)
_NOUN_WITHIN = re.compile(
    r"(?<![a-z0-9])(?:ai|llm|assistant|model|chat\s?bot|bot|system|agent|program|product)(?![a-z0-9])", re.IGNORECASE
)
_FROM_WITHIN = re.compile(r"(?<![a-z0-9])(?:at|on|from|by)(?![a-z0-9])", re.IGNORECASE)
_PERSON = re.compile(
    r"(?<![A-Za-z0-9])(?:I|I'm|I've|[Mm]y|[Mm]yself|[Mm]e|[Yy]ou\sare|[Yy]ou're|[Aa]s\san?)(?![A-Za-z0-9])"
)
_MODEL_NOUN = re.compile(
    r"(?<![A-Za-z0-9])(?:AI|LLMs?|language\smodels?|models?|assistant|chat\s?bot|A\.I\.)(?![A-Za-z0-9])", re.IGNORECASE
)
_SENTENCE_END = re.compile(r"[.!?](?=[\s\"')\]])|\n")
_REACH = 240
"""A sentence is looked at this far on either side of a name."""


class Cue(Enum):
    """How plainly the words before a name say that it is the author's."""

    SELF = "self"
    """"I am", "my name is", "as an AI model by": whatever follows is the author's."""
    SELF_ARTICLE = "self_article"
    """"I am a": a model is meant by "I am a GPT-4 model", none by "I am a Gemini"."""
    AS = "as"
    """"As", "being": "As Claude, I" names the speaker, "as Claude Monet painted" does not."""
    HERE = "here"
    """"This is"."""
    COMMA = "comma"
    """"I,": the name is between commas."""
    TRAINED = "trained"
    """"Trained by": models are."""
    BY = "by"
    """"Made by": models are, and much besides."""


@dataclass(frozen=True, slots=True)
class Context:
    """What the words of a text say about the names in it; all places are those of the folded text."""

    text: str
    starts: Sequence[int]
    cues: Sequence["_Words"]
    persons: Sequence[int]
    nouns: Sequence[int]
    ends: Sequence[int]

    def cue(self, start: int) -> Cue | None:
        """What the words say that lead up to a name at a place."""
        place = bisect_right(self.starts, start) - 1
        if place < 0 or self.cues[place].end < start:
            return None
        return self.cues[place].cue(self.text, start)

    def sentence(self, start: int, end: int) -> tuple[int, int]:
        """The sentence around a place, cut to :data:`_REACH` characters on either side."""
        before = bisect_right(self.ends, start) - 1
        after = bisect_left(self.ends, end)
        first = self.ends[before] if before >= 0 else 0
        last = self.ends[after] if after < len(self.ends) else len(self.text)
        return max(first, start - _REACH), min(last, end + _REACH)

    def has_person(self, start: int, end: int) -> bool:
        """Whether the sentence speaks of "I", "my", or to "you are"."""
        return _any(self.persons, *self.sentence(start, end))

    def has_noun(self, start: int, end: int) -> bool:
        """Whether the sentence speaks of a model, an AI, an assistant."""
        return _any(self.nouns, *self.sentence(start, end))


@dataclass(frozen=True, slots=True)
class _Words:
    """Words that lead up to a name, which may begin anywhere from ``start``, where they are plain, to ``end``."""

    kind: str
    start: int
    end: int

    def cue(self, text: str, start: int) -> Cue | None:
        fills = text[self.start : start]
        noun = _NOUN_WITHIN.search(fills) is not None
        article = _ARTICLE_LAST.search(fills[-12:]) is not None
        if self.kind == "you" and not noun and _FROM_WITHIN.search(fills):
            return None  # "you are at", "you are on" do not introduce a model
        if self.kind in ("me", "you") or (noun and self.kind in ("as", "comma")):
            return Cue.SELF_ARTICLE if article else Cue.SELF
        return Cue.SELF if self.kind == "chinese" else Cue(self.kind)


def context_of(text: str) -> Context:
    """Reads a folded text once."""
    cues = [
        _Words(found.lastgroup or "", found.end(found.lastgroup or 0), found.end()) for found in _CUES.finditer(text)
    ]
    return Context(
        text,
        [one.start for one in cues],
        cues,
        [found.start() for found in _PERSON.finditer(text)],
        [found.start() for found in _MODEL_NOUN.finditer(text)],
        [found.start() for found in _SENTENCE_END.finditer(text)],
    )


def _any(places: Sequence[int], first: int, last: int) -> bool:
    return bisect_left(places, last) > bisect_left(places, first)


SPEAKS_AFTER = re.compile(
    r"(?:[\s,)\]\"'-]{0,3}(?:i|i'm|i've|i'd|i'll|my|me|we)(?![a-z0-9])|[,)\s-]{1,3}(?:an?|the)\s(?:large|ai|language|chat)"
    r"|[\s,(-]{1,3}(?:made|trained|created|developed|built|designed|powered|by|from)\s)",
    re.IGNORECASE,
)
"""After "As NAME": words that only the author says."""
CLAUSE_AFTER = re.compile(r"\s?(?:[,.;:!?)\]\"-]|$|\n)")
"""After "As NAME": the clause ends with the name."""
NOUN_AFTER = re.compile(
    rf"[\s-]{{1,2}}(?:{_NOUN}|based|powered|trained|instance|version|variant|family|series|large|chat|team|employee)"
    r"(?![a-z0-9])",
    re.IGNORECASE,
)
"""After "I am a NAME": it is a model that is one."""
ME_AFTER = re.compile(
    r"(?:'s)?\s(?:has\s|have\s|had\s|team\s|who\s|that\s){0,3}(?:pre-?trained|trained|created|made|built|developed|designed|"
    r"programmed|engineered|taught|instructed|fine-?tuned)\s(?:me|us)(?![a-z0-9])",
    re.IGNORECASE,
)
"""After a maker's name: it made the author."""
RULES_AFTER = re.compile(
    r"(?:'s?)?\s(?:usage\s|content\s|safety\s|use\s|use-case\s|acceptable\s){0,2}(?:polic(?:y|ies)|guidelines?|terms|rules)"
    r"(?![a-z0-9])",
    re.IGNORECASE,
)
"""After a maker's name: whose rules are followed."""
SPEAKER_AFTER = re.compile(
    r"\s?(?:here(?=\s?[,.!:;-]|\s?$|\n)|speaking(?![a-z])|\([^()\n]{0,20}\)\s?:|\]|(?:says?|said|answers?|response|reply|output)?\s?:)",
    re.IGNORECASE,
)
"""After a name at the start of a text: it introduces the speaker."""
SIGNED_BEFORE = re.compile(
    r"(?:^|\n|-|\nby\s|(?:regards|sincerely|cheers|best|yours|truly|wishes|signed|thanks)[,:\s]{1,3})[\s-]{0,3}$",
    re.IGNORECASE,
)
"""Before a name at the end of a text: it is a signature."""
HERE_AFTER = re.compile(r"\s(?:here|speaking)\s?[,.!:;-]", re.IGNORECASE)
"""After a name at the start of a sentence: who speaks."""
LINK = re.compile(
    r"[\s,(\[\"'-]{0,3}(?:an?\s)?(?:(?:large|language|ai|model|assistant|chatbot|llm)[\s,]{1,2}){0,4}"
    r"(?:(?:made|trained|created|developed|built|designed|released)\s)?(?:by|from|of|at|and|or|/|,|for)?"
    r"[\s,(\[\"'-]{0,3}(?:the\s)?",
    re.IGNORECASE,
)
"""Between two names of which the second tells more of the first: "Claude, an AI model from Anthropic"."""
