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
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

from metajudge.types import AnyVerdict, Category, Judgment

from .findings import Accuracy
from .observations import question_of
from .tally import Tally

_Votes: TypeAlias = tuple[Judgment, Counter[AnyVerdict]]
"""A judgment on a response, and what the models say of it by one prompt."""

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
        _, counts = votes[prompt].setdefault(judgment.item.id, (judgment, Counter()))
        if judgment.verdict is not None:
            counts[judgment.verdict] += 1
    found = [tally.accuracy(f"{model}, simple prompts", alike=ALIKE) for model, tally in sorted(models.items())]
    found += [tally.accuracy(f"all models, {prompt}", alike=ALIKE) for prompt, tally in sorted(prompts.items())]
    return [*found, *_majorities(votes)]


def _count(tally: Tally, judgment: Judgment) -> None:
    question = question_of(judgment)
    tally.judge(judgment, judgment.correct is True, question)
    if judgment.verdict is not None:
        tally.add(judgment.item.category or "", judgment.verdict == Category("error"), question, SAYS_ERROR)


def _majorities(votes: Mapping[str, Mapping[str, _Votes]]) -> Iterator[Accuracy]:
    """Whether most models say what the label says; a tied vote, and no vote, is a tie."""
    for prompt, items in sorted(votes.items()):
        tally = Tally("majority")
        for judgment, counts in items.values():
            ranked = counts.most_common(2)
            tied = len({count for _, count in ranked}) != len(ranked) or not ranked
            tally.games += 1
            tally.ties += tied
            if not tied:
                right, question = ranked[0][0] == judgment.item.truth, question_of(judgment)
                tally.add(judgment.item.category or "", right, question)
                tally.decided.add(right, question)
        yield tally.accuracy(f"majority of the models, {prompt}", alike=ALIKE)
