"""Vetting on Ray Data gives what one process gives; a killed worker loses and doubles nothing."""

import asyncio
import json
import os
import pickle
import random
import re
import signal
import subprocess
import sys
import zlib
from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import AsyncMock

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from metajudge.calibration.agent_scores import AgentScores
from metajudge.calibration.fit import fit_calibration
from metajudge.calibration.table import build_table
from metajudge.errors import BudgetExceeded, ConfigurationError, InputError, StoreError, WorkerError
from metajudge.providers.budget import Amount
from metajudge.reading import open_judgments
from metajudge.store import open_store
from metajudge.strategies import StrategyName
from metajudge.types import Assessment, Judgment
from metajudge.types.location import store_location
from metajudge.vetting import on_ray
from metajudge.vetting.engine import Engine
from metajudge.vetting.on_ray import RayEngine, StoredBudget, vet_block
from metajudge.webhooks.webhook import Webhook
from tests.doubles.crowds import crowd
from tests.doubles.graders import graded
from tests.doubles.judgments import judgment
from tests.doubles.llm_server import LLMServer, score_answer
from tests.doubles.postgres_urls import stores_on_postgres
from tests.doubles.waiting import until
from tests.doubles.webhook_receiver import Receiver

SETS = ("judgebench", "llmbar", "mtbench", "realmistake", "themis_rewardbench2")
OF_A_RUN = ("run_id", "total_s", "wall_s", "out", "store")


@pytest.fixture
def postgres():
    with stores_on_postgres() as make:
        yield make


def judgments(items: int, *, judges: int = 3) -> list[Judgment]:
    """Pairs in both orders by several judges, each a prompt of its own, in random order: items lie across blocks."""
    rng = random.Random(5)
    found = [
        judgment(
            f"i{item}-j{judge}-{order[0]}",
            item_id=f"i{item}",
            question=f"What is {item} + 2?",
            judge=f"judge-{judge}",
            rationale=f"Assistant A adds correctly, says judge {judge} of {item} shown {order[0]} first.",
            verdict=rng.choice(["A>B", "A>B", "B>A"]),
            order=order,
        )
        for item in range(items)
        for judge in range(judges)
        for order in (("A", "B"), ("B", "A"))
    ]
    rng.shuffle(found)
    return found


def written(folder: Path, records: list[Judgment]) -> Path:
    path = folder / "judgments.jsonl"
    path.write_text("".join(one.model_dump_json() + "\n" for one in records))
    return path


class TestWithoutRay:
    def test_its_absence_is_told_with_the_command_that_installs_it(self, run, tmp_path, monkeypatch):
        monkeypatch.setitem(sys.modules, "ray", None)
        with pytest.raises(ConfigurationError, match=r"--engine ray needs Ray: pip install .*\[ray\]"):
            run("vet", written(tmp_path, judgments(2)), "--engine", "ray")

    @pytest.mark.parametrize(
        ("options", "told"),
        [
            (["--workers", 2], "--workers needs --engine ray"),
            (["--engine", "ray"], "works over PostgreSQL: give --store postgresql://"),
            (["--engine", "ray", "--store", "postgresql://u@h/d", "--batch"], "leave out --batch"),
            (
                ["--engine", "ray", "--store", "postgresql://u@h/d", "--budget-file", "b.json", "--budget-calls", 3],
                "leave out --budget-file",
            ),
        ],
    )
    def test_options_that_do_not_go_together(self, run, tmp_path, monkeypatch, options, told):
        monkeypatch.setitem(sys.modules, "ray", SimpleNamespace())
        with pytest.raises(ConfigurationError, match=told):
            run("vet", written(tmp_path, judgments(2)), *options)

    def test_models_are_named(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "ray", SimpleNamespace())
        with pytest.raises(ConfigurationError, match="name them as PROVIDER:MODEL"):
            RayEngine(agents=[SimpleNamespace(name="own")], store=store_location("postgresql://u@h/d"))

    def test_what_lies_at_an_address_is_read_and_written_as_files_are(self, run, tmp_path):
        folder = tmp_path / "verdicts"
        folder.mkdir()
        rows = [one.model_dump(mode="json") for one in judgments(20)]
        for number, some in enumerate((rows[:50], rows[50:])):
            table = [{k: v for k, v in one.items() if v} | {"item": json.dumps(one["item"])} for one in some]
            parquet.write_table(pa.Table.from_pylist(table), folder / f"part-{number}.parquet")
        assert run("vet", folder, "--store", "a.db", "--out", "a.jsonl").exit_code == 0
        assert run("vet", f"file://{folder}", "--store", "b.db", "--out", f"file://{tmp_path}/b.jsonl").exit_code == 0
        assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()

    def test_an_address_that_cannot_be_reached_is_told(self, run):
        with pytest.raises(InputError, match="nowhere://x cannot be copied"):
            run("vet", "nowhere://x", "--store", "a.db")


