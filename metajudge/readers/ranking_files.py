"""Files of rankings as JSONL, CSV, PrefLib or judgments, recognised by their content."""

import json
from collections.abc import Callable
from pathlib import Path

from metajudge.errors import InputError
from metajudge.readers.judged_rankings import holds_judgments, read_judged_rankings
from metajudge.readers.lines import Source, open_bytes
from metajudge.readers.mapping import FieldMap
from metajudge.readers.preflib import read_preflib
from metajudge.readers.rankings import Format, RankingFile, read_bare_rankings, read_ranking_lines
from metajudge.readers.rankings_csv import read_csv_rankings

PREFLIB_SUFFIXES = (".soc", ".soi", ".toc", ".toi")

_LONGEST_RANKING = 1 << 20
"""Bytes of a first line that is looked at as a bare ranking."""


def read_ranking_file(path: Path | str, mapping: FieldMap | None = None) -> RankingFile:
    """Reads a file of rankings, plain or gzip.

    - JSONL: objects with ``ranking`` (or ``verdict``): a list of candidates or of groups of tied ones, or text such as
      ``"B > A = C"``; optionally ``weight``, a voter and a question. Or the bare list, one a line.
    - CSV (or TSV): a column ``ranking`` with such text; or columns ``candidate`` and ``rank`` with a voter, a row a
      place; or a column a candidate, with ranks in the cells (empty: not ranked). Optionally ``weight``, a voter and a
      question.
    - PrefLib: ``.soc``, ``.soi``, ``.toc``, ``.toi``, in its present or its former format.
    - Judgments in any format that :func:`metajudge.readers.open_judgments` reads: each verdict ranks the models that
      wrote the responses; see :func:`metajudge.readers.judged_rankings.read_judged_rankings`.

    Args:
        path: the file.
        mapping: which column of a table of judgments is what.

    Raises:
        InputError: the file is unreadable, is none of these, or has no ballots; or it contains judgments that do not
            say which models wrote the responses.
    """
    source = Source(Path(path), str(path))
    readers: dict[Format, Callable[[Source], RankingFile]] = {
        "jsonl": read_ranking_lines,
        "csv": read_csv_rankings,
        "preflib": read_preflib,
    }
    suffix = Path(source.name.removesuffix(".gz")).suffix
    if mapping is None and suffix not in PREFLIB_SUFFIXES and _holds_bare_rankings(source):
        found = read_bare_rankings(source)
    elif suffix not in PREFLIB_SUFFIXES and (mapping is not None or holds_judgments(source)):
        found = read_judged_rankings(source, mapping)
    else:
        found = readers[_format_of(source)](source)
    if not found.ballots:
        why = f": {found.rejects[0]}" if found.rejects else " (it is empty)"
        raise InputError(f"{source.name} contains no ballots{why}")
    return found


def _format_of(source: Source) -> Format:
    if Path(source.name.removesuffix(".gz")).suffix in PREFLIB_SUFFIXES:
        return "preflib"
    with open_bytes(source) as stream:
        head = stream.read(4096).removeprefix(b"\xef\xbb\xbf").lstrip()
    if head.startswith(b"{"):
        return "jsonl"
    return "preflib" if head.startswith(b"#") else "csv"


def _holds_bare_rankings(source: Source) -> bool:
    """Whether the first line is a JSON list of names or of groups of them."""
    if source.path.is_dir():
        return False
    with open_bytes(source) as stream:
        head = stream.readline(_LONGEST_RANKING).removeprefix(b"\xef\xbb\xbf").strip()
    if not head.startswith(b"["):
        return False
    try:
        entries = json.loads(head)
    except (ValueError, RecursionError):
        return False
    return all(isinstance(name, str) for entry in entries for name in (entry if isinstance(entry, list) else [entry]))
