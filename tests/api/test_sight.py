"""Labels do not reach those who are to decide, and blind mode hides every row of what a person is to decide on."""

import asyncio
import html
import importlib
import re
import shutil

import pytest

from metajudge.reviews.opening import review_of
from metajudge.store import open_store
from tests.api.pages.conftest import key, routes, state_of, visit
from tests.api.pages.filled_store import made_assessment, made_judgment

pytestmark = pytest.mark.slow

__all__ = ["routes", "visit"]

authorization = importlib.import_module("metajudge.api.authorization")

LABEL, GOLD = "B>>A", "gold: the second one"
"""The label of every item, as no verdict here is written, and the same in the caller's own data."""
KEYS = (key("judge", "review"), key("reader", "read"), key("boss", "admin"), key("both", "read", "review"))
NOW = 1_790_000_000.0


def labelled(number):
    one = made_judgment(number)
    item = one.item.model_copy(update={"label": type(one.verdict)("B", "A", 2)})
    return one.model_copy(update={"item": item, "meta": {"gold": GOLD}})


async def _fill(path, blind=False):
    """Two judgments, each with what the panel found and a policy's decision on it; both wait for a person."""
    store = await open_store(path)
    reviews = []
    for number in (0, 1):
        judgment = labelled(number)
        decided = made_assessment(judgment, number)
        found = decided.model_copy(update={"decision": None, "probability": None, "calibrated": False})
        await store.save_assessment(f"key {number}", judgment, found, "run-1")
        await store.save_assessment(f"key {number}", judgment, decided, "run-1", found)
        reviews.append(review_of(judgment, decided, now=NOW + number, scale=(1, 5), reviewers=1))
        other = decided.decision.model_copy(update={"policy": "stricter", "policy_digest": "e" * 64})
        if number == 1:  # another policy sent the same judgment to people, too
            again = decided.model_copy(update={"decision": other})
            reviews.append(review_of(judgment, again, now=NOW + 5, scale=(1, 5), reviewers=1))
    assert await store.reviews.open([one.model_copy(update={"blind": blind}) for one in reviews]) == 3
    await store.close()
    return [one.review_id for one in reviews]


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    path = tmp_path_factory.mktemp("filled") / "s.duckdb"
    return path, asyncio.run(_fill(path))


@pytest.fixture
def service(visit, tmp_path, filled):
    """Starts a service on that store; ``reviews`` are the ids there."""

    def start(name=None, keys=KEYS):
        path, reviews = filled
        shutil.copy(path, tmp_path / "s.duckdb")
        visitor = visit(store=tmp_path / "s.duckdb", keys=keys)
        visitor.reviews = reviews
        return visitor.log_in_as(name) if keys else visitor.named(name)

    return start


NAMES = {
    "review_id": lambda visitor: visitor.reviews,
    "number": lambda _visitor: ["1", "2", "3", "4"],
    "name:path": lambda visitor: ["j0/owl-large", "item-0", "item-1", "run-1", visitor.reviews[0]],
    "job_id": lambda _visitor: ["0"],
    "run_id": lambda _visitor: ["run-1"],
    "name": lambda _visitor: ["short", "verdict_score"],
    "proposal_id": lambda _visitor: ["none"],
    "draft_id": lambda _visitor: ["none"],
}


def everything(visitor, secret=None):
    """What every address answers that can be opened, by the address."""
    addresses = ["/dashboard?labels=truth&days=0", "/dashboard?labels=all&days=0", "/v1/feedback?policy=verdict_score"]
    addresses += [
        f"/search?q={text}" for text in ("train", "owl", "item-", "B>>", "second one", "REVIEW", "verdict_score")
    ]
    for route in authorization.ROUTES:
        method, path = route.split()
        if method == "GET" and not path.startswith(("/static", "/docs", "/openapi")):
            hole = re.search(r"\{([^}]+)\}", path)
            path += "?follow=false" if path == "/v1/outcomes/events" else ""  # the stream has no end otherwise
            addresses += [path.replace(hole[0], value) for value in NAMES[hole[1]](visitor)] if hole else [path]
    found = {}
    for address in addresses:
        headers = {"x-api-key": secret} if secret and address.startswith("/v1/") else {}
        answer = visitor.get(address, headers=headers)
        assert answer.status_code < 500, address
        found[address] = html.unescape(answer.text)
    return found


