"""What is kept of the token probabilities of chat completions."""

import json
import math

import pytest

from metajudge.providers.logprobs import NOT_RETURNED, read_logprobs
from metajudge.types import TokenProbabilities
from tests.doubles.logprobs import entry, logprobs_of, probabilities, text_of

TOKENS = [
    '{"a',
    '":{"',
    "explanation",
    '":"',
    "4 of 5",
    " points",
    '","score',
    '":',
    ("4", {"4": 0.75, "5": 0.25}),
    "}}",
]


def test_only_the_tokens_of_values_are_kept_with_the_one_after_a_number():
    found = probabilities(TOKENS)
    text = text_of(TOKENS)
    kept = [(token.start, token.text) for token in found.tokens]
    assert kept[-2:] == [(text.index("4}}"), "4"), (text.index("}}"), "}}")]
    assert found.tokens[-2].logprob == pytest.approx(math.log(0.75))
    assert found.tokens[-2].alternatives == (("5", pytest.approx(math.log(0.25))),)


def test_long_texts_are_left_out():
    long = ['{"a":{"explanation":"', *(f"word{i} " for i in range(400)), '","score":', ("4", {"4": 1.0}), "}}"]
    assert [token.text for token in probabilities(long).tokens] == ["4", "}}"]


def test_the_documented_shape_is_read():
    body = {
        "content": [
            {
                "token": "4",
                "logprob": -0.31725305,
                "bytes": [52],
                "top_logprobs": [
                    {"token": "4", "logprob": -0.31725305, "bytes": [52]},
                    {"token": "5", "logprob": -1.3190403, "bytes": [53]},
                ],
            }
        ],
        "refusal": None,
    }
    (token,) = read_logprobs(body, "4").tokens
    assert (token.start, token.text, token.logprob) == (0, "4", -0.31725305)
    assert token.alternatives == (("5", -1.3190403),)


def test_characters_cut_into_bytes_keep_the_offsets_right():
    emoji = "🦉".encode()
    cut = [{"token": f"\\x{byte:02x}", "logprob": 0.0, "bytes": [byte], "top_logprobs": []} for byte in emoji]
    told = logprobs_of(['{"e":"naïve and ', ("4", {"4": 1.0})])["content"]
    rest = logprobs_of([' long enough","score":', ("5", {"5": 0.5, "4": 0.5}), "}"])["content"]
    text = '{"e":"naïve and 4🦉 long enough","score":5}'
    found = read_logprobs({"content": [*told, *cut, *rest]}, text)
    token = next(token for token in found.tokens if token.text == "5")
    assert text[token.start :] == "5}"


def test_thoughts_before_and_an_end_token_after_the_text_do_not_shift_it():
    told = logprobs_of(["<think>4</think>", *TOKENS, "<|eot|>"])
    text = text_of(TOKENS)
    token = next(token for token in read_logprobs(told, text).tokens if token.text == "4")
    assert text[token.start :] == "4}}"


def test_a_text_that_could_stand_in_two_places_is_not_placed():
    told = logprobs_of([*TOKENS, *TOKENS])
    assert read_logprobs(told, text_of(TOKENS)).absent == "the tokens returned do not spell the reply"


@pytest.mark.parametrize("told", [None, {}, [], {"content": None}, {"content": []}, {"content": "4"}, "no"])
def test_servers_that_ignore_the_flag_are_recorded(told):
    assert read_logprobs(told, '{"score": 4}') == TokenProbabilities(absent=NOT_RETURNED)


@pytest.mark.parametrize(
    "wrong",
    [
        {"token": "4", "logprob": "-0.1"},
        {"token": "4", "logprob": 0.5},
        {"token": "4", "logprob": True},
        {"token": "4"},
        {"token": None, "logprob": -0.1},
        {"token": "4", "logprob": -0.1, "bytes": [300]},
        {"token": "4", "logprob": -0.1, "bytes": ["x"]},
        "4",
    ],
)
def test_entries_that_cannot_be_read_are_a_reason_and_no_number(wrong):
    assert "cannot be read" in read_logprobs({"content": [wrong]}, "4").absent


def test_other_tokens_than_the_reply_are_no_probabilities_of_it():
    assert read_logprobs(logprobs_of(["5"]), "4").absent == "the tokens returned do not spell the reply"


def test_alternatives_that_cannot_be_read_are_left_out_not_the_token():
    told = {"content": [{**entry("4", 0.5), "top_logprobs": [entry("4", 0.5), None, {"token": "5"}, entry("3", 0.2)]}]}
    (token,) = read_logprobs(told, "4").tokens
    assert [text for text, _ in token.alternatives] == ["3"]


@pytest.mark.parametrize("found", [probabilities(TOKENS), TokenProbabilities(absent="why"), TokenProbabilities()])
def test_stored_and_read_back_they_are_the_same(found):
    assert TokenProbabilities.from_json(found.to_json()) == found
    assert json.loads(found.to_json())
