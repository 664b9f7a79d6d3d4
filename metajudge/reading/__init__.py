"""Judgments in: ``containers`` give rows, ``formats`` know the records of other tools, and a mapping reads any table.

The format of a file is recognised by its content.
"""

from metajudge.reading.containers.lines import Reject
from metajudge.reading.jsonl import write_jsonl
from metajudge.reading.mapping import FieldMap, parse_map
from metajudge.reading.source import JudgmentSource, open_judgments

__all__ = ["FieldMap", "JudgmentSource", "Reject", "open_judgments", "parse_map", "write_jsonl"]
