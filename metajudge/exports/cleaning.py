"""What must not be in a preference dataset: empty, equal, truncated texts, duplicates, contradictions, secrets."""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from metajudge.evidence.units import ITEM
from metajudge.exports.contamination import Benchmarks
from metajudge.exports.formats import texts_of
from metajudge.exports.near_duplicates import near_groups
from metajudge.exports.request import ExportRequest, Kind
from metajudge.exports.splitting import unit_of
from metajudge.exports.words import AT_ONCE, Words, words_of
from metajudge.exports.workspace import FunnelStep, Work, ahead, fill, only, quoted, ranges
from metajudge.stats.arrays import Indices

PATTERNS: Final = {
    "email": r"(?i)\b[a-z0-9._%+-]+@[a-z0-9-]+(?:\.[a-z0-9-]+)*\.[a-z]{2,}\b",
    "phone": r"(?:^|[^\w.+-])(?:\+\d{1,3}[ .-]?)?(?:\(\d{2,4}\)[ .-]?|\d{2,4}[ .-])\d{3,4}[ .-]\d{3,4}(?:[^\w.-]|$)",
    "ip_address": r"\b(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)\b",
    "social_security_number": r"\b\d{3}-\d{2}-\d{4}\b",
    "card_number": r"\b(?:4\d{3}|5[1-5]\d{2}|3[47]\d{2}|6011)[ -]?\d{4,6}[ -]?\d{4,5}(?:[ -]?\d{4})?\b",
    "iban": r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,7}(?: ?[A-Z0-9]{1,3})?\b",
    "api_key": r"\b(?:sk-[A-Za-z0-9_-]{20,}|AKIA[0-9A-Z]{16}|AIza[0-9A-Za-z_-]{35}|gh[pousr]_[A-Za-z0-9]{30,}"
    r"|github_pat_[A-Za-z0-9_]{40,}|xox[abprs]-[A-Za-z0-9-]{10,}|hf_[A-Za-z0-9]{30,}|glpat-[A-Za-z0-9_-]{20,})",
    "private_key": r"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----",
    "web_token": r"\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}",
    "password": r"(?i)\b(?:password|passwd|pwd|secret|api[_-]?key|access[_-]?token)\s*[:=]\s*['\"]?[^\s'\"<>]{8,}",
}
"""Flag -> pattern (RE2); the flags stand in the column ``flags``."""
CUT_SHORT: Final = ("length", "max_tokens", "max_output_tokens", "token_limit", "model_length", "MAX_TOKENS")
"""What providers call a reply that met its limit of tokens."""
BEST_FIRST = "probability DESC NULLS LAST, margin DESC NULLS LAST, votes DESC, entry_id"
"""Which of several duplicates stays."""


