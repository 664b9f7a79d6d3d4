"""``metajudge review`` on a clash: blind is blind, and the hinted command is accepted."""

import asyncio
import json
import re
import shlex
import time

import pytest
from typer.testing import CliRunner

from metajudge.clashes.clash import Clash, Judge, evaluate
from metajudge.clashes.reviews import review_of_clash
from metajudge.cli.review import app
from metajudge.reviews.review import Review
from metajudge.store import open_store
from metajudge.types import Item
from tests.doubles.ranking import ranks_by

RESPONSES = {"gpt-4o": "As GPT-4, made by OpenAI, I say: four, of course.", "claude-3-opus": "4, says Anthropic."}
SECRETS = ("gpt", "openai", "claude", "anthropic", "owl", "hawk", "winner", "unanimous", "margin", "points", "votes")


def shortest(text):
    return -len(text)


@pytest.fixture
def review(tmp_path):
    """Runs ``metajudge review`` over a store that holds one clash on which the panel is divided."""
    path = tmp_path / "s.duckdb"

    async def fill():
        judges = (Judge("owl", ranks_by(len, name="owl")), Judge("hawk", ranks_by(shortest, name="hawk")))
        judges += (Judge("wren", ranks_by(len, name="wren")),)
        item = Item(id="q1", question="What is 2 + 2?", responses=RESPONSES)
        (record,) = await evaluate(item, Clash(judges))
        store = await open_store(path)
        await store.reviews.open([review_of_clash(record, now=time.time())])
        await store.close()

    asyncio.run(fill())

    def invoke(*words):
        done = CliRunner().invoke(app, [*map(str, words), "--store", str(path)])
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return done.output

    invoke.path = path
    return invoke


def test_next_blind_shows_question_answers_and_criteria_and_no_name_winner_or_vote(review):
    shown = review("next", "--reviewer", "ada", "--blind")
    assert "What is 2 + 2?" in shown
    assert "Answer R1" in shown
    assert "Answer R2" in shown
    assert "four, of course." in shown
    assert "Criteria" in shown
    assert len(shown.splitlines()) < 40
    assert not [word for word in SECRETS if word in shown.lower()]


def test_next_blind_as_json_and_a_blind_export_hold_no_name_winner_or_vote(review, tmp_path):
    for text in (
        review("next", "--reviewer", "ada", "--blind", "--json"),
        review("export", "--blind", "--out", tmp_path / "r.jsonl") and (tmp_path / "r.jsonl").read_text(),
    ):
        row = json.loads(text)
        assert set(row["responses"]) == {"R1", "R2"}
        assert not [word for word in SECRETS if word in text.lower().replace('"margin"', "")]


def claimed(review):
    """Claims the clash blind; its id, and the answers by label."""
    shown = review("next", "--reviewer", "ada", "--blind")
    return re.search(r"review decide (\w+)", shown)[1], dict(re.findall(r"Answer (R\d)\n(.+)", shown))


@pytest.mark.parametrize(("written", "winner"), [("{a}", "gpt-4o"), ("{a}={b}", None), ("{b}>{a}", "claude-3-opus")])
def test_a_winner_a_tie_or_a_ranking_is_the_decision(review, written, winner):
    name, texts = claimed(review)
    called = {"gpt-4o" if "four" in text else "claude-3-opus": label for label, text in texts.items()}
    review(
        "decide", name, "--reviewer", "ada", "--verdict", written.format(a=called["gpt-4o"], b=called["claude-3-opus"])
    )
    made = json.loads(review("show", name, "--json"))["sheet"]["record"]["decisions"][0]
    assert made["outcome"] == ("approve" if winner == "gpt-4o" else "modify")
    assert made["blind"]


@pytest.mark.parametrize(("winner", "outcome"), [("gpt-4o", "approve"), ("claude-3-opus", "modify")])
def test_the_hinted_command_records_a_blind_verdict_and_then_tells_what_the_panel_said(review, winner, outcome):
    shown = review("next", "--reviewer", "ada", "--blind")
    hint = re.search(r"Decide: metajudge review (decide .*)", shown)[1].replace("NAME", "ada")
    words = shlex.split(hint)
    texts = dict(re.findall(r"Answer (R\d)\n(.+)", shown))
    best = next(label for label, text in texts.items() if ("four" in text) == (winner == "gpt-4o"))
    other = next(label for label in texts if label != best)
    words[words.index("--verdict") + 1] = f"{best}>{other}"
    told = review(*words)
    assert f"{outcome} by ada; the review is decided" in told
    assert f"{best} is {winner}" in told
    assert "The panel's verdict was gpt-4o > claude-3-opus" in told
    data = json.loads(review("show", words[1], "--json"))
    assert data["verdict"] == "gpt-4o > claude-3-opus"

    async def decided():
        store = await open_store(review.path)
        state = await store.reviews.get(words[1], now=time.time())
        await store.close()
        return state.decisions[0]

    made = asyncio.run(decided())
    assert made.blind
    assert (None if made.verdict is None else made.verdict.winner) == (None if outcome == "approve" else winner)


def test_names_and_votes_are_shown_in_lines_and_without_a_prompt_once_it_is_decided(review):
    name, _ = claimed(review)
    assert "(gpt-4o" not in review("show", name), "a clash is decided blind, whatever the command says"
    review("decide", name, "--reviewer", "ada", "--outcome", "cannot_tell")
    shown = review("show", name)
    assert "(gpt-4o" in shown
    assert re.search(r"owl; .*Ranking: R\d > R\d", shown)
    assert "By the candidates' names: gpt-4o > claude-3-opus" in shown
    assert "prompt_digests" not in shown


def test_blind_on_a_case_hides_the_machines_outcome_and_its_hint_is_accepted(review):
    async def add():
        store = await open_store(review.path)
        one = Review(
            review_id="case1", subject="case", subject_id="c1", subject_digest="d" * 64, item_id="c1", judge="owl",
            action="REVIEW_PRIORITY", priority=0, score=7.25, confidence=0.81, opened_at=time.time(),
            content={"risk": {"context": None, "output": "Yields fall."}},
        )  # fmt: skip
        await store.reviews.open([one])
        await store.close()

    asyncio.run(add())
    review("claim", "case1", "--reviewer", "ada")
    shown = review("show", "case1", "--blind")
    assert "Yields fall." in shown
    assert not [word for word in ("REVIEW_PRIORITY", "7.25", "0.81", "owl", "Machine") if word in shown]
    hint = re.search(r"Decide: metajudge review (decide .*)", shown)[1].replace("NAME", "ada")
    told = review(*shlex.split(hint))
    assert "case1: approve by ada" in told
