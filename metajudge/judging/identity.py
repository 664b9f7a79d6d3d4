"""Hiding who wrote a text: the one rule for every path on which a model or a person judges blind. Pure.

What is hidden in the texts of one item:

1. **Ids** of the candidates, and names the caller gives, wherever they stand, however case and joiners are written.
2. **Self-identification**: a name of any known family or maker that the text claims for its author ("As GPT-4, made by
   OpenAI", "You are ChatGPT"), whether or not the item says which models the candidates are.
3. **Names of the families and makers in question**: of the candidates' models, and of what any of the texts claims to
   be. Certain names go wherever they stand; words that are also ordinary only where the context tells (a version
   behind it, a capital letter, a sentence in which the author speaks of itself).

A name in the question is a subject and stays, except in a self-identification. What was found and left standing is in
the report. Texts are compared in folded form (:func:`~metajudge.judging.self_identification.fold`), so that look-alike
letters, invisible characters and emphasis hide nothing; what is replaced is the original's.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any

from metajudge.concurrency import off_the_loop
from metajudge.judging.blinding import HIDDEN_NAME, BlindingReport, HiddenName, LeftName
from metajudge.judging.known_names import Certainty, Kind, KnownName, known_names
from metajudge.judging.self_identification import (
    CLAUSE_AFTER,
    HERE_AFTER,
    LINK,
    ME_AFTER,
    NOUN_AFTER,
    RULES_AFTER,
    SIGNED_BEFORE,
    SPEAKER_AFTER,
    SPEAKS_AFTER,
    Context,
    Cue,
    Folded,
    context_of,
    fold,
)

LEFT_LISTED = 20
"""Names left standing that are listed for one text; the rest is counted."""
_SHORTEST_ID = 3
_JOINER = r"[\s_.:/-]{0,3}"
_JOINERS = re.compile(r"[\s_.:/-]+")
_TIERS = (
    "opus|sonnet|haiku|instant|pro|flash|ultra|nano|turbo|mini|instruct|preview|omni|lite|plus|large|medium|small|vision|"
    "coder|thinking"
)
_SUFFIX = (
    rf"(?:[ \t_-]?(?:v?\d{{1,4}}(?:\.\d{{1,3}}){{0,2}}[a-z]{{0,2}}|{_TIERS}|\d{{1,3}}b|r\d)(?![a-z0-9])"
    r"|-(?:chat|it|hf|latest|exp|max|code|base|distill|\d{2,8})(?![a-z0-9])){0,6}"
)
_SURNAME = re.compile(r"\s(?:(?:de|van|von|der|le|la)\s){0,2}([A-Z][a-z]{2,})")
_NOT_A_SURNAME = re.compile(
    "opus|sonnet|haiku|instant|code|pro|flash|ultra|nano|advanced|model|models|assistant|chatbot|bot|api"
    "|app|and|the|is|here|can|will|would|has|was|says|said|thinks|wrote|from|made|does"
)
_OTHER_SUBJECT = re.compile(
    r"\s(?:constellation|zodiac|season|sign|signs|twins?|space|program|programme|mission|missions|telescope|observatory|"
    r"man|men|woman|women|personality|moon|sun|rising|horoscope|spacecraft)(?![a-z])",
    re.IGNORECASE,
)
_NOT_OPENING = re.compile(
    "(?:such|known|serves?|served|acts?|works?|functions?|well|same|just|much|so|far|soon|labell?ed|marked|treated|used"
    r"|seen)\sas\b"
)
"""Before a name: an "as" that opens no sentence or clause."""
_GENERIC = re.compile(
    "a|b|c|d|e|f|g|h|i|j|k|l|m|n|o|p|q|r|s|t|u|v|w|x|y|z|response|responses|answer|answers|output|outputs"
    "|model|models|candidate|candidates|assistant|system|option|choice|text|item|sample|try|attempt|draft"
    "|version|variant|run|test|prompt|step|baseline|control|treatment|reference|human|ours|theirs|new|old"
    "|left|right|first|second|third|one|two|three|chosen|rejected|good|bad|best|worst|long|short|before"
    "|after|base|with|without|no|context|given|unanswered"
)
"""Parts of ids that are no names: a response called ``answer-1`` gives nothing away."""


@dataclass(frozen=True, slots=True)
class Blinded:
    """Texts as a judge may read them, and what was hidden in them.

    Attributes:
        shown: candidate -> its text.
    """

    shown: dict[str, str] = field(default_factory=dict)
    report: BlindingReport = field(default_factory=BlindingReport)

    def hidden_in(self, candidate: str) -> tuple[str, ...]:
        """The different texts hidden in a candidate's answer, sorted."""
        return tuple(sorted({one.text for one in self.report.hidden if one.candidate == candidate}))


