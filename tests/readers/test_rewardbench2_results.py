"""RewardBench 2's own result files, in the shape that its scripts write."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from metajudge.errors import InputError
from metajudge.readers import open_judgments
from metajudge.types import Ranking
from tests.readers.interop_files import INTEROP

Write = Callable[..., Path]
RESULTS = INTEROP / "published" / "rewardbench2-results.json"


def test_the_scores_of_a_reward_model_are_a_ranking() -> None:
    source = open_judgments([RESULTS])
    found = list(source)
    assert (source.formats, source.rejects) == ({str(RESULTS): "RewardBench 2 results"}, 0)
    assert [one.verdict for one in found] == [
        Ranking((("0",), ("1",), ("2",), ("3",))),
        Ranking((("1", "2"), ("0",), ("3",))),
        Ranking((("0",), ("1",), ("2",), ("3",))),
    ]
    assert [one.item.label for one in found[1:]] == [
        Ranking((("0",), ("1", "2", "3"))),
        Ranking((("0", "1"), ("2", "3"))),
    ]
    assert (found[0].judge, found[0].item.id, found[0].item.category) == (
        "ours/wren-reward",
        "Factuality/1",
        "Factuality",
    )


def test_results_of_judges_that_write_are_refused_because_they_name_no_choice(write: Write) -> None:
    data = json.loads(RESULTS.read_text())
    del data["scores"]
    with pytest.raises(InputError, match="whether the choice was right and not what it was"):
        open_judgments([write("results.json", data)])
