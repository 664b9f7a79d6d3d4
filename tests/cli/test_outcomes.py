"""What the deciding commands send, and what was given up, as a user sees it."""

import json

import pytest

from tests.doubles.judgments import judgment
from tests.doubles.llm_server import LLMServer, score_answer
from tests.doubles.outcomes import filled
from tests.doubles.webhook_receiver import Receiver

pytestmark = pytest.mark.slow  # every test is a process of its own, or several


def test_what_was_given_up_is_seen_and_sent(metajudge):
    filled(metajudge.folder / "metajudge.db")
    metajudge.env["METAJUDGE_WEBHOOK_SECRET"] = "a secret of many characters"
    with Receiver(404) as receiver:
        failed = metajudge("outcomes", "send", "--webhook", receiver.url, "--all")
        assert failed.returncode == 1
        assert "it answered 404" in metajudge("outcomes", "receivers").stdout
        receiver.answers = [204]
        assert "6 delivered" in metajudge("outcomes", "send", "--webhook", receiver.url).stdout
        assert "6 delivered, 0 waiting, 0 given up" in metajudge("outcomes", "receivers").stdout
        assert "0 delivered" in metajudge("outcomes", "send", "--webhook", receiver.url, "--all").stdout
        assert len({headers["webhook-id"] for _, headers, _ in receiver.requests}) == 6
        assert "delivered (204)" in metajudge("outcomes", "show", "case-0").stdout


def test_vet_sends_what_it_escalates_and_reviewing_its_final_outcome(metajudge):
    (metajudge.folder / "j.jsonl").write_text(judgment("j1").model_dump_json() + "\n")
    with LLMServer(answer=score_answer(5)) as server, Receiver(204) as receiver:
        metajudge.env["METAJUDGE_WEBHOOK_SECRET"] = "a secret of many characters"
        agent = ("--agent", f"a=openai:m@{server.url}", "--rubric", "baseline")
        done = metajudge("vet", "j.jsonl", *agent, "--policy", "verdict_score", "--webhook", receiver.url)
        assert "Webhook: 1 delivered, 0 before, 0 failed." in done.stdout, done.stderr
        metajudge.env["METAJUDGE_WEBHOOK"] = receiver.url
        sheet, _ = metajudge.json("outcomes", "list")
        review, _ = metajudge.json("review", "list")
        name = review["reviews"][0]["review"]["review_id"]
        metajudge("review", "claim", name, "--reviewer", "ada")
        metajudge("review", "decide", name, "--reviewer", "ada", "--outcome", "approve")
        metajudge("review", "amend", name, "--reviewer", "ada", "--outcome", "reject", "--reason", "looked again")
    sent = [json.loads(body) for *_, body in receiver.requests]
    assert [one["type"] for one in sent] == ["outcome.escalated", "outcome.approved", "outcome.rejected"]
    assert [one["data"]["by"] for one in sent] == ["machine", "people", "people"]
    assert sheet["outcomes"][0]["event_id"] == sent[0]["data"]["event_id"] == sent[1]["data"]["follows"]
    assert sent[2]["data"]["amends"] == sent[1]["data"]["event_id"]
