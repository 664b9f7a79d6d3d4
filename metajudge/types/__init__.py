"""The product's vocabulary: items, judgments, verdicts, assessments, calls."""

from metajudge.types.assessment import (
    AgentResult,
    Assessment,
    CascadeStep,
    CascadeTrace,
    CriterionScore,
    Failure,
    GuaranteedThreshold,
    GuaranteeUnit,
    SignalValue,
    Status,
    TokenUsage,
)
from metajudge.types.calls import CallRecord, FinishReason, Reply, TokenChoice, TokenProbabilities
from metajudge.types.decision import Absent, Action, Decision, DecisionInputs
from metajudge.types.digests import digest, json_bytes, text_digest, valid_text
from metajudge.types.judgment import Item, Judgment, letters
from metajudge.types.usage import Usage
from metajudge.types.verdict import ID_PATTERN, AnyVerdict, Grade, Pairwise, Ranking, Verdict, parse_verdict

__all__ = [
    "ID_PATTERN",
    "Absent",
    "Action",
    "AgentResult",
    "AnyVerdict",
    "Assessment",
    "CallRecord",
    "CascadeStep",
    "CascadeTrace",
    "CriterionScore",
    "Decision",
    "DecisionInputs",
    "Failure",
    "FinishReason",
    "Grade",
    "GuaranteeUnit",
    "GuaranteedThreshold",
    "Item",
    "Judgment",
    "Pairwise",
    "Ranking",
    "Reply",
    "SignalValue",
    "Status",
    "TokenChoice",
    "TokenProbabilities",
    "TokenUsage",
    "Usage",
    "Verdict",
    "digest",
    "json_bytes",
    "letters",
    "parse_verdict",
    "text_digest",
    "valid_text",
]
