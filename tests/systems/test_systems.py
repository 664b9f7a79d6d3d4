"""Verdicts pulled from doubles of MLflow and Phoenix, vetted, pushed back, and not taken for verdicts again."""

from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta

import orjson
import pytest

from metajudge import Engine
from metajudge.errors import ConfigurationError, InputError
from metajudge.readers import open_judgments
from metajudge.systems.catalogue import open_system
from metajudge.systems.pull import pull, since_of
from metajudge.systems.push import push
from metajudge.systems.system import SystemCallError, note_of
from tests.doubles.verdict_systems import MLflowServer, PhoenixServer, SystemServer

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)
SERVERS = {"mlflow": (MLflowServer, "interop"), "phoenix": (PhoenixServer, "default")}


@contextmanager
def mlflow(double=MLflowServer):
    with (
        double() as server,
        closing(open_system("mlflow", {}, address=server.url, project="interop", per_second=1e9)) as opened,
    ):
        yield server, opened


@pytest.fixture(params=SERVERS)
def there(request):
    double, project = SERVERS[request.param]
    with double() as server:
        opened = open_system(request.param, {}, address=server.url, project=project, per_second=1e9)
        with closing(opened):
            yield server, opened


async def vetted(folder):
    found = []
    async with Engine() as engine:
        await engine.vet_all(open_judgments([folder]), on_result=lambda *result: found.append(result[2]))
    return found


async def test_pulled_vetted_pushed_twice_and_read_again(there, tmp_path):
    server, system = there
    counts = pull(system, tmp_path / "in", None, now=NOW)
    assert counts.complete
    assert set(counts.new.values()) == {3}
    assessments = await vetted(tmp_path / "in")
    assert len(assessments) == 3
    notes = [note_of(one) for one in assessments]

    first = push(notes, system, tmp_path / "ledger.jsonl")
    assert (first.created, first.failed) == (3, 0)
    sent = len(server.requests)
    again = push(notes, system, tmp_path / "ledger.jsonl")
    assert (again.known, again.created, len(server.requests)) == (3, 0, sent)
    without_ledger = push(notes, system, tmp_path / "other.jsonl")
    assert (without_ledger.unchanged, without_ledger.created) == (3, 0)

    changed = [note_of(one, link="https://vet.example/{judgment_id}") for one in assessments]
    assert push(changed, system, tmp_path / "ledger.jsonl").updated == 3
    assert push(changed, system, tmp_path / "ledger.jsonl").known == 3

    pull(system, tmp_path / "in", None, now=NOW)
    assert [one.judgment_id for one in await vetted(tmp_path / "in")] == [one.judgment_id for one in assessments]


def test_a_later_pull_fetches_the_last_day_again_and_replaces(there, tmp_path):
    server, system = there
    pull(system, tmp_path / "in", None, now=NOW)
    found = pull(system, tmp_path / "in", None, now=NOW)
    newest = datetime(2026, 11, 23, 3, 3 if isinstance(server, PhoenixServer) else 2, tzinfo=UTC)
    assert found.since == newest - timedelta(days=1)
    assert (set(found.new.values()), set(found.replaced.values())) == ({0}, {3})
    for file in (tmp_path / "in").glob("*.jsonl"):
        assert len(file.read_text().splitlines()) == 3


def test_only_what_is_new_is_fetched_since_a_time(there, tmp_path):
    _, system = there
    found = pull(system, tmp_path / "in", "2026-11-23T03:02", now=NOW)
    assert set(found.new.values()) == {1 if system.source.endswith("(experiment interop)") else 2}


def test_a_limit_leaves_the_place_to_start_from(there, tmp_path):
    _, system = there
    found = pull(system, tmp_path / "in", None, now=NOW, limit=1)
    assert not found.complete
    assert pull(system, tmp_path / "in", None, now=NOW).since is None


def test_what_came_before_a_failure_is_kept_and_the_same_pull_goes_on(tmp_path):
    with mlflow() as (server, system):
        original = server.answer
        server.answer = lambda *given: (400, "broken") if given[3] and "page_token" in given[3] else original(*given)
        with pytest.raises(SystemCallError, match="400"):
            pull(system, tmp_path / "in", None, now=NOW)
        assert len((tmp_path / "in" / "traces.jsonl").read_text().splitlines()) == 2
        server.answer = original
        found = pull(system, tmp_path / "in", None, now=NOW)
    assert (found.since, found.new, found.replaced) == (None, {"traces": 1}, {"traces": 2})


