"""Judgments in: one file format a module, chosen by content."""

from metajudge.readers.jsonl import write_jsonl
from metajudge.readers.lines import Reject
from metajudge.readers.source import JudgmentSource, open_judgments

__all__ = ["JudgmentSource", "Reject", "open_judgments", "write_jsonl"]
