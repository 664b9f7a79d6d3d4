"""The product's vocabulary: items, judgments, verdicts, assessments, calls."""

from metajudge.types.assessment import (
    AgentResult,
    Assessment,
    CriterionScore,
    Failure,
    GuaranteedThreshold,
    SignalValue,
    Status,
    TokenUsage,
)
from metajudge.types.calls import CallRecord, FinishReason, Reply, Usage
from metajudge.types.digests import digest, text_digest
from metajudge.types.judgment import Item, Judgment, letters
from metajudge.types.verdict import ID_PATTERN, AnyVerdict, Grade, Pairwise, Ranking, Verdict, parse_verdict

__all__ = [
    "ID_PATTERN",
    "AgentResult",
    "AnyVerdict",
    "Assessment",
    "CallRecord",
    "CriterionScore",
    "Failure",
    "FinishReason",
    "Grade",
    "GuaranteedThreshold",
    "Item",
    "Judgment",
    "Pairwise",
    "Ranking",
    "Reply",
    "SignalValue",
    "Status",
    "TokenUsage",
    "Usage",
    "Verdict",
    "digest",
    "letters",
    "parse_verdict",
    "text_digest",
]