def told(answers, *words):
    return sorted(address for address, text in answers.items() if any(word in text for word in words))


class TestLabels:
    def test_no_address_tells_a_reviewer_a_label_or_what_follows_from_it(self, service):
        visitor = service("judge")
        secret = ("judge" * 32)[:32]
        before = everything(visitor, secret)
        dashboards = [text for address, text in before.items() if address.startswith("/dashboard")]
        assert [("No labels yet" in text, "2 labelled" in text) for text in dashboards] == [(True, False)] * 3
        visitor.decide(visitor.reviews[0], outcome="approve")
        answers = before | {f"{address} later": text for address, text in everything(visitor, secret).items()}
        derived = ("ground_truth", "ground truth", "items' labels", '"truth":false', '"truth":true')
        assert told(answers, LABEL, GOLD, *derived) == []
        assert "false approve rate" in answers["/dashboard later"], "other metrics are shown"
        for address, text in answers.items():
            assert not re.search(r'<span class="chip (good|bad)">(right|wrong)</span>', text), address
        assert "whether the item has a label is not shown" in answers["/assessments/1"]
        assert '"labels_withheld":["item-0"]' in answers["/v1/assessments/item-0 later"], "nothing of it waits now"

    @pytest.mark.parametrize("name", ["reader", "boss"])
    def test_who_only_looks_sees_labels_where_assessments_are_and_not_in_the_queue(self, service, name):
        answers = everything(service(name), (name * 32)[:32])
        with_label = told(answers, LABEL)
        assert {"/assessments/1", "/assessments/4", "/v1/assessments/item-0"} <= set(with_label)
        assert not [address for address in with_label if "reviews" in address]

    @pytest.mark.parametrize(("name", "keys"), [("both", KEYS), ("Ada", ())])
    def test_who_looks_and_decides_sees_a_label_once_nothing_of_the_item_waits(self, service, name, keys):
        visitor = service(name, keys)
        headers = {"x-api-key": (name * 32)[:32]} if keys else {}
        addresses = ["/assessments/1", "/assessments/2", "/v1/assessments/item-0"]
        assert told({one: html.unescape(visitor.get(one, headers=headers).text) for one in addresses}, LABEL) == []
        visitor.decide(visitor.reviews[0], outcome="approve")
        now = {one: html.unescape(visitor.get(one, headers=headers).text) for one in [*addresses, "/assessments/3"]}
        assert told(now, LABEL) == sorted(addresses), "item-1 still waits"


def decide_blind(visitor, review):
    visitor.submit("/preferences", {"blind": "true"})
    visitor.decide(review, outcome="cannot_tell", blind="true")
    visitor.submit("/preferences", {"blind": "false"})
    return state_of(visitor, review)["decisions"][0]["blind"]


