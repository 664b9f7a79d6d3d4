"""``metajudge peers``: ballots from a file and from a server, resumption, failures, and every printed number again."""

import json
import re
import signal
from collections import defaultdict
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import kendalltau, pearsonr, rankdata

from metajudge.errors import BadLineError, ConfigurationError, InputError
from tests.doubles.jsonl import lines
from tests.doubles.llm_server import LLMServer
from tests.doubles.waiting import until
from tests.peers.elections import NAMES, ballots, failed
from tests.peers.fake_models import answer, is_ranking, said

DOMAINS = ("math", "Creative Writing", None)


def questions(count, path="questions.jsonl"):
    lines = []
    for number in range(count):
        domain = DOMAINS[number % 3]
        one = {"id": f"q{number}", "question": f"What is {number} + {number}?"} | ({"domain": domain} if domain else {})
        lines.append(json.dumps(one) + "\n")
    Path(path).write_text("".join(lines))
    return path


def models(server, names=NAMES):
    return [flag for name in names for flag in ("--model", f"{name}=openai:{name}@{server.url}")]


def command(server, count=3, names=NAMES[:3], *more):
    return (
        *("--questions", questions(count), *models(server, names), "--out", "b.jsonl"),
        *("--resamples", "0", *more),
    )


# ---------------------------------------------------------------------------------------------------------------------
# Every number once more, from the file of ballots, by other means: brute force, scipy, plain loops.


class Again:
    """Everything the command prints, from the stored ballots."""

    def __init__(self, path):
        self.by_question = defaultdict(dict)
        for one in lines(path):
            assert one["status"] == "ok"
            assert one["ranking"] is not None
            places = dict(zip(NAMES, rankdata([_group(one, name) for name in NAMES]), strict=True))
            self.by_question[one["question_id"]][one["evaluator"]] = places
        self.questions = sorted(self.by_question)

    def consensus(self, ballots):
        """Kemeny by trying all orders: mean places over the cheapest."""
        above = np.zeros((6, 6))
        for places in ballots:
            for i, a in enumerate(NAMES):
                for j, b in enumerate(NAMES):
                    above[i, j] += places[a] < places[b]
        costs = {
            order: sum(above[order[j], order[i]] for i in range(6) for j in range(i + 1, 6))
            for order in permutations(range(6))
        }
        least = min(costs.values())
        best = [order for order, cost in costs.items() if cost == least]
        return {name: float(np.mean([order.index(k) + 1 for order in best])) for k, name in enumerate(NAMES)}, len(best)

    def table(self):
        """[Q] consensus with, and without a model's own ballot."""
        whole = {q: self.consensus(given.values()) for q, given in self.by_question.items()}
        free = {
            q: {name: self.consensus([p for e, p in given.items() if e != name])[0][name] for name in NAMES}
            for q, given in self.by_question.items()
        }
        return whole, free


def _group(ballot, name):
    return next(number for number, group in enumerate(ballot["ranking"]) if name in group)


def interval(values, drawn):
    """Percentiles of medians of resampled questions, one by one."""
    return np.quantile([np.median(np.asarray(values)[rows]) for rows in drawn], [0.025, 0.975])


def mean_interval(values, drawn):
    return np.quantile([np.mean(np.asarray(values)[rows]) for rows in drawn], [0.025, 0.975])


def printed_figure(value, low=None, high=None):
    value, *ends = [round(float(one), 9) + 0.0 for one in (value, low, high) if one is not None]
    return f"{value:.3f}" + (f" ({ends[0]:.3f} to {ends[1]:.3f})" if ends else "")


def table_rows(output, caption):
    """Row name -> its cells, of a table on standard output."""
    block = output.split(caption, 1)[1].split("\n\n", 1)[0].splitlines()[2:]
    rows = [re.split(r" {2,}", line.strip()) for line in block if line.startswith("  ")]
    return {cells[0]: cells[1:] for cells in rows}


