"""Is a folder of preference data what it should be? Every fault is found and named."""

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import duckdb
import orjson
import yaml

from metajudge.errors import InputError
from metajudge.evidence.units import QUESTION
from metajudge.exports import verdicts
from metajudge.exports.near_duplicates import near_groups
from metajudge.exports.words import Words, words_of
from metajudge.exports.workspace import MEMORY, SETTINGS, Work, confine, only, quoted
from metajudge.installation import __version__

LONGER_LIMIT: Final = 0.02
"""How far from one half the share of longer chosen texts may be in a dataset that claims balanced lengths."""

_EXAMPLES: Final = 3
_TEXT: Final = "VARCHAR"
_JSON: Final = "maximum_object_size = 67108864, sample_size = -1"
MANIFEST: Final = "manifest.json"
STATS: Final = "stats.json"
CARD: Final = "README.md"
FORMAT_VERSION: Final = 1


def pretty(data: Any) -> bytes:
    """JSON for people, with sorted keys: the same data gives the same bytes."""
    return orjson.dumps(data, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE)


def write_manifest(folder: Path, about: Mapping[str, Any], described: Mapping[str, Mapping[str, Any]]) -> None:
    """Writes the manifest over all files that are in the folder.

    Args:
        folder: whole but for the manifest.
        about: request and inputs.
        described: data file -> what :func:`describe` says of it.
    """
    names = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    files = {name: described.get(name) or describe(folder / name) for name in names if name != MANIFEST}
    data = {"format_version": FORMAT_VERSION, "metajudge_version": __version__, **about, "files": files}
    (folder / MANIFEST).write_bytes(pretty(data))


