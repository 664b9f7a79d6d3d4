"""The report of the study: tables in Markdown, and plots as SVG that follow a page's light or dark."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from metajudge.report.document import IntervalChart, IntervalMark, IntervalRow, Measured
from metajudge.report.html import to_svg

from .transfer_curve import ALONE, POOLED, PRIOR, RATE
from .transfer_figures import Interval
from .transfer_inputs import RIVALS
from .transfer_study import BASE

Row = Mapping[str, Any]

METHODS = ("transferred", "shipped", *RIVALS, BASE)
SHIFTS = {"judge": "One judge left out", "prompt": "One wording left out", "category": "One category left out"}


def markdown(found: Mapping[str, Any]) -> str:
    """All tables."""
    parts = [*_inputs(found), *_sets(found["set"]), *_states(found["standings"]), *_carried(found["set"])]
    parts += _kept(found["kept"])
    for shift, title in SHIFTS.items():
        parts += _parts(title, found[shift])
    parts += [*_refused(found), *_curve(found["curve"])]
    return "\n".join(parts) + "\n"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(head)} |", "|" + " --- |" * len(head), *(f"| {' | '.join(row)} |" for row in rows), ""]


def _title(row: Row) -> str:
    return f"{row['set']} {row['part']}".strip()


def _words(one: Interval, digits: int = 3, sign: str = "") -> str:
    value, low, high = one
    if value is None:
        return "-"
    ends = "" if low is None or high is None else f" ({low:{sign}.{digits}f} to {high:{sign}.{digits}f})"
    return f"{value:{sign}.{digits}f}{ends}"


def _inputs(found: Mapping[str, Any]) -> Iterator[str]:
    yield f"Intervals: 95 %, {found['resamples']} draws of whole questions."
    yield ""
    rows = []
    for one in found["inputs"]:
        seen = f"{one['questions_in_shipped']:,} of {one['questions']:,}"
        left = ", ".join(f"{count:,} {why}" for why, count in one["left_out"].items()) or "none"
        rows.append([one["name"], one["kind"], f"{one['n']:,}", f"{one['judges']:,}", seen, left])
    head = ["input", "verdicts", "judgments", "judges", "questions that the shipped default was fitted on", "left out"]
    yield from _table(head, rows)


def _sets(rows: Sequence[Row]) -> Iterator[str]:
    names = [name for name in METHODS if any(name in row["figures"] for row in rows)]
    for measure, digits in (("log loss", 3), ("calibration error", 1), ("best 60 %", 1), ("best 40 %", 1)):
        unit = "nats" if measure == "log loss" else "points" if measure == "calibration error" else "per cent right"
        yield f"### One set left out: {measure} ({unit})"
        yield ""
        body = []
        for row in rows:
            cells = [_words(row["figures"][name][measure], digits) if name in row["figures"] else "-" for name in names]
            body.append([_title(row), f"{row['n']:,} ({row['questions']:,})", *cells])
        yield from _table(["left out", "judgments (questions)", *names], body)
    yield "### One set left out: log loss of the transferred probability less that of each other"
    yield ""
    body = []
    for row in rows:
        cells = [_words(row["differences"][name]["log loss"], 3, "+") for name in (*RIVALS, BASE)]
        body.append([_title(row), *cells, row["verdict"]])
    yield from _table(["left out", *RIVALS, BASE, "says"], body)


def _states(rows: Sequence[Row]) -> Iterator[str]:
    yield "### What the shipped default does, by kind of verdict and evidence"
    yield ""
    yield from _table(
        ["verdicts", "evidence", "result", "why"],
        [[row["kind"], row["evidence"], row["result"].replace("_", " "), row["why"]] for row in rows],
    )


def _carried(rows: Sequence[Row]) -> Iterator[str]:
    """Thresholds that were guaranteed on one input and used on another."""
    yield "### A guaranteed threshold of one input used on another of a set left out"
    yield ""
    yield "Each was guaranteed on the first input (delta .1) with transferred scores. Broken: the 95 % interval of the "
    yield "precision of what it kept lies below the target; below: the precision does."
    yield ""
    body = []
    for row in rows:
        for target in sorted({one["target"] for one in row["carried"]}):
            mine = [one for one in row["carried"] if one["target"] == target]
            used = [one for one in mine if one["kept"]]
            counts = Counter(one["result"] for one in used)
            worst = min(used, key=lambda one: one["precision"][0], default=None)
            words = "-" if worst is None else f"{worst['from']}: {_percent(worst['precision'])}"
            coverage = "-" if not used else f"{100 * sum(one['coverage'] for one in used) / len(used):.0f} %"
            cells = [str(len(mine)), str(len(used)), coverage, str(counts["broken"]), str(counts["below"]), words]
            body.append([_title(row), f"{100 * target:.0f} %", *cells])
    head = ["used on", "target", "sources", "with a threshold", "mean coverage", "broken", "below", "worst source"]
    yield from _table(head, body)
    own = [(row, one) for row in rows for one in row["own"]]
    if own:
        yield "### A threshold by 100 labelled questions of the set itself, sought on transferred probabilities"
        yield ""
        body = [
            [
                _title(row),
                f"{100 * one['target']:.0f} %",
                f"{one['found']} of {one['draws']}",
                f"{100 * one['coverage']:.0f} %",
                str(one["broken"]),
            ]
            for row, one in own
        ]
        yield from _table(["set", "target", "draws with a threshold", "mean coverage", "below the target"], body)


def _kept(rows: Sequence[Row]) -> Iterator[str]:
    yield "### One set left out: what is kept at the default threshold"
    yield ""
    body = []
    for row in rows:
        cells = []
        for name in ("transferred", "heuristic"):
            one = row[name]
            right = _percent(one["precision"]) if one["kept"] else "-"
            cells += [f"{100 * one['coverage']:.0f} %", right]
        body.append([_title(row), f"{row['n']:,}", f"{row['cut']:.3f}", *cells])
    head = ["left out", "judgments with peers", "probability above", "transferred: kept", "right"]
    yield from _table([*head, "heuristic above 4.5: kept", "right"], body)


def _parts(title: str, rows: Sequence[Row]) -> Iterator[str]:
    """A line for each input: what its units say together; every unit is in the JSON."""
    yield f"### {title}"
    yield ""
    body, absent = [], Counter[str]()
    for name in dict.fromkeys(map(_title, rows)):
        mine = [row for row in rows if _title(row) == name]
        units = [row for row in mine if "figures" in row]
        for row in mine:
            if "figures" not in row:
                absent[f"{name}: {row['why']}"] += 1
        if not units:
            continue
        way = next(iter(units[0]["figures"]))
        says = Counter(row["verdict"].partition(" than")[0] for row in units)
        cells = [_mean(units, way, "log loss", 3)]
        cells += [_mean(units, one, "log loss", 3) for one in (*RIVALS, BASE)]
        cells += [
            f"{_mean(units, way, f'best {share} %', 1)} / {_mean(units, 'heuristic', f'best {share} %', 1)}"
            for share in (60, 40)
        ]
        cells += [_mean(units, way, "calibration error", 1)]
        cells.append(", ".join(f"{count} {word}" for word, count in sorted(says.items())))
        kept = [one for row in units for one in row["carried"] if one["kept"]]
        results = Counter(one["result"] for one in kept)
        cells.append(f"{len(kept)}: {results['broken']} broken, {results['below']} below")
        body.append([name, str(len(units)), *cells])
    head = ["input", "units", "log loss", *RIVALS, BASE, "best 60 % / heuristic", "best 40 % / heuristic"]
    yield from _table([*head, "calibration error", "beside the base rate", "thresholds used"], body)
    if absent:
        yield f"Not measured: {'; '.join(f'{why} ({count})' for why, count in sorted(absent.items()))}."
        yield ""


def _mean(units: Sequence[Row], way: str, measure: str, digits: int) -> str:
    return f"{sum(row['figures'][way][measure][0] for row in units) / len(units):.{digits}f}"


def refused(found: Mapping[str, Any]) -> Iterator[Row]:
    """Units of which nothing better than the base rate is said, or whose promise broke."""
    for shift in ("set", *SHIFTS):
        for row in found[shift]:
            if "figures" not in row:
                continue
            broken = [one for one in row["carried"] if one["result"] == "broken"]
            if row["verdict"] != "better than the base rate" or broken:
                yield row | {"broken": broken}


def _refused(found: Mapping[str, Any]) -> Iterator[str]:
    yield "### Where a promise is refused"
    yield ""
    yield "No better than the base rate by an interval that excludes 0, or a threshold that was carried there broke."
    yield ""
    body = []
    for row in refused(found):
        name = _title(row) if row["shift"] == "set" else f"{_title(row)}: {row['left_out']}"
        against = _words(row["differences"][BASE]["log loss"], 3, "+")
        worst = min(row["broken"], key=lambda one: one["precision"][0], default=None)
        words = "-"
        if worst is not None:
            source = f" from {worst['from']}" if "from" in worst else ""
            words = (
                f"{len(row['broken'])}; worst {_percent(worst['precision'])} of {100 * worst['target']:.0f} %{source}"
            )
        body.append([row["shift"], name, row["verdict"], against, words])
    yield from _table(["left out", "which", "log loss", "less the base rate's", "promises broken"], body)


def _percent(precision: Sequence[float]) -> str:
    value, low, high = (100 * one for one in precision)
    return f"{value:.1f} ({low:.1f} to {high:.1f})"


def _curve(rows: Sequence[Row]) -> Iterator[str]:
    yield "### Labels of one's own: log loss and best 60 %"
    yield ""
    yield "Mean over seeds, in brackets lowest and highest; the prior is of the other sets. Labels are of questions."
    yield ""
    body = []
    for row in rows:
        loss, best = row["log loss"], row["best 60 %"]
        cells = [
            _words(loss[way]) if row["labels"] or way in (POOLED, PRIOR) else "-" for way in (POOLED, ALONE, PRIOR)
        ]
        gain = _words(loss[f"{POOLED} less {ALONE}"], 3, "+") if row["labels"] else "-"
        kept = f"{best[POOLED][0]:.1f} / {best[ALONE][0]:.1f} / {best[PRIOR][0]:.1f}"
        body.append([_title(row), str(row["labels"]), *cells, gain, kept, f"{row['refused']} of {row['seeds']}"])
    head = ["set", "labels", POOLED, ALONE, PRIOR, "pooled less alone", "best 60 %: pooled / alone / prior"]
    yield from _table([*head, "fit alone not possible"], body)


def chart_files(found: Mapping[str, Any]) -> dict[str, str]:
    """Name of a file -> a plot."""
    return {
        "transfer-sets.svg": to_svg(set_chart(found["set"]), "transfer-sets"),
        "transfer-curve.svg": to_svg(curve_chart(found["curve"]), "transfer-curve"),
    }


def _measured(one: Interval) -> Measured:
    value, low, high = one
    assert value is not None
    return Measured(value=value, low=value if low is None else low, high=value if high is None else high)


def set_chart(rows: Sequence[Row]) -> IntervalChart:
    """Each set left out: log loss less that of three others."""
    drawn = []
    for row in rows:
        marks = [
            IntervalMark(series=at, value=_measured(row["differences"][name]["log loss"]))
            for at, name in enumerate(("heuristic", "no labels", BASE))
        ]
        drawn.append(IntervalRow(name=_title(row).replace("baseline_errordetection_", ""), marks=tuple(marks)))
    return IntervalChart(
        title="One set left out: log loss of the transferred probability less that of others",
        description="Left of 0 the transferred probability is better. Bars: 95 % by question.",
        kind="number",
        series=("less the heuristic", "less P(right), no labels", "less the base rate"),
        rows=tuple(drawn),
        reference=0.0,
    )


def curve_chart(rows: Sequence[Row]) -> IntervalChart:
    """Mean over sets, parts of a set together, of the loss as a share of the base rate's."""
    drawn = []
    for labels in sorted({row["labels"] for row in rows}):
        mine = [row for row in rows if row["labels"] == labels]
        sets = list(dict.fromkeys(row["set"] for row in mine))
        marks = []
        for at, way in enumerate((POOLED, ALONE, PRIOR, RATE)):
            if not labels and way in (ALONE, RATE):
                continue
            means = []
            for name in sets:
                losses = [row["log loss"][way][0] for row in mine if row["set"] == name]
                means.append(sum(losses) / len(losses))
            mean = sum(means) / len(means)
            marks.append(IntervalMark(series=at, value=Measured(value=mean, low=min(means), high=max(means))))
        drawn.append(IntervalRow(name=f"{labels} labelled questions, {len(sets)} sets", marks=tuple(marks)))
    return IntervalChart(
        title="Log loss by labels of one's own",
        description="Mean over sets left out, with the sets' lowest and highest mean over seeds.",
        kind="number",
        series=(POOLED, ALONE, PRIOR, RATE),
        rows=tuple(drawn),
    )
