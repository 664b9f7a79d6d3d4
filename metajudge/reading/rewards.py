"""Reward models' scores of the responses of known items, one object a line.

Three forms are read: ours, ``{"item_id", "model", "scores": {"A": 1.5, "B": -0.3}}``, the folder layout of JudgeBench
(``item_id, judge_model, order, score_a, score_b``), where the scores are in the order shown and turned back here, and
that of RewardBench 2 (``id, subset, num_correct, scores, model``), with a score for each candidate.
"""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from metajudge.errors import InputError
from metajudge.evidence.rewards import RewardScore
from metajudge.reading.containers.lines import Line, Source, read_lines
from metajudge.reading.formats.pairs import ORDERS, shown_order
from metajudge.reading.formats.rewardbench2 import reward_scores_of


def find_reward_scores(folder: Path) -> Path | None:
    """The file of reward scores in a folder of judgments, None if missing."""
    files = (folder / name for name in ("reward_scores.jsonl", "reward_scores.jsonl.gz"))
    return next((one for one in files if one.is_file()), None)


def read_reward_scores(path: Path | str) -> list[RewardScore]:
    """Reads a file of reward scores, plain or gzip.

    Raises:
        InputError: the file is missing, empty, or a line is no such record; with file and line.
    """
    source = Source(Path(path), str(path))
    scores = []
    for line in read_lines(source):
        if not isinstance(line, Line):
            raise InputError(str(line))
        try:
            scores.append(_score(line.data))
        except (KeyError, TypeError, ValueError) as error:
            why = f"the field {error.args[0]!r} is missing" if isinstance(error, KeyError) else str(error)
            raise InputError(f"{source.name}:{line.number}: no reward score: {why}") from None
    if not scores:
        raise InputError(f"{source.name} is empty: expected one object a line with item_id, model and scores")
    return scores


def _score(data: Mapping[str, Any]) -> RewardScore:
    if data.keys() >= {"id", "subset", "num_correct", "scores", "model"}:
        name, scores = f"{_text(data, 'subset')}/{_text(data, 'id')}", _numbers(reward_scores_of(data))
        return RewardScore(name, _text(data, "model"), scores)
    if "scores" in data:
        scores = _numbers(data["scores"])
        return RewardScore(_text(data, "item_id"), _text(data, "model"), scores)
    order = data.get("order", "AB")
    if order not in ORDERS:
        raise ValueError(f"order must be AB or BA, not {order!r}")
    scores = _numbers(zip(shown_order(order), (data["score_a"], data["score_b"]), strict=True))
    return RewardScore(_text(data, "item_id"), _text(data, "judge_model"), scores)


def _text(data: Mapping[str, Any], name: str) -> str:
    value = data[name]
    if not isinstance(value, str) or not value:
        raise ValueError(f"{name} must be a text, not {value!r}")
    return value


def _numbers(scores: Any) -> dict[str, float]:
    found = dict(scores)
    for value in found.values():
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise ValueError(f"a score must be a finite number, not {value!r}")
    return {str(name): float(value) for name, value in found.items()}
