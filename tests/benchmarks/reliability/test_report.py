"""The figures of a panel's reliability in sentences."""

from metajudge.benchmarks.figure import Figure
from metajudge.benchmarks.reliability.report import sentences


def figures(p=0.001, unanimous=85.0, split=60.0):
    def one(value, n, interval=None):
        return Figure(value=value, n=n, interval=interval, definition="d", why=None if value is not None else "none")

    return {
        "run1.concordance": one(76.0, 100, (66.8, 83.3)),
        "unanimity.unanimous": one(unanimous, 60, (73.9, 91.9)),
        "unanimity.split": one(split, 40),
        "unanimity.fisher_p": one(p, 100),
    }


def test_nothing_is_said_for_unanimity_that_the_data_do_not_show():
    assert "do not show" in sentences(figures(p=0.4))[1]
    assert "do not show" in sentences(figures(unanimous=50.0))[1]
    assert len(sentences(figures(split=None))) == 1
    assert sentences({}) == ()
