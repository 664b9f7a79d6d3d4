"""Vetting through the providers' batch APIs: equal results, half the price, nothing twice, faults cured or typed."""

import asyncio
import json

import pytest

from metajudge.errors import ConfigurationError
from metajudge.panels.config import panel_config
from metajudge.providers.batch_queue import BatchSettings
from metajudge.providers.shared_budget import open_budget
from metajudge.runs.loop import RunEnd, Stop
from metajudge.vetting.engine import Engine
from tests.doubles.batch_server import BatchServer
from tests.doubles.judgments import judgment
from tests.doubles.llm_server import score_answer

pytestmark = pytest.mark.slow

EACH = pytest.mark.parametrize("protocol", ["openai", "anthropic"])

UNLIKE = {"latency_s", "cost_usd", "calls", "panel_digest", "prompt_digest"}
"""What depends on the server's port, or on how a reply was got."""


@pytest.fixture(autouse=True)
def keys(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-key")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "test-key")


def crowd(n=12):
    return [judgment(f"j{i}") for i in range(n)]


def varied(body):
    """Scores that depend on the question, so that mixed-up answers show."""
    text = json.dumps(body)
    number = text.partition("(j")[2].partition(")")[0]
    return score_answer(1 + int(number) % 5)(body)


def settings(folder, **changes):
    plain = {"folder": folder / "b", "in_flight": 200, "linger_s": 0.06, "first_poll_s": 0.02, "longest_poll_s": 0.05}
    return BatchSettings(**{**plain, **changes})


async def vet(server, folder, protocol="openai", *, batch=True, judgments=None, said=None, model="m", **options):
    changes = options.pop("batches", {})
    own = settings(folder, **changes) if batch else None
    panel = panel_config(
        options.pop("panel", None)
        or {"agents": [{"model": f"{protocol}:{model}@{server.url}", "price": {"input": 1, "output": 10}}]}
    )
    results = {}
    notify = (lambda _: None) if said is None else said.append
    async with Engine(panel=panel, store=folder / "s.duckdb", batch=own, notify=notify, **options) as engine:
        summary = await engine.vet_all(
            crowd() if judgments is None else judgments,
            on_result=lambda index, _judgment, assessment: results.update({index: assessment}),
        )
    return summary, [results[index] for index in sorted(results)]


def comparable(value):
    if isinstance(value, dict):
        return {name: comparable(part) for name, part in value.items() if name not in UNLIKE}
    return [comparable(part) for part in value] if isinstance(value, list) else value


def said_by(assessments):
    return [comparable(one.model_dump(mode="json")) for one in assessments]


def left_over(folder):
    return sorted(path.name for path in (folder / "b").iterdir() if path.name != "lock")


def sizes(server):
    """Requests a batch, smallest first: several go out at once, in any order."""
    return sorted(len(batch.lines) for batch in server.batches)


async def submitted(server):
    for _ in range(1000):
        if server.batches:
            return
        await asyncio.sleep(0.01)
    raise AssertionError("no batch was submitted")


def custom_keys(server):
    return [name.partition("_")[2] for batch in server.batches for name in batch.bodies]


@EACH
async def test_results_and_bodies_equal_those_of_a_live_run_at_half_the_price(protocol, tmp_path):
    (tmp_path / "live").mkdir()
    with BatchServer(varied) as live, BatchServer(varied) as server:
        paid, expected = await vet(live, tmp_path / "live", protocol, batch=False)
        summary, found = await vet(server, tmp_path, protocol)
        assert said_by(found) == said_by(expected)
        in_order = sorted(json.dumps(body) for body in live.live)
        assert sorted(json.dumps(body) for body in [*server.live, *server.requests]) == in_order
        assert (len(server.live), [len(batch.lines) for batch in server.batches]) == (1, [11])
    assert (summary.end, summary.assessed, summary.calls) == (RunEnd.FINISHED, 12, 12)
    assert summary.cost_usd == pytest.approx(paid.cost_usd * (1 + 11 / 2) / 12, rel=0.02)
    assert left_over(tmp_path) == []


CURED = ("expired", "missing", "contradictory", "429", "500", "malformed", "unknown")


@EACH
@pytest.mark.parametrize(
    "faults",
    [pytest.param(dict(enumerate(CURED)), id="all"), *(pytest.param({2: one, 5: one}, id=one) for one in CURED)],
)
async def test_what_a_batch_did_not_answer_is_asked_again_in_another_and_the_rest_is_not(faults, protocol, tmp_path):
    (tmp_path / "calm").mkdir()
    with BatchServer(varied) as calm, BatchServer(varied, line_faults=faults) as server:
        _, expected = await vet(calm, tmp_path / "calm", protocol)
        summary, found = await vet(server, tmp_path, protocol)
        assert said_by(found) == said_by(expected)
        assert len(server.batches[0].lines) == 11
        assert sum(len(batch.lines) for batch in server.batches) == 11 + len(faults)
    assert summary.end is RunEnd.FINISHED
    assert left_over(tmp_path) == []


@EACH
async def test_a_request_answered_twice_alike_counts_once(protocol, tmp_path):
    said = []
    with BatchServer(varied, line_faults={0: "duplicate"}) as server:
        summary, _ = await vet(server, tmp_path, protocol, said=said)
        assert len(server.batches) == 1
    assert (summary.assessed, summary.calls) == (12, 12)
    assert any("1 requests answered more than once" in one for one in said)


@EACH
@pytest.mark.parametrize(
    ("faults", "batches", "failures"),
    [
        pytest.param({"line_faults": {3: "400"}}, [11], {"bad_request": 1}, id="rejected: typed, not asked again"),
        pytest.param(
            {"line_faults": lambda body, _n: "expired" if "(j7)" in json.dumps(body) else None},
            [11, 1, 1],
            {"timeout": 1},
            id="expires again and again: three batches",
        ),
        *(
            pytest.param({"submit_faults": [fault, fault]}, [11], {}, id=f"submission failed, made again: {fault}")
            for fault in ("429", "500", "cut")
        ),
        pytest.param({"submit_faults": ["lost"]}, [11], {}, id="submission's answer lost: found, never made twice"),
        pytest.param({"cut_results": 2, "cut_bodies": 1, "look_faults": 2}, [11], {}, id="results cut: fetched again"),
        pytest.param({"cut_results": 3}, [11, 1], {}, id="results stay cut: one further batch for what is missing"),
        pytest.param(
            {"line_faults": lambda _body, _n: "no_json_schema"}, [11, 11], {}, id="no schemas: asked in a plainer form"
        ),
    ],
)
async def test_faults_are_cured_or_typed_and_nothing_is_asked_twice(faults, batches, failures, protocol, tmp_path):
    with BatchServer(varied, **faults) as server:
        summary, found = await vet(server, tmp_path, protocol, batches={"attempts": 3} if len(batches) == 2 else {})
        assert [len(batch.lines) for batch in server.batches] == batches
        assert "submit_faults" not in faults or len(set(custom_keys(server))) == 11
        assert server.fetches > faults.get("cut_results", 0)
    assert (summary.assessed, dict(summary.failures)) == (12 - len(failures), failures)
    assert sum(one.failure is not None for one in found) == len(failures)


@EACH
async def test_a_batch_canceled_at_the_provider_fails_typed_and_the_next_run_asks_again(protocol, tmp_path):
    with BatchServer(polls=10_000) as server:
        running = asyncio.ensure_future(vet(server, tmp_path, protocol))
        await submitted(server)
        server.batches[0].canceled = True
        summary, _ = await running
        assert dict(summary.failures) == {"bad_request": 11}
        server.polls = 0
        summary, _ = await vet(server, tmp_path, protocol)
        assert (summary.assessed, len(server.batches)) == (12, 2)


@EACH
async def test_batches_are_split_by_number_and_by_bytes(protocol, tmp_path, monkeypatch):
    with BatchServer(varied) as server:
        await vet(server, tmp_path, protocol, batches={"max_requests": 4})
        assert sizes(server) == [3, 4, 4]
        size = len(json.dumps(server.requests[0]))
    from metajudge.providers.batch_services import SERVICES

    monkeypatch.setattr(SERVICES[protocol], "most_bytes", 5 * (size + 200))
    (tmp_path / "again").mkdir()
    with BatchServer(varied) as server:
        summary, _ = await vet(server, tmp_path / "again", protocol)
        assert sizes(server) == [1, 5, 5]
        monkeypatch.setattr(SERVICES[protocol], "most_bytes", 300)
        (tmp_path / "small").mkdir()
        summary, _ = await vet(server, tmp_path / "small", protocol)
    assert dict(summary.failures) == {"context_too_long": 11}


@EACH
async def test_a_run_that_does_not_wait_leaves_batches_pending_and_the_same_run_collects_them(protocol, tmp_path):
    with BatchServer(varied, polls=10_000) as server:
        first, some = await vet(server, tmp_path, protocol, batches={"wait_s": 0})
        assert (first.end, first.exit_code, len(some)) == (RunEnd.PENDING, 4, 1)
        assert len(left_over(tmp_path)) == 1
        second, _ = await vet(server, tmp_path, protocol, batches={"wait_s": 0})
        assert second.end is RunEnd.PENDING
        server.polls = 0
        third, found = await vet(server, tmp_path, protocol, batches={"wait_s": 0})
        assert (third.end, third.assessed, third.calls) == (RunEnd.FINISHED, 12, 11)
        assert (len(server.batches), len(server.live)) == (1, 1)
        fourth, again = await vet(server, tmp_path, protocol)
        assert (fourth.reused, fourth.calls, len(server.batches)) == (12, 0, 1)
    assert said_by(again) == said_by(found)
    assert left_over(tmp_path) == []


@EACH
async def test_an_interrupted_run_ends_at_once_and_the_same_run_goes_on(protocol, tmp_path):
    with BatchServer(varied, polls=10_000) as server:
        stop = Stop()
        panel = panel_config({"agents": [{"model": f"{protocol}:m@{server.url}"}]})
        engine = Engine(panel=panel, store=tmp_path / "s.duckdb", batch=settings(tmp_path))
        async with engine:
            running = asyncio.ensure_future(engine.vet_all(crowd(), stop=stop))
            await submitted(server)
            await asyncio.sleep(0.05)
            stop.ask(RunEnd.INTERRUPTED)
            summary = await asyncio.wait_for(running, 5)
        assert summary.end is RunEnd.INTERRUPTED
        assert (summary.calls, sum(summary.failures.values())) == (1, 0)
        server.polls = 0
        summary, _ = await vet(server, tmp_path, protocol, panel=panel.model_dump())
        assert (summary.assessed, len(server.batches)) == (12, 1)


@EACH
async def test_a_panel_discussion_runs_as_rounds_of_batches_and_ends_as_a_live_one(protocol, tmp_path):
    def panel(server):
        agents = [{"name": name, "model": f"{protocol}:{name}@{server.url}"} for name in ("a", "b")]
        return {
            "agents": agents,
            "strategy": "panel_discussion",
            "discussion": {"summariser": {"model": f"{protocol}:s@{server.url}"}},
        }

    (tmp_path / "live").mkdir()
    with BatchServer(varied) as live, BatchServer(varied) as server:
        _, expected = await vet(live, tmp_path / "live", protocol, batch=False, panel=panel(live))
        _, found = await vet(
            server, tmp_path, protocol, panel=panel(server), batches={"probe": False, "linger_s": 0.25}
        )
        assert said_by(found) == said_by(expected)
        assert [len(batch.lines) for batch in server.batches] == [12] * 5
        assert server.live == []


@EACH
async def test_a_reply_without_use_is_repaired_in_another_batch_or_live(protocol, tmp_path):
    def answer(body):
        bad = "(j4)" in json.dumps(body) and len(body["messages"]) < (4 if protocol == "openai" else 3)
        return "no scores here" if bad else varied(body)

    with BatchServer(answer) as server:
        summary, _ = await vet(server, tmp_path, protocol)
        assert [len(batch.lines) for batch in server.batches] == [11, 1]
        assert (summary.assessed, summary.calls) == (12, 13)
    (tmp_path / "live").mkdir()
    with BatchServer(answer) as server:
        summary, _ = await vet(server, tmp_path / "live", protocol, batches={"live_below": 3})
        assert ([len(batch.lines) for batch in server.batches], len(server.live)) == ([11], 2)
    assert summary.assessed == 12


@EACH
async def test_a_server_without_a_batch_api_ends_the_run_and_says_what_to_do(protocol, tmp_path):
    with BatchServer(submit_faults=["404"]) as server, pytest.raises(ConfigurationError, match="Leave out --batch"):
        await vet(server, tmp_path, protocol)
    assert left_over(tmp_path) == []


async def test_a_batch_refused_for_want_of_room_is_submitted_again(tmp_path):
    with BatchServer(submit_faults=["token_limit", "token_limit"]) as server:
        said = []
        summary, _ = await vet(server, tmp_path, said=said)
        assert (summary.assessed, len(server.batches)) == (12, 3)
    assert any("submitting it again" in one for one in said)


async def test_a_wrong_key_shows_with_the_first_request_and_nothing_is_put_into_a_batch(tmp_path):
    with BatchServer() as server:
        server._live = lambda _path, _raw: (401, {"error": {"message": "wrong key"}})
        summary, _ = await vet(server, tmp_path)
        assert (dict(summary.failures), server.batches) == ({"auth": 12}, [])


@EACH
async def test_a_budget_stops_the_run_before_what_it_cannot_pay_and_collects_what_is_paid(protocol, tmp_path):
    with BatchServer(varied) as server:
        budget = open_budget(calls=7, file=tmp_path / "b.sqlite")
        summary, found = await vet(server, tmp_path, protocol, budget=budget)
        assert (summary.end, len(found), summary.calls) == (RunEnd.BUDGET, 7, 7)
        assert budget.totals().spent.calls == 7
        budget.close()
        raised = open_budget(calls=12, file=tmp_path / "b.sqlite")
        summary, found = await vet(server, tmp_path, protocol, budget=raised)
        assert (summary.end, len(found), summary.calls) == (RunEnd.FINISHED, 12, 5)
        raised.close()


async def test_two_processes_do_not_share_a_folder(tmp_path):
    from metajudge.providers.batch_folder import BatchFolder

    folder = BatchFolder(tmp_path / "b")
    with pytest.raises(ConfigurationError, match="another process"):
        BatchFolder(tmp_path / "b")
    folder.close()
    BatchFolder(tmp_path / "b").close()


async def test_somebody_elses_batch_of_the_same_size_is_never_taken_for_ours(tmp_path):
    """Anthropic's batches carry no label: one that looks like ours turns out to be another's when it has ended."""
    with BatchServer(varied, polls=10_000) as server:
        await vet(server, tmp_path, "anthropic", batches={"wait_s": 0})
        record = next(path for path in (tmp_path / "b").glob("*.json"))
        data = json.loads(record.read_bytes())
        record.write_text(json.dumps({**data, "state": "begun", "batch_id": None}))
        for line in server.batches[0].lines:  # the batch that is there is not the one we were about to submit
            line["custom_id"] = "theirs-" + line["custom_id"]
        server.polls = 0
        summary, _ = await vet(server, tmp_path, "anthropic")
        assert (summary.assessed, len(server.batches)) == (12, 2)


@EACH
async def test_fetched_answers_that_did_not_reach_the_store_are_read_from_the_folder(protocol, tmp_path, monkeypatch):
    """Killed after the results were fetched, before the replies were safe."""
    from metajudge.providers.batch_folder import BatchFolder

    with BatchServer(varied) as server:
        with monkeypatch.context() as patched:
            patched.setattr(BatchFolder, "settle", lambda _self: None)
            _, expected = await vet(server, tmp_path, protocol)
        for file in tmp_path.glob("s.duckdb*"):
            file.unlink()
        fetches = server.fetches
        assert len(left_over(tmp_path)) >= 2
        summary, found = await vet(server, tmp_path, protocol)
        assert (summary.assessed, len(server.batches), server.fetches) == (12, 1, fetches)
    assert said_by(found) == said_by(expected)
    assert left_over(tmp_path) == []


async def test_a_record_that_cannot_be_read_is_named_and_not_passed_over(tmp_path):
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "0123456789ab.json").write_text('{"format": 2}')
    with BatchServer() as server, pytest.raises(ConfigurationError, match="no record of a batch"):
        await vet(server, tmp_path)
    assert server.live == []


async def test_batches_of_another_command_are_left_alone_and_said(tmp_path):
    with BatchServer(polls=10_000) as server:
        await vet(server, tmp_path, batches={"wait_s": 0})
        server.polls, said = 0, []
        other = [judgment(f"other{n}", question=f"Another one (j{n})?") for n in range(4)]
        summary, _ = await vet(server, tmp_path, judgments=other, said=said)
        assert (summary.assessed, len(server.batches)) == (4, 2)
        assert any("1 batches in" in one for one in said)
        summary, _ = await vet(server, tmp_path)
        assert (summary.assessed, len(server.batches)) == (12, 2)
