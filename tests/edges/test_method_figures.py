"""The method on labels and in exports: figures and pairs are those that were worked out by hand."""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.doubles.judgebench import game, pair
from tests.doubles.llm_server import LLMServer
from tests.edges import method
from tests.edges.method import judgment
from tests.stored.commands import inside, run

DATA = os.environ.get("METAJUDGE_DATA")

KEPT = (0, 4, 12, 1, 9, 17, 2, 6, 10)
"""Pairs of the made benchmark whose judgments the two agents score 4.8 and 4.4; the others get 5 and 4, so exactly 4.5."""
DECIDED = {
    0: "A>B",
    4: "A>B",
    8: "A>B",
    12: "B>A",
    16: "B>A",  # Knowledge
    1: "A>B",
    5: "A>B",
    9: "B>A",
    13: "B>A",
    17: "A=B",  # Reasoning, with a tie
    2: "A>B",
    6: "A>B",
    10: "A>>B",
    14: "A>B",
    18: "A>B",  # Math
    3: "A>B",
    7: "B>A",
    11: "B>A",
    15: "B>>A",
    19: None,  # Coding, with one missing
}
"""Pair -> what the judge decided in the first game; A is right everywhere."""
ALL_DECIDED = {**DECIDED, 17: "B>A", 19: "B>A"}
"""The same with a wrong verdict in place of the tie and of the missing one."""
BY_CATEGORY = {  # judgments, right ones, kept, right ones of the kept, Wilson's interval at 95 %
    "Knowledge": (5, 3, 3, 2, 0.207659600802, 0.93850805528),
    "Reasoning": (5, 2, 3, 1, 0.061491944720, 0.792340399198),
    "Math": (5, 5, 3, 3, 0.438502968245, 1.0),
    "Coding": (5, 1, 0, 0, None, None),
    "Overall": (20, 11, 9, 6, 0.35420213558, 0.879416181613),
}
"""Of both: the paper counts ties and missing verdicts as wrong judgments. The tie is kept; what is missing cannot be."""
GRID = """
title = "Made"
[population]
games = "first"
undecided = "wrong"
[agents.dot]
model = "vllm:dot@{url}/v1"
[agents.eve]
model = "vllm:eve@{url}/v1"
[[judges]]
name = "owl"
match = ["owl"]
[[configurations]]
name = "both"
judge = "owl"
agents = ["dot", "eve"]
strategy = "weighted_average"
"""


def made_benchmark(folder: Path, decided: dict[int, str | None]) -> None:
    """Twenty pairs in JudgeBench's layout, the first game of each by one judge."""
    folder.mkdir()
    rows = {"pairs": map(pair, decided), "judgments": (game(n, "AB", said) for n, said in decided.items())}
    for name, lines in rows.items():
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def vets_pairs(body: dict[str, Any]) -> str:
    """Two agents' scores of the judgments about the made pairs."""
    numbers = set(re.findall(r"What is (\d+) \+", str(body["messages"])))
    assert len(numbers) == 1
    scores = (method.P48, method.P44) if int(numbers.pop()) in KEPT else (method.TOP, method.FOUR)
    return method.reply(scores[body["model"] == "eve"], list(method.CRITERIA))


@pytest.fixture(scope="module")
def two_agents() -> Iterator[LLMServer]:
    with LLMServer(answer=vets_pairs) as server:
        yield server


@pytest.mark.parametrize("way", ["agents", "grid"])
def test_precision_coverage_recall_and_interval_by_category(way, two_agents, tmp_path):
    made_benchmark(tmp_path / "made", {"agents": ALL_DECIDED, "grid": DECIDED}[way])
    (tmp_path / "grid.toml").write_text(GRID.replace("{url}", two_agents.url))
    agents = [word for name in ("dot", "eve") for word in ("--agent", f"{name}=vllm:{name}@{two_agents.url}/v1")]
    asked = {"agents": (*agents, "--strategy", "weighted_average"), "grid": ("--grid", "grid.toml")}[way]
    with inside(tmp_path, two_agents.url):
        done = run("bench", "judgebench", "--data", "made", *asked, "--json")
    assert done.code == 0, done.stderr
    (judge,) = done.json()["judges"]
    (row,) = [one for one in judge["rows"] if one["kind"] == "configuration"]
    assert row["threshold"]["value"] == 4.5
    assert set(row["cells"]) == set(BY_CATEGORY)
    for category, (n, right, kept, true, low, high) in BY_CATEGORY.items():
        cell = row["cells"][category]
        assert (cell["n"], cell["right"], cell["selected"], cell["selected_right"]) == (n, right, kept, true), category
        assert (cell["coverage"], cell["recall"]) == pytest.approx((kept / n, true / right))
        if low is None:
            assert "share" not in cell["precision"], "nothing is kept, so there is no precision"
            continue
        found = [cell["precision"][name] for name in ("share", "low", "high")]
        assert found == pytest.approx([true / kept, low, high], abs=1e-9), category