class TestBlindMode:
    """The machine's opinion of a judgment is one thing, however many rows tell it."""

    @pytest.fixture
    def ada(self, service):
        return service("Ada", ())

    def test_who_saw_nothing_decides_blind(self, ada):
        assert [decide_blind(ada, review) for review in (ada.reviews[0], ada.reviews[2])] == [True, True]

    @pytest.mark.parametrize(
        ("opened", "review"),
        [
            ("/assessments/1", 0),  # what the panel found
            ("/assessments/2", 0),  # the same as a policy decided on it
            ("/assessments/3", 1),
            ("/assessments/3", 2),  # a row counts for the reviews of every policy
            ("/reviews/{}", 2),  # and so does an opened case
            ("/assessments", 0),  # a list that showed it
        ],
    )
    def test_whatever_showed_it_the_decision_is_not_blind(self, ada, opened, review):
        ada.see(opened.format(ada.reviews[1]))
        assert decide_blind(ada, ada.reviews[review]) is False

    @pytest.mark.parametrize(("name", "blind"), [("Ada", False), ("Bob", True)])
    def test_a_new_session_forgets_nothing_and_another_person_saw_nothing(self, ada, name, blind):
        ada.see("/assessments/1")
        ada.cookies.clear()
        assert decide_blind(ada.named(name), ada.reviews[0]) is blind

    def test_it_is_remembered_of_who_had_no_name_yet(self, service):
        visitor = service("", ())
        visitor.see("/assessments/1")
        visitor.see("/reviews")
        visitor.submit("/preferences", {"reviewer": "Bob"})
        assert decide_blind(visitor, visitor.reviews[0]) is False

    def test_forty_others_opened_since_do_not_make_it_forgotten(self, ada):
        ada.see("/assessments/1")
        remember = importlib.import_module("metajudge.reviews.seen")
        log = ada.app.state.service.engine.store.audit_log
        many = [f"other {number}" for number in range(50)]
        ada.portal.call(lambda: remember.remember_seen(log, many, remember.Onlooker("Ada"), now=NOW))
        assert decide_blind(ada, ada.reviews[0]) is False

    def test_over_http_nobody_claims_blindness_after_a_page(self, ada):
        ada.see("/assessments/1")
        for name, blind in (("Ada", False), ("Eve", True)):
            review = ada.reviews[0] if name == "Ada" else ada.reviews[1]
            ada.post(f"/v1/reviews/{review}/claim", json={"reviewer": name, "blind": True})
            said = {"reviewer": name, "verdict": "A>B", "blind": True}
            decided = ada.post(f"/v1/reviews/{review}/decide", json=said).json()["state"]["decisions"][0]
            assert decided["blind"] is blind

    def test_nothing_the_machine_said_is_anywhere_while_it_waits(self, ada):
        ada.submit("/preferences", {"blind": "true"})
        answers = everything(ada)
        assert (
            told({one: text for one, text in answers.items() if one.startswith(("/search", "/runs"))}, "owl-large")
            == []
        )
        machine = ("adds hours and minutes", "strict on accuracy", "middle band", "fox-2", '"final_score"')
        assert told(answers, *machine) == []
        assert told(answers, LABEL, GOLD) == []
        rows = ada.see("/assessments")
        assert "/assessments/1" not in rows
        assert "No matching assessments" in rows or "No assessments yet" in rows
        for query in ("judge=owl-large", "outcome=not_kept", "decision=REVIEW", "q=train", "run=run-1"):
            assert 'data-row href="/assessments/' not in ada.see(f"/assessments?{query}"), query
        for number in (1, 2, 3, 4):
            assert "waits for your decision" in ada.see(f"/assessments/{number}", 403)
        for path in ("/v1/assessments", "/v1/assessments/item-0", "/v1/reviews", f"/v1/reviews/{ada.reviews[0]}"):
            assert ada.get(path).status_code == 403
        assert ada.post("/v1/export/preferences", json={"format": "generic"}).status_code == 403

    def test_what_was_decided_is_shown_and_what_waits_is_not(self, ada):
        assert decide_blind(ada, ada.reviews[0]) is True
        ada.submit("/preferences", {"blind": "true"})
        assert re.findall(r'data-row href="/assessments/(\d)', ada.see("/assessments")) == ["2"]
        ada.see("/assessments/1")
        ada.see("/assessments/3", 403)

    def test_a_decision_for_one_policy_tells_nothing_while_another_waits(self, ada):
        first, second = ada.reviews[1], ada.reviews[2]
        ada.submit("/preferences", {"blind": "true"})
        where = ada.decide(first, outcome="cannot_tell", blind="true")
        for page in (where, f"/reviews/{first}", "/reviews?status=all", f"/reviews?done={first}"):
            text = html.unescape(ada.see(page))
            assert "the judge's verdict was" not in text
            assert "adds hours and minutes" not in text
            assert "owl-large" not in text
        assert decide_blind(ada, second) is True
        ada.submit("/preferences", {"blind": "true"})
        assert "adds hours and minutes" in html.unescape(ada.see(f"/reviews/{first}")), "nothing waits any more"


def test_what_a_policy_wants_decided_blind_is_in_no_list_of_outcomes(visit, tmp_path):
    path = tmp_path / "s.duckdb"
    first, _ = asyncio.run(_fill(path, blind=True))[:2]
    visitor = visit(store=path).named()
    page = visitor.see("/outcomes")
    assert "2 of these wait for your blind decision" in page
    assert "j0/owl-large" not in page
    visitor.decide(first, outcome="cannot_tell")
    assert "j0/owl-large" in visitor.see("/outcomes")
