"""The queue and the page of a case, called as a browser without scripts would."""

import asyncio
import importlib
import re
import time

import pytest

from metajudge.errors import InputError
from metajudge.evidence import SIGNALS
from metajudge.reviews import Outcome, ReviewState, ReviewStatus
from metajudge.store import open_store
from metajudge.types import Grade, Pairwise, Ranking
from tests.pages.conftest import key, words
from tests.pages.filled_store import SCRIPT, case_review, fill, hostile_judgment, made_assessment, made_judgment

case_view = importlib.import_module("metajudge.api.pages.case_view")
wording = importlib.import_module("metajudge.api.pages.wording")


def state_of(visitor, review_id):
    """The review as the HTTP interface tells it."""
    found = visitor.get(f"/v1/reviews/{review_id}")
    assert found.status_code == 200, found.text
    return found.json()["state"]


def choice(page, label):
    """The value of the radio button with a label."""
    found = re.search(rf'<input type="radio" name="verdict" value="([^"]+)"[^>]*>\s*{label}', page)
    assert found, f"no choice {label}"
    return found[1]


class TestQueue:
    def test_an_empty_store_says_so_and_what_to_do(self, filled):
        said = words(filled(0, cases=False).see("/reviews"))
        assert "Nothing waits for a person" in said
        assert "POST /v1/vet" in said
        assert "metajudge vet" not in said, "the service has the store: a command could not open it"

    def test_no_store_is_an_error_for_people(self, visit):
        response = visit().get("/reviews")
        assert response.status_code == 503
        assert "start it with --store" in words(response.text)

    def test_order_and_why_each_is_there(self, filled):
        said = words(filled(6).see("/reviews"))
        assert said.index("to be looked at first") < said.index("sent it here (0.05")
        assert "Policy verdict_score sent it here, to be looked at first (0.06 from another decision)." in said

    def test_filters(self, filled):
        visitor = filled(6)
        assert words(visitor.see("/reviews?category=math")).count("How long") == 2
        assert "case-1" in words(visitor.see("/reviews?category=climate"))
        assert "No review fits" in words(visitor.see("/reviews?judge=nobody"))
        assert "No review fits" in words(visitor.see("/reviews?status=decided"))
        visitor.see("/reviews?status=nonsense", 422)

    def test_htmx_gets_the_list_alone(self, filled):
        page = filled(6).see("/reviews?category=math", headers={"HX-Request": "true"})
        assert page.lstrip().startswith('<section id="queue"')
        assert "<html" not in page

    def test_pages_go_on_where_the_one_before_ended(self, filled):
        visitor = filled(120, cases=False)
        first = visitor.see("/reviews")
        more = re.search(r'href="(/reviews\?cursor=[^"]+)"', first)[1]
        second = visitor.see(more)
        ids = re.compile(r'data-row href="/reviews/([0-9a-f]{16})"')
        assert len(ids.findall(first)) == 25
        assert not set(ids.findall(first)) & set(ids.findall(second))

    def test_a_name_is_asked_for_before_anything_is_taken(self, filled):
        visitor = filled(6, name=None)
        assert "Before you review" in visitor.see("/reviews")
        assert visitor.submit("/reviews/next").status_code == 422
        assert state_of(visitor, visitor.reviews[0])["status"] == "open"


