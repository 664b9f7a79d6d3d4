"""Every noun of the service: what it shows, what it refuses, and that every change is on record."""

import importlib
import io
import itertools
import json
import math
import threading
import time
import zipfile

import pytest

from metajudge.decision import load_policy
from metajudge.rubric import load_rubric
from metajudge.types import Assessment
from tests.api.conftest import app_module, panel_of, running
from tests.doubles.crowds import crowd
from tests.doubles.judgments import judgment
from tests.doubles.llm_server import LLMServer, score_answer

keys = importlib.import_module("metajudge.api.keys")
encoding = importlib.import_module("metajudge.api.encoding")
KEY = "k" * 32


@pytest.fixture(scope="module")
def models_server():
    with LLMServer(answer=score_answer(5)) as server:
        yield server


@pytest.fixture(scope="module")
def client(models_server, tmp_path_factory):
    """A service with a store, a key called ci that may do everything, and panels of one and of two agents.

    All tests of this file share it, so each makes records of its own.
    """
    options = app_module.ServiceOptions(
        panels={"one": panel_of(models_server, "a"), "two": panel_of(models_server)},
        store=tmp_path_factory.mktemp("s") / "s.duckdb",
        keys=(keys.ApiKey("ci", keys.hashed(KEY)),),
    )
    with running(options) as one:
        one.headers["authorization"] = f"Bearer {KEY}"
        yield one


def record(**changes):
    return judgment(**changes).model_dump(mode="json")


NUMBERS = itertools.count()


def vetted(client, count=1, **choice):
    """Vets so many judgments, which nobody has seen before, and returns their assessments."""
    records = [record(id=f"j{n}", rationale=f"Reason {n}.") for n in itertools.islice(NUMBERS, count)]
    return [client.post("/v1/vet", json={"judgment": one, **choice}).json() for one in records]


def changes(client, subject=None):
    """What was changed, oldest first."""
    found = client.get("/v1/audit", params={"limit": 1000, **({"subject": subject} if subject else {})}).json()
    assert all(one["change"]["by"] == "ci" and one["change"]["request_id"] for one in found)
    return [one["change"] for one in found]


class TestAssessments:
    def test_pages_hold_everything_once_in_order(self, client):
        ids = [one["judgment_id"] for one in vetted(client, 7)]
        found, after = [], 0
        for _ in range(100):
            page = client.get("/v1/assessments", params={"after": after, "limit": 3}).json()
            found += [one["judgment_id"] for one in page["assessments"]]
            after = page["next_cursor"]
            if after is None:
                break
        assert found[-7:] == ids
        assert len(found) == len(set(found))

    @pytest.mark.parametrize(
        ("wanted", "count"),
        [
            ({}, 3),
            ({"judge": judgment().judge}, 3),
            ({"judge": "nobody"}, 0),
            ({"judgment_id": "f1"}, 1),
            ({"item_id": "item-f2"}, 1),
            ({"category": "chemistry"}, 0),
            ({"status": "assessed"}, 3),
            ({"status": "failed"}, 0),
            ({"accepted": True}, 3),
            ({"accepted": False}, 0),
            ({"decision": "REVIEW_PRIORITY"}, 3),
            ({"decision": "APPROVE"}, 0),
        ],
    )
    def test_filters(self, filtered, wanted, count):
        assert len(filtered.get("/v1/assessments", params=wanted).json()["assessments"]) == count

    @pytest.fixture(scope="class")
    @classmethod
    def filtered(cls, models_server, tmp_path_factory):
        options = app_module.ServiceOptions(
            panels={"one": panel_of(models_server, "a")}, store=tmp_path_factory.mktemp("s") / "s.duckdb"
        )
        with running(options) as one:
            for n in range(3):
                one.post("/v1/vet", json={"judgment": record(id=f"f{n}"), "policy": "verdict_score"})
            yield one

    @pytest.mark.parametrize(
        "wrong",
        [{"limit": 0}, {"limit": 501}, {"after": -1}, {"status": "fine"}, {"judges": "x"}, {"accepted": "maybe"}],
    )
    def test_a_filter_that_is_none_is_named(self, filtered, wrong):
        answer = filtered.get("/v1/assessments", params=wrong)
        assert answer.status_code == 422
        assert next(iter(wrong)) in answer.json()["detail"]

    def test_a_rare_filter_is_cut_into_pages_and_finds_what_there_is(self, filtered, monkeypatch):
        module = importlib.import_module("metajudge.api.routes.assessments")
        monkeypatch.setattr(module, "SCANNED", 1)
        page = filtered.get("/v1/assessments", params={"judge": "nobody"}).json()
        assert page["assessments"] == []

    def test_provenance_is_complete(self, client):
        (assessed,) = vetted(client, panel="two", policy="verdict_score")
        found = client.get(f"/v1/assessments/{assessed['judgment_id']}").json()
        assert found["judgments"][0]["judgment"]["rationale"].startswith("Reason ")
        kept = [one["payload"] for one in found["assessments"]]
        assert assessed in [Assessment.model_validate(one).model_dump(mode="json") for one in kept]
        for name in ("panel_digest", "rubric_digest", "prompt_digest", "judgment_digest", "metajudge_version"):
            assert assessed[name]
        assert found["calls_total"] == len(found["calls"]) == 2
        assert {call["model"] for call in found["calls"]} == {"a", "b"}
        assert all(
            call["input_tokens"] and call["cost_usd"] is not None and call["endpoint"] for call in found["calls"]
        )
        assert assessed["decision"]["policy_digest"] in found["policies"]

    def test_an_id_with_slashes_and_an_unknown_one(self, client):
        client.post("/v1/vet", json=record(id="set/7/a"))
        assert client.get("/v1/assessments/set/7/a").json()["name"] == "set/7/a"
        answer = client.get("/v1/assessments/nobody")
        assert (answer.status_code, "nobody" in answer.json()["detail"]) == (404, True)


