"""AlpacaEval's annotations (Li et al., "AlpacaEval: An Automatic Evaluator of Instruction-following Models", 2023).

The shape is that of ``annotations.json`` as alpaca_eval 0.6 writes it: one JSON list of ``instruction, output_1,
generator_1, output_2, generator_2, annotator, preference``, with the judge's text in ``preference_raw_completion`` (in
published files ``raw_completion``) and ``preference_date``, which is kept as ``meta.time``. ``preference`` is 1 where
output_1 is better, 2 where output_2 is, 1.5 (formerly 0) for a tie; an annotator with logprobs gives 1 + P(output_2 is
better), which is kept in ``meta.preference``. Response ``A`` is output_1, ``B`` output_2.

Annotators see the outputs in a random order that the file does not record. Where the completion names the better one
(``m``, shown first, or ``M``; ``Output (a)``; one of ``[[A]]`` and ``[[B]]``), as the published annotators do, the
order follows from it and the preference; else the order is the item's, and ``meta.order_known`` is false. Ids are
``annotator/digest``: the file has none.
"""

from typing import Any

from metajudge.readers.lines import Line
from metajudge.readers.pairs import FIRST, SECOND, BenchmarkLine, pair_of
from metajudge.readers.stated_scores import reason_text
from metajudge.types import Judgment, Pairwise

FORMAT = "AlpacaEval annotations"
_LABELS = (("m", "M"), ("Output (a)", "Output (b)"))
"""What annotators call the outputs, the first one shown first; such a completion is a mark and no rationale."""
_BRACKETED = ("A", "B")


class AnnotationRow(BenchmarkLine):
    """One annotation."""

    instruction: str
    output_1: str
    output_2: str
    annotator: str
    preference: float | None
    generator_1: str | None = None
    generator_2: str | None = None
    dataset: str | None = None
    raw_completion: Any = None
    preference_raw_completion: Any = None
    preference_date: str | None = None
    preference_version: str | None = None


def judgments(entry: Line) -> list[Judgment]:
    """The judgment of a row."""
    row = AnnotationRow.model_validate(entry.data)
    responses, models = (row.output_1, row.output_2), (row.generator_1, row.generator_2)
    item = pair_of("-", row.instruction, responses, category=row.dataset, models=models)
    item = item.model_copy(update={"id": f"alpaca/{item.digest[:16]}"})
    verdict, why = _verdict(row.preference)
    written = row.preference_raw_completion if row.raw_completion is None else row.raw_completion
    text, chosen = _completion(written)
    order = _order(verdict, chosen)
    meta = {"preference": row.preference, "order_known": order is not None, "dataset": "alpaca_eval"}
    said = {"time": row.preference_date, "judge_version": row.preference_version}
    meta |= {name: value for name, value in said.items() if value is not None}
    judgment = Judgment(
        id=f"{row.annotator}/{item.digest[:16]}",
        item=item,
        judge=row.annotator,
        verdict=verdict,
        no_verdict=why,
        rationale=text,
        order=order or (FIRST, SECOND),
        labels=_names(chosen) if order is not None else None,
        meta=meta,
    )
    return [judgment]


def _verdict(preference: float | None) -> tuple[Pairwise | None, str | None]:
    if preference is None:
        return None, "the annotator's completion could not be parsed: preference is null"
    if preference in (0, 1.5):
        return Pairwise(FIRST, SECOND, 0), None
    if 1 <= preference <= 2:
        return (Pairwise(SECOND, FIRST, 1) if preference > 1.5 else Pairwise(FIRST, SECOND, 1)), None
    return None, f"the recorded preference {preference:g} is none of 1 to 2 or 0"


def _completion(raw: Any) -> tuple[str, str | None]:
    """What the annotator wrote, and the name by which it calls the better output, where it says so."""
    if isinstance(raw, str):
        return ("", raw.strip()) if _names(raw.strip()) else (raw, _bracketed(raw))
    if not isinstance(raw, dict):
        return reason_text(raw), None
    explanation = raw.get("concise_explanation")
    ranked = raw.get("ordered_models")
    if isinstance(ranked, list):
        best = [one.get("model") for one in ranked if isinstance(one, dict) and one.get("rank") == 1]
        chosen = best[0] if len(best) == 1 and isinstance(best[0], str) and _names(best[0]) else None
        return str(explanation or ""), chosen
    text = raw.get("text")
    if isinstance(text, str):
        return _completion(text)
    return reason_text(raw if explanation is None else explanation), None


def _order(verdict: Pairwise | None, chosen: str | None) -> tuple[str, str] | None:
    """Ids in the order shown: the preferred one was shown first where the completion calls it so."""
    if verdict is None or verdict.winner is None or chosen is None:
        return None
    names = _names(chosen)
    shown_first = names is not None and chosen == names[0]
    first = verdict.winner if shown_first else (SECOND if verdict.winner == FIRST else FIRST)
    return (first, SECOND if first == FIRST else FIRST)


def _names(chosen: str | None) -> tuple[str, str] | None:
    """The names of both outputs, of which one is given; None where it is no such name."""
    return next((names for names in (*_LABELS, _BRACKETED) if chosen in names), None)


def _bracketed(text: str) -> str | None:
    """The only one of ``[[A]]`` and ``[[B]]`` in a text."""
    said = [name for name in _BRACKETED if f"[[{name}]]" in text]
    return said[0] if len(said) == 1 else None
