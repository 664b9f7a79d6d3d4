"""Is a folder of preference data what it should be? Every fault is found and named."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import duckdb
import numpy as np
import orjson
import yaml

from metajudge.errors import InputError
from metajudge.evidence.units import QUESTION
from metajudge.installation import __version__
from metajudge.preferences import verdicts
from metajudge.preferences.near_duplicates import near_groups
from metajudge.preferences.workspace import MEMORY, quoted

LONGER_LIMIT: Final = 0.02
"""How far from one half the share of longer chosen texts may be in a dataset that claims balanced lengths."""

_EXAMPLES: Final = 3
_TEXT: Final = "VARCHAR"
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
    files = _data_files(place)
    if not files:
        raise InputError(f"{place} contains no data file: expected data/SPLIT-NNNNN-of-NNNNN.parquet or .jsonl")
    work = duckdb.connect(config={"threads": 2, "memory_limit": MEMORY, "autoload_known_extensions": False})
    try:
        verdicts.define(work)
        _check_card(place, files, report)
        if _load(work, files, report):
            paired = _check_rows(work, report)
            by_question = _json(place / STATS, CheckReport(place)).get("unit", QUESTION) == QUESTION
            _check_leaks(work, report, (near_threshold or request.get("near_threshold", 0.7)) if by_question else 1)
            if paired:
                _check_balance(work, report, bool(request.get("balance_length")))
        _check_counts(place, report)
    finally:
        work.close()
    return report


def _check_manifest(place: Path, report: CheckReport) -> dict[str, Any]:
    manifest = _json(place / MANIFEST, report)
    listed = manifest.get("files", {}) if isinstance(manifest.get("files"), dict) else {}
    for name, entry in listed.items():
        path = place / name
        if not path.is_file():
            report.add("missing", f"{name} is listed in {MANIFEST} and not there")
            continue
        found = describe(path)
        if found["sha256"] != entry.get("sha256"):
            report.add("digest", f"{name} is not the file that was written: SHA-256 {found['sha256'][:16]}... differs")
    there = {str(path.relative_to(place)) for path in place.rglob("*") if path.is_file()}
    for name in sorted(there - set(listed) - {MANIFEST}) if listed else ():
        report.add("digest", f"{name} is not listed in {MANIFEST}")
    return manifest


def _json(path: Path, report: CheckReport) -> dict[str, Any]:
    try:
        data = orjson.loads(path.read_bytes())
    except OSError:
        report.add("missing", f"{path.name} is not there: the folder is not whole, or not by metajudge")
        return {}
    except orjson.JSONDecodeError as error:
        report.add("schema", f"{path.name} is no JSON: {error}")
        return {}
    if not isinstance(data, dict):
        report.add("schema", f"{path.name} is no JSON object")
        return {}
    return data


def _data_files(place: Path) -> dict[str, list[Path]]:
    found: dict[str, list[Path]] = {}
    for path in sorted((place / "data").glob("*")):
        if path.suffix in (".parquet", ".jsonl"):
            found.setdefault(path.name.partition("-")[0].partition(".")[0], []).append(path)
    return found


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


def _load(work: duckdb.DuckDBPyConnection, files: Mapping[str, Sequence[Path]], report: CheckReport) -> bool:
    """Fills ``rows`` with normal forms; False where the columns are not those of preference data."""
    work.execute("""
        CREATE TABLE rows (part VARCHAR, file VARCHAR, place BIGINT, p UBIGINT, c UBIGINT, r UBIGINT, label BOOLEAN,
            margin DOUBLE, score_gap DOUBLE, empty BOOLEAN, chosen_length BIGINT, rejected_length BIGINT,
            question VARCHAR,             cluster VARCHAR, item_id VARCHAR)""")
    schemas: dict[tuple[tuple[str, str], ...], str] = {}
    fine = True
    for part, paths in files.items():
        report.rows[part] = 0
        for path in paths:
            name = f"data/{path.name}"
            try:
                count = _load_file(work, path, part, name, schemas, report)
            except duckdb.Error as error:
                report.add("schema", f"{name} cannot be read: {str(error).splitlines()[0]}")
                count = None
            fine = fine and count is not None
            report.rows[part] += count or 0
    if len(schemas) > 1:
        report.add("schema", f"the files differ in columns: {' and '.join(schemas.values())}")
    return fine


def _load_file(
    work: duckdb.DuckDBPyConnection,
    path: Path,
    part: str,
    name: str,
    schemas: dict[tuple[tuple[str, str], ...], str],
    report: CheckReport,
) -> int | None:
    parquet = path.suffix == ".parquet"
    source = (
        f"read_parquet({quoted(path)})"
        if parquet
        else f"read_json({quoted(path)}, format = 'newline_delimited', maximum_object_size = 67108864, "
        "sample_size = -1)"
    )
    columns = {row[0]: row[1] for row in work.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()}
    if parquet:
        schemas.setdefault(tuple(columns.items()), name)
    answers = ("completion",) if "completion" in columns else ("chosen", "rejected")
    wrong = [
        f"{column} is {columns.get(column, 'absent')}"
        for column in ("prompt", *answers)
        if columns.get(column) != _TEXT and "content" not in columns.get(column, "")
    ]
    if answers == ("completion",) and columns.get("label") != "BOOLEAN":
        wrong.append(f"label is {columns.get('label', 'absent')}, not true or false")
    if wrong:
        report.add("schema", f"{name}: {'; '.join(wrong)}")
        return None

    def text(column: str) -> str:
        return f'"{column}"' if columns[column] == _TEXT else f'"{column}"[-1].content'

    def number(column: str) -> str:
        return f'"{column}"::DOUBLE' if column in columns else "NULL"

    def word(column: str) -> str:
        return f'"{column}"::VARCHAR' if column in columns else "NULL"

    chosen = text(answers[0])
    rejected = text("rejected") if "rejected" in answers else "NULL"
    prompt = text("prompt")
    no_rejected = "false" if rejected == "NULL" else f"normal({rejected}) IS NULL OR normal({rejected}) = ''"
    work.execute(f"""
        INSERT INTO rows SELECT '{part}', {quoted(name)}, row_number() OVER () - 1, hash(normal({prompt})),
            hash(normal({chosen})), CASE WHEN {rejected} IS NULL THEN NULL ELSE hash(normal({rejected})) END,
            {'"label"' if "label" in columns and answers == ("completion",) else "NULL"},
            {number("margin")}, {number("score_chosen")} - {number("score_rejected")},
            coalesce(normal({prompt}) = '' OR normal({chosen}) = '' OR {no_rejected}, true),
            length({chosen}), length({rejected}),
            {word("question") if "question" in columns else prompt}, {word("cluster")}, {word("item_id")}
        FROM {source}""")
    (count,) = work.execute("SELECT count(*) FROM rows WHERE file = $1", [name]).fetchall()[0]
    if not count:
        report.add("empty", f"{name} contains no rows")
    return int(count)


def _check_rows(work: duckdb.DuckDBPyConnection, report: CheckReport) -> bool:
    """Faults of single rows and of rows against each other; returns whether the rows are pairs."""
    paired = bool(work.execute("SELECT count(*) FROM rows WHERE r IS NOT NULL").fetchall()[0][0])
    repeated = (
        "(part, file, place) IN (SELECT (part, file, place) FROM (SELECT part, file, place, row_number() OVER ("
        "PARTITION BY p, c, r, label ORDER BY file, place) AS n FROM rows) WHERE n > 1)"
    )
    against = "EXISTS (SELECT 1 FROM rows o WHERE o.p = rows.p AND o.c = rows.r AND o.r = rows.c AND rows.c <> rows.r)"
    both = "EXISTS (SELECT 1 FROM rows o WHERE o.p = rows.p AND o.c = rows.c AND o.label <> rows.label)"
    for kind, which, what in (
        ("empty", "empty", "rows have an empty text"),
        ("equal_pair", "c = r", "pairs have the same chosen and rejected text"),
        ("tie", "margin = 0 OR score_gap = 0 OR isnan(margin)", "pairs are ties: nothing prefers chosen over rejected"),
        ("tie", "margin < 0", "pairs have a negative margin: the rejected text is the preferred one"),
        ("duplicate", repeated, "rows repeat an earlier one"),
        ("contradiction", against, "pairs are contradicted by another with chosen and rejected swapped"),
        ("contradiction", both, "completions are both desired and undesired"),
    ):
        _report(work, report, kind, which, what)
    return paired


def _check_leaks(work: duckdb.DuckDBPyConnection, report: CheckReport, near_threshold: float) -> None:
    if len(report.rows) < 2:
        return
    for column, what in (
        ("p", "the same prompt"),
        ("item_id", "the same item"),
        ("cluster", "the same question cluster"),
    ):
        which = f"{column} IN (SELECT {column} FROM rows GROUP BY 1 HAVING count(DISTINCT part) > 1)"
        _report(work, report, "leak", which, f"rows share {what} with a row of another split")
    if near_threshold >= 1:
        return
    places: list[tuple[str, str, int]] = []

    def chunks() -> Iterator[Sequence[Sequence[str]]]:
        query = (
            "SELECT part, file, place, question FROM rows WHERE question IS NOT NULL "
            "QUALIFY row_number() OVER (PARTITION BY part, normal(question) ORDER BY file, place) = 1 ORDER BY 1, 2, 3"
        )
        cursor = work.cursor()
        verdicts.define(cursor)
        cursor.execute(query)
        while rows := cursor.fetchmany(8_192):
            places.extend(row[:3] for row in rows)
            yield ([row[3] for row in rows],)

    roots = near_groups(chunks(), near_threshold)
    parts = {part: index for index, part in enumerate(report.rows)}
    of = np.array([parts[place[0]] for place in places])
    names, group = np.unique(roots, return_inverse=True)
    spread = np.zeros((len(names), len(parts)), dtype=bool)
    spread[group, of] = True
    leaking = np.flatnonzero((spread.sum(axis=1) > 1)[group])
    if len(leaking):
        shown = ", ".join(f"{places[index][1]} row {places[index][2]}" for index in leaking[:_EXAMPLES])
        report.add("near_leak", f"{len(leaking)} questions are near duplicates of one in another split ({shown})")


def _check_balance(work: duckdb.DuckDBPyConnection, report: CheckReport, claimed: bool) -> None:
    longer, differ = work.execute("""
        SELECT avg((chosen_length > rejected_length)::INTEGER), count(*) FROM rows
        WHERE chosen_length <> rejected_length""").fetchall()[0]
    if longer is None:
        return
    report.chosen_longer = round(longer, 6)
    if claimed and abs(longer - 0.5) > LONGER_LIMIT:
        report.add(
            "imbalance",
            f"lengths are declared as balanced, and longer is chosen in {100 * longer:.1f} % of the "
            f"pairs that differ in length ({differ} pairs)",
        )


def _check_counts(place: Path, report: CheckReport) -> None:
    stats = _json(place / STATS, report)
    splits = stats.get("splits")
    if not isinstance(splits, dict):
        return
    for part in sorted(set(splits) | set(report.rows)):
        expected = splits.get(part, {}).get("rows", 0)
        if report.rows.get(part, 0) != expected:
            report.add("rows", f"split {part} has {report.rows.get(part, 0)} rows, {STATS} says {expected}")


def _report(work: duckdb.DuckDBPyConnection, report: CheckReport, kind: str, which: str, what: str) -> None:
    rows = work.execute(
        f"SELECT file, place, count(*) OVER () FROM rows WHERE coalesce({which}, false) ORDER BY 1, 2 LIMIT {_EXAMPLES}"
    ).fetchall()
    if rows:
        shown = ", ".join(f"{file} row {place}" for file, place, _ in rows)
        report.add(kind, f"{rows[0][2]} {what} ({shown})")