def test_a_folder_of_other_files_or_from_elsewhere_is_refused(there, tmp_path):
    _, system = there
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("x")
    with pytest.raises(InputError, match="no pull wrote"):
        pull(system, tmp_path / "mine", None, now=NOW)
    pull(system, tmp_path / "in", None, now=NOW)
    state = orjson.loads((tmp_path / "in" / "pulled.json").read_bytes())
    (tmp_path / "in" / "pulled.json").write_bytes(orjson.dumps({**state, "source": "http://elsewhere"}))
    with pytest.raises(InputError, match="pulled from http://elsewhere, not from"):
        pull(system, tmp_path / "in", None, now=NOW)


async def test_a_target_that_is_gone_is_recorded_and_stops_nothing(there, tmp_path):
    _, system = there
    pull(system, tmp_path / "in", None, now=NOW)
    assessments = [
        one.model_copy(update={"item_id": f"gone-{n}"}) for n in range(6) for one in await vetted(tmp_path / "in")
    ]
    found = push(map(note_of, assessments), system, tmp_path / "ledger.jsonl")
    assert (found.failed, found.stopped, found.created) == (18, None, 0)
    assert "404" in found.failures[0]
    again = push(map(note_of, assessments), system, tmp_path / "ledger.jsonl")
    assert (again.known, again.failed) == (0, 18)


async def test_a_system_that_refuses_five_times_ends_the_push(tmp_path):
    with mlflow() as (server, system):
        pull(system, tmp_path / "in", None, now=NOW)
        notes = [note_of(one) for one in await vetted(tmp_path / "in")]
        server.answer = lambda *_: (401, "no")
        found = push(notes * 3, system, tmp_path / "ledger.jsonl")
        assert (found.notes, found.failed) == (9, 5)
        assert "check the key" in found.stopped


@pytest.mark.parametrize(
    ("environ", "head"),
    [
        ({"MLFLOW_TRACKING_TOKEN": "t0ken"}, "Bearer t0ken"),
        ({"MLFLOW_TRACKING_USERNAME": "anna", "MLFLOW_TRACKING_PASSWORD": "pw"}, "Basic YW5uYTpwdw=="),
        ({}, None),
    ],
)
def test_keys_are_read_from_the_variables_of_the_systems_own_client(environ, head):
    with MLflowServer() as server:
        given = {"MLFLOW_TRACKING_URI": server.url, **environ}
        with closing(open_system("mlflow", given, project="interop", per_second=1e9)) as system:
            next(system.pull(None))
    heads = {name.lower(): value for name, value in server.heads[0].items()}
    assert heads.get("authorization") == head


def test_phoenix_takes_its_key_and_address_from_its_variables():
    with PhoenixServer() as server:
        given = {"PHOENIX_COLLECTOR_ENDPOINT": server.url, "PHOENIX_API_KEY": "k"}
        with closing(open_system("phoenix", given, per_second=1e9)) as system:
            next(system.pull(None))
    assert {name.lower(): value for name, value in server.heads[0].items()}["authorization"] == "Bearer k"


def test_an_unknown_system_or_rate_is_an_error():
    with pytest.raises(ConfigurationError, match="there are mlflow, phoenix"):
        open_system("wandb", {})
    with pytest.raises(ConfigurationError, match="more than 0"):
        open_system("mlflow", {}, per_second=0)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (None, None),
        ("all", None),
        ("24h", NOW - timedelta(hours=24)),
        ("7d", NOW - timedelta(days=7)),
        ("2026-11-01", datetime(2026, 11, 1, tzinfo=UTC)),
        ("2026-11-01T08:00+02:00", datetime(2026, 11, 1, 6, tzinfo=UTC)),
    ],
)
def test_times_to_start_from(given, expected):
    assert since_of(given, NOW) == expected


def test_a_time_that_is_none_says_what_is_expected():
    with pytest.raises(ConfigurationError, match="24h or 7d"):
        since_of("yesterday", NOW)


def test_an_answer_of_another_shape_is_a_failure_of_the_system(tmp_path):
    with mlflow(SystemServer) as (_, system), pytest.raises(SystemCallError, match="without 'experiment'"):
        pull(system, tmp_path / "in", None, now=NOW)
