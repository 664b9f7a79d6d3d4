"""What a plan would cost, in lines."""

from types import SimpleNamespace

from metajudge.benchmarks import prices
from metajudge.benchmarks.prices import price_lines


def plan(*names, notes=()):
    rows = [SimpleNamespace(name=name, judge="owl", panel=name) for name in names]
    return SimpleNamespace(rows=rows, notes=notes)


BENCH = SimpleNamespace(decided=lambda: {"owl": []})


def estimate(cost, unpriced=()):
    return SimpleNamespace(
        judgments=4, calls=10, input_tokens=1000, output_tokens=200, cost_usd=cost, unpriced=list(unpriced)
    )


def test_the_sum_is_over_all_configurations_and_an_unknown_price_makes_it_a_lower_bound(monkeypatch):
    known = {"a": estimate(1.25), "b": estimate(None, ["mystery"])}
    monkeypatch.setattr(prices, "estimate_vetting", lambda panel, _judgments: known[panel])
    *rows, note, total, unknown = price_lines(BENCH, plan("a", "b", notes=["a note"]))
    assert [row.split()[-1] for row in rows] == ["$1.25", "unknown"]
    assert note == "Note: a note."
    assert "2 configurations, at most 20 calls, about 2,000 input and 400 output tokens, at least $1.25" in total
    assert "mystery" in unknown


def test_without_agents_nothing_is_paid():
    (line,) = price_lines(BENCH, plan())
    assert "nothing would be asked" in line