class TestClaims:
    def test_taking_the_next_one_leads_there_and_looking_takes_nothing(self, filled):
        visitor = filled(6)
        visitor.see(f"/reviews/{visitor.reviews[0]}")
        assert state_of(visitor, visitor.reviews[0])["status"] == "open"
        where = visitor.submit("/reviews/next").headers["location"]
        assert state_of(visitor, where.rpartition("/")[2])["claims"][0]["reviewer"] == "Ada"

    def test_what_somebody_else_has_is_refused_and_said(self, filled):
        visitor = filled(6)
        one = visitor.reviews[0]
        visitor.post(f"/v1/reviews/{one}/claim", json={"reviewer": "Bob"})
        assert "Taken by Bob" in words(visitor.see(f"/reviews/{one}"))
        response = visitor.submit(f"/reviews/{one}/claim")
        assert response.status_code == 409
        assert "is in other hands (Bob" in words(response.text)

    def test_giving_back_is_in_the_history(self, filled):
        visitor = filled(1, cases=False)
        one = visitor.reviews[0]
        visitor.submit(f"/reviews/{one}/claim")
        assert words(visitor.see(f"/reviews/{one}")).count("Taken by Ada") == 1
        visitor.submit(f"/reviews/{one}/release")
        assert state_of(visitor, one)["status"] == "open"
        page = words(visitor.see(f"/reviews/{one}"))
        assert page.index("Taken by Ada") < page.index("Given back by Ada")

    def test_every_change_is_in_the_audit_log(self, filled):
        visitor = filled(1, cases=False, keys=(key("ada", "read", "review"),), name=None)
        visitor.see("/login")
        visitor.submit("/login", {"key": ("ada" * 32)[:32], "name": "Ada L."})
        visitor.see("/reviews")
        one = visitor.reviews[0]
        visitor.submit("/reviews/next")
        visitor.submit(f"/reviews/{one}/release")
        visitor.submit(f"/reviews/{one}/claim")
        visitor.submit(f"/reviews/{one}/decide", {"outcome": "approve", "reason": "secret thoughts"})
        kept = visitor.get(f"/v1/assessments/{one}", headers={"x-api-key": ("ada" * 32)[:32]}).json()["audit_log"]
        changes = [one["payload"] for one in kept if one["kind"] == "change"]
        assert [one["action"].removeprefix("review.") for one in changes] == ["claim", "release", "claim", "decide"]
        assert {(one["by"], one["reviewer"]) for one in changes} == {("ada", "Ada L.")}
        assert all(one["request_id"] for one in changes)
        assert "secret thoughts" not in str(changes)

    def test_deciding_without_a_claim_records_nothing_and_keeps_the_note(self, filled):
        visitor = filled(6)
        one = visitor.reviews[0]
        response = visitor.submit(f"/reviews/{one}/decide", {"outcome": "approve", "reason": "my long thoughts"})
        assert response.status_code == 409
        assert "claim it before deciding" in words(response.text)
        assert "my long thoughts" in response.text
        assert 'id="record" disabled' in response.text
        assert state_of(visitor, one)["decisions"] == []

    def test_a_lease_that_ended_records_nothing_and_keeps_the_note(self, filled):
        visitor = filled(6)
        one = visitor.reviews[0]
        visitor.post(f"/v1/reviews/{one}/claim", json={"reviewer": "Ada", "lease_s": 1})
        time.sleep(1.05)
        response = visitor.submit(f"/reviews/{one}/decide", {"outcome": "reject", "reason": "late"})
        assert response.status_code == 409
        assert "expired" in words(response.text)
        assert "late</textarea>" in response.text

    @pytest.mark.parametrize("name", ["nope", "<script>", "../x"])
    def test_an_unknown_review(self, filled, name):
        visitor = filled(1)
        assert visitor.get(f"/reviews/{name}").status_code == 404
        assert visitor.submit(f"/reviews/{name}/claim").status_code == 404


