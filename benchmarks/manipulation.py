"""What dishonest judges do to peer evaluation, rule by rule: a simulation with a known truth.

    python benchmarks/manipulation.py [--trials 2000] [--questions 10] [--seed 0] [--noise NOISE] [--json OUT]

Six models of a known order are judged by themselves. An honest judge's ranking is the true order with noise: Mallows
(Mallows, "Non-null ranking models", 1957; ``phi`` 0 is no noise, 1 none but noise; drawn by repeated insertion) or
Plackett-Luce (worths that fall by a constant factor from model to model). The others:

- noisy: any order alike;
- self-preferring: honest, but with its own answer first;
- reversing: an honest ranking upside down;
- colluding: the members' answers first, in true order, then the others from worst to best, so that the strongest rivals
  come last.

The dishonest judges are the weakest models, who have most to gain. A trial is one vote: the ballots of one question,
or of several questions together. Recovery is Kendall's tau-b between the places a rule gives and the true ones (a rule
that ties everybody recovers nothing: 0), and whether the truly best model comes first (a tie for the first place counts
as its share). Intervals are 95 % normal ones over trials, which are independent. The same ballots go to every rule.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import typer

from metajudge.peers import Ballot, Options, analyse
from metajudge.peers.cautions import CautionKind
from metajudge.peers.consensus import RULES, question_consensus
from metajudge.peers.correlation import correlate
from metajudge.peers.table import (
    PeerTable,
)
from metajudge.report import Cell, Column, Measured, Table
from metajudge.report.markdown import table_to_markdown
from metajudge.stats.arrays import Floats, Indices

MODELS = 6
Noise = Literal["mallows", "plackett-luce"]
Attack = Literal["noisy", "self-preferring", "reversing", "colluding"]
SELF_FREE = "kemeny, self-free"
WARNED_QUESTIONS = 20
PANELS = (3, 4, 5, 6, 7, 8, 9)


@dataclass(frozen=True, slots=True)
class Scenario:
    """How many judges do what; the rest is honest."""

    name: str
    attack: Attack = "noisy"
    judges: int = 0


SCENARIOS = (
    Scenario("all honest"),
    Scenario("1 noisy", "noisy", 1),
    Scenario("2 noisy", "noisy", 2),
    Scenario("1 self-preferring", "self-preferring", 1),
    Scenario("3 self-preferring", "self-preferring", 3),
    Scenario("6 self-preferring", "self-preferring", 6),
    Scenario("1 reversing", "reversing", 1),
    Scenario("2 reversing", "reversing", 2),
    Scenario("2 colluding", "colluding", 2),
    Scenario("3 colluding", "colluding", 3),
)


@dataclass(frozen=True, slots=True)
class Recovery:
    """Mean over trials with half the width of its 95 % interval."""

    scenario: str
    rule: str
    questions: int
    trials: int
    tau: float
    tau_half: float
    top: float
    top_half: float


@dataclass(frozen=True, slots=True)
class Ambiguity:
    """Share of single questions with several orders of least cost."""

    noise: str
    judges: int
    trials: int
    share: float
    half: float


@dataclass(frozen=True, slots=True)
class Warned:
    """Shares of trials in which a caution is given.

    Attributes:
        self_vote: about the own votes of a dishonest judge; ``innocent``: of an honest one.
        clique: about any clique; ``clique_is_guilty``: about exactly the dishonest judges.
    """

    scenario: str
    trials: int
    self_vote: float
    innocent: float
    clique: float
    clique_is_guilty: float


def honest(rng: np.random.Generator, count: int, noise: Noise, level: float) -> Indices:
    """[count, K] rankings: the model at each place, best first; model 0 is truly best."""
    if noise == "plackett-luce":
        # Gumbel noise on log worths and sorting is drawing one after the other by worth.
        worths = -level * np.arange(MODELS)
        return np.argsort(-(worths + rng.gumbel(size=(count, MODELS))), axis=1)
    at = np.zeros((count, 0), dtype=np.intp)  # place of each model so far, from 0
    for number in range(MODELS):
        weights = level ** np.arange(number, -1, -1.0)
        drawn = rng.choice(number + 1, size=(count, 1), p=weights / weights.sum())
        at = np.concatenate([at + (at >= drawn), drawn], axis=1)
    return np.argsort(at, axis=1)


def places_in(rankings: Indices) -> Floats:
    """[count, K] each model's place from 1."""
    return np.argsort(rankings, axis=1).astype(np.float64) + 1


def with_self_first(places: Floats, judge: int) -> Floats:
    """The judge's own model moves to the first place, those before it one down."""
    moved = places + (places < places[:, [judge]]).astype(np.float64)
    moved[:, judge] = 1
    return moved


def colluding(judges: int) -> Floats:
    """[K] the ranking a clique of the weakest agreed on."""
    clique = list(range(MODELS - judges, MODELS))
    rivals = list(range(MODELS - judges - 1, -1, -1))
    (places,) = places_in(np.array([[*clique, *rivals]]))
    return np.asarray(places, dtype=np.float64)


