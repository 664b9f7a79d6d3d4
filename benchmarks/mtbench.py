"""MT-Bench: pairs of answers to open questions of one or two turns, with the votes of people.

Zheng, Chiang, Sheng, Zhuang, Wu, Zhuang, Lin, Li, Li, Xing, Zhang, Gonzalez, Stoica: "Judging LLM-as-a-Judge with
MT-Bench and Chatbot Arena", NeurIPS 2023 (arXiv 2306.05685). 80 questions, answers of six models, 3,355 votes.

Label rule: the answer that most votes prefer; a split vote is a tie, and so is a majority of ties. Pairs whose label is
a tie are in no figure of accuracy.

Games: a pair counts where the judge names one winner in every order it was asked; it is right where that is the label
(the paper's agreement on non-tied votes, setup S2, with a majority in place of single votes). Repeats of a prompt are
not counted; the share of them that say the same as the first is a measure of its own.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from metajudge.types import Judgment

from .findings import Accuracy
from .judged_games import PairGames, game_of
from .observations import question_of
from .tally import Tally

FLIPS, REPEATS = "orders differ", "a repeat says the same"


def accuracy(judgments: Iterable[Judgment], folder: Path) -> list[Accuracy]:
    """Every judge by category, with how often the two orders differ and repeats agree."""
    found: dict[str, dict[str, _Pair]] = defaultdict(dict)
    pointwise = set()
    for judgment in judgments:
        pairs = found[judgment.judge]
        if judgment.item.id not in pairs:
            pairs[judgment.item.id] = _Pair.of(judgment)
        pairs[judgment.item.id].add(judgment)
        if judgment.meta.get("pointwise"):
            pointwise.add(judgment.judge)
    return [_accuracy(judge, pairs.values(), judge in pointwise) for judge, pairs in found.items()]


@dataclass(slots=True)
class _Pair:
    """One judge's verdicts on a pair: order -> the games in it, the first prompt before its repeats."""

    category: str
    question: str
    label: str | None
    games: dict[tuple[str, ...], list[str | None]] = field(default_factory=dict)

    @classmethod
    def of(cls, judgment: Judgment) -> "_Pair":
        truth = judgment.item.truth
        return cls(judgment.item.category or "", question_of(judgment), truth.winner if truth else None)

    def add(self, judgment: Judgment) -> None:
        games = self.games.setdefault(judgment.order, [])
        # A file need not contain the samples in their order.
        games.insert(0 if not judgment.meta.get("sample") else len(games), game_of(judgment))


def _accuracy(judge: str, pairs: Iterable[_Pair], pointwise: bool) -> Accuracy:
    tally = Tally("pointwise" if pointwise else "pairwise")
    for pair in pairs:
        firsts = [games[0] for games in pair.games.values()]
        if len(firsts) == 2:
            tally.measure(FLIPS, pair.category, firsts[0] != firsts[1], pair.question)
        for first, *others in pair.games.values():
            for other in others:
                tally.measure(REPEATS, pair.category, other == first, pair.question)
        if pair.label is not None:
            _count(tally, pair, pair.label, firsts)
    return tally.accuracy(judge, alike="no pair was judged alike in both orders")


def _count(tally: Tally, pair: _Pair, label: str, games: list[str | None]) -> None:
    """Adds a pair whose label names a winner."""
    tally.play(games, label, pair.question)
    decided = [game for game in games if game is not None and game != PairGames.TIE]
    if len(decided) == len(games) and len(set(decided)) == 1:
        tally.add(pair.category, decided[0] == label, pair.question)
        if len(games) == 2:
            tally.agreeing.add(decided[0] == label, pair.question)