@pytest.fixture
def in_process(monkeypatch):
    """Blocks in this process, in place of Ray's workers: from rows in random order, brought together by block."""
    blocks_of = Counter()

    def mapped(plan, vetting, table, workers):
        rows = pa.concat_tables(on_ray.sent(plan, vetting, table, workers))
        rows = rows.take(np.random.default_rng(3).permutation(len(rows)))
        for share in np.unique(rows["share"]).tolist():
            own = rows.filter(pa.compute.equal(rows["share"], share))
            blocks_of.update({table.facts.items[table.facts.item[row]].id for row in own["row"].to_pylist()})
            yield from map(pickle.loads, vet_block(own, pickle.loads(pickle.dumps(plan)))["done"].to_pylist())

    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace(shutdown=lambda: None))
    monkeypatch.setattr(on_ray, "_mapped", mapped)
    return blocks_of


async def vetted(engine, path):
    """Results in order, what the store has, and the summary."""
    found = []
    async with engine:
        summary = await engine.vet_all(
            open_judgments([path]), on_result=lambda place, _judgment, one: found.append((place, one.model_dump_json()))
        )
        stored = await engine.store.ask(
            lambda one: one.execute("SELECT key, judgment_id, payload FROM assessments").fetchall()
        )
    return sorted(found), sorted(map(repr, stored)), summary


def answer_of_its_own(body) -> str:
    """Scores that follow from the request alone."""
    return score_answer(1 + zlib.crc32(json.dumps(body["messages"]).encode()) % 5)(body)


async def same(postgres, path, **given):
    """Vets in one process and in blocks; the results are the same, and are returned."""
    expected, kept, summary = await vetted(Engine(store=store_location(postgres()), **given), path)
    found, kept_by_blocks, of_blocks = await vetted(RayEngine(store=store_location(postgres()), **given), path)
    assert [plain(one) for _, one in found] == [plain(one) for _, one in expected]
    assert len(kept_by_blocks) == len(kept)
    assert plain(json.dumps(of_blocks.to_json())) == plain(json.dumps(summary.to_json()))
    return expected


def plain(text: str) -> object:
    """JSON without what differs from run to run."""
    found = re.sub(r'"(latency_s|wall_s|total_s)": ?(null|[0-9.e-]+)', r'"\1":0', text)
    return json.loads(re.sub(r'"run_id": ?"[^"]*"', '"run_id":""', found))


