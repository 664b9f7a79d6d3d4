"""Numbered steps to the tables of this version, in ``migrations/`` by database."""

from dataclasses import dataclass
from functools import cache
from importlib import resources


@dataclass(frozen=True, slots=True)
class Migration:
    """One numbered step, ``migrations/DATABASE/NNNN_name.sql``."""

    version: int
    name: str
    sql: str


@cache
def steps_in(database: str) -> tuple[Migration, ...]:
    """The steps for a database (sqlite, postgres, or duckdb for files of version 0.2), in order."""
    folder = resources.files("metajudge.store") / "migrations" / database
    steps = []
    for file in folder.iterdir():
        if file.name.endswith(".sql"):
            number, name = file.name.removesuffix(".sql").split("_", 1)
            steps.append(Migration(int(number), name, file.read_text(encoding="utf-8")))
    return tuple(sorted(steps, key=lambda step: step.version))
