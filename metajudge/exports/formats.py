"""Rows as files: one SELECT a format, shards of a fixed number of rows, the same bytes for the same rows."""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from metajudge.exports.request import ExportRequest, Format, Kind
from metajudge.exports.workspace import PIECE, Work, only, quoted, ranges

ROW_GROUP: Final = 10_000
LONG: Final = 2 * PIECE
"""Bytes of 2,048 rows, a vector, from which rows are written in pieces."""

_LENGTHS: Final = "SELECT item_no, coalesce(strlen(question) + strlen(responses), 0) AS size FROM items"
_MESSAGE: Final = "{{'role': '{role}', 'content': {content}}}"
_PLAIN: Final = '"role" VARCHAR, "content" VARCHAR'
_CALLS: Final = '"id" VARCHAR, "type" VARCHAR, "function" STRUCT("name" VARCHAR, "arguments" VARCHAR)'
_MESSAGES: Final = {
    "messages": f"STRUCT({_PLAIN})[]",
    "tools": f'STRUCT({_PLAIN}, "tool_calls" STRUCT({_CALLS})[], "tool_call_id" VARCHAR, "name" VARCHAR)[]',
}
"""Kind of a column of messages -> its type: those with tools have more fields."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the files: its expression, its type in the card's terms, and what it means."""

    name: str
    expression: str
    kind: str
    meaning: str


PROVENANCE: Final = (
    Column("id", "entry_id", "string", "digest of kind, item and what is compared"),
    Column("item_id", "item_id", "string", "the item's id in the source"),
    Column("question", "question", "string", "the item's question"),
    Column("category", "category", "string", "the item's category"),
    Column("cluster", "cluster", "string", "questions of one cluster are in one split"),
    Column("margin", "margin", "float64", "how clear the preference is, see below"),
    Column("strength", "strength", "float64", "stated strength: 2 much better, 1 better"),
    Column("probability", "probability", "float64", "calibrated probability that the verdict is right (lowest one)"),
    Column("score", "score", "float64", "meta-judges' score of the judgment (lowest one)"),
    Column("judge", "judge", "string", "whose verdicts"),
    Column("agents", "agents", "string", "the meta-judges that vetted them"),
    Column(
        "kept_by", "kept_by", "string", "what kept them: rule, policy, people, people_corrected (a person's verdict)"
    ),
    Column("votes", "votes", "int32", "kept verdicts on this pair"),
    Column("judgments", "judgments", "strings", "ids of the judgments"),
    Column("chosen_id", "chosen_id", "string", "response or judgment id"),
    Column("rejected_id", "rejected_id", "string", "response or judgment id"),
    Column("chosen_model", "chosen_model", "string", "the model that wrote it, where known"),
    Column("rejected_model", "rejected_model", "string", "the model that wrote it, where known"),
    Column("rejected_probability", "rejected_probability", "float64", "of the rejected judgment"),
    Column("rejected_score", "rejected_score", "float64", "of the rejected judgment"),
    Column("chosen_length", "chosen_length::INTEGER", "int32", "characters"),
    Column("rejected_length", "rejected_length::INTEGER", "int32", "characters"),
    Column("flags", "flags", "strings", "personal data or secrets by how they look, where asked for"),
)
"""The columns behind the texts, alike in every format."""

_SYSTEM: Final = "CASE WHEN system IS NULL THEN prompt ELSE system || chr(10) || chr(10) || prompt END"


def spoken_in(work: Work, request: ExportRequest) -> str | None:
    """``tools`` where a row's messages call tools, ``messages`` where rows are conversations; None for texts."""
    if request.kind is Kind.JUDGMENTS:
        return None
    several, calls = only(
        work,
        """SELECT count(*) FILTER (talk(i.conversation) OR i.replies IS NOT NULL), count(*) FILTER (
            regexp_matches(concat(i.conversation, i.replies), '"tool_call|"role": ?"tool"'))
            FROM ordered o JOIN items i USING (item_no)""",
    )
    return "tools" if several and calls else "messages" if several else None


def columns_of(request: ExportRequest, spoken: str | None = None) -> tuple[Column, ...]:
    """All columns of a format, the texts first.

    Args:
        spoken: what the rows are (:func:`spoken_in`): conversations are messages in every format.
    """
    return (*_text_columns(request.format, request.kind, spoken), *PROVENANCE)


