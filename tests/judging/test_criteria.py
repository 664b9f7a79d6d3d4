"""Criteria from the request alone, or a fallback that says why."""

import json
import re

import pytest

from metajudge.agents import ReplyProblemsError
from metajudge.errors import ConfigurationError, FailureKind, ModelTimeoutError
from metajudge.judging.criteria import (
    GENERIC,
    PARAMETERS,
    criteria_request,
    generate_criteria,
    parse_criteria,
    weighted,
)
from metajudge.prompts.criteria import BRIEF_WORDS
from metajudge.providers.scripted import ScriptedModel
from metajudge.types import Reply
from tests.doubles.ranking import criteria_answer, fails, says


async def test_three_to_five_criteria_with_weights_that_sum_to_one():
    found = (await generate_criteria(says(json.dumps(criteria_answer())), "Merge two lists.")).criteria
    assert found.source == "generated"
    assert [(one.key, one.name, one.asks) for one in found.criteria] == [
        ("c1", "truth", "is it so?"), ("c2", "brevity", "no padding?"), ("c3", "care", ""),
    ]  # fmt: skip
    assert sum(one.weight for one in found.criteria) == pytest.approx(1)
    assert found.criteria[2].weight == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("no JSON", FailureKind.BAD_REPLY),
        (json.dumps(criteria_answer("one", "two")), FailureKind.BAD_REPLY),
        (Reply('{"c1": {"te', "length", "m"), FailureKind.TRUNCATED),
        (Reply("I will not.", "refusal", "m"), FailureKind.REFUSED),
    ],
)
async def test_a_reply_of_no_use_means_the_generic_four_and_says_why(said, kind):
    model = ScriptedModel(lambda _request: said)
    found = (await generate_criteria(model, "Merge.")).criteria
    assert found.source == "fallback"
    assert found.fallback
    assert found.why.kind is kind
    assert found.criteria == GENERIC
    assert [one.name for one in GENERIC] == ["accuracy", "clarity", "helpfulness", "completeness"]
    assert len(model.requests) == 1


async def test_a_model_that_cannot_be_asked_means_the_generic_four_too():
    found = (await generate_criteria(fails(ModelTimeoutError("late")), "Merge.")).criteria
    assert (found.source, found.why.kind, found.replied) == ("fallback", FailureKind.TIMEOUT, False)


@pytest.mark.parametrize(
    "changes",
    [
        {"c4": {"text": "Truth: again", "weight": 1}},
        {"c4": {"text": "new", "weight": 0}},
        {"c4": {"text": "new", "weight": 6}},
        {"c4": {"text": "new", "weight": True}},
        {"c4": {"text": "new", "weight": "2"}},
        {"c4": {"text": " : ", "weight": 2}},
        {"c4": {"text": "word " * 41, "weight": 2}},
        {"c4": {"text": "new"}},
        {"c4": "new"},
        {"c6": {"text": "new", "weight": 1}},
        {"c3": None},
    ],
)
def test_criteria_that_are_none_are_refused(changes):
    with pytest.raises(ReplyProblemsError):
        parse_criteria(json.dumps({**criteria_answer(), **changes}))


@pytest.mark.parametrize("pairs", [[], [("a", "", 0)], [("a", "", 1), ("A", "", 1)], [("a", "", float("nan"))]])
def test_weights_and_names_of_ones_own_are_checked(pairs):
    with pytest.raises(ConfigurationError):
        weighted(pairs)


def tokens(text):
    """More tokens than tokenisers of this decade need: every six letters, digit, and run of signs is one."""
    return sum(
        -(-len(word) // 6) if word.isalpha() else 1 for word in re.findall(r"[a-z]+|[0-9]|[^a-z0-9 ]+", text.lower())
    )


def longest(words, indent):
    """The longest reply with five criteria of so many ordinary words each."""
    sentence = "technical correctness: does every statement hold up when the reader verifies all its details"
    text = " ".join(sentence.split()[:words])
    return json.dumps({f"c{n}": {"text": text, "weight": 5} for n in range(1, 6)}, indent=indent)


def test_five_brief_criteria_fit_into_the_papers_150_tokens_and_long_ones_do_not():
    assert tokens(longest(BRIEF_WORDS, None)) <= tokens(longest(BRIEF_WORDS, 2)) <= PARAMETERS.max_tokens == 150
    assert tokens(longest(13, 2)) > 150
    brief, usual = (criteria_request("Merge.", brief=brief).messages[0].text for brief in (True, False))
    assert brief.startswith(usual)
    assert f"at most {BRIEF_WORDS} words" in brief
