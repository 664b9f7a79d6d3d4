"""Verdicts in SQL: their winner, strength and support, and texts in the form in which they are compared."""

import orjson

from metajudge.exports.workspace import Work
from metajudge.types import ID_PATTERN, AnyVerdict, Pairwise

PAIRWISE = rf"^\s*({ID_PATTERN})\s*(>>|>|=)\s*({ID_PATTERN})\s*$"

_FUNCTION_WORDS = (
    "the|a|an|of|to|and|or|but|nor|because|is|are|was|were|be|with|in|on|at|for|that|which|by|as|from|if|than|its|"
    "their|your|my|our|this|these|those|into|about|between|such|whose|while|when|where"
)


_CALLED = (
    '[{"role": "VARCHAR", "content": "VARCHAR", "tool_call_id": "VARCHAR", "name": "VARCHAR", '
    '"tool_calls": [{"id": "VARCHAR", "name": "VARCHAR", "arguments": "VARCHAR"}]}]'
)
"""Structure of the messages of a record."""


def verdict_text(verdict: AnyVerdict | None) -> str | None:
    """A verdict as the tables have it: ``A>B`` for a pairwise one, JSON for every other one."""
    if verdict is None:
        return None
    return str(verdict) if isinstance(verdict, Pairwise) else orjson.dumps(verdict.to_json()).decode()


def define(work: Work) -> None:
    """Defines the functions the export's SQL uses, for this connection.

    - ``said(json)``: a verdict in a record's JSON as :func:`verdict_text` gives it.
    - ``named(verdict)``: first id, sign and second id of a pairwise verdict; empty texts for other verdicts.
    - ``kind_of(verdict)``: ``pairwise``, ``ranking``, ``grade`` or ``category``; NULL for an absent one.
    - ``grade_of(verdict)``: a grade's number; NULL for other verdicts.
    - ``winner(verdict)``: the preferred id; NULL for ties, shared first places, grades, categories and absent verdicts.
    - ``right_by_label(verdict, label)``: as :attr:`metajudge.types.Judgment.correct`, for verdicts that compare.
    - ``normal(text)``: NFC, lower case, without white space: two texts that are the same so, are the same.
    - ``spoken(json)``: whether messages have the roles that TRL takes; ``talk(json)``: whether they are also a
      conversation, in which every message of the user but the last is answered; ``ends(json)``: whether an answer is
      its last message; ``last_asked(json)``: its last question.
    - ``uttered(json)``, ``called(json)``: messages as roles and texts, and with their calls of tools.
    - ``looks_cut(text)``: whether a text ends in the middle: an open code fence; a comma, an open bracket, a dash or a
      function word at the end of 80 characters or more; or prose of 400 characters or more whose last line runs on for
      80 characters and stops at a plain word.
    """
    for name, body in {
        "said(v)": "CASE WHEN regexp_matches(v->>'$', '[<>=]') THEN v->>'$' ELSE v::VARCHAR END",
        "kind_of(v)": "CASE WHEN v IS NULL THEN NULL WHEN v LIKE '[%' THEN 'ranking' WHEN v IN ('true', 'false') "
        "OR v LIKE '\"%' OR v LIKE '{%' THEN 'category' WHEN try_cast(v AS DOUBLE) IS NOT NULL THEN 'grade' "
        "ELSE 'pairwise' END",
        "grade_of(v)": "try_cast(v AS DOUBLE)",
        "named(v)": f"regexp_extract(v, '{PAIRWISE}', ['first', 'sign', 'second'])",
        "ranked(v)": "CASE WHEN v LIKE '[%' THEN from_json(v, '[[\"VARCHAR\"]]') END",
        "winner(v)": "CASE WHEN v LIKE '[%' THEN CASE WHEN len(ranked(v)[1]) = 1 THEN ranked(v)[1][1] END "
        "WHEN named(v).sign IN ('>', '>>') THEN named(v).first END",
        "comparable(v)": "v LIKE '[%' OR named(v).sign <> ''",
        "right_by_label(v, label)": "CASE WHEN comparable(v) AND winner(label) IS NOT NULL "
        "THEN coalesce(winner(v) = winner(label), false) END",
        "normal(t)": "replace(replace(replace(replace(replace(lower(nfc_normalize(t)), ' ', ''), chr(10), ''), "
        "chr(9), ''), chr(13), ''), chr(160), '')",
        "roles(m)": "json_extract_string(m, '$[*].role')",
        "spoken(m)": "coalesce(len(roles(m)) > 0 AND "
        "list_has_all(['system', 'user', 'assistant', 'tool'], roles(m)), false)",
        "talk(m)": "spoken(m) AND list_contains(roles(m), 'user') AND "
        "NOT contains(array_to_string(roles(m), ','), 'user,user')",
        "ends(m)": "roles(m)[-1] = 'assistant'",
        "last_asked(m)": 'list_filter(from_json(m, \'[{"role": "VARCHAR", "content": "VARCHAR"}]\'), '
        "lambda one: one.role = 'user')[-1].content",
        "uttered(m)": 'list_transform(from_json(m, \'[{"role": "VARCHAR", "content": "VARCHAR"}]\'), '
        "lambda one: {'role': one.role, 'content': coalesce(one.content, '')})",
        "called(m)": f"list_transform(from_json(m, '{_CALLED}'), lambda one: "
        "{'role': one.role, 'content': coalesce(one.content, ''), 'tool_calls': list_transform(one.tool_calls, "
        "lambda call: {'id': call.id, 'type': 'function', 'function': {'name': call.name, 'arguments': "
        "call.arguments}}), 'tool_call_id': one.tool_call_id, 'name': one.name})",
        "looks_cut(t)": "((length(t) - length(replace(t, '```', ''))) // 3) % 2 = 1 "
        "OR (length(t) >= 80 AND regexp_matches(right(t, 24), "
        f"'(?i)(?:[,(\\[{{\u2013\u2014]|\\s(?:{_FUNCTION_WORDS}))\\s*$')) "
        "OR (length(t) >= 400 AND (contains(t, '. ') OR contains(t, '.' || chr(10))) "
        "AND regexp_matches(right(t, 80), '^[^\\n]*\\s[a-z]+\\s*$'))",
    }.items():
        work.execute(f"CREATE OR REPLACE TEMP MACRO {name} AS {body}")
