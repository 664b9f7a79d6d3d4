"""Exports over HTTP of stores of any size: in a process of their own, with nothing left behind however they end."""

import asyncio
import contextlib
import io
import json
import os
import resource
import signal
import subprocess
import threading
import time
import zipfile

import httpx2
import pytest

from metajudge.exports.export_process import COMMAND, Order
from metajudge.store import open_store
from tests.api.service_process import process
from tests.doubles.filled_store import fill
from tests.doubles.postgres_urls import stores_on_postgres
from tests.doubles.waiting import until
from tests.exports.stored import exported_from, filled, vetted
from tests.exports.vetted import assessment, judgment

URL = "/v1/export/preferences"
MEGABYTE = 1024


def rows_in(answer):
    """The rows of the archive's JSON lines."""
    archive = zipfile.ZipFile(io.BytesIO(answer.content))
    names = [name for name in archive.namelist() if name.endswith(".jsonl")]
    return [json.loads(line) for name in names for line in archive.read(name).splitlines()]


def left_behind(folder):
    """What lies in the folders of exports, but for their lock."""
    return [path.name for path in folder.glob("*.exports/*") if path.name != ".lock"]


def memory_kb(pid, kind="VmHWM"):
    """Peak memory of a process."""
    with open(f"/proc/{pid}/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(kind))


def children(pid):
    """The processes that a process started."""
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False)
    return [int(one) for one in found.stdout.split()]


@contextlib.contextmanager
def asking(client, body=None):
    """Asks for an export in a thread; hands out a list that gets the answer, or the error."""
    answers = []

    def ask():
        try:
            answers.append(httpx2.post(f"{client.base_url}{URL}", json=body or {}, timeout=170))
        except httpx2.HTTPError as error:
            answers.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield answers
    finally:
        thread.join(175)


@pytest.fixture(scope="module")
def decided(tmp_path_factory):
    """Item 0 a person rejected, 1 a policy, 2 waits, 3 is fine; 4 stands for two contents."""
    said = [judgment(number) for number in range(5)] + [judgment(4, judge="jay", question="Something else?")]
    actions = ["REVIEW", "REJECT", "REVIEW", None, None, None]
    folder = tmp_path_factory.mktemp("decided")
    filled(folder / "s.duckdb", [(one, vetted(one, action)) for one, action in zip(said, actions, strict=True)],
           [(said[0], ["reject"])])  # fmt: skip
    with process(folder) as (_, client):
        yield client, folder


