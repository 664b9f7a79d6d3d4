"""A question of one turn is never paired with the answer of another."""

from typing import Any

import pytest

from metajudge.reading import open_judgments, parse_map
from metajudge.reading.containers.lines import BadLine, Reject
from metajudge.reading.conversations import exchange, text_of
from metajudge.reading.inspection import inspect_input
from metajudge.types import Judgment

MAP = "verdict=winner,question=conversation_a,responses.A=conversation_a,responses.B=conversation_b,judge=judge"
TURN = f"{MAP},turn=turn"


def chat(*texts: str) -> list[dict[str, str]]:
    return [{"role": ("user", "assistant")[number % 2], "content": text} for number, text in enumerate(texts)]


def row(turn: Any, **more: Any) -> dict[str, Any]:
    """A row as lmsys/mt_bench_human_judgments has it: both turns, whichever was judged."""
    names = {"question_id": 81, "model_a": "alpaca-13b", "model_b": "gpt-3.5-turbo", "judge": "author_2"}
    a, b = (chat("Write a post.", f"Post {one}.", "Shorten it.", f"Short {one}.") for one in "ab")
    return {**names, "winner": "model_b", "conversation_a": a, "conversation_b": b, "turn": turn, **more}


SINGLE = row(1, conversation_a=chat("2+2?", "4"), conversation_b=chat("2+2?", "5"))
OTHER = {"conversation_b": chat("Write a post.", "Post b.", "Go on.", "More b.")}
BOTH_TURNS = "[turn 1] user: Write a post.\n\n[turn 2] user: Shorten it."


@pytest.fixture
def read(write):
    def _read(*rows, mapping=TURN):
        return list(open_judgments([write("mt.jsonl", *rows)], mapping=parse_map([mapping])).scan())

    return _read


def test_each_turn_is_its_question_and_its_answers_alone(read):
    first, second = read(row(1), row(2))
    assert (first.item.question, first.item.responses) == ("Write a post.", {"A": "Post a.", "B": "Post b."})
    assert second.item.question == BOTH_TURNS
    assert second.item.responses["B"] == "[turn 1] assistant: Post b.\n\n[turn 2] assistant: Short b."
    # The first message as the question gives the same.
    path = TURN.replace("question=conversation_a", "question=conversation_a.0.content")
    assert [one.item for one in read(row(1), row(2), mapping=path)] == [first.item, second.item]
    named = read(row(1), row(2), mapping=f"{TURN},item_id=question_id")
    assert len({one.id for one in named} | {first.id, second.id}) == 2
    assert len({one.item.id for one in (first, second, *named)}) == 4


@pytest.mark.parametrize(
    ("bad", "mapping", "reason"),
    [
        (row(1), MAP, "--map turn=turn"),  # a turn that is not mapped is not guessed
        *((row(turn), TURN, "turn") for turn in (0, 3, "x", "1" * 5_000, "²")),
        (row(2, **OTHER), TURN, "different conversations"),
    ],
)
def test_a_turn_that_cannot_be_told_is_refused(read, bad, mapping, reason):
    found, single = read(bad, SINGLE, mapping=mapping)
    assert isinstance(found, Reject)
    assert reason in found.reason
    assert isinstance(single, Judgment)


def test_before_sides_were_asked_different_things_a_turn_is_read(read):
    assert isinstance(read(row(1, **OTHER))[0], Judgment)


def test_inspect_guesses_the_turn_and_reads_whole_conversations(write):
    rows = [{key: one for key, one in row(turn).items() if key != "model_a"} for turn in (1, 2)]  # of no known format
    found = inspect_input(str(write("mt.jsonl", *rows)))
    assert (found.mapping.columns["turn"], found.complete) == ("turn", True)
    assert [one.item.question for one in found.records] == ["Write a post.", BOTH_TURNS]


SYSTEM = [{"role": "system", "content": "Be brief."}, *chat("2+2?", "4", "Sure?", "Yes")]
TOOL = {"role": "tool", "content": "x"}
SAID = {"role": "assistant", "content": "done"}


def test_a_prompt_of_messages_is_a_transcript_beside_single_answers():
    spoken = (("user", "2+2?"), ("assistant", "4"), ("user", "Sure?"))
    transcript = "\n\n".join(f"{role}: {text}" for role, text in spoken)
    assert exchange(chat("2+2?", "4", "Sure?"), {"A": chat("x", "Yes")[1:]}) == (transcript, {"A": "Yes"}, spoken)
    assert exchange(chat("a", "b", "c"), {"A": "x"}, turn=2)[0] == text_of(chat("a", "b", "c"))
    # Tools between a question and its answer are left out; a system message belongs to the question.
    assert exchange("a", {"A": [*chat("a", "calling"), TOOL, SAID]}) == ("a", {"A": "done"}, ())
    question, _, spoken = exchange(SYSTEM, {"A": SYSTEM})
    assert [role for role, _ in spoken] == ["system", "user", "user"]
    assert question.startswith("system: Be brief.\n\n[turn 1] user: 2+2?")


@pytest.mark.parametrize(
    ("question", "answers", "turn", "reason"),
    [
        ("a", {"A": chat("2+2?", "4", "Sure?")}, None, "ends with a message of the role 'user'"),
        ("a", {"A": [*chat("a", "b"), TOOL, *chat("c", "d")]}, None, "the role 'tool'"),
        ("a", {"A": [*chat("a", "b", "c", "d"), SAID]}, None, "cannot be|would alternate"),
        ("a", {"A": [{"content": "a"}, {"content": "b"}]}, None, "no role"),
        ("a", {"A": [SAID, SAID]}, None, "several answers"),
        (SYSTEM, {"A": SYSTEM, "B": chat("2+2?", "4", "Sure?", "No")}, None, "different conversations"),
        ("Another?", {"A": chat("a", "b", "c", "d")}, None, "none of the user's 2 turns"),
        ("c", {"A": chat("a", "b", "c", "d")}, 1, "later turn"),
        ("a", {"A": chat("a", "b", "c", "d"), "B": "text"}, None, "one answer"),
        (chat("a", "b", "c"), {"A": "x"}, 1, "turn 1 is judged"),
    ],
)
def test_messages_that_are_no_turns_or_of_another_question_are_refused(question, answers, turn, reason):
    with pytest.raises(BadLine, match=reason):
        exchange(question, answers, turn)