class TestDeciding:
    def taken(self, filled, **options):
        visitor = filled(6, **options)
        visitor.see("/reviews")
        where = visitor.submit("/reviews/next").headers["location"]
        return visitor, where.partition("?")[0].rpartition("/")[2]

    @pytest.mark.parametrize("outcome", ["approve", "reject", "cannot_tell"])
    def test_an_outcome_is_what_the_interface_would_have_recorded(self, filled, outcome):
        visitor, one = self.taken(filled)
        response = visitor.submit(f"/reviews/{one}/decide", {"outcome": outcome, "reason": " because "})
        assert response.status_code == 303
        assert response.headers["location"].endswith(f"?done={one}")
        decision = state_of(visitor, one)["decisions"][0]
        assert (decision["outcome"], decision["reviewer"], decision["reason"]) == (outcome, "Ada", "because")
        assert (decision["blind"], decision["origin"], decision["verdict"]) == (False, "review", None)
        assert decision["policy"]["name"] == "verdict_score"
        assert "Recorded:" in visitor.see(response.headers["location"])

    def test_modify_with_a_verdict_and_scores(self, filled):
        visitor, one = self.taken(filled)
        page = visitor.see(f"/reviews/{one}")
        wanted = re.search(r'<option value="([^"]+)">Equally good', page)[1]
        sent = {"outcome": "modify", "verdict": wanted, "score.accuracy": "2", "score.clarity": " "}
        assert visitor.submit(f"/reviews/{one}/decide", sent).status_code == 303
        decision = state_of(visitor, one)["decisions"][0]
        assert Pairwise(*"AB", 0) == Pairwise(*sorted(decision["verdict"].split("=")), 0)
        assert decision["scores"] == {"accuracy": 2.0}

    def test_corrections_left_over_from_another_choice_are_not_recorded(self, filled):
        visitor, one = self.taken(filled)
        wanted = re.search(r'<option value="([^"]+)">Equally good', visitor.see(f"/reviews/{one}"))[1]
        visitor.submit(f"/reviews/{one}/decide", {"outcome": "approve", "verdict": wanted, "score.accuracy": "2"})
        decision = state_of(visitor, one)["decisions"][0]
        assert (decision["outcome"], decision["verdict"], decision["scores"]) == ("approve", None, None)

    @pytest.mark.parametrize(
        ("sent", "said"),
        [
            ({}, "choose a decision first"),
            ({"outcome": "modify"}, "needs the corrected verdict or scores"),
            ({"outcome": "modify", "score.accuracy": "9"}, "off the scale"),
            ({"outcome": "modify", "score.accuracy": "good"}, "is no score"),
            ({"outcome": "modify", "score.invented": "2"}, "no criterion 'invented'"),
            ({"outcome": "delete"}, "no such outcome"),
            ({"verdict": "forged"}, "none of those on the page"),
        ],
    )
    def test_what_cannot_be_recorded_is_said_and_what_was_written_stays(self, filled, sent, said):
        visitor, one = self.taken(filled)
        response = visitor.submit(f"/reviews/{one}/decide", {**sent, "reason": "kept"})
        assert response.status_code == 422
        assert said in words(response.text)
        assert "kept</textarea>" in response.text
        assert state_of(visitor, one)["decisions"] == []

    def test_the_same_again_changes_nothing_and_another_is_refused(self, filled):
        visitor, one = self.taken(filled)
        for _ in range(2):
            assert visitor.submit(f"/reviews/{one}/decide", {"outcome": "approve"}).status_code == 303
        assert visitor.submit(f"/reviews/{one}/decide", {"outcome": "reject"}).status_code == 409
        assert len(state_of(visitor, one)["decisions"]) == 1
        page = words(visitor.see(f"/reviews/{one}"))
        assert "You have decided this one" in page
        assert "approve by Ada" in page

    def test_after_the_last_one_the_queue_says_so(self, filled):
        visitor = filled(1, cases=False)
        visitor.submit("/reviews/next")
        where = visitor.submit(f"/reviews/{visitor.reviews[0]}/decide", {"outcome": "approve"}).headers["location"]
        assert where == f"/reviews?done={visitor.reviews[0]}"
        assert "Recorded: approve" in words(visitor.see(where))

    def test_a_case_is_decided_without_a_verdict(self, filled):
        visitor = filled(0)
        one = visitor.reviews[0]
        page = visitor.see(f"/reviews/{one}")
        assert "a drought" in words(page)
        visitor.submit(f"/reviews/{one}/claim")
        assert visitor.submit(f"/reviews/{one}/decide", {"outcome": "modify", "score.accuracy": "3"}).status_code == 303
        assert state_of(visitor, one)["decisions"][0]["scores"] == {"accuracy": 3.0}

    def test_others_are_not_seen_until_one_has_decided_oneself(self, filled):
        visitor = filled(1, cases=False, reviewers=2)
        one = visitor.reviews[0]
        visitor.post(f"/v1/reviews/{one}/claim", json={"reviewer": "Bob"})
        visitor.post(
            f"/v1/reviews/{one}/decide", json={"reviewer": "Bob", "outcome": "reject", "reason": "Bob's reason"}
        )
        page = words(visitor.see(f"/reviews/{one}"))
        assert "shown after your own decision" in page
        assert "Bob" not in page
        visitor.submit(f"/reviews/{one}/claim")
        visitor.submit(f"/reviews/{one}/decide", {"outcome": "approve"})
        assert "reject by Bob: Bob's reason" in words(visitor.see(f"/reviews/{one}"))


