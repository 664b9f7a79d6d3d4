"""Where the answer is in a reply."""

import json

import pytest

from metajudge.providers.json_spans import body_span


@pytest.mark.parametrize(
    "wrapped",
    [
        "{}",
        "  {}\n",
        "```json\n{}\n```",
        "```\n{}\n```",
        '<think>maybe {{"a": {{"score": 1}}}}</think>\n{}',
        "<think>x</think> ```json\n{}\n```",
    ],
)
@pytest.mark.parametrize("indent", [None, 2])
def test_the_span_is_that_of_the_answer_itself(wrapped, indent):
    answer = {"a": {"explanation": 'a "score": 5, ü \\', "score": 4}, "b": [1.5, None, True, "x"], "e": {}, "l": []}
    text = wrapped.format(json.dumps(answer, indent=indent))
    span = body_span(text)
    assert json.loads(text[span.start : span.end]) == answer
