"""The verdict a rationale states in its own words."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Literal, TypeAlias

_NOUN = r"(?:assistant|output|response|answer|model|candidate|completion|solution|system|summary|chatbot)"
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth")
_WRAP = r"[(\[{\"'`*_\u201c\u2018]"
_UNWRAP = r"[)\]}\"'`*_\u201d\u2019]"
_ADVERB = r"(?!hardly|barely|scarcely)(?:\w+ly|much|far|still|also|overall|therefore|thus|hence|clear|somewhat)"
_DOUBT = re.compile(
    r"\b(?:not|never|although|though|while|whereas|even if|if|whether|unless|claims?|argues?)\b|n't\b", re.I
)
_LEAD = re.compile(r"(?:.*(?:verdict|judge?ment|decision))?\W*", re.I)
_REST = re.compile(r"[^\w\n]*(?:\n|\Z)")
_CLAUSE_END = re.compile(r"[.!?;,:\n]")
_MARK = re.compile(r"\[\[[^\[\]]+\]\]")
_LONGEST_MARK = 80
_JSON = re.compile(
    r"\"(?:winner|verdict|final_verdict|preferred|preference|choice|decision|better)\"\s*:\s*\"[^\"]{1,80}\"", re.I
)
_QUOTES = 4
"""Quotation marks of a JSON field and its value: texts with fewer are not searched for one."""
_TIE_WORD = re.compile(r"(?:an?\s+)?(?:tie|draw|equal|both|neither)", re.I)
_TIE = re.compile(
    r"\b(?:it(?:'s|\u2019s| is)|this is|(?:verdict|result)(?: is)?:?|(?:call|consider) (?:it|this)|declare)"
    rf"\s+(?:\w+\s+)?a\s+(?:tie|draw)\b|{_NOUN}s\s+(?:are|perform)\s+equally\s+(?:good|well|bad|poor|correct)\b",
    re.I,
)
_LEADING_NOUN = re.compile(rf"^{_NOUN}\s+(?=\S)", re.I)
_GOES_ON = re.compile(r"[\w>=<]")
_SIGN = re.compile(r"(>>|<<|>|<|=)")
_TAIL = 400
_END = 600
"""Characters from the end in which sentences are looked for."""

_SENTENCE_END = re.compile(r"[.!?][\"')\]*_]{0,3}\s|\n")
_FINISHED = re.compile(r"[.!?][\"')\]*_]{0,3}\Z")
_ALIKE = re.compile(r"\b(?:both|neither|either|equally|equal|same|similar|similarly|tie|tied|each|on par)\b", re.I)
_CONCESSION = re.compile(r"\b(?:but|however|although|though|yet|despite|while|whereas|even|if|unless|except)\b", re.I)
_NOT = re.compile(
    r"\b(?:not|never|no|nor|hardly|barely|less|least|fails?|lacks?|could|would|might)\b|n['\u2019]t\b", re.I
)
_DENIED = re.compile(r"\b(?:not|never|hardly)\s+(?:\w+\s+){0,3}$|n['\u2019]t\s+(?:\w+\s+){0,3}$", re.I)
_BETTER = re.compile(
    r"\b(?:(?:better|superior|stronger)(?!\s+(?:at|written|formatted|organi[sz]ed|structured|explained|phrased|when|if)\b)|"
    r"preferable|preferred|outperforms|surpasses|more (?:\w+ly )?"
    r"(?:accurate|correct|helpful|complete|comprehensive|precise|useful|relevant|reliable|convincing|appropriate|"
    r"detailed|thorough|informative|effective)|"
    r"the (?:most|only|best|more) (?:\w+ ){0,2}?"
    r"(?:accurate|correct|helpful|complete|right|answer|response|solution))\b",
    re.I,
)
_RIGHT = re.compile(r"\b(?:correct|correctly|right|accurate|accurately|valid)\b", re.I)
_WRONG = re.compile(
    r"\b(?:incorrect|incorrectly|wrong|wrongly|inaccurate|error|errors|mistake|mistakes|flawed|fails|false|invalid)\b",
    re.I,
)
_COMPARED_WITH = re.compile(r"\b(?:than|over|to|with|against|unlike|of|from|by)\s*(?:the\s*|that of\s*)?$", re.I)
_FEW_WORDS = 60
"""Characters behind a response's name in which what is said must begin to be about it."""
_CONTEXT = 80