class TestSixModelsTwentyQuestions:
    @pytest.mark.slow
    def test_every_printed_number_is_recomputed_from_the_stored_ballots(self, run):
        with LLMServer(answer=answer) as server:
            files = ("--json-out", "o.json", "--report", "o.html", "--report", "o.md")
            human = ("--human", "arena: " + " > ".join(NAMES), "--top-k", 3)
            flags = ("--questions", questions(20), *models(server), "--out", "b.jsonl", *human, *files)
            done = run("peers", *flags)
            assert done.exit_code == 0, done.output
            assert server.count == 240
        ballots = lines("b.jsonl")
        assert len(ballots) == 120
        self.check_protocol(ballots, server)
        again = Again("b.jsonl")
        whole, free = again.table()
        drawn = np.random.default_rng([0, 1]).integers(0, 20, size=(2000, 20))
        self.check_places(done.output, again, whole, free, drawn)
        self.check_alignment(done.output, again, whole, free, drawn)
        found = json.loads(Path("o.json").read_text())
        assert found["ambiguity"]["share"]["value"] == np.mean([count > 1 for _, count in whole.values()])
        # The same ballots read from the file give the same findings to the last digit, intervals included.
        human = ("--human", "arena: " + " > ".join(NAMES), "--top-k", 3)
        second = run("peers", "--rankings", "b.jsonl", *human, "--json-out", "again.json")
        other = json.loads(Path("again.json").read_text())
        assert {**found, "provenance": {}} == {**other, "provenance": {}}
        assert second.stdout.removesuffix("Written: again.json\n") in done.stdout

    def check_protocol(self, ballots, server):
        """Blind, own answer included, another order for every evaluator and question, all of it stored."""
        assert all(set(one["labels"].values()) == set(NAMES) for one in ballots)
        assert len({tuple(one["labels"].values()) for one in ballots}) > 80
        for body in (body for body in server.bodies if is_ranking(body)):
            assert said(body).count("As [name hidden] I answer") == 6
            assert not re.search(rf"\b({'|'.join(NAMES)})\b", said(body))
        criteria = {one["question_id"]: one["meta"].get("criteria") for one in ballots}
        assert [criteria[f"q{n}"] for n in range(3)] == ["math", "writing", None]
        answers = lines("b.answers.jsonl")
        assert len(answers) == 120
        assert all(one["text"].startswith(f"As {one['model']} I answer") for one in answers)

    def check_places(self, output, again, whole, free, drawn):
        overall, _ = again.consensus([p for given in again.by_question.values() for p in given.values()])
        places = table_rows(output, "Places by kemeny")
        own = table_rows(output, "Self and peers")
        for name in NAMES:
            sie = [whole[q][0][name] for q in again.questions]
            sfe = [free[q][name] for q in again.questions]
            se = [again.by_question[q][name][name] for q in again.questions]
            pe = [np.mean([p[name] for e, p in again.by_question[q].items() if e != name]) for q in again.questions]
            shift = np.subtract(sie, sfe)
            expected = [printed_figure(overall[name])]
            expected += [printed_figure(np.mean(v), *mean_interval(v, drawn)) for v in (sie, sfe, shift)]
            assert [places[name][0], *places[name][2:5]] == expected
            assert places[name][5] == "20"
            figures = (se, pe, np.subtract(se, pe))
            assert own[name] == [printed_figure(np.mean(v), *mean_interval(v, drawn)) for v in figures]

    def check_alignment(self, output, again, whole, free, drawn):
        rows = table_rows(output, "Pearson correlation with arena")
        right = np.arange(1.0, 7.0)
        by_row = {
            "kemeny": [[whole[q][0][name] for name in NAMES] for q in again.questions],
            "kemeny, self-free": [[free[q][name] for name in NAMES] for q in again.questions],
            "borda": [
                rankdata([round(sum(p[name] for p in again.by_question[q].values()), 9) for name in NAMES])
                for q in again.questions
            ],
            "kemeny, top 3": [
                list(again.consensus([_cut(p) for p in again.by_question[q].values()])[0].values())
                for q in again.questions
            ],
            **{
                f"{e} alone": [[again.by_question[q][e][name] for name in NAMES] for q in again.questions]
                for e in NAMES
            },
        }
        for name, rankings in by_row.items():
            values = [pearsonr(one, right).statistic for one in rankings]
            low, middle, high = np.quantile(values, [0.25, 0.5, 0.75])
            expected = [printed_figure(middle, *interval(values, drawn))]
            expected += [printed_figure(one) for one in (low, high, high - low)]
            assert rows[name][:4] == expected, name
            macro = pearsonr(np.mean(rankings, axis=0), right).statistic
            assert rows[name][4].startswith(printed_figure(macro)), name
            assert rows[name][-1] == "20"
        taus = [kendalltau(one, right).statistic for one in by_row["kemeny"]]
        found = json.loads(Path("o.json").read_text())["references"][0]["rows"]
        (kendall,) = [r for r in found if r["name"] == "kemeny" and r["measure"] == "kendall"]
        assert kendall["micro"]["median"]["value"] == pytest.approx(np.median(taus))


