"""Judgments in: one file format a module, chosen by content."""

from metajudge.readers.jsonl import write_jsonl
from metajudge.readers.lines import Reject
from metajudge.readers.mapping import FieldMap, parse_map
from metajudge.readers.source import JudgmentSource, open_judgments

__all__ = ["FieldMap", "JudgmentSource", "Reject", "open_judgments", "parse_map", "write_jsonl"]