@dataclass(frozen=True, slots=True)
class TextVerdict:
    """A verdict read from a text.

    Attributes:
        winner: the preferred response's id, None for a tie.
        quote: the words it was read from.
    """

    winner: str | None
    quote: str


@dataclass(frozen=True, slots=True)
class NoTextVerdict:
    """Why no verdict could be read: nothing found, or several different marks."""

    state: Literal["no_text_verdict", "conflicting"]
    detail: str


def read_text_verdict(text: str, shown: tuple[tuple[str, str], ...]) -> TextVerdict | NoTextVerdict:
    """Reads the verdict that a judge's text ends with.

    Explicit marks come first: ``[[A>>B]]``, ``[[A]]``, ``[[tie]]`` (with labels A and B also ``[[C]]``), or a JSON
    field such as ``{"winner": "A"}``. Where marks name different winners the text is ``conflicting``. Without a
    mark the last sentence of a known form decides: "Output (a) is better", "the winner is Assistant B", "I prefer
    the second response", "it is a tie"; or a last line that is nothing but "Output (a)". Sentences under a negation or
    a concession ("not", "although", "if") in the same clause are passed over, and so are aspects ("is better written").

    Args:
        shown: (label the judge saw, response id) by position.

    Returns:
        The winner as a response id.
    """
    marks = marks_in(text)
    return (read_marks(marks, shown) if marks else None) or read_sentences(text, shown)


def marks_in(text: str) -> tuple[str, ...]:
    """Everything in a text that has the form of an explicit mark, as it stands there; it need not name a winner."""
    # The patterns are tried only where their first characters stand, which is cheap to find out.
    bracket, quote = text.find("["), text.find('"')
    marks: list[str] = [] if bracket < 0 else _MARK.findall(text, bracket)
    if quote >= 0 and text.count('"', quote) >= _QUOTES:
        marks += _JSON.findall(text, quote)
    return tuple(marks)


def read_marks(marks: tuple[str, ...], shown: tuple[tuple[str, str], ...]) -> TextVerdict | NoTextVerdict | None:
    """Reads what the explicit marks of a text say together; see :func:`read_text_verdict`.

    Args:
        marks: as :func:`marks_in` gives them.

    Returns:
        The last one where they name one winner; None where none of them names a winner or a tie.
    """
    read = (_read_mark(said, mark, shown) for mark in marks if len(said := _content(mark)) <= _LONGEST_MARK)
    found = [mark for mark in read if mark is not None]
    if len({mark.winner for mark in found}) > 1:
        quotes = ", ".join(sorted({mark.quote for mark in found}))
        return NoTextVerdict("conflicting", f"the text marks different winners: {_short(quotes)}")
    return found[-1] if found else None


def read_sentences(text: str, shown: tuple[tuple[str, str], ...]) -> TextVerdict | NoTextVerdict:
    """Reads the last sentence that states a verdict, in a text without marks; see :func:`read_text_verdict`."""
    found = _last_sentence(text, _forms(shown))
    return found or NoTextVerdict("no_text_verdict", "the text states no verdict in a known form")


def read_favoured(text: str, shown: tuple[tuple[str, str], ...]) -> TextVerdict | None:
    """Reads the response that a reasoning favours in its last sentences, where it states no verdict.

    A judge that gives its verdict in a field of its own ends its reasoning with a sentence such as "Response A is
    correct, while response B makes an error". Such sentences are read conservatively, two from the end: a response must
    be named with its noun and label, the sentence may not call both alike, and of a concession only what is said to be
    right or wrong counts. This supports or contradicts a verdict that is known; it is no verdict to be recorded.
    Arguments as for :func:`read_text_verdict`.

    Returns:
        None where the last sentence that names a response favours none.
    """
    forms = _forms(shown)
    for sentence in _ending(text):
        said = list(_said_of(sentence, forms.mention, forms.ids))
        if said:
            winner = _favoured(sentence, said)
            return None if winner is None else TextVerdict(winner, sentence)
    return None


