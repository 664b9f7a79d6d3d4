"""Store, reviews, webhook, report and batches of a run on Ray, against the same run in one process."""

import asyncio
import dataclasses
import json
import random

import pytest

from metajudge.calibration.fit import fit_calibration
from metajudge.calibration.table import build_table
from metajudge.distributed.folder import ResultsFolder
from metajudge.distributed.options import Judging, RayOptions
from metajudge.distributed.run import vet_on_ray
from metajudge.errors import ConfigurationError
from metajudge.panels.config import PanelConfig
from metajudge.providers.batch_queue import BatchSettings
from metajudge.readers import open_judgments, write_jsonl
from metajudge.reviews.queue import ReviewFilter
from metajudge.runs.loop import RunEnd
from metajudge.store import open_store
from metajudge.vetting.engine import Engine
from metajudge.vetting.report.picture import Picture
from metajudge.vetting.results import Results
from metajudge.webhooks.webhook import Webhook
from tests.doubles.batch_server import BatchServer
from tests.doubles.judgments import judgment
from tests.doubles.llm_server import LLMServer
from tests.doubles.webhook_receiver import Receiver

ray = pytest.importorskip("ray", reason="needs Ray: pip install 'metajudge-vet[ray]'")
pytestmark = [pytest.mark.slow, pytest.mark.timeout(300), pytest.mark.filterwarnings("ignore")]  # Ray warns of its own
SIGNALS = PanelConfig(strategy="signals")
VARYING = ("latency_s", "attempts", "calls", "cached_calls", "cost_usd", "usage")


@pytest.fixture(scope="module")
def cluster():
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    yield
    ray.shutdown()


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "key")


def made(items, first=0):
    rng = random.Random(first)
    for item in range(first, first + items):
        for judge in ("owl", "fox", "cat"):
            for order in (("A", "B"), ("B", "A")):
                name = f"{item}-{judge}-{order[0]}"
                verdict = rng.choice(["A>B", "A>B", "A>>B", "B>A", "A=B"])
                how = {"item_id": f"i{item}", "question": f"What is {item} + 2?", "judge": judge, "order": order}
                yield judgment(name, verdict=verdict, category=f"c{item % 3}", **how)


def plain(value):
    if isinstance(value, dict):
        return {name: plain(inner) for name, inner in value.items() if name not in VARYING}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    return round(value, 9) if isinstance(value, float) else value


def in_store(path):
    """Assessments, reviews, runs, and how many calls and texts a store has."""

    async def read():
        store = await open_store(path)
        try:
            newest = [one for _, one in await store.newest_assessments(limit=10_000)]
            reviews = (await store.reviews.page(ReviewFilter(), now=0.0, limit=10_000)).reviews
            runs = await store.runs()
            counted = "SELECT count(*) FROM {}"
            counts = {
                table: await store.ask(lambda c, table=table: c.execute(counted.format(table)).fetchall()[0][0])
                for table in ("assessments", "annotations", "items", "judgments", "calls")
            }
            return newest, reviews, runs, counts
        finally:
            await store.close()

    newest, reviews, runs, counts = asyncio.run(read())
    by_id = {one.judgment_id: plain(one.model_dump(mode="json")) for one in newest}
    queued = {
        one.review.subject_id: plain(one.review.model_dump(mode="json", exclude={"review_id", "opened_at"}))
        for one in reviews
    }
    return by_id, queued, runs, counts


def one_process(path, store, watcher=None, panel=SIGNALS, **how):
    async def vet():
        async with Engine(panel=panel, store=store, **how) as engine:
            return await engine.vet_all(open_judgments([path]), results=Results(watcher=watcher))

    return asyncio.run(vet())


def seen(picture):
    fields = ("fates", "judges", "evidence", "values", "thresholds")
    both = (picture.doubtful.shown(), sorted(picture.doubtful.wrong.values(), key=lambda one: one.place))
    shown = [(one.assessment.judgment_id, one.blind, one.judgment) for group in both for one in group]
    return {name: getattr(picture, name) for name in fields}, sorted(picture.labelled.values), shown


def test_free_evidence_is_kept_queued_and_shown_as_in_one_process(cluster, tmp_path):
    write_jsonl(tmp_path / "j.jsonl", made(120))
    table = build_table(made(60, first=1_000), ["order", "strength", "peers"], kind="pairwise")
    fitted = fit_calibration(table, repeats=1, folds=2)
    how = {"calibration": fitted, "policy": "verdict", "audit_share": 0.3, "reviewers": 2}
    expected = Picture(sampled=True)
    local = one_process(tmp_path / "j.jsonl", tmp_path / "local.duckdb", expected, **how)
    options = RayOptions(workers=2, store=tmp_path / "ray.duckdb")
    runs = []
    for out in ("out", "again"):
        found = Picture(sampled=True)
        source = open_judgments([tmp_path / "j.jsonl"])
        runs.append(
            vet_on_ray(SIGNALS, source, tmp_path / out, options, Judging(**how), results=Results(watcher=found))
        )
        assert seen(found) == seen(expected)
    (first, again), stored = runs, in_store(tmp_path / "ray.duckdb")
    at_home = in_store(tmp_path / "local.duckdb")
    assert stored[0] == at_home[0]
    assert stored[1] == at_home[1]
    assert stored[3] == at_home[3], "rows, the second run's included: it added none"
    assert first.reviews == local.reviews == len(at_home[1]) > 0
    assert (again.reviews, again.results_known) == (0, 720)
    assert [run.status for run in stored[2]] == ["finished", "finished"]
    assert stored[2][1].summary["judgments"] == 720


