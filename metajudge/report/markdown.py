"""A report as Markdown (tables as in GitHub's dialect); charts become the tables they are drawn from."""

import re

from metajudge.report.document import Block, Exhibit, Fold, Listing, Passage, Report, Table
from metajudge.report.tables import one_line, table_of, written_rows

_SPECIAL = re.compile(r"([\\`*_\[\]<>|#&$~])")


def to_markdown(report: Report) -> str:
    """The whole report, ending with a line feed."""
    parts = [f"# {escaped(report.title)}", *map(escaped, report.summary)]
    for section in report.sections:
        parts += [f"## {escaped(section.title)}", *map(escaped, section.paragraphs), *map(_block, section.blocks)]
    if report.provenance:
        parts.append("## Provenance")
        parts.append("\n".join(f"- {escaped(name)}: {escaped(value)}" for name, value in report.provenance.items()))
    return "\n\n".join(parts) + "\n"


def table_to_markdown(table: Table) -> str:
    """Caption, table, notes and the reasons for figures that are absent."""
    rows, marks = written_rows(table)
    rule = ["---" if column.kind == "text" else "---:" for column in table.columns]
    lines = [_line(rows[0]), "| " + " | ".join(rule) + " |", *map(_line, rows[1:])]
    notes = [f"{column.title}: {column.note}." for column in table.columns if column.note]
    notes += [*table.notes, *(f"{mark} {reason}" for reason, mark in marks.items())]
    parts = [f"**{escaped(table.caption)}**", "\n".join(lines), *map(escaped, notes)]
    return "\n\n".join(parts)


def escaped(text: str) -> str:
    """Text that Markdown shows as it is: one line, nothing of it markup."""
    return _SPECIAL.sub(r"\\\1", one_line(text))


def _block(block: Block) -> str:
    match block:
        case Fold():
            said, shown = block.paragraphs, block.blocks
        case Exhibit():
            said = tuple(one for one in (block.status, *block.lines) if one)
            shown = (*block.above, *block.beside, *block.below)
        case Listing():  # a fenced block; the fence is longer than any in its lines
            lines = [one_line(line) for line in block.lines]
            fence = "`" * max(3, *(len(run) + 1 for line in lines for run in re.findall("`+", line)), 3)
            return "\n".join([f"**{escaped(block.caption)}**\n", fence, *lines, fence])
        case _:
            return table_to_markdown(table_of(block))
    parts = [_passage(one) if isinstance(one, Passage) else table_to_markdown(one) for one in shown]
    return "\n\n".join([f"### {escaped(block.title)}", *map(escaped, said), *parts])


def _passage(passage: Passage) -> str:
    """A quotation: every line escaped, so that nothing of it is markup."""
    quoted = "\n>\n".join(f"> {escaped(line)}".rstrip() for line in passage.text.splitlines()) or ">"
    return f"**{escaped(passage.title)}**\n\n{quoted}"


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(map(escaped, cells)) + " |"
