"""Pages of a job's results while it runs: each item once, in whatever order items end, through kills."""

import importlib
import json
import random
import signal

import pytest

from metajudge.types.location import PostgresUrl
from tests.api.conftest import panel_of
from tests.api.service_process import process
from tests.api.test_jobs import app_limits, ended, records
from tests.doubles.llm_server import score_answer

queue = importlib.import_module("metajudge.api.tasks")

ITEMS = 60


@pytest.fixture
def shuffled(models):
    """A server of models some of whose answers take long, so that items end out of order."""
    rng = random.Random(8)
    return models(answer=score_answer(5), faults=lambda _: "slow" if rng.random() < 0.3 else None, slow_s=0.6)


def follow(client, location, cursor=-1, *, limit=4, most=10_000):
    """Items in the order in which pages give them, and the cursor to go on with."""
    found = []
    while cursor is not None and len(found) < most:
        page = client.get(f"{location}/results", params={"after": cursor, "limit": limit}).json()
        found += [one["item"] for one in page["results"]]
        cursor = page["next_cursor"]
    return found, cursor


@pytest.mark.slow
def test_followed_while_the_job_runs_the_pages_skip_and_repeat_nothing(store, serve, shuffled):
    client = serve(panels={"default": panel_of(shuffled, "a")}, store=store, limits=app_limits(job_workers=6))
    location = client.post("/v1/vet/batch", json=records(ITEMS)).headers["location"]
    found, _ = follow(client, location)
    assert client.get(location).json()["state"] == "done"
    assert found != sorted(found), "the items ended in order, which proves nothing"
    assert sorted(found) == list(range(ITEMS))


def test_the_last_page_of_an_ended_job_leads_nowhere_even_if_it_is_full(store, serve):
    client = serve(store=store)
    location = client.post("/v1/vet/batch", json=records(4)).headers["location"]
    ended(client, location)
    full = client.get(f"{location}/results", params={"limit": 4}).json()
    assert (len(full["results"]), full["next_cursor"]) == (4, None)


def test_an_event_s_id_is_the_cursor_that_leads_on_after_it(store, serve):
    client = serve(store=store)
    location = client.post("/v1/vet/batch", json=records(5)).headers["location"]
    told = client.get(f"{location}/events").text.splitlines()
    ids = [int(line.removeprefix("id: ")) for line in told if line.startswith("id: ")]
    items = [json.loads(line.removeprefix("data: "))["item"] for line in told if line.startswith('data: {"item"')]
    assert follow(client, location, ids[1])[0] == items[2:]
    rest = client.get(f"{location}/events", headers={"last-event-id": str(ids[1])}).text
    assert [int(line.removeprefix("id: ")) for line in rest.splitlines() if line.startswith("id: ")] == ids[2:]
    of_before = str(ids[1] - queue.FIRST_CURSOR)
    again = client.get(f"{location}/events", headers={"last-event-id": of_before}).text
    assert again == rest, "a stream that an earlier version began cannot go on"


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_killed_in_between_the_cursor_of_before_leads_on_to_every_other_item(shuffled, store, tmp_path):
    (tmp_path / "p.toml").write_text(
        f'rubric = "baseline"\n[[agents]]\nname = "a"\nmodel = "openai:m1@{shuffled.url}"\n'
    )
    (tmp_path / "s.toml").write_text("[service.limits]\njob_workers = 4\n")
    arguments = ["--config", "p.toml", "--config", "s.toml"]
    arguments += ["--store", store.secret] if isinstance(store, PostgresUrl) else []
    found, cursor, location = [], -1, None
    for most in (15, 15, 10_000):
        with process(tmp_path, *arguments) as (one, client):
            if location is None:
                location = client.post("/v1/vet/batch", json=records(ITEMS)).headers["location"]
            more, cursor = follow(client, location, cursor, most=most)
            found += more
            if cursor is not None:
                assert client.get(location).json()["state"] == "running", "it had ended before the kill"
            one.send_signal(signal.SIGKILL)
            one.wait()
    assert cursor is None
    assert sorted(found) == list(range(ITEMS))