def opened(client, count):
    """Ids of so many new reviews, as the queue has them."""
    ids = {one["judgment_id"] for one in vetted(client, count, policy="verdict_score")}  # one agent has no agreement
    found = client.get("/v1/reviews", params={"status": "open", "limit": 500}).json()["reviews"]
    return [one["review"]["review_id"] for one in found if one["review"]["subject_id"] in ids]


class TestReviews:
    @pytest.fixture
    def waiting(self, client):
        """Ids of three reviews, as the queue has them."""
        return opened(client, 3)

    def test_from_the_queue_to_a_decision(self, client, waiting):
        first = waiting[0]
        claimed = client.post(f"/v1/reviews/{first}/claim", json={"reviewer": "ada", "lease_s": 60})
        assert claimed.json()["state"]["status"] == "claimed"
        assert claimed.json()["judgment"]["id"]
        said = {"reviewer": "ada", "outcome": "modify", "verdict": "A>B", "reason": "The other one is right."}
        decided = client.post(f"/v1/reviews/{first}/decide", json=said).json()["state"]
        assert decided["status"] == "decided"
        assert decided["decisions"][0]["policy"]["name"] == "verdict_score"
        assert client.post(f"/v1/reviews/{first}/decide", json=said).json()["state"] == decided
        actions = [(one["action"], one["reviewer"]) for one in changes(client, first)]
        assert actions == [("review.claim", "ada"), ("review.decide", "ada")]
        assert client.get(f"/v1/reviews/{first}").json()["state"] == decided

    def test_who_reviews_is_the_key_s_name_unless_said(self, client, waiting):
        client.post(f"/v1/reviews/{waiting[0]}/claim", json={})
        decided = client.post(f"/v1/reviews/{waiting[0]}/decide", json={"outcome": "cannot_tell"}).json()
        assert decided["state"]["decisions"][0]["reviewer"] == "ci"

    def test_without_keys_somebody_must_be_named(self, serve, tmp_path):
        answer = serve(store=tmp_path / "s.duckdb").post("/v1/reviews/x/claim", json={})
        assert (answer.status_code, answer.json()["detail"][:9]) == (422, "reviewer:")

    def test_in_other_hands_or_in_none(self, client, waiting):
        one = waiting[0]
        assert (
            client.post(f"/v1/reviews/{one}/decide", json={"reviewer": "ada", "outcome": "approve"}).status_code == 409
        )
        client.post(f"/v1/reviews/{one}/claim", json={"reviewer": "ada"})
        assert client.post(f"/v1/reviews/{one}/claim", json={"reviewer": "bob"}).status_code == 409
        assert client.post(f"/v1/reviews/{one}/release", json={"reviewer": "bob"}).status_code == 409
        assert client.post(f"/v1/reviews/{one}/release", json={"reviewer": "ada"}).json()["state"]["status"] == "open"
        assert client.post(f"/v1/reviews/{one}/claim", json={"reviewer": "bob"}).status_code == 200
        assert [change["action"] for change in changes(client, one)] == [
            "review.claim",
            "review.release",
            "review.claim",
        ]

    @pytest.mark.parametrize(
        ("said", "told"),
        [
            ({"outcome": "perhaps"}, "no such outcome"),
            ({"outcome": "modify"}, "corrected verdict or scores"),
            ({"outcome": "modify", "verdict": "A>C"}, "names C"),
            ({"outcome": "modify", "verdict": "better"}, "no verdict"),
            ({"outcome": "approve", "scores": {"overall": 2}}, "cannot carry"),
            ({"outcome": "modify", "scores": {"overall": 99}}, "off the scale"),
            ({"outcome": "modify", "scores": {"beauty": 3}}, "beauty"),
            ({"outcome": "approve", "colour": "red"}, "colour"),
        ],
    )
    def test_a_decision_that_is_none_is_refused_and_not_recorded(self, client, waiting, said, told):
        client.post(f"/v1/reviews/{waiting[0]}/claim", json={"reviewer": "ada"})
        answer = client.post(f"/v1/reviews/{waiting[0]}/decide", json={"reviewer": "ada", **said})
        assert answer.status_code == 422
        assert told in answer.json()["detail"]
        assert client.get(f"/v1/reviews/{waiting[0]}").json()["state"]["decisions"] == []
        assert [change["action"] for change in changes(client, waiting[0])] == ["review.claim"]

    def test_a_blind_verdict_is_compared(self, client, waiting):
        client.post(f"/v1/reviews/{waiting[0]}/claim", json={"reviewer": "ada"})
        said = {"reviewer": "ada", "verdict": str(judgment().verdict)}
        decided = client.post(f"/v1/reviews/{waiting[0]}/decide", json=said).json()["state"]["decisions"][0]
        assert (decided["outcome"], decided["blind"]) == ("approve", True)

    def test_the_truth_is_not_shown_to_those_who_are_to_find_it(self, client):
        assert record()["item"]["label"], "the judgments of this test have a label to hide"
        (review_id,) = opened(client, 1)
        for answer in (
            client.get("/v1/reviews"),
            client.get(f"/v1/reviews/{review_id}"),
            client.post(f"/v1/reviews/{review_id}/claim", json={"reviewer": "ada"}),
            client.post(f"/v1/reviews/{review_id}/decide", json={"reviewer": "ada", "outcome": "approve"}),
        ):
            assert answer.status_code == 200
            assert "truth" not in answer.text
            assert (answer.json().get("judgment") or {}).get("item", {}).get("label") is None

    def test_pages_and_filters(self, client, waiting):
        found, cursor = [], None
        for _ in range(100):
            page = client.get("/v1/reviews", params={"limit": 2, **({"cursor": cursor} if cursor else {})}).json()
            found += [one["review"]["review_id"] for one in page["reviews"]]
            cursor = page["next_cursor"]
            if cursor is None:
                break
        assert len(found) == len(set(found))
        assert [one for one in found if one in waiting] == waiting
        assert client.get("/v1/reviews", params={"judge": "nobody"}).json()["reviews"] == []
        decided = client.get("/v1/reviews", params={"status": "decided", "limit": 500}).json()["reviews"]
        assert not {one["review"]["review_id"] for one in decided} & set(waiting)
        assert client.get("/v1/reviews", params={"cursor": "nowhere"}).status_code == 422
        assert client.get("/v1/reviews", params={"status": "odd"}).status_code == 422

    def test_an_unknown_review_is_404(self, client):
        assert client.get("/v1/reviews/none").status_code == 404
        for what, body in [("claim", {}), ("release", {}), ("decide", {"outcome": "approve"})]:
            answer = client.post(f"/v1/reviews/none/{what}", json={"reviewer": "ada", **body})
            assert (answer.status_code, answer.json()["status"]) == (404, 404)

    def test_after_ten_disagreements_the_loop_looks_and_nobody_waits_for_it(self, client, monkeypatch):
        loop = importlib.import_module("metajudge.feedback.loop").FeedbackLoop
        looked = []

        async def propose(self, name):
            looked.append((name, threading.current_thread().name))
            return []

        monkeypatch.setattr(loop, "propose", propose)
        for one in opened(client, 10):
            client.post(f"/v1/reviews/{one}/claim", json={})
            body = {"outcome": "modify", "scores": {"overall": 1}, "reason": "Far too kind."}
            body = (
                body
                if client.get(f"/v1/reviews/{one}").json()["state"]["review"]["criteria"]
                else {"outcome": "reject"}
            )
            assert client.post(f"/v1/reviews/{one}/decide", json=body).status_code == 200
        report = client.get("/v1/feedback", params={"policy": "verdict_score"}).json()
        deadline = time.monotonic() + 20
        while sum(report["disagreements"].values()) >= 10 and not looked:
            assert time.monotonic() < deadline, "nobody looked"
            time.sleep(0.05)
        assert report["cases"] >= 10
        assert all(name == "verdict_score" and "computing" in thread for name, thread in looked)


