"""Outcomes of one judge under a benchmark's own rule, category by category."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from metajudge.types import Judgment

from .findings import OVERALL, Accuracy, AccuracyKind, Outcomes, Proportion
from .judged_games import PairGames


def _cells() -> defaultdict[str, Outcomes]:
    return defaultdict(Outcomes)


@dataclass(slots=True)
class Tally:
    """What is counted of one judge.

    Attributes:
        cells: the share that the benchmark calls accuracy; of the categories and overall.
        decided: single verdicts that can be right or wrong.
        agreeing: items with the same verdict in every arrangement.
    """

    kind: AccuracyKind
    cells: defaultdict[str, Outcomes] = field(default_factory=_cells)
    measures: dict[str, defaultdict[str, Outcomes]] = field(default_factory=dict)
    decided: Outcomes = field(default_factory=Outcomes)
    agreeing: Outcomes = field(default_factory=Outcomes)
    games: int = 0
    ties: int = 0
    without_verdict: int = 0

    def add(self, category: str, right: bool, question: str) -> None:
        """Counts one outcome of the accuracy."""
        for name in (category, OVERALL):
            self.cells[name].add(right, question)

    def measure(self, measure: str, category: str, right: bool, question: str) -> None:
        """Counts one outcome of a further share."""
        for name in (category, OVERALL):
            self.measures.setdefault(measure, _cells())[name].add(right, question)

    def judge(self, judgment: Judgment, right: bool, question: str) -> None:
        """Counts a judgment; one without a verdict is an outcome that is not right."""
        self.games += 1
        self.add(judgment.item.category or "", right, question)
        if judgment.verdict is None:
            self.without_verdict += 1
        else:
            self.decided.add(right, question)

    def play(self, games: Sequence[str | None], label: str, question: str) -> None:
        """Counts the games of a pair by themselves (:func:`~.judged_games.game_of`)."""
        self.games += len(games)
        self.ties += games.count(PairGames.TIE)
        self.without_verdict += games.count(None)
        for game in games:
            if game is not None and game != PairGames.TIE:
                self.decided.add(game == label, question)

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