def _cut(places):
    """The three best, the others together behind them."""
    return {name: place if place <= 3 else 9.0 for name, place in places.items()}


class TestResumption:
    def test_the_files_alone_are_enough_when_the_store_is_gone(self, run):
        with LLMServer(answer=answer) as server:
            run("peers", *command(server, 3, NAMES[:3], "--store", "one.duckdb"))
            run("peers", *command(server, 3, NAMES[:3], "--store", "two.duckdb"))
            assert server.count == 18

    def test_another_seed_in_the_same_file_is_refused(self, run):
        with LLMServer(answer=answer) as server:
            run("peers", *command(server))
            with pytest.raises(InputError, match="made with other settings"):
                run("peers", *command(server, 3, NAMES[:3], "--seed", "1"))
            assert server.count == 18

    def test_more_questions_go_on_in_the_same_file(self, run):
        with LLMServer(answer=answer) as server:
            run("peers", *command(server, 2))
            done = run("peers", *command(server, 3))
            assert server.count == 18
        assert "3 questions, 9 ballots" in done.output

    def test_a_budget_ends_with_3_and_the_next_run_goes_on(self, run):
        with LLMServer(answer=answer) as server:
            text = "".join(
                f'[[agents]]\nname = "{name}"\nmodel = "openai:{name}@{server.url}"\nprice = {{input = 1.0, output = 1.0}}\n'
                "max_tokens = 300\n"
                for name in NAMES[:3]
            )
            Path("p.toml").write_text(text)
            flags = ("--questions", questions(3), "--config", "p.toml", "--out", "b.jsonl")
            done = run("peers", *flags, "--concurrency", 1, "--budget-usd", "0.005")
            assert done.exit_code == 3, done.output
            assert "The budget is spent" in done.output
            assert 0 < server.count < 18
            again = run("peers", *flags)
            assert again.exit_code == 0
            assert server.count == 18
        spent = sum(one["cost_usd"] for name in ("b.jsonl", "b.answers.jsonl") for one in lines(name))
        assert spent > 0
        assert f"All attempts in the files, earlier runs included: ${spent:.4f}" in again.stdout

    @pytest.mark.slow
    @pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
    def test_a_run_that_is_stopped_loses_no_ballot_that_was_written(self, metajudge, how):
        log = metajudge.folder / "b.jsonl"
        with LLMServer(answer=answer, latency_s=0.05) as server:
            asked = questions(20, metajudge.folder / "questions.jsonl")
            command = ("peers", "--questions", asked, *models(server), "--out", "b.jsonl", "--resamples", 0)
            process = metajudge.start(*command, "--concurrency", 4)
            until(lambda: log.exists() and log.read_bytes().count(b"\n") > 20)
            process.send_signal(how)
            out, _ = process.communicate(timeout=30)
            stopped = how is signal.SIGINT
            assert process.returncode == (130 if stopped else -9)
            assert ("Interrupted. Run the same command again" in out) == stopped
            kept = log.read_bytes().rpartition(b"\n")[0]
            assert kept.count(b"\n") >= 20
            done = metajudge(*command)
            assert done.returncode == 0, done.stderr
            assert log.read_bytes().startswith(kept)
            assert len(lines(log)) == 120
            assert server.count <= 240 + (0 if stopped else 16), "only what was in flight is asked twice"