def hide_identities(
    texts: Mapping[str, str],
    *,
    question: str = "",
    models: Iterable[str] = (),
    names: Iterable[str] = (),
    hiding: bool = True,
) -> Blinded:
    """Hides who wrote the texts of one item.

    Args:
        texts: candidate -> what it wrote.
        question: what they answer; what it names is a subject.
        hiding: False leaves the texts as they are, and the report lists the names that stay readable.

    Returns:
        The texts in the order given, with :data:`~metajudge.judging.blinding.HIDDEN_NAME` for every name.
    """
    ids = _ids_pattern(tuple(sorted(set(texts))), tuple(sorted({name for name in [*models, *names] if name})))
    read = {candidate: _Text.of(candidate, text, ids) for candidate, text in texts.items()}
    about = _Text.of("", question, ids)
    subjects = {one.key for one in about.mentions}
    families = {one.family for one in about.mentions if one.family is not None and about.is_name(one)}
    for one in read.values():
        one.identify(families)
    claimed = {mention.family for one in read.values() for mention in one.identified}
    suspected = {family for family in (*claimed, *_families_of([*texts, *models, *names])) if family is not None}
    hidden: list[HiddenName] = []
    left: list[LeftName] = []
    unlisted = 0
    shown: dict[str, str] = {}
    for candidate, one in read.items():
        found, stays = one.judged(suspected, families, subjects)
        shown[candidate] = text = texts[candidate]
        if hiding:
            starts, ends = [0, *(f.end for f in found)], [*(f.start for f in found), len(text)]
            shown[candidate] = HIDDEN_NAME.join(text[a:b] for a, b in zip(starts, ends, strict=True))
        if hiding:
            hidden += found
        else:
            why = "hiding is switched off"
            stays = [LeftName(candidate=f.candidate, start=f.start, end=f.end, text=f.text, why=why) for f in found]
        left += stays[:LEFT_LISTED]
        unlisted += len(stays[LEFT_LISTED:])
    report = BlindingReport(hiding=hiding, hidden=tuple(hidden), left=tuple(left), left_unlisted=unlisted)
    return Blinded(shown, report)


def prepare() -> None:
    """Compiles the patterns, so that the first answers do not have to wait for it."""
    _known_pattern()


async def hide_identities_aside(texts: Mapping[str, str], *, question: str = "", **how: Any) -> Blinded:
    """As :func:`hide_identities`; long texts are read in a thread, so that no event loop waits for them."""
    read = partial(hide_identities, texts, question=question, **how)
    return await off_the_loop(read, len(question) + sum(map(len, texts.values())))


@dataclass(frozen=True, slots=True)
class _Mention:
    """A name in a folded text."""

    start: int
    end: int
    key: str
    kind: Kind
    certainty: Certainty
    family: str | None
    versioned: bool = False


