"""The five steps of the adaptive judge on 60 cases, as a user runs them: gate, analysis, judge, people, feedback."""

import json
from collections import Counter

import pytest

from metajudge.decision import load_policy
from metajudge.reviews.review import PolicyUsed, Review
from tests.doubles.cases import ANALYSIS, RELEVANCE, flood, reply
from tests.doubles.llm_server import LLMServer

KINDS = {"middling": 24, "high": 12, "unsure": 6, "shaky": 4, "poor": 6, "archived": 4, "quick": 4}
"""How many cases there are of each kind; the kind stands in the texts, and decides what the scripted judge says."""
SAID = {"high": (9, 0.92), "unsure": (9, 0.7), "middling": (8, 0.85), "shaky": (8, 0.7), "poor": (5, 0.9)}
USED = PolicyUsed(name="risk_analysis", digest=load_policy("risk_analysis").digest)
LACKING = 20
"""The first so many of the middling cases treat no follow-on effect, which the judge overlooks and people see."""
REASONS = ("no follow-on effect is treated", "the customers are left out", "the size of the effect is missing")
SPELLINGS = ("climate", "Climatique", "climatique")
PEOPLE = {
    "middling": ["modify"] * LACKING + ["approve"] * 4,
    "unsure": ["approve"] * 4 + ["reject"] * 2,
    "shaky": ["approve", "approve", "reject", "cannot_tell"],
    "quick": ["approve", "approve", "reject", None],
}
"""What the simulated reviewers decide; None: nobody has decided yet."""


def cases():
    number = 0
    for kind, count in KINDS.items():
        for place in range(count):
            number += 1
            lacking = kind == "middling" and place < LACKING
            text = f"Case of kind {kind}, {number}. Stock lasts 14 days."
            text += " It ends here." if lacking else " Customers in Europe run short after 9 days."
            relevance = {"archived": 0.3, "quick": 0.6}.get(kind, 0.9)
            label = {"high": place != 0, "poor": False}.get(kind)
            yield flood(
                f"{kind}-{place:02}",
                type=SPELLINGS[number % 3],
                label=label,
                stages=[
                    {"name": "relevance_check", "context": {"relevance": relevance}, "output": text},
                    {"name": "risk_analysis", "output": text},
                ],
            )


def judge_says(body):
    """The scripted judge; it sees what is lacking only where its instruction points to it."""
    system, text = (json.dumps(message) for message in body["messages"][:2])
    kind = next(kind for kind in SAID if f"kind {kind}" in text)
    score, sure = SAID[kind]
    names = ANALYSIS if "## completeness" in system else RELEVANCE
    scores = dict.fromkeys(names, (score, sure))
    if "completeness" in names and REASONS[0] in system and "It ends here" in text:
        scores["completeness"] = (5, sure)
    return reply(scores, evidence=["Stock lasts 14 days", "as the ministry said"])


def decisions():
    """What the simulated reviewers decide, as rows of a file to import."""
    for case in cases():
        kind, place = case.id.rsplit("-", 1)
        outcome = PEOPLE[kind][int(place)] if kind in PEOPLE else None
        if outcome is not None:
            more = {"scores": {"completeness": 5}, "reason": REASONS[int(place) % 3]} if outcome == "modify" else {}
            yield {"review_id": Review.id_for(case.digest, USED), "reviewer": "ada", "outcome": outcome, **more}


def parsed(done):
    return json.loads(done.stdout)


@pytest.fixture
def store(run, tmp_path):
    """60 cases, judged and reviewed, with the server that judged them."""
    given = list(cases())
    assert len(given) == 60
    (tmp_path / "cases.jsonl").write_text("".join(one.model_dump_json() + "\n" for one in given))
    with LLMServer(judge_says) as server:
        asked = ("--judge", f"mini=openai:gpt-4o-mini@{server.url}")
        judged = run("case", "cases.jsonl", *asked, "--out", "out.jsonl")
        assert judged.exit_code == 0, judged.output
        (tmp_path / "decided.jsonl").write_text("".join(json.dumps(row) + "\n" for row in decisions()))
        assert run("review", "import", "decided.jsonl").exit_code == 0
        yield server, asked, judged


@pytest.mark.slow
def test_alerts_changes_archive_and_escalation_are_counted(run, store, tmp_path):
    server, _, judged = store
    results = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    actions = Counter(one["action"] for one in results)
    assert actions == {"APPROVE": 12, "REVIEW": 34, "REVIEW_PRIORITY": 4, "REJECT": 10}
    assert Counter(one["decision"]["gate"] for one in results) == {None: 52, "archive": 4, "quick_review": 4}
    assert server.count == 2 * 52  # the gate's cases cost nothing
    assert "invented" in judged.stdout
    assert "8 of them ended at the gate" in judged.stdout

    found = parsed(run("outcomes", "list", "--kind", "case", "--limit", "100", "--json"))
    assert Counter(one["outcome"] for one in found["outcomes"]) == {
        "approved": 24,
        "approved_with_changes": 20,
        "rejected": 14,
        "escalated": 2,
    }
    by = Counter((one["by"], one["outcome"]) for one in found["outcomes"])
    assert by["machine", "approved"] == 12
    assert by["machine", "rejected"] == 10
    assert by["people", "approved_with_changes"] == 20
    assert len({one["subject_id"] for one in found["outcomes"]}) == 60

    report = parsed(run("feedback", "report", "--policy", "risk_analysis", "--json"))
    assert (report["cases"], report["labelled"]) == (37, 18)
    truth = report["overall"]["ground_truth_reliability"]
    assert (truth["n"], truth["value"]) == (18, pytest.approx(17 / 18))
    assert list(report["by_category"]) == ["climate"]
    assert len(parsed(run("review", "list", "--category", "Climatique", "--json"))["reviews"]) == 38
