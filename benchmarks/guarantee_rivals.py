"""Guaranteed thresholds and their rivals on recorded judgments: coverage and broken promises, on the same splits.

    python -m metajudge.benchmarks.guarantee_rivals --data DIR [--sets judgebench,...] [--splits 20] [--redraws 20]
    [--gap] [--parts FILE] [--json OUT]

DIR has the folders of the recorded sets. By question, 30 % go to the fit (`metajudge calibrate fit`); the others are
the whole population, so that the precision of every threshold is known. Labelled questions are drawn from it with
replacement, half as many as the set has, `--redraws` times for each split and judge. The reference that fixes ranks
are the scores of the population without labels; with ``--reference fit`` the out-of-fold probabilities of the fit part.
Figures: ``coverage``, share of all judgments kept (0 for an abstention); ``broken``, share of draws whose threshold
keeps less than the target right, of all judgments kept; ``drawn``, the same where one judgment of each question is
drawn before; ``oracle``, the least selective threshold that is right on the population itself; ``of_oracle`` and
``of_z``, coverage as a share of the oracle's and of the asymptotic test's. ``gains`` has the difference of two rules'
coverage, mean over sets, with its 95 % interval by Student's t over the sets. Splits of one set overlap, so their
spread is no standard error. SCOPE runs on the agreement of both orders, and is not applicable where a set has none.
MAPIE needs its package.
FILE gets one line for each set and split; with the same FILE a run goes on where it stopped.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Literal
from warnings import filterwarnings

import numpy as np
import typer
from threadpoolctl import threadpool_limits

from metajudge.calibration.fit import fit_calibration
from metajudge.calibration.labelled_sample import LabelledSample
from metajudge.calibration.starts import Reference, rounded
from metajudge.calibration.table import SignalTable, build_table
from metajudge.readers import open_judgments
from metajudge.stats.arrays import Bools, Floats, Indices

from .threshold_rules import GAP, RIVALS, Draw, Rival

SETS: dict[str, tuple[str, ...]] = {
    "judgebench": (
        "openrouter/inception/mercury",
        "openrouter/inception/mercury-coder",
        "openrouter/minimax/minimax-m2.1",
        "openrouter/z-ai/glm-4.7",
    ),
    "mtbench": ("gpt-4-0613-pair", "gpt-4-0613-single"),
    "themis_rewardbench2": ("NCSOFT/Llama-3-OffsetBias-8B", "R-I-S-E/RISE-Judge-Qwen2.5-7B"),
    "realmistake": (
        "gpt-4-0125-preview/cot_instruction_prompt",
        "claude-3-opus-20240229/cot_instruction_prompt",
        "Llama-2-70b-chat-hf/cot_instruction_prompt",
    ),
    "llmbar": ("GPT-4/Metrics_Reference", "PaLM2/Metrics_Reference", "ChatGPT/Metrics_Reference"),
}
"""Judges measured of each set, each by itself; the evidence of peers is taken from these judges."""

TARGETS = (0.80, 0.85, 0.90)
DELTA = 0.10
FIT, LABELLED = 0.3, 0.5

DECLARED = 0.95
"""Our procedures declare as many judgments a question as this share of the questions has at most; the others are
outside of their promise, and count as not kept."""

FIGURES = ("coverage", "broken", "drawn", "abstained")
OURS, EARLIER, ASYMPTOTIC = "ours: ranks (default)", "earlier default", "z test (asymptotic)"
ALIKE, CONDITIONAL = "one drawn: ranks", "one drawn: ranks, conditional test"


@dataclass(frozen=True, slots=True)
class Population:
    """Judgments of one judge that were not fitted on: the whole population.

    Attributes:
        scores: [n].
        correct: [n].
        place: [n] number of the question.
        orders: [n] agreement of both orders; None where there are none.
        reference: scores without labels.
        labelled: questions in a draw.
    """

    scores: Floats
    correct: Bools
    place: Indices
    orders: Floats | None
    reference: Reference
    labelled: int

    def draw(self, rng: np.random.Generator, values: Floats) -> LabelledSample:
        """Labelled questions drawn with replacement; ``values`` are the scores [n]."""
        starts = np.searchsorted(self.place, np.arange(int(self.place.max()) + 2))
        picked = rng.integers(0, len(starts) - 1, self.labelled)
        rows = np.concatenate([np.arange(starts[one], starts[one + 1]) for one in picked])
        sizes = starts[picked + 1] - starts[picked]
        place = np.repeat(np.arange(self.labelled), sizes)
        names = tuple(f"q{number:05}" for number in range(self.labelled))
        questions = tuple(names[one] for one in place)
        return LabelledSample(values[rows], self.correct[rows], questions, names, place, int(sizes.max()))

    def truth(self, values: Floats, threshold: float | None) -> tuple[float, float, float]:
        """Coverage, precision of all kept, and of those kept where one judgment of each question is drawn before."""
        kept = np.zeros(len(values), dtype=bool) if threshold is None else values >= threshold
        if not kept.any():
            return 0.0, 1.0, 1.0
        drawn = (1 / np.bincount(self.place))[self.place[kept]]
        right = self.correct[kept]
        return float(kept.mean()), float(right.mean()), float(drawn @ right / drawn.sum())

    def within(self, share: float) -> tuple["Population", float]:
        """The questions with no more judgments than a share of them has, and the share of judgments they carry."""
        sizes = np.bincount(self.place)
        inside = (sizes <= np.quantile(sizes, share, method="inverted_cdf"))[self.place]
        _, place = np.unique(self.place[inside], return_inverse=True)
        known = np.bincount(self.reference.place)[self.reference.place] <= sizes[self.place[inside]].max()
        reference = Reference(
            self.reference.scores[known], np.unique(self.reference.place[known], return_inverse=True)[1].ravel()
        )
        part = Population(self.scores[inside], self.correct[inside], place.ravel(), None, reference, self.labelled)
        fewer = round(self.labelled * (int(place.max()) + 1) / len(sizes))
        return replace(part, labelled=fewer), float(inside.mean())

    def oracle(self, target: float) -> float:
        """Coverage of the least selective threshold whose precision reaches the target on the population itself."""
        order = np.argsort(-self.scores, kind="stable")
        last = np.append(np.diff(self.scores[order]) != 0, True)
        precise = np.cumsum(self.correct[order]) / np.arange(1, len(order) + 1) >= target - 1e-9
        found = np.flatnonzero(last & precise)
        return float(found[-1] + 1) / len(order) if len(found) else 0.0


def populations(table: SignalTable, fitted: SignalTable, seed: int, of_fit: bool) -> Iterator[Population]:
    """The population of each judge under one fit."""
    calibration = fit_calibration(fitted, seed=seed, repeats=1)
    stored = calibration.provenance.questions
    for name in sorted(set(table.judges)):
        rows = table.select(np.array([one == name for one in table.judges]))
        mine = {one for one, by in zip(fitted.judgment_ids, fitted.judges, strict=True) if by == name}
        known = [(q, value) for q, found in stored.items() for one, value in found.items() if one in mine]
        values = rounded(np.ma.getdata(calibration.probabilities(rows).probabilities))
        _, place = np.unique(np.array(rows.questions), return_inverse=True)
        order = np.argsort(place.ravel(), kind="stable")
        orders = rows.columns.get("order.signed")
        yield Population(
            values[order],
            rows.correct[order],
            place.ravel()[order],
            None if orders is None or not orders.present.any() else rounded(orders.values[order]),
            Reference.of([value for _, value in known], [q for q, _ in known])
            if of_fit
            else Reference(values[order], place.ravel()[order]),
            round(LABELLED * (len(set(rows.questions)) + len({q for q, _ in known}))),
        )


def measured(
    one: Population, target: float, redraws: int, seed: int, rules: Mapping[str, Rival] = RIVALS
) -> Iterator[dict[str, Any]]:
    """Coverage and broken promises of every rule."""
    part, carried = one.within(DECLARED)
    inside = [(draw, part.draw(np.random.default_rng([seed, draw]), part.scores)) for draw in range(redraws)]
    samples = [(draw, one.draw(np.random.default_rng([seed, draw]), one.scores)) for draw in range(redraws)]
    for name, rival in rules.items():
        if name == "MAPIE" and find_spec("mapie") is None:
            continue
        ours = rival.promise == "kept"
        whole, share = (part, carried) if ours else (one, 1.0)
        values, given = whole.scores, inside if ours else samples
        if name == "SCOPE":
            if one.orders is None:
                yield {"procedure": name, "promise": rival.promise, **dict.fromkeys(FIGURES)}
                continue
            values = one.orders
            given = [(draw, one.draw(np.random.default_rng([seed, draw]), values)) for draw in range(redraws)]
        most = int(np.bincount(whole.place).max())
        found = [
            whole.truth(values, rival.rule(Draw(sample, whole.reference, target, DELTA, most, draw)))
            for draw, sample in given
        ]
        coverage, kept, drawn = (np.array(column) for column in zip(*found, strict=True))
        yield {
            "procedure": name,
            "promise": rival.promise,
            "coverage": share * float(coverage.mean()),
            "broken": float((kept < target - 1e-9).mean()),
            "drawn": float((drawn < target - 1e-9).mean()),
            "abstained": float((coverage == 0).mean()),
        }
    yield {"procedure": "oracle", "promise": "nothing", **dict.fromkeys(FIGURES, 0.0), "coverage": one.oracle(target)}


def study(
    data: Path, name: str, seeds: Sequence[int], redraws: int, of_fit: bool, rules: Mapping[str, Rival] = RIVALS
) -> Iterator[dict[str, Any]]:
    """The rows of one set under each seed's split: means over judges and draws."""
    judges = SETS[name]
    table = build_table(open_judgments([str(data / name)]).all(), None, report=lambda one: one.judge in judges).sorted()
    table = table.select(table.labelled)
    names, place = np.unique(np.array(table.questions), return_inverse=True)
    for seed in seeds:
        found: dict[tuple[float, str], list[dict[str, Any]]] = {}
        order = np.random.default_rng([seed, 23]).permutation(len(names))
        fitted = np.isin(place.ravel(), order[: round(FIT * len(names))])
        for one in populations(table.select(~fitted), table.select(fitted), seed, of_fit):
            for target in TARGETS:
                for row in measured(one, target, redraws, seed, rules):
                    found.setdefault((target, row["procedure"]), []).append(row)
        rows = [
            {"target": target, "procedure": rule, "promise": rows[0]["promise"], **means(rows)}
            for (target, rule), rows in found.items()
        ]
        yield {"set": name, "seed": seed, "redraws": redraws, "of_fit": of_fit, "rows": rows}


