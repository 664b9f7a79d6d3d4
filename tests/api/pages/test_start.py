"""The start page: what it shows to whom."""

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
    return visit(store=tmp_path / "s.duckdb").named()


@pytest.mark.parametrize("blind", ["true", "false"], ids=["blind mode", "a clash is decided blind"])
def test_who_decides_blind_sees_no_priority(visitor, blind):
    visitor.submit("/preferences", {"blind": blind})
    said = words(visitor.see("/"))
    assert "6 reviews wait" in said
    for hidden in ("reviewed first", "4 to be", "owl-large", "clash panel", "REVIEW", "bear-1 says"):
        assert hidden not in said, hidden


def test_a_key_that_may_only_vet_sees_its_jobs_and_nothing_of_the_store(visit, tmp_path, eventful):
    shutil.copy(eventful, tmp_path / "s.duckdb")
    said = words(visit(store=tmp_path / "s.duckdb", keys=(key("vetter", "vet"),)).log_in_as("vetter").see("/"))
    assert "Nothing is known to be broken: no failed run or job in 7 days." in said
    for hidden in ("Waiting", "promise-7", "fox-2", "$"):
        assert hidden not in said, hidden