class TestBlocks:
    @pytest.mark.parametrize("records", [judgments(60), graded(60)], ids=["pairs", "grades"])
    async def test_whole_items_are_vetted_as_in_one_process(self, postgres, in_process, tmp_path, monkeypatch, records):
        # What model is behind two judges, only one item says.
        of_model = {"meta": {"judge_model": "one"}}
        records = [
            one.model_copy(update=of_model) if one.item.id[1:] == "7" and one.judge not in ("judge-2", "jay") else one
            for one in records
        ]
        path = written(tmp_path, records)
        monkeypatch.setattr(on_ray, "WEIGHED_AT_ONCE", 50)
        found, kept, summary = await vetted(RayEngine(store=store_location(postgres())), path)
        assert set(in_process.values()) == {1}, "an item lies in two blocks: its evidence is not whole"
        assert len(in_process) == 60
        expected, kept_locally, of_one = await vetted(Engine(store=store_location(postgres())), path)
        assert found == expected
        assert kept == kept_locally
        assert {**summary.to_json(), "run_id": ""} == {**of_one.to_json(), "run_id": ""}

    @pytest.mark.parametrize("strategy", [*StrategyName])
    async def test_every_strategy_with_a_policy_and_its_reviews(self, postgres, in_process, tmp_path, strategy):
        path = written(tmp_path, judgments(12))
        with LLMServer(answer=answer_of_its_own) as server:
            agents = [] if strategy is StrategyName.SIGNALS else [f"openai:m{one}@{server.url}" for one in range(3)]
            agents = agents[:1] if strategy is StrategyName.SINGLE else agents
            given = {"policy": "verdict_score", "audit_share": 0.5, "strategy": strategy.value}
            await same(postgres, path, agents=agents, **given)

    @pytest.mark.parametrize("signals", [["order", "strength", "peers"], ["strength", "agents"]])
    async def test_a_calibration_fitted_on_free_evidence_or_on_agents_scores(
        self, postgres, in_process, tmp_path, signals
    ):
        path = written(tmp_path, crowd(40))
        with LLMServer(answer=answer_of_its_own) as server:
            agents = [f"a=openai:m@{server.url}"] if "agents" in signals else []
            given = {"agents": agents}
            found, _, _ = await vetted(Engine(store=tmp_path / "fit.db", **given), path)
            scores = AgentScores.from_assessments([Assessment.model_validate_json(one) for _, one in found])
            table = build_table(crowd(40), signals, agent_scores=scores if agents else None)
            expected = await same(postgres, path, calibration=fit_calibration(table, repeats=1), **given)
        assert any('"probability":0' in one for _, one in expected)

    async def test_a_receiver_gets_what_the_policy_decides(self, postgres, in_process, tmp_path, monkeypatch):
        path, fitted = written(tmp_path, crowd(8)), fit_calibration(build_table(crowd(40), ["peers"]), repeats=1)
        given = {"policy": "verdict", "calibration": fitted}
        with Receiver() as local, Receiver() as ray:
            for receiver, engine in ((local, Engine), (ray, RayEngine)):
                hook = Webhook.at(receiver.url, "s" * 32, allow_private=True)
                await vetted(engine(store=store_location(postgres()), webhook=hook, **given), path)
        assert len(ray.requests) == len(local.requests) > 0

    async def test_a_failure_of_a_block_is_an_error_with_its_type_and_its_place(
        self, postgres, in_process, tmp_path, monkeypatch
    ):
        def broken(*_arguments, **_options):
            raise ZeroDivisionError("a fault of ours")

        monkeypatch.setattr(on_ray, "outcomes_of", broken)
        with pytest.raises(WorkerError, match="failed in a worker of Ray: ZeroDivisionError: a fault of ours") as found:
            await vetted(RayEngine(store=store_location(postgres())), written(tmp_path, judgments(5)))
        assert "in broken" in found.value.__notes__[0]
        assert in_process