class TestBlindMode:
    def blind(self, filled, count=6, **options):
        visitor = filled(count, **options)
        visitor.submit("/preferences", {"blind": "true"})
        return visitor

    def test_nothing_the_machine_said_is_in_the_page(self, filled):
        visitor = self.blind(filled)
        for one in visitor.reviews:
            page = visitor.see(f"/reviews/{one}")
            for hidden in (
                "owl-large",
                "A>B",
                "B>A",
                "adds hours and minutes",
                "strict",
                "fox-2",
                "REVIEW",
                "verdict_score",
            ):
                assert hidden not in page, hidden
            assert 'value="approve"' not in page or "case-1" in page

    def test_the_queue_hides_it_too(self, filled):
        page = self.blind(filled).see("/reviews?judge=nobody")
        for hidden in ("owl-large", "REVIEW", "verdict_score", 'name="judge"'):
            assert hidden not in page
        assert "How long" in page

    @pytest.mark.parametrize(
        ("label", "right"), [("Left", True), ("Left much", True), ("Right", False), ("Equally good", False)]
    )
    def test_an_own_verdict_is_compared_and_shown_afterwards(self, filled, label, right):
        visitor = self.blind(filled, 1, cases=False)  # j0's verdict is B>A
        one = visitor.reviews[0]
        sides = case_view.sides_of(made_judgment(0), one, "Ada")
        if sides[0].response == "A":
            label = {"Left": "Right", "Left much": "Right much", "Right": "Left"}.get(label, label)
        visitor.submit(f"/reviews/{one}/claim")
        page = visitor.see(f"/reviews/{one}")
        label += "" if label == "Equally good" else " better"
        visitor.submit(f"/reviews/{one}/decide", {"verdict": choice(page, label), "blind": "true"})
        decision = state_of(visitor, one)["decisions"][0]
        assert decision["outcome"] == ("approve" if right else "modify")
        assert decision["blind"] is True
        page = visitor.see(f"/reviews/{one}")
        assert "owl-large" in page
        assert "adds hours and minutes" in words(page)

    def test_cannot_tell(self, filled):
        visitor = self.blind(filled, 1, cases=False)
        one = visitor.reviews[0]
        visitor.submit(f"/reviews/{one}/claim")
        visitor.submit(f"/reviews/{one}/decide", {"outcome": "cannot_tell", "blind": "true"})
        decision = state_of(visitor, one)["decisions"][0]
        assert (decision["outcome"], decision["blind"]) == ("cannot_tell", True)

    def test_who_has_looked_before_does_not_decide_blind(self, filled):
        visitor = filled(1, cases=False)
        one = visitor.reviews[0]
        visitor.see(f"/reviews/{one}")
        visitor.submit("/preferences", {"blind": "true"})
        visitor.submit(f"/reviews/{one}/claim")
        page = visitor.see(f"/reviews/{one}")
        assert "not recorded as a blind one" in words(page)
        visitor.submit(f"/reviews/{one}/decide", {"verdict": choice(page, "Left better"), "blind": "true"})
        assert state_of(visitor, one)["decisions"][0]["blind"] is False


KEYS = (key("reader", "read"), key("judge", "review"), key("bot", "vet"))


class TestScopes:
    def log_in(self, visitor, name):
        visitor.see("/login")
        visitor.submit("/login", {"key": (name * 32)[:32]})
        return visitor

    def test_a_reader_looks_and_decides_nothing(self, filled):
        visitor = self.log_in(filled(6, keys=KEYS), "reader")
        visitor.see("/reviews")
        page = visitor.see(f"/reviews/{visitor.reviews[0]}")
        assert "that takes the scope review" in words(page)
        assert "/decide" not in page
        for path in ("/reviews/next", f"/reviews/{visitor.reviews[0]}/claim", f"/reviews/{visitor.reviews[0]}/decide"):
            assert visitor.submit(path, {"outcome": "approve"}).status_code == 403

    def test_a_reviewer_decides_under_the_keys_name(self, filled):
        visitor = self.log_in(filled(6, keys=KEYS), "judge")
        visitor.see("/reviews")
        where = visitor.submit("/reviews/next").headers["location"]
        visitor.submit(f"{where}/decide", {"outcome": "approve"})
        assert "approve by judge" in words(visitor.see(where))

    def test_any_other_key_is_refused(self, filled):
        visitor = self.log_in(filled(1, keys=KEYS), "bot")
        assert visitor.get("/reviews").status_code == 403
        assert visitor.submit("/reviews/next").status_code == 403

    def test_nobody_is_sent_to_the_login(self, filled):
        visitor = filled(1, keys=KEYS)
        where = visitor.get("/reviews?category=math").headers["location"]
        assert where == "/login?next=/reviews%3Fcategory%3Dmath"


class TestHostileText:
    def test_everything_is_text(self, filled):
        visitor = filled(4, hostile=True)
        pages = [visitor.see("/reviews"), *(visitor.see(f"/reviews/{one}") for one in visitor.reviews)]
        visitor.submit("/preferences", {"plain": "true"})
        pages += [visitor.see(f"/reviews/{one}") for one in visitor.reviews]
        assert sum("&lt;script&gt;" in page for page in pages) >= 3
        for page in pages:
            assert SCRIPT not in page
            assert "<svg" not in page
            assert "<style>" not in page
            assert not re.search(r"<img(?! src=.?/static)", page)
            assert not re.search(r'(?:href|src)="(?:javascript|data):', page)

    def test_a_reviewers_name_and_note_are_text_too(self, filled):
        visitor = filled(1, cases=False, name=f"Ada {SCRIPT}")
        visitor.submit("/reviews/next")
        visitor.submit(f"/reviews/{visitor.reviews[0]}/decide", {"outcome": "approve", "reason": f"note {SCRIPT}"})
        page = visitor.see(f"/reviews/{visitor.reviews[0]}")
        assert SCRIPT not in page
        assert "note &lt;script&gt;" in page

    def test_filters_and_problems_are_text_too(self, filled):
        visitor = filled(1)
        assert SCRIPT not in visitor.see("/reviews", params={"judge": SCRIPT})
        assert SCRIPT not in visitor.see(f"/reviews/{SCRIPT.replace('/', '')}", 404)
        assert SCRIPT not in visitor.submit(f"/reviews/{visitor.reviews[0]}/decide", {"outcome": SCRIPT[:50]}).text


