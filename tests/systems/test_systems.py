"""Verdicts pulled from doubles of every system, vetted, pushed back, and not taken for verdicts again."""

from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import orjson
import pytest

from metajudge import Engine
from metajudge.errors import ConfigurationError, InputError
from metajudge.reading import open_judgments
from metajudge.systems.catalogue import open_system
from metajudge.systems.system import Note, SystemCallError, note_of
from metajudge.systems.transfer import pull, push, since_of
from tests.doubles.hosted_systems import ArgillaServer, LangfuseServer, LangSmithServer
from tests.doubles.verdict_systems import MLflowServer, PhoenixServer

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)
SERVERS = {
    "mlflow": MLflowServer,
    "phoenix": PhoenixServer,
    "langfuse": LangfuseServer,
    "langsmith": LangSmithServer,
    "argilla": ArgillaServer,
}
NEWEST = {"mlflow": 2, "phoenix": 3, "langfuse": 3, "langsmith": 3, "argilla": None}
"""The minute of the newest record; a pull from Argilla always reads everything."""


@contextmanager
def opened(name, double, **more):
    with double as server:
        system = open_system(name, server.keys, address=server.url, project=server.project, per_second=1e9, **more)
        with closing(system):
            yield server, system


@pytest.fixture(autouse=True)
def small_pages(monkeypatch):
    monkeypatch.setattr("metajudge.systems.langsmith.PAGE", 2)
    monkeypatch.setattr("metajudge.systems.argilla.PAGE", 2)


def mlflow():
    return opened("mlflow", MLflowServer())


@pytest.fixture(params=SERVERS)
def there(request):
    with opened(request.param, SERVERS[request.param]()) as found:
        yield found


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


def test_a_later_pull_fetches_the_last_day_again_and_replaces(there, request, tmp_path):
    _, system = there
    pull(system, tmp_path / "in", None, now=NOW)
    found = pull(system, tmp_path / "in", None, now=NOW)
    minute = NEWEST[request.node.callspec.params["there"]]
    assert found.since == (minute and datetime(2026, 11, 23, 3, minute, tzinfo=UTC) - timedelta(days=1))
    assert (set(found.new.values()), set(found.replaced.values())) == ({0}, {3})
    for file in (tmp_path / "in").glob("*.jsonl"):
        assert len(file.read_text().splitlines()) == 3


def test_only_what_is_new_is_fetched_since_a_time(there, tmp_path):
    _, system = there
    found = pull(system, tmp_path / "in", "2026-11-23T03:02", now=NOW)
    assert set(found.new.values()) == {1 if "experiment" in system.source else 2}


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
        one.model_copy(update={"item_id": f"gone-{n}", "judgment_id": f"gone-{n}-{one.judgment_id[:8]}"})
        for n in range(6)
        for one in await vetted(tmp_path / "in")
    ]
    found = push(map(note_of, assessments), system, tmp_path / "ledger.jsonl")
    assert (found.failed, found.stopped, found.created) == (18, None, 0)
    assert "404" in found.failures[0] or "has no" in found.failures[0]
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


def test_an_unknown_system_or_rate_is_an_error():
    with pytest.raises(ConfigurationError, match="there are mlflow, phoenix, langfuse, langsmith, argilla"):
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
    double = MLflowServer()
    double.answer = lambda *_: {}
    with opened("mlflow", double) as (_, system), pytest.raises(SystemCallError, match="without 'experiment'"):
        pull(system, tmp_path / "in", None, now=NOW)


HOSTED = ["langfuse", "langsmith", "argilla"]


@pytest.mark.parametrize("name", HOSTED)
def test_what_is_pulled_has_rationale_judge_labels_and_times(name, tmp_path):
    with opened(name, SERVERS[name](people=True)) as (_, system):
        pull(system, tmp_path / "in", None, now=NOW)
    found = list(open_judgments([tmp_path / "in"]))
    assert [one.item.question for one in found] == ["1+1?", "2+1?", "3+1?"]
    assert [one.item.responses for one in found] == [{"A": "3"}] * 3
    first = found[0]
    assert first.judge == ("openai/gpt-4o-mini/correctness" if name == "argilla" else "correctness")
    assert first.rationale == ("" if name == "argilla" else "The answer is right.")
    assert datetime.fromisoformat(first.meta["time"]).minute == 1
    assert [str(one.value.value) for one in first.item.labels] == {
        "langfuse": ["True", "False", "True"],
        "langsmith": ["1.0", "0.0", "1.0"],
        "argilla": ["yes", "no", "yes"],
    }[name]
    if name != "argilla":  # whose annotators have ids only
        assert [one.annotator for one in first.item.labels] == ["anna", "ben", "dan"]
    assert all(one.time is not None for one in first.item.labels)


