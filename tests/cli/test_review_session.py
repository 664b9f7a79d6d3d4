"""``metajudge review session``: keys in, decisions out."""

import pytest
from typer.testing import CliRunner

from metajudge.cli.review import app
from tests.reviewables.planted import in_store, plant, run


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
