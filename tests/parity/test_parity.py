"""Whatever can be asked for in two of command line, HTTP and Python is one thing: the same bytes are sent to the same
models, and the same results come back."""

import importlib
import json
from itertools import chain
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from typer.testing import CliRunner

import metajudge
from metajudge.adapters.vetting import Vetting
from metajudge.cli.app import app
from metajudge.client import Client
from metajudge.panels.config import load_panel_file
from metajudge.peers import Ballot, Options, analyse, counted_ballots
from metajudge.reading.reasons import as_judgment
from metajudge.types import Assessment, Judgment
from tests.api.conftest import running
from tests.doubles.cases import flood
from tests.doubles.llm_server import LLMServer, requested_schema, score_answer
from tests.doubles.ranking import shown_in

app_module = importlib.import_module("metajudge.api.app")

AUTHOR = "I am gpt-4o by OpenAI, and I say 4."
ITEM = {
    "id": "i-1",
    "question": "What is 2 + 2?",
    "responses": {"A": AUTHOR, "B": "It is 5, as Claude."},
    "models": {"A": "gpt-4o", "B": "anthropic/claude-3-opus"},
    "reference": "4",
}
JUDGMENT = {"id": "j-1", "item": ITEM, "judge": "owl", "verdict": "A>B", "rationale": "A adds.", "order": ["A", "B"]}
QUESTIONS = [{"id": "q-1", "question": "What is 2 + 2?", "domain": "sums"}, {"id": "q-2", "question": "Why?"}]
BALLOTS = [
    {"question_id": f"q{number}", "evaluator": name, "ranking": [["a"], ["b", "c"]] if name == "a" else [["b"], ["a"]]}
    for number in range(3)
    for name in "ab"
]
RANKINGS = [[["a"], ["b"], ["c"]], [["b"], ["a", "c"]], [["a"], ["c"], ["b"]]]
NAMES = ("gpt", "openai", "claude", "anthropic", "opus")

PANEL = """
strategy = "majority_vote"
early_exit = false
seed = 11

[[agents]]
name = "x"
model = "openai:x@URL"
role = "You look for wrong sums."
weight = 2.0
temperature = 0.5

[[agents]]
name = "y"
model = "openai:y@URL"
max_tokens = 300
seed = 5

[[agents]]
name = "z"
model = "openai:z@URL"
samples = 2
"""
"""Settings that all tasks use, that only vetting uses, and a weight, which judging and cases do not use."""

CHANGING = {"latency_s", "evaluated_at", "run_id", "file", "format", "left_out"}
"""Ids, times and files: what differs between two runs of the same thing."""


def answer(body):
    """A usable reply to any request; a candidate's answer says who it is by."""
    schema = requested_schema(body)
    if schema is None:
        return AUTHOR
    reply = json.loads(score_answer()(body))
    if "ranking" in schema["properties"]:
        reply["ranking"] = " > ".join(sorted(shown_in(body["messages"][-1]["content"])))
    return json.dumps(reply)


def plain(found):
    """Plain data without what differs between two runs."""
    if isinstance(found, dict):
        return {name: plain(one) for name, one in found.items() if name not in CHANGING}
    return [plain(one) for one in found] if isinstance(found, list | tuple) else found


def dumped(record):
    return json.loads(record.model_dump_json())


