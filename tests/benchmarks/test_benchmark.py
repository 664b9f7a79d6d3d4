import json

import pytest
from metajudge.benchmarks.bench import Bench, Request
from metajudge.benchmarks.benchmark import find_folder
from metajudge.benchmarks.judgebench import CARD

from metajudge.errors import InputError


def test_the_parent_folder_and_the_repository_are_found(small, tmp_path):
    parent = tmp_path / "parent"
    parent.mkdir()
    small.rename(parent / "judgebench")
    assert find_folder(CARD, parent) == parent / "judgebench"
    (parent / "upstream" / "outputs").mkdir(parents=True)
    assert find_folder(CARD, parent / "upstream") == parent / "upstream" / "outputs"
    with pytest.raises(InputError, match="no judgments of JudgeBench here"):
        find_folder(CARD, parent / "upstream" / "outputs")
    with pytest.raises(InputError, match="no such file or folder"):
        find_folder(CARD, tmp_path / "nowhere")


def test_outputs_of_the_meta_judges_repository_are_read_and_matched_to_the_grids_judges(tmp_path):
    folder = tmp_path / "LLMs-as-Meta-Judges" / "outputs" / "judgments"
    folder.mkdir(parents=True)
    name = "dataset=judgebench,response_model=gpt-4o-2024-05-13,judge_name=arena_hard,judge_model=gpt-4o-mini.jsonl"
    (folder / name).write_text("".join(json.dumps(output(number)) + "\n" for number in range(4)))
    bench = Bench(Request(benchmark="judgebench", data=folder.parents[1], grid="published"))
    assert bench.folder == folder
    assert {row.judge for row in bench.plan().rows} == {"gpt-4o-mini"}
    found = {row.item_id: (row.verdict, row.correct, row.order) for row in bench.observations.rows}
    # The runner failed on pair 3: its games are null, and the file's name says whose they were.
    assert found == {
        "p0": ("decided", True, "AB"),
        "p1": ("decided", False, "AB"),
        "p2": ("tie", False, "AB"),
        "p3": ("none", False, "AB"),
    }
    assert len(bench.vetted()["gpt-4o-mini"]) == 3


def output(number):
    """A line as the repository writes it, meta-judgments and all."""
    decision = ("A>B", "B>A", "A=B", None)[number]
    answer = {"judgment": {"judge_model": "gpt-4o-mini", "prompt": "...", "response": f"So: [[{decision}]]"}}
    games = [{**answer, "decision": decision}] * 2 if decision is not None else [None, None]
    return {
        "pair_id": f"p{number}",
        "original_id": str(number),
        "source": ("mmlu-pro-law", "livebench-reasoning", "livebench-math", "livecodebench")[number],
        "question": f"What is {number} + {number}?",
        "response_model": "gpt-4o-2024-05-13",
        "response_A": str(2 * number),
        "response_B": "no",
        "label": "A>B",
        "judge_name": "arena_hard",
        "judgments": games,
        "meta_judgments": [{"meta_score": "Score: 5"}],
    }
