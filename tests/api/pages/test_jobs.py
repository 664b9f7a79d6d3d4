"""Jobs and runs, called as a browser without scripts would."""

import json
import re
import time

import pytest

from tests.api.conftest import panel_of
from tests.api.pages.conftest import key, words
from tests.api.pages.filled_store import SCRIPT
from tests.doubles.judgments import judgment
from tests.doubles.llm_server import LLMServer, score_answer

KEYS = (key("vetter", "vet"), key("reader", "read"), key("other", "vet", "read"), key("boss", "admin"))


@pytest.fixture
def models():
    """A server of models that answers after a moment."""
    with LLMServer(answer=score_answer(5), latency_s=0.05) as server:
        yield server


def send(visitor, count=3, **options):
    """Sends a batch; the job's id."""
    records = [judgment(id=f"j{n}", judge=f"owl {SCRIPT}").model_dump(mode="json") for n in range(count)]
    answer = visitor.post("/v1/vet/batch", json=records, **options)
    assert answer.status_code == 202, answer.text
    return answer.json()["job_id"]


TONES = {"done": "good", "cancelled": "warn"}


def ended(visitor, job_id, state="done"):
    deadline = time.monotonic() + 20
    while f'id="state" class="chip {TONES[state]}">{state}<' not in (page := visitor.see(f"/jobs/{job_id}")):
        assert time.monotonic() < deadline, words(page)
        time.sleep(0.05)
    return page


def log_in(visitor, name):
    visitor.see("/login")
    assert visitor.submit("/login", {"key": (name * 32)[:32]}).status_code == 303


def test_a_job_to_its_end_and_its_results(visit, models, tmp_path):
    visitor = visit(panels={"default": panel_of(models)}, store=tmp_path / "s.duckdb")
    assert "No jobs yet" in words(visitor.see("/jobs"))
    job_id = send(visitor, 30)
    running = visitor.see(f"/jobs/{job_id}")
    assert 'hx-trigger="every 2s"' in running
    assert 'role="progressbar"' in running
    assert 'aria-valuemax="30"' in running
    part = visitor.get(f"/jobs/{job_id}", headers={"hx-request": "true"}).text
    assert part.lstrip().startswith('<div id="job"')
    done = ended(visitor, job_id)
    assert "hx-trigger" not in done
    assert "30 of 30 judgments, 100 %" in words(done)
    assert "30 assessed" in words(done)
    assert f"/jobs/{job_id}/cancel" not in done
    assert "<script>window" not in done
    (link,) = re.findall(rf'href="(/jobs/{job_id}\?after=\d+)"', done)
    shown = re.findall(r'id="item-(\d+)"', done + visitor.see(link))
    assert sorted(map(int, shown)) == list(range(30)), "the pages skip or repeat a result"
    listed = visitor.see("/jobs")
    assert f"/jobs/{job_id}" in listed
    assert "hx-trigger" not in listed
    file = visitor.get(f"/jobs/{job_id}/results.jsonl")
    assert "attachment" in file.headers["content-disposition"]
    assert [json.loads(line)["item"] for line in file.text.splitlines()] == list(range(30))


def test_a_full_page_leads_on_only_where_there_is_more(visit, models, tmp_path, monkeypatch):
    monkeypatch.setattr("metajudge.api.pages.jobs.ROWS", 3)
    visitor = visit(panels={"default": panel_of(models)}, store=tmp_path / "s.duckdb")
    jobs = [send(visitor, 3) for _ in range(3)]
    for job_id in jobs:
        assert "after=" not in ended(visitor, job_id), "all its results are on the page"
    assert ">Older<" not in visitor.see("/jobs")
    jobs.append(send(visitor, 4))
    assert f'href="/jobs/{jobs[-1]}?after=' in ended(visitor, jobs[-1])
    listed = visitor.see("/jobs")
    assert f'href="/jobs?before={jobs[1]}"' in listed
    assert [f"/jobs/{job_id}" in listed for job_id in jobs] == [False, True, True, True]
    assert f"/jobs/{jobs[0]}" in visitor.see(f"/jobs?before={jobs[1]}")


