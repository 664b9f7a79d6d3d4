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

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from metajudge.report import Absent
from metajudge.types import Judgment

from .benchmark import Card
from .findings import OVERALL, Accuracy, Proportion
from .games import PairGames, game_of

CARD = Card(
    name="llmbar",
    title="LLMBar",
    citation='Zeng et al., "Evaluating Large Language Models at Evaluating Instruction Following", ICLR 2024 '
    "(arXiv 2310.07641)",
    licence="MIT; the three Processed subsets come from FairEval, LLMEval^2 and MT-Bench with terms of their own",
    repository="https://github.com/princeton-nlp/LLMBar",
    commit="900616bff90b6c6c8e1681f7d079250637c55992",
    categories=(
        "LLMBar/Natural",
        "LLMBar/Adversarial/Neighbor",
        "LLMBar/Adversarial/GPTInst",
        "LLMBar/Adversarial/GPTOut",
        "LLMBar/Adversarial/Manual",
        "CaseStudy/Base_9",
        "CaseStudy/Base_10",
        "CaseStudy/Constraint",
        "CaseStudy/Negation",
        "CaseStudy/Normal",
        "Processed/FairEval",
        "Processed/LLMEval^2",
        "Processed/MT-Bench",
    ),
    upstream="Dataset",
    formats=("LLMBar folder", "LLMBar result.json"),
    label_rule="objective preference, construction or human preference, by subset",
    games_rule="accuracy is the mean over both orders; a tie or an unread answer is not right",
)

FIRST, SWAPPED, BOTH, AGREE, UNREAD = "first order", "swapped order", "both orders", "orders agree", "unread"
MEASURES = (FIRST, SWAPPED, BOTH, AGREE, UNREAD)


class LLMBar:
    """LLMBar, as its folder layout and its own repository hold it."""

    card = CARD

    def accuracy(self, judgments: Iterable[Judgment], folder: Path) -> list[Accuracy]:
        """Judges by model and prompting strategy; a strategy's final stage is what it answers."""
        tallies: dict[str, dict[str, _Pair]] = defaultdict(dict)
        for judgment in judgments:
            label = judgment.item.label
            if label is None or label.winner is None or not judgment.meta.get("final", True):
                continue
            pairs = tallies[_strategy(judgment)]
            pair = pairs.setdefault(judgment.item.id, _Pair(judgment.item.category or "", label.winner))
            pair.add(judgment)
        return [_accuracy(judge, list(pairs.values())) for judge, pairs in tallies.items()]


@dataclass(slots=True)
class _Pair:
    category: str
    label: str
    games: dict[str, str | None] = field(default_factory=dict)
    """Order shown -> what the judge said (see :func:`~.games.game_of`)."""
    pointwise: bool = False

    def add(self, judgment: Judgment) -> None:
        game = game_of(judgment)
        self.pointwise = self.pointwise or bool(judgment.meta.get("pointwise"))
        self.games.update({"AB": game, "BA": game} if self.pointwise else {"".join(judgment.order): game})

    def measures(self) -> dict[str, int]:
        first, swapped = self.games.get("AB"), self.games.get("BA")
        alike = len(self.games) == 2 and first == swapped
        if self.pointwise and first not in ("A", "B"):
            first, swapped = ("B", "A") if first == PairGames.TIE else ("A", "B")
            alike = False
        right = [first == self.label, swapped == self.label]
        unread = 0 if self.pointwise else sum(game is None for game in self.games.values())
        return {FIRST: right[0], SWAPPED: right[1], BOTH: all(right), AGREE: alike, UNREAD: unread}


def _strategy(judgment: Judgment) -> str:
    model, prompt = judgment.meta.get("judge_model"), judgment.meta.get("judge_prompt")
    return f"{model}/{prompt}" if model and prompt else judgment.judge


def _accuracy(judge: str, pairs: list[_Pair]) -> Accuracy:
    sums: dict[str, Counter[str]] = {name: Counter() for name in MEASURES}
    asked: Counter[str] = Counter()
    for pair in pairs:
        found = pair.measures()
        for category in (pair.category, OVERALL):
            asked[category] += 1
            for name, value in found.items():
                sums[name][category] += value
    games = [game for pair in pairs for game in pair.games.values()]
    ties, unread = games.count(PairGames.TIE), games.count(None)
    decided = len(games) - ties - unread
    hits = sum(game == pair.label for pair in pairs for game in pair.games.values())
    agreeing = [pair for pair in pairs if pair.measures()[AGREE] and pair.games["AB"] in ("A", "B")]
    right = sum(pair.games["AB"] == pair.label for pair in agreeing)
    return Accuracy(
        judge=judge,
        kind="pointwise" if any(pair.pointwise for pair in pairs) else "pairwise",
        responses_by=None,
        cells={c: Proportion.of(sums[FIRST][c] + sums[SWAPPED][c], 2 * n) for c, n in asked.items()},
        measures={
            name: {c: Proportion.of(sums[name][c], 2 * n if name == UNREAD else n) for c, n in asked.items()}
            for name in MEASURES
        },
        games=len(games),
        decided=decided,
        ties=ties,
        without_verdict=unread,
        precision=Proportion.of(hits, decided) if decided else Absent(absent="no verdict names a winner"),
        agreeing=Proportion.of(right, len(agreeing))
        if agreeing
        else Absent(absent="no pair was judged alike in both orders"),
    )
