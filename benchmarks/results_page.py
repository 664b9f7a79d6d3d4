"""The page of plots over the files of ``benchmarks/results``."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from metajudge.report.document import Absent, Block, Cell, Column, Report, Section, Table
from metajudge.report.files import write_report

from .results_charts import charts

MOST_ROWS = 120


def write_page(folder: Path) -> Path:
    """Draws ``index.html`` from the results that are there; returns its path."""
    results = [json.loads(path.read_text("utf-8")) for path in sorted(folder.glob("*.json"))]
    page = folder / "index.html"
    write_report(page_of(results), page)
    return page


def page_of(results: list[dict[str, Any]]) -> Report:
    """A section a result: what it was made by, plots where figures are shares, and every number as a table."""
    sections = tuple(_section(result) for result in results)
    dates = sorted({str(result["date"]) for result in results})
    return Report(
        title="Benchmarks of metajudge",
        summary=("Made by python -m metajudge.benchmarks.regenerate; each section names its own command.",),
        sections=sections,
        provenance={"made on": ", ".join(dates) or "never", "figures": str(len(results))},
    )


def _section(result: Mapping[str, Any]) -> Section:
    machine, versions = result["machine"], result["versions"]
    load = f", load {machine['load_at_the_end']} at the end" if "load_at_the_end" in machine else ""
    where = (
        f"{result['command']}; {result['date']}, {result['seconds']} s, {machine['cpus']} CPUs "
        f"({machine['architecture']}){load}; Python {versions['python']}, "
        f"metajudge {versions['metajudge-vet']}."
    )
    return Section(title=str(result["name"]), paragraphs=(where,), blocks=tuple(_blocks(result)))


def _blocks(result: Mapping[str, Any]) -> Iterator[Block]:
    figures = result["figures"]
    yield from charts(str(result["name"]), figures)
    rows, scalars = list[tuple[str, list[Any]]](), list[tuple[str, Any]]()
    _sort_out("", figures, rows, scalars)
    if scalars:
        cells = tuple((name, _cell(value)) for name, value in scalars)
        yield Table(caption="Figures", columns=(Column(title="figure"), Column(title="value")), rows=cells)
    for name, records in rows:
        yield _table(name or "Rows", records)


def _sort_out(name: str, value: Any, rows: list[tuple[str, list[Any]]], scalars: list[tuple[str, Any]]) -> None:
    """Lists of records become tables, everything else a line with a dotted name."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            _sort_out(f"{name}.{key}" if name else str(key), inner, rows, scalars)
    elif isinstance(value, list) and value and all(isinstance(one, Mapping) for one in value):
        rows.append((name, value))
    else:
        scalars.append((name, value))


def _table(name: str, records: list[Mapping[str, Any]]) -> Table:
    titles = list(dict.fromkeys(key for record in records for key in record))
    shown = records[:MOST_ROWS]
    notes = () if len(shown) == len(records) else (f"The first {len(shown)} of {len(records)} rows; the file has all.",)
    return Table(
        caption=name,
        columns=tuple(Column(title=title) for title in titles),
        rows=tuple(tuple(_cell(record.get(title)) for title in titles) for record in shown),
        notes=notes,
    )


def _cell(value: Any) -> Cell:
    if isinstance(value, dict) and set(value) == {"value", "low", "high"}:
        return "{value:.4g} ({low:.4g} to {high:.4g})".format(**value)
    return Absent(absent="not there") if value is None else _text(value)


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, list):
        return ", ".join(map(_text, value))
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else str(value)
