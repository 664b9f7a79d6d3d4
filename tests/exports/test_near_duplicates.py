"""Groups of near duplicates against brute force."""

import itertools
import random

import numpy as np
import pytest

from metajudge.exports.near_duplicates import near_groups

VOCABULARY = [f"w{number}" for number in range(3_000)]


def features(text):
    words = text.lower().split()
    return set(words) | set(itertools.pairwise(words))


def jaccard(one, other):
    a, b = features(one), features(other)
    return len(a & b) / len(a | b) if a | b else 1.0


def texts_with_variants(seed):
    rng = random.Random(seed)
    texts = [" ".join(rng.choices(VOCABULARY, k=25)) for _ in range(150)]
    for text in texts[:60]:
        words = text.split()
        for place in rng.sample(range(25), rng.randint(1, 6)):
            words[place] = rng.choice(VOCABULARY)
        texts.append(" ".join(words))
    return texts


@pytest.mark.parametrize("seed", range(3))
def test_what_is_grouped_is_near_and_what_is_near_is_grouped(seed):
    texts = texts_with_variants(seed)
    groups = near_groups([[texts]], 0.7, seed)
    near = [(a, b) for a in range(len(texts)) for b in range(a + 1, len(texts)) if jaccard(texts[a], texts[b]) >= 0.7]
    assert len(near) > 10
    assert all(groups[a] == groups[b] for a, b in near)
    joined = {tuple(np.flatnonzero(groups == root)) for root in set(groups) if (groups == root).sum() == 2}
    assert joined <= set(near), "a pair that is not near was joined: the exact check is missing"


def test_all_fields_must_be_near_so_that_one_prompt_keeps_its_different_answers():
    prompt = "explain in simple words why the sky looks blue at noon and red at dusk"
    one, other = (
        "because air scatters short waves much more than long ones",
        "angels paint it anew every single morning",
    )
    assert near_groups([[[prompt, prompt], [one, other]]], 0.7).tolist() == [0, 1]
    assert near_groups([[[prompt, prompt], [one, one + " indeed"]]], 0.7).tolist() == [0, 0]


def test_a_large_bucket_of_the_same_text_is_one_group():
    texts = ["the very same sentence again and again"] * 500 + ["something else entirely, with other words"]
    groups = near_groups([[texts]], 0.7)
    assert set(groups[:500]) == {0}
    assert groups[500] == 500


def test_chunks_make_no_difference():
    texts = texts_with_variants(7)
    whole = near_groups([[texts]], 0.7)
    pieces = near_groups(([texts[start : start + 17]] for start in range(0, len(texts), 17)), 0.7)
    assert whole.tolist() == pieces.tolist()


def test_nothing_to_group():
    assert len(near_groups([], 0.7)) == 0
    assert near_groups([[["one text only"]]], 0.7).tolist() == [0]
