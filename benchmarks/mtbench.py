"""MT-Bench: pairs of answers to open questions of one or two turns, with the votes of people.

Zheng, Chiang, Sheng, Zhuang, Wu, Zhuang, Lin, Li, Li, Xing, Zhang, Gonzalez, Stoica: "Judging LLM-as-a-Judge with
MT-Bench and Chatbot Arena", NeurIPS 2023 (arXiv 2306.05685). 80 questions, answers of six models, 3,355 votes.

Label rule: the answer that most votes prefer; a split vote is a tie, and so is a majority of ties. Pairs whose label is
a tie are in no figure of accuracy.

Games: a pair counts where the judge names one winner in every order it was asked; it is right where that is the label
(the paper's agreement on non-tied votes, setup S2, with a majority in place of single votes). Repeats of a prompt are
not counted; the share of them that say the same as the first is a measure of its own.
"""

from collections.abc import Collection, Iterable
from operator import itemgetter
from pathlib import Path

from metajudge.types import Judgment

from .findings import Accuracy
from .tally import JudgedGames, JudgedSet, PairGames, Tally

FLIPS, REPEATS = "orders differ", "a repeat says the same"


def accuracy(judgments: Iterable[Judgment], folder: Path) -> list[Accuracy]:
    """Every judge by category, with how often the two orders differ and repeats agree."""
    games = JudgedGames()
    for judgment in judgments:
        games.add(JudgedSet(judgment.judge), judgment, labelled=False)
    return [_accuracy(judged.judge, pairs.values()) for judged, pairs in games.by_set.items()]


def _accuracy(judge: str, pairs: Collection[PairGames]) -> Accuracy:
    tally = Tally("pointwise" if any(pair.pointwise for pair in pairs) else "pairwise")
    for pair in pairs:
        for games in pair.by_order.values():
            games.sort(key=itemgetter(0))  # a file need not contain the samples of a prompt in their order
        if len(pair.games) == 2:
            tally.add(pair.category, pair.games[0] != pair.games[1], pair.question, FLIPS)
        for (_, first), *others in pair.by_order.values():
            for _, other in others:
                tally.add(pair.category, other == first, pair.question, REPEATS)
        if pair.label is not None:
            _count(tally, pair)
    return tally.accuracy(judge, alike="no pair was judged alike in both orders")


def _count(tally: Tally, pair: PairGames) -> None:
    """Adds a pair whose label names a winner."""
    tally.play(pair.games, pair)
    if len(pair.decided) == len(pair.games) and len(set(pair.decided)) == 1:
        tally.add(pair.category, pair.correct, pair.question)
        if pair.agree:
            tally.agreeing.add(pair.correct, pair.question)
