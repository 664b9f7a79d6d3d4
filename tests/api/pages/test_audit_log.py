"""The audit log's page."""

import importlib
import re

from tests.api.pages.conftest import words
from tests.api.pages.test_start import eventful, visitor

__all__ = ["eventful", "visitor"]


def numbers(page):
    return [int(one) for one in re.findall(r"record (\d+)</summary>", page)]


def test_newest_first_and_filtered_by_kind_subject_and_person(visitor):
    every = numbers(visitor.see("/audit-log"))
    assert every == sorted(every, reverse=True)
    for query, count in {
        "": 7,
        "kind=case": 3,
        "kind=case&subject=CASE-2": 2,
        "kind=seen": 1,
        "kind=nothing": 0,
        "person=boss": 1,
        "person=bos": 0,
        "kind=&subject=&person=": 7,
        "before=3": 2,
    }.items():
        page = visitor.see(f"/audit-log?{query}")
        assert len(numbers(page)) == count, query
    assert "policy put: mine" in words(visitor.see("/audit-log?person=boss"))


def test_pages_go_on_without_gaps(visitor, monkeypatch):
    module = importlib.import_module("metajudge.api.pages.audit_log")
    monkeypatch.setattr(module, "ROWS", 4)
    seen, address = [], "/audit-log"
    while address:
        page = visitor.see(address)
        seen += numbers(page)
        found = re.search(r'href="([^"]*)">Older', page)
        address = found and found[1].replace("&amp;", "&")
    assert seen == sorted(set(seen), reverse=True)
    assert len(seen) == 7


def test_blind_it_is_refused_while_a_review_waits(visitor):
    visitor.submit("/preferences", {"blind": "true"})
    assert "blind mode" in words(visitor.see("/audit-log", 403))
