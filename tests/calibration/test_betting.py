"""Bets that may be looked at after any label."""

import numpy as np

from metajudge.calibration.labelled_sample import anytime_p_values


def test_looking_after_every_label_breaks_the_level_no_more_often_than_it_says():
    rng, broken, repetitions = np.random.default_rng(3), 0, 1000
    for _ in range(repetitions):
        kept = rng.integers(1, 4, size=(150, 1))
        errors = kept * (rng.random((150, 1)) < 0.15)  # all of a question or none: exactly the target
        broken += anytime_p_values(errors, kept, 0.85, 3)[0] <= 0.1
    assert broken / repetitions <= 0.1 + 2 * np.sqrt(0.09 / repetitions)


def test_more_labels_never_take_a_rejection_back():
    kept, errors = np.ones((200, 1), int), np.zeros((200, 1), int)
    early = anytime_p_values(errors[:80], kept[:80], 0.9, 1)[0]
    errors[80:] = 1
    assert anytime_p_values(errors, kept, 0.9, 1)[0] <= early < 0.01
