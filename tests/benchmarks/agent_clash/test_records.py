import pytest
from metajudge.benchmarks.agent_clash.records import load_study

from metajudge.errors import InputError
from tests.doubles.clash_study import PANEL, lost, row, values, vote, write


def test_choices_are_read_by_the_label_map_not_by_the_label(figures):
    rows = [row(n, "aab", swapped=n % 2 == 0, candidate="b") for n in range(1, 9)]
    found = figures(rows)
    assert found["self.first"].value == 0
    assert found["self.by_model.gpt-4"].value["first"] == 0
    assert found["self.by_model.gpt-4"].value["expected"] == 100
    assert found[f"ablation.mtbench.{PANEL[0]}"].value == 100
    assert found[f"ablation.mtbench.{PANEL[2]}"].value == 0


def test_an_evaluation_published_twice_counts_once(figures):
    rows = [row(1), row(2, "bbb")]
    again = row(1, row_id="again")
    found = figures([*rows, again])
    assert values(found)["exp1.n"] == (2, 2, None)
    later = row(1, "bbb", row_id="later", timestamp_utc="2026-02-14T00:00:00Z")
    assert figures([*rows, later])["exp1.matches"].value == 0
    with_verdict = figures([lost(1, timestamp_utc="2027"), {**row(1), "row_id": "second"}])
    assert (with_verdict["exp1.n"].value, with_verdict["exp1.n_valid"].value) == (1, 1)


def test_two_published_verdicts_between_which_nothing_decides_are_refused_with_their_lines(tmp_path):
    data = write(tmp_path / "data", [row(1), row(2), row(1, "bbb", row_id="other")])
    with pytest.raises(InputError, match=r"lines 1 and 3 .* mtbench run 1 id 1.*published to false"):
        load_study(data)


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        ({"ai_winner": "nobody-13b"}, "ai_winner is 'nobody-13b'"),
        ({"human_winner": "alpaca"}, "human_winner is 'alpaca'"),
        ({"model_b": "gpt-4"}, "both gpt-4"),
        ({"label_map": None}, "no label_map"),
        ({"label_map": {"A0": "gpt-4", "A1": "gpt-4"}}, "one label"),
        ({"judges": [vote(PANEL[0], "A0")] * 2}, "appears twice: acme/judge-a"),
        ({"judges": [{"judge": "x", "role": "jury", "ranking": ["A0"]}]}, "role"),
        ({"experiment": None}, "'experiment' must be a string"),
        ({"cost_usd": "much"}, "cost_usd"),
    ],
)
def test_a_broken_line_is_refused_with_its_number(tmp_path, broken, message):
    data = write(tmp_path / "data", [row(1), {**row(2), **broken}])
    with pytest.raises(InputError, match=message) as caught:
        load_study(data)
    assert "evaluations.jsonl:2" in str(caught.value)
