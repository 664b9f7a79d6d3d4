"""Clashes side by side: adding them, the blind call, and what the panel said."""

import asyncio
import importlib
import re

import orjson
import pytest

from metajudge.clashes import reviews as clash_reviews
from metajudge.errors import InputError
from metajudge.reviews import Outcome
from metajudge.store import open_store
from metajudge.types import Ranking
from tests.api.pages.conftest import key, words
from tests.api.pages.filled_store import SCRIPT, made_clash

clash_view = importlib.import_module("metajudge.api.pages.clash_view")
SPLIT = made_clash()
UNANIMOUS = made_clash(
    "q2", rankings={"j1": (("owl",), ("fox-2",), ("bear-1",)), "j2": (("owl",), ("bear-1",), ("fox-2",))}
)


def document(*records):
    return orjson.dumps({"summary": {}, "evaluations": [one.model_dump(mode="json") for one in records]})


def add(visitor, content, name="clash.json"):
    visitor.see("/clash")
    return visitor.post("/clash", data={"csrf": visitor.token}, files={"file": (name, content)})


def choice(page, title):
    found = re.search(rf'<input type="radio" name="verdict" value="([^"]+)"[^>]*>\s*{title}', page)
    assert found, f"no choice {title}"
    return found[1]


def title_of(record, review_id, name, reviewer="Ada"):
    return next(one.title for one in clash_view.seats_of(record, review_id, reviewer) if one.answer.name == name)


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
    def test_without_any_the_page_says_what_to_do(self, filled):
        assert "No clashes yet" in words(filled(0, cases=False).see("/clash"))

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
        assert re.fullmatch(r"/clash/[0-9a-f]{16}", response.headers["location"])

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

    def test_too_many_are_refused(self, monkeypatch):
        monkeypatch.setattr(clash_reviews, "MOST", 1)
        with pytest.raises(InputError, match="2 evaluations; at most 1"):
            clash_reviews.read_clashes(document(SPLIT, UNANIMOUS), "x")

    def test_no_file_is_an_error_for_people(self, filled):
        visitor = filled(0, cases=False)
        visitor.see("/clash")
        assert visitor.submit("/clash").status_code == 422

    def test_a_reader_cannot_add(self, filled):
        visitor = filled(0, cases=False, keys=(key("reader", "read"),))
        visitor.see("/login")
        visitor.submit("/login", {"key": ("reader" * 32)[:32]})
        assert "Add clashes" not in visitor.see("/clash")
        assert visitor.post("/clash", data={"csrf": visitor.token}, files={"file": ("x", b"")}).status_code == 403

    def test_what_the_panel_was_divided_on_is_reviewed_before_what_it_agreed_on(self):
        split, agreed = (clash_reviews.review_of_clash(one, now=1.0) for one in (SPLIT, UNANIMOUS))
        assert split.priority < agreed.priority
        assert (split.action, agreed.action) == ("REVIEW", "APPROVE")


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

    def test_the_list_hides_the_verdict_too(self, opened):
        visitor, _, _ = opened(UNANIMOUS)
        assert "owl" not in visitor.see("/clash")

    def test_the_queue_of_reviews_leads_there(self, opened):
        visitor, one, _ = opened()
        assert visitor.get(f"/reviews/{one}").headers["location"] == f"/clash/{one}"
        assert "capital of France" in visitor.see("/reviews?status=all")

    def test_a_look_at_the_panel_ends_blindness(self, opened):
        visitor, one, page = opened(UNANIMOUS)
        wanted = choice(page, title_of(UNANIMOUS, one, "owl"))
        assert "owl wins" in words(visitor.see(f"/clash/{one}?reveal=true"))
        visitor.see(f"/clash/{one}")
        visitor.submit(f"/clash/{one}/decide", {"verdict": wanted, "blind": "true"})
        assert visitor.get(f"/v1/reviews/{one}").json()["state"]["decisions"][0]["blind"] is False


