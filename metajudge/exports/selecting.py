"""Which judgments are kept, and why the others are not: the table ``selected``."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import orjson

from metajudge.calibration.domain import outside_domain
from metajudge.calibration.promise import Promise
from metajudge.errors import InputError
from metajudge.exports import decisions
from metajudge.exports.request import ExportRequest, Kind, Rule, Selection
from metajudge.exports.workspace import Work, named_rows, only, quoted
from metajudge.types import GuaranteedThreshold

if TYPE_CHECKING:
    from metajudge.calibration.calibration import Calibration

_TOLERANCE = 1e-9


BEFORE_FILTERS = (
    "The promise is about the verdicts that the threshold selects, before people and policies decide, before they "
    "are reconciled, filtered, freed of duplicates and split: it does not carry over to the rows written."
)
"""What every export under a guarantee adds to the promise, on the terminal, in the card and in ``stats.json``."""


def select(work: Work, request: ExportRequest, calibration: "Calibration | None" = None) -> list[dict[str, Any]]:
    """Fills ``selected``: the assessments with ``kept``, ``kept_by`` and, where not kept, ``why``.

    What people and policies decided comes before the rule (:mod:`metajudge.exports.decisions`). ``by_rule`` says
    whether the rule alone keeps it. Where a person's verdict replaces the judge's, score and probability are
    absent: they are about the judge's.

    Returns:
        The promises the kept judgments carry, as :meth:`metajudge.calibration.promise.Promise.to_json` gives them.

    Raises:
        InputError: nothing has a probability, or no stored guarantee promises what was asked for.
    """
    selection = request.selection
    if selection.rule in (Rule.MIN_PROBABILITY, Rule.GUARANTEE):
        count, probable = only(work, "SELECT count(*), count(probability) FROM assessments")
        if not probable:
            raise InputError(
                f"none of the {count} assessments has a calibrated probability: fit a calibration with `metajudge "
                "calibrate fit` and vet with --calibration FILE, or select by --accepted"
            )
    if selection.rule is Rule.GUARANTEE:
        _set_bars(work, selection, calibration)
    kept, why = _conditions(selection, own=request.ignore_decisions)
    known = "NULL AS ruling, NULL AS human_verdict, NULL AS action"
    if not request.ignore_decisions:
        known = "ruling, human_verdict, action"
    correct = request.kind is Kind.RESPONSES
    work.execute(f"""
        CREATE OR REPLACE TABLE selected AS
        WITH ruled AS (
            SELECT a.* EXCLUDE (action), {known}, coalesce({kept}, false) AS by_rule
            FROM assessments a LEFT JOIN people USING (judgment_digest)
        ), decided AS (SELECT *, {decisions.kept_by("by_rule", correct=correct)} AS kept_by FROM ruled)
        SELECT * REPLACE (
                CASE WHEN kept_by = '{decisions.CORRECTED}' THEN NULL ELSE score END AS score,
                CASE WHEN kept_by = '{decisions.CORRECTED}' THEN NULL ELSE probability END AS probability,
                by_rule AND kept_by IS DISTINCT FROM '{decisions.CORRECTED}' AS by_rule),
            kept_by IS NOT NULL AS kept, CASE WHEN kept_by IS NULL THEN {decisions.why_not(why)} END AS why
        FROM decided""")
    if correct:
        work.execute(f"""
            UPDATE judgments SET verdict = s.human_verdict FROM selected s
            WHERE s.judgment_id = judgments.judgment_id AND s.kept_by = '{decisions.CORRECTED}'""")
    if selection.rule is not Rule.GUARANTEE:
        return []
    return [Promise.of_stamp(stamp).to_json(judges) for stamp, judges in _stamps(work, "selected", "kept AND by_rule")]


_OWN: Final = (
    "CASE WHEN policy IS NULL THEN accepted WHEN probability IS NOT NULL "
    "THEN round(probability, 9) >= round(coalesce(bar, 0.9), 9) ELSE round(score, 9) > round(threshold, 9) END"
)
"""SQL for what is kept where a policy's decision is left out: by the promise, by P from .9 on, or by the score."""


