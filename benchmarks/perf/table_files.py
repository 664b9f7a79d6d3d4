"""How the tables of :mod:`.tables` are written: one function a container, each gives the path of what it wrote."""

import csv
import gzip
import io
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from typing import Any, Final, TypeAlias

Cells: TypeAlias = dict[str, list[Any]]
"""Columns by name; each cell a text or a number."""
Write: TypeAlias = Callable[[Cells, Path, Random], Path]

_NUMBER: Final = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?")


def records(columns: Cells) -> list[dict[str, Any]]:
    """A row as an object; numbers and booleans are typed in columns that have nothing else, an empty cell is null."""
    typed = {name: _typed(cells) for name, cells in columns.items()}
    return [dict(zip(typed, row, strict=True)) for row in zip(*typed.values(), strict=True)]


def _typed(cells: list[Any]) -> list[Any]:
    texts = {str(cell) for cell in cells} - {""}
    if texts and texts <= {"true", "false"}:
        return [str(cell) == "true" if cell != "" else None for cell in cells]
    if texts and all(map(_NUMBER.fullmatch, texts)):
        return [json.loads(str(cell)) if cell != "" else None for cell in cells]
    return cells


def _csv(
    *,
    ending: str = "csv",
    encoding: str = "utf-8",
    before: Callable[[int], str] = lambda width: "",
    cut: bool = False,
    zipped: bool = False,
    **form: Any,
) -> Write:
    """A writer of delimited texts; ``before`` gives lines above the header, ``cut`` leaves empty last cells out."""

    def write(columns: Cells, folder: Path, rng: Random) -> Path:
        out = io.StringIO()
        writer = csv.writer(out, **{"lineterminator": "\n", **form})
        out.write(before(len(columns)))
        writer.writerow(columns)
        rows: list[list[Any]] = [list(row) for row in zip(*columns.values(), strict=True)]
        if cut:
            rows = [row[:-1] if row[-1] == "" else row for row in rows]
        writer.writerows(rows)
        data = out.getvalue().encode(encoding, "replace")
        return _kept(folder / f"table.{ending}", gzip.compress(data, 1) if zipped else data)

    return write


def _short(columns: Cells, folder: Path, rng: Random) -> Path:
    """Rows that end with their last filled cell, as some tools write them."""
    noted = {**columns, "remark": [rng.choice(("", "seen")) for _ in next(iter(columns.values()))]}
    return _csv(cut=True)(noted, folder, rng)


def _json(ending: str, shaped: Callable[[list[dict[str, Any]]], Any], *, indent: int | None = None) -> Write:
    """A writer of one JSON value."""

    def write(columns: Cells, folder: Path, rng: Random) -> Path:
        text = json.dumps(shaped(records(columns)), ensure_ascii=rng.random() < 0.5, indent=indent)
        return _kept(folder / f"table.{ending}", text.encode())

    return write


def _lines(ending: str, *, zipped: bool = False) -> Write:
    def write(columns: Cells, folder: Path, rng: Random) -> Path:
        data = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in records(columns)).encode()
        return _kept(folder / f"table.{ending}", gzip.compress(data, 1) if zipped else data)

    return write


def _by_column(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """As pandas writes a frame by default."""
    return {name: {str(place): row[name] for place, row in enumerate(rows)} for name in (rows[0] if rows else ())}


def _split(rows: list[dict[str, Any]]) -> dict[str, Any]:
    columns = list(rows[0]) if rows else []
    return {"columns": columns, "index": [*range(len(rows))], "data": [[*row.values()] for row in rows]}


def _table_schema(rows: list[dict[str, Any]]) -> dict[str, Any]:
    fields = [{"name": name, "type": "string"} for name in ("index", *(rows[0] if rows else ()))]
    schema = {"fields": fields, "primaryKey": ["index"], "pandas_version": "1.4.0"}
    return {"schema": schema, "data": [{"index": place, **row} for place, row in enumerate(rows)]}


def _folder(columns: Cells, folder: Path, rng: Random) -> Path:
    """One record a file."""
    target = folder / "records"
    target.mkdir()
    for place, row in enumerate(records(columns)):
        _kept(target / f"{place:03d}.json", json.dumps(row).encode())
    return target


def _xlsx(*above: str, notes: bool = False) -> Write:
    """A writer of workbooks, with lines above the header, or a sheet of notes first."""

    def write(columns: Cells, folder: Path, rng: Random) -> Path:
        from openpyxl import Workbook

        book = Workbook()
        sheet: Any = book.active
        if notes:
            sheet.title = "README"
            sheet.append(["These are the verdicts of May."])
            sheet = book.create_sheet("data")
        for line in above:
            sheet.append([line] if line else [])
        sheet.append([*columns])
        for row in records(columns):
            sheet.append([None if cell == "" else cell for cell in row.values()])
        book.save(folder / "table.xlsx")
        return folder / "table.xlsx"

    return write


def _arrow(ending: str) -> Write:
    def write(columns: Cells, folder: Path, rng: Random) -> Path:
        from pyarrow import Table, feather, parquet

        table, path = Table.from_pylist(records(columns)), folder / f"table.{ending}"
        (parquet.write_table if ending == "parquet" else feather.write_feather)(table, path)
        return path

    return write


def _kept(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


CONTAINERS: Final[Mapping[str, Write]] = {
    "CSV": _csv(),
    "JSON lines": _lines("jsonl"),
    "CSV with ;": _csv(delimiter=";"),
    "CSV with tabs": _csv(delimiter="\t", ending="tsv"),
    "CSV with |": _csv(delimiter="|"),
    "CSV with a byte order mark": _csv(encoding="utf-8-sig", delimiter=";", lineterminator="\r\n"),
    "CSV in cp1252": _csv(encoding="cp1252", delimiter=";"),
    "CSV with old Mac ends": _csv(lineterminator="\r"),
    "CSV with sep=;": _csv(delimiter=";", before=lambda width: "sep=;\n"),
    "CSV with a title": _csv(before=lambda width: f"Verdicts of May{',' * (width - 1)}\n"),
    "CSV with a title and a gap": _csv(before=lambda width: "Verdicts of May\n\n"),
    "CSV with two header rows": _csv(before=lambda width: f"Input{',' * (width - 1)}Output\n"),
    "CSV, all quoted": _csv(quoting=csv.QUOTE_ALL, lineterminator="\r\n"),
    "CSV with short rows": _short,
    "CSV, gzip": _csv(ending="csv.gz", zipped=True),
    "JSON lines, gzip": _lines("jsonl.gz", zipped=True),
    "JSON list": _json("json", lambda rows: rows),
    "JSON list, indented": _json("json", lambda rows: rows, indent=2),
    "JSON list in an object": _json("json", lambda rows: {"run": "may", "results": rows}),
    "JSON by id": _json("json", lambda rows: {f"r{place}": row for place, row in enumerate(rows)}, indent=1),
    "pandas index": _json("json", lambda rows: {str(place): row for place, row in enumerate(rows)}),
    "pandas columns": _json("json", _by_column),
    "pandas split": _json("json", _split),
    "pandas table": _json("json", _table_schema),
    "one record a file": _folder,
    "Excel": _xlsx(),
    "Excel, notes first": _xlsx(notes=True),
    "Excel with a title": _xlsx("Verdicts of May", ""),
    "Parquet": _arrow("parquet"),
    "Arrow": _arrow("arrow"),
}
"""Container -> what writes it."""
