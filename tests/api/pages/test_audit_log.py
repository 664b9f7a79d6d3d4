"""The audit log's page, and search over everything that was stored."""

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


def sections(page):
    return re.findall(r'<h2 id="(\w+)-title">', page.partition('id="results"')[2].partition("<footer")[0])


KINDS = {
    "a train leaves": ["judgments"],
    "item-3": ["judgments"],
    "OWL-LARGE": ["judgments", "reviews"],
    "capital of France": ["reviews"],
    "bear-1": [],
    "Yields fall": ["reviews"],
    "case-2": ["cases"],
    "run-1": ["runs"],
    "judge": [],
    "subject_digest": [],
    "', '1'); DROP TABLE items; --": [],
    '"$1 {} %s': [],
}


def test_every_kind_is_found_by_texts_ids_and_names_and_not_by_names_of_fields(visitor):
    for text, found in KINDS.items():
        page = visitor.see("/search", params={"q": text})
        assert sections(page) == found, text
        assert ("Nothing has this text" in page) == (not found)


def test_blind_it_tells_nothing_of_what_waits_for_the_person(visitor):
    visitor.submit("/preferences", {"blind": "true"})
    waits = words(visitor.see("/search", params={"q": "(4)"}))
    assert "does it take? (4)" in waits.partition("your reviews")[2]
    for hidden in ("owl-large", "A>B", "REVIEW", "j4"):
        assert hidden not in waits, hidden
    for text in ("j4/owl-large", "fox-2", "clash panel", "j1", "case-1"):
        assert sections(visitor.see("/search", params={"q": text})) == [], text
    assert "owl-large" in words(visitor.see("/search", params={"q": "(3)"})), "what does not wait is shown"
    assert "/clash/" in visitor.see("/search", params={"q": "capital of france"})


def test_who_saw_a_hit_does_not_decide_blind(visitor):
    review = re.search(r'/reviews/(\w{16})">A train', visitor.see("/reviews"))[1]
    number = re.search(r"does it take\? \((\d+)\)", words(visitor.see(f"/reviews/{review}")))[1]
    visitor.see("/search", params={"q": f"item-{number}"})
    visitor.submit("/preferences", {"blind": "true"})
    assert "not recorded as blind" in words(visitor.see(f"/reviews/{review}"))


def test_blind_an_id_of_what_waits_is_no_id(visitor):
    visitor.submit("/preferences", {"blind": "true"})
    review = re.search(r"/reviews/(\w{16})", visitor.see("/reviews"))[1]
    for name in ("j4/owl-large", review):
        page = visitor.see("/search", params={"q": name})
        assert "This is an id" not in page
        assert sections(page) == []