def own_rubric(name):
    return {**load_rubric("short").model_dump(mode="json"), "name": name}


class TestRubricsAndPolicies:
    def test_a_rubric_of_one_s_own(self, client):
        mine = own_rubric("mine")
        put = client.put("/v1/rubrics/mine", json=mine)
        assert put.status_code == 200
        assert client.get("/v1/rubrics/mine").json() == put.json()
        assert vetted(client, rubric="mine")[0]["rubric"] == "mine"
        assert "rubric.put" in [one["action"] for one in changes(client, "mine")]

    def test_a_new_version_of_it_is_in_force_at_once_and_in_the_assessment(self, client):
        mine = own_rubric("changing")
        client.put("/v1/rubrics/changing", json=mine)
        (before,) = vetted(client, rubric="changing")
        mine["criteria"][0]["description"] = "Something else entirely."
        client.put("/v1/rubrics/changing", json=mine)
        (after,) = vetted(client, rubric="changing")
        assert before["rubric_digest"] != after["rubric_digest"]

    def test_it_is_still_there_after_a_restart(self, serve, tmp_path):
        mine = own_rubric("mine")
        options = app_module.ServiceOptions(store=tmp_path / "s.duckdb")
        with running(options) as first:
            first.put("/v1/rubrics/mine", json=mine)
        with running(options) as second:
            assert second.get("/v1/rubrics/mine").status_code == 200

    @pytest.mark.parametrize(
        ("name", "change", "status"),
        [
            ("short", {"name": "short"}, 409),
            ("mine", {"name": "other"}, 422),
            ("mine", {"criteria": []}, 422),
            ("mine", {"colour": "red"}, 422),
            ("a.b", {"name": "a.b"}, 422),
            ("..%2f..%2fetc", {}, 404),
        ],
    )
    def test_what_is_no_rubric_of_one_s_own(self, client, name, change, status):
        before = changes(client)
        assert client.put(f"/v1/rubrics/{name}", json={**own_rubric("mine"), **change}).status_code == status
        assert changes(client) == before

    def test_unknown_ones_are_404(self, client):
        assert client.get("/v1/rubrics/none").status_code == 404
        assert client.get("/v1/policies/none").status_code == 404

    def test_a_policy_of_one_s_own_and_its_next_version(self, client):
        mine = {**load_policy("verdict_score").model_dump(mode="json"), "name": "mine"}
        first = client.put("/v1/policies/mine", json=mine).json()
        (before,) = vetted(client, policy="mine")
        mine["bands"] = [{**band, "action": "REJECT"} for band in mine["bands"]]
        second = client.put("/v1/policies/mine", json=mine)
        assert second.status_code == 200, second.text
        (after,) = vetted(client, policy="mine")
        assert before["decision"]["policy_digest"] == first["digest"] != second.json()["digest"]
        assert after["decision"]["policy_digest"] == second.json()["digest"]
        assert client.get("/v1/policies/mine").json()["digest"] == second.json()["digest"]
        assert "mine" in [one["name"] for one in client.get("/v1/policies").json()]
        assert [one["digest"] for one in changes(client, "mine") if one["action"] == "policy.put"] == [
            first["digest"],
            second.json()["digest"],
        ]

    @pytest.mark.parametrize(
        ("name", "change", "status"),
        [
            ("verdict_score", {"name": "verdict_score"}, 409),
            ("mine", {"name": "other"}, 422),
            ("mine", {"bands": []}, 422),
        ],
    )
    def test_what_is_no_policy_of_one_s_own(self, client, name, change, status):
        body = {**load_policy("verdict_score").model_dump(mode="json"), "name": "mine", **change}
        before = changes(client)
        assert client.put(f"/v1/policies/{name}", json=body).status_code == status
        assert changes(client) == before


