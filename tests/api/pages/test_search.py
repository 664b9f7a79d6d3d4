"""Search over everything that was stored."""

import re

from tests.api.pages.conftest import words
from tests.api.pages.test_start import eventful, visitor

__all__ = ["eventful", "visitor"]


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