def test_agents_results_and_calls_are_kept_and_a_second_run_asks_nothing(cluster, tmp_path):
    write_jsonl(tmp_path / "j.jsonl", (judgment(f"j{i}", verdict="A>B" if i % 3 else "B>A") for i in range(60)))
    store = tmp_path / "ray.duckdb"
    with LLMServer(answer=scored) as server, Receiver(204) as receiver, Receiver(204) as other_receiver:
        panel = PanelConfig(agents=[{"model": f"openai:gpt-4o-mini@{server.url}", "rubric": "baseline"}])
        how = {"policy": "verdict_score", "audit_share": 0.2}
        hook, other_hook = (
            Webhook.at(one.url, "a secret of many characters", allow_private=True) for one in (receiver, other_receiver)
        )
        local = one_process(tmp_path / "j.jsonl", tmp_path / "local.duckdb", panel=panel, webhook=other_hook, **how)
        assert server.count == 60
        options = RayOptions(workers=2, concurrency=8, store=store, webhook=hook)
        source = open_judgments([tmp_path / "j.jsonl"])
        first = vet_on_ray(panel, source, tmp_path / "out", options, Judging(**how))
        assert server.count == 120
        assert events(receiver) == events(other_receiver)
        assert first.webhook == local.webhook
        again = vet_on_ray(panel, source, tmp_path / "other", options, Judging(**how))
        assert server.count == 120, "all of it is in the store"
        other = panel.model_copy(update={"threshold": 3.0})  # another panel that would send the same requests
        third = vet_on_ray(other, source, tmp_path / "third", options, Judging(**how))
        assert server.count == 120, "replies are in the store"
    at_home, stored = in_store(tmp_path / "local.duckdb"), in_store(store)
    assert (first.calls, again.calls, again.reused, third.cached_calls) == (60, 0, 60, 60)
    assert first.known_cost_usd == pytest.approx(local.known_cost_usd)
    assert stored[1] == at_home[1]
    assert stored[3]["calls"] == at_home[3]["calls"] == 60
    assert first.reviews == local.reviews > 0
    results = {
        one.judgment_id: plain(one.model_dump(mode="json"))
        for _, one in ResultsFolder(tmp_path / "other").assessments()
    }
    assert results == at_home[0]


def test_batches_of_all_workers_go_through_one_queue_and_what_is_pending_is_collected(cluster, tmp_path):
    write_jsonl(tmp_path / "j.jsonl", (judgment(f"j{i}", verdict="A>B" if i % 3 else "B>A") for i in range(60)))
    source = open_judgments([tmp_path / "j.jsonl"])
    with BatchServer(answer=scored, polls=10**9) as server:
        panel = PanelConfig(agents=[{"model": f"openai:gpt-4o-mini@{server.url}", "rubric": "baseline"}])
        quick = BatchSettings(
            folder=tmp_path / "batches", wait_s=0, linger_s=0.5, first_poll_s=0.01, longest_poll_s=0.02
        )
        options = RayOptions(workers=2, batch=quick, store=tmp_path / "ray.duckdb")
        left = vet_on_ray(panel, source, tmp_path / "out", options)
        assert left.end is RunEnd.PENDING
        asked = len(server.requests) + len(server.live)
        assert asked == 60
        assert 1 <= len(server.live) <= 2, "the first request of each worker is a probe"
        server.polls = 0
        whole = vet_on_ray(
            panel, source, tmp_path / "out", dataclasses.replace(options, batch=dataclasses.replace(quick, wait_s=None))
        )
        assert len(server.requests) + len(server.live) == asked, "nothing is asked twice"
        assert (whole.end, whole.assessed, list((tmp_path / "batches").glob("*.json"))) == (RunEnd.FINISHED, 60, [])
    with LLMServer(answer=scored) as server:
        live = PanelConfig(agents=[{"model": f"openai:gpt-4o-mini@{server.url}", "rubric": "baseline"}])
        one_process(tmp_path / "j.jsonl", tmp_path / "local.duckdb", panel=live)
    strange = ("panel_digest", "agents")  # they name the server
    drop = lambda one: {name: value for name, value in one.items() if name not in strange}  # noqa: E731
    at_home = {name: drop(one) for name, one in in_store(tmp_path / "local.duckdb")[0].items()}
    assert {name: drop(one) for name, one in in_store(tmp_path / "ray.duckdb")[0].items()} == at_home


def events(receiver):
    """What a receiver was told of, in any order."""
    told = [json.loads(body) for *_, body in receiver.requests]
    return sorted((one["type"], one["data"]["subject_id"]) for one in told)


def scored(body):
    text = json.dumps(body["messages"])
    names = body["response_format"]["json_schema"]["schema"]["required"]
    score = 1 + sum(text.encode()) % 5
    return json.dumps({name: {"explanation": "seen", "score": score} for name in names})


def test_what_needs_a_policy_is_refused_as_in_one_process(tmp_path):
    write_jsonl(tmp_path / "j.jsonl", made(1))
    options, source = RayOptions(store=tmp_path / "s.duckdb"), open_judgments([tmp_path / "j.jsonl"])
    with pytest.raises(ConfigurationError, match="reviews are opened by a policy"):
        vet_on_ray(SIGNALS, source, tmp_path / "out", options, Judging(reviewers=2))