ITEM = {**record()["item"], "label": None}


class TestProducingVerdicts:
    def test_judges_compare_in_both_orders_or_the_given_one(self, client):
        both = client.post("/v1/judge", json={"item": ITEM, "panel": "two"}).json()
        given = client.post("/v1/judge", json={"item": ITEM, "panel": "two", "orders": "given"}).json()
        assert len(both["judgments"]) + len(both["failed"]) == 4
        assert len(given["judgments"]) + len(given["failed"]) == 2

    def test_judges_grade_each_response(self, client):
        found = client.post("/v1/judge", json={"item": ITEM, "grade": True, "panel": "one"}).json()
        assert len(found["judgments"]) + len(found["failed"]) == 2

    def test_a_judge_who_cannot_be_asked_is_told_with_why(self, serve, models):
        server = models(faults=["401"] * 8)
        found = serve(panels={"default": panel_of(server, "a")}).post("/v1/judge", json={"item": ITEM}).json()
        assert [one["failure"]["kind"] for one in found["failed"]] == ["auth", "auth"]
        assert found["judgments"] == []

    def test_a_clash_ranks_blind_with_its_seed_on_record(self, client):
        found = client.post("/v1/clash", json={"item": ITEM, "panel": "two", "seed": 7}).json()
        assert found["item_id"] == ITEM["id"]
        assert found["seed"] == 7

    @pytest.mark.parametrize("path", ["/v1/judge", "/v1/clash"])
    def test_what_one_request_can_spend_is_bounded(self, client, path):
        many = {**ITEM, "responses": {f"r{n}": "x" for n in range(51)}}
        answer = client.post(path, json={"item": many, "grade": True} if path == "/v1/judge" else {"item": many})
        assert (answer.status_code, "51 responses" in answer.json()["detail"]) == (422, True)

    def test_three_responses_are_not_compared_in_pairs(self, client):
        three = {**ITEM, "responses": {"A": "x", "B": "y", "C": "z"}}
        assert client.post("/v1/judge", json={"item": three}).status_code == 422

    def test_a_panel_without_agents_cannot_judge(self, serve):
        answer = serve().post("/v1/judge", json={"item": ITEM})
        assert (answer.status_code, "choose a panel with agents" in answer.json()["detail"]) == (422, True)

    def test_a_case_is_judged_decided_and_on_record(self, client):
        module = importlib.import_module("metajudge.api.routes.judging")
        answer = client.post("/v1/cases", json={"case": module.EXAMPLE_CASE, "panel": "two"})
        assert answer.status_code == 200
        assert answer.json()["decision"]["action"]
        assert [one["action"] for one in changes(client, "case-1")] == ["case.decide"]
        assert client.get("/v1/assessments/case-1").json()["audit_log"]
        wrong = client.post("/v1/cases", json={"case": module.EXAMPLE_CASE, "policy": "nothing"})
        assert wrong.status_code == 422


