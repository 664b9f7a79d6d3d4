"""The start page: what waits, what changed, what is broken, what it cost."""

import shutil

import pytest

from tests.api.pages.conftest import key, words
from tests.api.pages.eventful_store import fill_eventful


@pytest.fixture(scope="session")
def eventful(tmp_path_factory):
    path = tmp_path_factory.mktemp("eventful") / "s.duckdb"
    fill_eventful(path)
    return path


@pytest.fixture
def visitor(visit, eventful, tmp_path):
    """Somebody named Ada who visits a service over a store in which a lot happened."""
    shutil.copy(eventful, tmp_path / "s.duckdb")
    found = visit(store=tmp_path / "s.duckdb")
    found.see("/login", 303)
    found.see("/reviews")
    found.submit("/preferences", {"reviewer": "Ada"})
    return found


def test_everything_at_a_glance(visitor):
    said = words(visitor.see("/"))
    for part in (
        "6 reviews wait for a decision",
        "Review the next one",
        "run failed vet: A train leaves",
        "fox-2: 2 of 6 requests failed in the last 24 hours",
        "receiver hooks.example: 1 event tried in vain and sent again, 0 given up : it answered 500",
        "Proposal for policy verdict_score: approve from a score of 4.7, not 4.5",
        "Proposal for policy verdict_score, refused by its test: approve",
        "alarm The promised precision of 90 % is broken (promise-7)",
        "$0.0400 today (UTC)",
        "bear-1 1 not known",
    ):
        assert part in said, part


def test_the_oldest_is_named_by_what_is_to_be_read(visitor):
    assert '">Yields fall by a tenth.' in visitor.see("/") or '">a drought</a>' in visitor.see("/")


def test_priorities_are_counted_where_nothing_is_decided_blind(visitor, monkeypatch):
    async def nothing(*_):
        return frozenset()

    monkeypatch.setattr("metajudge.api.pages.start.hidden_subjects", nothing)
    assert "2 to be reviewed first 4 to be reviewed" in words(visitor.see("/"))


@pytest.mark.parametrize("blind", ["true", "false"], ids=["blind mode", "a clash is decided blind"])
def test_who_decides_blind_sees_no_priority(visitor, blind):
    visitor.submit("/preferences", {"blind": blind})
    said = words(visitor.see("/"))
    assert "6 reviews wait" in said
    for hidden in ("reviewed first", "4 to be", "owl-large", "clash panel", "REVIEW", "bear-1 says"):
        assert hidden not in said, hidden


def test_an_empty_store_says_what_to_do(visit, tmp_path):
    said = words(visit(store=tmp_path / "e.duckdb").see("/"))
    assert "No review waits for you." in said
    assert "Nothing is known to be broken" in said
    assert "No request to a model" in said


def test_without_a_store_it_says_how_to_get_one(visit):
    said = words(visit().see("/"))
    assert "metajudge serve --store" in said


def test_a_key_that_may_only_vet_sees_its_jobs_and_nothing_of_the_store(visit, tmp_path, eventful):
    shutil.copy(eventful, tmp_path / "s.duckdb")
    said = words(visit(store=tmp_path / "s.duckdb", keys=(key("vetter", "vet"),)).log_in(("vetter" * 32)[:32]).see("/"))
    assert "Nothing is known to be broken: no failed run or job in 7 days." in said
    for hidden in ("Waiting", "promise-7", "fox-2", "$"):
        assert hidden not in said, hidden


def test_without_a_login_it_leads_to_it(visit, tmp_path):
    response = visit(store=tmp_path / "s.duckdb", keys=(key("reader", "read"),)).get("/")
    assert (response.status_code, response.headers["location"]) == (303, "/login?next=/")
