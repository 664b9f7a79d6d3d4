"""Judgments in: one file format a module, chosen by content."""

from metajudge.reading.containers.lines import Reject
from metajudge.reading.jsonl import write_jsonl
from metajudge.reading.mapping import FieldMap, parse_map
from metajudge.reading.source import JudgmentSource, open_judgments

__all__ = ["FieldMap", "JudgmentSource", "Reject", "open_judgments", "parse_map", "write_jsonl"]