class TestRankings:
    def test_a_tie_is_a_result(self, client):
        found = client.post("/v1/rank", json={"rankings": [[["a"], ["b"]], [["b"], ["a"]]]}).json()
        assert (found["n_optima"], found["ties"]) == (2, [["a", "b"]])

    @pytest.mark.parametrize(
        "wrong",
        [
            {"rankings": []},
            {"rankings": [[["a"], ["a"]]]},
            {"rankings": [[["a"], ["b"]]], "weights": [1, 2]},
            {"rankings": [[["a"], ["b"]]], "rule": "borda", "prior": 1},
            {"rankings": [[["a"], ["b"]]], "rule": "loudest"},
            {"rankings": [[["a"], ["b"]]], "weights": [-1]},
        ],
    )
    def test_what_cannot_be_counted(self, client, wrong):
        answer = client.post("/v1/rank", json=wrong)
        assert answer.status_code == 422
        assert answer.json()["detail"]

    def test_more_equally_good_orders_than_64_bits_can_count(self, client):
        names = [f"c{n}" for n in range(24)]
        answer = client.post("/v1/rank", json={"rankings": [[names]], "rule": "kemeny"})
        assert answer.status_code == 200
        assert answer.json()["n_optima"] is None or answer.json()["n_optima"] == math.factorial(24)

    def test_plain_data_is_json_whatever_it_holds(self):
        data = {"big": 2**70, "none": float("nan"), "in": [float("inf"), 1.5], 3: (1, 2)}
        assert json.loads(encoding.plain_json(data).body) == {
            "big": 2**70,
            "none": None,
            "in": [None, 1.5],
            "3": [1, 2],
        }
        assert json.loads(encoding.plain_json({"none": float("nan")}).body) == {"none": None}

    def test_peers(self, client):
        ballots = [
            {"question_id": f"q{n}", "evaluator": name, "ranking": [["a"], ["b"], ["c"]]}
            for n in range(3)
            for name in "abc"
        ]
        assert client.post("/v1/peers", json={"ballots": ballots}).json()["overall"] == [["a"], ["b"], ["c"]]
        assert client.post("/v1/peers", json={"ballots": []}).status_code == 422
        assert client.post("/v1/peers", json={"ballots": ballots, "rule": "loudest"}).status_code == 422

    def test_few_computations_at_once(self, serve, monkeypatch):
        module = importlib.import_module("metajudge.api.routes.rankings")
        limits = importlib.import_module("metajudge.api.options").Limits
        monkeypatch.setattr(module, "_ranked", lambda _body: time.sleep(1) or {})
        client = serve(limits=limits(computing=1, request_s=0.3))
        body = {"rankings": [[["a"], ["b"]]]}
        slow = client.post("/v1/rank", json=body)
        busy = client.post("/v1/rank", json=body)
        assert slow.status_code == 504
        assert (busy.status_code, busy.headers["retry-after"]) == (503, "5"), "the thread's place was given away"
        time.sleep(1)
        monkeypatch.setattr(module, "_ranked", lambda _body: {"fine": True})
        assert client.post("/v1/rank", json=body).json() == {"fine": True}