class Paths:
    """The three ways in, over one panel file, each with a store of its own."""

    def __init__(self, folder: Path, server: LLMServer):
        self.folder, self.server = folder, server
        self.stand_ins = {}
        self.notices = {"cli": [], "http": [], "python": []}
        self.file = folder / "panel.toml"
        self.file.write_text(PANEL.replace("URL", server.url))
        self.panel = load_panel_file(self.file)

    def write(self, name, *records):
        path = self.folder / name
        path.write_text("".join(json.dumps(one) + "\n" for one in records))
        return path

    def lines(self, name):
        return [json.loads(line) for line in (self.folder / name).read_text().splitlines()]

    def cli(self, *words):
        done = CliRunner().invoke(app, [str(word) for word in words])
        assert done.exit_code == 0, done.output
        self.notices["cli"] = [line.removeprefix("metajudge: note: ") for line in done.stderr.splitlines()]
        return done

    def asking(self, *words):
        return self.cli(*words, "--config", self.file, "--store", self.folder / "cli.duckdb")

    def http(self, path, body):
        options = app_module.ServiceOptions(panels={"default": self.panel}, store=self.folder / "http.duckdb")
        with TestClient(app_module.create_app(options), base_url="http://127.0.0.1") as client:
            found = client.post(path, json=body)
        assert found.status_code == 200, found.text
        self.notices["http"] = found.json().get("notices", [])
        return found.json()

    @property
    def options(self):
        """What every Python call is given."""
        notify = self.notices["python"].append
        return {"panel": self.panel, "store": self.folder / "python.duckdb", "notify": notify, **self.stand_ins}


class Vet:
    def cli(self, paths):
        paths.asking("vet", paths.write("j.jsonl", JUDGMENT), "--out", "a.jsonl")
        (line,) = paths.lines("a.jsonl")
        return line

    def http(self, paths):
        return paths.http("/v1/vet", {"judgment": JUDGMENT})

    def python(self, paths):
        return dumped(metajudge.vet(JUDGMENT, **paths.options))


class Judge:
    def cli(self, paths):
        paths.asking("judge", paths.write("i.jsonl", ITEM), "--out", "j.jsonl", "--with-reference")
        return [dumped(Judgment.model_validate(one)) for one in paths.lines("j.jsonl")]

    def http(self, paths):
        return paths.http("/v1/judge", {"item": ITEM, "with_reference": True})["judgments"]

    def python(self, paths):
        found = metajudge.judge(ITEM, with_reference=True, **paths.options)
        return [dumped(one) for one in found.judgments]


class Grade:
    def cli(self, paths):
        paths.asking("judge", paths.write("i.jsonl", ITEM), "--grade", "--out", "j.jsonl")
        return [dumped(Judgment.model_validate(one)) for one in paths.lines("j.jsonl")]

    def http(self, paths):
        return paths.http("/v1/judge", {"item": ITEM, "grade": True})["judgments"]

    def python(self, paths):
        return [dumped(one) for one in metajudge.grade(ITEM, **paths.options).judgments]


class Clash:
    def cli(self, paths):
        words = ("--responses", "given", "--seed", 3, "--ties", "--quorum", 2, "--out", "c.jsonl")
        paths.asking("clash", paths.write("i.jsonl", ITEM), *words)
        (line,) = paths.lines("c.jsonl")
        return line

    def http(self, paths):
        return paths.http("/v1/clash", {"item": ITEM, "seed": 3, "ties": True, "quorum": 2})

    def python(self, paths):
        (record,) = metajudge.clash(ITEM, seed=3, ties=True, quorum=2, **paths.options).records
        return dumped(record)


class Case:
    def cli(self, paths):
        done = paths.asking("case", paths.write("c.jsonl", dumped(flood())), "--json")
        (result,) = json.loads(done.stdout)["results"]
        return result

    def http(self, paths):
        found = paths.http("/v1/cases", {"case": dumped(flood())})
        del found["notices"]
        return found

    def python(self, paths):
        return dumped(metajudge.judge_case(dumped(flood()), **paths.options))


class Peers:
    def cli(self, paths):
        words = ("--out", "b.jsonl", "--seed", 3, "--resamples", 0)
        paths.asking("peers", "--questions", paths.write("q.jsonl", *QUESTIONS), *words)
        return paths.lines("b.jsonl")

    def python(self, paths):
        found = metajudge.run_peers(QUESTIONS, seed=3, **paths.options)
        return [json.loads(one.model_dump_json(exclude_none=True)) for one in found.ballots]