class TestDecisionsAndFilters:
    @pytest.mark.slow
    def test_a_rejected_verdict_and_an_item_of_two_contents_do_not_reach_the_archive(self, decided):
        client, folder = decided
        answer = client.post(URL, json={"selection": {"rule": "all"}, "format": "jsonl"})
        assert answer.status_code == 200
        assert [row["item_id"] for row in rows_in(answer)] == ["item-3"]
        summary = json.loads(answer.headers["x-export-summary"])
        assert summary["dropped"] == {"people": 1, "policy": 1, "waiting_for_review": 1, "rule": 0}
        assert (summary["conflicting_items"], summary["conflicting_item_ids"]) == (1, ["item-4"])
        assert left_behind(folder) == []

    @pytest.mark.parametrize(
        ("body", "said"),
        [
            ({"filters": {"judges": ["nobody"]}}, "the store has no judge 'nobody': there are jay, owl"),
            ({"filters": {"since": "2100-01-01"}}, "none of the 6 vetted judgments of the store meets every filter"),
            ({"filters": {"since": "soon"}}, "filters.since: no date such as"),
            ({"filters": {"decisions": ["MAYBE"]}}, "filters.decisions.0: "),
            ({"filters": {"since": "2026-02-01", "until": "2026-01-01"}}, "no judgment can match"),
            ({"filters": {"city": ["x"]}}, "filters.city: "),
            ({"format": "paper"}, "format: "),
            ({"judgments": "/etc/passwd"}, "judgments: "),
            ({"shard_rows": 10**20}, "shard_rows: "),
            ({"seed": 10**20}, "seed: "),
            ({"conflicts": "refuse"}, "stand for two different contents"),
            ({"filters": {"decisions": ["REVIEW"]}}, "waiting for review"),
        ],
    )
    def test_what_cannot_be_is_422_and_leaves_nothing(self, decided, body, said):
        client, folder = decided
        answer = client.post(URL, json=body)
        assert (answer.status_code, said in answer.json()["detail"]) == (422, True), answer.text
        assert str(folder) not in answer.text
        assert left_behind(folder) == []


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_hundred_thousand_judgments_neither_fail_nor_stop_nor_swell_the_service(tmp_path):
    fill(tmp_path / "s.duckdb", 100_000)
    with process(tmp_path) as (one, client):
        before = memory_kb(one.pid)
        most, slowest = 0, 0.0
        with asking(client) as answers:
            while not answers:
                started = time.monotonic()
                assert client.get("/version").status_code == 200
                slowest = max(slowest, time.monotonic() - started)
                for child in children(one.pid):
                    with contextlib.suppress(OSError, StopIteration):
                        most = max(most, memory_kb(child))
                time.sleep(0.05)
        assert answers[0].status_code == 200, answers[0].text[:500]
        assert json.loads(answers[0].headers["x-export-summary"])["rows"] == {"train": 100_000}
        grown = memory_kb(one.pid) - before
    print(f"service grew by {grown} kB, export process {most} kB, slowest answer meanwhile {slowest:.2f} s")
    assert grown < 175 * MEGABYTE
    assert 0 < most < 700 * MEGABYTE
    assert slowest < 10
    assert left_behind(tmp_path) == []


async def with_facts(path):
    """Adds the facts that a service would add to the store beside the export."""
    store = await open_store(path)
    await store.line_facts.add_missing()
    await store.close()


