"""What an audit says of the independence of judges."""

import numpy as np

from metajudge.audit.report import audit
from metajudge.report.audit.page import card, page
from metajudge.report.audit.published import published
from metajudge.report.audit.terminal import lines
from metajudge.report.markdown import to_markdown
from tests.doubles.dependent_judges import WORTH, judged


def said(found):
    return " ".join(" ".join(line.text for line in lines(published(found))).split())


def test_copies_are_named_with_the_number_that_judges_count_as():
    found = audit(judged(copies=("ant-2", "ant-3"), judges=("ant", "bee", "cat")))
    (group,) = found.independence
    assert [pair.finding for pair in group.pairs] == ["copy"] * 3
    told = said(found)
    assert "comes from 5 judges that count as 2.3 independent ones" in told
    assert "ant and ant-2 gave the same verdict on 100 % of 600 answers to 300 questions" in told
    for report in (page(published(found)), card(published(found))):
        assert "count as 2.3 independent ones" in to_markdown(report)


def test_independent_judges_and_too_few_are_told_apart():
    assert "None of 10 pairs of judges follow each other (choice of 2, 150 questions)." in said(audit(judged(150)))
    assert "It cannot be tested (choice of 2)" in said(audit(judged(150, judges=tuple(WORTH)[:3])))


def test_texts_and_declared_models_are_read():
    meta = {"ant": {"judge_model": "m"}, "ant-2": {"judge_model": "m"}}
    (group,) = audit(judged(copies=("ant-2",), judges=("ant", "bee"), rationale="word", meta=meta)).independence
    (pair,) = group.pairs
    assert (pair.finding, pair.declared, pair.same_texts) == ("copy", True, 1.0)


def test_the_order_of_the_file_plays_no_part():
    given = list(judged(80, copies=("ant-2",), judges=("ant", "bee", "cat", "dog")))
    mixed = [given[at] for at in np.random.default_rng(3).permutation(len(given))]
    one, other = (audit(some).independence[0] for some in (given, mixed))
    assert (one.judges, one.counts_as) == (other.judges, other.counts_as)