class GivenBallots:
    def cli(self, paths):
        rankings = paths.write("b.jsonl", *BALLOTS)
        paths.cli("peers", "--rankings", rankings, "--resamples", 0, "--json-out", "f.json")
        return without_source(json.loads((paths.folder / "f.json").read_text()))

    def http(self, paths):
        return without_source(paths.http("/v1/peers", {"ballots": BALLOTS}))

    def python(self, paths):
        ballots = counted_ballots(Ballot.model_validate(one) for one in BALLOTS)
        options = Options(resamples=0)
        return without_source(dumped(analyse(ballots, options)))


class Rank:
    """``limits`` are those of the service, which bounds every search."""

    def __init__(self, rule, options, limits):
        self.rule, self.options, self.limits = rule, options, limits

    def cli(self, paths):
        file = paths.write("r.jsonl", *({"ranking": one} for one in RANKINGS))
        given = (self.options | self.limits).items()
        words = [word for name, value in given for word in (f"--{name.replace('_', '-')}", value)]
        return json.loads(paths.cli("rank", file, "--rule", self.rule, *words, "--json").stdout)

    def http(self, paths):
        return paths.http("/v1/rank", {"rankings": RANKINGS, "rule": self.rule, **self.options})

    def python(self, paths):
        return json.loads(json.dumps(metajudge.rank(RANKINGS, rule=self.rule, **self.options, **self.limits).to_json()))


def without_source(findings):
    return {name: one for name, one in findings.items() if name != "provenance"}


TASKS = {
    "vet": Vet(),
    "judge": Judge(),
    "grade": Grade(),
    "clash": Clash(),
    "case": Case(),
    "peers": Peers(),
    "given ballots": GivenBallots(),
    "rank": Rank("kemeny", {"ties": "ignore"}, {"time_limit": 10.0}),
    "rank by strength": Rank("plackett_luce", {"prior": 1}, {}),
}
BLIND = ("judge", "grade", "clash", "peers")
"""Tasks whose models do not read who wrote what they judge."""
ASKING = ("vet", "judge", "grade", "clash", "case", "peers")
REQUESTS = {"vet": 4, "judge": 6, "grade": 6, "clash": 3, "case": 6, "peers": 12}


