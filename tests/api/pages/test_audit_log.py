"""The audit log's page, and sentences for its records."""

import importlib
import re

from metajudge.store.overview import Entry
from tests.api.pages.conftest import words
from tests.api.pages.test_start import eventful, visitor

__all__ = ["eventful", "visitor"]
entries = importlib.import_module("metajudge.api.pages.entries")


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


def line(kind, subject="s", text="{}", is_cut=False):
    return entries.entry_line(Entry(1, kind, subject, 0.0, text, is_cut))


def test_sentences_and_links():
    put = line("activation", "verdict", '{"proposal_id":"p/1","by":"boss"}')
    assert (put.words, put.who, put.link) == ("Policy verdict: proposal p/1 put in force", "boss", "/proposals/p%2F1")
    assert line("policy", "a b").link == "/policies/a%20b"
    assert line("change", "r1", '{"action":"review.decide","by":"Ada"}').link == "/reviews/r1"
    assert line("new kind", "x").words == "x"
    cut = line("proposal", "verdict", '{"prop', is_cut=True)
    assert (cut.words, cut.link) == ("Proposal for policy verdict", "/proposals")