def means(rows: Sequence[dict[str, Any]]) -> dict[str, float | None]:
    """The mean of each figure over the rows that have it; None where none has."""
    known = {name: [row[name] for row in rows if row[name] is not None] for name in FIGURES}
    return {name: float(np.mean(values)) if values else None for name, values in known.items()}


def summary(parts: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """One row for each set, target and rule: means over splits, and coverage as a share of other rules'."""
    found: dict[tuple[str, float, str], list[dict[str, Any]]] = {}
    for part in parts:
        for row in part["rows"]:
            found.setdefault((part["set"], row["target"], row["procedure"]), []).append(row)
    rows = [
        {"set": name, "target": target, "procedure": rule, "promise": some[0]["promise"], "splits": len(some)}
        | means(some)
        for (name, target, rule), some in found.items()
    ]
    known = {(row["set"], row["target"], row["procedure"]): row["coverage"] for row in rows}
    for row in rows:
        for key, other in (("of_oracle", "oracle"), ("of_z", ASYMPTOTIC)):
            most = known.get((row["set"], row["target"], other))
            row[key] = row["coverage"] / most if most and row["coverage"] is not None else None
    return rows


def gains(rows: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Of our default, and of the same on one drawn judgment, over the earlier default and the best valid rival."""
    coverage = {(row["set"], row["target"], row["procedure"]): row["coverage"] for row in rows}
    sets = list(dict.fromkeys(row["set"] for row in rows))
    valid = [name for name, rival in RIVALS.items() if rival.promise in ("kept", "drawn") and name != EARLIER]
    for targets in (*((one,) for one in TARGETS), TARGETS):
        mean = {
            name: [float(np.mean([coverage.get((one, target, name)) or 0.0 for target in targets])) for one in sets]
            for name in (*valid, EARLIER)
        }
        rivals = [name for name in valid if not name.startswith("ours") and name not in (ALIKE, CONDITIONAL)]
        best = max(rivals, key=lambda name: sum(mean[name]))
        for ours, other in ((OURS, EARLIER), (OURS, best), (ALIKE, EARLIER), (ALIKE, CONDITIONAL), (ALIKE, best)):
            bounds = interval(mean[ours], mean[other]) if len(sets) > 1 else (None, None)
            gain = float(np.mean(mean[ours]) - np.mean(mean[other]))
            yield {
                "targets": targets,
                "rule": ours,
                "over": other,
                "sets": sets,
                "gain": gain,
                "interval": bounds,
            }


def interval(ours: Sequence[float], other: Sequence[float]) -> tuple[float, float]:
    """95 % interval of the mean difference over independent values, by Student's t."""
    from scipy.stats import t

    gaps = np.array(ours) - np.array(other)
    half = float(t.ppf(0.975, len(gaps) - 1) * gaps.std(ddof=1) / np.sqrt(len(gaps))) if len(gaps) > 1 else np.inf
    return float(gaps.mean()) - half, float(gaps.mean()) + half


def main(
    data: Annotated[Path, typer.Option("--data", metavar="DIR")],
    sets: Annotated[str, typer.Option(help="Sets with commas between them.")] = ",".join(SETS),
    splits: Annotated[int, typer.Option(min=1)] = 20,
    redraws: Annotated[int, typer.Option(min=1)] = 20,
    reference: Annotated[Literal["population", "fit"], typer.Option(help="Whose scores fix ranks.")] = "population",
    gap: Annotated[
        bool, typer.Option("--gap", help="The steps from the z test to our default in place of rivals.")
    ] = False,
    stored: Annotated[Path | None, typer.Option("--parts", metavar="FILE")] = None,
    out: Annotated[Path | None, typer.Option("--json")] = None,
) -> None:
    """Measure guaranteed thresholds and their rivals."""
    filterwarnings("ignore", "No predict parameters were found", UserWarning)
    of_fit, wanted = reference == "fit", sets.split(",")
    for name in set(wanted) - set(SETS):
        raise typer.BadParameter(f"there is no set {name!r}: choose among {', '.join(SETS)}")
    before = [json.loads(one) for one in stored.read_text().splitlines()] if stored and stored.exists() else []
    found = {
        (part["set"], part["seed"]): part
        for part in before
        if (part["redraws"], part["of_fit"]) == (redraws, of_fit) and part["set"] in wanted and part["seed"] < splits
    }
    with threadpool_limits(limits=1):
        for name in wanted:
            seeds = [seed for seed in range(splits) if (name, seed) not in found]
            for part in study(data, name, seeds, redraws, of_fit, GAP if gap else RIVALS) if seeds else ():
                found[name, part["seed"]] = part
                print(f"{name}: split {part['seed'] + 1} of {splits}", flush=True)
                if stored:
                    with stored.open("a") as file:
                        file.write(json.dumps(part) + "\n")
    rows = summary(list(found.values()))
    differences = [] if gap else list(gains(rows))
    columns = ("set", "target", "procedure", "promise", *FIGURES, "of_oracle", "of_z")
    print("| " + " | ".join(columns) + " |\n|" + " --- |" * len(columns))
    for row in rows:
        cells = ["not applicable" if row[name] is None else row[name] for name in columns]
        print("| " + " | ".join(f"{cell:.3f}" if isinstance(cell, float) else str(cell) for cell in cells) + " |")
    for one in differences:
        targets = ", ".join(f"{target:.2f}" for target in one["targets"])
        low, high = one["interval"]
        known = "no interval" if low is None else f"{low:+.3f} to {high:+.3f}"
        print(f"{one['rule']} over {one['over']} at {targets}: {one['gain']:+.3f} ({known}, {len(one['sets'])} sets)")
    if out:
        about = {"splits": splits, "redraws": redraws, "reference": reference, "delta": DELTA}
        out.write_text(json.dumps({**about, "rows": rows, "gains": differences}, indent=1, allow_nan=False) + "\n")


if __name__ == "__main__":
    typer.run(main)
