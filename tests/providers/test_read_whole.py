"""A prompt that the server cut is a failure; ordinary prompts, dense or blank, are none."""

import pytest

from metajudge.errors import FailureKind, PromptCutError
from metajudge.providers.http_errors import Asked
from metajudge.providers.http_model import ReadWhole
from metajudge.providers.model import Message, ModelRequest
from metajudge.types import Usage

ASKED = Asked("m", "http://host/v1", "KEY", "")


def check(reader, text, tokens):
    reader.check(ModelRequest("", (Message("user", text),)), Usage(tokens, 0, 0, 5), ASKED)


def test_far_too_few_tokens_for_the_text_are_a_cut_prompt():
    with pytest.raises(PromptCutError, match=r"read 2,048 tokens of a prompt of 40,000 characters.*num_ctx") as raised:
        check(ReadWhole(), "Some words. " * 3_333 + "end.", 2_048)
    assert (raised.value.kind, raised.value.usage.input_tokens) == (FailureKind.TRUNCATED, 2_048)


def test_the_same_round_number_for_prompts_of_different_lengths_is_a_limit():
    reader = ReadWhole()
    check(reader, "word " * 2_000, 2_048)
    check(reader, "word " * 2_500, 2_048)
    with pytest.raises(PromptCutError):
        check(reader, "word " * 3_000, 2_048)


def test_ordinary_prompts_are_read_whole():
    reader = ReadWhole()
    for count in (500, 2_000, 9_000):
        check(reader, "word " * count, count)
    check(reader, " " * 60_000 + "=" * 60_000 + "end", 900)
    for _ in range(5):
        check(reader, "word " * 2_000, 2_048)  # the same prompt again
