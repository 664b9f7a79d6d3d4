"""The plots of ``benchmarks/results``: for each figure, what its file says at a glance.

A chart takes the ``figures`` of a result as its script wrote them; a figure without a chart is a table only.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from metajudge.report.document import (
    Absent,
    BarChart,
    BarSeries,
    Block,
    IntervalChart,
    IntervalMark,
    IntervalRow,
    Measured,
    ShareChart,
    ShareRow,
)

from .transfer_report import curve_chart, set_chart

SHARES = ("best 80 %", "best 60 %", "best 40 %")
TARGET = 0.85
"""Precision asked for in the plot of guaranteed thresholds."""

DRAWN_RULES = ("kemeny", "borda", "agreement_weighted_borda", "median_rank", "plurality", "kemeny, self-free")
"""Of the rules in the simulation; the others lie close to one of these, and the table has all."""

Values = dict[str, Sequence[float | Measured | None]]


def charts(name: str, figures: Any) -> Iterator[Block]:
    """The plots of a figure, in order; nothing for a figure that is better read as a table."""
    draw = CHARTS.get(name)
    if draw is not None:
        yield from draw(figures)


def bars(title: str, description: str, unit: str, groups: Sequence[str], series: Values) -> BarChart:
    """A chart of bars; plain numbers have no interval, None is labelled as missing."""
    return BarChart(
        title=title,
        description=description,
        unit=unit,
        groups=tuple(groups),
        series=tuple(BarSeries(name=name, values=tuple(map(_value, values))) for name, values in series.items()),
    )


def _value(value: float | Measured | None) -> Measured | Absent:
    if value is None:
        return Absent(absent="not measured")
    return value if isinstance(value, Measured) else Measured(value=value, low=value, high=value)


def _overhead(found: Any) -> Iterator[Block]:
    client = ("metajudge", "aiohttp alone")
    wall = (found["wall_over_ideal"], found["floor_wall_over_ideal"])
    yield bars("Wall time over the ideal", "700 calls of 200 ms, 64 at a time.", "x", client, {"wall": wall})
    cpu = (found["cpu_ms_per_call"], found["floor_cpu_ms_per_call"])
    yield bars("CPU of the client", "A call, beyond starting.", "ms", client, {"CPU a call": cpu})


def _clash_overhead(found: Any) -> Iterator[Block]:
    ratios = (found["wall_over_ideal"], found["floor_over_ideal"])
    yield bars("Wall time of a clash over the ideal", "Medians.", "x", ("metajudge", "aiohttp alone"), {"wall": ratios})


def _service(found: Any) -> Iterator[Block]:
    load = found["open_loop"]
    added = (load["added_p50_ms"], load["added_p99_ms"])
    about = f"{load['n']} vets at {load['rate']} a second; the models' own latency is taken off."
    yield bars("What the service adds", about, "ms", ("median", "99th percentile"), {"added": added})


def _memory(found: Any) -> Iterator[Block]:
    about = f"{found['judgments']:,} judgments through one process, by tenths."
    tenths = [f"tenth {number}" for number in range(1, len(found["median_mb"]) + 1)]
    series: Values = {"median": found["median_mb"], "at its end": found["end_mb"], "highest": found["peak_mb"]}
    yield bars("Resident memory", about, "MB", tenths, series)


def _ray(found: Any) -> Iterator[Block]:
    ways = {"one process": "local", "Ray": "ray", "Ray, a worker killed": "ray_with_a_worker_killed"}
    names = [name for name in found["local"] if name.endswith("_s")]
    seconds: Values = {name: [found[way][name] for way in ways.values()] for name in names}
    yield bars("Seconds on one engine and the other", f"{found['judgments']:,} judgments.", "s", list(ways), seconds)


def _replicas(found: Any) -> Iterator[Block]:
    phases = {"one replica": "one_per_s", "two replicas": "two_per_s", "two, killed in turn": "killed_per_s"}
    rates: Values = {"vets": [found.get(phase) for phase in phases.values()]}
    yield bars("Vets a second on one PostgreSQL", "All on the same cores.", "/s", list(phases), rates)


def _voting(rows: Any) -> Iterator[Block]:
    compared = [row for row in rows if row["peers_ms"]]
    if compared:
        peers = dict.fromkeys(name for row in compared for name in row["peers_ms"])
        yield bars(
            "Times as long as ours",
            "CPU of other libraries over ours in the same run.",
            "x",
            [row["what"] for row in compared],
            {name: [_ratio(row["peers_ms"].get(name), row["ms"]) for row in compared] for name in peers},
        )


def _ratio(value: float | None, by: float) -> float | None:
    return None if value is None else value / by


def _manipulation(found: Any) -> Iterator[Block]:
    for questions in dict.fromkeys(row["questions"] for row in found["recovery"]):
        rows = [row for row in found["recovery"] if row["questions"] == questions]
        scenarios = list(dict.fromkeys(row["scenario"] for row in rows))
        by_place = {(row["scenario"], row["rule"]): row for row in rows}
        rules = [rule for rule in dict.fromkeys(row["rule"] for row in rows) if rule in DRAWN_RULES]
        yield bars(
            f"Best model found, {questions} question{'s' if questions > 1 else ''}",
            "Share of trials with a known truth, and 95 % intervals.",
            "%",
            scenarios,
            {rule: [_top(by_place.get((scenario, rule))) for scenario in scenarios] for rule in rules},
        )


def _top(row: Mapping[str, Any] | None) -> Measured | None:
    if row is None:
        return None
    low, high = max(0.0, row["top"] - row["top_half"]), min(1.0, row["top"] + row["top_half"])
    return Measured(value=row["top"], low=low, high=high)


def _fuzz(found: Any) -> Iterator[Block]:
    parts = ("read", "refused", "crashes", "invented")
    rows = tuple(ShareRow(name=row["parser"], counts=tuple(row[part] for part in parts)) for row in found["parsers"])
    yield ShareChart(title="Replies gone wrong", description="What each parser made of them.", parts=parts, rows=rows)


def _faults(cells: Any) -> Iterator[Block]:
    parts = ("equal", "typed", "silent", "lost")
    names = dict.fromkeys(cell["fault"] for cell in cells)
    rows = tuple(
        ShareRow(name=name, counts=tuple(sum(cell[part] for cell in cells if cell["fault"] == name) for part in parts))
        for name in names
    )
    about = "Items of all operations in the disturbed run: as without the fault, a typed failure, neither, or gone."
    yield ShareChart(title="What a fault does", description=about, parts=parts, rows=rows)


def _calibration(found: Any) -> Iterator[Block]:
    """Precision of what is kept, where a result has it by judge."""
    for title, judges in found.get("judgebench", {}).items():
        if isinstance(judges, Mapping) and all(_has_shares(one) for one in judges.values()):
            yield bars(
                f"Precision of what is kept: {title}",
                "Out of fold; mean over seeds of the folds, with the mean of their 95 % intervals.",
                "%",
                list(judges),
                {share: [_share(one, share) for one in judges.values()] for share in SHARES},
            )


def _has_shares(found: Any) -> bool:
    return isinstance(found, Mapping) and all(f"{share} low" in found for share in SHARES)


def _share(found: Mapping[str, Any], share: str) -> Measured:
    value, low, high = (found[name]["mean"] / 100 for name in (share, f"{share} low", f"{share} high"))
    return Measured(value=value, low=low, high=high)


def _guarantee(found: Any) -> Iterator[Block]:
    rows = [row for row in found["rows"] if row["target"] == TARGET]
    about = f"Precision of {TARGET:.0%} asked for with 1 - delta = {1 - found['delta']:.0%}, {found['splits']} splits."
    yield _by_judge("Coverage under a guarantee", about, rows, "coverage")
    if any(row["broken"] is not None for row in rows):
        yield _by_judge("Splits in which the promise was broken", about, rows, "broken")


def _by_judge(title: str, description: str, rows: Iterable[Mapping[str, Any]], name: str) -> BarChart:
    known = {(row["judge" if "judge" in row else "set"], row["procedure"]): row[name] for row in rows}
    judges, procedures = (list(dict.fromkeys(key[place] for key in known)) for place in (0, 1))
    series: Values = {one: [known.get((judge, one)) for judge in judges] for one in procedures}
    return bars(title, description, "%", judges, series)


def _feedback(found: Any) -> Iterator[Block]:
    runs = [run for run in found["runs"] if run["proposed"]]
    if runs:
        rates = [sum(run[when]["false_approve_rate"] for run in runs) / len(runs) for when in ("before", "after")]
        about = (
            f"Mean over {len(runs)} of {len(found['runs'])} repeats in which a change was proposed, held-out questions."
        )
        yield bars("Wrong among the approved", about, "%", ("before", "after the proposal"), {"false approvals": rates})


def _preference_precision(found: Any) -> Iterator[Block]:
    known = {(row["judge"], row["selection"]): row for row in found}
    judges, selections = (list(dict.fromkeys(key[place] for key in known)) for place in (0, 1))
    about = "Share of exported pairs whose chosen response is the labelled worse, and 95 % intervals."
    series: Values = {one: [_wrong(known.get((judge, one))) for judge in judges] for one in selections}
    yield bars("Wrong pairs", about, "%", judges, series)


def _wrong(row: Mapping[str, Any] | None) -> Measured | None:
    if row is None or not row["pairs"]:
        return None
    return Measured(value=row["wrong"] / row["pairs"], low=row["low"], high=row["high"])


def _preference_scale(found: Any) -> Iterator[Block]:
    rows = found["measured"]
    names, about = [row["name"] for row in rows], f"{found['rows']:,} judgments."
    yield bars("Time of an export", about, "s", names, {"wall": [row["wall_s"] for row in rows]})
    yield bars("Peak memory of an export", about, "MB", names, {"peak": [row["peak_mb"] for row in rows]})


def _not_below_zero(interval: Mapping[str, float]) -> Measured:
    value, low, high = (max(0.0, interval[name]) for name in ("value", "low", "high"))
    return Measured(value=value, low=low, high=high)


def _downstream(found: Any) -> Iterator[Block]:
    gains = [row for row in found["rewards"] if row["gain"] is not None and row["gain"]["low"] is not None]
    rows = [
        IntervalRow(
            name=f"{row['set']}, {row['selection']}", marks=(IntervalMark(series=0, value=_measured(row["gain"])),)
        )
        for row in gains
    ]
    yield IntervalChart(
        title="A small reward model: gain by selection",
        description="Test accuracy less that of as many raw verdicts drawn at random; mean of judges.",
        kind="points",
        series=("gain",),
        rows=tuple(rows),
        reference=0.0,
    )
    judges = list(dict.fromkeys(row["judge"] for row in found["rankings"]))
    for judge in judges:
        mine = [row["found"] for row in found["rankings"] if row["judge"] == judge]
        last = {one["way"]: one for one in mine}
        values = [_measured({"value": one["error"], "low": one["low"], "high": one["high"]}) for one in last.values()]
        title, most = f"Error of win rates, verdicts of {judge}", max(one["calls"] for one in mine)
        about = f"Root mean squared difference from people's, at most {most} calls; 95 % of draws."
        yield bars(title, about, "%", list(last), {"error": values})


def _transfer(found: Any) -> Iterator[Block]:
    if found["set"]:
        yield set_chart(found["set"])
    if found["curve"]:
        yield curve_chart(found["curve"])


def _live(found: Any) -> Iterator[Block]:
    names = list(dict.fromkeys(row["scenario"] for row in found))
    sizes = sorted({row["questions"] for row in found})
    known = {(row["scenario"], row["questions"]): _measured(row["family"]) for row in found}
    series: Values = {f"{size:,} questions": [known.get((name, size)) for name in names] for size in sizes}
    about = f"Simulated runs with any wrong verdict; at most {100 * found[0]['level']:g} % are allowed."
    yield bars("Wrong verdicts of the live experiment", about, "%", names, series)


def _protocol(found: Any) -> Iterator[Block]:
    vetters = list(dict.fromkeys(entry["vetter"] for one in found for entry in one["entries"]))
    known = {(one["set"], entry["vetter"]): entry["auc"] for one in found for entry in one["entries"]}
    sets = [one["set"] for one in found]
    series: Values = {name: [_figure(known.get((one, name))) for one in sets] for name in vetters}
    yield bars("Area under the ROC curve", "Entries and baselines, 95 % by question.", "%", sets, series)


def _figure(one: Mapping[str, Any] | None) -> Measured | None:
    return None if one is None or "value" not in one else _measured(one)


def _measured(one: Mapping[str, float]) -> Measured:
    return Measured(value=one["value"], low=one["low"], high=one["high"])


def _adversaries(found: Any) -> Iterator[Block]:
    rows = [row for one in found["sets"].values() for row in one["rows"]]
    strongest = {(row["attack"], row["set"]): row for row in rows}  # the last strength of each
    attacks, sets = (list(dict.fromkeys(key[place] for key in strongest)) for place in (0, 1))
    series: Values = {
        name: [_lost(strongest[attack, name]) if (attack, name) in strongest else None for attack in attacks]
        for name in sets
    }
    about = "Points that the precision of the kept loses by the strongest form of each attack. 95 % over questions."
    yield bars("What attacks cost", about, "%", attacks, series)
    power = [row for row in found.get("power", ()) if row["judges"] == 5 and row["spread"] == 1.0]
    if power:
        known = {(row["questions"], row["follows"]): row["found"] for row in power}
        sizes, shares = (list(dict.fromkeys(key[place] for key in known)) for place in (0, 1))
        curves: Values = {
            f"{size:,} questions": [
                Measured(value=value, low=low, high=high) for value, low, high in (known[size, one] for one in shares)
            ]
            for size in sizes
        }
        groups = [f"{one:g}" for one in shares]
        about = "Made judges of shared difficulty, by the probability with which one follows another. 95 %."
        yield bars("How often a follower is found", about, "%", groups, curves)


def _lost(row: Mapping[str, Any]) -> Measured:
    change = row["change"]
    return _not_below_zero({"value": -change["value"], "low": -change["high"], "high": -change["low"]})


CHARTS: Mapping[str, Callable[[Any], Iterator[Block]]] = {
    "overhead": _overhead,
    "clash-overhead": _clash_overhead,
    "service": _service,
    "memory": _memory,
    "ray": _ray,
    "replicas": _replicas,
    "voting": _voting,
    "manipulation": _manipulation,
    "fuzz-replies": _fuzz,
    "faults": _faults,
    "calibration": _calibration,
    "guarantee": _guarantee,
    "feedback": _feedback,
    "preference-precision": _preference_precision,
    "preference-scale": _preference_scale,
    "downstream": _downstream,
    "adversaries": _adversaries,
    "transfer": _transfer,
    "live": _live,
    "protocol": _protocol,
}
