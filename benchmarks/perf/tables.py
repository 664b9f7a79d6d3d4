"""Tables as people have them, by the thousand: what is read of each is what it says, or it is a question.

    metajudge bench perf tables [N] [SEED] [--keep FOLDER] [--json-out OUT]

Each table has known verdicts and labels. It has one of many shapes and containers, column names and words
for verdicts from several languages and unused columns; its meaning can still be recovered. It is read without options.
A table is ``right`` where every figure is the true one, ``asked`` where a question names a column or a value of it,
``refused`` where an error names none or nothing is compared, and ``wrong`` where any figure differs.
:mod:`.table_making` makes the tables, :mod:`.table_files` writes them; the table of a seed does not depend on how many
are made.
"""

import re
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from random import Random
from typing import Annotated, Final, TypeAlias

import typer

from metajudge.errors import InputError, OpenQuestionsError
from metajudge.reading import open_judgments
from metajudge.reading.right_rules import right_of, rules_of
from metajudge.types import Judgment, Pairwise

from .measuring import JsonOut, keep
from .table_files import CONTAINERS
from .table_making import WORDS, Sheet, columns_of, made

Figures: TypeAlias = dict[str, Counter[str]]
"""By judge, and for the table as a whole under ``""``: name -> count."""

PERCENT: Final = "{1}%"
"""Verdicts in per cent beside people's grades from 1 to 5 are on another scale, and compared with nothing."""
_NO_FIGURE: Final = r"[\w-]+ (?:compared|right) 0 for \d+"

OUTCOMES: Final = ("right", "asked", "refused", "wrong")


def truth(sheet: Sheet) -> Figures:
    """What is true of a table, counted from its rows."""
    said = {(name, row.item, row.swapped): value for row in sheet.rows for name, value in row.verdicts.items()}
    labels: dict[int, dict[str, str]] = {row.item: {} for row in sheet.rows}
    for row in sheet.rows:
        labels[row.item] |= {one: value for one, value in row.labels.items() if value is not None}
    right = {item: Counter(given.values()).most_common(1)[0][0] for item, given in labels.items() if given}
    figures: Figures = {"": Counter(items=len(labels), labels=sum(map(len, labels.values())))}
    for (name, item, swapped), value in said.items():
        compared = value is not None and item in right and (sheet.kind != "pair" or right[item] != "tie")
        is_right = value == right[item] if compared else None
        count(
            figures, name, none=value is None, first=value == "A", tie=value == "tie", right=is_right, swapped=swapped
        )
    return figures


def figures_of(judgments: Iterable[Judgment]) -> Figures:
    """The same figures of what was read."""
    found = list(judgments)
    rules, items = rules_of(found), {one.item.id: one.item for one in found}
    labels = sum(len(item.labels) or item.label is not None for item in items.values())
    figures: Figures = {"": Counter(items=len(items), labels=labels)}
    for one in found:
        ids, pair = sorted(one.item.responses), one.verdict if isinstance(one.verdict, Pairwise) else None
        first, tie = pair is not None and pair.winner == ids[0], pair is not None and pair.is_tie
        swapped, right = list(one.order or ids) != ids, right_of(one, rules)
        count(figures, one.judge, none=one.verdict is None, first=first, tie=tie, right=right, swapped=swapped)
    return figures


def count(figures: Figures, judge: str, *, right: bool | None, **holds: bool) -> None:
    """Adds one judgment to the figures of its judge; ``right`` is None where nothing is compared."""
    said = {**holds, "compared": right is not None, "right": right is True}
    figures.setdefault(judge, Counter()).update({"judgments": 1, **{name: int(one) for name, one in said.items()}})


def difference(true: Figures, found: Figures) -> str:
    """Which figures differ; "" where none does. A judge may be called more than its name here (``gpt4_score``)."""
    if len(true) != len(found):
        return f"judges {sorted(found)} for {sorted(true)}"
    said, names = [], {one: re.sub(r"[^a-z0-9]", "", one.lower()) for one in found}
    for name, figures in true.items():
        parts = [re.sub(r"[^a-z0-9]", "", one) for one in (WORDS["prefixes"].get(name, name), name)]
        of = [one for one, plain in names.items() if any(part in plain for part in parts)] if name else [""]
        of = of or [one for one in found if one and len(found) == 2]  # the only judge may have any name
        if len(of) != 1:
            return f"no judge {name!r}: {sorted(found)}"
        counts = {what: (found[of[0]][what], count) for what, count in figures.items()}
        said += [f"{name} {what} {one} for {count}" for what, (one, count) in counts.items() if one != count]
    return ", ".join(said)


def outcome(seed: int, folder: Path) -> tuple[str, str, list[str]]:
    """Makes, writes and reads one table.

    Returns:
        One of :data:`OUTCOMES`, what differs or was said, and the mutations.
    """
    rng = Random(seed)
    sheet = made(rng)
    columns, container = columns_of(sheet), rng.choice([*CONTAINERS])
    mutations = [*sheet.mutations, f"container: {container}"]
    path = CONTAINERS[container](columns, folder, rng)
    try:
        found = figures_of(open_judgments([path]))
    except InputError as error:
        words = [*columns, *(str(cell) for cells in columns.values() for cell in cells if cell)]
        named = isinstance(error, OpenQuestionsError) and any(one in str(error) for one in words)
        return ("asked" if named else "refused"), str(error), mutations
    except Exception as error:  # whatever it is, it is a crash
        return "wrong", f"{type(error).__name__}: {error}", mutations
    if len(found) == 1:
        return "refused", "no judgment was read", mutations
    differs = difference(truth(sheet), found)
    two_scales = f"values: {PERCENT}" in mutations and re.fullmatch(rf"({_NO_FIGURE}(, )?)+", differs)
    return ("refused" if two_scales else "wrong" if differs else "right"), differs, mutations


def main(
    tables: Annotated[int, typer.Argument(help="how many tables", metavar="N")] = 5000,
    seed: Annotated[int, typer.Argument(help="of the first table", metavar="SEED")] = 0,
    kept: Annotated[Path | None, typer.Option("--keep", help="leave the tables here, and tell each one")] = None,
    out: JsonOut = None,
) -> None:
    """Makes, reads and counts tables by mutation; exit code 1 where anything was read wrongly."""
    started = time.process_time()
    counts: dict[str, Counter[str]] = {}
    wrong = []
    for one in range(seed, seed + tables):
        with tempfile.TemporaryDirectory() as folder:
            where = Path(folder) if kept is None else kept / str(one)
            where.mkdir(parents=True, exist_ok=True)
            came, said, mutations = outcome(one, where)
        for kind in ("all", *mutations):
            counts.setdefault(kind, Counter())[came] += 1
        wrong += [{"seed": one, "differs": said, "mutations": mutations}] * (came == "wrong")
        if kept is not None or came == "wrong":
            print(f"seed {one}: {came.upper()}: {said[:300]}\n  {'; '.join(mutations)}", flush=True)
    for kind, of in sorted(counts.items(), key=lambda found: (found[0] != "all", found[0])):
        total = sum(of.values())
        print(f"{kind:42}{total:6}", *(f"{of[name]:6} {name} ({of[name] / total:4.0%})" for name in OUTCOMES))
    print(f"{tables} tables, seed {seed}, {len(wrong)} wrong, {time.process_time() - started:.0f} s of CPU")
    keep({"tables": tables, "seed": seed, "counts": counts, "wrong": wrong}, out)
    raise SystemExit(1 if wrong else 0)


if __name__ == "__main__":
    typer.run(main)