def _text_columns(layout: Format, kind: Kind, spoken: str | None) -> tuple[Column, ...]:
    shape = spoken or "messages"

    def listed(*messages: str) -> str:
        """SQL of messages; each a text, or the JSON of several where there is one."""
        return f"list_concat({', '.join(messages)})::{_MESSAGES[shape]}"

    start, answer = _spoken(kind, spoken)
    prompt = Column("prompt", _SYSTEM, "string", "what was asked")
    pair = {"prompt": "what was asked", "chosen": "the preferred answer", "rejected": "the other one"}
    single = {"prompt": start, **answer}
    as_messages = layout is Format.TRL_CONVERSATIONAL or spoken is not None
    texts = {
        name: Column(name, f"{single[name]}::{_MESSAGES[shape]}", shape, said)
        if as_messages
        else Column(name, _SYSTEM if name == "prompt" else name, "string", said)
        for name, said in pair.items()
    }
    match layout:
        case Format.ULTRAFEEDBACK:
            if spoken:  # the messages have what came before
                prompt = replace(prompt, expression="coalesce(last_asked(asked), prompt)")
            better, worse = (listed(start, answer[side]) for side in ("chosen", "rejected"))
            if kind is Kind.RESPONSES:
                scores = ("coalesce(chosen_grade, (2 + margin) / 4)", "coalesce(rejected_grade, (2 - margin) / 4)")
            else:
                scores = ("coalesce(probability, score)", "coalesce(rejected_probability, rejected_score)")
            return (
                prompt,
                Column("prompt_id", f"sha256({_SYSTEM})", "string", "SHA-256 of the prompt"),
                Column("chosen", better, shape, "the conversation with the preferred answer"),
                Column("rejected", worse, shape, "the conversation with the other one"),
                Column("messages", better, shape, "the same as chosen"),
                Column("score_chosen", scores[0], "float64", "see below"),
                Column("score_rejected", scores[1], "float64", "see below"),
            )
        case Format.KTO:
            completion = replace(texts["chosen"], name="completion", meaning="an answer")
            return (texts["prompt"], completion, Column("label", "label", "bool", "whether it is desired"))
    return tuple(texts.values())


def _spoken(kind: Kind, spoken: str | None) -> tuple[str, dict[str, str]]:
    """SQL of the messages of the prompt and of each side; a text is the only message of its side."""
    wide = spoken == "tools"

    def one(role: str, content: str) -> str:
        message = _MESSAGE.format(role=role, content=content)
        return (
            f"[{message}]"
            if not wide
            else f"[{message[:-1]}, 'tool_calls': NULL, 'tool_call_id': NULL, 'name': NULL}}]"
        )

    def several(json: str, text: str) -> str:
        read = f"{'called' if wide else 'uttered'}({json})"
        return f"CASE WHEN {'talk' if json == 'asked' else 'spoken'}({json}) THEN {read} ELSE {text} END"

    start = one("user", "prompt")
    if kind is Kind.JUDGMENTS:
        start = f"[{_MESSAGE.format(role='system', content='system')}, {start[1:-1]}]"
    answer = {side: one("assistant", side) for side in ("chosen", "rejected")}
    if spoken is None:
        return start, answer
    ends = f"list_concat({'called' if wide else 'uttered'}(asked), CASE WHEN ends(asked) THEN {start} ELSE [] END)"
    prompt = f"CASE WHEN talk(asked) THEN {ends} ELSE {start} END"
    return prompt, {side: several(f"{side}_said", text) for side, text in answer.items()}


def order_rows(work: Work) -> dict[str, int]:
    """Fills ``ordered``: each row's place in its split, in the order of the input.

    Returns:
        Split -> rows.
    """
    work.execute("""
        CREATE OR REPLACE TABLE ordered AS
        SELECT entry_id, item_no, part, cluster, flags, chosen_length, rejected_length,
            row_number() OVER (PARTITION BY part ORDER BY item_no, entry_id) - 1 AS position
        FROM placed""")
    return dict(work.execute("SELECT part, count(*) FROM ordered GROUP BY 1").fetchall())


