"""The table of counts: how many judgments stand in each row, and how many of them are right."""

from collections.abc import Mapping

from metajudge.evidence.counting import WORDS, Counted
from metajudge.report.document import Absent, Column, Measured, Table

_NONE = Absent(absent="none of them is compared with a label")


def counts_table(caption: str, rows: Mapping[str, Counted], notes: tuple[str, ...] = ()) -> Table:
    """The rows with judgments in them."""
    names = ("Number", "Compared with a label", "Right")
    columns = (Column(title="Judgments"), *(Column(title=name, kind="count") for name in names))
    cells = [
        (
            *(WORDS[name], row.n, row.compared, row.right),
            _NONE if row.share is None else Measured(value=row.share.estimate, low=row.share.low, high=row.share.high),
        )
        for name, row in rows.items()
        if row.n
    ]
    return Table(
        caption=caption, columns=(*columns, Column(title="Right %", kind="percent")), rows=tuple(cells), notes=notes
    )
