"""A question of one turn is never paired with the answer of another."""

import json
from typing import Any

import pytest

from metajudge.reading import open_judgments, parse_map
from metajudge.reading.containers.lines import BadLine, Reject
from metajudge.reading.conversations import apart, chat_in, exchange, text_of
from metajudge.reading.inspection import inspect_input
from metajudge.types import Item, Judgment, Message

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


@pytest.fixture
def read(write):
    def _read(*rows, mapping=TURN):
        return list(open_judgments([write("mt.jsonl", *rows)], mapping=parse_map([mapping])).scan())

    return _read


def test_each_turn_is_its_question_and_its_answers_alone(read):
    first, second = read(row(1), row(2))
    assert (first.item.question, first.item.responses) == ("Write a post.", {"A": "Post a.", "B": "Post b."})
    assert second.item.question == second.item.opening == "Write a post."
    assert second.item.responses["B"] == "assistant: Post b.\n\nuser: Shorten it.\n\nassistant: Short b."
    assert [one.content for one in second.item.replies["B"]] == ["Post b.", "Shorten it.", "Short b."]
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
    assert [len(one.item.replies or ()) for one in found.records] == [0, 2]


SYSTEM = [{"role": "system", "content": "Be brief."}, *chat("2+2?", "4", "Sure?", "Yes")]
TOOL = {"role": "tool", "content": "x"}
SAID = {"role": "assistant", "content": "done"}


def test_a_prompt_of_messages_is_a_transcript_beside_single_answers():
    spoken = tuple(Message(**one) for one in chat("2+2?", "4", "Sure?"))
    found = exchange(chat("2+2?", "4", "Sure?"), {"A": chat("x", "Yes")[1:]})
    assert found == ("user: 2+2?\n\nassistant: 4\n\nuser: Sure?", {"A": "Yes"}, spoken, {}, {})
    assert exchange(chat("a", "b", "c"), {"A": "x"}, turn=2)[0] == text_of(chat("a", "b", "c"))
    # Tools between a question and its answer are part of the answer; a system message belongs to the question.
    found = exchange("a", {"A": [*chat("a", "calling"), TOOL, SAID]})
    assert found.answers == {"A": "assistant: calling\n\ntool: x\n\nassistant: done"}
    assert [one.role for one in found.replies["A"]] == ["assistant", "tool", "assistant"]
    found = exchange(SYSTEM, {"A": SYSTEM, "B": [*SYSTEM[:-1], SAID]})
    assert [one.role for one in found.conversation] == ["system", "user", "assistant", "user"]
    assert (found.question, found.answers) == (text_of(SYSTEM[:-1]), {"A": "Yes", "B": "done"})


CALL = {"name": "weather", "arguments": '{"town":"Oslo"}'}
USE = {"type": "tool_use", "id": "c", "name": "weather", "input": {"town": "Oslo"}}
GIVEN = {"type": "tool_result", "tool_use_id": "c", "content": [{"type": "text", "text": "0 C"}]}


@pytest.mark.parametrize(
    "said",
    [
        [
            {"role": "assistant", "content": None, "tool_calls": [{"id": "c", "type": "function", "function": CALL}]},
            {"role": "tool", "tool_call_id": "c", "content": "0 C"},
        ],
        [{"role": "assistant", "content": [USE]}, {"role": "user", "content": [GIVEN]}],
        [{"role": "assistant", "content": "", "function_call": CALL}, {"role": "function", "content": "0 C"}],
        [{"from": "function_call", "value": json.dumps(CALL)}, {"from": "observation", "value": "0 C"}],
        [
            {"type": "function_call", "call_id": "c", **CALL},
            {"type": "function_call_output", "call_id": "c", "output": "0 C"},
        ],
    ],
)
def test_calls_and_results_of_many_tools_are_read_alike(said):
    asked, last = (
        {"role": "developer", "content": "Be brief."},
        {"role": "assistant", "content": "<think>m</think>Cold."},
    )
    chats = [asked, {"role": "user", "content": "Weather?"}, *said, last]
    found = exchange(chats, {"A": chats})
    call, result, answer = found.replies["A"]
    assert (call.tool_calls[0].name, json.loads(call.tool_calls[0].arguments)) == ("weather", {"town": "Oslo"})
    assert (result.role, result.content, answer.content, found.thoughts["A"]) == ("tool", "0 C", "Cold.", "m")
    assert "Oslo" in found.answers["A"]
    assert exchange(chats, {"A": chat_in(json.dumps(chats))}) == found


@pytest.mark.parametrize("open_", ["<reasoning>", "[ reasoning]", "[[\n  reasoning\n"])
def test_a_judges_reasons_in_the_tags_of_its_prompt_are_its_rationale(open_):
    said = f"{open_}A is right.</reasoning>\n[[A]]"
    item = Item(id="i", question="?", responses={"A": "<think>hm</think>x", "B": "y"})
    found = apart(Judgment(id="j", item=item, judge="g", verdict="A>B", rationale=said))
    assert (found.rationale, found.meta, found.item.responses["A"]) == (said, {}, "x")
    thought = apart(Judgment(id="j", item=item, judge="g", verdict="A>B", rationale="<think>hm</think>A is right."))
    assert (thought.rationale, thought.meta) == ("A is right.", {"reasoning": "hm"})


def test_a_call_that_is_a_mere_text_is_read_as_that():
    said = [{"from": "human", "value": "c"}, {"from": "function_call", "value": "later"}]
    assert text_of(said) == "user: c\n\nassistant: later"


def test_images_are_references_and_texts_cannot_look_like_messages():
    inline = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGVsbG8="}}
    source = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGVsbG8="}}
    link = {"type": "image_url", "image_url": {"url": "https://a.example/b.png"}}
    digest = "[image: image/png sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824]"
    parts = [{"type": "text", "text": "See"}, inline, source, link]
    assert text_of(parts) == f"See\n{digest}\n{digest}\n[image: https://a.example/b.png]"
    assert text_of(chat("a", "b\n\nuser: c")) != text_of(chat("a", "b", "c"))


@pytest.mark.parametrize(
    ("question", "answers", "turn", "reason"),
    [
        ("a", {"A": chat("2+2?", "4", "Sure?")}, None, "ends with a message of the role 'user'"),
        ("a", {"A": [*chat("a", "b"), {**TOOL, "role": "critic"}, *chat("c", "d")]}, None, "the role 'critic'"),
        ("a", {"A": [*chat("a"), *chat("c", "d")]}, None, "cannot be|would alternate"),
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
