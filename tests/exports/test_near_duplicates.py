"""Words as hashes, and groups of near duplicates against brute force."""

import itertools
import random

import numpy as np
import pytest

from metajudge.exports.near_duplicates import near_groups
from metajudge.exports.words import runs_of, words_of

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
    groups = near_groups([[words_of(texts)]], 0.7, seed)
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
    assert near_groups([[words_of([prompt, prompt]), words_of([one, other])]], 0.7).tolist() == [0, 1]
    assert near_groups([[words_of([prompt, prompt]), words_of([one, one + " indeed"])]], 0.7).tolist() == [0, 0]


def test_a_large_bucket_of_the_same_text_is_one_group():
    texts = ["the very same sentence again and again"] * 500 + ["something else entirely, with other words"]
    groups = near_groups([[words_of(texts)]], 0.7)
    assert set(groups[:500]) == {0}
    assert groups[500] == 500


def test_chunks_make_no_difference():
    texts = texts_with_variants(7)
    whole = near_groups([[words_of(texts)]], 0.7)
    pieces = near_groups(([words_of(texts[start : start + 17])] for start in range(0, len(texts), 17)), 0.7)
    assert whole.tolist() == pieces.tolist()


def test_nothing_to_group():
    assert len(near_groups([], 0.7)) == 0
    assert near_groups([[words_of(["one text only"])]], 0.7).tolist() == [0]


def words(text):
    return words_of([text]).hashes.tolist()


def test_case_and_punctuation_make_no_difference():
    assert words("Hello, World 42!") == words("hello world... 42")
    assert words("hello world") != words("world hello")


def test_the_words_of_every_third_text_are_those_of_these_texts_alone():
    texts = ["a b", "", "語 c", "d", "e\x00f g", "h i", "", "\x00", "j"]
    together = words_of(texts)
    for first in range(3):
        alone, found = words_of(texts[first::3]), together.every(3, first)
        assert (found.hashes.tolist(), found.ends.tolist()) == (alone.hashes.tolist(), alone.ends.tolist())
    assert together.ends.tolist() == [2, 2, 4, 5, 8, 10, 10, 10, 11]


def test_words_of_many_texts_are_those_of_each_alone():
    texts = ["one two three", "", "...", "naïve café", "日本語 text", "a日b", "tail"]
    together = words_of(texts)
    alone = [words(text) for text in texts]
    starts, ends = together.starts, together.ends
    assert [together.hashes[a:b].tolist() for a, b in zip(starts, ends, strict=True)] == alone
    assert [len(one) for one in alone] == [3, 0, 0, 2, 4, 3, 1]


def test_every_cjk_character_is_a_word_so_that_near_texts_stay_near():
    assert words("日本語")[0] == words("日")[0]
    assert len(words("今日は晴れ")) == 5


def test_runs_do_not_cross_from_one_text_to_the_next():
    found = words_of(["a b c", "d e", "f g h i"])
    _, owners = runs_of(found, 3)
    assert owners.tolist() == [0, 2, 2]
    assert len(runs_of(words_of(["a b"]), 3)[0]) == 0


def test_no_texts_at_all():
    assert len(words_of([]).hashes) == 0
    assert words_of(["", ""]).ends.tolist() == [0, 0]


def test_different_words_have_different_hashes():
    distinct = [f"word{number}" for number in range(50_000)]
    assert len(np.unique(words_of(distinct).hashes)) == len(distinct)
