"""Verdicts in SQL: their winner, strength and support, and texts in the form in which they are compared."""

import duckdb

from metajudge.types import ID_PATTERN

PAIRWISE = rf"^\s*({ID_PATTERN})\s*(>>|>|=)\s*({ID_PATTERN})\s*$"

_FUNCTION_WORDS = (
    "the|a|an|of|to|and|or|but|nor|because|is|are|was|were|be|with|in|on|at|for|that|which|by|as|from|if|than|its|"
    "their|your|my|our|this|these|those|into|about|between|such|whose|while|when|where"
)


def define(work: duckdb.DuckDBPyConnection) -> None:
    """Defines the functions the export's SQL uses, for this connection.

    - ``named(verdict)``: first id, sign and second id of a pairwise verdict; empty texts for other verdicts.
    - ``winner(verdict)``: the preferred id; NULL for ties, shared first places, grades and absent verdicts.
    - ``right_by_label(verdict, label)``: as :attr:`metajudge.types.Judgment.correct`.
    - ``normal(text)``: NFC, lower case, without white space: two texts that are the same so, are the same.
    - ``looks_cut(text)``: whether a text ends in the middle: an open code fence; a comma, an open bracket, a dash or a
      function word at the end of 80 characters or more; or prose of 400 characters or more whose last line runs on for
      80 characters and stops at a plain word.
    """
    for name, body in {
        "named(v)": f"regexp_extract(v, '{PAIRWISE}', ['first', 'sign', 'second'])",
        "ranked(v)": "CASE WHEN v LIKE '[%' THEN from_json(v, '[[\"VARCHAR\"]]') END",
        "winner(v)": "CASE WHEN v LIKE '[%' THEN CASE WHEN len(ranked(v)[1]) = 1 THEN ranked(v)[1][1] END "
        "WHEN named(v).sign IN ('>', '>>') THEN named(v).first END",
        "is_tie(v)": "CASE WHEN v LIKE '[%' THEN len(ranked(v)) = 1 ELSE named(v).sign = '=' END",
        "comparable(v)": "v LIKE '[%' OR named(v).sign <> ''",
        "right_by_label(v, label)": "CASE WHEN NOT comparable(v) OR NOT comparable(label) THEN NULL "
        "WHEN winner(label) IS NOT NULL THEN coalesce(winner(v) = winner(label), false) "
        "WHEN is_tie(label) THEN winner(v) IS NULL END",
        "normal(t)": "replace(replace(replace(replace(replace(lower(nfc_normalize(t)), ' ', ''), chr(10), ''), "
        "chr(9), ''), chr(13), ''), chr(160), '')",
        "looks_cut(t)": "((length(t) - length(replace(t, '```', ''))) // 3) % 2 = 1 "
        "OR (length(t) >= 80 AND regexp_matches(right(t, 24), "
        f"'(?i)(?:[,(\\[{{\u2013\u2014]|\\s(?:{_FUNCTION_WORDS}))\\s*$')) "
        "OR (length(t) >= 400 AND (contains(t, '. ') OR contains(t, '.' || chr(10))) "
        "AND regexp_matches(right(t, 80), '^[^\\n]*\\s[a-z]+\\s*$'))",
    }.items():
        work.execute(f"CREATE OR REPLACE TEMP MACRO {name} AS {body}")
