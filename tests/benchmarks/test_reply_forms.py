"""What the forms of replies cost and let pass, by scripted models."""

from dataclasses import replace

from metajudge.benchmarks.reply_forms import FORMS, RUBRICS, costs, passed


def test_an_analysis_costs_what_the_dry_run_says_and_a_verdict_alone_costs_less():
    found = {(one.rubric, one.form): one for one in costs()}
    assert len(found) == len(RUBRICS) * len(FORMS)
    short, plain = found["short", "set 2"], found["short", "set 2, no analysis"]
    assert short.with_rationale[1] == 400 + 7 * 40
    assert short.verdict_alone[1] == 400 + 3 * 40
    assert plain.with_rationale[1] == 7 * 60
    assert found["short", "set 2, scores alone"].verdict_alone[1] == 3 * 12
    assert found["binary", "set 2"].with_rationale[1] == 400 + 40
    for rubric in RUBRICS:
        one = found[rubric, "set 2"]
        assert one.verdict_alone[0] < one.with_rationale[0] < found[rubric, "set 1"].with_rationale[0]


async def test_right_verdicts_without_a_rationale_pass_under_the_second_set_alone():
    old = {row.rationale: row for row in await passed("set 1", 60, 1.0, 0)}
    new = {row.rationale: row for row in await passed("set 2", 60, 1.0, 0)}
    assert old[False].right == new[False].right > 0
    assert (old[False].kept_right, new[False].kept_right) == (0, new[False].right)
    assert old[True] == replace(new[True], form="set 1")
    assert new[True].kept_wrong == new[False].kept_wrong == 0
