"""Long judged texts are made inert once, whoever is shown them, and never in the thread of the event loop."""

import json
import threading

import pytest

from metajudge.agents import Agent
from metajudge.concurrency import LONG_TEXT, all_of
from metajudge.judging.grading import GradingJudge
from metajudge.judging.pairwise import PairwiseJudge, orders_of
from metajudge.judging.ranking import rank_responses
from metajudge.prompts import fences
from metajudge.providers.scripted import ScriptedModel
from metajudge.rubric import load_rubric
from tests.cases.panels import NOW, panel
from tests.doubles.cases import flood, scored
from tests.doubles.judging import arbitrary, item
from tests.doubles.judgments import judgment, reply
from tests.doubles.ranking import ranks_by

HOSTILE = {"zero-width": "\u200b", "right-to-left": "\u202e", "NUL": "\0", "form feed": "\f"}


@pytest.fixture
def worked(monkeypatch):
    """The long texts that were worked on, each with the thread."""
    found, plain = [], fences._neutralised

    def seen(text, rules):
        if len(text) >= LONG_TEXT:
            found.append((text, threading.current_thread()))
        return plain(text, rules)

    monkeypatch.setattr(fences, "_neutralised", seen)
    monkeypatch.setattr(fences, "_kept", {})
    return found


def long(name):
    return f"{name} " + HOSTILE[name] * LONG_TEXT


async def vetted(text):
    said = judgment(rationale=text)
    agents = [Agent(name=name, model=ScriptedModel([reply(4)]), rubric=load_rubric("short")) for name in "abc"]
    assert all(one.score is not None for one in await all_of(one.assess(said) for one in agents))


async def compared(text):
    pair = item(first=text)
    judges = [PairwiseJudge(name, arbitrary()) for name in "ab"]
    await all_of(judge.compare(pair, order) for judge in judges for order in orders_of(pair))


async def graded(text):
    one = item(first=text)
    model = ScriptedModel(lambda _: json.dumps({"reasoning": "fine", "grade": 7}))
    await all_of(GradingJudge(name, model).grade(one, "A") for name in "ab")


async def ranked(text):
    responses = {"x": text, "y": "short"}
    await all_of(
        rank_responses(ranks_by(len), "Which?", responses, judge=name, seed=1, evaluation="e") for name in "ab"
    )


async def cased(text):
    stages = [one.model_dump() for one in flood().stages]
    stages[0]["output"] = text
    await panel(scored(name="a"), scored(name="b")).judge(flood(stages=stages), now=NOW)


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("task", [vetted, compared, graded, ranked, cased])
async def test_a_long_text_is_worked_on_once_and_in_a_thread(worked, task, name):
    await task(long(name))
    assert [text for text, _ in worked] == [long(name)]
    assert threading.current_thread() not in {thread for _, thread in worked}


def test_what_is_kept_of_long_texts_is_bounded(worked, monkeypatch):
    monkeypatch.setattr(fences, "_KEPT", 3 * LONG_TEXT)
    texts = [f"{number}" * LONG_TEXT for number in range(5)]
    for text in texts:
        assert fences.neutralise(text) == text
    assert [text for text, _ in fences._kept] == texts[-3:]


@pytest.mark.parametrize("name", HOSTILE)
def test_every_character_becomes_legible_across_pieces(name):
    text = "a" * (fences._PIECE - 1) + HOSTILE[name] * 2 + "b"
    shown = f"[U+{ord(HOSTILE[name]):04X}]"
    assert fences.neutralise(text) == "a" * (fences._PIECE - 1) + shown * 2 + "b"
