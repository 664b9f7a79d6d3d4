"""The measurements in small: they run, their figures are what they say, and they find out what must not happen."""

import asyncio
import importlib
import json
import subprocess
import sys
import threading
from dataclasses import replace

import httpx2
import pytest
from metajudge.benchmarks.perf import fault_operations, faults, fuzz, table_making, tables
from metajudge.benchmarks.perf.fault_operations import JOB, VET, ItemResult
from metajudge.benchmarks.perf.million import measure, table

from metajudge.agents import ReplyProblemsError
from metajudge.vetting.engine import Engine
from tests.doubles.judgments import judgment


@pytest.fixture
def campaign(tmp_path):
    return faults.Campaign(tmp_path)


@pytest.mark.timeout(300)
@pytest.mark.slow
@pytest.mark.parametrize("fault", ["429", "drop", "truncated_body"])
def test_what_a_second_attempt_cures_changes_no_result(fault, campaign):
    cell = campaign.model_fault(fault, VET)
    assert cell.injected > 0
    assert (cell.equal, cell.cured) == (cell.items, cell.items)
    assert cell.sound


@pytest.mark.timeout(300)
@pytest.mark.slow
@pytest.mark.parametrize("operation", [JOB, fault_operations.JUDGE, fault_operations.BENCH], ids=lambda o: o.name)
def test_a_refusal_is_a_typed_failure_in_every_operation(operation, campaign):
    cell = campaign.model_fault("refusal", operation)
    assert cell.typed > 0
    assert cell.equal + cell.typed == cell.items
    assert cell.sound


@pytest.mark.timeout(300)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "operation", "disturb"), faults.PROCESS_CELLS, ids=lambda one: getattr(one, "name", str(one)[:22])
)
def test_nothing_is_lost_when_processes_and_disks_fail(fault, operation, disturb, campaign):
    cell = campaign.process_fault(fault, operation, disturb)
    assert cell.exits[1] == 0
    first = {
        "kill -9 of the client": -9,
        "Ctrl-C twice": 130,
        "disk full under --out": 1,
        "read-only folder": 2,
        "store locked": 1,
    }
    assert cell.exits[0] == first.get(fault, cell.exits[0])
    assert cell.cured == cell.items
    assert cell.sound


@pytest.mark.timeout(300)
@pytest.mark.slow
def test_a_result_that_changes_without_a_word_is_found_out(campaign, monkeypatch):
    campaign.expected(VET)
    found = VET.outcomes

    def changed(folder):
        outcomes = found(folder)
        name = next(iter(outcomes))
        outcomes[name] = [ItemResult({"final_score": 5}, failed=False)] * 2
        outcomes.popitem()
        return outcomes

    broken = fault_operations.Operation(VET.name, VET.prepare, VET.words, changed)
    cell = campaign.model_fault("500", broken)
    assert (cell.silent, cell.duplicates, cell.lost) == (1, 1, 1)
    assert not cell.sound


def test_no_parser_crashes_or_invents_a_score():
    for name, tally in fuzz.fuzz(3_500, seed=1).items():
        assert tally.read + tally.refused == 500, name
        assert tally.crashes == []
        assert tally.invented == []
        assert tally.read > 20, "some replies stay readable, or reading would not be tested"


def test_no_mutated_table_is_read_wrongly(tmp_path):
    for seed in range(150):
        folder = tmp_path / str(seed)
        folder.mkdir()
        came, said, mutations = tables.outcome(seed, folder)
        assert came != "wrong", (seed, said, mutations)


def test_a_figure_that_differs_is_found_out():
    sheet = table_making.made(tables.Random(3))
    true, found = tables.truth(sheet), tables.truth(sheet)
    judge = next(name for name in true if name)
    found[f"{judge.upper()} (verdict)"] = found.pop(judge)
    assert tables.difference(true, found) == ""
    found[""]["labels"] += 1
    assert "labels" in tables.difference(true, found)
    assert "judges" in tables.difference(true, {**found, "another": found[""]})