class TestFailures:
    def test_an_evaluator_who_failed_everywhere_is_recorded_counted_and_asked_again(self, run):
        def down(request):
            return "401" if request.body["model"] == "cat" and is_ranking(request.body) else None

        with LLMServer(answer=answer, faults=down) as server:
            done = run("peers", *command(server, 3, NAMES[:5], "--report", "o.md"))
        assert done.exit_code == 1
        failed = [one for one in lines("b.jsonl") if one["status"] == "failed"]
        assert [(one["evaluator"], one["failure"]["kind"], one["replied"]) for one in failed] == [
            ("cat", "auth", False)
        ] * 3
        assert "Missing from cat: 3 auth. Run the same command again to retry" in done.output
        assert "cat failed on every ballot (3 auth)" in done.output
        assert "12 ballots" in done.output
        assert "| q0 | cat | auth |" in Path("o.md").read_text()

    def test_a_failed_ballot_stays_in_the_file_and_the_next_attempt_is_added(self, run):
        broken = {"on": True}

        def down(request):
            return "413" if broken["on"] and request.body["model"] == "bee" and is_ranking(request.body) else None

        with LLMServer(answer=answer, faults=down) as server:
            assert run("peers", *command(server)).exit_code == 1
            broken["on"] = False
            assert run("peers", *command(server)).exit_code == 0
            assert server.count == 18 + 3
        attempts = [(one["attempt"], one["status"]) for one in lines("b.jsonl") if one["evaluator"] == "bee"]
        assert sorted(attempts) == [(1, "failed")] * 3 + [(2, "ok")] * 3

    def test_a_question_whose_missing_answer_came_is_ranked_anew_with_all_answers(self, run):
        broken = {"on": True}

        def down(request):
            return "400" if broken["on"] and request.body["model"] == "bee" and not is_ranking(request.body) else None

        with LLMServer(answer=answer, faults=down) as server:
            first = run("peers", *command(server))
            assert first.exit_code == 1
            assert {len(one["candidates"]) for one in lines("b.jsonl")} == {2}
            broken["on"] = False
            second = run("peers", *command(server))
        assert second.exit_code == 0
        ballots = lines("b.jsonl")
        assert len(ballots) == 18, "the earlier ballots stay"
        assert [len(one["candidates"]) for one in ballots if one["attempt"] == 2] == [3] * 9
        assert "3 questions, 9 ballots" in second.output

    def test_a_ranking_that_is_no_permutation_is_never_mended(self, run):
        def careless(body):
            if is_ranking(body) and body["model"] == "ant":
                return json.dumps({"scores": {}, "analysis": "", "ranking": "A0 > A0 > A1"})
            return answer(body)

        with LLMServer(answer=careless) as server:
            done = run("peers", *command(server))
            asked = server.count
            run("peers", *command(server))
            assert server.count == asked, "a reply that came stands, of use or not"
        assert done.exit_code == 1
        failed = [one for one in lines("b.jsonl") if one["status"] == "failed"]
        assert {(one["evaluator"], one["failure"]["kind"]) for one in failed} == {("ant", "bad_reply")}

    def test_bad_question_lines_are_told_and_the_rest_is_asked(self, run):
        with LLMServer(answer=answer) as server:
            flags = command(server)
            with Path("questions.jsonl").open("a") as file:
                file.write('nonsense\n{"id": "q9", "question": " "}\n')
            done = run("peers", *flags)
            with pytest.raises(BadLineError, match=r"questions\.jsonl:4"):
                run("peers", *flags, "--strict")
        assert done.exit_code == 0
        assert "questions.jsonl:4" in done.output
        assert "2 lines of questions.jsonl are no questions" in done.output