_Form: TypeAlias = tuple[tuple[str, ...], str]
"""Words of which a text must contain one, which is cheap to find out, and the pattern that is compiled only then."""


@cache
def _compiled(expression: str) -> re.Pattern[str]:
    return re.compile(expression)


@dataclass(frozen=True, slots=True)
class _Forms:
    """The patterns of one set of labels."""

    shown: tuple[tuple[str, str], ...]
    ids: dict[str, str]
    order: tuple[str, ...]
    named: re.Pattern[str]
    link: re.Pattern[str]
    whole: re.Pattern[str]
    last_line: re.Pattern[str]
    mention: re.Pattern[str]
    sentences: tuple[_Form, ...]

    def response(self, label: str) -> str | None:
        name = self.ids.get(label)
        return name if name is not None else self.ids.get(label.casefold())


@lru_cache(maxsize=256)
def _forms(shown: tuple[tuple[str, str], ...]) -> _Forms:
    ids = {_core(label): name for label, name in shown}
    folded = [label.casefold() for label in ids]
    ids.update({label.casefold(): name for label, name in list(ids.items()) if folded.count(label.casefold()) == 1})
    either = "|".join(sorted({re.escape(_core(label)) for label, _ in shown}, key=len, reverse=True))
    # A label in brackets or quotes may change its case ("Output (a)"); a bare one may not: "a" is also an article.
    label = rf"(?:{_WRAP}{{1,3}}(?P<wrapped>(?i:{either})){_UNWRAP}{{1,3}}|(?P<bare>{either})(?![\w'\u2019]))"
    ordinal = rf"(?i:\b(?P<ordinal>{'|'.join(_ORDINALS)})\s+{_NOUN}\b)"
    # Both begin where no word goes on, which is tested first: it is cheap, and most places fail it.
    subject = rf"(?<!\w)(?:(?i:{_NOUN})\s+{label}|{ordinal})"
    loose = rf"(?<!\w)(?:(?i:{_NOUN}\s+)?(?<!\w){label}|{ordinal})"
    chain = rf"(?:(?i:{_NOUN})\s+)?(?:{either})"
    return _Forms(
        shown=shown,
        ids=ids,
        order=tuple(name for _, name in shown),
        named=re.compile(rf"(?<![\w>=<]){chain}"),
        link=re.compile(rf"\s*(?:>>|<<|>|<|=)\s*{chain}"),
        whole=re.compile(rf"\W*?{loose}\W*"),
        last_line=re.compile(rf"(?:\A|\n)[ \t*#_]*{subject}[ \t*_.]*\Z"),
        mention=re.compile(rf"(?i:\b{_NOUN})\s+{_WRAP}?(?P<label>{either})(?!\w){_UNWRAP}*"),
        sentences=_sentence_forms(subject, loose),
    )


def _sentence_forms(subject: str, loose: str) -> tuple[_Form, ...]:
    """Sentences that state a verdict about a ``subject`` (noun and label) or, where safe, a bare label too."""
    quiet = rf"{_UNWRAP}*"
    is_ = rf"{quiet},?\s+(?i:is|was)\s+(?i:the\s+)?(?i:(?:{_ADVERB},?\s+){{0,3}})"
    aspect = r"(?!\s+(?i:at|written|formatted|organi[sz]ed|structured|explained|suited|phrased|when|if|only)\b)"
    equals = rf"{quiet}\s*(?i:is|was|goes\s+to|:|=|->|\u2192)\s*{_WRAP}{{0,3}}"
    alone = r"(?!\s*[<>=])"
    patterns = {
        ("better", "superior", "prefer", "winner"): (
            rf"{loose}{is_}(?i:better|superior|preferable|preferred|the\s+winner|winner)\b{aspect}"
        ),
        ("best", "stronger"): rf"{subject}{is_}(?i:best|stronger)\b{aspect}",
        ("wins",): rf"{loose}{quiet}\s+(?i:wins)\b",
        ("winner", "verdict", "preference", "better"): (
            rf"(?i:\b(?:winner|verdict|preference|better\s+(?:{_NOUN}|one))){equals}{loose}{alone}"
        ),
        # The best answer to a multiple-choice question may be "B" too: here the noun must stand with the label.
        ("best", "superior", "preferred"): (
            rf"(?i:\b(?:best|superior|preferred)\s+(?:{_NOUN}|one)){equals}{subject}{alone}"
        ),
        ("prefer", "choose", "pick", "favo", "select"): (
            rf"(?i:\b(?:i|we)\s+(?:\w+\s+)?(?:prefer|choose|pick|favou?r|select))\s+(?i:the\s+)?{subject}"
        ),
    }
    return tuple(patterns.items())


