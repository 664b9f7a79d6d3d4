from metajudge.report.tables import table_to_text
from tests.report.reports import table


def test_terminal_tables_carry_no_terminal_codes():
    assert "\x1b" not in table_to_text(table("\x1b[2Jowl\nsecond"))
