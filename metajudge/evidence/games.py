"""All pairwise verdicts of an input as one array: who preferred which response of which pair, in which order.

Evidence over tens of thousands of judgments is arithmetic on this array; one judgment at a time,
:class:`~metajudge.evidence.index.EvidenceIndex` says the same with a reason in words.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from metajudge.errors import InputError
from metajudge.evidence.answers import AnswerRows, Answers, Seen, SeenItem, answers_of, is_row
from metajudge.stats.arrays import Bools, Floats, Indices
from metajudge.types import Judgment, Pairwise, Right, VerdictKind, text_digest
from metajudge.types.judgment import Scale


@dataclass(frozen=True)
class Games:
    """Verdicts in the frame of each pair: positive where the pair's first response is preferred.

    Attributes:
        judges: names, sorted.
        kin: the family of each judge; judges of one family share one vote where reliability is measured.
        models: the model behind each judge: many prompts of one model speak as one.
        strength: [pairs, judges, 2] signed strength in -2..2, the mean over repeated games; 0 where missing.
            The last axis is the order: 0 where the first response was shown first.
        given: [pairs, judges, 2] whether there is a verdict.
        asked: [pairs, judges, 2] whether there is a record, with or without a verdict.
    """

    judges: tuple[str, ...]
    kin: tuple[str, ...]
    models: tuple[str, ...]
    strength: Floats
    given: Bools
    asked: Bools

    @cached_property
    def shared(self) -> Bools:
        """[judges, judges] whether two judges were asked about a common pair."""
        met: Floats = np.asarray(self.asked.any(axis=2), dtype=np.float64)
        return np.asarray(np.matmul(met.T, met) > 0)


@dataclass(frozen=True, slots=True)
class GameRows:
    """Where decided pairwise judgments stand in :class:`Games`; all [n].

    Attributes:
        pair: index of the pair.
        judge: index of the judge.
        order: 0 or 1, the order shown.
        sign: 1 where the pair's first response is preferred, else -1.
        level: 1 for a plain verdict, 2 for a strong one.
    """

    pair: Indices
    judge: Indices
    order: Indices
    sign: Floats
    level: Indices

    def __len__(self) -> int:
        return len(self.pair)

    def select(self, chosen: Indices | Bools) -> "GameRows":
        return GameRows(
            self.pair[chosen], self.judge[chosen], self.order[chosen], self.sign[chosen], self.level[chosen]
        )


@dataclass(frozen=True, slots=True)
class _JudgmentRow:
    item: str
    place: int
    seen: Seen


class GameCollector:
    """Collects records one judgment at a time, for arrays of games or of answers; texts are not kept."""

    def __init__(self) -> None:
        self._records: defaultdict[str, list[Seen]] = defaultdict(list)
        self._digests: dict[str, tuple[str, str]] = {}
        self._questions: dict[str, tuple[str, Scale | None]] = {}
        self._rows: list[_JudgmentRow] = []
        self._known: dict[Seen, Seen] = {}
        self._models: dict[str, str] = {}

    def add(self, judgment: Judgment, *, row: bool) -> str:
        """Records a judgment; ``row`` asks for its place among the rows.

        The model behind a judge is ``meta["judge_model"]`` where a reader gives one, else the judge itself.

        Returns:
            The digest of the question.

        Raises:
            InputError: its item id was seen with another content.
        """
        item = judgment.item
        first = self._digests.setdefault(item.id, (item.digest, judgment.id))
        if first[0] != item.digest:
            raise InputError(
                f"item {item.id!r} has two different contents: in judgment {first[1]!r} and in judgment "
                f"{judgment.id!r}. Give each content its own item id, or repair the record that differs."
            )
        if item.id not in self._questions:
            self._questions[item.id] = text_digest(item.opening), item.scale
        model = judgment.meta.get("judge_model")
        self._models.setdefault(judgment.judge, model if isinstance(model, str) and model else judgment.judge)
        seen = Seen(judgment.judge, judgment.order, judgment.verdict)
        seen = self._known.setdefault(seen, seen)
        records = self._records[item.id]
        if row:
            self._rows.append(_JudgmentRow(item.id, len(records), seen))
        records.append(seen)
        return self._questions[item.id][0]

    def answers(self, kind: VerdictKind, rule: Right, kin: Callable[[str], str]) -> tuple[Answers, AnswerRows]:
        """The arrays of all records for verdicts of a kind, and the places of the rows that are decided.

        Args:
            kind: of the rows.
            rule: of what is right.
            kin: the family of a judge.
        """
        items = {name: SeenItem(seen, *self._questions[name]) for name, seen in self._records.items()}
        answers, places = answers_of(items, kind, rule, models=self._models, kin=kin)
        rows = [places[row.item][row.place] for row in self._rows if is_row(row.seen.verdict, kind, rule)]
        return answers, AnswerRows(np.array(rows, dtype=np.intp))

    def games(self, kin: Callable[[str], str]) -> tuple[Games, GameRows]:
        """The array of all games, and the rows' places in it.

        Args:
            kin: the family of a judge.
        """
        pairs = self._pairs()
        judges = sorted({seen.judge for seen in self._known})
        place = {name: index for index, name in enumerate(judges)}
        count = sum(len(found) for found in pairs.values())
        total = np.zeros((count, len(judges), 2))
        given = np.zeros(total.shape, dtype=np.intp)
        asked = np.zeros(total.shape, dtype=bool)
        for item, found in pairs.items():
            for seen in self._records[item]:
                for (first, second), pair in found.items():
                    at = _slot(seen.order, first, second)
                    if at is None:
                        continue
                    where = (pair, place[seen.judge], at)
                    asked[where] = True
                    support = None if seen.verdict is None else seen.verdict.support(first, second)
                    if support is not None:
                        total[where] += support
                        given[where] += 1
        games = Games(
            tuple(judges),
            tuple(kin(name) for name in judges),
            tuple(self._models[name] for name in judges),
            total / np.maximum(given, 1),
            given > 0,
            asked,
        )
        return games, self._places(pairs, place)

    def _pairs(self) -> dict[str, dict[tuple[str, str], int]]:
        """Item -> its compared pairs -> index; the frame of a pair is the order of its ids, which names no winner."""
        pairs: dict[str, dict[tuple[str, str], int]] = {}
        count = 0
        for item in sorted(self._records):
            verdicts = (seen.verdict for seen in self._records[item])
            found = sorted(
                {_pair(verdict.ids) for verdict in verdicts if verdict is not None and len(verdict.ids) == 2}
            )
            pairs[item] = {pair: count + index for index, pair in enumerate(found)}
            count += len(found)
        return pairs

    def _places(self, pairs: Mapping[str, Mapping[tuple[str, str], int]], place: Mapping[str, int]) -> GameRows:
        rows = list(self._row_places(pairs, place))
        columns = np.array(rows, dtype=np.intp).reshape(len(rows), 5)
        return GameRows(columns[:, 0], columns[:, 1], columns[:, 2], columns[:, 3].astype(np.float64), columns[:, 4])

    def _row_places(
        self, pairs: Mapping[str, Mapping[tuple[str, str], int]], place: Mapping[str, int]
    ) -> Iterator[tuple[int, ...]]:
        for row in self._rows:
            verdict = row.seen.verdict
            if not isinstance(verdict, Pairwise) or verdict.is_tie:
                continue
            first, second = _pair(verdict.ids)
            support = int(verdict.support(first, second) or 0)
            slot = _slot(row.seen.order, first, second)
            yield (
                pairs[row.item][first, second],
                place[row.seen.judge],
                0 if slot is None else slot,
                1 if support > 0 else -1,
                abs(support),
            )


def _pair(ids: Sequence[str]) -> tuple[str, str]:
    first, second = sorted(ids)
    return first, second


def _slot(order: Sequence[str], first: str, second: str) -> int | None:
    if first not in order or second not in order:
        return None
    return 0 if order.index(first) < order.index(second) else 1
