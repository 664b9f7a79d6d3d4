"""Thoughts are taken out of replies wherever they stand; texts about such tags keep them."""

import pytest

from metajudge.providers.thoughts import split_thoughts

ANSWER = '{"score": 5}'


@pytest.mark.parametrize(
    "text",
    [
        f"<think>hm {{no}}</think>{ANSWER}",
        f"<think>\n\n</think>\n\n<think>again</think>{ANSWER}",
        f"Okay, let me see.\nA is right.\n</think>\n\n{ANSWER}",
        f"one</think>\ntwo\n</think>\n{ANSWER}",
        f"<thinking>Let me see.</thinking>\n{ANSWER}",
        f"<THOUGHT>x</THOUGHT>\n{ANSWER}",
        f"<seed:think>x</seed:think>{ANSWER}",
        f"[THINK]x[/THINK]{ANSWER}",
        f"◁think▷x◁/think▷{ANSWER}",
        f"<|begin_of_thought|>x<|end_of_thought|>\n<|begin_of_solution|>{ANSWER}<|end_of_solution|>",
        f"<|START_THINKING|>x<|END_THINKING|><|START_RESPONSE|>{ANSWER}<|END_RESPONSE|>",
        f"<think>x</think><answer>{ANSWER}</answer>",
        f"<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>{ANSWER}<|return|>",
        f"<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final <|constrain|>json<|message|>{ANSWER}",
        f"<think>x</think>{ANSWER}<|im_end|>",
        f"{ANSWER}\n<think>was that right?</think>",
    ],
)
def test_the_answer_is_what_is_left(text):
    found = split_thoughts(text)
    assert found.answer == ANSWER
    assert found.thought


@pytest.mark.parametrize("text", ["<think>never ends", "<think>", "<|channel|>analysis<|message|>only thoughts"])
def test_a_thought_that_does_not_end_leaves_no_answer(text):
    assert split_thoughts(text).answer == ""


@pytest.mark.parametrize(
    "text",
    [
        "Plain.",
        "Use <b>bold</b> and a[0].",
        "The model writes <think> before and </think> after its thoughts.",
        "Close it with `</think>`\nand go on.",
        "```xml\n<think>\nan example\n</think>\n```\nThat is the format.",
        "",
    ],
)
def test_a_text_about_tags_keeps_them(text):
    assert split_thoughts(text) == ("", text)


def test_hostile_texts_take_linear_time():
    for text in ("<think>" * 20_000, "</think>\n" * 500, "```\n<think>\n" * 5_000, "<|channel|>" * 20_000):
        split_thoughts(text)
