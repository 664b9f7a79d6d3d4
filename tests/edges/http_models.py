"""The service that is asked: its models, panels and keys, and what the scripts that ask it share."""

import json
import re
from pathlib import Path
from typing import Any

import httpx2

from tests.doubles.cases import ANALYSIS, RELEVANCE
from tests.doubles.cases import reply as case_reply
from tests.doubles.llm_server import requested_schema, score_answer
from tests.doubles.waiting import until
from tests.edges import serving
from tests.edges.exchanges import Visitor
from tests.edges.serving import key
from tests.stored.commands import ANTHROPIC_STYLE, DATA, OPENAI_STYLE, records, run
from tests.stored.commands import answer as stored_answer

NDJSON = {"content-type": "application/x-ndjson"}

REASON = "no follow-on effect is treated"


def _agents(**models: str) -> str:
    return "".join(f'[[agents]]\nname = "{name}"\nmodel = "{model}"\n' for name, model in models.items())


THREE = 'rubric = "short"\n' + _agents(
    eve=OPENAI_STYLE.format("eve-1"), fay=OPENAI_STYLE.format("fay-1"), gus=ANTHROPIC_STYLE.format("kite-1")
)

PRICED = f'[[agents]]\nname = "cid"\nmodel = "{OPENAI_STYLE.format("cid-1")}"\nprice = {{input = 1, output = 2}}\n'

ONE = 'rubric = "short"\n' + PRICED

PAIR = _agents(ant=OPENAI_STYLE.format("ant-1"), bee=ANTHROPIC_STYLE.format("bee-1"))


def answer(body: dict[str, Any]) -> str:
    """What the models say: of a case by its number, of a scorer by its name, else as for the stored data."""
    said = json.dumps(body)
    if "says-" in body["model"]:
        return _scores(body, body["model"].partition("says-")[2].split("-"))
    schema = requested_schema(body)
    if schema is None or "source_relevance" not in schema["properties"]:
        return stored_answer(body)
    good = int(re.findall(r"case-(\d+)", said)[-1]) % 3 != 0 if "case-" in said else True
    names = ANALYSIS if "completeness" in schema["properties"] else RELEVANCE
    scores = dict.fromkeys(names, (10 if good else 9, 0.9))
    if "completeness" in scores and REASON in said and not good:
        scores["completeness"] = (5, 0.9)
    return case_reply(scores)


def _scores(body: dict[str, Any], given: list[str]) -> str:
    """Scores for the criteria in their order; the last one for all that are left."""
    reply = json.loads(score_answer(4)(body))
    named = [name for name, one in reply.items() if isinstance(one, dict) and "score" in one]
    for place, name in enumerate(named):
        reply[name]["score"] = int(given[min(place, len(given) - 1)])
    return json.dumps(reply)


def done(*words: str) -> None:
    found = run(*words)
    assert found.code == 0, f"{words}: {found.stdout[-500:]}{found.stderr[-500:]}"


def browser(client: httpx2.Client) -> httpx2.Client:
    return httpx2.Client(base_url=client.base_url, timeout=100, headers={"accept": "text/html"})


def options(folder: Path) -> dict[str, Any]:
    """Of the service: three keys, one worker of jobs, so that nothing depends on who is first."""
    panels = {"default": THREE, "one": ONE, "pair": PAIR, **AROUND}
    return {
        "panels": {name: serving.panel(folder, name, text) for name, text in panels.items()},
        "candidates": {
            "set": tuple(serving.candidate(OPENAI_STYLE.format(name), name=name) for name in ("yak", "zebu"))
        },
        "store": folder / "store.db",
        "keys": (key("ci"), key("reader", "read"), key("slow", "read", a_minute=1)),
        "limits": serving.limits(job_workers=1, jobs_running=1),
    }


def _weighted(*agents: tuple[str, float]) -> str:
    return 'strategy = "weighted_average"\n' + _scorers(*agents)


def _scorers(*agents: tuple[str, float]) -> str:
    style = OPENAI_STYLE.format
    return "".join(
        f'[[agents]]\nname = "a{n}"\nmodel = "{style(f"a{n}-says-{scores}")}"\nweight = {weight}\n'
        for n, (scores, weight) in enumerate(agents)
    )


def _voting(*scores: str) -> str:
    return 'strategy = "majority_vote"\n' + _scorers(*((one, 1.0) for one in scores))


def _discussing(*scores: str, aggregate: str = "average", last: str | None = None) -> str:
    """A discussion without a summariser, or one whose summariser has the last word."""
    model = OPENAI_STYLE.format(f"last-says-{last}")
    summariser = "" if last is None else f'[discussion.summariser]\nname = "last"\nmodel = "{model}"\n'
    head = f'strategy = "panel_discussion"\n[discussion]\naggregate = "{aggregate}"\n'
    return head + summariser + _scorers(*((one, 1.0) for one in scores))


AROUND = {
    "average_at": _weighted(("5", 1.0), ("4", 1.0)),
    "average_above": _weighted(("5", 1.02), ("4", 1.0)),
    "average_below": _weighted(("5", 1.0), ("4", 1.02)),
    "average_of_criteria": _weighted(("5-4", 1.0), ("4-5", 3.0)),
    "vote_none": _voting("5-4", "5-4", "5-4"),
    "vote_one": _voting("5-4", "5-4", "5"),
    "vote_two": _voting("5-4", "5", "5"),
    "vote_tied": _voting("5-4", "5"),
    "discussion_average_at": _discussing("5", "4"),
    "discussion_average_above": _discussing("5", "5", "4"),
    "discussion_average_below": _discussing("5", "4", "4"),
    "discussion_vote_above": _discussing("5-4", "5", "5", aggregate="majority"),
    "discussion_vote_below": _discussing("5-4", "5-4", "5", aggregate="majority"),
    "discussion_last_word_at": _discussing("5", "5", last="5-4"),
    "discussion_last_word_above": _discussing("4", "4", last="5"),
}
"""Panels whose scores under a rubric of two equal criteria lie at 4.5, above it and below it."""


def judgments() -> list[dict[str, Any]]:
    return [one for one in records(DATA / "many.jsonl") if one["order"] == ["B", "A"]]


def ndjson(given: list[Any]) -> str:
    return "".join(json.dumps(one) + "\n" for one in given)


def ended(api: Visitor) -> str:
    """Waits for the newest job; its address."""
    job = api.client.get("/v1/jobs", params={"limit": 1}).json()["jobs"][0]
    place = f"/v1/jobs/{job['job_id']}"
    states = ("done", "failed", "cancelled")
    until(lambda: api.client.get(place).json()["state"] in states, "the job does not end", within=100)
    return place


def open_reviews(api: Visitor, **wanted: str) -> list[str]:
    """Ids of open reviews, by what they are about, not by their age; of judgments, unless others are wanted."""
    params = {"status": "open", "limit": 500, **wanted}
    found = [one["review"] for one in api.client.get("/v1/reviews", params=params).json()["reviews"]]
    about = [one for one in found if wanted or one["subject"] == "judgment"]
    about.sort(key=lambda one: (one.get("subject_id", one["review_id"]), str(one.get("policy"))))
    return [one["review_id"] for one in about]