@dataclass(slots=True)
class _Text:
    """One text, with the names in it and what its words say about them."""

    candidate: str
    original: str
    folded: Folded
    mentions: list[_Mention]
    context: Context
    identified: set[_Mention] = field(default_factory=set)

    @classmethod
    def of(cls, candidate: str, text: str, ids: "_Ids") -> "_Text":
        folded = fold(text)
        mentions = _mentions(folded.text, ids)
        return cls(candidate, text, folded, mentions, context_of(folded.text if mentions else ""))

    def identify(self, subjects: set[str]) -> None:
        """Finds the names that the text claims for its author."""
        previous: _Mention | None = None
        for one in self.mentions:
            subject = one.family in subjects
            linked = (
                previous is not None
                and previous in self.identified
                and one.start - previous.end <= 60
                and LINK.fullmatch(self.folded.text, previous.end, one.start) is not None
            )
            if (linked and previous and (one.family == previous.family or one.kind != previous.kind)) or self._claims(
                one, subject
            ):
                self.identified.add(one)
            previous = one

    def _claims(self, one: _Mention, subject: bool) -> bool:
        text, context = self.folded.text, self.context
        cue = context.cue(one.start)
        certain = one.certainty == "sure" or one.versioned
        if not certain and self._is_other(one):
            return False
        if cue is Cue.SELF or ME_AFTER.match(text, one.end):
            return True
        if cue is Cue.SELF_ARTICLE:
            return certain or NOUN_AFTER.match(text, one.end) is not None
        if cue is Cue.AS:
            person = context.has_person(one.start, one.end)
            if SPEAKS_AFTER.match(text, one.end) or (person and NOUN_AFTER.match(text, one.end)):
                return True
            ends = CLAUSE_AFTER.match(text, one.end) is not None
            opens = _NOT_OPENING.search(text[max(0, one.start - 24) : one.start].lower()) is None
            return ends and (certain or person) and opens
        if cue is Cue.COMMA:
            return text[one.end : one.end + 1] == ","
        if cue is Cue.HERE:
            return CLAUSE_AFTER.match(text, one.end) is not None and (certain or self._is_name(one)) and not subject
        names_itself = certain or one.certainty != "word"
        if names_itself and (self._introduces(one) or self._signs(one)):
            return not subject
        if RULES_AFTER.match(text, one.end) and one.kind == "maker" and context.has_person(one.start, one.end):
            return one.certainty == "sure" or context.has_noun(one.start, one.end)
        return self._made(one, cue, subject)

    def _made(self, one: _Mention, cue: Cue | None, subject: bool) -> bool:
        """Whether "trained by", "made by" or "a model from" refers to the author."""
        if cue not in (Cue.TRAINED, Cue.BY):
            return False
        context = self.context
        person, noun = context.has_person(one.start, one.end), context.has_noun(one.start, one.end)
        if subject:
            return person and noun and one.kind == "maker" and cue is Cue.TRAINED
        if one.kind == "maker" and (cue is Cue.TRAINED or one.certainty == "sure"):
            return True
        return person and (noun or one.certainty == "sure" or one.versioned)

    def _introduces(self, one: _Mention) -> bool:
        text = self.folded.text
        first = text[self.context.sentence(one.start, one.end)[0] : one.start]
        if HERE_AFTER.match(text, one.end) and not first.strip(" \n.!?,\"'"):
            return True
        return (
            not text[max(0, one.start - 200) : one.start].strip(" \n\t#>-_([:'\"")
            and one.start <= 200
            and (SPEAKER_AFTER.match(text, one.end) is not None)
        )

    def _signs(self, one: _Mention) -> bool:
        text = self.folded.text
        if len(text) - one.end > 12 or text[one.end :].strip(" \n\t.!_)]'\""):
            return False
        before = text[max(0, one.start - 40) : one.start]
        return one.start > 0 and SIGNED_BEFORE.search(before) is not None and len(text) > one.end - one.start + 20

    def judged(
        self, suspected: set[str], subject_families: set[str], subjects: set[str]
    ) -> tuple[list[HiddenName], list[LeftName]]:
        """Every name of the text: hidden, or left standing with the reason."""
        hidden: list[HiddenName] = []
        left: list[LeftName] = []
        spoken = sorted(self.context.sentence(one.start, one.end) for one in self.identified)
        for one in self.mentions:
            start, end = self.folded.span(one.start, one.end)
            place = {"candidate": self.candidate, "start": start, "end": end, "text": self.original[start:end]}
            why = None if one in self.identified else self._stays(one, suspected, subject_families, subjects, spoken)
            if why is None:
                hidden.append(HiddenName(**place, kind=one.kind, family=one.family))
            elif one.family in suspected or self.is_name(one):
                left.append(LeftName(**place, why=why))
        return hidden, left

    def _stays(
        self,
        one: _Mention,
        suspected: set[str],
        subject_families: set[str],
        subjects: set[str],
        spoken: Sequence[tuple[int, int]],
    ) -> str | None:
        """Why a name stays that the text does not claim for its author; None where it goes."""
        if one.key in subjects or (one.family in subject_families and one.kind != "id"):
            return "the question contains it"
        if one.kind == "id" and one.certainty == "sure":
            return None
        if one.family not in suspected and one.kind != "id":
            return "nothing says that it names the author"
        place = bisect_right(spoken, (one.start, len(self.original) * 4)) - 1
        if place >= 0 and one.start < spoken[place][1]:  # ends lie in the order of starts
            return None
        if one.certainty == "word" and not one.versioned:
            sentence = (one.start, one.end)
            speaks = self.context.has_person(*sentence) and self.context.has_noun(*sentence)
            return None if speaks and one.kind == "maker" else "an ordinary word or a well-known company here"
        return None if self.is_name(one) else "an ordinary word or another's name here"

    def is_name(self, one: _Mention) -> bool:
        """Whether a name is that of a model or maker by itself, without a context that says so."""
        if one.certainty == "sure" or one.versioned:
            return True
        return one.certainty != "word" and self._is_name(one)

    def _is_name(self, one: _Mention) -> bool:
        if self._is_other(one):
            return False
        return one.certainty == "name" or (
            one.certainty == "capital" and any(letter.isupper() for letter in self.folded.text[one.start : one.end])
        )

    def _is_other(self, one: _Mention) -> bool:
        """Whether it is a person's name, or a subject's: Claude Monet, Jean-Claude, the Gemini constellation."""
        text = self.folded.text
        if one.kind == "id":
            return False
        if one.start >= 2 and text[one.start - 1] == "-" and text[one.start - 2].isalpha():
            return True
        surname = _SURNAME.match(text, one.end)
        if surname is not None and one.certainty == "name":
            word = surname[1].lower()
            return _NOT_A_SURNAME.fullmatch(word) is None and word not in known_names()
        return one.certainty == "name" and _OTHER_SUBJECT.match(text, one.end) is not None