def test_precision_without_agents_is_that_of_all_judgments(tmp_path, two_agents):
    made_benchmark(tmp_path / "made", ALL_DECIDED)
    with inside(tmp_path, two_agents.url):
        done = run("bench", "judgebench", "--data", "made", "--json")
    (judge,) = done.json()["judges"]
    raw = judge["rows"][0]["cells"]["Overall"]
    assert (raw["n"], raw["selected"], raw["selected_right"], raw["coverage"]) == (20, 20, 11, 1.0)
    found = [raw["precision"][name] for name in ("share", "low", "high")]
    assert found == pytest.approx([11 / 20, 0.34208534245, 0.741802141744], abs=1e-9)


def paired(key: str, verdict: str, **changes: Any) -> dict[str, Any]:
    """A judgment of ``key``'s item by owl, under an id that names the item."""
    return judgment(key, verdict=verdict) | changes


EXPORTED = [
    paired("d1", "A>B"),
    paired("d2", "B>A"),
    paired("d3", "A=B"),
    paired("d4", "A>>B", item={**judgment("d4")["item"], "responses": {"A": "It is 4.", "B": "It is  4."}}),
    paired("d5", "A>B"),  # scored exactly 4.5
    paired("d6", "A>B"),
    paired("d6", "A>>B", id="d6-swapped", order=["B", "A"]),
    paired("d7", "A>B"),
    paired("d7", "B>A", id="d7-swapped", order=["B", "A"]),
    paired("d8", "B>A"),  # scored 4
]
DPO = {
    "item-d1": ("Case d1: what is 2 + 2?", "It is 4. (d1)", "It is 5. (d1)", 1.0),
    "item-d2": ("Case d2: what is 2 + 2?", "It is 5. (d2)", "It is 4. (d2)", 1.0),
    "item-d6": ("Case d6: what is 2 + 2?", "It is 4. (d6)", "It is 5. (d6)", 1.5),
}
"""Item -> prompt, chosen, rejected, margin. No tie, no equal texts, no contradiction, nothing at or below 4.5."""


def scores_exports(body: dict[str, Any]) -> str:
    (key,) = set(re.findall(r"Case (\w+):", str(body["messages"])))
    return method.reply({"d5": method.NOISY, "d8": method.FOUR}.get(key, method.TOP), list(method.CRITERIA))


@pytest.mark.parametrize("form", ["trl", "trl-conversational"])
def test_preferences_hold_prompt_chosen_and_rejected_of_what_is_kept(form, tmp_path):
    (tmp_path / "judgments.jsonl").write_text("".join(json.dumps(one) + "\n" for one in EXPORTED))
    with LLMServer(answer=scores_exports) as server, inside(tmp_path, server.url):
        vetted = run("vet", "judgments.jsonl", "--agent", f"fox=vllm:fox@{server.url}/v1", "--json")
        assert vetted.code == 0, vetted.stderr
        done = run("export", "preferences", "--out", "pairs", "--format", form)
        assert done.code == 0, done.stderr
        assert run("export", "check", "pairs").code == 0
    rows = duckdb.sql(f"select * from '{tmp_path}/pairs/data/*.parquet'").to_arrow_table().to_pylist()
    found = {row["item_id"]: tuple(row[name] for name in ("prompt", "chosen", "rejected", "margin")) for row in rows}
    assert len(rows) == len(found)
    if form == "trl":
        assert found == DPO
        return
    assert found == {
        item: (*([{"role": role, "content": text}] for role, text in said), margin)
        for item, (prompt, chosen, rejected, margin) in DPO.items()
        for said in [(("user", prompt), ("assistant", chosen), ("assistant", rejected))]
    }


RECORDED = {  # counted in the recorded games themselves: category -> right; of pairs judged alike: games, right
    "Knowledge": (896, 936, 696),
    "Reasoning": (432, 356, 316),
    "Math": (257, 240, 220),
    "Coding": (172, 148, 136),
    "Overall": (1757, 1680, 1368),
}
BY_JUDGE = {
    "claude-3-haiku-20240307": (250, 127),
    "o1-mini-2024-09-12": (656, 509),
    "openrouter/inception/mercury-coder": (361, 266),
    "openrouter/inception/mercury": (362, 265),
    "openrouter/minimax/minimax-m2.1": (294, 225),
    "openrouter/minimax/minimax-m2": (201, 163),
    "openrouter/z-ai/glm-4.7": (245, 202),
}


@pytest.mark.slow
@pytest.mark.skipif(DATA is None, reason="METAJUDGE_DATA names no folder of recorded data")
def test_precision_on_the_recorded_judgments_of_judgebench(tmp_path):
    data = Path(DATA) / "judgebench"
    with inside(tmp_path, "http://127.0.0.1:9"):
        done = run("bench", "judgebench", "--data", str(data), "--json")
    judges = {one["judge"]: one["rows"] for one in done.json()["judges"]}
    raw, alike = judges["all judges"][:2]
    for category, (right, games, true) in RECORDED.items():
        kept = alike["cells"][category]
        assert raw["cells"][category]["selected_right"] == right, category
        assert (kept["selected"], kept["selected_right"]) == (games, true), category
        assert (kept["precision"]["share"], kept["recall"]) == pytest.approx((true / games, true / right)), category
    found = {one["judge"]: one for one in done.json()["accuracy"]}
    counted = {name: (found[name]["decided"], found[name]["precision"]["successes"]) for name in BY_JUDGE}
    assert counted == BY_JUDGE
