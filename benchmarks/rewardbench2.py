"""RewardBench 2: which of four responses is the right one.

Malik, Pyatkin, Land, Morrison, Smith, Hajishirzi, Lambert: "RewardBench 2: Advancing Reward Model Evaluation", 2025
(arXiv 2506.01937). Five subsets; the sixth, Ties, has no choice among four. Recorded are five judges that were shown
the four candidates in six arrangements, two of them twice.

Label rule: one candidate of four is right by construction (RewardBench 2's own ground truth).

Accuracy: the share of choices that name the right candidate, over all arrangements and repeats; an answer from which
nothing was read is wrong. Beside it by the place at which the right candidate stood, in the first set of passes. Items
judged alike are those with one choice in all four arrangements that show every candidate once at every place. Reward
models are right where the right candidate alone has the highest score.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from metajudge.reading.formats.rewardbench2 import SLOTS
from metajudge.reading.rewards import find_reward_scores, read_reward_scores
from metajudge.types import Judgment

from .findings import Accuracy
from .observations import question_of
from .tally import Tally

RIGHT = "0"
FIRST_SET, BALANCED_SET = "P2a", "P2b"
PLACES = tuple(f"right candidate at {slot}" for slot in SLOTS)


def accuracy(judgments: Iterable[Judgment], folder: Path) -> list[Accuracy]:
    """Judges by subset and by the place of the right candidate, then reward models on the same items."""
    tallies: dict[str, Tally] = defaultdict(lambda: Tally("ranking"))
    balanced: dict[tuple[str, str], list[Judgment]] = defaultdict(list)
    items: dict[str, Judgment] = {}
    for judgment in judgments:
        _count(tallies[judgment.judge], judgment)
        items.setdefault(judgment.item.id, judgment)
        if judgment.meta.get("phase") == BALANCED_SET:
            balanced[judgment.judge, judgment.item.id].append(judgment)
    for (judge, _), passes in balanced.items():
        chosen = {one.verdict.winner if one.verdict is not None else None for one in passes}
        if len(passes) == len(SLOTS) and len(chosen) == 1 and None not in chosen:
            tallies[judge].agreeing.add(chosen == {RIGHT}, question_of(passes[0]))
    found = [tally.accuracy(judge, alike="no item was judged alike") for judge, tally in tallies.items()]
    return [*found, *_reward_models(folder, items)]


def _count(tally: Tally, judgment: Judgment) -> None:
    question, right = question_of(judgment), judgment.correct is True
    tally.judge(judgment, right, question)
    if judgment.meta.get("phase") == FIRST_SET:
        tally.add(judgment.item.category or "", right, question, PLACES[judgment.order.index(RIGHT)])


def _reward_models(folder: Path, items: Mapping[str, Judgment]) -> Iterator[Accuracy]:
    path = find_reward_scores(folder)
    if path is None:
        return
    tallies: dict[str, Tally] = defaultdict(lambda: Tally("reward model"))
    for score in read_reward_scores(path):
        judgment = items.get(score.item_id)
        if judgment is not None:
            best = max(score.scores.values())
            right = [name for name, value in score.scores.items() if value == best] == [RIGHT]
            tally, question = tallies[score.model], question_of(judgment)
            tally.games += 1
            tally.add(judgment.item.category or "", right, question)
            tally.decided.add(right, question)
    for model, tally in tallies.items():
        yield tally.accuracy(model, alike="scores do not depend on an arrangement")