def test_cancelling_takes_the_page_the_scope_and_leaves_results(visit, models, tmp_path):
    visitor = visit(panels={"default": panel_of(models)}, store=tmp_path / "s.duckdb", keys=KEYS)
    job_id = send(visitor, 400, headers={"x-api-key": ("vetter" * 32)[:32]})
    assert visitor.get(f"/jobs/{job_id}").headers["location"].startswith("/login?next=")
    log_in(visitor, "reader")
    assert visitor.submit(f"/jobs/{job_id}/cancel").status_code == 403
    log_in(visitor, "vetter")
    assert visitor.post(f"/jobs/{job_id}/cancel").status_code == 403, "without the page's token"
    assert "Cancel the job" in visitor.see(f"/jobs/{job_id}")
    assert visitor.submit(f"/jobs/{job_id}/cancel").headers["location"] == f"/jobs/{job_id}"
    page = ended(visitor, job_id, "cancelled")
    assert "the results so far are kept" in words(page)
    visitor.see(f"/jobs/{job_id}")
    assert visitor.submit(f"/jobs/{job_id}/cancel").status_code == 303
    visitor.see(f"/jobs/{job_id}")  # an ended job is not deleted by the page
    log = visitor.portal.call(visitor.app.state.service.engine.store.audit_log.entries, "change", job_id)
    assert [entry.payload["action"] for entry in log if entry.payload["by"] == "vetter"] == ["job.add", "job.cancel"]


def test_a_job_of_another_key_is_not_there(visit, models, tmp_path):
    visitor = visit(panels={"default": panel_of(models)}, store=tmp_path / "s.duckdb", keys=KEYS)
    job_id = send(visitor, 3, headers={"x-api-key": ("vetter" * 32)[:32]})
    for name in ("other", "reader"):
        log_in(visitor, name)
        assert job_id not in visitor.see("/jobs")
        if name == "reader":
            assert "Nothing has this text" in visitor.see(f"/search?q={job_id}")
        for path in (f"/jobs/{job_id}", f"/jobs/{job_id}/results.jsonl"):
            assert "there is no job" in words(visitor.see(path, 404))
        visitor.see("/jobs")
        assert visitor.submit(f"/jobs/{job_id}/cancel").status_code == (404 if name == "other" else 403)
        assert "or it was deleted; start again" in words(visitor.see(f"/jobs?before={job_id}", 422))
    log_in(visitor, "boss")
    assert job_id in visitor.see("/jobs")
    assert f'href="/jobs/{job_id}"' in visitor.see(f"/search?q={job_id[2:9].upper()}")
    assert "Cancel the job" in visitor.see(f"/jobs/{job_id}") or "done" in visitor.see(f"/jobs/{job_id}")
    assert visitor.submit(f"/jobs/{job_id}/cancel").status_code == 303


def test_what_is_not_there_is_said_for_people(visit, tmp_path):
    visitor = visit(store=tmp_path / "s.duckdb")
    assert "there is no job" in words(visitor.see("/jobs/nothing", 404))
    assert visitor.get("/jobs/nothing/results.jsonl").status_code == 404
    assert visitor.submit("/jobs/nothing/cancel").status_code == 404
    assert "there is no run" in words(visitor.see("/runs/nothing", 404))
    visitor.see("/jobs/x?after=-2", 422)
    assert "start again" in words(visitor.see(f"/jobs/{send(visitor, 1)}?after=24", 422)), (
        "a cursor of an earlier version"
    )
    visitor.see("/runs?limit=0", 422)
    assert "start again" in words(visitor.see("/jobs?before=nothing", 422))


def test_runs_with_counts_and_failures(filled):
    visitor = filled(4, cases=False)
    said = words(visitor.see("/runs"))
    assert (
        "vet: A train leaves at 9:40 and arrives at 11:05. **How long** does it take? (0) judge owl-large, run-1"
        in said
    )
    assert "finished 4 4 discarded 0 none $0.0000" in said
    one = words(visitor.see("/runs/run-1"))
    assert '"panel": "default"' in one
    assert "4, 4 discarded show" in one


def test_runs_of_a_store_with_failed_requests(visit, tmp_path):
    from tests.api.pages.dashboard_store import fill_dashboard

    fill_dashboard(tmp_path / "s.duckdb", 4, decided=0)
    said = words(visit(store=tmp_path / "s.duckdb").see("/runs/run-7"))
    assert "rate limited" in said
    assert "Assessments 12," in said


def test_without_a_store_jobs_are_shown_and_runs_say_why_not(visit):
    visitor = visit()
    assert "No jobs yet" in words(visitor.see("/jobs"))
    assert "start it with --store" in words(visitor.see("/runs", 503))
