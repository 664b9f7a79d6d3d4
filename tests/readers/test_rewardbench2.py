import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from metajudge.errors import InputError
from metajudge.readers import open_judgments
from metajudge.readers.lines import Reject
from metajudge.readers.rewards import find_reward_scores, read_reward_scores
from metajudge.types import Ranking
from tests.readers.interop_files import INTEROP


def choice(letter: str = "B", **changes: Any) -> dict[str, Any]:
    data = {
        "id": "5",
        "subset": "Precise IF",
        "results": 1.0,
        "parsed_letter": letter,
        "judgement_text": f"[[{letter}]]",
        "phase": "P2a",
        "judge": "org/judge",
        "ordering": 6,
        "permutation": [1, 0, 2, 3],
        "row": 9,
    }
    return {**data, **changes}


def test_the_letter_is_turned_back_to_the_candidate_at_that_slot(write: Callable[..., Path]) -> None:
    right, wrong = open_judgments([write("passes.jsonl", choice("B"), choice("A", phase="P2b"))])
    assert right.verdict == Ranking((("0",), ("1", "2", "3")))
    assert right.correct is True
    assert wrong.verdict == Ranking((("1",), ("0", "2", "3")))
    assert wrong.correct is False
    assert right.order == ("1", "0", "2", "3")
    assert right.shown_labels == ("A", "B", "C", "D")
    assert right.item == wrong.item
    assert right.item.category == "Precise IF"
    assert [right.id, wrong.id] == ["Precise IF/5/org/judge/P2a/6", "Precise IF/5/org/judge/P2b/6"]


def test_items_of_one_subset_and_id_in_other_rows_stay_apart(write: Callable[..., Path]) -> None:
    rows = [choice(), choice(row=10), choice(phase="P2b"), choice(phase="P2b", row=10)]
    found = list(open_judgments([write("passes.jsonl", *rows)]))
    assert [one.item.id for one in found] == ["Precise IF/5", "Precise IF/5/10"] * 2


def test_a_choice_that_could_not_be_read_is_no_verdict(write: Callable[..., Path]) -> None:
    unread, empty = open_judgments([write("p.jsonl", choice("error"), choice("error", phase="x", judgement_text=""))])
    assert unread.verdict is None
    assert "A to D" in (unread.no_verdict or "")
    assert "empty" in (empty.no_verdict or "")


def test_a_permutation_of_other_candidates_is_a_bad_line(write: Callable[..., Path]) -> None:
    _, bad = open_judgments([write("p.jsonl", choice(), choice(permutation=[0, 0, 1, 2]))]).scan()
    assert isinstance(bad, Reject)
    assert "permutation" in bad.reason


def test_reward_scores_beside_the_passes_name_the_same_items(write: Callable[..., Path]) -> None:
    row = {"id": "5", "subset": "Precise IF", "num_correct": 1, "scores": [[2.5], [1], [0.5], [-1]], "model": "rm"}
    path = write("data/reward_scores.jsonl.gz", row, packed=True)
    write("data/judgments.jsonl", choice())
    (judgment,) = open_judgments([path.parent])
    found = find_reward_scores(path.parent)
    assert found == path
    (score,) = read_reward_scores(found)
    assert score.item_id == judgment.item.id
    assert score.margin("0", "3") == pytest.approx(3.5)


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
