"""Where values stand in a reply."""

import json

import pytest

from metajudge.providers.json_spans import body_span, value_spans


def at(text, *path):
    span = value_spans(text)[path]
    return text[span.start : span.end]


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
def test_spans_are_those_of_the_answer_itself(wrapped, indent):
    answer = {"a": {"explanation": 'a "score": 5, ü \\', "score": 4}, "b": [1.5, None, True, "x"], "e": {}, "l": []}
    text = wrapped.format(json.dumps(answer, indent=indent))
    assert at(text, "a", "score") == "4"
    assert json.loads(at(text, "a", "explanation")) == answer["a"]["explanation"]
    assert [at(text, "b", i) for i in range(4)] == ["1.5", "null", "true", '"x"']
    span = body_span(text)
    assert json.loads(text[span.start : span.end]) == answer


@pytest.mark.parametrize(
    "text",
    ["", "no", "{", '{"a"', '{"a": }', '{"a": 1', '{"a": 1,}', '{"a" 1}', "[1 2]", "[" * 5000, "{1: 2}", '"\\x"'],
)
def test_what_is_no_json_has_no_spans(text):
    assert value_spans(text) == {}


def test_escaped_names_are_the_names_they_stand_for():
    assert at('{"a\\u0062\\"": -1e3}', 'ab"') == "-1e3"
