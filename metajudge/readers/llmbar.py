"""LLMBar (Zeng et al., ICLR 2024), folder layout: items plus judgments, one object a line.

The judge is ``judge_model/judge_prompt``. Swap and Swap_CoT ask twice (where the two orders conflict, a second
prompt shows both explanations): their stages are judges of their own, ``GPT-4/Swap#1`` and ``GPT-4/Swap#2``, so
that the two orders of a stage belong together. Ids are ``item/judge/order``.

The verdict is the published decision. Its parser sometimes contradicts the text; the text's own verdict is kept
as ``meta["text_verdict"]``, in terms of response ids too. Ratings score each response alone: they are read as
pairwise verdicts (a tie where the scores are equal) in the stored order and marked ``meta["pointwise"]``.
"""

from typing import Any, Literal

from metajudge.readers.lines import Source
from metajudge.readers.pairs import JudgmentRow, PairedJudgments
from metajudge.readers.recorded_games import GameOrder, check_label, shown_order, turned_back
from metajudge.types import Item, Judgment

TWO_STAGE = frozenset({"Swap", "Swap_CoT"})

LABELS = ("a", "b")
"""The prompts call the responses Output (a) and Output (b)."""


class EvaluatorRow(JudgmentRow):
    """A line of the judgments file; label, decision and text_verdict are in the order shown."""

    judge_prompt: str
    stage: int = 1
    final: bool = True
    order: Literal["AB", "BA", "pointwise"]
    text_verdict: str | None = None
    finish: str | None = None
    score_a: str | float | None = None
    score_b: str | float | None = None


def is_evaluation(record: dict[str, Any]) -> bool:
    return record.keys() >= {"item_id", "judge_model", "judge_prompt", "stage", "order", "decision"}


def evaluations(items: list[Source], judgments: Source) -> PairedJudgments[EvaluatorRow]:
    """A reader of the folder layout."""
    return PairedJudgments("LLMBar folder", items, judgments, EvaluatorRow, judgment_of)


def judgment_of(row: EvaluatorRow, item: Item) -> Judgment:
    """Turns a row's verdicts back to response ids.

    Raises:
        BadLine: the row's label contradicts the item's.
    """
    order: GameOrder = "AB" if row.order == "pointwise" else row.order
    check_label(row.label, order, item)
    stage = f"#{row.stage}" if row.judge_prompt in TWO_STAGE or row.stage > 1 else ""
    judge = f"{row.judge_model}/{row.judge_prompt}{stage}"
    verdict = turned_back(row.decision, order) if row.decision else None
    return Judgment(
        id=f"{item.id}/{judge}/{row.order}",
        item=item,
        judge=judge,
        verdict=verdict,
        no_verdict=None if verdict is not None else _why_none(row),
        rationale=row.judgment_text or "",
        order=shown_order(order),
        labels=LABELS,
        meta=_meta(row, order),
    )


def _meta(row: EvaluatorRow, order: GameOrder) -> dict[str, Any]:
    meta: dict[str, Any] = {
        "dataset": "llmbar",
        "subset": row.subset,
        "judge_model": row.judge_model,
        "judge_prompt": row.judge_prompt,
        "stage": row.stage,
        "final": row.final,
        "finish": row.finish or None,
        "has_explanation": row.has_explanation,
    }
    if row.order == "pointwise":
        meta |= {"pointwise": True, "scores": {"A": row.score_a, "B": row.score_b}}
    stated = turned_back(row.text_verdict, order) if row.text_verdict else None
    if stated is not None:
        meta["text_verdict"] = str(stated)
    return {name: value for name, value in meta.items() if value is not None}


def _why_none(row: EvaluatorRow) -> str:
    if row.decision:
        return f"the recorded decision {row.decision[:40]!r} is none of A>B, A=B, B>A"
    if row.order == "pointwise":
        return f"the scores cannot be compared: {row.score_a!r} and {row.score_b!r}"
    finish = f" (finish: {row.finish})" if row.finish else ""
    if not (row.judgment_text or "").strip():
        return f"the judge's answer is empty{finish}"
    return f"no verdict could be read from the judge's answer{finish}"