def _core(label: str) -> str:
    """A label without brackets, and without the noun before it: ``Output (a)`` -> ``a``."""
    bare = _LEADING_NOUN.sub("", label.strip())
    return bare.strip("()[]{}\"'`* ") or label


def _content(mark: str) -> str:
    """What stands in a mark."""
    # The pattern leaves the white space to strip(): with a run of it on either side it would be quadratic.
    return mark[2:-2].strip() if mark.startswith("[") else mark[:-1].rpartition('"')[2]


@lru_cache(maxsize=4_096)  # judges repeat few marks many times
def _read_mark(content: str, quote: str, shown: tuple[tuple[str, str], ...]) -> TextVerdict | None:
    """Reads ``A``, ``Assistant A``, ``A>>B``, ``A=B`` or ``tie``; None for anything else (a matrix, say)."""
    forms = _forms(shown)
    parts = _SIGN.split(content)
    names = [forms.response(_core(part)) for part in parts[::2]]
    signs = {sign[0] for sign in parts[1::2]}
    if None not in names and len(set(names)) == len(names):
        if not signs or parts[1][0] == ">":
            return TextVerdict(names[0], quote) if "<" not in signs else None
        if signs == {"<"}:
            return TextVerdict(names[-1], quote)
        return TextVerdict(None, quote) if signs == {"="} else None
    is_c = content.strip() == "C" and set(forms.ids) == {"A", "B", "a", "b"}
    return TextVerdict(None, quote) if is_c or _TIE_WORD.fullmatch(content.strip()) else None


def _last_sentence(text: str, forms: _Forms) -> TextVerdict | None:
    label = _bare_label(text.rstrip(), forms)
    if label is not None:
        return label
    # Most texts end with their verdict; the whole text is searched only where the tail states none.
    for start in (max(0, len(text) - _TAIL), 0):
        found = max(_sentences(text, start, forms), key=lambda sentence: sentence.end, default=None)
        if found is not None:
            return TextVerdict(found.winner, found.quote)
    return None


def _bare_label(text: str, forms: _Forms) -> TextVerdict | None:
    """A text that is, or whose last line is, nothing but a label."""
    found = forms.last_line.search(text, max(0, len(text) - _CONTEXT))
    if found is None and len(text) <= _CONTEXT:
        found = forms.whole.fullmatch(text)
    name = _named(found, forms) if found else None
    return TextVerdict(name, found.group(0).strip()) if found and name else None


@dataclass(frozen=True, slots=True)
class _Sentence:
    end: int
    winner: str | None
    quote: str


def _sentences(text: str, start: int, forms: _Forms) -> Iterator[_Sentence]:
    lower = text[start:].lower()
    for words, expression in forms.sentences:
        if not any(word in lower for word in words):
            continue
        for found in _compiled(expression).finditer(text, start):
            name = _named(found, forms)
            if name is not None and not _doubted(text, found.start()):
                yield _Sentence(found.end(), name, found.group(0))
    for found in _TIE.finditer(text, start) if _may_tie(lower) else ():
        if not _doubted(text, found.start()):
            yield _Sentence(found.end(), None, found.group(0))
    if any(sign in lower for sign in "<>="):
        yield from _comparisons(text, start, forms)


def _may_tie(lower: str) -> bool:
    """Whether a text holds a word that :data:`_TIE` ends with; "tie" alone stands in many others, such as "parties"."""
    if "equally" in lower:
        return True
    return any(lower[at - 1 : at].isspace() for word in ("tie", "draw") for at in places_of(lower, word))


