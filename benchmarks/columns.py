"""Columns of the tables here."""

from collections.abc import Collection

from metajudge.report.document import Column, Table


def columns(*titles: str | tuple[str, str]) -> tuple[Column, ...]:
    """Columns by their titles: a title alone is of text, one of figures comes with their :data:`Kind`."""
    named = ((one, "text") if isinstance(one, str) else one for one in titles)
    return tuple(Column.model_validate({"title": title, "kind": kind}) for title, kind in named)


def without(table: Table, gone: Collection[int]) -> Table:
    """A table without the columns at some places."""
    kept = [place for place in range(len(table.columns)) if place not in gone]
    rows = tuple(tuple(row[place] for place in kept) for row in table.rows)
    return table.model_copy(update={"columns": tuple(table.columns[place] for place in kept), "rows": rows})
