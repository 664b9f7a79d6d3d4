"""Files of rankings as JSONL, CSV, PrefLib or judgments, recognised by their content.

PrefLib files are strict or tied, complete or incomplete orders (Mattei and Walsh, "PrefLib", 2013). The present format
has its metadata in lines that begin with ``#``; the former one counts candidates in its first line, names them in the
next, and then gives voters, their sum and the number of orders. Both give an order a line, with how many voters cast
it: ``12: 3,{1,4},2``.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from pathlib import Path

from metajudge.errors import InputError
from metajudge.reading.containers.lines import Line, Reject, Source, head_of
from metajudge.reading.containers.sheets import csv_table
from metajudge.reading.mapping import FieldMap
from metajudge.reading.rankings import (
    QUESTIONS,
    VOTERS,
    FileBallot,
    Groups,
    RankingFile,
    checked_ranking,
    holds_judgments,
    ranking_file,
    ranking_from_text,
    read_judged_rankings,
    read_ranking_lines,
    text_lines,
    weight_of,
)
from metajudge.reading.reader import each, split

PREFLIB_SUFFIXES = (".soc", ".soi", ".toc", ".toi")

_BARE = re.compile(rb"\[\s*(?:\[\s*)?\"")
"""How a first line begins that is a list of names, or of groups of them."""


def read_ranking_file(path: Path | str, mapping: FieldMap | None = None) -> RankingFile:
    """Reads a file of rankings, plain or gzip.

    - JSONL: objects with ``ranking`` (or ``verdict``): a list of candidates or of groups of tied ones, or text such as
      ``"B > A = C"``; optionally ``weight``, a voter and a question. Or the bare list, one a line.
    - CSV (or TSV): a column ``ranking`` with such text; or columns ``candidate`` and ``rank`` with a voter, a row a
      place; or a column a candidate, with ranks in the cells (empty: not ranked). Optionally ``weight``, a voter and a
      question.
    - PrefLib: ``.soc``, ``.soi``, ``.toc``, ``.toi``, in its present or its former format.
    - Judgments in any format that :func:`metajudge.reading.open_judgments` reads: each verdict ranks the models that
      wrote the responses; see :func:`metajudge.reading.rankings.read_judged_rankings`.

    Args:
        path: the file.
        mapping: which column of a table of judgments is what.

    Raises:
        InputError: the file is unreadable, is none of these, or has no ballots; or it contains judgments that do not
            say which models wrote the responses.
    """
    source = Source(Path(path), str(path))
    found = _reader_of(source, mapping)(source)
    if not found.ballots:
        why = f": {found.rejects[0]}" if found.rejects else " (it is empty)"
        raise InputError(f"{source.name} contains no ballots{why}")
    return found


def _reader_of(source: Source, mapping: FieldMap | None) -> Callable[[Source], RankingFile]:
    if Path(source.name.removesuffix(".gz")).suffix in PREFLIB_SUFFIXES:
        return read_preflib
    head = b"" if source.path.is_dir() else head_of(source, 4096).lstrip()
    if mapping is None and _BARE.match(head):
        return read_ranking_lines
    if mapping is not None or holds_judgments(source):
        return partial(read_judged_rankings, mapping=mapping)
    return read_ranking_lines if head.startswith(b"{") else read_preflib if head.startswith(b"#") else read_csv_rankings


def read_csv_rankings(source: Source) -> RankingFile:
    """Reads a table with a header; see :func:`metajudge.reading.ranking_files.read_ranking_file`.

    Raises:
        InputError: no header, a column twice, or columns that make no ballots.
    """
    table = csv_table(source)
    header = [name.strip() for name in table.columns()]
    rows = [_stripped(row) for row in table.rows()]
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


def _stripped(row: Line | Reject) -> Line | Reject:
    if isinstance(row, Reject):
        return row
    return Line(row.number, row.raw, {name.strip(): str(value or "").strip() for name, value in row.data.items()})


def _single_places(source: Source, rows: Sequence[Line | Reject]) -> RankingFile:
    """Ballots of which every row is one place."""
    held: dict[tuple[str | None, str | None], list[Line]] = {}
    for row in rows:
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

    rejects = [row for row in rows if isinstance(row, Reject)]
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


_NAME = re.compile(r"#\s*ALTERNATIVE NAME (\d+):(.*)")
_VOTERS = re.compile(r"#\s*NUMBER VOTERS:\s*(\d{1,18})")
_KIND = re.compile(r"#\s*DATA TYPE:\s*(\w+)")
_ORDER = re.compile(r"(\d{1,18})\s*[:,](.+)")
_GROUP = re.compile(r"\{([^{}]*)\}|([^{},]+)")
_KINDS = ("soc", "soi", "toc", "toi")


@dataclass(slots=True)
class _File:
    """What is known while reading: names by number, and what the file announces of itself."""

    names: dict[str, str] = field(default_factory=dict)
    kind: str = ""
    voters: int | None = None
    orders: list[tuple[int, str]] = field(default_factory=list)


def read_preflib(source: Source) -> RankingFile:
    """Reads a PrefLib file of orders.

    Raises:
        InputError: no such file, no names, a name twice, or other data than orders.
    """
    suffix = Path(source.name.removesuffix(".gz")).suffix.removeprefix(".")
    content = _File(kind=suffix if suffix in _KINDS else "")
    lines = [(number, line.strip()) for number, line in enumerate(text_lines(source), start=1) if line.strip()]
    if lines and lines[0][1].startswith("#"):
        _read_present(lines, content)
    else:
        _read_former(source, iter(lines), content)
    _check(source, content)
    rows = [Line(number, text.encode(), {}) for number, text in content.orders]
    ballots, rejects = split(each(source, rows, lambda row: _order(row.raw.decode(), row.number, content)))
    cast = sum(int(ballot.weight) for ballot in ballots)
    if not rejects and content.voters is not None and cast != content.voters:
        reason = f"the file announces {content.voters} voters and contains {cast}: it may be cut off"
        rejects.append(source.reject(lines[-1][0], reason, lines[-1][1].encode()))
    return RankingFile(source.name, "preflib", tuple(content.names.values()), tuple(ballots), tuple(rejects))


def _read_present(lines: list[tuple[int, str]], content: _File) -> None:
    for number, line in lines:
        if not line.startswith("#"):
            content.orders.append((number, line))
        elif found := _NAME.fullmatch(line):
            content.names[found[1]] = found[2].strip()
        elif found := _VOTERS.fullmatch(line):
            content.voters = int(found[1])
        elif found := _KIND.fullmatch(line):
            content.kind = found[1].lower()


def _read_former(source: Source, lines: Iterator[tuple[int, str]], content: _File) -> None:
    try:
        for _ in range(int(next(lines, (0, ""))[1])):
            code, name = next(lines, (0, ""))[1].split(",", 1)
            content.names[code.strip()] = name.strip()
        content.voters = int(next(lines, (0, ""))[1].split(",")[0])
    except ValueError:
        raise InputError(
            f"{source.name} is no PrefLib file: it begins neither with '#' nor with the number of candidates, their "
            "names and the number of voters"
        ) from None
    content.orders.extend(lines)


def _check(source: Source, content: _File) -> None:
    if content.kind and content.kind not in _KINDS:
        raise InputError(f"{source.name} has PrefLib data of type {content.kind!r}: orders are {', '.join(_KINDS)}")
    if not content.names:
        raise InputError(f"{source.name} names no candidates ('# ALTERNATIVE NAME 1: ...')")
    names = list(content.names.values())
    if len(set(names)) < len(names) or "" in names:
        raise InputError(f"{source.name} gives two candidates one name, or one none: names must differ")


def _order(text: str, number: int, content: _File) -> FileBallot:
    found = _ORDER.fullmatch(text)
    if found is None or int(found[1]) < 1:
        raise InputError("not an order: expected the number of voters, then candidates, as in '12: 3,{1,4},2'")
    ranking = _groups(found[2], content.names)
    named = [name for group in ranking for name in group]
    if len(set(named)) < len(named):
        raise InputError("the order names a candidate twice")
    if content.kind.startswith("s") and len(ranking) < len(named):
        raise InputError(f"the order has ties, and the file is of type {content.kind} (strict)")
    if content.kind.endswith("c") and len(named) < len(content.names):
        raise InputError(f"the order leaves candidates out, and the file is of type {content.kind} (complete)")
    return FileBallot(ranking, Fraction(found[1]), None, None, number)


def _groups(text: str, names: dict[str, str]) -> Groups:
    rest = _GROUP.sub("", text).replace(",", "").strip()
    if rest:
        raise InputError(f"the order contains {rest!r}: groups are written {{1,4}}")
    groups: list[tuple[str, ...]] = []
    for tied, single in _GROUP.findall(text):
        codes = [code.strip() for code in (tied or single).split(",") if code.strip()]
        unknown = next((code for code in codes if code not in names), None)
        if unknown is not None:
            raise InputError(f"the order names candidate {unknown}, which the file does not declare")
        if codes:
            groups.append(tuple(names[code] for code in codes))
    if not groups:
        raise InputError("the order names no candidates")
    return tuple(groups)
