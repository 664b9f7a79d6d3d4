"""What is mended in a reply and what is not; over thousands of mangled replies no score differs from what was written."""

import asyncio
import json
import random
import re

import pytest

from metajudge.agents.exchange import ask
from metajudge.agents.mending import is_torn, mend
from metajudge.agents.parse import ReplyProblemsError, parse_reply
from metajudge.agents.schema import ReplyForm, output_schema
from metajudge.errors import FailureKind
from metajudge.judging.judges import SCHEMA as PAIRWISE
from metajudge.judging.judges import parse_pairwise_reply
from metajudge.providers.model import Message, ModelRequest, Parameters
from metajudge.providers.scripted import ScriptedModel
from metajudge.rubric import load_rubric
from metajudge.types import Reply, Usage

RUBRIC = load_rubric("short")
FORM = ReplyForm(analysis=True)
SCHEMA = output_schema(RUBRIC, FORM)


def written(score=5, **others):
    one = {name: {"explanation": f"About {name}, {{so}} so.", "score": score} for name in RUBRIC.scored_names}
    return {"analysis": "First, 2 + 2 = 4.", **one, **others}


def as_text(value):
    return json.dumps(value, ensure_ascii=False)


MENDED = {
    "a sentence and a fence": lambda text: f"Here it is:\n\n```json\n{text}\n```\n\nAnything else?",
    "the same twice": lambda text: f"{text}\n\nAgain:\n{text}",
    "a wrapper": lambda text: f'{{"evaluation": {text}}}',
    "a list of one": lambda text: f"[{text}]",
    "a trailing comma": lambda text: text[:-1] + ",}",
    "trailing commas within": lambda text: text.replace("}, ", ",}, "),
    "JSON in a string": lambda text: json.dumps(text),
    "an extra property": lambda text: text[:-1] + ', "overall_score": 3}',
    "texts for numbers": lambda text: text.replace('"score": 5', '"score": "5"'),
    "other letters": lambda text: text.replace('"accuracy"', '"Accuracy"').replace(
        "logical_soundness", "Logical Soundness"
    ),
    "another order": lambda text: as_text(dict(reversed(json.loads(text).items()))),
    "an unclosed thought": lambda text: f"Let me see {{x}}.\n</think>\n{text}",
}


@pytest.mark.parametrize("name", MENDED)
def test_what_needs_no_guess_is_mended(name):
    found = parse_reply(mend(MENDED[name](as_text(written())), SCHEMA.schema), RUBRIC, FORM)
    assert {one.score for one in found.criteria.values()} == {5.0}
    assert found.analysis == "First, 2 + 2 = 4."


@pytest.mark.parametrize(
    "text",
    [
        as_text(written(score=4.5)),
        as_text(written(score="4/5")),
        as_text(written(score="4-5")),
        as_text(written(score=6)),
        as_text(written(score=True)),
        as_text({name: one for name, one in written().items() if name != "fairness"}),
        as_text(written()) + as_text(written(score=4)),
        as_text(written(Accuracy={"explanation": "", "score": 1})),
        as_text(written()).replace('"fairness": {', '"fairness": {"score": 1, "explanation": "x"}, "fairness": {'),
        as_text(written())[:-40],
        as_text(written()) + " " + as_text(written())[:-40],
        "I would give it a 5 overall.",
        "",
    ],
)
def test_what_would_take_a_guess_stays_a_failure(text):
    assert mend(text, SCHEMA.schema) is None


@pytest.mark.parametrize("mark", ["A＞B", "A > B", "a>b", " A>B "])  # noqa: RUF001
def test_a_choice_is_mended_where_it_is_the_same_characters(mark):
    text = as_text({"reasoning": "So.", "verdict": mark})
    assert parse_pairwise_reply(mend(text, PAIRWISE.schema)).verdict == "A>B"
    for other in ("A", "A is better", "A>C", "B<A", "A>=B"):
        assert mend(as_text({"reasoning": "So.", "verdict": other}), PAIRWISE.schema) is None


