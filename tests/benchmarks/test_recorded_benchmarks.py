"""The recorded judgments, where METAJUDGE_DATA names their folder: every published cell, time and memory."""

import json
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from metajudge.benchmarks.bench import ALL_JUDGES, Bench, Request
from metajudge.benchmarks.benchmark import benchmark_named, find_folder, open_recorded
from metajudge.benchmarks.findings import OVERALL

DATA = os.environ.get("METAJUDGE_DATA")
pytestmark = pytest.mark.skipif(DATA is None, reason="METAJUDGE_DATA does not name the folder of recorded data")

CATEGORIES = ("Knowledge", "Reasoning", "Math", "Coding", OVERALL)

NAMES = {
    ("Qwen-Qwen3-1.7B", "Qwen-Qwen3-8B"): "Qwen3-1.7B/pointwise, Qwen3-8B rubric",
    ("Qwen-Qwen3-1.7B", "none"): "Qwen3-1.7B/pointwise, no rubric",
    ("Qwen-Qwen3-8B", "Qwen3-8B"): "Qwen3-8B/pointwise, Qwen3-8B rubric",
    ("meta-llama-Llama-3.1-8B-Instruct", "Qwen3-8B"): "Llama-3.1-8B-Instruct/pointwise, Qwen3-8B rubric",
    ("Qwen-Qwen3-1.7B", "gpt-4.1-2025-04-14"): "Qwen3-1.7B/pointwise, gpt-4.1-2025-04-14 rubric",
}
"""Judge and rubric model as the table names them -> as the records do."""

AGREEING = {
    "o1-mini-2024-09-12": (470, 86.4),
    "claude-3-haiku-20240307": (116, 50.0),
    "openrouter/inception/mercury": (272, 80.1),
    "openrouter/inception/mercury-coder": (264, 81.8),
    "openrouter/minimax/minimax-m2.1": (204, 86.3),
    "openrouter/z-ai/glm-4.7": (186, 84.9),
    "openrouter/minimax/minimax-m2": (168, 81.0),
}
"""Judge -> judgments (two a pair) of the pairs judged alike in both orders, and their precision in per cent."""


@cache
def accuracy(name):
    benchmark = benchmark_named(name)
    folder = find_folder(benchmark.card, Path(DATA))
    return {one.judge: one for one in benchmark.accuracy(open_recorded(benchmark.card, folder).all(), folder)}


def percent(share):
    return round(100 * share, 2)


def test_every_judgebench_cell_is_the_published_one():
    found = accuracy("judgebench")
    table = json.loads((Path(DATA) / "judgebench" / "accuracy.json").read_text())
    table += json.loads((Path(DATA) / "judgebench" / "accuracy_pairwise.json").read_text())
    seen = set()
    for row in table:
        name = NAMES.get((row["judge_model"], row.get("rubric_model")), row["judge_model"])
        one = found.get(name) or found[name.replace("_", "/", 1)]
        seen.add(one.judge)
        assert {c: percent(one.cells[c].share) for c in CATEGORIES} == {c: row[c] for c in CATEGORIES}, name
        assert one.games == row["games"], name
        assert one.decided == row.get("games_decided", row.get("decided")), name
        agreeing = row.get("pairs_both_orders_agree", row.get("agree"))
        assert one.agreeing.n == agreeing, name
        if "games_tie" in row:
            assert (one.ties, one.without_verdict) == (row["games_tie"], row["games_unparsed"]), name
            assert percent(one.precision.share) == row["precision_decided_games"], name
            assert percent(one.agreeing.share) == row["precision_both_orders_agree"], name
    assert seen == set(found)
    assert len(seen) == 17


@pytest.mark.slow
def test_every_llmbar_cell_is_the_published_one():
    found = accuracy("llmbar")
    table = json.loads((Path(DATA) / "llmbar" / "accuracy.json").read_text())
    assert len(table) == 404
    for row in table:
        one, subset = found[f"{row['judge_model']}/{row['judge_prompt']}"], row["subset"]
        shares = {name: round(cells[subset].share, 4) for name, cells in one.measures.items()}
        assert shares["first order"] == row["acc_ab"], row
        assert shares["swapped order"] == row["acc_ba"], row
        assert shares["both orders"] == row["acc_both"], row
        assert shares["orders agree"] == row["agreement"], row
        assert one.measures["unread"][subset].successes == row["unparsed"], row
        assert round(one.cells[subset].share, 4) == row["acc_mean"], row
        assert one.measures["first order"][subset].n == row["n"], row
    cells = sum(len(one.cells) - 1 for one in found.values())
    assert cells == 404