def measure(work: Work, request: ExportRequest) -> list[FunnelStep]:
    """Fills ``measures``: lengths in characters, digests of normalised texts, and what is wrong with each text."""
    sides = ("chosen", "rejected")
    if request.kind is Kind.RESPONSES:
        stated = [f"coalesce(list_contains(cut_names, {side}_ref), false)" for side in sides]
    else:
        stated = [f"coalesce({side}_finish IN ({_listed(CUT_SHORT)}), false)" for side in sides]
    reported = " OR ".join(stated)
    cut = {
        "any": f"{reported} OR looks_cut(chosen) OR coalesce(looks_cut(rejected), false)",
        "reported": reported,
        "keep": "false",
    }[request.truncation]
    same_start = "false"  # whether prompt and answer are the same for both sides where a trainer cuts them
    if request.max_length is not None:
        asked = "coalesce(system || chr(10) || chr(10), '') || prompt"
        same_start = " = ".join(f"left({asked} || {side}, {request.max_length})" for side in sides)
    flags = "[]::VARCHAR[]"
    if request.personal_data != "leave":
        whole = "concat_ws(chr(10), prompt, chosen, rejected)"
        found = ", ".join(
            f"CASE WHEN regexp_matches({whole}, {quoted(pattern)}) THEN {quoted(name)} END"
            for name, pattern in PATTERNS.items()
        )
        flags = f"list_filter([{found}], lambda name: name IS NOT NULL)"
    item, question = "item_id", "coalesce('id' || chr(31) || question_id, normal(question))"
    unit = item if unit_of(work, request) == ITEM else question
    lengths = "SELECT item_no AS place, coalesce(strlen(question) + strlen(responses), 0) AS size FROM items"
    for low, high in [(0, -1), *ranges(work, lengths)]:
        entries = f"(SELECT * FROM entries WHERE item_no BETWEEN {low} AND {high})"
        work.execute(f"""
        {"INSERT INTO measures" if low <= high else "CREATE OR REPLACE TABLE measures AS"}
        WITH texts AS ({texts_of(request.kind, entries)} WHERE i.item_no BETWEEN {low} AND {high}),
        more AS ({_finishes(request.kind, entries)}),
        found AS (
            SELECT *, normal(chosen) AS c, normal(rejected) AS r FROM texts LEFT JOIN more USING (entry_id)
            JOIN (SELECT item_no, question_id FROM items) USING (item_no)
        )
        SELECT entry_id, item_no, margin, probability, votes, label, length(chosen) AS chosen_length,
            length(rejected) AS rejected_length, hash({unit}) AS question_hash,
            hash(system, normal(prompt)) AS p,
            hash(c) AS c, CASE WHEN rejected_ref IS NOT NULL THEN hash(r) END AS r,
            coalesce(c = '' OR normal(question) = '', true) OR
                (rejected_ref IS NOT NULL AND coalesce(r = '', true)) AS empty,
            coalesce(c = r, false) AS equal, coalesce({same_start}, false) AS equal_start, {cut} AS cut,
            {flags} AS flags
        FROM found""")
    return []


def _finishes(kind: Kind, entries: str) -> str:
    if kind is Kind.RESPONSES:
        return f"""
            SELECT entry_id, cut_names FROM {entries} JOIN (
                SELECT i.item_no, list(DISTINCT name) AS cut_names FROM (
                    SELECT item_id, response_finish, unnest(json_keys(response_finish)) AS name FROM judgments
                    WHERE response_finish IS NOT NULL
                ) f JOIN items i USING (item_id)
                WHERE json_extract_string(response_finish, '$."' || name || '"') IN ({_listed(CUT_SHORT)})
                GROUP BY i.item_no) USING (item_no)"""
    return f"""
        SELECT entry_id, c.finish AS chosen_finish, r.finish AS rejected_finish FROM {entries}
        JOIN judgments c ON c.judgment_no = chosen_ref::BIGINT
        LEFT JOIN judgments r ON r.judgment_no = rejected_ref::BIGINT"""


def clean(work: Work, request: ExportRequest, benchmarks: Benchmarks) -> list[FunnelStep]:
    """Drops from ``measures`` what must not be in a dataset."""
    steps = [drop_bad_texts(work, request), drop_exact_duplicates(work)]
    near = request.dedupe and request.near_threshold < 1
    if not near and not benchmarks.names:
        return steps
    names, contaminated, rows = list[str](), list[str](), ahead(_words(work, request))

    def chunks() -> Iterator[list[Words]]:
        """The words of question, chosen and rejected text; on the way, benchmarks are looked for in all three."""
        for entries, words in rows:
            names.extend(entries)
            hit = benchmarks.found_in(Words(words.hashes, words.ends[2::3]))
            contaminated.extend(entries[place] for place in np.flatnonzero(hit).tolist())
            yield [words.every(3, field) for field in range(3)]

    if near:
        steps.append(drop_near_duplicates(work, names, near_groups(chunks(), request.near_threshold, request.seed)))
    else:
        for _ in chunks():
            pass
    if benchmarks.names:
        fill(
            work,
            "lost",
            ("entry_id", "why"),
            [[(name, "contaminated") for name in contaminated]],
            "SELECT * FROM given SEMI JOIN measures USING (entry_id)",
        )
        steps.append(_drop(work, "decontamination"))
    return steps


