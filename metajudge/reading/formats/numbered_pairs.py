"""Sets of two numbered answers, whose preferences are numbers: PandaLM, Auto-J, AlpacaFarm.

- PandaLM's test set (Wang et al., 2023): ``instruction, input, response1, response2`` with ``annotator1`` to
  ``annotator3``: 1 and 2 are the better one, 0 is a tie.
- Auto-J (Li et al., 2023), ``testdata_pairwise.jsonl`` and ``pairwise_..._output.jsonl``: ``prompt, response 1,
  response 2`` with people's ``label`` and the model's ``output`` (or ``pred_label``): 0 is the first, 1 the second, 2 a
  tie, -1 none. Other tables with these columns may mean other things by the numbers.
- AlpacaFarm (Dubois et al., 2023), ``alpaca_human_preference.json`` and ``alpaca_gpt4_preference.json``: ``instruction,
  input, output_1, output_2, preference``: 1 and 2 are the better one. Only the name says who prefers it.
"""

import re
from collections.abc import Iterator
from typing import Any, Final

from metajudge.reading.formats.records import FILE, Record, Records, Score, asked

_DECIDED: Final = re.compile(r"final decision is (response [12]|tie)", re.I)
_WORDS: Final = {"response 1": "A", "response 2": "B", "tie": "tie"}


def _asked(record: Record) -> str:
    return asked(str(record["instruction"]), record.get("input"))


def _annotated(record: Record) -> Iterator[Score]:
    for key in record:
        if re.fullmatch(r"annotator\d+", key):
            yield Score(value=key, by=f"={key}", name="preference")


PANDALM: Final = Records(
    name="PandaLM test set",
    marks="instruction, input, response1, response2, annotator1",
    also=r"annotator\d+",
    question=_asked,
    answers={"A": "response1", "B": "response2"},
    models={},
    id="idx",
    prefix="pandalm",
    category="motivation_app",
    scores=_annotated,
    meanings={"1": "A", "2": "B", "0": "tie"},
)


def _written(record: Record) -> Any:
    """The model's decision, which its text names last."""
    output = record.get("output")
    said = _DECIDED.findall(output) if isinstance(output, str) else ()
    return _WORDS[said[-1].lower()] if said else None if isinstance(output, str) else output


def _judged(record: Record) -> Iterator[Score]:
    if "label" in record:
        yield Score(value="label")
    if "pred_label" in record or "output" in record:
        value = "pred_label" if "pred_label" in record else _written
        yield Score(value=value, judge="=auto-j", reason="output")


AUTO_J: Final = Records(
    name="Auto-J pairs",
    marks="prompt, response 1, response 2, label|output|pred_label",
    question="prompt",
    answers={"A": "response 1", "B": "response 2"},
    models={},
    prefix="auto-j",
    category="scenario",
    scores=_judged,
    meanings={"0": "A", "1": "B", "2": "tie", "-1": "none"},
    documented=r"testdata_pairwise|pairwise_.*output|auto[-_]?j",
)


def _preferred(record: Record) -> Iterator[Score]:
    people = "human_preference" in record.get(FILE, "")
    yield Score(value="preference", judge=None if people else "=gpt4")


ALPACA_FARM: Final = Records(
    name="AlpacaFarm preferences",
    marks="instruction, input, output_1, output_2, preference",
    also="raw_preference",
    question=_asked,
    answers={"A": "output_1", "B": "output_2"},
    models={"A": "generator_1", "B": "generator_2"},
    prefix="alpaca",
    scores=_preferred,
    meanings={"1": "A", "2": "B"},
    documented="alpaca_(human|gpt4)_preference",
)
