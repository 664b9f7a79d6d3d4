"""The product's vocabulary: items, judgments, verdicts, assessments, calls."""

from metajudge.types.assessment import (
    AgentResult,
    Assessment,
    CriterionScore,
    DecidedBy,
    Failure,
    GuaranteedThreshold,
    GuaranteePopulation,
    GuaranteeUnit,
    SignalValue,
    Status,
    ToDo,
)
from metajudge.types.calls import CallRecord, FinishReason, Reply
from metajudge.types.decision import Absent, Action, Decision, DecisionInputs
from metajudge.types.digests import digest, json_bytes, text_digest, valid_text
from metajudge.types.judgment import Item, Judgment, Message, ToolCall, letters
from metajudge.types.label import Label, majority
from metajudge.types.right import Right, default_right, is_right, parse_right
from metajudge.types.spent import TokenUsage
from metajudge.types.usage import Usage
from metajudge.types.verdict import (
    ID_PATTERN,
    VERDICT_KINDS,
    AnyVerdict,
    Category,
    Grade,
    Pairwise,
    Ranking,
    Verdict,
    VerdictKind,
    kind_of,
    parse_verdict,
)

__all__ = [
    "ID_PATTERN",
    "VERDICT_KINDS",
    "Absent",
    "Action",
    "AgentResult",
    "AnyVerdict",
    "Assessment",
    "CallRecord",
    "Category",
    "CriterionScore",
    "DecidedBy",
    "Decision",
    "DecisionInputs",
    "Failure",
    "FinishReason",
    "Grade",
    "GuaranteePopulation",
    "GuaranteeUnit",
    "GuaranteedThreshold",
    "Item",
    "Judgment",
    "Label",
    "Message",
    "Pairwise",
    "Ranking",
    "Reply",
    "Right",
    "SignalValue",
    "Status",
    "ToDo",
    "TokenUsage",
    "ToolCall",
    "Usage",
    "Verdict",
    "VerdictKind",
    "default_right",
    "digest",
    "is_right",
    "json_bytes",
    "kind_of",
    "letters",
    "majority",
    "parse_right",
    "parse_verdict",
    "text_digest",
    "valid_text",
]