def drop_bad_texts(work: Work, request: ExportRequest) -> FunnelStep:
    """Drops entries with an empty, equal or truncated text, or equal up to ``max_length``, and flagged ones."""
    flagged = "len(flags) > 0" if request.personal_data == "drop" else "false"
    work.execute(f"""
        CREATE OR REPLACE TABLE lost AS
        SELECT entry_id, CASE WHEN empty THEN 'empty' WHEN equal THEN 'equal'
            WHEN equal_start THEN 'equal_after_truncation' WHEN cut THEN 'truncated'
            ELSE 'personal_data_or_secret' END AS why
        FROM measures WHERE empty OR equal OR equal_start OR cut OR {flagged}""")
    return _drop(work, "texts")


def drop_exact_duplicates(work: Work) -> FunnelStep:
    """Keeps the best of entries with the same normalised texts; of contradicting ones none."""
    work.execute(f"""
        CREATE OR REPLACE TABLE lost AS
        WITH against AS (
            SELECT entry_id FROM measures m WHERE r IS NOT NULL AND EXISTS (
                SELECT 1 FROM measures o WHERE o.p = m.p AND o.c = m.r AND o.r = m.c)
            UNION ALL
            SELECT entry_id FROM measures m WHERE r IS NULL AND EXISTS (
                SELECT 1 FROM measures o WHERE o.p = m.p AND o.c = m.c AND o.label <> m.label)
        )
        SELECT entry_id, 'contradiction' AS why FROM against
        UNION ALL
        SELECT entry_id, 'exact_duplicate' FROM (
            SELECT entry_id, row_number() OVER (PARTITION BY p, c, r, label ORDER BY {BEST_FIRST}) AS place
            FROM measures ANTI JOIN against USING (entry_id)) WHERE place > 1""")
    return _drop(work, "duplicates")


def drop_near_duplicates(work: Work, names: Sequence[str], groups: Indices) -> FunnelStep:
    """Keeps the best of entries whose question, chosen and rejected text are all near duplicates of each other's.

    Args:
        names: of the entries.
        groups: [n] what :func:`~metajudge.exports.near_duplicates.near_groups` finds for them.
    """
    together = np.flatnonzero(np.bincount(groups, minlength=len(names))[groups] > 1)
    found = [(names[index], root) for index, root in zip(together.tolist(), groups[together].tolist(), strict=True)]
    fill(work, "near_groups", ("entry_id", "root"), [found])
    work.execute(f"""
        CREATE OR REPLACE TABLE lost AS SELECT entry_id, 'near_duplicate' AS why FROM (
            SELECT entry_id, row_number() OVER (PARTITION BY root, label ORDER BY {BEST_FIRST}) AS place
            FROM measures JOIN near_groups USING (entry_id)) WHERE place > 1""")
    return _drop(work, "near duplicates")


def _words(work: Work, request: ExportRequest) -> Iterator[tuple[list[str], Words]]:
    """Entry ids of what is left, in a fixed order, and the words of question, chosen and rejected text of each."""
    lengths = """
        SELECT item_no AS place, sum(chosen_length + coalesce(rejected_length, 0))::BIGINT AS size FROM measures
        GROUP BY 1"""
    for low, high in ranges(work, lengths, AT_ONCE):
        within = f"item_no BETWEEN {low} AND {high}"
        source = f"(SELECT * FROM entries SEMI JOIN measures USING (entry_id) WHERE {within})"
        rows = work.execute(f"""
            SELECT entry_id, question, chosen, coalesce(rejected, '') FROM ({texts_of(request.kind, source)})
            WHERE {within} ORDER BY item_no, entry_id""").fetchall()
        yield [row[0] for row in rows], words_of([text for row in rows for text in row[1:]])


def _drop(work: Work, name: str) -> FunnelStep:
    """Takes what is in ``lost`` out of ``measures``."""
    (before,) = only(work, "SELECT count(*) FROM measures")
    dropped = dict(work.execute("SELECT why, count(*) FROM lost GROUP BY 1 ORDER BY 1").fetchall())
    if dropped:
        work.execute("DELETE FROM measures WHERE entry_id IN (SELECT entry_id FROM lost)")
    return FunnelStep(name, "rows", before, before - sum(dropped.values()), dropped)


def _listed(values: Sequence[str]) -> str:
    return ", ".join(map(quoted, values))