class TestFinalCall:
    def decide(self, opened, record, name, **more):
        visitor, one, page = opened(record)
        wanted = (
            name if name == "cannot_tell" else choice(page, name if name == "Equally" else title_of(record, one, name))
        )
        response = visitor.submit(f"/clash/{one}/decide", {"verdict": wanted, "blind": "true", **more})
        assert response.status_code == 303, words(response.text)
        decision = visitor.get(f"/v1/reviews/{one}").json()["state"]["decisions"][0]
        return decision, words(visitor.see(f"/clash/{one}"))

    def test_the_panels_winner_approves(self, opened):
        decision, page = self.decide(opened, UNANIMOUS, "owl", reason="clear")
        assert (decision["outcome"], decision["verdict"], decision["blind"]) == ("approve", None, True)
        assert (decision["reviewer"], decision["reason"]) == ("Ada", "clear")
        assert "agrees with the panel" in page
        assert "owl wins" in page

    def test_another_answer_modifies(self, opened):
        decision, page = self.decide(opened, UNANIMOUS, "bear-1")
        assert decision["outcome"] == "modify"
        assert decision["verdict"] == [["bear-1"], ["fox-2", "owl"]]
        assert "differs from the panel" in page
        assert "(bear-1) is best" in page

    def test_a_tie_agrees_with_a_tie_alone(self, opened):
        assert self.decide(opened, SPLIT, "Equally")[0]["outcome"] == "approve"
        assert clash_reviews.outcome_of(Ranking((("a", "b"),)), Ranking((("a",), ("b",)))) is Outcome.MODIFY

    def test_cannot_tell(self, opened):
        decision, page = self.decide(opened, SPLIT, "cannot_tell")
        assert decision["outcome"] == "cannot_tell"
        assert "You could not tell" in page

    def test_where_the_panel_came_to_nothing_every_call_is_its_own(self):
        assert clash_reviews.outcome_of(Ranking((("a",), ("b",))), None) is Outcome.MODIFY

    @pytest.mark.parametrize(
        ("verdict", "said"), [("", "choose an answer first"), ("forged", "choose an answer first")]
    )
    def test_nothing_chosen_is_said_and_the_note_stays(self, opened, verdict, said):
        visitor, one, _ = opened()
        response = visitor.submit(f"/clash/{one}/decide", {"verdict": verdict, "reason": "kept", "blind": "true"})
        assert response.status_code == 422
        assert said in words(response.text)
        assert "kept</textarea>" in response.text
        assert "owl" not in response.text

    def test_without_a_claim_nothing_is_recorded(self, opened):
        visitor, one, page = opened()
        visitor.post(f"/v1/reviews/{one}/release", json={"reviewer": "Ada"})
        response = visitor.submit(f"/clash/{one}/decide", {"verdict": choice(page, "Equally"), "blind": "true"})
        assert response.status_code == 409
        assert visitor.get(f"/v1/reviews/{one}").json()["state"]["decisions"] == []

    def test_a_review_of_something_else_is_no_clash(self, filled):
        visitor = filled(1)
        for one in visitor.reviews:
            assert visitor.get(f"/clash/{one}").status_code == 404


class TestReveal:
    def test_votes_observers_failures_and_criteria(self, opened):
        visitor, one, _ = opened()
        page = words(visitor.see(f"/clash/{one}?reveal=true"))
        assert "A tie between fox-2 and owl" in page
        assert "2 of 3 declared voters; quorum 2" in page
        assert "candidate:owl observer, not counted" in page
        assert "timeout no reply" in page
        assert page.count("its own answer first") == 0
        assert "accuracy 25 %" in page

    def test_means_leave_observers_out(self):
        rows = clash_view.score_rows(SPLIT, clash_view.seats_of(SPLIT, "r", "ada"))
        assert all(len(cell) == 2 for row in rows for cell in row.given)
        assert sorted(rows[0].means) == [3.0, 3.0, 4.0]


def test_hostile_records_are_text(opened):
    record = made_clash("q3", hostile=True)
    visitor, one, page = opened(record)
    pages = [page, visitor.see(f"/clash/{one}?reveal=true"), visitor.see("/clash"), visitor.see("/reviews?status=all")]
    for found in pages:
        assert SCRIPT not in found
    assert "&lt;script&gt;" in pages[1]


def test_forgetting_the_item_takes_the_texts_and_leaves_the_call(tmp_path, visit):
    path = tmp_path / "s.duckdb"
    review = clash_reviews.review_of_clash(SPLIT, now=1.0)

    async def prepare():
        store = await open_store(path)
        await store.reviews.open([review])
        await store.forget(SPLIT.item_id)
        await store.close()

    asyncio.run(prepare())
    visitor = visit(store=path)
    assert "The texts were deleted" in visitor.see(f"/clash/{review.review_id}")
    assert "texts deleted" in visitor.see("/clash")
    assert visitor.see("/reviews?status=all")