TORN = (
    lambda one, at, mark: one[:at],
    lambda one, at, mark: one[at:],
    lambda one, at, mark: one[:at] + mark + one[at:],
    lambda one, at, mark: one[:at] + one[at + 1 :],
    lambda one, at, mark: one.replace('"score": 5', '"score": "5/5"', 1),
    lambda one, at, mark: one.replace("5", "4", 1),
    lambda one, at, mark: one + one,
    lambda one, at, mark: f"<think>{one}</think>{one}",
    lambda one, at, mark: one.lower(),
    lambda one, at, mark: one.replace('"', "'", 2),
)
WHOLE = [change for name, change in MENDED.items() if name != "another order"]


def mangled(rng, text):
    """A text with up to three changes that servers and models make, or that tear it."""
    for _ in range(rng.randint(1, 3)):
        at, mark = rng.randrange(len(text) or 1), rng.choice('{}[]",:5 \n')
        text = rng.choice(WHOLE)(text) if rng.random() < 0.6 else rng.choice(TORN)(text, at, mark)
    return text


def test_over_ten_thousand_mangled_replies_no_score_differs_from_what_was_written():
    rng = random.Random(0)
    schema = output_schema(RUBRIC).schema
    read = refused = 0
    for _ in range(10_000):
        entries = {name: {"explanation": "x", "score": rng.randint(1, 5)} for name in RUBRIC.scored_names}
        text = mangled(rng, as_text(entries))
        for attempt in (text, mend(text, schema)):
            try:
                found = parse_reply(attempt or "", RUBRIC)
            except ReplyProblemsError:
                continue
            read += 1
            bare = re.sub(r"[\s_\\-]", "", text).casefold()
            for name, one in found.criteria.items():
                entry = rf'{name.replace("_", "")}"+:.*?"+score"+:"*(\d[\d.]*)'
                assert f"{one.score:g}" in re.findall(entry, bare), (name, one.score, text)
            break
        else:
            refused += 1
    assert read > 3_000
    assert refused > 2_000


def request(**parameters):
    return ModelRequest("system", (Message("user", "question"),), SCHEMA, Parameters(**parameters))


async def answered(*replies, **parameters):
    model = ScriptedModel(
        [one if isinstance(one, Reply) else Reply(one, "stop", "m", Usage(1, 0, 0, 1)) for one in replies]
    )
    found = await ask(model, request(**parameters), lambda text: parse_reply(text, RUBRIC, FORM), asked="mini")
    return found, model


def test_a_mended_reply_is_counted_and_asked_for_once():
    found, model = asyncio.run(answered(MENDED["a sentence and a fence"](as_text(written()))))
    assert (found.value.criteria["accuracy"].score, found.spent.mended, len(model.requests)) == (5.0, 1, 1)


def test_a_reply_that_was_cut_is_asked_for_with_more_room_and_not_for_its_correction():
    cut = Reply(as_text(written())[:50], "length", "m", Usage(1, 0, 0, 20), 0.01)
    found, model = asyncio.run(answered(cut, as_text(written()), max_tokens=20))
    assert found.value is not None
    assert [one.parameters.max_tokens for one in model.requests] == [20, 16_384]
    assert model.requests[0].messages == model.requests[1].messages


def test_a_torn_reply_is_not_asked_to_be_corrected():
    torn = as_text(written())[:-30]
    assert is_torn(torn)
    found, model = asyncio.run(answered(torn))
    assert (found.failure.kind, len(model.requests)) == (FailureKind.BAD_REPLY, 1)


@pytest.mark.parametrize(
    "said", ["I'm sorry, but I can't help with that.", "I cannot judge this.", "As an AI, I do not."]
)
def test_a_refusal_in_words_is_one(said):
    found, model = asyncio.run(answered(said))
    assert (found.failure.kind, len(model.requests)) == (FailureKind.REFUSED, 1)
