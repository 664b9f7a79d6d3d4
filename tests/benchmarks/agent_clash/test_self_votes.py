from tests.benchmarks.agent_clash.studies import values
from tests.doubles.clash_study import row


def test_an_unpublished_attempt_counts_for_self_votes_and_positions_alone(figures):
    rows = [row(1, candidate="a"), row(2, candidate="b")]
    extra = row(1, "bbb", candidate="b", published=False, row_id="mtbench-r1-1-unpublished1")
    one, other = figures(rows), figures([*rows, extra])
    changed = {name for name in one if values(one)[name] != values(other)[name]}
    assert {name.partition(".")[0] for name in changed} == {"self", "audit"}
    assert other["self.first"].n == 3
    assert other["self_published.first"].n == 2
    assert other["audit.unpublished_attempts"].value == 1
    never_published = row(7, "bbb", published=False)
    assert figures([*rows, never_published])["exp1.n"].value == 2
    assert figures([*rows, never_published])["exp1.human_winners"].n == 2
