"""Words as hashes."""

import numpy as np

from metajudge.exports.words import runs_of, words_of


def words(text):
    found = words_of([text])
    return found.hashes.tolist()


def test_case_and_punctuation_make_no_difference():
    assert words("Hello, World 42!") == words("hello world... 42")
    assert words("hello world") != words("world hello")


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