def ballots(rng: np.random.Generator, scenario: Scenario, trials: int, noise: Noise, level: float) -> Floats:
    """[trials, judges, K] places on one question; judge j is model j."""
    count = trials * MODELS
    found = places_in(honest(rng, count, noise, level)).reshape(trials, MODELS, MODELS)
    for judge in range(MODELS - scenario.judges, MODELS):
        match scenario.attack:
            case "noisy":
                found[:, judge] = rng.permuted(np.tile(np.arange(1.0, MODELS + 1), (trials, 1)), axis=1)
            case "self-preferring":
                found[:, judge] = with_self_first(found[:, judge], judge)
            case "reversing":
                found[:, judge] = MODELS + 1 - found[:, judge]
            case "colluding":
                found[:, judge] = colluding(scenario.judges)
    return found


def vote(places: Floats, rule: str) -> Floats:
    """[trials, K] the places a rule gives to the ballots [trials, voters, K]."""
    return question_consensus(table_of(places), rule).places


def self_free(places: Floats) -> Floats:
    """[trials, K] each model's place by Kemeny without its own ballots; voter v is model v modulo K."""
    owner = np.arange(places.shape[1]) % MODELS
    return np.column_stack([vote(places[:, owner != model], "kemeny")[:, model] for model in range(MODELS)])


def table_of(places: Floats) -> PeerTable:
    """Trials as questions of a table."""
    trials, voters, models = places.shape
    return PeerTable(
        models=tuple(f"m{k}" for k in range(models)),
        evaluators=tuple(f"voter {v}" for v in range(voters)),
        questions=tuple(map(str, range(trials))),
        domains=(None,) * trials,
        places=places,
        ranked=np.ones(places.shape, dtype=bool),
        shown=np.zeros(places.shape, dtype=np.intp),
    )


METHODS: dict[str, Callable[[Floats], Floats]] = {
    **{rule: partial(vote, rule=rule) for rule in RULES},
    SELF_FREE: self_free,
}
"""Name -> from ballots [trials, voters, K] to places [trials, K]."""


def recovery(places: Floats) -> tuple[Floats, Floats]:
    """[trials] tau-b with the true order and [trials] share of the first place that the truly best model has."""
    truth = np.arange(1.0, MODELS + 1)
    there = np.ones(places.shape, dtype=bool)
    tau = correlate(places, there, truth, there[0], "kendall").values  # 0 where everybody is tied
    first = np.isclose(places, places.min(axis=1, keepdims=True))
    return tau, first[:, 0] / first.sum(axis=1)


def mean_half(values: Floats) -> tuple[float, float]:
    """Mean, and half the width of its 95 % interval."""
    return float(values.mean()), float(1.96 * values.std(ddof=1) / np.sqrt(len(values)))


def run(trials: int, questions: int, seed: int, noise: Noise, level: float) -> Iterator[Recovery]:
    """Every scenario and rule, over votes of ``questions`` questions each."""
    for number, scenario in enumerate(SCENARIOS):
        rng = np.random.default_rng([seed, number, questions])
        given = np.concatenate([ballots(rng, scenario, trials, noise, level) for _ in range(questions)], axis=1)
        for name, method in METHODS.items():
            tau, top = recovery(method(given))
            yield Recovery(scenario.name, name, questions, trials, *mean_half(tau), *mean_half(top))


def ambiguity(trials: int, seed: int) -> Iterator[Ambiguity]:
    """How often Kemeny has several orders, by the number of honest judges."""
    for name, level in (("phi .4", 0.4), ("phi .5", 0.5), ("phi .6", 0.6), ("random", 1.0)):
        for judges in PANELS:
            rng = np.random.default_rng([seed, judges, int(100 * level)])
            places = places_in(honest(rng, trials * judges, "mallows", level)).reshape(trials, judges, MODELS)
            several = (question_consensus(table_of(places)).optima > 1).astype(np.float64)
            yield Ambiguity(name, judges, trials, *mean_half(several))


def warned(trials: int, seed: int, noise: Noise, level: float) -> Iterator[Warned]:
    """How often ``metajudge peers`` would say what is wrong, on :data:`WARNED_QUESTIONS` questions a trial."""
    options = Options(resamples=0)
    for number, scenario in enumerate(SCENARIOS):
        rng = np.random.default_rng([seed, number, WARNED_QUESTIONS, 7])
        guilty = {f"m{judge}" for judge in range(MODELS - scenario.judges, MODELS)}
        counts = dict.fromkeys(("self_vote", "innocent", "clique", "clique_is_guilty"), 0)
        for _ in range(trials):
            found = analyse(records(ballots(rng, scenario, WARNED_QUESTIONS, noise, level)), options).cautions
            moved = {name for one in found if one.kind is CautionKind.SELF_VOTE for name in one.names}
            cliques = [set(one.names) for one in found if one.kind is CautionKind.CLIQUE]
            counts["self_vote"] += bool(moved & guilty)
            counts["innocent"] += bool(moved - guilty)
            counts["clique"] += bool(cliques)
            counts["clique_is_guilty"] += guilty in cliques
        yield Warned(scenario.name, trials, **{name: count / trials for name, count in counts.items()})


