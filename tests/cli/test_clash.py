"""``metajudge clash`` as a user runs it: against a server of both protocols, resumed, killed, with wrong input."""

import json
import signal
import time
from pathlib import Path

import pytest

from metajudge.clashes.record import ClashRecord, recount
from metajudge.errors import ConfigurationError, InputError
from metajudge.readers import open_judgments
from tests.doubles.llm_server import LLMServer, requested_schema, score_answer
from tests.doubles.ranking import criteria_answer, shown_in

PROMPT = "Explain entanglement to a child."


def answer(body):
    """Candidates answer with their name; criteria are named; judges prefer the longest text."""
    schema = requested_schema(body)
    if schema is None:
        return {"small": "short", "large": "a much longer answer"}.get(body["model"], "an answer")
    if "c5" in schema["properties"]:
        return json.dumps(criteria_answer())
    labels = list(schema["properties"]["scores"]["properties"])
    texts = shown_in(body["messages"][-1]["content"])
    order = sorted(labels, key=lambda label: len(texts[label]), reverse=True)
    if body["model"] == "contrary":
        order.reverse()
    scores = json.loads(score_answer(2)(body))["scores"]
    return json.dumps({"scores": scores, "comparison": "By length.", "ranking": order})


def candidates(server):
    return ("--candidate", f"openai:small@{server.url}", "--candidate", f"anthropic:large@{server.url}")


def judges(server, *models):
    models = models or ("openai:one", "anthropic:two", "contrary=openai:contrary")
    return tuple(part for model in models for part in ("--judge", f"{model}@{server.url}"))


def records(path="clash.jsonl"):
    return [ClashRecord.model_validate_json(line) for line in Path(path).read_text().splitlines()]


def write_items(path, count=4, **changes):
    given = [
        {"id": f"q{n}", "question": f"What is {n}?", "responses": {"a": f"long answer {n}", "b": "no"}, **changes}
        for n in range(count)
    ]
    Path(path).write_text("".join(json.dumps(one) + "\n" for one in given))
    return path