def describe(path: Path, rows: int | None = None) -> dict[str, Any]:
    """Size and SHA-256 of a file, and its rows where it has any."""
    with path.open("rb") as stream:
        found = hashlib.file_digest(stream, "sha256").hexdigest()
    return {"bytes": path.stat().st_size, "sha256": found} | ({} if rows is None else {"rows": rows})


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong.

    Attributes:
        kind: a word: ``schema``, ``digest``, ``missing``, ``rows``, ``card``, ``empty``, ``equal_pair``, ``tie``,
            ``duplicate``, ``contradiction``, ``leak``, ``near_leak``, ``imbalance``.
        message: what, where, how often.
    """

    kind: str
    message: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.message}"


@dataclass(slots=True)
class CheckReport:
    """What was looked at and what is wrong.

    Attributes:
        rows: split -> rows.
        faults: none where the folder is fine.
        chosen_longer: share of pairs whose chosen text is the longer one; None for rows that are no pairs.
    """

    folder: Path
    rows: dict[str, int] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    chosen_longer: float | None = None

    def add(self, kind: str, message: str) -> None:
        """Adds a fault."""
        self.faults.append(Fault(kind, message))

    def to_json(self) -> dict[str, Any]:
        return {
            "folder": str(self.folder),
            "ok": not self.faults,
            "rows": self.rows,
            "chosen_longer": self.chosen_longer,
            "faults": [{"kind": fault.kind, "message": fault.message} for fault in self.faults],
        }


def check(folder: Path | str, *, near_threshold: float | None = None) -> CheckReport:
    """Checks a folder of preference data: schema, digests, card, bad texts, ties, duplicates, leaks, balance.

    Folders by others are checked too, if they contain ``data/SPLIT-*.parquet`` or ``.jsonl`` with ``prompt`` and
    ``chosen`` and ``rejected`` (or ``completion`` and ``label``), as texts or as messages.

    Args:
        folder: what to check.
        near_threshold: similarity from which two questions are one; None for what the folder's manifest says, 1 to
            compare normalised questions alone.

    Raises:
        InputError: the folder does not exist or contains no data file.
    """
    place = Path(folder)
    if not place.is_dir():
        raise InputError(f"{place} is no folder: name one that `metajudge export preferences --out` made")
    report = CheckReport(place)
    manifest = _check_manifest(place, report)
    request = manifest.get("request", {})
    files: dict[str, list[Path]] = {}
    for path in sorted((place / "data").glob("*")):
        if path.suffix in (".parquet", ".jsonl"):
            files.setdefault(path.name.partition("-")[0].partition(".")[0], []).append(path)
    if not files:
        raise InputError(f"{place} contains no data file: expected data/SPLIT-NNNNN-of-NNNNN.parquet or .jsonl")
    work = duckdb.connect(config={**SETTINGS, "memory_limit": MEMORY})
    confine(work, *(path.resolve() for paths in files.values() for path in paths))
    try:
        verdicts.define(work)
        _check_card(place, files, report)
        if _load(work, files, report):
            for kind, which, what in _ROWS:
                rows = work.execute(
                    f"SELECT file, place, count(*) OVER () FROM rows WHERE coalesce({which}, false) ORDER BY 1, 2 "
                    f"LIMIT {_EXAMPLES}"
                ).fetchall()
                if rows:
                    shown = ", ".join(f"{file} row {row}" for file, row, _ in rows)
                    report.add(kind, f"{rows[0][2]} {what} ({shown})")
            by_question = _json(place / STATS, CheckReport(place)).get("unit", QUESTION) == QUESTION
            _check_near_leaks(
                work, report, (near_threshold or request.get("near_threshold", 0.7)) if by_question else 1
            )
            _check_balance(work, report, bool(request.get("balance_length")))
        stated: Any = _json(place / STATS, report).get("splits")
        for part in sorted({*stated, *report.rows}) if isinstance(stated, dict) else ():
            expected = stated.get(part, {}).get("rows", 0)
            if report.rows.get(part, 0) != expected:
                report.add("rows", f"split {part} has {report.rows.get(part, 0)} rows, {STATS} says {expected}")
    finally:
        work.close()
    return report


def _check_manifest(place: Path, report: CheckReport) -> dict[str, Any]:
    manifest = _json(place / MANIFEST, report)
    listed = manifest.get("files", {}) if isinstance(manifest.get("files"), dict) else {}
    for name, entry in listed.items():
        if not (place / name).is_file():
            report.add("missing", f"{name} is listed in {MANIFEST} and not there")
        elif (found := describe(place / name)["sha256"]) != entry.get("sha256"):
            report.add("digest", f"{name} is not the file that was written: SHA-256 {found[:16]}... differs")
    there = {str(path.relative_to(place)) for path in place.rglob("*") if path.is_file()}
    for name in sorted(there - set(listed) - {MANIFEST}) if listed else ():
        report.add("digest", f"{name} is not listed in {MANIFEST}")
    return manifest


def _json(path: Path, report: CheckReport) -> dict[str, Any]:
    try:
        data = orjson.loads(path.read_bytes())
        if isinstance(data, dict):
            return data
        report.add("schema", f"{path.name} is no JSON object")
    except OSError:
        report.add("missing", f"{path.name} is not there: the folder is not whole, or not by metajudge")
    except orjson.JSONDecodeError as error:
        report.add("schema", f"{path.name} is no JSON: {error}")
    return {}


def _check_card(place: Path, files: Mapping[str, Sequence[Path]], report: CheckReport) -> None:
    def fault(message: str) -> None:
        report.add("card", f"{CARD}: {message}")

    try:
        text = (place / CARD).read_text("utf-8")
    except OSError:
        report.add("missing", f"{CARD} is not there: the data set has no card")
        return
    parts = text.split("---\n", 2)
    if len(parts) < 3 or parts[0]:
        fault("it does not begin with a YAML header between two lines of ---")
        return
    try:
        header = yaml.safe_load(parts[1])
    except yaml.YAMLError as error:
        fault(f"the header is no YAML: {str(error).splitlines()[0]}")
        return
    configs = header.get("configs") if isinstance(header, dict) else None
    try:
        named = {one["split"]: one["path"] for config in configs or () for one in config["data_files"]}
    except (KeyError, TypeError):
        named = {}
    for part in sorted(set(files) ^ set(named)):
        where = "the header names no file of the split" if part in files else "the header names a split without a file:"
        fault(f"{where} {part}")
    for part, pattern in named.items():
        if part in files and set(place.glob(pattern)) != set(files[part]):
            fault(f"the header's pattern {pattern} does not match the files of {part}")


def _load(work: Work, files: Mapping[str, Sequence[Path]], report: CheckReport) -> bool:
    """Fills ``rows`` with normal forms; False where the columns are not those of preference data."""
    work.execute("""
        CREATE TABLE rows (part VARCHAR, file VARCHAR, place BIGINT, p UBIGINT, c UBIGINT, r UBIGINT, label BOOLEAN,
            margin DOUBLE, score_gap DOUBLE, empty BOOLEAN, chosen_length BIGINT, rejected_length BIGINT,
            question VARCHAR, cluster VARCHAR, item_id VARCHAR)""")
    schemas: dict[str, str] = {}
    fine = True
    report.rows = dict.fromkeys(files, 0)
    for part, path in ((part, path) for part, paths in files.items() for path in paths):
        name = f"data/{path.name}"
        try:
            wrong = _load_file(work, path, part, name, schemas)
        except duckdb.Error as error:
            wrong = f" cannot be read: {str(error).splitlines()[0]}"
        if wrong:
            report.add("schema", f"{name}{wrong}")
            fine = False
            continue
        (count,) = only(work, "SELECT count(*) FROM rows WHERE file = $1", [name])
        report.rows[part] += count
        if not count:
            report.add("empty", f"{name} contains no rows")
    if len(schemas) > 1:
        report.add("schema", f"the files differ in columns: {' and '.join(schemas.values())}")
    return fine


def _load_file(work: Work, path: Path, part: str, name: str, schemas: dict[str, str]) -> str | None:
    """Adds a file's rows; returns what is wrong with its columns."""
    source = f"read_parquet({quoted(path.resolve())})"
    if path.suffix != ".parquet":
        source = f"read_json({quoted(path.resolve())}, format = 'newline_delimited', {_JSON})"
    columns = {row[0]: row[1] for row in work.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()}
    if path.suffix == ".parquet":
        schemas.setdefault(str(columns), name)
    single = "completion" in columns
    answers = ("completion",) if single else ("chosen", "rejected")
    wrong = [
        f"{column} is {columns.get(column, 'absent')}"
        for column in ("prompt", *answers)
        if columns.get(column) != _TEXT and "content" not in columns.get(column, "")
    ]
    if single and columns.get("label") != "BOOLEAN":
        wrong.append(f"label is {columns.get('label', 'absent')}, not true or false")
    if wrong:
        return f": {'; '.join(wrong)}"
    texts = {side: _text(side, columns[side]) for side in ("prompt", *answers)}
    prompt, chosen, rejected = texts["prompt"], texts[answers[0]], texts.get("rejected", "NULL")
    given = {
        column: f'"{column}"::{kind}' if column in columns else "NULL"
        for kind, names in (("DOUBLE", ("margin", "score_chosen", "score_rejected")), (_TEXT, ("cluster", "item_id")))
        for column in names
    }
    question = '"question"::VARCHAR' if "question" in columns else prompt
    work.execute(f"""
        INSERT INTO rows SELECT '{part}', {quoted(name)}, row_number() OVER () - 1, hash(normal({prompt})),
            hash(normal({chosen})), CASE WHEN {rejected} IS NULL THEN NULL ELSE hash(normal({rejected})) END,
            {'"label"' if single else "NULL"}, {given["margin"]}, {given["score_chosen"]} - {given["score_rejected"]},
            coalesce(normal({prompt}) = '' OR normal({chosen}) = '' OR
                {"false" if single else f"coalesce(normal({rejected}), '') = ''"}, true),
            length({chosen}), length({rejected}), {question}, {given["cluster"]}, {given["item_id"]}
        FROM {source}""")
    return None


