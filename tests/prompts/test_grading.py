"""What a grading judge is shown."""

import pytest

from metajudge.errors import PromptError
from metajudge.prompts.grading import render_grading
from metajudge.types import Item

ITEM = Item(
    id="i",
    question="Why?",
    responses={"gpt": "First.", "llama": "Second."},
    reference="Because.",
    models={"gpt": "gpt-4"},
)


def test_one_response_alone_and_no_name_of_any():
    text = render_grading(ITEM, "llama")
    assert "Second." in text
    assert "Why?" in text
    assert not [word for word in ("First.", "Because.", "gpt", "llama") if word in text]


def test_an_unknown_response_is_named_with_those_there_are():
    with pytest.raises(PromptError, match="item 'i' has no response 'owl'; there are gpt, llama"):
        render_grading(ITEM, "owl")