class TestOneprompt:
    def test_three_judges_of_two_protocols_two_candidates_observers_on(self, run):
        with LLMServer(answer=answer, latency_s=0.02) as server:
            done = run(
                "clash", PROMPT, *candidates(server), *judges(server), "--observers",
                "--criteria-model", f"openai:namer@{server.url}", "--out", "clash.jsonl", "--judgments", "j.jsonl",
            )  # fmt: skip
            paths = {request.path for request in server.requests}
            bodies = server.bodies
        assert done.exit_code == 0, done.output
        assert len(paths) == 2
        assert "winner large, 67% of the panel, margin 0.33; escalate (2 of 3 put large first)" in done.output
        assert "Observers (not counted):" in done.output
        (record,) = records()
        self.check_by_hand(record)
        assert record.criteria.source == "generated"
        assert all(one.first_token_s is not None and one.latency_s > 0 for one in record.candidates)
        ranked = [body for body in bodies if "scores" in json.dumps(requested_schema(body))]
        assert len(ranked) == 5
        shown = [body["messages"][-1]["content"] for body in ranked]
        assert not any(name in text for text in shown for name in ("small", "large", "openai", "anthropic"))

    @staticmethod
    def check_by_hand(record):
        points = {one.name: 0 for one in record.candidates}
        for vote in record.votes:
            if vote.role == "panel":
                for place, (name,) in enumerate(vote.ranking.groups, start=1):
                    points[name] += 2 - place
        assert points == record.tally.scores == {"large": 2, "small": 1}
        assert [vote.role for vote in record.votes] == ["panel"] * 3 + ["observer"] * 2
        assert recount(record) == record.tally

    def test_rankings_are_judgments_that_vet_reads(self, run):
        with LLMServer(answer=answer) as server:
            run("clash", PROMPT, *candidates(server), *judges(server), "--judgments", "j.jsonl")
        found = list(open_judgments(["j.jsonl"]))
        assert [str(one.verdict) for one in found] == ["large > small", "large > small", "small > large"]
        with LLMServer() as server:
            done = run("vet", "j.jsonl", "--agent", f"openai:m@{server.url}", "--out", "v.jsonl", "--store", "v.duckdb")
            assert 2 <= server.count <= 3  # two judges said the same, and may have had the same labels
        assert done.exit_code == 0, done.output

    def test_a_model_that_names_itself_is_hidden_from_the_judges(self, run):
        def telling(body):
            return "I am gpt-4o-mini." if requested_schema(body) is None else answer(body)

        with LLMServer(answer=telling) as server:
            flags = ("--candidate", f"openai:gpt-4o-mini@{server.url}", "--candidate", f"openai:small@{server.url}")
            run("clash", PROMPT, *flags, *judges(server), "--out", "clash.jsonl")
            ranked = [body for body in server.bodies if requested_schema(body)]
        assert not any("gpt-4o-mini" in json.dumps(body["messages"]) for body in ranked)
        assert records()[0].candidates[0].text == "I am gpt-4o-mini."

    def test_a_lost_candidate_and_an_empty_one(self, run):
        def silent(body):
            return "" if body["model"] == "small" else answer(body)

        with LLMServer(answer=silent, faults=lambda r: "404" if r.body["model"] == "gone" else None) as server:
            flags = (*candidates(server), "--candidate", f"openai:gone@{server.url}")
            done = run("clash", PROMPT, *flags, *judges(server), "--out", "clash.jsonl")
        assert done.exit_code == 1
        (record,) = records()
        assert record.answered == {"small": "", "large": "a much longer answer"}
        assert "gone: no answer" in done.output
        assert record.winner is not None

    def test_a_judge_lost_for_good_is_shown_and_below_the_quorum_there_is_no_verdict(self, run):
        lost = lambda request: "401" if request.body["model"] in ("one", "two") else None  # noqa: E731
        with LLMServer(answer=answer, faults=lost) as server:
            done = run("clash", PROMPT, *candidates(server), *judges(server), "--out", "clash.jsonl")
        assert done.exit_code == 1
        assert "no verdict, 1 of 3 judges gave a ranking, 2 are needed" in done.output
        assert records()[0].tally.voters == 3

    def test_voters_count_one_against_two(self, run):
        with LLMServer(answer=answer) as server:
            run("clash", PROMPT, *candidates(server), *judges(server), "--voters", "--out", "clash.jsonl")
        (record,) = records()
        assert [vote.weight for vote in record.votes] == [2.0, 2.0, 2.0, 1.0, 1.0]
        assert record.tally.scores == {"large": 6.0, "small": 2.0}

    def test_json_to_standard_output_is_nothing_but_json(self, run):
        with LLMServer(answer=answer) as server:
            done = run("clash", PROMPT, *candidates(server), *judges(server), "--json")
        data = json.loads(done.stdout)
        assert data["evaluations"][0]["winner"] == "large"
        assert data["summary"]["decided"] == 1
        assert {one["name"] for one in data["standings"]} == {"small", "large"}

    def test_a_report_holds_table_and_plot(self, run):
        with LLMServer(answer=answer) as server:
            flags = ("--report", "r.html", "--report", "r.md")
            priced = ("--candidate", f"openai:gpt-4o-mini@{server.url}", "--candidate", f"openai:gpt-4o@{server.url}")
            run("clash", PROMPT, *priced, *judges(server), *flags)
        page = Path("r.html").read_text()
        assert "<svg" in page
        assert "Quality against cost" in page
        assert "| candidate |" in Path("r.md").read_text()


