"""What holds on every page: judged text stays text, forgotten texts are said to be gone, wrong addresses are told."""

import importlib
import re

import pytest

from tests.api.pages.conftest import words
from tests.api.pages.filled_store import SCRIPT, made_clash
from tests.api.pages.test_clash import add, document

authorization = importlib.import_module("metajudge.api.authorization")


def pages_of(visitor):
    """Every page of a service that can be opened, by its address."""
    found, waiting = {}, [route.split()[1] for route in authorization.ROUTES if route.startswith("GET /")]
    waiting = [path for path in waiting if not path.startswith(("/v1", "/static", "/docs")) and "{" not in path]
    while waiting:
        path = waiting.pop()
        if path in found:
            continue
        answer = visitor.get(path)
        if answer.headers.get("content-type", "").startswith("text/html"):
            found[path] = answer.text
            links = re.findall(r'href="(/(?:assessments/\d+|reviews/\w+|clash/\w+|jobs/\w+|runs/[\w-]+))"', answer.text)
            waiting += links
    return found


def test_scripts_in_judged_texts_names_and_notes_stay_text(filled):
    visitor = filled(4, hostile=True, name=f"Ada {SCRIPT}")
    add(visitor, document(made_clash("q3", hostile=True)))
    for one in visitor.reviews[:2]:
        visitor.see(f"/reviews/{one}")
        visitor.decide(one, outcome="approve", reason=f"note {SCRIPT}")
    found = {}
    for plain in ("true", "false"):
        visitor.see("/reviews")
        visitor.submit("/preferences", {"plain": plain})
        found |= {f"{path} {plain}": text for path, text in pages_of(visitor).items()}
    for path in ("/reviews?judge=", "/assessments?judge=", "/search?q=", "/dashboard?days=0&judge=", "/reviews/"):
        found[path] = visitor.get(f"{path}{SCRIPT.replace('/', '')}").text
    kinds = {path.partition(" ")[0].split("/")[1].partition("?")[0] for path in found}
    assert {"assessments", "reviews", "clash", "runs", "dashboard", "outcomes", "audit-log"} <= kinds
    assert sum("&lt;script&gt;" in text for text in found.values()) > 10
    for path, text in found.items():
        for bad in ("<script>window", "<svg onload", "<style", 'href="javascript', 'src="data:'):
            assert bad not in text, path
        assert not re.search(r"<img(?! src=.?/static)", text), path


def test_forgotten_texts_are_said_to_be_gone_and_reviews_of_them_are_left(filled):
    visitor = filled(2, cases=False)
    review = add(visitor, document(made_clash())).headers["location"]
    store = visitor.app.state.service.engine.store
    for item in ("item-0", "item-1", "q1"):
        visitor.portal.call(store.forget, item)
    for path in ("/assessments/1", f"/reviews/{visitor.reviews[0]}", review):
        said = words(visitor.see(path))
        assert "deleted" in said, path
        assert "A train leaves" not in said
        assert "capital of France" not in said


@pytest.mark.parametrize(
    ("status", "paths"),
    [
        (404, "/assessments/99 /assessments/0 /jobs/nothing /jobs/nothing/results.jsonl /runs/nothing /reviews/nope"),
        (404, "/reviews/<script> /clash/nothing /proposals/nothing /policies/nothing"),
        (
            422,
            "/assessments/x /assessments/-1 /assessments?outcome=x /assessments?since=yesterday /assessments?before=-1",
        ),
        (422, "/dashboard?keep=nan /dashboard?days=3 /dashboard?basis=luck /runs?limit=0 /jobs?before=nothing"),
    ],
)
def test_an_address_that_means_nothing_is_told_for_people(filled, status, paths):
    visitor = filled(1)
    for path in paths.split():
        answer = visitor.get(path)
        assert (answer.status_code, answer.headers["content-type"][:9]) == (status, "text/html"), path
        assert "<svg" not in answer.text