@pytest.mark.slow
@pytest.mark.parametrize("limit", [4_000, 60_000])
def test_a_full_disk_is_507_in_words_and_the_next_try_succeeds(tmp_path, limit):
    """The kernel refuses to let a file of the service or of its export process grow, as a full disk would."""
    said = [judgment(number) for number in range(600)]
    filled(tmp_path / "s.duckdb", [(one, assessment(one)) for one in said])
    asyncio.run(with_facts(tmp_path / "s.duckdb"))
    with process(tmp_path) as (one, client):
        resource.prlimit(one.pid, resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
        answer = client.post(URL, json={})
        assert answer.status_code == 507, answer.text
        assert "the disk for exports is full" in answer.json()["detail"]
        assert left_behind(tmp_path) == []
        resource.prlimit(one.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        assert client.post(URL, json={}).status_code == 200


@pytest.mark.slow
class TestInterrupted:
    @pytest.fixture
    def store(self, tmp_path):
        fill(tmp_path / "s.duckdb", 10_000)
        return tmp_path

    @pytest.mark.parametrize("killed", [signal.SIGKILL, signal.SIGTERM])
    def test_a_service_that_is_killed_leaves_no_export_and_no_process(self, store, killed):
        with process(store) as (one, client), asking(client):
            (child,) = until(lambda: children(one.pid))
            os.kill(one.pid, killed)
            one.wait(60)
        until(lambda: not os.path.exists(f"/proc/{child}"))
        until(lambda: not left_behind(store))
        assert left_behind(store) == []

    def test_what_two_kills_left_behind_goes_with_the_next_start(self, store):
        with process(store) as (one, client), asking(client):
            (child,) = until(lambda: children(one.pid))
            os.kill(child, signal.SIGSTOP)
            os.kill(one.pid, signal.SIGKILL)
            os.kill(child, signal.SIGKILL)
            one.wait(60)
        assert len(left_behind(store)) == 1
        with process(store) as (_, client):
            assert left_behind(store) == []
            assert client.post(URL, json={}).status_code == 200

    def test_a_caller_who_goes_away_ends_the_export(self, store):
        with process(store) as (one, client):
            with pytest.raises(httpx2.TimeoutException):
                httpx2.post(f"{client.base_url}{URL}", json={}, timeout=0.5)
            until(lambda: not children(one.pid) and not left_behind(store))
            assert client.post(URL, json={}, timeout=100).status_code == 200

    def test_an_export_process_that_dies_is_an_error_and_not_an_empty_archive(self, store):
        with process(store) as (one, client):
            with asking(client) as answers:
                (child,) = until(lambda: children(one.pid))
                os.kill(child, signal.SIGKILL)
            assert answers[0].status_code == 500
            assert left_behind(store) == []
            assert client.post(URL, json={}, timeout=100).status_code == 200

    def test_exports_take_turns(self, store):
        with process(store) as (one, client):
            most = 0
            with asking(client) as first, asking(client) as second:
                while not (first and second):
                    most = max(most, len(children(one.pid)))
                    time.sleep(0.01)
            assert [first[0].status_code, second[0].status_code] == [200, 200]
            assert most == 1


@pytest.mark.slow
def test_ten_long_texts_end_no_export(tmp_path):
    long = [f"{number} says: " + f"{number:07} words, " * 90_000 + "done." for number in range(20)]
    said = [
        *(judgment(number) for number in range(40)),
        *(judgment(100 + at, responses={"A": long[2 * at], "B": long[2 * at + 1]}) for at in range(10)),
    ]
    filled(tmp_path / "s.duckdb", [(one, vetted(one)) for one in said])
    with process(tmp_path) as (_, client):
        answer = client.post(URL, json={"filters": {"since": "2100-01-01"}}, timeout=100)
        assert (answer.status_code, "meets every filter" in answer.text) == (422, True)
        answer = client.post(URL, json={"format": "jsonl", "dedupe": False}, timeout=170)
        assert answer.status_code == 200, answer.text
    rows = {row["item_id"]: row for row in rows_in(answer)}
    assert rows.keys() == {item.item.id for item in said}
    assert [rows[f"item-{100 + at}"]["chosen"] for at in range(10)] == long[::2]


@pytest.mark.parametrize("told", [True, False])
def test_the_export_process_ends_with_whoever_asked_for_it(tmp_path, told):
    """Also where they were killed before they said what is wanted."""
    folder = tmp_path / "work"
    folder.mkdir()
    one = subprocess.Popen(
        [*COMMAND, folder], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    if told:
        one.stdin.write(Order(request={}, folder=folder, store="s.db").model_dump_json().encode() + b"\n")
    one.stdin.close()
    one.wait(60)
    assert not folder.exists()


@pytest.mark.slow
class TestPostgres:
    @pytest.fixture
    def url(self):
        with stores_on_postgres() as make:
            yield make()

    def test_a_service_on_postgresql_exports_what_the_command_line_exports(self, url, tmp_path):
        said = [judgment(number) for number in range(3)]
        filled(url, [(one, vetted(one, action)) for one, action in zip(said, ["REVIEW", "REJECT", None], strict=True)],
               [(said[0], ["B>A"])])  # fmt: skip
        result, rows = exported_from(url, tmp_path / "d")
        assert {item: row["kept_by"] for item, row in rows.items()} == {"item-0": "people_corrected", "item-2": "rule"}
        with process(tmp_path, "--store", url) as (_, client):
            answer = client.post(URL, json={"format": "jsonl"}, timeout=100)
            assert answer.status_code == 200, answer.text
        assert {row["item_id"] for row in rows_in(answer)} == set(rows)
        assert json.loads(answer.headers["x-export-summary"])["kept"] == result.stats["decisions"]["kept"]
        assert left_behind(tmp_path) == []