def lenient(text):
    """Takes the first number after any name, as a careless parser would."""
    digits = [letter for letter in text if letter in "12345"]
    if not digits:
        raise ReplyProblemsError(["no number"])
    return int(digits[0])


def test_a_parser_that_guesses_is_found_out(monkeypatch):
    honest = fuzz.targets()["grading"]
    guessing = replace(honest, parse=lenient, values=lambda grade: grade)
    monkeypatch.setattr(fuzz, "targets", lambda: {"grading": guessing})
    assert fuzz.fuzz(300, seed=0)["grading"].invented


def test_a_parser_that_crashes_is_found_out(monkeypatch):
    honest = fuzz.targets()["grading"]
    monkeypatch.setattr(fuzz, "targets", lambda: {"grading": replace(honest, parse=json.loads)})
    assert fuzz.fuzz(300, seed=0)["grading"].crashes


@pytest.mark.slow
def test_every_command_is_measured_beside_parsing(tmp_path):
    found = measure(200, 1, tmp_path)
    assert list(found["commands"]) == ["first", "second", "again", "changed", "calibrated", "unsorted"]
    assert all(one["ratio"] > 1 and one["peak_mb"] > 1 for one in found["commands"].values())
    assert {name: one["summary"]["judgments"] for name, one in found["commands"].items()} == {
        **dict.fromkeys(("first", "second", "again", "calibrated", "unsorted"), 200),
        "changed": 202,
    }
    assert len(table(found).splitlines()) == 4 + 6


service = importlib.import_module("metajudge.benchmarks.perf.service")
upstream = importlib.import_module("metajudge.benchmarks.perf.upstream")


@pytest.fixture
def models():
    """The server of models, in a thread: what counts its requests, and its URL."""
    one, port, loop = upstream.Upstream(0.05), service.free_port(), asyncio.new_event_loop()
    serving = loop.create_task(one.serve(port))

    def run():
        try:
            loop.run_until_complete(serving)
        except asyncio.CancelledError:
            loop.run_until_complete(asyncio.sleep(0.1))
            loop.close()

    thread = threading.Thread(target=run)
    thread.start()
    url = f"http://127.0.0.1:{port}"
    for _ in range(200):
        try:
            httpx2.get(f"{url}/stats")
            break
        except httpx2.HTTPError:
            continue
    yield one, url
    loop.call_soon_threadsafe(serving.cancel)
    thread.join()


async def test_the_server_of_models_answers_what_vetting_asks(models):
    one, url = models
    agents = [f"a=openai:m1@{url}/v1", f"b=openai:m2@{url}/v1"]
    async with Engine(agents) as engine:
        found = await engine.vet(judgment())
    assert (found.status, found.final_score) == ("assessed", 5.0)
    assert found.usage.input_tokens > 0
    assert one.requests == 2


def test_quantiles_are_of_accepted_requests_alone():
    answers = service.Answers(seconds=[0.1, 0.2, 0.3], statuses=service.Counter({200: 3, 503: 97}))
    assert answers.quantile(0.99) == 0.3
    assert answers.quantile(0.0) == 0.1
    with pytest.raises(ValueError, match="nothing was accepted"):
        service.Answers(statuses=service.Counter({503: 1})).quantile(0.5)


@pytest.mark.slow
def test_a_short_run_prints_every_figure(tmp_path):
    flags = ["--rate", "5", "--requests", "20", "--memory-requests", "40", "--latency-ms", "20", "--seconds", "1"]
    command = [
        sys.executable,
        "-m",
        "metajudge",
        "bench",
        "perf",
        "service",
        *flags,
        "--json-out",
        str(tmp_path / "out.json"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=110, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "out.json").read_text())
    assert json.loads(done.stdout) == found
    assert found["open_loop"]["statuses"] == {"200": 20}
    assert found["cached"]["per_s"] > 0
    assert found["overload"]["rate"] == 4 * found["overload"]["sustainable_rate"]
    assert found["memory"]["n"] == 40
