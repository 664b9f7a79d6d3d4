from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from metajudge.readers import Reject, open_judgments

Write = Callable[..., Path]


def prompt(question: str, first: str, second: str) -> str:
    return (
        f"<|User Prompt|>\n{question}\n\n<|The Start of Assistant A's Answer|>\n{first}\n<|The End of Assistant A's "
        f"Answer|>\n\n<|The Start of Assistant B's Answer|>\n{second}\n<|The End of Assistant B's Answer|>"
    )


def old(scores: tuple[str | None, str | None] = ("A>>B", "B>A"), **changes: Any) -> dict[str, Any]:
    """A line as version 0.1 writes it: the second game shows the answers swapped."""
    shown = (prompt("Why?", "base", "new\n"), prompt("Why?", "new\n", "base"))
    games = [
        {"user_prompt": text, "judgment": f"\nMy own answer... [[{score}]]", "score": score}
        for text, score in zip(shown, scores, strict=True)
    ]
    return {"question_id": "q1", "model": "new-7b", "judge": "gpt-4-1106-preview", "games": games} | changes


def new(**changes: Any) -> dict[str, Any]:
    """A line as version 2.0 writes it."""
    shown = (prompt("Why?", "base", "new"), prompt("Why?", "new", "base"))
    games = [
        {
            "score": score,
            "judgment": {"answer": f"I think [[{score}]]"},
            "prompt": [{"role": "system", "content": "Be fair."}, {"role": "user", "content": text}],
        }
        for text, score in zip(shown, ("A<B", "A=B"), strict=True)
    ]
    head = {"uid": "u1", "category": "hard_prompt", "judge": "gpt-4.1", "model": "new-7b", "baseline": "o3-mini"}
    return {**head, "games": games, **changes}


def test_both_games_are_turned_back_to_the_models(write: Write) -> None:
    source = open_judgments([write("x.jsonl", old())])
    first, second = source
    assert source.formats.popitem()[1] == "Arena-Hard judgments"
    assert first.item == second.item
    assert first.item.responses == {"A": "base", "B": "new\n"}
    assert first.item.models == {"B": "new-7b"}
    # Shown first in the second game was the model: B>A there means that the baseline is better.
    assert [(str(one.verdict), one.order) for one in (first, second)] == [("A>>B", ("A", "B")), ("A>B", ("B", "A"))]
    assert (first.id, first.judge) == ("q1/new-7b/gpt-4-1106-preview/AB", "gpt-4-1106-preview")
    assert first.rationale == "My own answer... [[A>>B]]"


def test_version_two_names_baseline_category_and_instruction(write: Write) -> None:
    first, second = open_judgments([write("x.jsonl", new())])
    assert first.item.models == {"A": "o3-mini", "B": "new-7b"}
    assert (first.item.category, first.instruction, first.id) == (
        "hard_prompt",
        "Be fair.",
        "u1/o3-mini/new-7b/gpt-4.1/AB",
    )
    assert [str(first.verdict), str(second.verdict)] == ["B>A", "A=B"]


def test_a_game_without_a_score_or_not_played_has_no_verdict_with_the_reason(write: Write) -> None:
    first, second = open_judgments([write("x.jsonl", new(games=[new()["games"][0] | {"score": None}, None]))])
    assert (first.verdict, second.verdict) == (None, None)
    assert first.no_verdict is not None
    assert "the game is null" in str(second.no_verdict)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (old(games=[None, None]), "no game has its prompt"),
        (old(games=[{"user_prompt": "Judge this.", "judgment": "", "score": "A>B"}]), "is not that of Arena-Hard"),
        (
            old(games=[{"user_prompt": prompt("?", prompt("?", "x", "y"), "z"), "judgment": "", "score": "A>B"}]),
            "the template's marks several times",
        ),
        (
            old(games=[{"user_prompt": prompt("?", "x", y), "judgment": "", "score": "A>B"} for y in "yz"]),
            "do not show the same question and answers in both orders",
        ),
        ({"uid": "u", "judge": "j", "model": "m", "games": []}, "'games' has too few entries"),
        ({"uid": "u", "judge": "j", "model": "m", "games": [{"judgment": ""}]}, "missing field 'games.0.score'"),
    ],
)
def test_a_line_whose_texts_are_unsure_is_rejected_and_the_others_stay(
    write: Write, line: dict[str, Any], reason: str
) -> None:
    source = open_judgments([write("x.jsonl", old(), line)])
    rejects = [record for record in source.scan() if isinstance(record, Reject)]
    assert [(reject.line, reason in reject.reason) for reject in rejects] == [(2, True)], rejects
    assert len(list(source)) == 2