def records(places: Floats) -> list[Ballot]:
    """Ballots of questions [Q, K judges, K] as the command reads them."""
    return [
        Ballot(
            question_id=f"q{q}",
            evaluator=f"m{judge}",
            ranking=tuple((f"m{model}",) for model in np.argsort(row)),
        )
        for q, question in enumerate(places)
        for judge, row in enumerate(question)
    ]


def warned_table(found: list[Warned]) -> Table:
    """Scenarios down, warnings across."""
    columns = (
        Column(title="Judges"),
        Column(title="Self-vote, of the dishonest %", kind="percent"),
        Column(title="Self-vote, of an honest one %", kind="percent"),
        Column(title="Any clique %", kind="percent"),
        Column(title="The dishonest as a clique %", kind="percent"),
    )
    rows = tuple((one.scenario, one.self_vote, one.innocent, one.clique, one.clique_is_guilty) for one in found)
    n = found[0].trials
    note = f"n = {n:,} trials a cell; a share of one half has a 95 % interval of ± {98 / np.sqrt(n):.0f} points."
    caption = f"Trials of {WARNED_QUESTIONS} questions in which a caution is given"
    return Table(caption=caption, columns=columns, rows=rows, notes=(note,))


def recovery_table(found: list[Recovery], figure: Literal["tau", "top"], caption: str) -> Table:
    """Scenarios down, rules across."""
    scenarios = list(dict.fromkeys(one.scenario for one in found))
    rules = list(dict.fromkeys(one.rule for one in found))
    by_place = {(one.scenario, one.rule): one for one in found}
    widest = max(getattr(one, f"{figure}_half") for one in found)
    rows: list[tuple[Cell, ...]] = [
        (scenario, *(getattr(by_place[scenario, rule], figure) for rule in rules)) for scenario in scenarios
    ]
    columns = (Column(title="Judges"), *(Column(title=rule, kind="number") for rule in rules))
    note = f"n = {found[0].trials:,} trials a cell; the widest 95 % interval is ± {widest:.3f}."
    return Table(caption=caption, columns=columns, rows=tuple(rows), notes=(note,))


def ambiguity_table(found: list[Ambiguity]) -> Table:
    """Noise down, numbers of judges across."""
    noises = list(dict.fromkeys(one.noise for one in found))
    rows: list[tuple[Cell, ...]] = [
        (
            noise,
            *(
                Measured(value=one.share, low=max(0.0, one.share - one.half), high=min(1.0, one.share + one.half))
                for one in found
                if one.noise == noise
            ),
        )
        for noise in noises
    ]
    columns = (Column(title="Noise"), *(Column(title=f"{judges} judges %", kind="percent") for judges in PANELS))
    caption = f"Questions on six models with several orders of least cost, n = {found[0].trials:,} a cell"
    return Table(caption=caption, columns=columns, rows=tuple(rows))


def main(
    trials: int = 2000,
    questions: Annotated[int, typer.Option(help="questions of the larger votes")] = 10,
    seed: int = 0,
    noise: Literal["mallows", "plackett-luce"] = "mallows",
    level: Annotated[
        float | None, typer.Option(help="phi of Mallows (default .5), or the gap of log worths (default .7)")
    ] = None,
    out: Annotated[Path | None, typer.Option("--json", help="write every figure")] = None,
) -> None:
    level = level if level is not None else 0.5 if noise == "mallows" else 0.7
    found: list[Recovery] = []
    kind = f"{noise}, {'phi' if noise == 'mallows' else 'gap'} {level:g}, seed {seed}"
    for asked in dict.fromkeys((1, questions)):
        some = list(run(trials, asked, seed, noise, level))
        found += some
        of = "one question" if asked == 1 else f"{asked} questions together"
        print(table_to_markdown(recovery_table(some, "tau", f"Tau-b with the truth, {of} ({kind})")), end="\n\n")
        print(table_to_markdown(recovery_table(some, "top", f"Best model found, {of} ({kind})")), end="\n\n")
    shares = list(ambiguity(trials, seed))
    print(table_to_markdown(ambiguity_table(shares)), end="\n\n")
    cautions = list(warned(max(20, trials // 10), seed, noise, level))
    print(table_to_markdown(warned_table(cautions)))
    if out is not None:
        data: dict[str, object] = {"noise": noise, "level": level, "seed": seed}
        data |= {"recovery": [asdict(one) for one in found], "ambiguity": [asdict(one) for one in shares]}
        data["warned"] = [asdict(one) for one in cautions]
        out.write_text(json.dumps(data, indent=2) + "\n")


if __name__ == "__main__":
    typer.run(main)