class TestFiles:
    def test_given_responses_are_judged_and_nothing_is_generated(self, run, tmp_path):
        write_items("items.jsonl", label="a>b")
        with LLMServer(answer=answer) as server:
            flags = ("--responses", "given", "--out", "clash.jsonl", "--repeats", "2")
            done = run("clash", "items.jsonl", *judges(server), *flags)
            assert server.count == 4 * 3 * 2
        assert done.exit_code == 0, done.output
        found = records()
        assert sorted(one.id for one in found) == sorted(f"q{n}/r{r}" for n in range(4) for r in (1, 2))
        assert all(
            one.winner == "a" and one.label.winner == "a" and one.candidates[0].source == "given" for one in found
        )

    def test_the_same_command_again_asks_nothing_and_appends_nothing(self, run):
        write_items("items.jsonl")
        with LLMServer(answer=answer) as server:
            command = ("clash", "items.jsonl", *judges(server), "--responses", "given", "--out", "clash.jsonl")
            run(*command)
            before = Path("clash.jsonl").read_bytes()
            count = server.count
            done = run(*command)
            assert server.count == count
        assert Path("clash.jsonl").read_bytes() == before
        assert "4 evaluations from an earlier run" in done.output

    def test_a_lost_judge_is_asked_again_and_the_first_attempt_stays(self, run):
        write_items("items.jsonl", 1)
        lost = ["400"]
        fault = lambda request: lost.pop() if lost and request.body["model"] == "one" else None  # noqa: E731
        with LLMServer(answer=answer, faults=fault) as server:
            command = ("clash", "items.jsonl", *judges(server), "--responses", "given", "--out", "clash.jsonl")
            assert run(*command).exit_code == 1
            assert server.count == 3
            assert run(*command).exit_code == 0
            assert server.count == 4
        first, second = records()
        assert (first.attempt, second.attempt, second.key) == (1, 2, first.key)
        assert (first.tally.votes, second.tally.votes) == (2, 3)

    def test_cycles_make_answers_anew(self, run):
        with LLMServer(answer=answer) as server:
            flags = ("--cycles", "2", "--regenerate", "--repeats", "2", "--out", "clash.jsonl")
            done = run("clash", PROMPT, *candidates(server), *judges(server), *flags, "--json-out", "clash.json")
            generated = [body for body in server.bodies if requested_schema(body) is None]
        assert len(generated) == 4
        assert sorted((one.cycle, one.repeat) for one in records()) == [(1, 1), (1, 2), (2, 1), (2, 2)]
        assert "cycles.stable" in done.stdout
        found = json.loads(Path("clash.json").read_text())["cycles"]
        winners = {one.cycle: one.winner for one in records() if one.repeat == 1}
        assert found["cycles.stable"]["value"] == (100.0 if winners[1] == winners[2] else 0.0)
        assert found["cycles.digests"]["n"] == 2

    def test_a_line_cut_off_by_a_kill_is_dropped(self, run):
        write_items("items.jsonl", 2)
        with LLMServer(answer=answer) as server:
            command = ("clash", "items.jsonl", *judges(server), "--responses", "given", "--out", "clash.jsonl")
            run(*command)
            whole = Path("clash.jsonl").read_text()
            Path("clash.jsonl").write_text(whole[:-100])
            done = run(*command)
        assert done.exit_code == 0
        assert len(records()) == 2

    def test_a_file_of_something_else_is_refused_and_stays_as_it_is(self, run):
        write_items("items.jsonl", 2)
        Path("notes.txt").write_text("a line without an end")
        with LLMServer(answer=answer) as server:
            with pytest.raises(InputError, match="choose another --out"):
                run("clash", "items.jsonl", *judges(server), "--responses", "given", "--out", "notes.txt")
            assert server.count == 0
        assert Path("notes.txt").read_text() == "a line without an end"

    @pytest.mark.slow
    @pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
    def test_a_run_that_is_stopped_goes_on_without_asking_twice(self, metajudge, how):
        write_items(metajudge.folder / "items.jsonl", 30)
        with LLMServer(answer=answer, latency_s=0.05) as server:
            flags = ("--responses", "given", "--out", "clash.jsonl", "--concurrency", "6")
            command = ("clash", "items.jsonl", *judges(server), *flags)
            process = metajudge.start(*command)
            deadline = time.monotonic() + 60
            while server.count < 30 and time.monotonic() < deadline:
                time.sleep(0.02)
            process.send_signal(how)
            process.communicate(timeout=60)
            assert process.returncode == (130 if how is signal.SIGINT else -9)
            done = metajudge(*command)
            assert done.returncode == 0, done.stderr
            assert 90 <= server.count <= 90 + 6
        found = records(metajudge.folder / "clash.jsonl")
        assert sorted(one.id for one in found) == sorted(f"q{n}" for n in range(30))