@pytest.mark.slow
def test_precision_of_order_consistent_judgments_is_the_recorded_one():
    bench = Bench(Request(benchmark="judgebench", data=Path(DATA)))
    found = bench.findings(bench.plan())
    for judge in found.judges:
        if judge.judge == ALL_JUDGES:
            continue
        cell = {row.name: row for row in judge.rows}["both orders agree"].cells[OVERALL]
        assert (cell.selected, round(100 * cell.precision.share, 1)) == AGREEING[judge.judge]


def peak_kb(status):
    return int(re.search(r"VmHWM:\s+(\d+) kB", status.read_text()).group(1))


@pytest.mark.slow
def test_the_whole_offline_grid_takes_less_than_20_seconds_and_500_megabytes(tmp_path):
    code = (
        "import atexit, pathlib; about = pathlib.Path('/proc/self/status'); "
        "atexit.register(lambda: pathlib.Path('status.txt').write_text(about.read_text())); "
        "from metajudge.cli.bench import app; app(standalone_mode=False)"
    )
    words = ["judgebench", "--data", DATA, "--report", str(tmp_path / "r.html"), "--json-out", str(tmp_path / "r.json")]
    words += ["--scores", str(tmp_path / "s.jsonl")]
    with (tmp_path / "log.txt").open("wb") as log:
        process = subprocess.Popen([sys.executable, "-c", code, *words], stdout=log, stderr=log, cwd=tmp_path)
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, (tmp_path / "log.txt").read_text()
    assert usage.ru_utime + usage.ru_stime < 20
    # What wait4 says holds the memory of this process too, from which that one was started.
    assert peak_kb(tmp_path / "status.txt") < 500_000
    assert len((tmp_path / "s.jsonl").read_text().splitlines()) == 2_369


def shares(name):
    """Judge -> accuracy over all categories in per cent, judgments that count, and further shares."""
    return {
        judge: (
            one.cells[OVERALL].n,
            round(100 * one.cells[OVERALL].share, 1),
            {measure: round(100 * cells[OVERALL].share, 1) for measure, cells in one.measures.items()},
        )
        for judge, one in accuracy(name).items()
    }


@pytest.mark.slow
def test_mtbench_is_close_to_the_source_which_has_a_third_more_items():
    """The source says 88.4 % of pairs judged alike, 85.4 % of presentations, 16.1 % of pairs flipped."""
    found = accuracy("mtbench")["gpt-4-0613-pair"]
    assert (found.agreeing.n, round(100 * found.agreeing.share, 1)) == (752, 88.7)
    assert (found.decided, round(100 * found.precision.share, 1)) == (1668, 85.4)
    assert shares("mtbench")["gpt-4-0613-pair"][2] == {"orders differ": 16.3, "a repeat says the same": 85.1}
    assert shares("mtbench")["gpt-4o"][:2] == (53, 84.9)


@pytest.mark.slow
def test_realmistake_is_close_to_the_source_which_has_a_third_more_responses():
    """The source says 62.8 and 48.2 % over the simple prompts, 57.2 % by the first one, 69.2 % by its majority."""
    found = shares("realmistake")
    assert found["gpt-4-0125-preview, simple prompts"][:2] == (2436, 63.3)
    assert found["gemma-7b-it, simple prompts"][:2] == (2436, 48.2)
    assert found["all models, baseline_errordetection_prompt_1"][:2] == (7308, 57.2)
    assert found["majority of the models, baseline_errordetection_prompt_1"][:2] == (528, 70.8)


@pytest.mark.slow
def test_rewardbench2_is_close_to_the_source_which_has_a_third_more_items():
    """The source says .48/.65/.70/.74 by place for the first judge, 77 to 98 % of the items judged alike."""
    found = accuracy("rewardbench2")
    places = shares("rewardbench2")["NCSOFT/Llama-3-OffsetBias-8B"][2]
    assert list(places.values()) == [47.2, 64.5, 70.4, 73.2]
    alike = [round(100 * one.agreeing.share) for one in found.values() if one.kind == "ranking"]
    assert sorted(alike) == [78, 81, 90, 92, 97]
    assert shares("rewardbench2")["Skywork/Skywork-Reward-V2-Llama-3.1-8B"][:2] == (1182, 88.8)
