"""AlpacaEval's annotations (Li et al., "AlpacaEval: An Automatic Evaluator of Instruction-following Models", 2023).

The shape is that of ``annotations.json`` as alpaca_eval 0.6 and AlpacaFarm write it: one JSON list of ``instruction,
output_1, generator_1, output_2, generator_2, annotator, preference``, with ``input`` where the instruction has one, and
the judge's text in ``preference_raw_completion`` (in published files ``raw_completion``) and ``preference_date``, which
is kept as ``meta.time``. ``preference`` is 1 where output_1 is better, 2 where output_2 is, 1.5 (formerly 0) for a tie;
an annotator with logprobs gives 1 + P(output_2 is better), which is kept in ``meta.preference``.

Annotators see the outputs in a random order that the file does not record. Where the completion names the better one
(``m``, shown first, or ``M``; ``Output (a)``; one of ``[[A]]`` and ``[[B]]``), as the published annotators do, the
order follows from it and the preference; else the order is the item's, and ``meta.order_known`` is false. Ids are
``annotator/digest``: the file has none.
"""

from typing import Any, Final, TypeAlias

from metajudge.reading.containers.lines import Line
from metajudge.reading.formats.pairs import FIRST, SECOND, known_only, pair_of, shape
from metajudge.reading.formats.records import asked
from metajudge.reading.formats.stated_scores import reason_text
from metajudge.types import Judgment, Pairwise

FORMAT = "AlpacaEval annotations"
_LABELS: Final = (("m", "M"), ("Output (a)", "Output (b)"))
"""What annotators call the outputs, the first one shown first; such a completion is a mark and no rationale."""
_BRACKETED: Final = ("A", "B")
_ROW = shape(
    "instruction input~ output_1 output_2 annotator preference? generator_1~ generator_2~ dataset~ raw_completion "
    "preference_raw_completion preference_date~ preference_version~",
    preference=float,
    raw_completion=(Any, None),
    preference_raw_completion=(Any, None),
)


def judgments(entry: Line) -> list[Judgment]:
    """The judgment of a row."""
    row = _ROW.model_validate(entry.data)
    texts, models = (row.output_1, row.output_2), (row.generator_1, row.generator_2)
    item = pair_of("-", asked(row.instruction, row.input), texts, models, category=row.dataset)
    name = item.digest[:16]
    verdict, why = _verdict(row.preference)
    written = row.preference_raw_completion if row.raw_completion is None else row.raw_completion
    text, names, chosen = _completion(written)
    # The preferred one was shown first where the completion calls it so.
    known = bool(names) and verdict is not None and verdict.winner is not None
    first = verdict is not None and (verdict.winner == FIRST) == (chosen == names[:1])
    said = {"time": row.preference_date, "judge_version": row.preference_version}
    judgment = Judgment(
        id=f"{row.annotator}/{name}",
        item=item.model_copy(update={"id": f"alpaca/{name}"}),
        judge=row.annotator,
        verdict=verdict,
        no_verdict=why,
        rationale=text,
        order=(FIRST, SECOND) if first or not known else (SECOND, FIRST),
        labels=names if known else None,
        meta={"preference": row.preference, "order_known": known, "dataset": "alpaca_eval", **known_only(said)},
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


_Names: TypeAlias = tuple[str, ...]


def _completion(raw: Any) -> tuple[str, _Names, _Names]:
    """What the annotator wrote, the names by which it calls the outputs, and that of the better one; else no names."""
    if isinstance(raw, str):
        said = [name for name in _BRACKETED if f"[[{name}]]" in raw]
        named = _named(raw.strip())
        return ("", *named) if named[0] else (raw, *_named(said[0] if len(said) == 1 else None))
    if not isinstance(raw, dict):
        return reason_text(raw), (), ()
    explanation, ranked = raw.get("concise_explanation"), raw.get("ordered_models")
    if isinstance(ranked, list):
        best = [one.get("model") for one in ranked if isinstance(one, dict) and one.get("rank") == 1]
        return str(explanation or ""), *_named(best[0] if len(best) == 1 else None)
    if isinstance(raw.get("text"), str):
        return _completion(raw["text"])
    return reason_text(raw if explanation is None else explanation), (), ()


def _named(chosen: Any) -> tuple[_Names, _Names]:
    """The names of both outputs, and the one given; nothing where it is no such name."""
    return next(((names, (chosen,)) for names in (*_LABELS, _BRACKETED) if chosen in names), ((), ()))