class TestWrongInput:
    def test_the_same_model_twice_needs_names(self, run):
        with pytest.raises(ConfigurationError, match="candidate m is given more than once: name them apart"):
            run("clash", PROMPT, "--candidate", "vllm:m", "--candidate", "vllm:m", "--judge", "vllm:j")
        with pytest.raises(ConfigurationError, match="given more than once"):
            run("clash", PROMPT, "--candidate", "vllm:m", "--judge", "vllm:j", "--judge", "vllm:j")

    @pytest.mark.parametrize(
        ("flags", "message"),
        [
            ((), "no candidate"),
            (("--candidate", "vllm:m"), "no judge"),
            (("--candidate", "vllm:m", "--judge", "vllm:j", "--observers", "--voters"), "give one of them"),
            (("--candidate", "vllm:m", "--judge", "vllm:j", "--cycles", "2"), "add --regenerate"),
            (("--candidate", "vllm:m", "--judge", "vllm:j", "--candidate-weight", "1"), "needs --voters"),
            (("--candidate", "vllm:m", "--judge", "vllm:j", "--quorum", "2"), "quorum of 2"),
            (("--responses", "given", "--judge", "vllm:j", "--observers"), "name their models"),
            (("--candidate", "vllm:m", "--judge", "vllm:j", "--voters", "--candidate-weight", "0"), "has weight 0"),
        ],
    )
    def test_flags_that_make_no_sense_together(self, run, flags, message):
        with pytest.raises(ConfigurationError, match=message):
            run("clash", PROMPT, *flags)

    def test_files_that_are_not_there_empty_or_without_responses(self, run, tmp_path):
        flags = ("--candidate", "vllm:m", "--judge", "vllm:j", "--out", "c.jsonl")
        with pytest.raises(InputError, match="no such file"):
            run("clash", "missing.jsonl", *flags)
        Path("empty.jsonl").write_text("")
        with pytest.raises(InputError, match="contains no question"):
            run("clash", "empty.jsonl", *flags)
        Path("twice.jsonl").write_text('{"id": "a", "question": "x"}\n{"id": "a", "question": "y"}\n')
        with pytest.raises(InputError, match="is used for two questions"):
            run("clash", "twice.jsonl", *flags)
        with pytest.raises(InputError, match="takes the responses from a file"):
            run("clash", PROMPT, "--responses", "given", "--judge", "vllm:j")
        with pytest.raises(InputError, match="the prompt is empty"):
            run("clash", " ", *flags)

    def test_a_file_of_prompts_needs_a_file_of_attempts(self, run):
        write_items("items.jsonl")
        done = run("clash", "items.jsonl", "--candidate", "vllm:m", "--judge", "vllm:j")
        assert done.exit_code == 2

    def test_an_out_file_of_something_else_is_left_alone(self, run):
        write_items("items.jsonl")
        write_items("others.jsonl")
        with LLMServer(answer=answer) as server, pytest.raises(InputError, match=r"others\.jsonl:1 is not a record"):
            run("clash", "items.jsonl", *judges(server), "--responses", "given", "--out", "others.jsonl")
        assert len(Path("others.jsonl").read_text().splitlines()) == 4

    def test_prompts_are_never_written_over(self, run):
        write_items("items.jsonl")
        for option in ("--out", "--judgments", "--json-out"):
            outputs = {"--out": "o.jsonl", option: "items.jsonl"}
            flags = [part for pair in outputs.items() for part in pair]
            with pytest.raises(InputError, match="would be overwritten"):
                run("clash", "items.jsonl", "--judge", "vllm:j", "--responses", "given", *flags)
        assert len(Path("items.jsonl").read_text().splitlines()) == 4

    def test_one_candidate_and_twenty_six(self, run):
        with LLMServer(answer=answer) as server:
            done = run(
                "clash", PROMPT, "--candidate", f"openai:small@{server.url}", *judges(server), "--out", "k1.jsonl"
            )
        assert done.exit_code == 0, done.output
        assert records("k1.jsonl")[0].winner == "small"
        many = {f"m{n}": "x" * (n + 1) for n in range(26)}
        Path("many.jsonl").write_text(json.dumps({"id": "q", "question": "?", "responses": many}) + "\n")
        with LLMServer(answer=answer) as server:
            flags = ("--responses", "given", "--out", "k26.jsonl")
            run("clash", "many.jsonl", *judges(server, "openai:one"), *flags)
        (record,) = records("k26.jsonl")
        assert [group[0] for group in record.tally.ranking] == [f"m{n}" for n in range(25, -1, -1)]


