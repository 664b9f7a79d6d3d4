"""Which judgments are kept, and why the others are not: the table ``selected``."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import duckdb
import numpy as np

from metajudge.errors import InputError
from metajudge.preferences.intake import only
from metajudge.preferences.request import Rule, Selection
from metajudge.preferences.workspace import quoted

if TYPE_CHECKING:
    from metajudge.calibration.calibration import Calibration

_TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True)
class Bar:
    """A guaranteed threshold in use; ``judge`` is None where every assessment brings its own."""

    judge: str | None
    threshold: float
    target: float
    delta: float
    approximate: bool

    def sentence(self) -> str:
        who = "" if self.judge is None else f" of {self.judge}'s judgments"
        said = (
            f"Kept are probabilities of {self.threshold:.4g} and above{who}: with {100 * (1 - self.delta):g} % "
            f"confidence at least {100 * self.target:g} % of such verdicts are right on new questions like those the "
            "threshold was set on"
        )
        return said + (
            "; approximate, since the scores were fitted on the same questions." if self.approximate else "."
        )


def select(
    work: duckdb.DuckDBPyConnection, selection: Selection, calibration: "Calibration | None" = None
) -> list[Bar]:
    """Fills ``selected``: the assessments with ``kept`` and, where not kept, ``why``.

    Returns:
        The guaranteed thresholds used.

    Raises:
        InputError: nothing has a probability, or no stored guarantee promises what was asked for.
    """
    bars: list[Bar] = []
    if selection.rule in (Rule.MIN_PROBABILITY, Rule.GUARANTEE):
        _require_probabilities(work)
    if selection.rule is Rule.GUARANTEE:
        bars = _bars(work, selection, calibration)
    kept, why = _conditions(selection)
    work.execute(f"""
        CREATE OR REPLACE TABLE selected AS
        SELECT *, coalesce({kept}, false) AS kept, CASE WHEN coalesce({kept}, false) THEN NULL ELSE {why} END AS why
        FROM assessments""")
    return bars


def _conditions(selection: Selection) -> tuple[str, str]:
    undecided = "CASE WHEN status <> 'assessed' THEN status"
    match selection.rule:
        case Rule.ALL:
            return "true", "NULL"
        case Rule.ACCEPTED:
            return "accepted", f"{undecided} WHEN accepted IS NULL THEN 'undecided' ELSE 'not_accepted' END"
        case Rule.MIN_PROBABILITY:
            bar = f"round({selection.min_probability!r}, 9)"
            return f"round(probability, 9) >= {bar}", (
                "CASE WHEN probability IS NULL THEN 'no_probability' ELSE 'below_min_probability' END"
            )
        case Rule.GUARANTEE:
            met = f"target >= {selection.target!r} - {_TOLERANCE} AND delta <= {selection.delta!r} + {_TOLERANCE}"
            return f"{met} AND round(probability, 9) >= round(bar, 9)", (
                "CASE WHEN probability IS NULL THEN 'no_probability' "
                f"WHEN NOT coalesce({met}, false) THEN 'no_guarantee' ELSE 'below_guaranteed_threshold' END"
            )


def _require_probabilities(work: duckdb.DuckDBPyConnection) -> None:
    count, probable = only(work, "SELECT count(*), count(probability) FROM assessments")
    if not probable:
        raise InputError(
            f"none of the {count} assessments has a calibrated probability: fit a calibration with `metajudge "
            "calibrate fit` and vet with --calibration FILE, or select by --accepted"
        )


def _bars(work: duckdb.DuckDBPyConnection, selection: Selection, calibration: "Calibration | None") -> list[Bar]:
    if calibration is not None:
        _take_bars(work, selection, calibration)
    rows = work.execute(
        "SELECT judge, bar, target, delta, coalesce(approximate, false), count(*) FROM assessments "
        "WHERE bar IS NOT NULL GROUP BY ALL ORDER BY ALL"
    ).fetchall()
    stored = [Bar(judge, bar, target, delta, approximate) for judge, bar, target, delta, approximate, _ in rows]
    assert selection.target is not None
    assert selection.delta is not None
    met = [
        one
        for one in stored
        if one.target >= selection.target - _TOLERANCE and one.delta <= selection.delta + _TOLERANCE
    ]
    if not met:
        raise InputError(_no_guarantee(work, selection.target, selection.delta, stored))
    return met


def _take_bars(work: duckdb.DuckDBPyConnection, selection: Selection, calibration: "Calibration") -> None:
    """Guarantees of a calibration file, for probabilities that came from it (with or without its guarantees)."""
    bare = calibration.model_copy(update={"guarantees": ()})
    known = [calibration.digest, bare.digest]
    (foreign,) = only(
        work,
        "SELECT count(*) FROM assessments WHERE probability IS NOT NULL AND calibration NOT IN "
        f"({', '.join(map(quoted, known))})",
    )
    if foreign:
        raise InputError(
            f"{foreign} probabilities came from another calibration than the one given: a guaranteed threshold holds "
            "for the scores it was set on; vet again with --calibration FILE"
        )
    work.execute("UPDATE assessments SET bar = NULL, target = NULL, delta = NULL, approximate = NULL")
    for (judge,) in work.execute("SELECT DISTINCT judge FROM assessments ORDER BY 1").fetchall():
        found = calibration.guarantee_for(judge)
        if found is not None:
            work.execute(
                "UPDATE assessments SET bar = $2, target = $3, delta = $4, approximate = $5 WHERE judge = $1",
                [judge, found.threshold, found.target, found.delta, found.approximate],
            )


def _no_guarantee(work: duckdb.DuckDBPyConnection, target: float, delta: float, stored: Sequence[Bar]) -> str:
    wanted = f"no stored guarantee promises a precision of {target:g} with delta {delta:g}"
    there = sorted({f"{one.target:g} with delta {one.delta:g}" for one in stored})
    has = f" (stored: {', '.join(there)})" if there else " (none is stored)"
    return f"{wanted}{has}. {_labels_needed(work, target, delta)} Nothing was exported."


def _labels_needed(work: duckdb.DuckDBPyConnection, target: float, delta: float) -> str:
    """What the labels at hand say about the wish: how many more, or how to store the guarantee."""
    from metajudge.calibration.guarantee import Abstention, Guarantee, fewest_kept, guaranteed_threshold

    command = f"metajudge calibrate threshold --target {target:g} --delta {delta:g}"
    rows = work.execute("""
        SELECT i.item_id, a.probability, right_by_label(j.verdict, i.label) AS correct
        FROM assessments a JOIN judgments j USING (judgment_id) JOIN items i ON i.item_id = j.item_id
        WHERE a.probability IS NOT NULL AND correct IS NOT NULL ORDER BY a.judgment_id""").fetchall()
    least = fewest_kept(target, delta / 2)
    if not rows:
        return (
            f"At least {least} labelled questions that are kept, and all of them right, are needed; the input here has "
            f"no label. With labels: `{command}`, then vet again."
        )
    found = guaranteed_threshold(
        np.array([row[1] for row in rows]),
        np.array([bool(row[2]) for row in rows]),
        [row[0] for row in rows],
        target=target,
        delta=delta,
        approximate=True,
    )
    match found:
        case Abstention():
            more = "" if found.labels_needed else f" At least {least} kept without an error are needed in any case."
            return f"By the {found.questions} labelled questions here: {found.meaning()}{more}"
        case Guarantee():
            return f"The {found.questions} labelled questions here would do: store it with `{command}` and vet again."


def reasons(work: duckdb.DuckDBPyConnection) -> Mapping[str, int]:
    """Why judgments were not kept -> how many."""
    return dict(work.execute("SELECT why, count(*) FROM selected WHERE NOT kept GROUP BY 1 ORDER BY 1").fetchall())