class TestTheBudgetOfManyWorkers:
    @staticmethod
    async def of_block(store, block, calls=3):
        plan = SimpleNamespace(limits={"calls": calls}, run_id="x")
        budget = StoredBudget(plan, store.limits, block)
        return budget, await budget.begin()

    @pytest.fixture
    async def store(self, tmp_path):
        store = await open_store(tmp_path / "b.db")
        yield store
        await store.close()

    async def test_it_holds_for_all_blocks_together(self, store):
        (one, _), (other, _) = await self.of_block(store, "1"), await self.of_block(store, "2")
        for budget in (one, other, one):
            await budget.reserve(Amount(calls=1))
            budget.settle(Amount(calls=1), Amount(calls=1))
            await asyncio.gather(*budget._settling)
        with pytest.raises(BudgetExceeded, match="3 of 3 calls are made"):
            await other.reserve(Amount(calls=1))

    async def test_what_a_call_took_is_never_lost_without_a_word(self, store, monkeypatch):
        budget, _ = await self.of_block(store, "1")
        await budget.reserve(Amount(calls=1))
        monkeypatch.setattr(budget, "_change", AsyncMock(side_effect=StoreError("the database is gone")))
        budget.settle(Amount(calls=1), Amount(calls=1))
        await asyncio.sleep(0.01)
        with pytest.raises(StoreError, match="the database is gone"):
            await budget.end()

    async def test_what_others_have_set_aside_is_waited_for(self, store):
        (one, _), (other, _) = await self.of_block(store, "1", 1), await self.of_block(store, "2", 1)
        await one.reserve(Amount(calls=1))
        waiting = asyncio.ensure_future(other.reserve(Amount(calls=1)))
        await asyncio.sleep(0.1)
        assert not waiting.done()
        one.settle(Amount(calls=1), Amount())
        await asyncio.wait_for(waiting, 5)
        await one.end()

    async def test_what_a_killed_worker_had_set_aside_is_spent_when_its_block_begins_again(self, store):
        killed, begun_before = await self.of_block(store, "1")
        assert not begun_before
        await killed.reserve(Amount(calls=2))
        again, begun_before = await self.of_block(store, "1")
        assert begun_before
        await again.reserve(Amount(calls=1))
        with pytest.raises(BudgetExceeded, match="2 of 3 calls are made"):
            await again.reserve(Amount(calls=2))
        again.settle(Amount(calls=1), Amount(calls=1))
        await again.end()
        assert not (await self.of_block(store, "1"))[1]


@contextmanager
def started(folder: Path, *options):
    """``metajudge vet judgments.jsonl OPTIONS...`` in a process of its own."""
    command = [sys.executable, "-m", "metajudge", "vet", "--json", *map(str, options)]
    environment = {**os.environ, "OPENAI_API_KEY": "none", "XDG_CONFIG_HOME": str(folder / "config")}
    process = subprocess.Popen(command, cwd=folder, env=environment, stdout=-1, stderr=-1, text=True)
    try:
        yield process
    finally:
        process.kill()


def vet(folder: Path, *options, ended=(0, 1)) -> subprocess.CompletedProcess:
    with started(folder, *options) as process:
        out, err = process.communicate(timeout=300)
    assert process.returncode in ended, err
    return subprocess.CompletedProcess(options, process.returncode, out, err)


def counts(output: str) -> dict:
    return {name: value for name, value in json.loads(output).items() if name not in OF_A_RUN}


def decided(path: Path) -> list[tuple]:
    """What was decided on each judgment, in the order of the file."""
    found = map(json.loads, path.read_text().splitlines())
    return [(one["judgment_id"], one["status"], one["accepted"], one["final_score"]) for one in found]


def workers_under(process: int) -> list[int]:
    """The processes in which Ray vets a block now, below a process."""
    parents, found = {}, []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            if b"vet_block" in (folder / "cmdline").read_bytes():
                found.append(int(folder.name))
        except OSError:
            continue

    def is_below(one):
        while one in parents and one != process:
            one = parents[one]
        return one == process

    return [one for one in found if is_below(one)]