class TestOneJudge:
    def test_one_judge_is_never_unanimous_and_one_that_takes_the_first_answer_is_reported(self, run):
        def first(body):
            labels = list(requested_schema(body)["properties"]["scores"]["properties"])
            scores = json.loads(score_answer(2)(body))["scores"]
            return json.dumps({"scores": scores, "comparison": "First.", "ranking": labels})

        with LLMServer(answer=first) as server:
            given = ("--responses", "given", *judges(server, "fond=openai:one"), "--out", "clash.jsonl")
            single = run("clash", write_items("one.jsonl", 1), *given[:-1], "a.jsonl")
            many = run("clash", write_items("q.jsonl", 12), *given, "--json-out", "c.json", "--report", "c.html")
        assert "escalate (one voter cannot agree with itself)" in single.output
        assert "(unanimous)" not in single.output
        assert "100%" not in single.output
        summary = json.loads(Path("c.json").read_text())["summary"]
        assert (summary["unanimous"], summary["escalated"]) == (0, 12)
        (found,) = summary["first_shown"]
        assert (found["first"], found["n"], found["reported"]) == (12, 12, True)
        sentence = "judge fond preferred the answer it was shown first in 12 of 12 evaluations"
        assert sentence in many.output
        assert sentence in found["sentence"]
        assert sentence in Path("c.html").read_text()
        assert "Blinding: no name to hide." in many.output

    def test_what_was_hidden_is_counted_in_the_output_and_listed_in_the_report(self, run):
        texts = {"a": "As GPT-4 by OpenAI, I say: it is long.", "b": "no"}
        with LLMServer(answer=answer) as server:
            path = write_items("q.jsonl", 2, responses=texts)
            given = ("--responses", "given", *judges(server), "--out", "clash.jsonl", "--report", "c.html")
            done = run("clash", path, *given)
        assert "Blinding: 4 names hidden in 2 answers (2 makers, 2 model families)." in done.output.replace(
            "2 model families, 2 makers", "2 makers, 2 model families"
        )
        page = Path("c.html").read_text()
        assert "hidden: maker" in page
        assert "3 to 8" in page


@pytest.mark.slow
def test_a_dry_run_sends_nothing_writes_nothing_and_counts_the_calls_of_the_run(metajudge, tmp_path):
    items = tmp_path / "items.jsonl"
    items.write_text(json.dumps({"id": "q", "question": "?", "responses": {"a": "x", "b": "y"}}) + "\n", "utf-8")
    with LLMServer(answer=lambda body: json.dumps(criteria_answer())) as server:
        judges = [part for name in "abc" for part in ("--judge", f"openai:{name}@{server.url}")]
        done = metajudge("clash", items, "--responses", "given", *judges, "--dry-run")
        assert server.count == 0
    assert done.returncode == 0, done.stderr
    assert "1 prompts, 1 evaluations, at most 3 calls" in done.stdout
    assert "cost unknown" in done.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["items.jsonl"]