@pytest.fixture
def paths(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for name in ("OPENAI_API_KEY", "METAJUDGE_STORE"):
        monkeypatch.delenv(name, raising=False)
    with LLMServer(answer=answer) as server:
        yield Paths(tmp_path, server)


def sent_and_found(task, paths):
    """What each path of a task sent, as sorted bytes, and what it returned."""
    sent, found = {}, {}
    for name in ("cli", "http", "python"):
        if hasattr(task, name):
            before = paths.server.count
            found[name] = getattr(task, name)(paths)
            sent[name] = sorted(one.raw for one in paths.server.requests[before:])
    return sent, found


@pytest.mark.parametrize("name", TASKS)
def test_every_path_sends_the_same_bytes_and_returns_the_same_result(name, paths):
    sent, found = sent_and_found(TASKS[name], paths)
    assert len(found) >= 2
    assert {len(bodies) for bodies in sent.values()} == {REQUESTS.get(name, 0)}
    (first, *others) = found
    for other in others:
        assert sent[other] == sent[first], f"{other} asks otherwise than {first}"
        assert plain(found[other]) == plain(found[first]), f"{other} returns otherwise than {first}"


@pytest.mark.parametrize("name", BLIND)
def test_no_path_tells_a_judge_who_wrote_an_answer(name, paths):
    sent, _ = sent_and_found(TASKS[name], paths)
    for path, bodies in sent.items():
        judged = [body for body in map(json.loads, bodies) if requested_schema(body) is not None]
        assert judged
        for body in judged:
            text = json.dumps(body["messages"], ensure_ascii=False).lower()
            assert "name hidden" in text
            assert not [one for one in NAMES if one in text], path


def test_a_verdicts_judges_see_no_model_that_only_the_record_names(paths):
    sent, _ = sent_and_found(TASKS["vet"], paths)
    for body in chain.from_iterable(sent.values()):
        assert b"opus" not in body, "the item's models are for the family check alone"


@pytest.mark.parametrize("name", ["judge", "grade", "clash", "case", "peers"])
def test_settings_that_a_task_does_not_use_are_named_alike_on_every_path(name, paths):
    _, found = sent_and_found(TASKS[name], paths)
    first = "role" if name == "clash" else "role, weight"
    for path in found:
        said = [one for one in paths.notices[path] if one.startswith("agent ")]
        assert said == [
            f"agent x: {first} dropped: only vetting uses such settings",
            "agent z: samples dropped: only vetting uses such settings",
        ]


@pytest.mark.parametrize("name", ASKING)
def test_scripted_models_stand_in_for_the_agents_of_a_panel_file(name, paths):
    def reply(request):
        schema = None if request.schema is None else {"json_schema": {"schema": request.schema.schema}}
        messages = [{"role": "system", "content": request.system}]
        messages += [{"role": one.role, "content": one.text} for one in request.messages]
        return answer({"messages": messages, "response_format": schema})

    models = [metajudge.ScriptedModel(reply, name=name) for name in "xyz"]
    expected = TASKS[name].python(paths)
    asked = paths.server.count
    paths.stand_ins = {"agents": models}
    found = TASKS[name].python(paths)
    assert paths.server.count == asked, "an agent of the panel file was asked all the same"
    assert sum(len(model.requests) for model in models) == asked == REQUESTS[name]
    assert len(found) == len(expected)


HISTORY = [
    as_judgment(
        {
            "question": f"What is 2 + {number}?",
            "responses": ["4", "5"],
            "judge": "owl",
            "rationale": "A adds.",
            "verdict": ("A>>B", "A>B")[number % 2],
            "label": "AB"[(number + number // 8) % 2],
        }
    )
    for number in range(48)
]
LOOSE = {"question": "What is 3 + 3?", "responses": ["6", "7"], "verdict": "A", "rationale": "A adds.", "judge": "owl"}


@pytest.mark.parametrize("history", [True, False])
def test_a_verdict_that_stands_alone_has_one_answer_whichever_way_it_comes(history, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("METAJUDGE_STORE", str(tmp_path / "s.db"))
    metajudge.vet(HISTORY, store="s.db")
    if history:
        assert CliRunner().invoke(app, ["calibrate", "history", "--judge", "owl"]).exit_code == 0
    full = as_judgment(LOOSE)
    found = {
        "python": metajudge.vet(LOOSE, store="s.db"),
        "in a list": metajudge.vet([LOOSE, {**LOOSE, "question": "Another?"}], store="s.db")[0],
        "adapter": Vetting(store="s.db").vet_now(full),
    }
    options = app_module.ServiceOptions(store=tmp_path / "s.db")
    with running(options) as service, Client(str(service.base_url)) as client:
        found["http"] = client.vet(LOOSE)
        found["with others"] = client.vet(LOOSE, others=[{**LOOSE, "question": "Another?"}])
        found["stream"] = Assessment.model_validate(dict(client.vet_stream(LOOSE))["assessment"])
        job = client.vet_batch([LOOSE, {**LOOSE, "question": "Another?"}])
        found["batch"] = next(one for number, one in client.results(job["job_id"]) if number == 0)
        listed = client.request("POST", "/v1/vet/batch", json=[LOOSE]).json()
        found["array"] = next(one for _, one in client.results(listed["job_id"]))
        assert client.request("GET", f"/v1/assessments/{full.id}").is_success
    answers = {way: plain(dumped(one)) for way, one in found.items()}
    assert {way for way, one in answers.items() if one != answers["python"]} == set()
    assert found["http"].defaulted == ("id", "item_id")
    assert (found["http"].probability is not None) == history
    assert found["http"].do.action == ("discard" if history else "ask")
