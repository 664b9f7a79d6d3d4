"""A question of one turn is never paired with the answer of another."""

import json
from typing import Any

import pytest

from metajudge.readers import open_judgments, parse_map
from metajudge.readers.conversations import exchange, text_of
from metajudge.readers.inspection import inspect_input
from metajudge.readers.lines import BadLine, Reject
from metajudge.types import Judgment

MAP = "verdict=winner,question=conversation_a,responses.A=conversation_a,responses.B=conversation_b,judge=judge"


def chat(*texts: str) -> list[dict[str, str]]:
    return [{"role": ("user", "assistant")[number % 2], "content": text} for number, text in enumerate(texts)]


def row(turn: int, **more: Any) -> dict[str, Any]:
    """A row as lmsys/mt_bench_human_judgments has it: both turns, whichever was judged."""
    return {
        "question_id": 81,
        "model_a": "alpaca-13b",
        "model_b": "gpt-3.5-turbo",
        "winner": "model_b",
        "judge": "author_2",
        "conversation_a": chat("Write a post.", "Post a.", "Shorten it.", "Short a."),
        "conversation_b": chat("Write a post.", "Post b.", "Shorten it.", "Short b."),
        "turn": turn,
        **more,
    }


SINGLE = row(1, conversation_a=chat("2+2?", "4"), conversation_b=chat("2+2?", "5"))


def written(tmp_path, *rows):
    path = tmp_path / "mt.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in rows))
    return path


def read(tmp_path, rows, mapping=MAP + ",turn=turn"):
    path = written(tmp_path, *rows)
    return list(open_judgments([str(path)], mapping=parse_map([mapping])).scan())


class TestMtBench:
    def test_the_first_turn_is_its_question_and_its_answers_alone(self, tmp_path):
        (judgment,) = read(tmp_path, [row(1)])
        assert judgment.item.question == "Write a post."
        assert judgment.item.responses == {"A": "Post a.", "B": "Post b."}

    def test_the_second_turn_is_never_its_answer_beside_the_first_question(self, tmp_path):
        (judgment,) = read(tmp_path, [row(2)])
        assert judgment.item.question == "[turn 1] user: Write a post.\n\n[turn 2] user: Shorten it."
        assert judgment.item.responses["B"] == "[turn 1] assistant: Post b.\n\n[turn 2] assistant: Short b."
        assert "Post" not in judgment.item.question

    def test_turns_have_different_ids(self, tmp_path):
        for mapping in (MAP + ",turn=turn", MAP + ",turn=turn,item_id=question_id"):
            first, second = read(tmp_path, [row(1), row(2)], mapping)
            assert first.id != second.id
            assert first.item.id != second.item.id

    def test_the_first_message_as_the_question_gives_the_same(self, tmp_path):
        old = MAP.replace("question=conversation_a", "question=conversation_a.0.content") + ",turn=turn"
        rows = [row(1), row(2)]
        assert [one.item for one in read(tmp_path, rows, old)] == [one.item for one in read(tmp_path, rows)]

    def test_a_turn_that_is_not_mapped_is_refused_and_not_guessed(self, tmp_path):
        found = read(tmp_path, [row(1), row(2), SINGLE], MAP)
        assert [isinstance(one, Reject) for one in found] == [True, True, False]
        assert "--map turn=turn" in str(found[0])

    def test_inspect_guesses_the_turn_and_reads_whole_conversations(self, tmp_path):
        found = inspect_input(str(written(tmp_path, row(1), row(2))))
        assert found.mapping.columns["turn"] == "turn"
        assert found.complete
        assert [one.item.question for one in found.records] == [
            "Write a post.",
            "[turn 1] user: Write a post.\n\n[turn 2] user: Shorten it.",
        ]

    @pytest.mark.parametrize("turn", [0, 3, "x", "1" * 5_000, "²"])
    def test_a_turn_that_is_not_there_is_refused(self, tmp_path, turn):
        found, _ = read(tmp_path, [row(turn), SINGLE])
        assert "turn" in found.reason

    def test_sides_that_were_asked_different_things_are_refused(self, tmp_path):
        found, _ = read(
            tmp_path, [row(2, conversation_b=chat("Write a post.", "Post b.", "Go on.", "More b.")), SINGLE]
        )
        assert "different conversations" in found.reason
        (first,) = read(tmp_path, [row(1, conversation_b=chat("Write a post.", "Post b.", "Go on.", "More b."))])
        assert isinstance(first, Judgment)


class TestExchange:
    def test_a_prompt_of_messages_is_a_transcript_beside_single_answers(self):
        assert exchange(chat("2+2?", "4", "Sure?"), {"A": chat("x", "Yes")[1:]}) == (
            "user: 2+2?\n\nassistant: 4\n\nuser: Sure?",
            {"A": "Yes"},
            (("user", "2+2?"), ("assistant", "4"), ("user", "Sure?")),
        )

    def test_a_shared_system_message_belongs_to_the_question(self):
        whole = [{"role": "system", "content": "Be brief."}, *chat("2+2?", "4", "Sure?", "Yes")]
        question, _, spoken = exchange(whole, {"A": whole})
        assert [role for role, _ in spoken] == ["system", "user", "user"]
        assert question.startswith("system: Be brief.\n\n[turn 1] user: 2+2?")
        with pytest.raises(BadLine, match="different conversations"):
            exchange(whole, {"A": whole, "B": chat("2+2?", "4", "Sure?", "No")})

    @pytest.mark.parametrize(
        ("answer", "reason"),
        [
            (chat("2+2?", "4", "Sure?"), "ends with a message of the role 'user'"),
            ([*chat("a", "b"), {"role": "tool", "content": "x"}, *chat("c", "d")], "the role 'tool'"),
            ([*chat("a", "b", "c", "d"), {"role": "assistant", "content": "e"}], "cannot be|would alternate"),
            ([{"content": "a"}, {"content": "b"}], "no role"),
            ([{"role": "assistant", "content": "a"}, {"role": "assistant", "content": "b"}], "several answers"),
        ],
    )
    def test_messages_that_are_no_turns_are_refused(self, answer, reason):
        with pytest.raises(BadLine, match=reason):
            exchange("a", {"A": answer})

    def test_tools_between_one_question_and_its_answer_are_left_out(self):
        answer = [*chat("a", "calling"), {"role": "tool", "content": "x"}, {"role": "assistant", "content": "done"}]
        assert exchange("a", {"A": answer}) == ("a", {"A": "done"}, ())

    def test_a_question_of_another_conversation_is_refused(self):
        with pytest.raises(BadLine, match="none of the user's 2 turns"):
            exchange("Another?", {"A": chat("a", "b", "c", "d")})
        with pytest.raises(BadLine, match="later turn"):
            exchange("c", {"A": chat("a", "b", "c", "d")}, turn=1)
        with pytest.raises(BadLine, match="one answer"):
            exchange("a", {"A": chat("a", "b", "c", "d"), "B": "text"})

    def test_a_prompt_that_ends_with_another_turn_than_the_judged_one_is_refused(self):
        with pytest.raises(BadLine, match="turn 1 is judged"):
            exchange(chat("a", "b", "c"), {"A": "x"}, turn=1)
        assert exchange(chat("a", "b", "c"), {"A": "x"}, turn=2)[0] == text_of(chat("a", "b", "c"))
