"""ReaLMistake: whether a response of a model contains an error, by its experts.

Kamoi, Das, Lou, Ahn, Zhao, Lu, Zhang, Zhang, Vummanthala, Dave, Qin, Cohan, Yin, Zhang: "Evaluating LLMs at Detecting
Errors in LLM Responses", COLM 2024 (arXiv 2404.03602). 900 responses of two models to three tasks; twelve judges with
four simple prompts and one that asks to think step by step.

Label rule: experts say whether a response contains an error. Always saying "error" is right on 72 %.

Accuracy: the share of responses on which the verdict is the label; an answer from which nothing was read is wrong. A
model's line covers its four simple prompts; a line over all models one prompt; the majority of the models is a line of
its own, in which responses with a tied vote do not count.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from metajudge.types import Category, Judgment

from .findings import Accuracy
from .observations import question_of
from .tally import Tally

ALIKE = "every response was judged once by each prompt"
SAYS_ERROR = "says error"


def accuracy(judgments: Iterable[Judgment], folder: Path) -> list[Accuracy]:
    """Models over their simple prompts, then every prompt over all models and by the models' majority."""
    models: dict[str, Tally] = defaultdict(lambda: Tally("category"))
    prompts: dict[str, Tally] = defaultdict(lambda: Tally("category"))
    votes: dict[str, dict[str, _Votes]] = defaultdict(dict)
    for judgment in judgments:
        model, prompt = (str(judgment.meta.get(name, "")) for name in ("judge_model", "judge_prompt"))
        _count(prompts[prompt], judgment)
        if "cot" not in prompt:
            _count(models[model], judgment)
        item = votes[prompt].setdefault(judgment.item.id, _Votes(judgment))
        item.add(judgment)
    found = [tally.accuracy(f"{model}, simple prompts", alike=ALIKE) for model, tally in sorted(models.items())]
    found += [tally.accuracy(f"all models, {prompt}", alike=ALIKE) for prompt, tally in sorted(prompts.items())]
    return [*found, *_majorities(votes)]


def _count(tally: Tally, judgment: Judgment) -> None:
    question = question_of(judgment)
    tally.judge(judgment, judgment.correct is True, question)
    if judgment.verdict is not None:
        says = judgment.verdict == Category("error")
        tally.measure(SAYS_ERROR, judgment.item.category or "", says, question)


class _Votes:
    """The models' verdicts on one response by one prompt."""

    def __init__(self, judgment: Judgment) -> None:
        self.category, self.question = judgment.item.category or "", question_of(judgment)
        self.label = judgment.item.truth
        self.counts: Counter[object] = Counter()

    def add(self, judgment: Judgment) -> None:
        if judgment.verdict is not None:
            self.counts[judgment.verdict] += 1

    @property
    def right(self) -> bool | None:
        """Whether most models say what the label says; None for a tied vote, and without votes."""
        (first, most), *others = self.counts.most_common() or [(None, 0)]
        return None if first is None or any(count == most for _, count in others) else first == self.label


def _majorities(votes: dict[str, dict[str, _Votes]]) -> Iterator[Accuracy]:
    for prompt, items in sorted(votes.items()):
        tally = Tally("majority")
        for item in items.values():
            tally.games += 1
            tally.ties += item.right is None
            if item.right is not None:
                tally.add(item.category, item.right, item.question)
                tally.decided.add(item.right, item.question)
        yield tally.accuracy(f"majority of the models, {prompt}", alike=ALIKE)
