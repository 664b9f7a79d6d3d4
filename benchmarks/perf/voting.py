"""What the voting rules cost, against other libraries in the same run.

    metajudge bench perf voting [--repeats 15] [--json-out OUT]

CPU seconds of this process, medians over repeats after one warm-up. Kemeny finds one proven optimum (``max_optima=1``)
for six voters, each time on ballots of its own: around a hidden order (``mallows``, phi .5, where voters mostly agree)
or uniformly random (``random``, the hardest there is). Bradley-Terry is compared with evalica, where it is installed.
"""

import statistics
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from itertools import repeat
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np
import typer

from metajudge import voting

from .measuring import keep

Call: TypeAlias = Callable[[], object]

VOTERS = 6
KEMENY_TARGETS = {5: 0.3, 8: 0.8, 10: 1.4, 15: 10.0, 20: 10.0, 30: 10.0, 50: 20.0}
"""Milliseconds for one proven optimum; 80 for 50 candidates ranked at random."""


def mallows(rng: np.random.Generator, size: int, phi: float) -> list[str]:
    """A ranking at Kendall distance d from m0 > m1 > ... with probability in proportion to phi^d, by insertion."""
    order: list[str] = []
    for i in range(size):
        chances = phi ** np.arange(i + 1)
        order.insert(len(order) - int(rng.choice(i + 1, p=chances / chances.sum())), f"m{i}")
    return order


def measured(calls: Iterable[Call]) -> float:
    """Median CPU milliseconds; the first call only warms up."""
    spent: list[float] = []
    for call in calls:
        start = time.process_time()
        call()
        spent.append(time.process_time() - start)
    return 1000 * statistics.median(spent[1:])


def row(what: str, ours: float, target: float | None, peers: dict[str, float] | None = None) -> dict[str, Any]:
    """One line of the table, printed as soon as it is known."""
    others = ", ".join(f"{name} {ms:,.2f} ms ({ms / ours:,.1f}x)" for name, ms in (peers or {}).items())
    goal = "" if target is None else f"  to reach {target:g} ms{'' if ours <= target else ': MISSED'}"
    print(f"{what:<62} {ours:9.2f} ms{goal}{'  ' + others if others else ''}", flush=True)
    return {"what": what, "ms": ours, "target_ms": target, "peers_ms": peers or {}}


def kemeny_rows(repeats: int) -> Iterator[dict[str, Any]]:
    """One proven optimum, by candidates and agreement."""
    for kind, phi in (("mallows", 0.5), ("random", 1.0)):
        for size, target in KEMENY_TARGETS.items():
            rng = np.random.default_rng(size)
            calls = repeats * (10 if size <= 10 else 1)  # below a millisecond a few calls are mostly noise
            votes = [[mallows(rng, size, phi) for _ in range(VOTERS)] for _ in range(calls + 1)]
            ours = measured(partial(voting.kemeny, vote, max_optima=1) for vote in votes)
            goal = 80.0 if (size, kind) == (50, "random") else target
            yield row(f"Kemeny, {VOTERS} voters, {size} candidates, {kind}", ours, goal)
        for size in (6, 10, 15, 20):
            rng = np.random.default_rng(size)
            votes = [[mallows(rng, size, phi) for _ in range(VOTERS)] for _ in range(repeats + 1)]
            ours = measured(partial(voting.kemeny, vote) for vote in votes)
            yield row(f"Kemeny, {size} candidates, {kind}, all optima counted", ours, None)


def batch_rows(repeats: int) -> Iterator[dict[str, Any]]:
    """Ten thousand questions at once."""
    rng = np.random.default_rng(0)
    places = np.argsort(rng.random((10_000, VOTERS, 6)), axis=2)
    for what, goal, positions in (
        ("Kemeny of 10,000 x 6 voters x 6 candidates: cost, optima", 50.0, False),
        ("the same with mean rank and span", None, True),
    ):
        call = partial(voting.kemeny_batch, places, positions=positions)
        yield row(what, measured(repeat(call, repeats + 1)), goal)


def strength_rows(repeats: int) -> Iterator[dict[str, Any]]:
    """Bradley-Terry on a million votes on 50 models, and its bootstrap."""
    first, second, outcome, names = _votes(1_000_000, 50)
    peers = {}
    if find_spec("evalica") is None:
        print("  evalica is NOT INSTALLED: no comparison with it in this run", flush=True)
    else:
        peers["evalica"] = measured(_evalica(first, second, outcome, names) for _ in range(4))

    def fit(one: Any, other: Any) -> object:
        return voting.bradley_terry(voting.count_votes(one, other, outcome, candidates=names))

    named = [names[i] for i in first], [names[i] for i in second]
    by_index = measured(repeat(partial(fit, first, second), repeats + 1))
    yield row("Bradley-Terry with standard errors, 1e6 votes (indices)", by_index, 50.0)
    by_name = measured(repeat(partial(fit, *named), min(repeats, 5) + 1))
    yield row("the same votes by name", by_name, None, peers)


def _votes(count: int, size: int) -> tuple[Any, Any, Any, list[str]]:
    rng = np.random.default_rng(count)
    strengths = rng.normal(size=size)
    first = rng.integers(0, size, count)
    second = (first + rng.integers(1, size, count)) % size
    chance = 1 / (1 + np.exp(strengths[second] - strengths[first]))
    outcome = np.where(rng.random(count) < chance, 1, -1)
    outcome[rng.random(count) < 0.1] = 0
    return first, second, outcome, [f"m{i}" for i in range(size)]


def _evalica(first: Any, second: Any, outcome: Any, names: list[str]) -> Call:
    evalica = import_module("evalica")
    kinds = {1: evalica.Winner.X, -1: evalica.Winner.Y, 0: evalica.Winner.Draw}
    xs, ys = [names[i] for i in first], [names[i] for i in second]
    winners = [kinds[int(o)] for o in outcome]
    indexed = evalica.indexing(xs, ys)
    return lambda: evalica.bradley_terry(xs, ys, winners, index=indexed[2])


def reliability_rows(repeats: int) -> Iterator[dict[str, Any]]:
    """Dawid-Skene on 12,000 labels: 2,000 items, six voters, three classes."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 2000)
    right = rng.random((2000, VOTERS)) < np.linspace(0.9, 0.5, VOTERS)
    given = np.where(right, truth[:, None], rng.integers(0, 3, (2000, VOTERS)))
    items = [f"i{i}" for i in range(2000) for _ in range(VOTERS)]
    voters = [f"v{v}" for _ in range(2000) for v in range(VOTERS)]
    labels = [f"c{label}" for label in given.ravel()]
    models: tuple[Literal["full", "one_coin"], ...] = ("full", "one_coin")
    for model in models:
        ours = measured(repeat(partial(voting.dawid_skene, items, voters, labels, model=model), repeats + 1))
        yield row(f"Dawid-Skene ({model}), 12,000 labels", ours, 20.0)


def main(
    repeats: Annotated[int, typer.Option(help="timed calls of each kind")] = 15,
    out: Annotated[Path | None, typer.Option("--json-out", help="also write the figures here")] = None,
) -> None:
    """Measures and prints everything; writes it as JSON where asked."""
    rows: list[dict[str, Any]] = []
    for part in (kemeny_rows, batch_rows, strength_rows, reliability_rows):
        rows += part(repeats)
    keep(rows, out, indent=1)
