"""One panel file for every task: what a command does not use is named, and flags are settings of the file."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from metajudge.errors import ConfigurationError
from metajudge.panels.building import endpoint_limits
from metajudge.panels.config import panel_config, with_flags
from metajudge.providers.limits import LimitSettings
from metajudge.providers.spec import PROVIDERS
from metajudge.reading import write_jsonl
from metajudge.session import Session
from tests.api.service_process import process
from tests.cli.test_clash import answer, write_items
from tests.doubles.cases import flood
from tests.doubles.judgments import judgment
from tests.doubles.llm_server import LLMServer, requested_schema, score_answer

FILE = """
strategy = "weighted_average"
threshold = 3.5

[criteria]
model = "openai:namer@{url}"

[[agents]]
name = "one"
model = "openai:one@{url}"
price = {{ input = 1.0, output = 1.0 }}

[[candidates]]
name = "terse"
model = "openai:small@{url}"
system = "Answer in one word only, please."
[[candidates]]
model = "openai:large@{url}"
"""


def replies(body):
    """Scores of meta-judges and judges of pairs, else what a clash asks for."""
    names = (requested_schema(body) or {"properties": {}})["properties"]
    if "verdict" in names:
        return json.dumps({name: "A>B" if name == "verdict" else "Because." for name in names})
    return score_answer(5)(body) if names and "ranking" not in names and "c5" not in names else answer(body)


@pytest.fixture
def server():
    with LLMServer(answer=replies) as one:
        yield one


@pytest.fixture
def file(run, server):
    Path("clash.toml").write_text(FILE.format(url=server.url))
    write_jsonl(Path("in.jsonl"), [judgment("j1")])
    return "clash.toml"


def lines(done, words):
    return [line for line in done.stderr.splitlines() if words in line]


UNUSED = {
    "vet": "candidates, criteria",
    "judge": "strategy, threshold, candidates, criteria",
    "clash": "strategy, threshold",
    "check": "candidates, criteria",
}


class TestOneFile:
    @pytest.mark.parametrize("dry", [False, True])
    @pytest.mark.parametrize("task", UNUSED)
    def test_every_task_takes_it_and_names_once_what_it_does_not_use(self, run, server, file, task, dry):
        if task == "check" and dry:
            pytest.skip("check has no dry run")
        write_items("items.jsonl", 2)
        given = {
            "vet": ("in.jsonl",),
            "judge": ("items.jsonl", "--out", "judged.jsonl"),
            "clash": ("Why?", "--out", "clash.jsonl"),
            "check": (),
        }
        done = run(task, *given[task], "--config", file, *(["--dry-run"] if dry else []))
        assert done.exit_code == 0, done.output
        assert lines(done, "does not use") == [
            f"metajudge: note: the panel sets {UNUSED[task]}, which {task} does not use"
        ]
        asked = {body["model"] for body in server.bodies}
        assert asked == (set() if dry else {"one", *(["small", "large", "namer"] if task == "clash" else [])})

    def test_the_service_offers_all_of_it(self, run, server, file, tmp_path):
        with process(tmp_path, "--config", file) as (_, client):
            ask = {"question": {"id": "q", "question": "Why?"}, "candidates": "clash", "criteria_model": "namer"}
            made = client.post("/v1/clash", json=ask)
            vetted = client.post("/v1/vet", json={"judgment": judgment("j1").model_dump(mode="json")})
        assert (made.status_code, vetted.status_code) == (200, 200), (made.text, vetted.text)
        assert {one["name"] for one in made.json()["candidates"]} == {"terse", "large"}
        assert {body["model"] for body in server.bodies} == {"one", "small", "large", "namer"}

    def test_candidates_of_the_file_are_not_asked_where_responses_are_given_and_that_is_said(self, run, server, file):
        done = run("clash", write_items("items.jsonl", 1), "--config", file, "--responses", "given", "--out", "c.jsonl")
        assert done.exit_code == 0, done.output
        assert lines(done, "no candidate is asked")
        assert not {"small", "large"} & {body["model"] for body in server.bodies}

    @pytest.mark.parametrize(
        ("wrong", "said"),
        [
            ("[[candidate]]\nmodel = 'openai:m'", "candidate: no such setting; did you mean candidates?"),
            (
                "[[agents]]\nmodel = 'openai:m'\ntemprature = 1",
                "agents.0.temprature: no such setting; did you mean temp",
            ),
            ("[[candidates]]\nmodel = 'openai:m'\nrubric = 'long'", "candidates.0: rubric: a candidate answers and"),
            (
                "[[agents]]\nmodel = 'anthropic:m'\nmax_tokens = 9\nthinking_budget = 9",
                "agents.0: max_tokens 9 leaves no",
            ),
        ],
    )
    @pytest.mark.parametrize("command", [("vet", "in.jsonl"), ("clash", "Why?")])
    def test_a_typing_error_stays_one_and_has_the_near_word(self, run, file, command, wrong, said):
        Path("wrong.toml").write_text(wrong)
        with pytest.raises(ConfigurationError, match=f"^wrong.toml: {re.escape(said)}"):
            run(*command, "--config", "wrong.toml")


COMMANDS = {
    "vet": ("in.jsonl", "--agent"),
    "judge": ("items.jsonl", "--out", "judged.jsonl", "--judge"),
    "case": ("cases.jsonl", "--judge"),
    "clash": ("items.jsonl", "--responses", "given", "--out", "clash.jsonl", "--judge"),
    "peers": ("--questions", "questions.jsonl", "--out", "b.jsonl", "--model", "x=openai:x@{url}", "--model"),
    "check": ("--agent",),
}


class TestFlags:
    """Settings of a request on the command line, for agents of a file and for those named beside it."""

    @pytest.mark.parametrize("command", COMMANDS)
    def test_they_are_in_every_request(self, run, server, file, command):
        write_items("items.jsonl", 1)
        Path("cases.jsonl").write_text(flood().model_dump_json())
        Path("questions.jsonl").write_text('{"id": "q", "question": "Why?"}\n')
        words = [word.format(url=server.url) for word in COMMANDS[command]]
        more = () if command == "clash" else ("--max-tokens", "9000")  # there that is a setting of the candidates
        run(command, *words, f"anthropic:m@{server.url}", "--effort", "high", "--thinking-budget", "2000", *more)
        bodies = [body for body in server.bodies if body["model"] == "m"]
        assert bodies
        assert all(body["output_config"]["effort"] == "high" for body in bodies)
        assert all(body["thinking"] == {"type": "enabled", "budget_tokens": 2000} for body in bodies)
        assert all(body["max_tokens"] == (4 * 4096 + 2000 if command == "clash" else 9000) for body in bodies)

    @pytest.mark.parametrize(
        ("provider", "sent"),
        [
            ("openrouter", {"reasoning": {"max_tokens": 2000}}),
            ("gemini", {"extra_body": {"google": {"thinking_config": {"thinking_budget": 2000}}}}),
            ("dashscope", {"thinking_budget": 2000}),
            ("openai", {}),
        ],
    )
    def test_tokens_of_thoughts_are_sent_as_the_provider_names_them_or_their_loss_is_said(
        self, run, server, file, provider, sent
    ):
        done = run("vet", "in.jsonl", "--agent", f"{provider}:m@{server.url}", "--thinking-budget", "2000")
        assert done.exit_code == 0, done.output
        (body,) = server.bodies
        assert {name: body.get(name) for name in sent} == sent
        assert not any("think" in name or name in ("reasoning", "extra_body") for name in body.keys() - sent.keys())
        assert len(lines(done, "m: thinking_budget is not sent: the provider has no such setting")) == (not sent)

    def test_a_model_that_takes_none_is_asked_without_and_that_is_said(self, run, file):
        with LLMServer(answer=replies, faults=["unsupported:thinking"] * 2) as server:
            done = run("vet", "in.jsonl", "--agent", f"anthropic:m@{server.url}", "--thinking-budget", "2000")
        assert done.exit_code == 0, done.output
        assert ["thinking" in body for body in server.bodies] == [True, False]
        assert lines(done, "m: thinking_budget is not sent")

    def test_they_win_over_the_file_whose_other_settings_stay(self, run, server, file):
        done = run("vet", "in.jsonl", "--config", file, "--max-tokens", "777", "--effort", "low")
        assert done.exit_code == 0, done.output
        assert [(body["model"], body["max_tokens"], body["reasoning_effort"]) for body in server.bodies] == [
            ("one", 777, "low")
        ]
        assert "above 3.5" in done.stdout

    async def test_requests_a_minute_are_a_limit_of_every_address(self):
        panel = panel_config(
            {"agents": ["openai:m"], "limits": {"openai": {"concurrency": 3, "requests_per_minute": 90}}}
        )
        for flags, found in (({}, [None, 90]), ({"requests_per_minute": 6.0}, [6.0, 6.0])):
            changed = with_flags(panel, **flags)
            (own,) = endpoint_limits(changed, LimitSettings()).values()
            async with Session(panel=changed) as session:
                assert [session.resources.limits.requests_per_minute, own.requests_per_minute] == found
            assert own.per_endpoint == 3


class TestAddresses:
    """Where texts go is said before the first one leaves, with where the address was taken from."""

    def test_a_run_says_it_once_and_a_dry_run_what_would_be(self, run, server, file, monkeypatch):
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "k")
        flags = ("--agent", "openai:one", "--agent", f"two=openai:large@{server.url}/v1/")
        said = f"texts go to {server.url}/v1 (from OPENAI_BASE_URL): one; {server.url}/v1 (given with the model): two"
        for more in (("--dry-run",), ()):
            done = run("vet", "in.jsonl", *flags, *more)
            assert done.exit_code == 0, done.output
            assert lines(done, "texts go to") == [f"metajudge: note: {said}"]
        again = run("vet", "in.jsonl", *flags)
        assert not lines(again, "texts go to")  # nothing is asked

    def test_a_clash_names_all_who_are_asked(self, run, server, file):
        done = run("clash", "Why?", "--config", file, "--out", "clash.jsonl")
        (line,) = lines(done, "texts go to")
        assert line.endswith(f"{server.url}/v1 (given with the model): one, terse, large, namer")

    def test_check_and_doctor_say_it(self, run, server, file, monkeypatch):
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
        assert (
            f"m at anthropic@{server.url} (from ANTHROPIC_BASE_URL): ok"
            in run("check", "--agent", "anthropic:m").stdout
        )
        address = "https://api.openai.com/v1 (the provider's own address)"
        Path("own.toml").write_text('[[agents]]\nmodel = "openai:gpt-4o-mini"\n')
        assert f"texts go to {address}: gpt-4o-mini" in run("doctor", "--config", "own.toml").stdout
        assert f"texts go to {server.url} (from ANTHROPIC_BASE_URL): anthropic" in run("doctor").stdout


def test_a_profiles_requests_a_minute_hold_where_nothing_is_chosen(monkeypatch):
    monkeypatch.setitem(PROVIDERS, "groq", replace(PROVIDERS["groq"], requests_per_minute=30.0))
    panel = panel_config({"agents": ["groq:m", "mistral:m"]})
    ((where, own),) = endpoint_limits(panel, LimitSettings(8)).items()
    assert "groq" in where.base_url
    assert (own.requests_per_minute, own.concurrency) == (30.0, 8)
    assert not endpoint_limits(panel, LimitSettings(8, requests_per_minute=5.0)), "a chosen number counts"
    limited = panel_config({"agents": ["groq:m"], "limits": {"groq": {"requests_per_minute": 7}}})
    assert [one.requests_per_minute for one in endpoint_limits(limited, LimitSettings()).values()] == [7.0]