def places_of(text: str, word: str) -> Iterator[int]:
    """Where a word stands in a text, also within other words."""
    at = text.find(word)
    while at >= 0:
        yield at
        at = text.find(word, at + len(word))


def _comparisons(text: str, start: int, forms: _Forms) -> Iterator[_Sentence]:
    """``A>B`` alone on its line or after "verdict"; elsewhere it may be mathematics."""
    for begin, end in _chains(text, start, forms):
        context = max(0, begin - _CONTEXT)
        before = text[max(text.rfind("\n", context, begin) + 1, context) : begin]
        if _REST.match(text, end) and _LEAD.fullmatch(before):
            quote = text[begin:end]
            mark = _read_mark(quote, quote, forms.shown)
            if mark is not None:
                yield _Sentence(end, mark.winner, mark.quote)


def _chains(text: str, start: int, forms: _Forms) -> Iterator[tuple[int, int]]:
    """Where labels stand joined by signs (``A > B = C``), as (begin, end), each as long as it ends with a whole label.

    One pattern for a whole chain would be quadratic: it would try every label of ``A= A= A= `` as a beginning, each
    time to the end of the chain. A chain no part of which ends with a whole label is passed over at once here.
    """
    while (first := forms.named.search(text, start)) is not None:
        last, end, whole = first.start() + 1, first.end(), None
        while (link := forms.link.match(text, end)) is not None:
            last, end = link.span()
            whole = whole if _GOES_ON.match(text, end) else end
        if whole is not None:
            yield first.start(), whole
        start = whole or last


def _named(found: re.Match[str], forms: _Forms) -> str | None:
    groups = found.groupdict()
    if groups.get("ordinal"):
        position = _ORDINALS.index(groups["ordinal"].lower())
        return forms.order[position] if position < len(forms.order) else None
    label = groups.get("wrapped") or groups.get("bare")
    return forms.response(label) if label else None


def _doubted(text: str, start: int) -> bool:
    """Whether the clause before a sentence's subject negates or concedes it."""
    before = text[max(0, start - _CONTEXT) : start]
    ends = [found.end() for found in _CLAUSE_END.finditer(before)]
    return _DOUBT.search(before, ends[-1] if ends else 0) is not None


def _short(text: str) -> str:
    return text if len(text) <= 120 else text[:117] + "..."


def _ending(text: str) -> list[str]:
    """The last two sentences, the last one first; none of a text that breaks off."""
    tail = text.rstrip()[-_END:]
    if not _FINISHED.search(tail):
        return []
    parts = [part.strip() for part in _SENTENCE_END.split(tail)]
    return [part for part in parts if part][-2:][::-1]


def _said_of(sentence: str, named: re.Pattern[str], ids: dict[str, str]) -> Iterator[tuple[str, str]]:
    """(response id, what is said of it) for each mention; not of what is denied, or merely compared with."""
    mentions = list(named.finditer(sentence))
    begins = [0, *(found.end() for found in mentions)]
    ends = [*(found.start() for found in mentions), len(sentence)][1:]
    for found, begin, end in zip(mentions, begins, ends, strict=False):
        before, label = sentence[begin : found.start()], found["label"]
        if not _COMPARED_WITH.search(before) and not _DENIED.search(before):
            yield ids.get(label) or ids[label.casefold()], sentence[found.end() : end]


def _favoured(sentence: str, said: list[tuple[str, str]]) -> str | None:
    if _ALIKE.search(sentence):
        return None
    if not _CONCESSION.search(sentence):
        better = {name for name, words in said if _claims(_BETTER, words) and not _WRONG.search(words)}
        if better:
            return better.pop() if len(better) == 1 else None
    right = {name for name, words in said if _claims(_RIGHT, words) and not _WRONG.search(words)}
    wrong = {name for name, words in said if _claims(_WRONG, words) and not _RIGHT.search(words)}
    one_of_two = len(right) == len(wrong) == 1 and right != wrong
    return right.pop() if one_of_two else None


def _claims(pattern: re.Pattern[str], words: str) -> bool:
    found = pattern.search(words)
    return found is not None and found.start() <= _FEW_WORDS and _NOT.search(words, 0, found.start()) is None
