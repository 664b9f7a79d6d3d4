"""Tables for a terminal: aligned columns, no markup."""

from metajudge.report.document import Absent, Cell, Kind, Table
from metajudge.report.tables import cell_text, one_line, reasons


def table_to_text(table: Table) -> str:
    """Caption, aligned columns, notes; figures to the right, words to the left."""
    why = {reason: number for number, reason in enumerate(reasons(table), start=1)}
    written = [[one_line(column.title) for column in table.columns]]
    for row in table.rows:
        cells = zip(row, table.columns, strict=True)
        written.append([_cell(cell, column.kind, why) for cell, column in cells])
    widths = [max(len(line[place]) for line in written) for place in range(len(table.columns))]
    lines = [one_line(table.caption)]
    for texts in written:
        aligned = [
            text.ljust(width) if column.kind == "text" else text.rjust(width)
            for text, width, column in zip(texts, widths, table.columns, strict=True)
        ]
        lines.append("  " + "  ".join(aligned).rstrip())
    lines += [f"  {one_line(note)}" for note in table.notes]
    lines += [f"  [{number}] {one_line(reason)}" for reason, number in why.items()]
    return "\n".join(lines)


def _cell(cell: Cell, kind: Kind, why: dict[str, int]) -> str:
    text = one_line(cell_text(cell, kind))
    return f"{text} [{why[cell.absent]}]" if isinstance(cell, Absent) else text