def _conditions(selection: Selection, *, own: bool) -> tuple[str, str]:
    """SQL for what a selection keeps, and why it drops the others; ``own`` leaves policies' decisions out."""
    silent = "judgment_id IN (SELECT judgment_id FROM judgments WHERE verdict IS NULL)"
    match selection.rule:
        case Rule.ALL:
            return "true", "NULL"
        case Rule.ACCEPTED:
            kept = _OWN if own else "accepted"
            return kept, (
                f"CASE WHEN {silent} THEN 'no_verdict' WHEN status = 'failed' THEN 'failed' "
                f"WHEN {kept} IS NULL THEN 'asked' ELSE 'discarded' END"
            )
        case Rule.MIN_PROBABILITY:
            bar = f"round({selection.min_probability!r}, 9)"
            return f"round(probability, 9) >= {bar}", (
                "CASE WHEN probability IS NULL THEN 'no_probability' ELSE 'below_min_probability' END"
            )
        case Rule.GUARANTEE:
            met = f"target >= {selection.target!r} - {_TOLERANCE} AND delta <= {selection.delta!r} + {_TOLERANCE}"
            return f"{met} AND round(probability, 9) >= round(bar, 9)", (
                "CASE WHEN probability IS NULL THEN 'no_probability' WHEN outside THEN 'outside_calibration_domain' "
                f"WHEN NOT coalesce({met}, false) THEN 'no_guarantee' ELSE 'below_guaranteed_threshold' END"
            )


_SCOPE = (
    "bar AS threshold, target, delta, coalesce(approximate, false) AS approximate, promise_judges AS judges, "
    "promise_unit AS unit, promise_questions AS questions"
)


def _set_bars(work: Work, selection: Selection, calibration: "Calibration | None") -> None:
    """Leaves every judgment the guarantee that covers it, and none to one outside its calibration's domain."""
    if calibration is not None:
        _take_bars(work, calibration)
    work.execute("ALTER TABLE assessments ADD COLUMN IF NOT EXISTS outside BOOLEAN DEFAULT false")
    for (marks,) in work.execute("SELECT DISTINCT marks FROM assessments WHERE marks IS NOT NULL").fetchall():
        if outside_domain(orjson.loads(marks)):  # earlier versions stamped these, too
            work.execute(
                "UPDATE assessments SET outside = true, bar = NULL, target = NULL, delta = NULL WHERE marks = $1",
                [marks],
            )
    stored = [stamp for stamp, _ in _stamps(work, "assessments", "true")]
    assert selection.target is not None
    assert selection.delta is not None
    if not any(
        one.target >= selection.target - _TOLERANCE and one.delta <= selection.delta + _TOLERANCE for one in stored
    ):
        raise InputError(_no_guarantee(work, selection.target, selection.delta, stored))


def _take_bars(work: Work, calibration: "Calibration") -> None:
    """Guarantees of a calibration file, for probabilities that came from it (with or without its guarantees)."""
    bare = calibration.model_copy(update={"guarantees": ()})
    known = [calibration.digest, bare.digest]
    (foreign,) = only(
        work,
        f"""SELECT count(*) FROM assessments WHERE probability IS NOT NULL AND calibration NOT IN
            ({", ".join(map(quoted, known))})""",
    )
    if foreign:
        raise InputError(
            f"{foreign} probabilities came from another calibration than the one given: a guaranteed threshold is "
            "valid for the scores it was set on; vet again with --calibration FILE"
        )
    work.execute("UPDATE assessments SET bar = NULL, target = NULL, delta = NULL, approximate = NULL")
    for (judge,) in work.execute("SELECT DISTINCT judge FROM assessments ORDER BY 1").fetchall():
        found = calibration.promise_for(judge, ())
        if found is not None:
            work.execute(
                "UPDATE assessments SET bar = $2, target = $3, delta = $4, approximate = $5, promise_judges = $6, "
                "promise_unit = $7, promise_questions = $8 WHERE judge = $1",
                [judge, found.threshold, found.target, found.delta, found.approximate,
                 orjson.dumps(found.judges).decode(), found.unit, found.questions],
            )  # fmt: skip


