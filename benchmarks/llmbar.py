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

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from metajudge.types import Judgment

from .findings import Accuracy
from .judged_games import PairGames, game_of
from .observations import question_of
from .tally import Tally

FIRST, SWAPPED, BOTH, AGREE, UNREAD = "first order", "swapped order", "both orders", "orders agree", "unread"
MEASURES = (FIRST, SWAPPED, BOTH, AGREE, UNREAD)


def accuracy(judgments: Iterable[Judgment], folder: Path) -> list[Accuracy]:
    """Judges by model and prompting strategy; a strategy's final stage is what it answers."""
    tallies: dict[str, dict[str, _Pair]] = defaultdict(dict)
    for judgment in judgments:
        label = judgment.item.truth
        if label is None or label.winner is None or not judgment.meta.get("final", True):
            continue
        pairs = tallies[_strategy(judgment)]
        pair = pairs.get(judgment.item.id)
        if pair is None:
            category = judgment.item.category or ""
            pair = pairs[judgment.item.id] = _Pair(category, label.winner, question_of(judgment))
        pair.add(judgment)
    return [_accuracy(judge, list(pairs.values())) for judge, pairs in tallies.items()]


@dataclass(slots=True)
class _Pair:
    category: str
    label: str
    question: str
    games: dict[str, str | None] = field(default_factory=dict)
    """Order shown -> the judge's verdict (see :func:`~.judged_games.game_of`)."""
    pointwise: bool = False

    def add(self, judgment: Judgment) -> None:
        game = game_of(judgment)
        self.pointwise = self.pointwise or bool(judgment.meta.get("pointwise"))
        self.games.update({"AB": game, "BA": game} if self.pointwise else {"".join(judgment.order): game})

    def measures(self) -> dict[str, tuple[bool, ...]]:
        """The outcomes of the pair under each measure: one, and for unread replies two, since each game is a reply."""
        first, swapped = self.games.get("AB"), self.games.get("BA")
        alike = len(self.games) == 2 and first == swapped
        if self.pointwise and first not in ("A", "B"):
            first, swapped = ("B", "A") if first == PairGames.TIE else ("A", "B")
            alike = False
        right = [first == self.label, swapped == self.label]
        unread = 0 if self.pointwise else sum(game is None for game in self.games.values())
        return {
            FIRST: (right[0],),
            SWAPPED: (right[1],),
            BOTH: (all(right),),
            AGREE: (alike,),
            UNREAD: (unread > 0, unread > 1),
        }


def _strategy(judgment: Judgment) -> str:
    model, prompt = judgment.meta.get("judge_model"), judgment.meta.get("judge_prompt")
    return f"{model}/{prompt}" if model and prompt else judgment.judge


def _accuracy(judge: str, pairs: list[_Pair]) -> Accuracy:
    tally = Tally("pointwise" if any(pair.pointwise for pair in pairs) else "pairwise")
    for pair in pairs:
        found, games = pair.measures(), list(pair.games.values())
        for name in MEASURES:
            for value in found[name]:
                tally.measure(name, pair.category, value, pair.question)
        for name in (FIRST, SWAPPED):
            tally.add(pair.category, found[name][0], pair.question)
        tally.play(games, pair.label, pair.question)
        if found[AGREE][0] and pair.games["AB"] in ("A", "B"):
            tally.agreeing.add(pair.games["AB"] == pair.label, pair.question)
    return tally.accuracy(judge, alike="no pair was judged alike in both orders", decided="no verdict names a winner")