class TestBadInput:
    def test_one_model(self, run):
        with pytest.raises(ConfigurationError, match="at least two models"):
            run("peers", "--questions", questions(1), "--model", "vllm:x", "--out", "b.jsonl")

    def test_no_out(self, run):
        done = run("peers", "--questions", questions(1), "--model", "vllm:x", "--model", "vllm:y")
        assert done.exit_code == 2
        assert "give --out BALLOTS.jsonl" in done.output

    def test_one_id_for_two_questions_or_no_question(self, run):
        two = '{"id": "q", "question": "a"}\n{"id": "q", "question": "b"}\n'
        for text, message in (
            (two, r"q\.jsonl:2: the id 'q' is used for two"),
            ('{"id": "q"}\n', "contains no question"),
        ):
            Path("q.jsonl").write_text(text)
            with pytest.raises(InputError, match=message):
                run("peers", "--questions", "q.jsonl", "--model", "vllm:x", "--model", "vllm:y", "--out", "b.jsonl")


def test_an_evaluator_ranks_and_is_not_ranked(run):
    with LLMServer(answer=answer) as server:
        judge = f"owl=openai:owl@{server.url}"
        done = run("peers", *command(server, 3, NAMES[:3], "--evaluator", judge, "--json-out", "o.json"))
        assert done.exit_code == 0, done.output
        asked = [one["model"] for one in server.bodies]
        assert asked.count("owl") == 3  # a ballot for each question, no answer
        with pytest.raises(ConfigurationError, match="as a model and as an evaluator"):
            run("peers", *command(server, 3, NAMES[:3], "--evaluator", f"ant=openai:ant@{server.url}"))
    found = json.loads(Path("o.json").read_text())
    assert (found["evaluators"], found["models"]) == (sorted([*NAMES[:3], "owl"]), sorted(NAMES[:3]))
    assert found["ballots"] == 12
    assert "$0.0000" not in done.output
    assert "cost unknown" in done.output


def write(given, path="ballots.jsonl"):
    Path(path).write_text("".join(one.model_dump_json(exclude_none=True) + "\n" for one in given), "utf-8")
    return path


QUICK = ("--resamples", "0")


class TestRankings:
    def test_lost_ballots_are_told_and_end_with_1_under_strict(self, run):
        write([*ballots(4, evaluators=NAMES[:5]), *(failed(f"q{n}", "fox", "refused") for n in range(4))])
        done = run("peers", "--rankings", "ballots.jsonl", *QUICK, "--report", "o.md")
        assert done.exit_code == 0
        assert run("peers", "--rankings", "ballots.jsonl", *QUICK, "--strict").exit_code == 1
        assert "4 ballots lost to failures" in done.output
        assert "fox failed on every ballot (4 refused)" in done.output
        assert "Lost ballots" in Path("o.md").read_text()

    def test_bad_lines_are_told_and_do_not_count(self, run):
        write(ballots(4))
        with Path("ballots.jsonl").open("a") as file:
            file.write('{"question_id": "q9", "evaluator": "ant", "ranking": ["bee", "bee"]}\nnonsense\n')
        done = run("peers", "--rankings", "ballots.jsonl", *QUICK)
        assert done.exit_code == 0
        with pytest.raises(BadLineError, match="names 'bee' more than once"):
            run("peers", "--rankings", "ballots.jsonl", *QUICK, "--strict")
        assert "ballots.jsonl:5" not in done.output
        assert "ballots.jsonl:25: the ranking names 'bee' more than once" in done.output
        assert "2 lines of ballots.jsonl are no ballots" in done.output
        assert "24 ballots" in done.output

    def test_hostile_names_stay_text(self, run):
        names = ("<script>alert(1)</script>", "a|b", "\x1b[31mred", "normal")
        write(ballots(4, names=names, phi=0.5))
        done = run("peers", "--rankings", "ballots.jsonl", *QUICK, "--report", "o.html", "--report", "o.md")
        assert done.exit_code == 0
        assert "\x1b" not in done.output
        assert "<script>" not in Path("o.html").read_text()


class TestBadRankings:
    def test_ballots_are_never_written_over(self, run):
        Path("b.jsonl").write_text('{"question_id": "q", "evaluator": "x", "ranking": ["a", "b"]}\n')
        with pytest.raises(InputError, match="would be overwritten"):
            run("peers", "--rankings", "b.jsonl", "--json-out", "b.jsonl")
        assert "ranking" in Path("b.jsonl").read_text()
