"""Clashes side by side: adding them, the blind call, and what the panel said."""

import html
import re

import orjson
import pytest

from metajudge.clashes import reviews as clash_reviews
from metajudge.clashes.sheet import labels_of
from tests.api.pages.conftest import words
from tests.api.pages.filled_store import made_clash

SPLIT = made_clash()
UNANIMOUS = made_clash(
    "q2", rankings={"j1": (("owl",), ("fox-2",), ("bear-1",)), "j2": (("owl",), ("bear-1",), ("fox-2",))}
)


def document(*records):
    return orjson.dumps({"summary": {}, "evaluations": [one.model_dump(mode="json") for one in records]})


def add(visitor, content, name="clash.json"):
    visitor.see("/clash")
    return visitor.post("/clash", data={"csrf": visitor.token}, files={"file": (name, content)})


@pytest.fixture
def opened(filled):
    """A visitor who has added one clash and taken it, its id, and its page."""

    def start(record=SPLIT, **options):
        visitor = filled(0, cases=False, **options)
        where = add(visitor, document(record)).headers["location"]
        visitor.submit(f"{where}/claim")
        return visitor, where.rpartition("/")[2], visitor.see(where)

    return start


class TestAdding:
    @pytest.mark.parametrize(
        ("content", "name"),
        [
            (document(SPLIT), "clash.json"),
            (SPLIT.model_dump_json().encode() + b"\n\n", "attempts.jsonl"),
            (orjson.dumps([SPLIT.model_dump(mode="json")]), "list.json"),
            (SPLIT.model_dump_json().encode(), "one.json"),
        ],
    )
    def test_every_form_that_clash_writes(self, filled, content, name):
        visitor = filled(0, cases=False)
        response = add(visitor, content, name)
        assert response.status_code == 303
        assert re.fullmatch(r"/reviews/[0-9a-f]{16}", response.headers["location"])

    def test_the_same_twice_is_there_once(self, filled):
        visitor = filled(0, cases=False)
        first, second = (add(visitor, document(SPLIT)).headers["location"] for _ in range(2))
        assert first == second
        assert visitor.see("/clash").count("data-row ") == 1

    def test_of_several_attempts_the_one_that_counts_is_taken(self):
        lost = SPLIT.model_copy(
            update={"votes": tuple(one.model_copy(update={"replied": False}) for one in SPLIT.votes)}
        )
        again = SPLIT.model_copy(update={"attempt": 2})
        lines = b"\n".join(one.model_dump_json().encode() for one in (lost, again))
        assert [one.attempt for one in clash_reviews.read_clashes(lines, "a.jsonl")] == [2]

    @pytest.mark.parametrize(
        ("content", "said"),
        [
            (b"", "contains no evaluation"),
            (b"{}", "is no record of `metajudge clash`"),
            (b"[]", "contains no evaluation"),
            (b"nonsense", "clash.json:1: not valid JSON"),
            (b'{"evaluations": [1]}', "evaluation 1 is no record"),
            (b"\xff\xfe\x00", "not valid JSON"),
        ],
    )
    def test_a_wrong_file_is_said_with_its_place(self, filled, content, said):
        visitor = filled(0, cases=False)
        response = add(visitor, content)
        assert response.status_code == 422
        assert said in words(response.text)

    def test_an_evaluation_with_nothing_to_compare_adds_none_of_the_file(self, filled):
        alone = SPLIT.model_copy(update={"candidates": SPLIT.candidates[:1], "why": "1 of 3 candidates answered"})
        visitor = filled(0, cases=False)
        assert "1 of 3 candidates answered" in words(add(visitor, document(UNANIMOUS, alone)).text)
        assert "No clashes yet" in words(visitor.see("/clash"))


class TestBlind:
    def test_nobody_is_named_before_the_call(self, opened):
        _, _, page = opened()
        for hidden in ("fox-2", "FOX-2", "bear-1", "owl", "j1", "A tie", "0.0010", "observer"):
            assert hidden not in page, hidden
        assert "[name hidden]" in page
        assert "It is **Paris**" in page

    def test_a_record_of_an_earlier_version_that_hid_no_makers_is_blind_here(self, opened):
        texts = {"fox-2": "As GPT-4, made by OpenAI, I say Paris.", "owl": "I am Claude from Anthropic: Paris."}
        given = tuple(
            one.model_copy(update={"text": texts.get(one.name, one.text), "hidden_names": ()})
            for one in SPLIT.candidates
        )
        _, _, page = opened(SPLIT.model_copy(update={"candidates": given}))
        assert "I say Paris" in page
        for hidden in ("GPT-4", "OpenAI", "Claude", "Anthropic"):
            assert hidden not in page, hidden

    def test_the_list_hides_the_verdict_until_the_call_and_then_says_it_in_the_words_of_the_terminal(self, opened):
        visitor, one, page = opened(UNANIMOUS)
        assert "owl" not in visitor.see("/clash")
        decide(visitor, one, page, UNANIMOUS, "owl")
        assert "owl wins; accept: unanimous" in words(visitor.see("/clash"))

    def test_a_review_of_something_else_is_no_clash(self, filled):
        visitor = filled(1)
        for one in visitor.reviews:
            assert visitor.get(f"/clash/{one}").status_code == 404


def decide(visitor, review, page, record, name):
    """Presses the button of the answer of a candidate."""
    label = next(label for label, candidate in labels_of(record, review).items() if candidate == name)
    values = re.findall(r'<button name="verdict" value="([^"]+)"', page)
    value = next(one for one in values if html.unescape(one).startswith(label))
    response = visitor.submit(f"/reviews/{review}/decide", {"verdict": html.unescape(value)})
    assert response.status_code == 303, words(response.text)
