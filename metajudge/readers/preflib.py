"""Ballots from PrefLib files: strict or tied, complete or incomplete orders (Mattei and Walsh, "PrefLib", 2013).

The present format has its metadata in lines that begin with ``#``; the former one counts candidates in its first line,
names them in the next, and then gives voters, their sum and the number of orders. Both give an order a line, with how
many voters cast it: ``12: 3,{1,4},2``.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

from metajudge.errors import InputError
from metajudge.readers.lines import Line, Source
from metajudge.readers.rankings import FileBallot, Groups, RankingFile, text_lines
from metajudge.readers.reader import each, split

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
    ballots, rejects = split(each(source, rows, lambda row: _ballot(row.raw.decode(), row.number, content)))
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


def _ballot(text: str, number: int, content: _File) -> FileBallot:
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
