"""Reports made in Python: of results at hand."""

from collections.abc import Iterable, Sequence

from metajudge.decision import Policy
from metajudge.errors import InputError
from metajudge.readers.in_memory import JudgmentLike, as_judgment
from metajudge.readers.right_rules import right_of, rules_of
from metajudge.report.document import Report
from metajudge.types import Assessment, Right
from metajudge.vetting.label_count import LabelCount
from metajudge.vetting.report.page import page
from metajudge.vetting.report.picture import Picture
from metajudge.vetting.report.telling import Place, told_of
from metajudge.vetting.summary import VetSummary


def report_of_results(
    judgments: Iterable[JudgmentLike],
    assessments: Sequence[Assessment],
    *,
    policy: Policy | None = None,
    sampled: bool = True,
    right: Right | None = None,
    place: Place | None = None,
) -> Report:
    """The report of judgments and their assessments, such as :func:`metajudge.vet` returns them.

    Args:
        judgments: or plain data of the same shape.
        assessments: of these, in any order.
        policy: what decided; texts that it has people judge blind stand in the report without any result.
        sampled: whether the policy's other decisions may be sampled for review, too.
        right: what counts as right; None for the default of each kind of verdict.
        place: where the judgments come from.

    Returns:
        The report; :func:`metajudge.report.files.write_report` writes it.

    Raises:
        InputError: data that is no judgment, or an assessment of a judgment that is not among them.
    """
    records = {one.id: one for one in map(as_judgment, judgments)}
    rules = rules_of(records.values(), right)
    picture = Picture(policy, sampled, any(one.guarantee is not None for one in assessments))
    summary, labels = VetSummary(), LabelCount(rules)
    for one in assessments:
        judgment = records.get(one.judgment_id)
        if judgment is None:
            raise InputError(f"an assessment is of judgment {one.judgment_id!r}, which is not among those given")
        summary.add(one, reused=False)
        labels.add(judgment, one)
        picture.add(judgment, one, right_of(judgment, rules))
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
    by = f"{first.strategy} of {models}" if models else "free evidence alone"
    return f"Vetted by {by}; threshold {first.threshold:g}"
