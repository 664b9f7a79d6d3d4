"""Ballots from judgments: every judge ranks the models that wrote the responses.

A response's id is a candidate only where it names one: ``A`` and ``B`` give a response's position in its item, and
another model has that position in the next item.
"""

import re
from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction

from metajudge.errors import InputError
from metajudge.readers.containers import Container, container_of
from metajudge.readers.lines import Line, Reject, Source, read_lines
from metajudge.readers.mapping import FieldMap
from metajudge.readers.rankings import FileBallot, Groups, RankingFile
from metajudge.readers.saved_maps import saved_map
from metajudge.readers.shapes import Shape, shape_of
from metajudge.readers.source import open_judgments
from metajudge.types import Category, Grade, Judgment, Pairwise, Ranking
from metajudge.types.verdict import kind_of

_BALLOT = ("ranking", "verdict")
_NOUNS = (
    r"(?:model|assistant|response|resp|output|answer|candidate|cand|system|option|completion|conversation|summary|text|"
    r"choice|slot|side|position|generation)s?"
)
_PLACE = r"(?:[a-z]|\d{1,3}|one|two|three|first|second|third|left|right|top|bottom|chosen|rejected|baseline|reference)"
_SLOT = re.compile(rf"(?:{_NOUNS}[\s_.-]*)?{_PLACE}|{_NOUNS}", re.I)
_LETTERED = re.compile(r"[a-z][_.-]?\d{1,3}", re.I)


def holds_judgments(source: Source) -> bool:
    """Whether a file contains judgments, whose verdicts are about an item's responses, and not rankings as they are."""
    if source.path.is_dir() or saved_map(source.path) is not None:
        return True
    container = container_of(source)
    if container is not Container.LINES:
        return container is not Container.CSV
    first = next((line.data for line in read_lines(source) if isinstance(line, Line)), {})
    shape = shape_of(first)
    if shape is Shape.JUDGMENTS or isinstance(first.get("item"), dict):
        return True
    return shape is not Shape.UNKNOWN and not any(key in first for key in _BALLOT)


def are_slots(ids: tuple[str, ...]) -> bool:
    """Whether response ids say where responses stand, and not who wrote them: ``A``, ``left``, ``response_b``, ``2``.

    A letter with a number (``A0``, ``o1``) is one only where all ids are: there are models of such names.
    """
    placed = [_SLOT.fullmatch(name) is not None for name in ids]
    return any(placed) or all(_LETTERED.fullmatch(name) is not None for name in ids)


def read_judged_rankings(source: Source, mapping: FieldMap | None = None) -> RankingFile:
    """Reads every verdict as a ballot on models; what is no ballot is left out with its reason.

    Where no judgment names its models, the responses' ids are the candidates, if they name any (see :func:`are_slots`)
    and recur from item to item.

    Args:
        source: a file or folder of judgments.
        mapping: which column of a table is what; None for the one that is kept for the file.

    Raises:
        InputError: the file contains no judgments that can be read, or none of them says who wrote the responses.
    """
    found = _Found(source.name)
    for number, record in enumerate(open_judgments([source.path], mapping=mapping).scan(), start=1):
        if isinstance(record, Reject):
            found.rejects.append(record)
            continue
        try:
            found.add(record, number)
        except InputError as error:
            found.reject(record, number, str(error))
    return found.file()


@dataclass(slots=True)
class _Found:
    name: str
    rejects: list[Reject] = field(default_factory=list)
    named: list[FileBallot] = field(default_factory=list)
    by_id: list[tuple[Judgment, FileBallot]] = field(default_factory=list)
    slots: list[tuple[str, ...]] = field(default_factory=list)

    def add(self, judgment: Judgment, number: int) -> None:
        verdict, models = _compared(judgment), judgment.item.models or {}
        named = {name: models[name] for name in verdict.ids if name in models}
        if len(named) == len(verdict.ids):
            if len(set(named.values())) < len(named):
                raise InputError("one model wrote several of the responses")
            self.named.append(_ballot(judgment, verdict, number, named))
            return
        if named or are_slots(verdict.ids):
            self.slots.append(verdict.ids)
            raise InputError(_unnamed(verdict.ids))
        self.by_id.append((judgment, _ballot(judgment, verdict, number, {name: name for name in verdict.ids})))

    def reject(self, judgment: Judgment, number: int, reason: str) -> None:
        self.rejects.append(Reject(self.name, number, f"{judgment.id}: {reason}", str(judgment.verdict)))

    def file(self) -> RankingFile:
        ballots = self.named
        if not ballots and not self.slots and self._recur():
            ballots = [ballot for _, ballot in self.by_id]
        else:
            for judgment, ballot in self.by_id:
                self.slots.append(tuple(name for group in ballot.ranking for name in group))
                self.reject(judgment, ballot.line, _unnamed(self.slots[-1]))
        if not ballots and self.slots:
            raise InputError(_nobody(self.name, self.slots))
        rejects = sorted(self.rejects, key=lambda one: one.line)
        return RankingFile(self.name, "judgments", None, tuple(ballots), tuple(rejects))

    def _recur(self) -> bool:
        """Whether some response id occurs in several items, as a candidate's name does."""
        items = {(judgment.item.id, name) for judgment, _ in self.by_id for name in judgment.item.responses}
        seen = Counter(name for _, name in items)
        return len({item for item, _ in items}) == 1 or any(count > 1 for count in seen.values())


def _compared(judgment: Judgment) -> Pairwise | Ranking:
    """The verdict, if it compares responses. Raises InputError: the verdict is missing, or is a grade or a category."""
    if judgment.verdict is None:
        raise InputError(f"no verdict ({judgment.no_verdict})")
    if isinstance(judgment.verdict, Grade | Category):
        raise InputError(f"a {kind_of(judgment.verdict)} of one response is no ballot")
    return judgment.verdict


def _ballot(judgment: Judgment, verdict: Pairwise | Ranking, number: int, names: dict[str, str]) -> FileBallot:
    groups: Groups
    if isinstance(verdict, Pairwise):
        groups = ((verdict.first,), (verdict.second,)) if verdict.strength else ((verdict.first, verdict.second),)
    else:
        groups = verdict.groups
    ranking = tuple(tuple(names[name] for name in group) for group in groups)
    return FileBallot(ranking, Fraction(1), judgment.judge, judgment.item.id, number)


def _unnamed(ids: tuple[str, ...]) -> str:
    return f"the item does not name the models (item.models) of its responses {', '.join(ids)}"


def _nobody(name: str, slots: list[tuple[str, ...]]) -> str:
    ids = ", ".join(sorted({one for given in slots[:1_000] for one in given})[:6])
    columns = ",".join(f"models.{one}=COLUMN" for one in sorted(slots[0])[:2])
    count = "1 judgment does" if len(slots) == 1 else f"{len(slots):,} judgments do"
    return (
        f"{name}: {count} not name the models (item.models) that wrote the responses {ids}. Such names are "
        f"positions, and another model has that position in the next item. Name the models: in each judgment's "
        f"item.models, or in a table with --map {columns}. To rank the responses to one question, give "
        "a file of rankings"
    )
