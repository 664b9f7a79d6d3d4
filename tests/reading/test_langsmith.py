import pytest

from metajudge.reading.containers.lines import BadLine
from metajudge.reading.formats.langsmith import run_of


def test_a_run_of_several_turns_is_never_the_first_question_with_the_last_answer():
    messages = [{"role": role, "content": text} for role, text in (("user", "a"), ("assistant", "b"), ("user", "c"))]
    last = {"role": "assistant", "content": "d"}
    run = run_of({"id": "r", "inputs": {"question": "a"}, "outputs": {"messages": [*messages, last]}})
    assert run.question == "[turn 1] user: a\n\n[turn 2] user: c"
    assert run.answer == "[turn 1] assistant: b\n\n[turn 2] assistant: d"
    tool = {"role": "tool", "content": "x"}
    broken = run_of({"id": "r", "inputs": {"question": "a"}, "outputs": {"messages": [*messages, tool, last]}})
    with pytest.raises(BadLine, match="the role 'tool'"):
        broken.item()
