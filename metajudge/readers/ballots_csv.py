"""Ballots from CSV: a ranking a row, a place a row, or a column a candidate."""

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from metajudge.errors import InputError
from metajudge.readers.ballot_file import (
    QUESTIONS,
    VOTERS,
    BallotFile,
    FileBallot,
    Groups,
    checked_ranking,
    ranking_from_text,
    text_lines,
    weight_of,
)
from metajudge.readers.lines import Reject, Source

Row: TypeAlias = dict[str, str]


@dataclass(frozen=True, slots=True)
class _Numbered:
    line: int
    row: Row

    def first_of(self, names: tuple[str, ...]) -> str | None:
        return next((self.row[name] for name in names if self.row.get(name)), None)

    @property
    def weight(self) -> Fraction:
        return weight_of(self.row.get("weight") or 1)


def read_csv_ballots(source: Source) -> BallotFile:
    """Reads a table with a header; see :func:`metajudge.readers.ballots.read_ballots`.

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
    rejects: list[Reject] = []
    rows = _rows(source, reader, header, rejects)
    if "ranking" in header:
        ballots = _whole_rankings(source, rows, rejects)
        return BallotFile(source.name, "csv", None, ballots, tuple(rejects))
    if "candidate" in header and "rank" in header:
        if not set(VOTERS) & set(header):
            raise InputError(f"{source.name}: rows with candidate and rank need a column that names the voter")
        ballots = _single_places(source, list(rows), rejects)
        return BallotFile(source.name, "csv", None, ballots, tuple(rejects))
    candidates = tuple(name for name in header if name not in (*VOTERS, *QUESTIONS, "weight"))
    if len(candidates) < 2:
        raise InputError(
            f"{source.name}: the columns {', '.join(header)} make no ballots; give a column 'ranking', columns "
            "'candidate' and 'rank', or a column a candidate"
        )
    ballots = _rank_columns(source, rows, candidates, rejects)
    return BallotFile(source.name, "csv", candidates, ballots, tuple(rejects))


def _rows(source: Source, reader: Iterator[list[str]], header: list[str], rejects: list[Reject]) -> Iterator[_Numbered]:
    for line, cells in enumerate(reader, start=2):
        if not any(cell.strip() for cell in cells):
            continue
        if len(cells) != len(header):
            reason = f"the row has {len(cells)} cells, the header {len(header)}"
            rejects.append(source.reject(line, reason, ",".join(cells).encode()))
            continue
        yield _Numbered(line, {name: cell.strip() for name, cell in zip(header, cells, strict=True)})


def _whole_rankings(source: Source, rows: Iterator[_Numbered], rejects: list[Reject]) -> tuple[FileBallot, ...]:
    ballots: list[FileBallot] = []
    for one in rows:
        try:
            ballots.append(_ballot(one, ranking_from_text(one.row["ranking"]), one.weight))
        except InputError as error:
            rejects.append(_rejected(source, one, error))
    return tuple(ballots)


def _rank_columns(
    source: Source, rows: Iterator[_Numbered], candidates: tuple[str, ...], rejects: list[Reject]
) -> tuple[FileBallot, ...]:
    ballots: list[FileBallot] = []
    for one in rows:
        try:
            ranks = {name: _rank(one.row[name]) for name in candidates if one.row[name]}
            ballots.append(_ballot(one, _by_rank(ranks), one.weight))
        except InputError as error:
            rejects.append(_rejected(source, one, error))
    return tuple(ballots)


def _single_places(source: Source, rows: list[_Numbered], rejects: list[Reject]) -> tuple[FileBallot, ...]:
    held: dict[tuple[str | None, str | None], list[_Numbered]] = {}
    for one in rows:
        held.setdefault((one.first_of(VOTERS), one.first_of(QUESTIONS)), []).append(one)
    ballots: list[FileBallot] = []
    for places in held.values():
        try:
            ranks = {one.row["candidate"]: _rank(one.row["rank"]) for one in places}
            if len(ranks) < len(places):
                raise InputError("the voter ranks a candidate twice")
            if len({one.weight for one in places}) > 1:
                raise InputError("the rows of one ballot have different weights")
            ballots.append(_ballot(places[0], _by_rank(ranks), places[0].weight))
        except InputError as error:
            rejects.append(_rejected(source, places[0], error))
    return tuple(ballots)


def _ballot(one: _Numbered, ranking: Groups, weight: Fraction) -> FileBallot:
    return FileBallot(ranking, weight, one.first_of(VOTERS), one.first_of(QUESTIONS), one.line)


def _rank(text: str) -> Fraction:
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise InputError(f"the rank is {text!r}: a rank is a number, 1 for the best, or empty") from None


def _by_rank(ranks: dict[str, Fraction]) -> Groups:
    order = sorted(set(ranks.values()))
    return checked_ranking([[name for name, rank in ranks.items() if rank == place] for place in order])


def _rejected(source: Source, one: _Numbered, error: InputError) -> Reject:
    return source.reject(one.line, str(error), ",".join(one.row.values()).encode())
