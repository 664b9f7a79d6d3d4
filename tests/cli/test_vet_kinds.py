"""``metajudge vet`` without agents on grades, categories and rankings."""

import json

import pytest


def graded(item, judge, verdict, responses=1, **more):
    names = "ABC"[:responses]
    content = {"id": f"i{item}", "question": f"q{item}", "responses": {name: name for name in names}}
    return {"id": f"{item}-{judge}", "judge": judge, "verdict": verdict, "item": content, **more}


CROWD = [graded(item, judge, judge != "z" or item % 3 > 0) for item in range(30) for judge in "uvwxyz"]


@pytest.mark.slow
def test_the_share_of_peers_decides_and_the_headline_gives_its_cut(metajudge):
    """By hand: where all six agree 6/7 of the peers do, where z differs 5/7 for the five others, and 1/7 for z."""
    path = metajudge.folder / "in.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in CROWD))
    summary, _ = metajudge.json("vet", path)
    assert (summary["kept"], summary["discarded"], summary["unscored"]) == (120, 60, 0)
    rule = "by agreement, from a share of 0.75 of the peers on (the default)"
    assert summary["decided_by"] == {rule: 180}
    assert summary["rules"] == {"category": "equal"}
    printed = metajudge("vet", path, "--store", "again.duckdb").stdout
    assert f"Vetted by free evidence alone, uncalibrated; kept {rule}" in printed
    assert "Verdicts that are no pairs kept without labels were right in " in printed
    assert "expected right" not in printed