@dataclass(frozen=True, slots=True)
class _Ids:
    """The candidates' ids as a pattern; a key -> how certain it is."""

    pattern: re.Pattern[str] | None
    certainties: Mapping[str, Certainty]


def _mentions(text: str, ids: _Ids) -> list[_Mention]:
    """Every id and known name, in order; where two overlap the id is kept."""
    found: list[_Mention] = []
    if ids.pattern is not None:
        for match in ids.pattern.finditer(text):
            key = _key(match.group())
            found.append(_Mention(*match.span(), key, "id", ids.certainties.get(key, "sure"), None))
    taken = {place for one in found for place in range(one.start, one.end)}
    names = known_names()
    for match in _known_pattern().finditer(text):
        base = match["model"] or match["several"] or match["single"] or match["exact"]
        start, end = match.span()
        if start in taken or end - 1 in taken:
            continue
        name = names[_key(base)]
        certainty = "sure" if match["exact"] else name.certainty
        found.append(_Mention(start, end, name.key, name.kind, certainty, name.family, end > start + len(base)))
    return sorted(found, key=lambda one: one.start)


@lru_cache(maxsize=1)
def _known_pattern() -> re.Pattern[str]:
    names = sorted(known_names().values(), key=lambda one: (-len(one.key), one.key))
    models = "|".join(_joined(one) for one in names if one.kind == "family")
    makers = [one for one in names if one.kind == "maker"]
    several = "|".join(_joined(one) for one in makers if len(one.parts) > 1)  # "Mistral AI" before "Mistral"
    single = "|".join(_joined(one) for one in makers if len(one.parts) == 1)  # "Amazon Nova" before "Amazon"
    return re.compile(
        rf"(?<![a-z0-9])(?=[^\W_])(?:(?P<exact>(?-i:x\.?AI))|(?P<several>{several})|(?P<model>{models}){_SUFFIX}|"
        rf"(?P<single>{single}))(?![a-z0-9])",
        re.IGNORECASE,
    )


def _joined(name: KnownName) -> str:
    if name.key in ("gpt", "chatgpt"):  # also spelt out: "G P T", "Chat-G.P.T."
        return (r"chat[\s_.-]?" if name.key == "chatgpt" else "") + r"g[\s.]?p[\s.]?t"
    return r"[\s_.:/-]?".join(re.escape(part) for part in name.parts)


def _key(text: str) -> str:
    return _JOINERS.sub("", text).lower()


def _families_of(ids: Iterable[str]) -> set[str | None]:
    """The families that ids name: of a distilled or tuned model several."""
    return {one.family for text in ids for one in _mentions(fold(text).text, _NO_IDS)}


_NO_IDS = _Ids(None, {})


@lru_cache(maxsize=1024)
def _ids_pattern(candidates: tuple[str, ...], names: tuple[str, ...]) -> _Ids:
    """What the candidates are called, by their response ids and their models' ids."""
    patterns: dict[str, str] = {}
    certainties: dict[str, Certainty] = {}
    for text, is_model in [*((one, True) for one in names), *((one, False) for one in candidates)]:
        for name in {text, text.rpartition("/")[2]}:
            key = _key(fold(name).text)
            certainty = _id_certainty(name, is_model)
            if certainty is not None and key not in patterns and key not in known_names():
                patterns[key] = _JOINER.join(re.escape(part) for part in _JOINERS.split(fold(name).text) if part)
                certainties[key] = certainty
    if not patterns:
        return _NO_IDS
    longest = sorted(patterns, key=lambda key: (-len(key), key))
    joined = "|".join(patterns[key] for key in longest)
    return _Ids(re.compile(rf"(?<![a-z0-9])(?:{joined})(?![a-z0-9])", re.IGNORECASE), certainties)


def _id_certainty(name: str, is_model: bool) -> Certainty | None:
    """How certain it is that an id in a text means the candidate; None for an id that is not a name."""
    parts = [part for part in _JOINERS.split(name.lower()) if part]
    generic = all(_GENERIC.fullmatch(part) or part.isdigit() for part in parts)
    if generic or sum(map(len, parts)) < _SHORTEST_ID:
        return None
    if is_model or _families_of([name]):
        return "sure"
    return "sure" if len(parts) > 1 and any(letter.isdigit() for letter in name) else "word"
