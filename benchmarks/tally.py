"""How the games of a pair count, and outcomes of one judge under a benchmark's own rule, category by category."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from metajudge.types import Judgment

from .findings import OVERALL, Accuracy, AccuracyKind, Outcomes, Proportion
from .observations import question_of

Game: TypeAlias = str | None
"""The id of the winner, :data:`TIE`, or None for no verdict."""

TIE = "="


@dataclass(slots=True)
class PairGames:
    """All games of one judge on one pair.

    Attributes:
        label: the winner; None where people call a tie or say nothing.
        question: the unit of independence: pairs with the same question share it.
        by_order: order shown -> its games, each with the number of its sample.
        pointwise: whether the responses were scored one by one, so that one game is that of both orders.
    """

    category: str
    label: str | None
    question: str
    by_order: dict[tuple[str, ...], list[tuple[int, Game]]] = field(default_factory=dict)
    pointwise: bool = False

    def add(self, judgment: Judgment) -> None:
        """Adds a game, with the number of its sample, in the order of the input."""
        sample = judgment.meta.get("sample")
        game = None if judgment.verdict is None else judgment.verdict.winner or TIE
        self.note(judgment.order, game, sample if isinstance(sample, int) else 0)
        self.pointwise = self.pointwise or bool(judgment.meta.get("pointwise"))

    def note(self, order: tuple[str, ...], game: Game, sample: int = 0) -> None:
        """Adds a game in an order."""
        self.by_order.setdefault(order, []).append((sample, game))

    @property
    def games(self) -> list[Game]:
        """The first game in each order."""
        return [games[0][1] for games in self.by_order.values()]

    @property
    def correct(self) -> bool:
        """Right games outnumber wrong ones; ties and missing verdicts count for neither.

        The rule of JudgeBench's ``utils/metrics.py``: +1 for a game that names the label, -1 for the opposite, 0
        otherwise, and the sum must be positive. One right and one tie is correct, one right and one wrong is not.
        """
        return sum(1 if game == self.label else -1 for game in self.decided) > 0

    @property
    def decided(self) -> list[str]:
        """The games that name a winner."""
        return [game for game in self.games if game is not None and game != TIE]

    @property
    def agree(self) -> bool:
        """Both games name the same winner."""
        return len(self.games) == 2 and len(self.decided) == 2 and len(set(self.decided)) == 1


@dataclass(frozen=True, slots=True)
class JudgedSet:
    """A judge and the pairs it was asked about; judges often ran on one of a benchmark's sets only."""

    judge: str
    responses_by: str | None = None


class JudgedGames:
    """The games of pairs, judge by judge, in the order of the input."""

    def __init__(self) -> None:
        self.by_set: defaultdict[JudgedSet, dict[str, PairGames]] = defaultdict(dict)

    def of(self, judgments: Iterable[Judgment]) -> Iterable[Judgment]:
        """Counts labelled pairs among judgments, set by set, and gives every judgment on."""
        for judgment in judgments:
            models = set((judgment.item.models or {}).values())
            if len(judgment.item.responses) == 2:
                self.add(JudgedSet(judgment.judge, models.pop() if len(models) == 1 else None), judgment)
            yield judgment

    def add(self, judged: JudgedSet, judgment: Judgment, *, labelled: bool = True) -> None:
        """Counts a judgment; where ``labelled``, only one with a label that names a winner."""
        truth, item = judgment.item.truth, judgment.item
        label = None if truth is None else truth.winner
        if labelled and label is None:
            return
        pairs = self.by_set[judged]
        if item.id not in pairs:
            pairs[item.id] = PairGames(item.category or "", label, question_of(judgment))
        pairs[item.id].add(judgment)


@dataclass(slots=True)
class Tally:
    """What is counted of one judge.

    Attributes:
        cells: the share that the benchmark calls accuracy; of the categories and overall.
        decided: single verdicts that can be right or wrong.
        agreeing: items with the same verdict in every arrangement.
    """

    kind: AccuracyKind
    cells: defaultdict[str, Outcomes] = field(default_factory=lambda: defaultdict(Outcomes))
    measures: dict[str, defaultdict[str, Outcomes]] = field(default_factory=dict)
    decided: Outcomes = field(default_factory=Outcomes)
    agreeing: Outcomes = field(default_factory=Outcomes)
    games: int = 0
    ties: int = 0
    without_verdict: int = 0

    def add(self, category: str, right: bool, question: str, measure: str = "") -> None:
        """Counts one outcome of the accuracy, or of a further share."""
        cells = self.measures.setdefault(measure, defaultdict(Outcomes)) if measure else self.cells
        for name in (category, OVERALL):
            cells[name].add(right, question)

    def judge(self, judgment: Judgment, right: bool, question: str) -> None:
        """Counts a judgment; one without a verdict is an outcome that is not right."""
        self.games += 1
        self.add(judgment.item.category or "", right, question)
        if judgment.verdict is None:
            self.without_verdict += 1
        else:
            self.decided.add(right, question)

    def play(self, games: Sequence[Game], pair: PairGames) -> None:
        """Counts games of a pair by themselves."""
        self.games += len(games)
        self.ties += games.count(TIE)
        self.without_verdict += games.count(None)
        for game in games:
            if game is not None and game != TIE:
                self.decided.add(game == pair.label, pair.question)

    def accuracy(
        self,
        judge: str,
        *,
        alike: str,
        decided: str = "no verdict can be right or wrong",
        responses_by: str | None = None,
    ) -> Accuracy:
        """All shares; ``alike`` says why there may be no item judged alike, ``decided`` why no verdict is decided."""
        return Accuracy(
            judge=judge,
            kind=self.kind,
            responses_by=responses_by,
            cells=_shares(self.cells),
            measures={name: _shares(one) for name, one in self.measures.items()},
            games=self.games,
            decided=len(self.decided.right),
            ties=self.ties,
            without_verdict=self.without_verdict,
            precision=self.decided.share(decided),
            agreeing=self.agreeing.share(alike),
        )


def _shares(cells: defaultdict[str, Outcomes]) -> dict[str, Proportion]:
    return {name: Proportion.of(one.right, one.questions) for name, one in cells.items()}
