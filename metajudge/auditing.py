"""An audit of judgments: what the command, the service and Python programs call."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from metajudge.audit.card import AuditReport
from metajudge.audit.report import audit
from metajudge.errors import InputError
from metajudge.readers.in_memory import JudgmentLike, as_judgment
from metajudge.readers.joined_labels import On, join
from metajudge.readers.label_files import LabelRows, read_labels
from metajudge.report.audit.published import AuditDocument, published
from metajudge.types import Judgment
from metajudge.types.right import Right, parse_right


@dataclass(frozen=True, slots=True)
class Audited:
    """An audit, and what joining people's labels gave to know.

    Attributes:
        found: the audit.
        judgments: what was audited, with their labels.
        notices: sentences on the labels.
    """

    found: AuditReport
    judgments: Sequence[Judgment]
    notices: tuple[str, ...] = field(default=())


def audit_judgments(
    judgments: Iterable[JudgmentLike],
    *,
    labels: LabelRows | Path | str | None = None,
    on: On | None = None,
    right: Right | str | None = None,
) -> AuditDocument:
    """Audits the judges of some judgments: agreement with people, biases, stability, corrected rates, power.

    Args:
        judgments: of all judges; records or plain data (``metajudge schema judgment``).
        labels: a file of people's labels, or labels that were read from one; None if the records hold them.
        on: what the labels name: ``id``, ``item`` or ``item+response``; None to find it by the values.
        right: what counts as right, as ``--right`` takes it; None for the default of each kind.

    Returns:
        The document; ``model_dump_json()`` gives the JSON of ``metajudge audit --json``.

    Raises:
        InputError: no judgment with a verdict, labels that match nothing, or a rule that does not exist.

    Example:
        >>> audit_judgments(open_judgments(["grades.csv"]), labels="people.csv").judges[0].accuracy  # doctest: +SKIP
    """
    read = read_labels([labels]) if isinstance(labels, Path | str) else labels
    audited = audited_by(judgments, read, on=on, right=right)
    return published(audited.found, notices=audited.notices)


def audited_by(
    judgments: Iterable[JudgmentLike],
    labels: LabelRows | None = None,
    *,
    on: On | None = None,
    right: Right | str | None = None,
    values: Mapping[str, str] | None = None,
) -> Audited:
    """As :func:`audit_judgments`, with the audit as it is and the judgments it rests on.

    Args:
        values: what values of a label mean, as ``--map-values``.
    """
    rule = _rule(right)
    given: Sequence[Judgment] = [as_judgment(one, place=f"judgment {at}") for at, one in enumerate(judgments, start=1)]
    _check_verdicts(given)
    notices: list[str] = []
    if labels is not None:
        given, joined = join(given, labels, on, values)
        notices = joined.notices()
    return Audited(audit(given, right=rule), given, tuple(notices))


def _rule(right: Right | str | None) -> Right | None:
    if not isinstance(right, str):
        return right
    try:
        return parse_right(right)
    except ValueError as error:
        raise InputError(str(error)) from None


def _check_verdicts(judgments: Sequence[Judgment]) -> None:
    if not judgments:
        raise InputError("there are no judgments: an audit needs verdicts of at least one judge")
    if all(one.verdict is None for one in judgments):
        reason = judgments[0].no_verdict
        raise InputError(
            f"none of the {len(judgments):,} judgments has a verdict (the first one: {reason}): there is nothing to audit"
        )
