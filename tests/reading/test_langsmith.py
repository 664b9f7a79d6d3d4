import pytest

from metajudge.reading.containers.lines import BadLine
from metajudge.reading.formats.langsmith import run_of
from metajudge.types import Message


def test_a_run_of_several_turns_is_never_the_first_question_with_the_last_answer():
    messages = [{"role": role, "content": text} for role, text in (("user", "a"), ("assistant", "b"), ("user", "c"))]
    last = {"role": "assistant", "content": "d"}
    run = run_of({"id": "r", "inputs": {"question": "a"}, "outputs": {"messages": [*messages, last]}})
    assert run.item().conversation == tuple(Message(**one) for one in messages)
    assert (run.question, run.answer) == ("user: a\n\nassistant: b\n\nuser: c", "d")
    critic = {"role": "critic", "content": "x"}
    broken = run_of({"id": "r", "inputs": {"question": "a"}, "outputs": {"messages": [*messages, critic, last]}})
    with pytest.raises(BadLine, match="the role 'critic'"):
        broken.item()
