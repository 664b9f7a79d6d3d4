"""``metajudge review`` as a reviewer uses it: judgments, clashes, and a session of keys."""

import json
import re
import shlex
import time

import pytest
from typer.testing import CliRunner

from metajudge.clashes.clash import Clash, Judge, evaluate
from metajudge.clashes.reviews import review_of_clash
from metajudge.cli.review import app
from metajudge.types import Item
from tests.doubles.ranking import ranks_by
from tests.reviewables.planted import in_store, plant, run

RESPONSES = {"gpt-4o": "As GPT-4, made by OpenAI, I say: four, of course.", "claude-3-opus": "4, says Anthropic."}


def shortest(text):
    return -len(text)


@pytest.fixture
def review(run, tmp_path):
    """Runs ``metajudge review`` over a store that holds one clash on which the panel is divided."""
    path = tmp_path / "s.duckdb"

    async def fill(store):
        judges = (Judge("owl", ranks_by(len, name="owl")), Judge("hawk", ranks_by(shortest, name="hawk")))
        judges += (Judge("wren", ranks_by(len, name="wren")),)
        item = Item(id="q1", question="What is 2 + 2?", responses=RESPONSES)
        (record,) = await evaluate(item, Clash(judges))
        await store.reviews.open([review_of_clash(record, now=time.time())])

    in_store(path, fill)

    return lambda *words: run("review", *words, "--store", path).output


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
    best, other = sorted(texts, key=lambda label: ("four" in texts[label]) != (winner == "gpt-4o"))
    words[words.index("--verdict") + 1] = f"{best}>{other}"
    told = review(*words)
    assert f"{outcome} by ada; the review is decided" in told
    assert f"{best} is {winner}" in told
    assert "The panel's verdict was gpt-4o > claude-3-opus" in told
    data = json.loads(review("show", words[1], "--json"))
    assert data["verdict"] == "gpt-4o > claude-3-opus"
    (made,) = data["sheet"]["record"]["decisions"]
    assert made["blind"]
    assert made["verdict"] == (None if outcome == "approve" else [["claude-3-opus"], ["gpt-4o"]])


@pytest.fixture
def session(tmp_path):
    path = tmp_path / "s.duckdb"
    ids = run(plant(path))

    def play(keys, *words):
        arguments = ["session", "--reviewer", "ada", *words, "--store", str(path)]
        done = CliRunner().invoke(app, arguments, input="".join(f"{key}\n" for key in keys))
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return done.output

    play.ids = ids
    play.states = lambda: {
        kind: in_store(path, lambda store, name=name: store.reviews.get(name, now=1e10)) for kind, name in ids.items()
    }
    return play


def outcomes(state):
    return [made.outcome.value for made in state.history if made.reviewer == "ada"]


@pytest.mark.slow
def test_one_key_a_decision_and_u_replaces_the_last_one(session):
    told = session(["", "x", "c", "u", "5", "q"], "--blind")
    assert told.count("This key decides nothing") == 2  # neither Enter nor an unknown key is a decision
    assert "Decided: 0 of 3" in told
    assert "Decided: 1 of 3, median" in told
    assert "Replaced: " in told
    assert "cand-" not in told
    made = [outcomes(state) for state in session.states().values() if outcomes(state)]
    assert len(made) == 1
    assert made[0][0] == "cannot_tell"
    assert len(made[0]) == 2
    assert all(not state.claims for state in session.states().values())


@pytest.mark.slow
def test_skipped_reviews_are_given_back(session):
    told = session(["s", "s", "s"])
    assert "Nothing is left to review but what you skipped." in told
    assert all(not state.claims and not outcomes(state) for state in session.states().values())
