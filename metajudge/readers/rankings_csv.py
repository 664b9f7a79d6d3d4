"""Ballots from CSV: a ranking a row, a place a row, or a column a candidate."""

import csv
from collections.abc import Iterator
from fractions import Fraction

from metajudge.errors import InputError
from metajudge.readers.lines import Line, Reject, Source
from metajudge.readers.rankings import (
    QUESTIONS,
    VOTERS,
    FileBallot,
    Groups,
    RankingFile,
    checked_ranking,
    ranking_file,
    ranking_from_text,
    text_lines,
    weight_of,
)


def read_csv_rankings(source: Source) -> RankingFile:
    """Reads a table with a header; see :func:`metajudge.readers.ranking_files.read_ranking_file`.

    Raises:
        InputError: no header, a column twice, or columns that make no ballots.
    """
    delimiter = "\t" if source.name.removesuffix(".gz").endswith(".tsv") else ","
    reader = csv.reader(text_lines(source), delimiter=delimiter, skipinitialspace=True)
    header = [name.strip() for name in next(reader, [])]
    if not any(header):
        raise InputError(f"{source.name} is empty: a file of ballots has a header, or is JSONL or PrefLib")
    if len(set(header)) < len(header) or "" in header:
        raise InputError(f"{source.name}: every column of the header needs a name of its own, not {header}")
    rows = _rows(source, reader, header)
    if "ranking" in header:
        return ranking_file(source, "csv", rows, lambda row: _ballot(row, ranking_from_text(row.data["ranking"])))
    if "candidate" in header and "rank" in header:
        if not set(VOTERS) & set(header):
            raise InputError(f"{source.name}: rows with candidate and rank need a column that names the voter")
        return _single_places(source, rows)
    candidates = tuple(name for name in header if name not in (*VOTERS, *QUESTIONS, "weight"))
    if len(candidates) < 2:
        raise InputError(
            f"{source.name}: the columns {', '.join(header)} make no ballots; give a column 'ranking', columns "
            "'candidate' and 'rank', or a column a candidate"
        )

    def by_columns(row: Line) -> FileBallot:
        return _ballot(row, _by_rank({name: _rank(row.data[name]) for name in candidates if row.data[name]}))

    return ranking_file(source, "csv", rows, by_columns, candidates)


def _rows(source: Source, reader: Iterator[list[str]], header: list[str]) -> Iterator[Line | Reject]:
    for line, cells in enumerate(reader, start=2):
        if not any(cell.strip() for cell in cells):
            continue
        if len(cells) != len(header):
            reason = f"the row has {len(cells)} cells, the header {len(header)}"
            yield source.reject(line, reason, ",".join(cells).encode())
            continue
        data = {name: cell.strip() for name, cell in zip(header, cells, strict=True)}
        yield Line(line, ",".join(data.values()).encode(), data)


def _single_places(source: Source, rows: Iterator[Line | Reject]) -> RankingFile:
    """Ballots of which every row is one place."""
    whole = list(rows)
    held: dict[tuple[str | None, str | None], list[Line]] = {}
    for row in whole:
        if isinstance(row, Line):
            held.setdefault((_first_of(row, VOTERS), _first_of(row, QUESTIONS)), []).append(row)

    def made(first: Line) -> FileBallot:
        places = held[_first_of(first, VOTERS), _first_of(first, QUESTIONS)]
        ranks = {row.data["candidate"]: _rank(row.data["rank"]) for row in places}
        if len(ranks) < len(places):
            raise InputError("the voter ranks a candidate twice")
        if len({_weight(row) for row in places}) > 1:
            raise InputError("the rows of one ballot have different weights")
        return _ballot(first, _by_rank(ranks))

    rejects = [row for row in whole if isinstance(row, Reject)]
    return ranking_file(source, "csv", [*rejects, *(places[0] for places in held.values())], made)


def _ballot(row: Line, ranking: Groups) -> FileBallot:
    return FileBallot(ranking, _weight(row), _first_of(row, VOTERS), _first_of(row, QUESTIONS), row.number)


def _first_of(row: Line, names: tuple[str, ...]) -> str | None:
    return next((row.data[name] for name in names if row.data.get(name)), None)


def _weight(row: Line) -> Fraction:
    return weight_of(row.data.get("weight") or 1)


def _rank(text: str) -> Fraction:
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise InputError(f"the rank is {text!r}: a rank is a number, 1 for the best, or empty") from None


def _by_rank(ranks: dict[str, Fraction]) -> Groups:
    order = sorted(set(ranks.values()))
    return checked_ranking([[name for name, rank in ranks.items() if rank == place] for place in order])
