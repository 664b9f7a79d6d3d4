"""Reads the recorded benchmark data, where METAJUDGE_DATA names its folder, and compares with published counts."""

import json
import os
import time
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from metajudge.readers import JudgmentSource, open_judgments

DATA = os.environ.get("METAJUDGE_DATA")
pytestmark = pytest.mark.skipif(DATA is None, reason="METAJUDGE_DATA does not name the folder of recorded data")

# judge -> decided games, games, precision of the decided ones in per cent.
PRECISION = {
    "o1-mini-2024-09-12": (656, 700, 77.6),
    "claude-3-haiku-20240307": (250, 380, 50.8),
    "openrouter/inception/mercury": (362, 380, 73.2),
    "openrouter/inception/mercury-coder": (361, 380, 73.7),
    "openrouter/minimax/minimax-m2.1": (294, 380, 76.5),
    "openrouter/z-ai/glm-4.7": (245, 380, 82.4),
    "openrouter/minimax/minimax-m2": (201, 380, 81.1),
}


def recorded(name: str) -> JudgmentSource:
    return open_judgments([Path(DATA or "") / name], strict=True)


def test_judgebench_precision_is_the_published_one() -> None:
    games: Counter[str] = Counter()
    decided: Counter[str] = Counter()
    right: Counter[str] = Counter()
    for judgment in recorded("judgebench"):
        games[judgment.judge] += 1
        if judgment.verdict is not None and judgment.verdict.winner is not None:
            decided[judgment.judge] += 1
            right[judgment.judge] += judgment.correct is True
    found = {judge: (decided[judge], games[judge], round(100 * right[judge] / decided[judge], 1)) for judge in games}
    assert found == PRECISION


def test_judgebench_pairs_whose_games_agree_are_as_published() -> None:
    winners: defaultdict[tuple[str, str], list[str | None]] = defaultdict(list)
    right: Counter[str] = Counter()
    for judgment in recorded("judgebench"):
        winners[judgment.judge, judgment.item.id].append(judgment.verdict.winner if judgment.verdict else None)
        right[f"{judgment.judge} {judgment.item.id}"] += judgment.correct is True
    agreeing: Counter[str] = Counter()
    agreeing_right: Counter[str] = Counter()
    for (judge, item), (first, second) in winners.items():
        if first is not None and first == second:
            agreeing[judge] += 1
            agreeing_right[judge] += right[f"{judge} {item}"] == 2
    o1 = "o1-mini-2024-09-12"
    assert (agreeing[o1], round(100 * agreeing_right[o1] / agreeing[o1], 1)) == (235, 86.4)
    haiku = "claude-3-haiku-20240307"
    assert (agreeing[haiku], round(100 * agreeing_right[haiku] / agreeing[haiku], 1)) == (58, 50.0)


@pytest.mark.slow
def test_llmbar_is_read_whole_within_eight_seconds() -> None:
    started = time.process_time()
    source = recorded("llmbar")
    texts: Counter[bool] = Counter()
    for judgment in source:
        text = judgment.meta.get("text_verdict")
        if text is not None and judgment.verdict is not None:
            texts[text == str(judgment.verdict)] += 1
    assert time.process_time() - started < 8
    assert (source.judgments, source.rejects, source.duplicates) == (69_509, 0, 0)
    # The published parser contradicts the text in so many of the rows kept.
    assert texts == {True: 23_941, False: 200}


@pytest.mark.slow
def test_llmbar_accuracy_equals_the_table_beside_it() -> None:
    table = json.loads((Path(DATA or "") / "llmbar" / "accuracy.json").read_text())
    right: Counter[tuple[str, str, str, str]] = Counter()
    cells: set[tuple[str, str, str]] = set()
    for judgment in recorded("llmbar"):
        meta = judgment.meta
        if meta["final"] and not meta.get("pointwise"):
            cell = (meta["subset"], meta["judge_model"], meta["judge_prompt"])
            cells.add(cell)
            right[*cell, "".join(judgment.order)] += judgment.correct is True
    compared = 0
    for row in table:
        cell = (row["subset"], row["judge_model"], row["judge_prompt"])
        if cell in cells:
            compared += 1
            assert round(right[*cell, "AB"] / row["n"], 4) == row["acc_ab"], cell
            assert round(right[*cell, "BA"] / row["n"], 4) == row["acc_ba"], cell
    assert compared == len(cells) > 300
