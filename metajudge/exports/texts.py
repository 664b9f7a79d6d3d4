"""The texts of an entry, as SQL: prompt, chosen and rejected are put together where they are needed."""

from metajudge.exports.request import Kind
from metajudge.exports.workspace import quoted

JUDGE_INSTRUCTION = (
    "Compare the responses to the question below. Give your reasons, then your verdict in double brackets, such as "
    "[[A>>B]] (A is much better), [[A>B]], [[A=B]], [[B>A]] or [[B>>A]]."
)
"""What the prompt of a judge pair begins with where the record contains no instruction."""


def texts_of(kind: Kind, entries: str) -> str:
    """SQL that adds ``system``, ``question``, ``prompt``, ``chosen`` and ``rejected`` to the columns of some entries.

    For judgments the prompt shows the question and the responses in the order and under the labels the judge saw, and a
    completion is the rationale followed by the verdict in double brackets, unless the rationale states it already.
    """
    return _RESPONSES.format(entries=entries) if kind is Kind.RESPONSES else _JUDGMENTS.format(entries=entries)


_RESPONSES = """
SELECT e.*, i.item_id, i.category, NULL::VARCHAR AS system, i.question, i.question AS prompt,
    json_extract_string(i.responses, '$."' || e.chosen_ref || '"') AS chosen,
    json_extract_string(i.responses, '$."' || e.rejected_ref || '"') AS rejected,
    e.chosen_ref AS chosen_id, e.rejected_ref AS rejected_id,
    json_extract_string(i.models, '$."' || e.chosen_ref || '"') AS chosen_model,
    json_extract_string(i.models, '$."' || e.rejected_ref || '"') AS rejected_model
FROM {entries} e JOIN items i ON i.item_no = e.item_no"""

_MARK = (
    "(CASE WHEN {j}.verdict LIKE '[%' THEN array_to_string(list_transform(ranked({j}.verdict), lambda members: "
    "array_to_string(list_transform(members, lambda name: d.names[list_position(c.shown, name)]), '=')), '>') "
    "ELSE d.names[list_position(c.shown, named({j}.verdict).first)] || named({j}.verdict).sign || "
    "d.names[list_position(c.shown, named({j}.verdict).second)] END)"
)
_SAID = (
    "(CASE WHEN trim({j}.rationale) = '' THEN '' WHEN contains({j}.rationale, '[[' || {mark} || ']]') "
    "OR contains(replace({j}.rationale, ' ', ''), '\"verdict\":\"' || {mark} || '\"') "
    "THEN {j}.rationale ELSE rtrim({j}.rationale, chr(32) || chr(10) || chr(13) || chr(9)) || chr(10) || chr(10) "
    "|| '[[' || {mark} || ']]' END)"
)


def _said(judgment: str) -> str:
    return _SAID.replace("{mark}", _MARK).replace("{j}", judgment)


_JUDGMENTS = (
    f"""
SELECT e.*, i.item_id, i.category, coalesce(c.instruction, {quoted(JUDGE_INSTRUCTION)}) AS system, i.question,
    '[Question]' || chr(10) || i.question || chr(10) || chr(10) || array_to_string(list_transform(
        range(1, len(c.shown) + 1), lambda place: '[Response ' || d.names[place] || ']' || chr(10) ||
            json_extract_string(i.responses, '$."' || c.shown[place] || '"')), chr(10) || chr(10)) AS prompt,
    {_said("c")} AS chosen, CASE WHEN r.judgment_no IS NULL THEN NULL ELSE {_said("r")} END AS rejected,
    c.judgment_id AS chosen_id, r.judgment_id AS rejected_id, c.judge AS chosen_model, r.judge AS rejected_model
"""
    + """FROM {entries} e JOIN items i ON i.item_no = e.item_no JOIN judgments c ON c.judgment_no = e.chosen_ref::BIGINT
LEFT JOIN judgments r ON r.judgment_no = e.rejected_ref::BIGINT
JOIN judgment_displays s ON s.judgment_no = c.judgment_no JOIN displays d ON d.display = s.display"""
)