def test_forgotten_texts_leave_the_review_to_be_seen(tmp_path, visit):
    path = tmp_path / "s.duckdb"
    reviews = fill(path, 1, cases=False)

    async def forget():
        store = await open_store(path)
        await store.forget("item-0")
        await store.close()

    asyncio.run(forget())
    page = words(visit(store=path).see(f"/reviews/{reviews[0]}"))
    assert "they were forgotten" in page


class TestView:
    def test_the_order_depends_on_case_and_reviewer_alone(self):
        orders = {tuple(case_view.seeded_order(["A", "B"], f"r{number}", "ada")) for number in range(20)}
        assert orders == {("A", "B"), ("B", "A")}
        for number in range(20):
            first = case_view.seeded_order(["A", "B"], f"r{number}", "ada")
            assert first == case_view.seeded_order(["B", "A"], f"r{number}", "ada")
        assert len({tuple(case_view.seeded_order(["A", "B"], "r1", f"p{number}")) for number in range(20)}) == 2

    def test_half_of_the_reviewers_see_a_response_on_the_left(self):
        left = sum(case_view.seeded_order(["A", "B"], "r", f"p{number}")[0] == "A" for number in range(400))
        assert 150 < left < 250

    def test_values_of_choices_tell_no_ids_and_do_not_depend_on_the_seats(self):
        judgment = made_judgment(1)
        by_reviewer = [
            {
                one.verdict: one.value
                for one in case_view.verdict_choices(case_view.sides_of(judgment, "r", who), judgment.verdict)
            }
            for who in ("p1", "p2", "p3", "p4", "p5", "p6")
        ]
        values = {}
        for found in by_reviewer:
            for verdict, value in found.items():
                if not (isinstance(verdict, Pairwise) and verdict.is_tie):
                    assert values.setdefault(verdict, value) == value

    def test_three_responses_get_a_best_one_or_a_tie(self):
        judgment = made_judgment(
            1, responses={"A": "x", "B": "y", "C": "z"}, verdict=[["A"], ["B", "C"]], order=["A", "B", "C"]
        )
        choices = case_view.verdict_choices(case_view.sides_of(judgment, "r", "ada"), judgment.verdict)
        assert [one.words for one in choices] == [
            "Response 1 is best",
            "Response 2 is best",
            "Response 3 is best",
            "Equally good",
        ]
        assert choices[-1].verdict == Ranking((("A", "B", "C"),))

    def test_grades_offer_no_choice_of_a_winner(self):
        assert case_view.verdict_choices(case_view.sides_of(made_judgment(1), "r", "a"), Grade(3)) == []

    def test_scores_that_differ_are_marked(self):
        rows = {row.name: row for row in case_view.panel_of(made_assessment(made_judgment(1), 1)).rows}
        assert (rows["accuracy"].spread, rows["accuracy"].apart) == (3.0, True)
        assert (rows["completeness"].spread, rows["completeness"].apart) == (0.0, False)
        assert [one.note for one in rows["accuracy"].opinions] == ["", "", "failed"]

    def test_every_state_of_every_signal_has_words(self):
        for name in SIGNALS:
            assert name in wording._TITLES
            assert any(found == name for found, _ in wording._SIGNALS)


def test_a_grade_given_blind_is_compared_as_a_number():
    review_case = importlib.import_module("metajudge.api.pages.review_case")
    judgment = hostile_judgment().model_copy(update={"verdict": Grade(4.0)})
    state = ReviewState(review=case_review(), status=ReviewStatus.OPEN)
    found = review_case.Found(state, judgment, ())
    for text, outcome in (("4", Outcome.APPROVE), ("4.0", Outcome.APPROVE), ("2", Outcome.MODIFY)):
        made = review_case._decision(found, "ada", review_case.Draft(grade=text), True)
        assert made.outcome is outcome
    with pytest.raises(InputError, match="is no grade"):
        review_case._decision(found, "ada", review_case.Draft(grade="nan"), True)
