"""What keeping buys downstream: preference sets, a small reward model, and the ranking of models.

    python -m metajudge.benchmarks.downstream DATA [--only SET] [--seeds 20] [--target 0.8] [--delta 0.1]
        [--pairs DIR] [--json OUT]

DATA contains any of ``judgebench``, ``llmbar`` and ``mtbench``. Of each judge the verdicts of its first games are
selected in three ways: ``raw`` (all), ``kept`` (by vetting from free evidence at its default threshold) and
``guaranteed`` (at or above a threshold that promises the target's precision, set and fitted on other questions).

- Preference sets: pairs, share of wrong ones with an interval by question, and what else the selection changes:
  difficulty, length, categories, models.
- A reward model on text features is trained on each of them within 60 % of the questions, and tested on the labels of
  the other 40 %. Selections are compared with as many raw verdicts drawn at random, in the same division; ``--seeds``
  divisions; the mean over judges and the interval of Nadeau and Bengio over divisions. The judges are fixed.
  ``--pairs`` writes the first division's pairs as files, for :mod:`~metajudge.benchmarks.downstream.tiny_trl`.
- MT-Bench: the models' win rates and ranking by a judge's verdicts, against those by people, over ``--seeds`` draws.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from metajudge.errors import InputError

from .arms import RAW, PreferenceSet, describe, selections
from .models import RatesError, errors, load_contests, raw_calls_for
from .pair_files import write_pairs
from .recorded import JUDGES, Pairs, Verdicts, load
from .rewards import COMPARED, Interval, accuracies, features, interval

RANKED = ("gpt-4-0613-pair", "qwen2.5-3b-4bit-local/rubric")
"""Judges of MT-Bench with both orders, whose verdicts rank the models."""


@dataclass(frozen=True, slots=True)
class RewardRow:
    """Test accuracy of the reward models of one selection.

    Attributes:
        judges: so many judges' verdicts were enough to train on, in some division.
        gain: over as many raw verdicts drawn at random; None where the selection is not compared.
    """

    set: str
    selection: str
    judges: int
    accuracy: Interval
    gain: Interval | None


@dataclass(frozen=True, slots=True)
class RankingRow:
    """One way to win rates; ``raw_calls`` is how many verdicts in one order have the same error.

    None where no number of them has, and for ways that take labels.
    """

    judge: str
    found: RatesError
    raw_calls: float | None


@dataclass(frozen=True, slots=True)
class Downstream:
    """All figures."""

    sets: dict[str, list[PreferenceSet]]
    rewards: list[RewardRow]
    rankings: list[RankingRow]


def study(
    data: Path, names: Sequence[str], seeds: int, target: float, delta: float, files: Path | None = None
) -> Downstream:
    """Reads the sets that are there and computes every figure.

    Args:
        data: folder of the sets' folders.
        names: sets, of :data:`~.recorded.JUDGES`.
        seeds: divisions, and draws.
        target: precision of the guaranteed threshold.
        delta: its failure probability.
        files: folder that the pairs of the first division are written to, with their texts.

    Raises:
        InputError: none of the sets is there.
    """
    there = [name for name in names if (data / name).is_dir()]
    if not there:
        raise InputError(f"{data} has none of the folders {', '.join(names)}")
    sets: dict[str, list[PreferenceSet]] = {}
    rewards: list[RewardRow] = []
    for name in there:
        pairs, verdicts = load(data / name, target, delta, seed=0)
        sets[name] = list(_preference_sets(pairs, verdicts))
        rewards += _rewards(name, pairs, verdicts, seeds)
        if files is not None:
            write_pairs(files / name, pairs, verdicts, seed=0)
    return Downstream(sets, rewards, list(_rankings(data, seeds)) if "mtbench" in there else [])


def _preference_sets(pairs: Pairs, every: Sequence[Verdicts]) -> Iterator[PreferenceSet]:
    for verdicts in every:
        chosen = selections(verdicts)
        for name, rows in chosen.items():
            yield describe(pairs, verdicts, name, rows, chosen[RAW])


def _rewards(name: str, pairs: Pairs, every: list[Verdicts], seeds: int) -> list[RewardRow]:
    first, second = features(pairs)
    runs = [accuracies(pairs, every, first - second, seed) for seed in range(seeds)]
    selected = list(dict.fromkeys(selection for run in runs for mine in run.values() for selection in mine))
    rows = []
    for selection in selected:
        with_it = [[mine for mine in run.values() if selection in mine] for run in runs]
        value = np.array([np.mean([mine[selection] for mine in there]) for there in with_it if there])
        other = COMPARED.get(selection)
        gain = None
        if other is not None:
            gain = interval(
                np.array([np.mean([mine[selection] - mine[other] for mine in there]) for there in with_it if there])
            )
        judges = len({judge for run in runs for judge, mine in run.items() if selection in mine})
        rows.append(RewardRow(name, selection, judges, interval(value), gain))
    return rows


def _rankings(data: Path, seeds: int) -> Iterator[RankingRow]:
    for judge in RANKED:
        found = errors(load_contests(data / "mtbench", judge), seeds)
        for one in found:
            yield RankingRow(judge, one, None if one.labels else raw_calls_for(one.error, found))


def lines(found: Downstream) -> Iterator[str]:
    """The tables, as text."""
    head = f"{'judge':<34} {'selection':<11} {'pairs':>5}  wrong, 95 % by question"
    for name, sets in found.sets.items():
        yield f"{name}: preference sets"
        yield f"{head:<80} difficulty longer categories models"
        yield from map(_set_line, sets)
        yield ""
    yield "reward model: share of test pairs on which it agrees with the label, and the gain over as many raw verdicts"
    for row in found.rewards:
        gain = "" if row.gain is None else f"   {_points(row.gain)}"
        yield f"{row.set:<11} {row.selection:<28} {row.judges:>2} judges {_percent(row.accuracy)}{gain}"
    yield ""
    yield "win rates of models: error against people (95 % of draws), pairs of models in the wrong order"
    for one in found.rankings:
        rates = one.found
        same = "" if rates.labels else "as no number of raw verdicts"
        if one.raw_calls is not None:
            same = f"as {one.raw_calls:.0f} raw verdicts"
        yield (
            f"{one.judge:<29} {rates.way:<33} {rates.calls:>4} calls {rates.labels:>4.0f} labels  {rates.error:.3f} "
            f"({rates.low:.3f} to {rates.high:.3f}) {100 * rates.discordant:5.1f} %  {same}"
        )


def _set_line(one: PreferenceSet) -> str:
    head = f"{one.judge:<34} {one.selection:<11} {one.pairs:>5}"
    if one.wrong is None or one.low is None or one.high is None:
        return f"{head}  none; no threshold could be promised in {one.abstained} of 3 parts"
    wrong = f"{100 * one.wrong:5.1f} % ({100 * one.low:.1f} to {100 * one.high:.1f})"
    rest = "".join("       -" if value is None else f" {value:7.2f}" for value in _shifts(one))
    return f"{head}  {wrong:<24} {rest}"


def _shifts(one: PreferenceSet) -> tuple[float | None, ...]:
    return one.difficulty, one.longer, one.categories, one.models


def _percent(one: Interval) -> str:
    ends = "" if one.low is None or one.high is None else f" ({100 * one.low:.1f} to {100 * one.high:.1f})"
    return f"{100 * one.value:5.1f} %{ends}"


def _points(one: Interval) -> str:
    ends = "" if one.low is None or one.high is None else f" ({100 * one.low:+.1f} to {100 * one.high:+.1f})"
    return f"{100 * one.value:+.1f} points{ends}, {one.divisions} divisions"


def main(
    data: Path,
    only: Annotated[list[str] | None, typer.Option()] = None,
    seeds: Annotated[int, typer.Option(min=2)] = 20,
    target: float = 0.8,
    delta: float = 0.1,
    pairs: Path | None = None,
    out: Annotated[Path | None, typer.Option("--json")] = None,
) -> None:
    """Prints the tables."""
    found = study(data, only or tuple(JUDGES), seeds, target, delta, pairs)
    for line in lines(found):
        print(line)
    if out is not None:
        out.write_text(json.dumps(asdict(found), indent=1))
