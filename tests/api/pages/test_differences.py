"""Words that differ between two texts."""

import importlib
import random
import re
import time

import pytest

differences = importlib.import_module("metajudge.api.pages.rendering")


def longest(first, second):
    """The length of a longest common subsequence, by the textbook's table."""
    row = [0] * (len(second) + 1)
    for one in first:
        before = row[:]
        for place, other in enumerate(second):
            row[place + 1] = before[place] + 1 if one == other else max(before[place + 1], row[place])
    return row[-1]


def marked(text):
    return re.findall(r'<mark class="differs">([^<]*)</mark>', str(text))


def test_only_the_words_that_differ_are_marked():
    found = differences.difference("It takes 1 h 25 min.", "It takes about 1 h 65 min.")
    assert marked(found.first) == ["25"]
    assert marked(found.second) == ["about", "65"]
    assert (found.same, found.counts, found.unit) == (6, (7, 8), "words")
    assert "In common: 6 of 7 and 8 words" in found.sentence


@pytest.mark.parametrize("seed", range(30))
def test_as_many_words_are_in_common_as_can_be_in_both_alike(seed):
    rng = random.Random(seed)
    first, second = ([rng.choice("abcd") for _ in range(rng.randrange(0, 40))] for _ in range(2))
    kept, other = differences.in_common(first, second)
    common = [one for one, keep in zip(first, kept, strict=True) if keep]
    assert common == [one for one, keep in zip(second, other, strict=True) if keep]
    assert len(common) == longest(first, second)


def test_texts_cannot_add_markup():
    found = differences.difference("<script>x</script>", "<b>y</b> & <script>")
    assert "<script>" not in str(found.first) + str(found.second)
    assert "&lt;" in found.first


def test_long_texts_are_compared_by_lines_and_longer_ones_not_at_all():
    lines = [f"line {number} {'x ' * 20}" for number in range(differences.LONGEST // 10)]
    changed = ["another line", *lines[1:]]
    found = differences.difference("\n".join(lines), "\n".join(changed))
    assert found.unit == "lines"
    assert (marked(found.first), marked(found.second)) == ([lines[0]], ["another line"])
    assert differences.difference("x\n" * (differences.LONGEST + 1), "y") is None


@pytest.mark.parametrize("words", [["a"], ["a", "b"], [str(number) for number in range(3000)]])
def test_the_time_is_bounded_for_any_text_of_the_longest_length(words):
    rng = random.Random(1)
    first, second = (" ".join(rng.choices(words, k=differences.LONGEST)) for _ in range(2))
    started = time.process_time()
    assert differences.difference(first, second) is not None
    assert time.process_time() - started < 1
