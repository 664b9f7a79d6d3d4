"""Made verdicts: the same arguments write the same bytes, and the shape is the one asked for."""

from collections import Counter

import orjson
import pytest
from metajudge.benchmarks.perf.made_verdicts import Shape, made_lines

from metajudge.readers import open_judgments


@pytest.mark.slow
def test_the_same_arguments_write_the_same_bytes_and_more_begin_with_them():
    lines = list(made_lines(Shape(45), seed=3))
    assert lines == list(made_lines(Shape(45), seed=3)) == list(made_lines(Shape(60), seed=3))[:45]
    assert lines != list(made_lines(Shape(45), seed=4))


def test_every_judge_judges_each_item_in_both_orders(tmp_path):
    (tmp_path / "made.jsonl").write_bytes(b"".join(made_lines(Shape(60, judges=3, characters=800, labelled=True))))
    found = list(open_judgments([tmp_path / "made.jsonl"], strict=True))
    assert Counter((one.judge, one.order) for one in found) == {
        (f"judge-{judge}", order): 10 for judge in range(3) for order in (("A", "B"), ("B", "A"))
    }
    right = sum(one.correct is True for one in found)
    assert 30 <= right < 60
    texts = [len(one.item.question) + sum(map(len, one.item.responses.values())) + len(one.rationale) for one in found]
    assert 750 < sum(texts) / 60 < 1000


def test_texts_are_escaped_and_beyond_ascii():
    text = b"".join(made_lines(Shape(20)))
    assert all(part in text for part in (b'\\"', b"\\n", "naïve".encode()))
    assert all(orjson.loads(line)["rationale"] for line in text.splitlines())
