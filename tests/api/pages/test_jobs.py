"""Jobs and runs, called as a browser without scripts would."""

import pytest

from tests.api.conftest import panel_of
from tests.api.pages.conftest import key, words
from tests.api.pages.filled_store import SCRIPT
from tests.doubles.judgments import judgment
from tests.doubles.llm_server import LLMServer, score_answer
from tests.doubles.waiting import until

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
    def asked():
        page = visitor.see(f"/jobs/{job_id}")
        return page if f'id="state" class="chip {TONES[state]}">{state}<' in page else None

    return until(asked)


def test_cancelling_takes_the_page_the_scope_and_leaves_results(visit, models, tmp_path):
    visitor = visit(panels={"default": panel_of(models)}, store=tmp_path / "s.duckdb", keys=KEYS)
    job_id = send(visitor, 400, headers={"x-api-key": ("vetter" * 32)[:32]})
    assert visitor.get(f"/jobs/{job_id}").headers["location"].startswith("/login?next=")
    visitor.log_in_as("reader")
    assert visitor.submit(f"/jobs/{job_id}/cancel").status_code == 403
    visitor.log_in_as("vetter")
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
        visitor.log_in_as(name)
        assert job_id not in visitor.see("/jobs")
        if name == "reader":
            assert "Nothing has this text" in visitor.see(f"/search?q={job_id}")
        for path in (f"/jobs/{job_id}", f"/jobs/{job_id}/results.jsonl"):
            assert "there is no job" in words(visitor.see(path, 404))
        visitor.see("/jobs")
        assert visitor.submit(f"/jobs/{job_id}/cancel").status_code == (404 if name == "other" else 403)
        assert "or it was deleted; start again" in words(visitor.see(f"/jobs?before={job_id}", 422))
    visitor.log_in_as("boss")
    assert job_id in visitor.see("/jobs")
    assert f'href="/jobs/{job_id}"' in visitor.see(f"/search?q={job_id[2:9].upper()}")
    assert "Cancel the job" in visitor.see(f"/jobs/{job_id}") or "done" in visitor.see(f"/jobs/{job_id}")
    assert visitor.submit(f"/jobs/{job_id}/cancel").status_code == 303
