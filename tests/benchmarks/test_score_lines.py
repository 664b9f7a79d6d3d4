import json

from metajudge.benchmarks.score_lines import score_lines

from tests.benchmarks.benches import bench_of, found
from tests.doubles.judgebench import game, pair


def test_score_lines_have_the_documented_fields(small):
    line = json.loads(next(iter(score_lines(bench_of(small), (), None))))
    assert list(line) == [
        "judgment_id", "item_id", "judge", "category", "order", "correct", "final_score", "probability", "accepted",
        "signals",
    ]  # fmt: skip
    assert (line["judgment_id"], line["order"], line["correct"]) == ("p0/owl/AB", "AB", True)
    assert line["probability"] is None
    assert line["signals"]["order"] == {"value": 1.0, "state": "agree"}


def test_ties_and_missing_verdicts_are_counted_and_have_no_line(folder):
    games = [game(0, "AB", "A>B"), game(0, "BA", "A=B", label="B>A"), game(1, "AB", None, judgment_text="")]
    bench = bench_of(folder([pair(0), pair(1)], games))
    (owl,) = found(bench).judges
    assert (owl.judgments, owl.decided, owl.ties, owl.without_verdict) == (3, 1, 1, 1)
    assert len(list(score_lines(bench, (), None))) == 1
