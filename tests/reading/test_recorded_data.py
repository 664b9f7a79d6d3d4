"""Reads the recorded benchmark data, where METAJUDGE_DATA names its folder, and compares with published counts."""

import os
from collections import Counter
from pathlib import Path

import pytest

from metajudge.reading import JudgmentSource, open_judgments

DATA = os.environ.get("METAJUDGE_DATA")
pytestmark = pytest.mark.skipif(DATA is None, reason="METAJUDGE_DATA does not name the folder of recorded data")


def recorded(name: str) -> JudgmentSource:
    return open_judgments([Path(DATA or "") / name], strict=True)


@pytest.mark.slow
def test_llmbar_is_read_whole() -> None:
    source = recorded("llmbar")
    texts: Counter[bool] = Counter()
    for judgment in source:
        text = judgment.meta.get("text_verdict")
        if text is not None and judgment.verdict is not None:
            texts[text == str(judgment.verdict)] += 1
    assert (source.judgments, source.rejects, source.duplicates) == (69_509, 0, 0)
    # The published parser contradicts the text in so many of the rows kept.
    assert texts == {True: 23_941, False: 200}