class TestExport:
    def test_the_folder_as_a_zip_and_on_record(self, client):
        for one in crowd(6, seed=3):
            client.post("/v1/vet", json=one.model_dump(mode="json"))
        answer = client.post("/v1/export/preferences", json={"selection": {"rule": "all"}})
        assert answer.headers["content-type"] == "application/zip"
        names = zipfile.ZipFile(io.BytesIO(answer.content)).namelist()
        assert any(name.endswith("README.md") for name in names)
        assert [one["action"] for one in changes(client, "preferences")] == ["export.preferences"]

    def test_nothing_to_export(self, serve, tmp_path):
        client = serve(store=tmp_path / "s.duckdb")
        assert client.post("/v1/export/preferences", json={}).status_code == 422
        assert client.get("/v1/audit").json() == []

    def test_what_is_no_export(self, client):
        for wrong in ({"format": "paper"}, {"split": [0.5]}, {"judgments": "/etc/passwd"}, {"out": "/tmp/x"}):
            assert client.post("/v1/export/preferences", json=wrong).status_code == 422


class TestFeedback:
    def test_an_unknown_policy_or_proposal_is_404(self, client):
        assert client.get("/v1/feedback", params={"policy": "none"}).status_code == 404
        for what in ("backtest", "activate"):
            assert client.post(f"/v1/feedback/proposals/none/{what}", json={}).status_code == 404

    def test_nothing_to_learn_from_is_422(self, client):
        answer = client.post("/v1/feedback/proposals", params={"policy": "verdict"})
        assert (answer.status_code, "nobody has decided" in answer.json()["detail"]) == (422, True)