def _stamps(work: Work, table: str, where: str) -> list[tuple[GuaranteedThreshold, list[str]]]:
    """The guarantees among some judgments, each with the judges whose judgments carry it."""
    rows = named_rows(
        work,
        f"""SELECT {_SCOPE}, list(DISTINCT judge ORDER BY judge) AS carriers FROM {table} WHERE bar IS NOT NULL
            AND {where} GROUP BY ALL ORDER BY ALL""",
    )
    return [
        (GuaranteedThreshold(**row | {"judges": tuple(orjson.loads(row["judges"] or "[]"))}), carriers)
        for row in rows
        for carriers in [row.pop("carriers")]
    ]


def _no_guarantee(work: Work, target: float, delta: float, stored: Sequence[GuaranteedThreshold]) -> str:
    from metajudge.calibration.procedures import fewest_kept

    there = sorted({f"{one.target:g} with delta {one.delta:g}" for one in stored})
    has = f" (stored: {', '.join(there)})" if there else " (none is stored)"
    (outside,) = only(work, "SELECT count(*) FROM assessments WHERE outside")
    beyond = f" {outside} judgments lie outside their calibration's domain, where no guarantee applies." * bool(outside)
    return (
        f"no stored guarantee promises a precision of {target:g} with delta {delta:g}{has}.{beyond} Set one with "
        f"`metajudge calibrate threshold --target {target:g} --delta {delta:g}` and vet again. It takes at least "
        f"{fewest_kept(target, delta)} labelled questions that are kept, all of them right; decide on their number "
        "beforehand, since the guarantee is valid for one look. Nothing was exported."
    )


def reasons(work: Work) -> Mapping[str, int]:
    """Why judgments were not kept -> how many."""
    return dict(work.execute("SELECT why, count(*) FROM selected WHERE NOT kept GROUP BY 1 ORDER BY 1").fetchall())


def decided(work: Work, request: ExportRequest) -> dict[str, Any]:
    """How many judgments people, policies and the rule kept and dropped.

    Returns:
        ``ignored``: whether decisions were excluded on request. ``kept``: who kept it -> count. ``dropped``: the same;
        ``waiting_for_review`` are those a policy sent to people who have not decided. ``outside_guarantee``: kept by
        people or a policy without reaching the guaranteed threshold; None where no guarantee was asked for.
    """
    kept: dict[str, int] = dict(
        work.execute("SELECT kept_by, count(*) FROM selected WHERE kept GROUP BY 1 ORDER BY 1").fetchall()
    )
    dropped = reasons(work)
    by_people = {reason: dropped[reason] for reason in decisions.PEOPLE if reason in dropped}
    policy, waiting = dropped.get(decisions.POLICY, 0), dropped.get(decisions.WAITING, 0)
    outside = None
    if request.selection.rule is Rule.GUARANTEE:
        (outside,) = only(work, "SELECT count(*) FROM selected WHERE kept AND NOT by_rule")
    return {
        "ignored": request.ignore_decisions,
        "kept": {name: kept.get(name, 0) for name in ("people", decisions.CORRECTED, "policy", "rule")},
        "dropped": {
            "people": sum(by_people.values()),
            "policy": policy,
            "waiting_for_review": waiting,
            "rule": sum(dropped.values()) - sum(by_people.values()) - policy - waiting,
        },
        "people_dropped": by_people,
        "outside_guarantee": outside,
    }