def _text(side: str, kind: str) -> str:
    """SQL of a side's text: of one message that calls nothing its content, of more all of them as JSON."""
    if kind == _TEXT:
        return f'"{side}"'
    calls = f'"{side}"[1].tool_calls IS NULL' if "tool_calls" in kind else "true"
    return f"""CASE WHEN len("{side}") = 1 AND {calls} THEN "{side}"[1].content ELSE to_json("{side}")::VARCHAR END"""


_REPEATED: Final = (
    "(part, file, place) IN (SELECT (part, file, place) FROM (SELECT part, file, place, row_number() OVER ("
    "PARTITION BY p, c, r, label ORDER BY file, place) AS n FROM rows) WHERE n > 1)"
)
_AGAINST: Final = (
    "EXISTS (SELECT 1 FROM rows o WHERE o.p = rows.p AND o.c = rows.r AND o.r = rows.c AND rows.c <> rows.r)"
)
_BOTH: Final = "EXISTS (SELECT 1 FROM rows o WHERE o.p = rows.p AND o.c = rows.c AND o.label <> rows.label)"
_SHARED: Final = "{0} IN (SELECT {0} FROM rows GROUP BY 1 HAVING count(DISTINCT part) > 1)"
_LEAKING: Final = "rows share the same {} with a row of another split"
_ROWS: Final = (
    ("empty", "empty", "rows have an empty text"),
    ("equal_pair", "c = r", "pairs have the same chosen and rejected text"),
    ("tie", "margin = 0 OR score_gap = 0 OR isnan(margin)", "pairs are ties: nothing prefers chosen over rejected"),
    ("tie", "margin < 0", "pairs have a negative margin: the rejected text is the preferred one"),
    ("duplicate", _REPEATED, "rows repeat an earlier one"),
    ("contradiction", _AGAINST, "pairs are contradicted by another with chosen and rejected swapped"),
    ("contradiction", _BOTH, "completions are both desired and undesired"),
    ("leak", _SHARED.format("p"), _LEAKING.format("prompt")),
    ("leak", _SHARED.format("item_id"), _LEAKING.format("item")),
    ("leak", _SHARED.format("cluster"), _LEAKING.format("question cluster")),
)
"""Faults of rows, alone and against each other: kind, condition and words."""


