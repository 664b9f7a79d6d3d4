import pytest

from metajudge.audit.peers import build_peers
from metajudge.audit.report import CeilingTable
from metajudge.audit.view import view_of
from tests.audit.records import single, table_of


def people_and_judge(verdict):
    """On every item two say pass, and one says fail on every second."""
    judgments = [
        single(f"i{at}", "j", verdict(at), labels=["pass", "pass", "fail" if at % 2 else "pass"]) for at in range(40)
    ]
    table = table_of(judgments)
    return CeilingTable(table), view_of(table, build_peers(table), 0)


def test_the_ceiling_is_the_agreement_of_people_left_out():
    found, _ = people_and_judge(lambda at: "pass")
    # where all agree 3 of 3; else the two who pass face an undecided rest, and the third is wrong
    assert found.ceiling.agreement.n == 20 * 3 + 20 * 1
    assert found.ceiling.agreement.estimate == pytest.approx(60 / 80)
    assert found.ceiling.annotators == 3


def test_the_gap_compares_the_judge_with_the_person_left_out():
    table, view = people_and_judge(lambda at: "pass")
    # on contested items the judge agrees with the majority, the person left out does not
    assert table.gap(view).estimate == pytest.approx(0.5)
    table, view = people_and_judge(lambda at: "fail")
    assert table.gap(view).estimate == pytest.approx(-0.5)


def test_one_person_makes_no_ceiling():
    table = table_of([single("i", "j", "pass", labels=["pass"])])
    found = CeilingTable(table)
    assert found.ceiling is None
    assert found.gap(view_of(table, build_peers(table), 0)) is None
