"""Files of other tools, as they were written: read as the same judgments, and the same results without a model."""

import json

import pytest

from tests.edges.recorded import check, steady
from tests.edges.stored.stores import unpacked
from tests.stored.commands import inside, run

FILES = {
    "promptfoo": "tools/promptfoo/results.csv",
    "inspect": "tools/inspect/log.eval",
    "deepeval": "tools/deepeval/test_run.json",
    "alpaca_eval": "tools/alpaca_eval/alpaca-reasons.json",
    "fastchat": "tools/fastchat/gpt-4_pair.jsonl",
    "langfuse": "tools/langfuse",
}


@pytest.fixture
def folder(tmp_path):
    unpacked(tmp_path, "none")
    with inside(tmp_path, "http://127.0.0.1:9"):
        yield tmp_path


@pytest.mark.parametrize("tool", FILES)
def test_a_file_is_read_as_it_was(folder, tool):
    found = run("inspect", FILES[tool], "--json")
    vet = run("vet", FILES[tool], "--out", "out.jsonl", "--json")
    rows = (
        [json.loads(line) for line in (folder / "out.jsonl").read_text("utf-8").splitlines()] if vet.code == 0 else []
    )
    names = ("judgment_id", "item_id", "judge", "status", "final_score", "accepted", "category", "judgment_digest")
    read = [[one.get(name) for name in names] + [signals(one)] for one in rows]
    seen = steady(json.loads(found.stdout), folder) if found.stdout.startswith("{") else None
    check(f"stored/tool_{tool}", {"inspect": [found.code, seen], "vet": [vet.code, sorted(read, key=json.dumps)]})


def signals(one):
    return {name: value.get("value") for name, value in (one.get("signals") or {}).items()}