def _check_near_leaks(work: Work, report: CheckReport, near_threshold: float) -> None:
    if len(report.rows) < 2 or near_threshold >= 1:
        return
    places: list[tuple[str, str, int]] = []

    def chunks() -> Iterator[list[Words]]:
        work.execute(
            "SELECT part, file, place, question FROM rows WHERE question IS NOT NULL "
            "QUALIFY row_number() OVER (PARTITION BY part, normal(question) ORDER BY file, place) = 1 ORDER BY 1, 2, 3"
        )
        while rows := work.fetchmany(8_192):
            places.extend(row[:3] for row in rows)
            yield [words_of([row[3] for row in rows])]

    roots = near_groups(chunks(), near_threshold).tolist()
    parts = Counter(root for _, root in {(part, root) for (part, _, _), root in zip(places, roots, strict=True)})
    leaking = [place for place, root in zip(places, roots, strict=True) if parts[root] > 1]
    if leaking:
        shown = ", ".join(f"{file} row {row}" for _, file, row in leaking[:_EXAMPLES])
        report.add("near_leak", f"{len(leaking)} questions are near duplicates of one in another split ({shown})")


def _check_balance(work: Work, report: CheckReport, claimed: bool) -> None:
    longer, differ = only(
        work,
        """SELECT avg((chosen_length > rejected_length)::INTEGER), count(*) FROM rows
            WHERE chosen_length <> rejected_length""",
    )
    if longer is None:
        return
    report.chosen_longer = round(longer, 6)
    if claimed and abs(longer - 0.5) > LONGER_LIMIT:
        report.add(
            "imbalance",
            f"lengths are declared as balanced, and longer is chosen in {100 * longer:.1f} % of the "
            f"pairs that differ in length ({differ} pairs)",
        )
