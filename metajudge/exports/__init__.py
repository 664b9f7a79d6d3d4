"""Preference data: pairs for DPO from verdicts that survived vetting, cleaned, split, and checked."""

from metajudge.exports.checking import CheckReport, Fault, check
from metajudge.exports.export import ExportResult, export
from metajudge.exports.filters import Filters
from metajudge.exports.request import ExportRequest, Format, Kind, Pairing, Reconcile, Rule, Selection

__all__ = [
    "CheckReport",
    "ExportRequest",
    "ExportResult",
    "Fault",
    "Filters",
    "Format",
    "Kind",
    "Pairing",
    "Reconcile",
    "Rule",
    "Selection",
    "check",
    "export",
]
