"""How the two games of a pair count: the judge saw the responses once in each order."""

from dataclasses import dataclass, field

from metajudge.types import Judgment

from .observations import question_of


@dataclass(slots=True)
class PairGames:
    """All games of one judge on one pair; a game is the id of the winner, ``=`` for a tie, None for no verdict.

    ``question`` is the unit of independence: pairs with the same question share it.
    """

    category: str
    label: str
    question: str
    games: list[str | None] = field(default_factory=list)
    orders: set[tuple[str, ...]] = field(default_factory=set)

    TIE = "="

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
        return [game for game in self.games if game is not None and game != self.TIE]

    @property
    def agree(self) -> bool:
        """Both games name the same winner."""
        return len(self.games) == 2 and len(self.decided) == 2 and self.games[0] == self.games[1]


def game_of(judgment: Judgment) -> str | None:
    """What one judgment says, as :class:`PairGames` counts it."""
    if judgment.verdict is None:
        return None
    return judgment.verdict.winner or PairGames.TIE


@dataclass(frozen=True, slots=True)
class JudgedSet:
    """A judge and the pairs it was asked about; judges often ran on one of a benchmark's sets only."""

    judge: str
    responses_by: str | None


class JudgedGames:
    """The games of labelled pairs, judge by judge, in the order of the input."""

    def __init__(self) -> None:
        self._found: dict[JudgedSet, dict[str, PairGames]] = {}

    def add(self, judgment: Judgment) -> None:
        """Counts a judgment of a pair; one without a label that names a winner is no game.

        Of several judgments of one judge in one order the first one counts: the others are repeats.
        """
        item = judgment.item
        label = item.truth
        if label is None or label.winner is None or len(item.responses) != 2:
            return
        models = set((item.models or {}).values())
        judged = JudgedSet(judgment.judge, models.pop() if len(models) == 1 else None)
        games = self._found.setdefault(judged, {})
        pair = games.get(item.id)
        if pair is None:
            pair = games[item.id] = PairGames(item.category or "", label.winner, question_of(judgment))
        if judgment.order not in pair.orders:
            pair.orders.add(judgment.order)
            pair.games.append(game_of(judgment))

    def by_set(self) -> dict[JudgedSet, list[PairGames]]:
        """By judge and set of pairs."""
        return {judged: list(games.values()) for judged, games in self._found.items()}

    def questions(self) -> dict[str, str]:
        """Item id -> the question its pair asks."""
        return {name: pair.question for games in self._found.values() for name, pair in games.items()}

    def by_judge(self) -> dict[str, list[PairGames]]:
        """By judge, all its sets together."""
        found: dict[str, list[PairGames]] = {}
        for judged, games in self._found.items():
            found.setdefault(judged.judge, []).extend(games.values())
        return found
