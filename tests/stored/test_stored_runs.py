"""What an earlier version stored: the same commands ask no model anything again, and everything reads it.

The data are described in ``data/README.md``. Only the command line and HTTP are used, so that the tests hold for any
arrangement of the code.
"""

import sqlite3
from contextlib import closing

import pytest

from tests.doubles.llm_server import LLMServer
from tests.stored.commands import COMMANDS, DATA, STORE, inside, records, requests, results, run, service, unpack

(EXPECTED,) = records(DATA / "expected.json")
VETTED = "knowledge-2/harrier-8b/AB"
ATTEMPTS = ("clash.attempts.jsonl", "clash_given.attempts.jsonl", "peers.ballots.jsonl", "peers.ballots.answers.jsonl")
BY_ONE_RULE = ("vet_calibrated", "vet_policy")
"""Commands whose probability or policy decides what is kept, where once the score did: status and ``accepted`` differ."""

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def again(tmp_path_factory):
    """A folder in which every command ran once more, and the server they would have asked."""
    folder = tmp_path_factory.mktemp("again")
    unpack(folder)
    with LLMServer() as server, inside(folder, server.url):
        _copy()
        done = {name: run(*arguments) for name, arguments in COMMANDS.items()}
    return folder, server, done


@pytest.fixture
def stored(tmp_path):
    """A folder with the stored data as they were written, to work in; nothing answers requests."""
    unpack(tmp_path)
    with inside(tmp_path, "http://127.0.0.1:9"):
        _copy()
        yield tmp_path


def test_the_same_commands_succeed_and_ask_no_model_anything_again(again):
    _, server, done = again
    assert {name: one.code for name, one in done.items()} == dict.fromkeys(COMMANDS, 0)
    assert [request.body.get("model") for request in server.requests] == []


def test_they_give_the_same_results(again):
    found, expected = results(again[0]), EXPECTED["results"]
    for name in BY_ONE_RULE:
        for rows in (found[name], expected[name]):
            rows[:] = [[value for place, value in enumerate(row) if place not in (2, 4)] for row in rows]
    for name in ("vet_calibrated", "vet_signals"):  # labels and a fit of this version decide
        for rows in (found[name], expected[name]):
            rows[:] = [row[:2] for row in rows]
    assert found == expected


@pytest.mark.parametrize("name", ATTEMPTS)
def test_no_attempt_is_repeated(again, name):
    assert (again[0] / name).read_bytes() == (DATA / name).read_bytes()


def test_nothing_is_opened_for_review_twice(again, stored):
    before = _reviews()
    with inside(again[0], "http://127.0.0.1:9"):
        assert _reviews() == before
    assert sorted(before.values()) == ["decided"] * 2 + ["open"] * 14


def test_the_service_lists_it_and_asks_nothing_for_the_same_requests(stored):
    with LLMServer() as server, inside(stored, server.url), service(stored) as client:
        page = client.get("/v1/assessments", params={"limit": 500}).json()
        listed = [(one["judgment_id"], one["panel_digest"]) for one in page["assessments"]]
        (job,) = client.get("/v1/jobs").json()["jobs"]
        rows = client.get(f"/v1/jobs/{job['job_id']}/results").json()["results"]
        answers = {where: client.post(where, json=body) for where, body in requests(stored).items()}
    assert len(listed) == len(set(listed)) == 134
    assert _panels_of(VETTED) < {panel for judgment, panel in listed if judgment == VETTED}
    assert (job["state"], job["items"], len(rows)) == ("done", 3, 3)
    assert {where: answer.status_code for where, answer in answers.items()} == dict.fromkeys(answers, 200)
    assert [request.body.get("model") for request in server.requests] == []


def test_the_store_is_brought_up_to_date_once(stored):
    assert run("runs").code == 0
    content = _content(stored / STORE)
    assert run("runs").code == 0
    assert _content(stored / STORE) == content, "the second opening has written to the store"


def _copy():
    """Makes a store of this version of the one that was stored."""
    assert run("store", "copy", STORE, f"new-{STORE}", "--rename").code == 0


def _panels_of(judgment):
    rows = [row for name, rows in EXPECTED["results"].items() if name.startswith("vet") for row in rows]
    return {panel for one, panel, *_ in rows if one == judgment}


def _reviews():
    found = run("review", "list", "--json", "--limit", "1000").json()["reviews"]
    return {one["review"]["review_id"]: one["status"] for one in found}


def _content(path):
    """Everything but the openings, which are numbered."""
    with closing(sqlite3.connect(path)) as connection:
        return [line for line in connection.iterdump() if not line.startswith('INSERT INTO "sqlite_sequence"')]
