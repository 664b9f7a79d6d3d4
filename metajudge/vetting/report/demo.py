"""The report of ``metajudge demo``: the shipped sample, vetted in memory."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from metajudge.blocking import vet
from metajudge.decision import Policy
from metajudge.errors import InputError, MetajudgeError
from metajudge.evidence.counting import Counts
from metajudge.evidence.units import Clusters
from metajudge.reading.reasons import JudgmentLike, as_judgment
from metajudge.reading.right_rules import right_of, rules_of
from metajudge.report.document import Report
from metajudge.report.files import write_report
from metajudge.strategies.rule import rule_of
from metajudge.types import Assessment, Status
from metajudge.vetting.demo import sample_judgments
from metajudge.vetting.picture import Picture
from metajudge.vetting.report.page import Place, page, told_of
from metajudge.vetting.summary import VetSummary


def report_of_results(
    judgments: Iterable[JudgmentLike],
    assessments: Sequence[Assessment],
    *,
    policy: Policy | None = None,
    place: Place | None = None,
) -> Report:
    """The report of judgments and their assessments, such as :func:`metajudge.vet` returns them.

    Args:
        policy: what decided; texts that it has people judge blind stand in the report without any result.

    Returns:
        The report; :func:`metajudge.report.files.write_report` writes it.

    Raises:
        InputError: data that is no judgment, or an assessment of a judgment that is not among them.
    """
    records = {one.id: one for one in map(as_judgment, judgments)}
    rules = rules_of(records.values())
    picture = Picture(policy, sampled=True)
    summary, labels = VetSummary(), Counts(rules, clusters=Clusters(records.values()))
    for one in assessments:
        judgment = records.get(one.judgment_id)
        if judgment is None:
            raise InputError(f"an assessment is of judgment {one.judgment_id!r}, which is not among those given")
        summary.add(one, reused=False)
        summary.calibrated |= one.calibrated
        labels.add(judgment, one)
        picture.add(judgment, one, right_of(judgment, rules), question=labels.clusters.name(judgment.item))
        summary.calls += one.calls
        summary.known_cost_usd += one.cost_usd or 0.0
        summary.cost_usd = None if one.cost_usd is None or summary.cost_usd is None else summary.cost_usd + one.cost_usd
    return page(picture, told_of(summary, labels, _how(assessments), place or Place()))


def _how(assessments: Sequence[Assessment]) -> str:
    """What vetted, as far as assessments name it."""
    if not assessments:
        return "Nothing was vetted"
    first = assessments[0]
    models = ", ".join(dict.fromkeys(agent.model for agent in first.members))
    calibrated = any(one.calibrated for one in assessments)
    alone = "free evidence and labels" if calibrated else "free evidence alone"
    by = f"{first.strategy} of {models}" if models else alone
    if models and not any(one.status is Status.ASSESSED for one in assessments):
        return f"Not vetted: {by} gave no decision on any judgment"
    kept = next((str(rule) for rule in map(rule_of, assessments) if rule is not None), "nothing: no rule could decide")
    return f"Vetted by {by}; kept {kept}"


NOTE: Final = "The three judges of this sample are fictional: it shows how vetting works, and measures nothing."
COMMAND: Final = "metajudge demo"
PLACE: Final = Place(["sample.jsonl"], None, COMMAND, note=NOTE)
MARK: Final = f"<dt>Command</dt><dd>{COMMAND}</dd>"
"""Stands in every such report, and tells it from other files of the same name."""


def write_demo_report(path: Path) -> str | None:
    """Writes the report of the sample; a file that is no such report is left alone.

    Returns:
        None where it was written, else why not.
    """
    judgments = sample_judgments()
    try:
        if path.exists() and MARK not in path.read_text("utf-8", "replace"):
            return f"{path} is another file and is not overwritten; --report NAME.html takes another name"
        report = report_of_results(judgments, vet(judgments, calibration="none"), place=PLACE)
        write_report(report, path)
    except (MetajudgeError, OSError) as error:
        return f"{path} was not written: {error}"
    return None