@pytest.mark.slow
@pytest.mark.timeout(600)
class TestOnRay:
    RAY = ("judgments.jsonl", "--engine", "ray", "--workers", 2)

    @pytest.fixture(autouse=True)
    def ray(self):
        pytest.importorskip("ray", reason="extra ray is not installed")

    @pytest.mark.parametrize("calibration", [None, "shipped"])
    @pytest.mark.parametrize("name", SETS)
    def test_recorded_judgments_get_what_one_process_gives_them(self, postgres, tmp_path, name, calibration):
        if "METAJUDGE_DATA" not in os.environ:
            pytest.skip("METAJUDGE_DATA is not set: it names the folder of recorded judgments")
        given = [Path(os.environ["METAJUDGE_DATA"], name), "--limit", 2000]
        given += ["--calibration", calibration] if calibration else []
        local = vet(tmp_path, *given, "--store", postgres(), "--out", "a.jsonl")
        ray = vet(tmp_path, *given, "--store", postgres(), "--out", "b.jsonl", "--engine", "ray")
        assert counts(ray.stdout) == counts(local.stdout)
        assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()

    def test_a_panel_asks_each_question_once_and_no_more_than_the_budget(self, postgres, tmp_path):
        written(tmp_path, judgments(60))
        with LLMServer(latency_s=0.01) as server:
            agent = ("--agent", f"openai:m@{server.url}")
            vet(tmp_path, "judgments.jsonl", *agent, "--store", "a.db", "--out", "a.jsonl")
            asked = server.count
            ray = (*self.RAY, *agent, "--store", postgres(), "--out", "b.jsonl")
            vet(tmp_path, *ray, "--budget-calls", 100, ended=(3,))
            assert server.count - asked == 100
            rest = vet(tmp_path, *ray)
            assert server.count == 2 * asked
            assert counts(rest.stdout)["calls"] == asked - 100
        assert decided(tmp_path / "a.jsonl") == decided(tmp_path / "b.jsonl")

    def test_a_killed_worker_loses_and_doubles_nothing(self, postgres, tmp_path):
        records, in_flight = judgments(150), 16
        written(tmp_path, records)
        with LLMServer(latency_s=0.1) as server, stored_in(store := postgres()) as rows:
            options = ("--agent", f"openai:m@{server.url}", "--store", store, "--out", "b.jsonl")
            with started(tmp_path, *self.RAY, *options, "--concurrency", in_flight) as process:
                until(lambda: server.count >= 200 or process.poll() is not None, "models are asked", 120)
                os.kill(workers_under(process.pid)[0], signal.SIGKILL)
                out, err = process.communicate(timeout=300)
            assert process.returncode == 0, err
            bodies = Counter(json.dumps(one, sort_keys=True) for one in server.bodies)
            assert len(bodies) == len(records)
            paid_before = rows("SELECT count(*) FROM calls WHERE status = 'ok'")
            assert paid_before == [(len(records),)], "what was answered and kept is asked again"
            assert sum(bodies.values()) - len(bodies) <= in_flight
            assert rows("SELECT count(*), count(DISTINCT key) FROM assessments") == [(len(records),) * 2]
        assert [one[0] for one in decided(tmp_path / "b.jsonl")] == [one.id for one in records]
        told = counts(out)
        assert told["assessed"] == len(records)
        assert told["cost_usd"] is None
        assert [one for one in told["notices"] if one.startswith("a worker was killed")]

    def test_workers_that_are_killed_again_and_again_end_in_an_error_with_a_type(self, postgres, tmp_path):
        written(tmp_path, judgments(40))
        with LLMServer(latency_s=1.0) as server:
            options = ("--agent", f"openai:m@{server.url}", "--store", postgres(), "--concurrency", 4)
            with started(tmp_path, *self.RAY, *options) as process:
                asked = 0
                while process.poll() is None:
                    until(lambda: server.count > asked or process.poll() is not None, "models are asked", 120)  # noqa: B023
                    asked = server.count
                    for worker in workers_under(process.pid):
                        os.kill(worker, signal.SIGKILL)
                _, err = process.communicate(timeout=60)
        assert process.returncode == 1, err
        assert "metajudge: Ray gave up: " in err
        assert "Traceback" not in err

    def test_an_interruption_keeps_what_is_done(self, postgres, tmp_path):
        records = judgments(150)
        written(tmp_path, records)
        with LLMServer(latency_s=0.1) as server:
            options = (*self.RAY, "--agent", f"openai:m@{server.url}", "--store", postgres(), "--concurrency", 8)
            with started(tmp_path, *options) as process:
                until(lambda: server.count >= 300 or process.poll() is not None, "models are asked", 120)
                process.send_signal(signal.SIGINT)
                _, err = process.communicate(timeout=90)
            assert process.returncode == 130, err
            assert "Traceback" not in err
            assert server.count < len(records)
            vet(tmp_path, *options)
            assert server.count == len(records), "calls in flight were lost"


@contextmanager
def stored_in(url: str):
    """Gives the rows of queries to a store."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        yield lambda query: connection.execute(query).fetchall()
