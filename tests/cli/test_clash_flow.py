"""From prompts to concordance: generate, blind, judge, people's decisions back."""

import json
import random
from pathlib import Path

import pytest

from metajudge.clashes.record import ClashRecord
from metajudge.clashes.showing import labels_of
from metajudge.stats.intervals import wilson
from tests.doubles.llm_server import LLMServer, requested_schema
from tests.doubles.ranking import criteria_answer, shown_in

GOOD = {"terse": 60, "warm": 50, "m3": 40, "m4": 20, "m5": 0}
CRITERIA = (
    "truth: is it so?",
    "care: is it careful?",
    "brevity: no padding?",
    "tone: is it kind?",
    "use: does it help?",
)


def answer(body):
    """Candidates answer at a length that shows their quality; judges prefer length, each with errors of its own."""
    schema = requested_schema(body)
    if schema is None:
        prompts = [one["content"] for one in body["messages"] if one["role"] != "user"]
        who = prompts[0].split()[0] if prompts else body["model"]
        question = body["messages"][-1]["content"]
        return "y" * (100 + GOOD[who] + random.Random(question + who).randint(0, 30))
    if "c5" in schema["properties"]:
        return json.dumps(criteria_answer(*CRITERIA))
    texts = shown_in(body["messages"][-1]["content"])
    noise = random.Random(body["model"] + str(sorted(texts.values())))
    error = {label: noise.gauss(0, 15) for label in sorted(texts, key=lambda label: texts[label])}
    order = sorted(texts, key=lambda label: len(texts[label]) + error[label], reverse=True)
    grade = {"reason": f"{order[-1]} is thin", "score": 3}
    scores = {label: {f"c{n}": grade for n in range(1, 6)} for label in texts}
    return json.dumps({"scores": scores, "comparison": f"{order[0]} says most.", "ranking": order})


def write_files(url):
    """Twelve prompts, and one file with three judges, five candidates and the model of the criteria."""
    price = "price = { input = 1, output = 4 }"
    text = f'[criteria]\nmodel = "openai:namer@{url}"\n{price}\n'
    text += "".join(f'[[agents]]\nmodel = "openai:j{n}@{url}"\n{price}\n' for n in (1, 2, 3))
    for name in ("terse", "warm"):
        text += f'[[candidates]]\nname = "{name}"\nmodel = "openai:base@{url}"\n{price}\n'
        text += f'system = "{name} words only, as the house style says."\n'
    text += "".join(f'[[candidates]]\nmodel = "vllm:m{n}@{url}"\n{price}\n' for n in (3, 4, 5))
    Path("clash.toml").write_text(text)
    prompts = [{"id": f"q{n}", "question": f"Why is it number {n}?", "domain": "ab"[n % 2]} for n in range(12)]
    Path("prompts.jsonl").write_text("".join(json.dumps(one) + "\n" for one in prompts))


def decide(run, reviews, records):
    """One person decides every review blind, by true quality, and errs on two; returns how often the panel agreed."""
    agreed = []
    for place, record in enumerate(records):
        review, texts = reviews[record.id], record.answered
        ranked = sorted(texts, key=lambda name: len(texts[name]), reverse=True)
        best = ranked[1 if place < 2 else 0]
        label = next(label for label, name in labels_of(record, review).items() if name == best)
        for command in (("claim", review), ("decide", review, "--verdict", label)):
            done = run("review", *command, "--reviewer", "Ada", "--store", "s.duckdb")
            assert done.exit_code == 0, done.output
        agreed.append((record.tally.unanimous, record.winner == best))
    return agreed


@pytest.mark.slow
def test_twelve_prompts_five_candidates_from_one_file_one_command(run, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    with LLMServer(answer=answer) as server:
        write_files(server.url)
        files = ("--out", "clash.jsonl", "--json-out", "c.json")
        command = ("clash", "prompts.jsonl", "--config", "clash.toml", "--observers", "--review-sample", "1")
        done = run(*command, *files, "--store", "s.duckdb")
        bodies = server.bodies
    assert done.exit_code == 0, done.output
    check_blind(bodies)
    found = json.loads(Path("c.json").read_text())
    records = [ClashRecord.model_validate(one) for one in found["evaluations"]]
    agreed = decide(run, found["reviews"], records)
    check_concordance(run, agreed)


def check_blind(bodies):
    """No judge reads a candidate's name, model or system prompt; candidates read their own prompt alone."""
    ranked = [body for body in bodies if (schema := requested_schema(body)) and "scores" in schema["properties"]]
    assert len(ranked) == 12 * 8
    said = json.dumps([body["messages"] for body in ranked])
    assert not [word for word in ("terse", "warm", "house style", "m3", "base") if word in said]
    assert all(len(body.get("response_format", {}).__repr__()) < 9000 for body in ranked)


def check_concordance(run, agreed):
    done = run("clash", "--compare-people", "--store", "s.duckdb", "--json-out", "p.json")
    assert done.exit_code == 0, done.output
    found = json.loads(Path("p.json").read_text())["concordance"]
    for name, rows in (
        ("overall", agreed),
        ("unanimous", [one for one in agreed if one[0]]),
        ("divided", [one for one in agreed if not one[0]]),
    ):
        expected = wilson(sum(right for _, right in rows), len(rows))
        assert (found[name]["agreed"], found[name]["n"]) == (sum(right for _, right in rows), len(rows))
        assert found[name]["low"] == pytest.approx(expected.low)
        assert found[name]["high"] == pytest.approx(expected.high)