def write_shards(work: Work, request: ExportRequest, folder: Path, rows: dict[str, int]) -> dict[str, int]:
    """Writes all files; one that an earlier run finished is taken as it is.

    Returns:
        File (relative to the folder) -> rows.
    """
    (folder / "data").mkdir(exist_ok=True)
    files: dict[str, int] = {}
    ending = "jsonl" if request.format is Format.JSONL else "parquet"
    for part in request.parts:
        shards = -(-rows.get(part, 0) // request.shard_rows)
        for number in range(shards):
            name = f"data/{part}-{number:05}-of-{shards:05}.{ending}"  # as the Hugging Face hub names them
            low, high = number * request.shard_rows, min((number + 1) * request.shard_rows, rows[part])
            target = folder / name
            if not target.exists():
                _write(work, request, target, f"part = '{part}' AND position >= {low} AND position < {high}")
            files[name] = high - low
    return files


def _write(work: Work, request: ExportRequest, target: Path, which: str) -> None:
    part = target.with_name(f"{target.name}.part")
    pieces = _pieces(work, which)
    files = [target.with_name(f"{target.name}.{number}.part") for number in range(len(pieces))]
    for file in (part, *files):
        file.unlink(missing_ok=True)
    if len(pieces) == 1:
        _copy(work, request, _rows(work, request, which), part, ROW_GROUP)
    else:
        for file, (low, high) in zip(files, pieces, strict=True):
            rows = _rows(work, request, f"{which} AND position BETWEEN {low} AND {high}")
            _copy(work, request, rows, file, ROW_GROUP)
        _join(work, request, files, part, -(-(pieces[-1][1] - pieces[0][0] + 1) // len(pieces)))
        for file in files:
            file.unlink()
    part.rename(target)


def _pieces(work: Work, which: str) -> list[tuple[int, int]]:
    """First and last position of what is written at once: all rows, unless a vector of them is long."""
    lengths = f"""
        SELECT position AS place, size + coalesce(chosen_length, 0) + coalesce(rejected_length, 0) AS size
        FROM ordered JOIN ({_LENGTHS}) USING (item_no)
        WHERE {which}"""
    (longest,) = only(work, f"SELECT max(size) FROM (SELECT sum(size) AS size FROM ({lengths}) GROUP BY place // 2048)")
    pieces = ranges(work, lengths)
    return pieces if longest > LONG else [(pieces[0][0], pieces[-1][1])]


def _rows(work: Work, request: ExportRequest, which: str) -> str:
    """A query for the rows of the files, in order."""
    first, last = only(work, f"SELECT min(item_no), max(item_no) FROM ordered WHERE {which}")
    source = f"""(SELECT e.*, o.position, o.cluster, o.flags, o.chosen_length, o.rejected_length
        FROM entries e JOIN ordered o USING (entry_id) WHERE {which} AND e.item_no BETWEEN {first} AND {last})"""
    columns = columns_of(request, spoken_in(work, request))
    selected = ", ".join(f'{column.expression} AS "{column.name}"' for column in columns)
    return f"""SELECT {selected} FROM ({texts_of(request.kind, source)}
        WHERE i.item_no BETWEEN {first} AND {last}) ORDER BY position"""


def _copy(work: Work, request: ExportRequest, rows: str, file: Path, row_group: int) -> None:
    options = "json" if request.format is Format.JSONL else f"parquet, COMPRESSION zstd, ROW_GROUP_SIZE {row_group}"
    work.execute(f"COPY ({rows}) TO {quoted(file)} (FORMAT {options})")


def _join(work: Work, request: ExportRequest, files: Sequence[Path], target: Path, row_group: int) -> None:
    """One file of the rows of several, in their order."""
    if request.format is not Format.JSONL:
        listed = ", ".join(map(quoted, files))
        _copy(work, request, f"SELECT * FROM read_parquet([{listed}])", target, row_group)
        return
    with target.open("wb") as whole:
        for file in files:
            with file.open("rb") as piece:
                shutil.copyfileobj(piece, whole)


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
    i.conversation AS asked, json_extract(i.replies, '$."' || e.chosen_ref || '"')::VARCHAR AS chosen_said,
    json_extract(i.replies, '$."' || e.rejected_ref || '"')::VARCHAR AS rejected_said,
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
