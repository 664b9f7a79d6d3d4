"""The JSON Schema of what ``metajudge vet --json`` prints."""

from typing import Any, Final

from pydantic import TypeAdapter

from metajudge.evidence.dependence import JudgesTogether
from metajudge.vetting.summary import VetSummary

_ADDED: Final[dict[str, Any]] = {
    "version": {"const": 1},
    "kept": {"type": "integer", "description": "Judgments kept by the rule that decides; see decided_by."},
    "discarded": {"type": "integer", "description": "Judgments that the rule discards."},
    "reasons": {"type": "array", "items": {"type": "object"}, "description": "Why nothing was kept, or has no score."},
    "counts": {
        "type": "object",
        "description": "All judgments given, by rows: how many, compared with a label, right.",
    },
    "labels": {
        "type": ["object", "null"],
        "description": "How the labels bear out what was kept; null without labels.",
    },
    "rejects": {"type": ["string", "null"], "description": "The file of lines that could not be read."},
    "reports": {"type": "array", "items": {"type": "string"}, "description": "Reports written."},
    "fail_under": {"type": "array", "items": {"type": "object"}, "description": "Each bar of --fail-under."},
}


def summary_schema() -> dict[str, Any]:
    """The schema."""
    whole = TypeAdapter(VetSummary)
    whole.rebuild(_types_namespace={"JudgesTogether": JudgesTogether})  # which the summary's module does not import
    schema = whole.json_schema(mode="serialization")
    for name in ("DependentPair", "JudgesTogether"):  # later versions may say more of them
        schema["$defs"][name].pop("additionalProperties")
    fields = {name: one for name, one in schema["properties"].items() if name not in VetSummary.HIDDEN}
    required = [*_ADDED.keys() - {"fail_under"}]
    return {
        "title": "VetSummary",
        "type": "object",
        "properties": {**_ADDED, **fields},
        "required": sorted(required),
        "$defs": schema.get("$defs", {}),
    }
