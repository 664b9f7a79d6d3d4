"""Tables for a terminal: aligned columns, no markup."""

from metajudge.report.document import Absent, Cell, Kind, Table
from metajudge.report.tables import cell_text, reasons


def table_to_text(table: Table) -> str:
    """Caption, aligned columns, notes; figures to the right, words to the left."""
    why = {reason: number for number, reason in enumerate(reasons(table), start=1)}
    written = [[_one_line(column.title) for column in table.columns]]
    for row in table.rows:
        cells = zip(row, table.columns, strict=True)
        written.append([_cell(cell, column.kind, why) for cell, column in cells])
    widths = [max(len(line[place]) for line in written) for place in range(len(table.columns))]
    lines = [table.caption]
    for texts in written:
        aligned = [
            text.ljust(width) if column.kind == "text" else text.rjust(width)
            for text, width, column in zip(texts, widths, table.columns, strict=True)
        ]
        lines.append("  " + "  ".join(aligned).rstrip())
    lines += [f"  {note}" for note in table.notes]
    lines += [f"  [{number}] {reason}" for reason, number in why.items()]
    return "\n".join(lines)


def _cell(cell: Cell, kind: Kind, why: dict[str, int]) -> str:
    text = _one_line(cell_text(cell, kind))
    return f"{text} [{why[cell.absent]}]" if isinstance(cell, Absent) else text


def _one_line(text: str) -> str:
    """No line breaks and no terminal codes, whatever a judge is called."""
    return "".join(letter if letter.isprintable() else " " for letter in text)
