"""FastChat's judgment files, as gen_judgment wrote them, and details of its prompts."""

import json
from pathlib import Path
from typing import Any

from metajudge.reading import open_judgments
from metajudge.types import Grade
from tests.doubles.interop_cases import ANSWERS, CASES, MODELS
from tests.reading.interop_files import INTEROP

PAIRS, GRADES = (INTEROP / "fastchat" / f"gpt-4_{kind}.jsonl" for kind in ("pair", "single"))


def records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_pair_is_two_games_with_their_order() -> None:
    source = open_judgments([PAIRS])
    found = list(source)
    assert (source.formats, source.rejects) == ({str(PAIRS): "FastChat pair judgments"}, 0)
    assert len(found) == 4 * len(CASES)
    for row, first, second in zip(records(PAIRS), found[::2], found[1::2], strict=True):
        case = CASES[row["question_id"] - 81]
        winners = {"model_1": "A", "model_2": "B"}
        assert [one.verdict.winner for one in (first, second) if one.verdict] == [
            winners[row["g1_winner"]],
            winners[row["g2_winner"]],
        ]
        assert (first.order, second.order) == (("A", "B"), ("B", "A"))
        assert first.item == second.item
        assert first.item.models == {"A": row["model_1"], "B": row["model_2"]}
        assert case.question in first.item.question
        for side, model in first.item.models.items():
            assert ANSWERS[model][row["question_id"] - 81] in first.item.responses[side]
        assert (first.judge, first.meta["template"], first.meta["turn"]) == ("gpt-4", row["judge"][1], row["turn"])
        assert first.meta["time"].startswith("2026-11-23T")
        assert (first.rationale, second.rationale) == (row["g1_judgment"], row["g2_judgment"])


def test_the_second_turn_is_the_whole_conversation_with_an_item_of_its_own() -> None:
    second = next(one for one in open_judgments([PAIRS]) if one.meta["turn"] == 2)
    assert second.item.id.endswith("/turn-2")
    assert second.item.replies.keys() == {"A", "B"}
    assert [one.role for one in second.item.replies["A"]] == ["assistant", "user", "assistant"]
    first = next(one for one in open_judgments([PAIRS]) if one.item.id == second.item.id.removesuffix("/turn-2"))
    assert second.item.opening == second.item.question == first.item.question
    assert second.item.replies["A"][0].content == first.item.responses["A"]


def test_reference_answers_are_kept() -> None:
    found = [one for path in (PAIRS, GRADES) for one in open_judgments([path]) if "math" in one.meta["template"]]
    assert len(found) == 8
    assert {one.item.reference for one in found} == {"144"}


def test_a_grade_that_was_not_found_is_no_verdict() -> None:
    found = list(open_judgments([GRADES]))
    failed = [one for one in found if one.verdict is None]
    assert len(found) == 4 * len(CASES)
    assert {one.item.question for one in failed if one.meta["turn"] == 1} == {CASES[-1].question}
    assert {one.no_verdict for one in failed} == {"FastChat found no verdict in the judge's text"}
    assert found[0].verdict == Grade(10)
    assert found[0].item.models == {"A": MODELS[1]}
