"""LLMBar: instruction following, with items made to mislead.

Zeng, Yu, Gao, Meng, Goyal, Chen: "Evaluating Large Language Models at Evaluating Instruction Following", ICLR 2024
(arXiv 2310.07641). Natural and adversarial instances by the authors, case studies, and three re-packed public sets.

Label rule: by subset: the authors' objective preference (Natural), construction and a manual check (Adversarial, case
studies), human preference without ties (Processed).

Games: accuracy is the mean over the two orders; beside it stand each order, both orders right, and agreement (the two
orders say the same, two unread answers included). Strategies of two stages count by their final stage. A rating scores
each response once; as upstream recorded it, a tie is a win for the second stored response in the first order and for
the first in the other, an unreadable score the reverse, so either is right in one order and wrong in the other.
"""

from collections.abc import Iterable
from pathlib import Path

from metajudge.types import Judgment

from .findings import Accuracy
from .tally import TIE, Game, JudgedGames, JudgedSet, PairGames, Tally

FIRST, SWAPPED, BOTH, AGREE, UNREAD = "first order", "swapped order", "both orders", "orders agree", "unread"


def accuracy(judgments: Iterable[Judgment], folder: Path) -> list[Accuracy]:
    """Judges by model and prompting strategy; a strategy's final stage is what it answers."""
    games = JudgedGames()
    for judgment in judgments:
        if judgment.meta.get("final", True):
            model, prompt = judgment.meta.get("judge_model"), judgment.meta.get("judge_prompt")
            games.add(JudgedSet(f"{model}/{prompt}" if model and prompt else judgment.judge), judgment)
    return [_accuracy(judged.judge, list(pairs.values())) for judged, pairs in games.by_set.items()]


def _games(pair: PairGames) -> list[Game]:
    """The games in both orders; a rating is the same in either."""
    return 2 * pair.games if pair.pointwise else pair.games


def _measures(pair: PairGames) -> dict[str, tuple[bool, ...]]:
    """The outcomes of the pair under each measure: one, and for unread replies two, since each game is a reply."""
    given = (("A", "B"), ("B", "A"))
    orders = dict(zip(given if pair.pointwise else pair.by_order, _games(pair), strict=True))
    first, swapped = map(orders.get, given)
    alike = len(orders) == 2 and first == swapped
    if pair.pointwise and first not in ("A", "B"):
        first, swapped = ("B", "A") if first == TIE else ("A", "B")
        alike = False
    right = [first == pair.label, swapped == pair.label]
    unread = 0 if pair.pointwise else pair.games.count(None)
    return {
        FIRST: (right[0],),
        SWAPPED: (right[1],),
        BOTH: (all(right),),
        AGREE: (alike,),
        UNREAD: (unread > 0, unread > 1),
    }


def _accuracy(judge: str, pairs: list[PairGames]) -> Accuracy:
    tally = Tally("pointwise" if any(pair.pointwise for pair in pairs) else "pairwise")
    for pair in pairs:
        found = _measures(pair)
        for name, values in found.items():
            for value in values:
                tally.add(pair.category, value, pair.question, name)
        for name in (FIRST, SWAPPED):
            tally.add(pair.category, found[name][0], pair.question)
        tally.play(_games(pair), pair)
        if found[AGREE][0] and pair.games[0] in ("A", "B"):
            tally.agreeing.add(pair.games[0] == pair.label, pair.question)
    return tally.accuracy(judge, alike="no pair was judged alike in both orders", decided="no verdict names a winner")