async def test_a_score_of_langfuse_goes_beside_the_verdicts_own(tmp_path):
    with opened("langfuse", LangfuseServer()) as (server, system):
        pull(system, tmp_path / "in", None, now=NOW)
        found = await vetted(tmp_path / "in")
        push([note_of(one) for one in found], system, tmp_path / "ledger.jsonl")
        push([note_of(one, link="https://x/{judgment_id}") for one in found], system, tmp_path / "ledger.jsonl")
        ours = server.scores[3:]  # those of the same id and time were replaced
        assert [one["subject"] for one in ours] == [one["subject"] for one in server.scores[:3]]
        assert [one["environment"] for one in ours] == ["production", "production", "default"]
        assert {(one["name"], one["value"], one["dataType"]) for one in ours} == {("metajudge", "ask", "CATEGORICAL")}
        assert set(ours[0]["metadata"]) >= {"metajudge_key", "judgment_id", "judge", "action", "status"}
        assert len({one["id"] for one in ours}) == 3


def test_a_score_that_langfuse_rejects_is_a_failure_with_its_reason():
    with opened("langfuse", LangfuseServer()) as (server, system):
        original = server.found
        rejected = {"accepted": 0, "rejected": 1, "errors": [{"message": "config not found"}]}
        server.found = lambda *given: (207, rejected) if given[0] == "POST" else original(*given)
        note = Note("k", "t", server.scores[0]["id"], "metajudge", "ask", None, "because", by_models=False)
        with pytest.raises(SystemCallError, match="did not take the score: config not found"):
            system.push(note)


def test_an_older_langfuse_and_a_project_beside_its_keys_are_told():
    double = LangfuseServer()
    double.found = lambda *_: (404, "no such route")
    with opened("langfuse", double) as (_, system), pytest.raises(SystemCallError, match="blob storage export"):
        next(system.pull(None))
    with pytest.raises(ConfigurationError, match="leave out --project"):
        open_system("langfuse", {}, project="x")


async def test_argilla_needs_a_question_for_notes_and_has_one_for_each_verdict(tmp_path):
    for questions, failed, value in (
        (("correctness",), 3, None),
        (("correctness", "metajudge"), 0, "ask"),
        (("correctness", "metajudge_correctness"), 0, "verdict of openai/gpt-4o-mini/correctness: ask: "),
    ):
        with opened("argilla", ArgillaServer(questions=questions)) as (server, system):
            pull(system, tmp_path / questions[-1], None, now=NOW)
            notes = [note_of(one) for one in await vetted(tmp_path / questions[-1])]
            found = push(notes, system, tmp_path / f"{questions[-1]}.jsonl")
            assert found.failed == failed
            if failed:
                assert "no question metajudge_correctness or metajudge: add one" in found.failures[0]
                continue
            record = next(iter(server.records.values()))
            assert record["suggestions"][1]["value"].startswith(value)
            assert record["suggestions"][1]["agent"].startswith("metajudge:")
            other = replace(notes[0], key="another")
            with pytest.raises(SystemCallError, match="on another verdict already"):
                system.push(other)


def test_a_dataset_that_is_not_there_names_those_that_are(tmp_path):
    with ArgillaServer() as server:
        system = open_system("argilla", server.keys, address=server.url, project="other", per_second=1e9)
        with closing(system), pytest.raises(SystemCallError, match="--project with one of: interop"):
            next(system.pull(None))


@pytest.mark.parametrize("name", HOSTED)
def test_a_wrong_key_is_told_and_appears_nowhere(name, tmp_path):
    with SERVERS[name]() as server:
        keys = dict.fromkeys(server.keys, "wrong-key")
        server.answer = lambda *_: (401, "bad wrong-key")
        system = open_system(name, keys, address=server.url, project=server.project, per_second=1e9)
        with closing(system), pytest.raises(SystemCallError, match="check the key") as raised:
            pull(system, tmp_path / "in", None, now=NOW)
        assert "wrong-key" not in str(raised.value)
    assert not any(b"wrong-key" in file.read_bytes() for file in tmp_path.rglob("*.json*"))
