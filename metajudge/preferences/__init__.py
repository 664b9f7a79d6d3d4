"""Preference data: pairs for DPO from verdicts that survived vetting, cleaned, split, and checked."""

from metajudge.preferences.checking import CheckReport, Fault, check
from metajudge.preferences.export import ExportResult, export
from metajudge.preferences.filters import Filters
from metajudge.preferences.request import ExportRequest, Format, Kind, Pairing, Reconcile, Rule, Selection

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
