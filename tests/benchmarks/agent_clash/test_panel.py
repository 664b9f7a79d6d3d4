from tests.doubles.clash_study import PANEL, row, vote


def test_a_lost_judge_makes_no_panel_unanimous(figures):
    found = figures([row(1, "aa-"), row(2, "ab-"), row(3, "aaa"), row(4, "aab"), row(5, "b--")])
    assert found["unanimity.unanimous"].n == 1
    assert found["unanimity.split"].n == 1
    assert "3 rows that lack a panel judge" in found["unanimity.unanimous"].why
    # two of three decide, one of two does not
    assert found["ablation.panel"].n == 3
    assert "2 more rows have no majority" in found["ablation.panel"].why
    assert found["audit.fewer_than_panel"].value == 3
    assert found[f"ablation.mtbench.{PANEL[2]}"].n == 2


def test_ties_of_the_weighted_score_are_found_and_candidates_votes_counted(figures):
    # panel 2-1 is 4 against 2; two candidate votes for the other side make it even
    both = [vote("openai/gpt-4", "A1", "candidate"), vote("anthropic/claude-v1", "A1", "candidate")]
    tied = row(1, "aab")
    tied["judges"] = both + tied["judges"]
    found = figures([tied, row(2, "aab", candidate="a"), row(3)])
    assert found["audit.ties"].value == 1
    assert "mtbench-r1-1" in found["audit.ties"].why
    assert found["audit.candidate_votes"].value == 2
