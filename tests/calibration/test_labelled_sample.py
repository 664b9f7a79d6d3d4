"""Labelled judgments by question."""

import numpy as np

from metajudge.calibration.labelled_sample import LabelledSample

SAMPLE = LabelledSample.of([0.9, 0.8, 0.9, 0.1], [True, False, True, True], ["b", "b", "a", "c"])


def test_counts_are_by_question_and_threshold():
    counts = SAMPLE.counts([0.9, 0.5])
    assert SAMPLE.names == ("a", "b", "c")
    assert counts.kept.tolist() == [[1, 1], [1, 2], [0, 0]]
    assert counts.errors.tolist() == [[0, 0], [0, 1], [0, 0]]
    assert (counts.questions, counts.judgments, SAMPLE.most) == (3, 4, 2)


def test_questions_of_earlier_looks_come_first_and_their_order_stays_when_more_are_added():
    early = LabelledSample.of([0.5] * 20, [True] * 20, [f"q{at}" for at in range(20)])
    late = LabelledSample.of([0.5] * 40, [True] * 40, [f"q{at}" for at in range(40)])
    first = early.in_order({}).names
    assert late.in_order({name: 1 if name in first else 2 for name in late.names}).names[:20] == first


def test_questions_set_aside_do_not_depend_on_labels_or_rows():
    names = [f"q{at // 2}" for at in range(80)]
    scores = np.linspace(0, 1, 80)
    kept, reference = LabelledSample.of(scores, [True] * 80, names).set_aside()
    other, _ = LabelledSample.of(scores[::-1], [False] * 80, names[::-1]).set_aside()
    assert kept.names == other.names
    assert (len(kept.names), int(reference.place.max()) + 1) == (34, 6)
