"""Functions for a dataset's map and filter, called as ``datasets`` calls them: with a batch of columns."""

import pickle
from typing import Any

import pytest

from metajudge.adapters.datasets import COLUMNS, vetted
from metajudge.errors import InputError

MAP = "question=prompt,responses.A=x,responses.B=y,verdict=winner,rationale=why"


def batch(**changes: Any) -> dict[str, list[Any]]:
    columns: dict[str, list[Any]] = {
        "prompt": ["2 + 2?", "3 + 3?", "4 + 4?"],
        "x": ["4", "6", "8"],
        "y": ["5", "7", "9"],
        "winner": [1, 2, None],
        "why": ["Sum.", "Sum.", ""],
    }
    return {**columns, **changes}


def test_a_row_that_cannot_be_read_keeps_its_place_and_says_why() -> None:
    found = vetted(MAP, judge="gpt", values={1: "A", 2: "B"}, prefix="m_")(batch(prompt=["2 + 2?", None, "4 + 4?"]))
    assert found["m_decision"][1] is None
    assert found["m_reason"][1] == "not read: question: column 'prompt' is empty"
    assert found["m_decision"][0] is not None


def test_verdicts_that_mean_nothing_stop_with_the_argument_to_give() -> None:
    with pytest.raises(InputError, match="values=") as caught:
        vetted(MAP, judge="gpt")(batch())
    assert "--map" not in str(caught.value)


def test_equal_rows_are_one_judgment_with_one_assessment_each() -> None:
    same = {name: [cells[0]] * 2 for name, cells in batch().items()}
    found = vetted(MAP, judge="gpt", values={1: "A"})(same)
    assert found["metajudge_reason"][0] == found["metajudge_reason"][1]
    assert vetted(MAP, judge="gpt")({name: [] for name in same}) == {f"metajudge_{name}": [] for name in COLUMNS}


def test_the_function_can_be_sent_to_another_process() -> None:
    function = vetted(MAP, judge="gpt", values={1: "A", 2: "B"})
    assert pickle.loads(pickle.dumps(function))(batch()) == function(batch())
