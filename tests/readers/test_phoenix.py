"""Phoenix's annotations and spans, as its server and client wrote them."""

from collections.abc import Callable
from pathlib import Path

import pytest

from metajudge.errors import InputError
from metajudge.readers import open_judgments
from metajudge.types import Category, Grade
from tests.doubles.interop_cases import CASES, EXPLANATIONS, JUDGE_MODEL
from tests.readers.interop_files import INTEROP

Write = Callable[..., Path]
WORDS = {True: Category("correct"), False: Category("incorrect")}


@pytest.mark.parametrize("name", ["phoenix", "phoenix-json"])
def test_what_phoenix_wrote_is_read_without_flags(name: str) -> None:
    source = open_judgments([INTEROP / name])
    found = {(one.judge, one.item.question): one for one in source}
    assert source.rejects == 0
    for case in CASES:
        tone = found[f"{JUDGE_MODEL}/tone", case.question]
        assert (tone.verdict, tone.item.responses, tone.item.labels) == (Grade(case.tone), {"A": case.answer}, ())
        assert tone.item.models == {"A": "answerer"}
        judgment = found.get((f"{JUDGE_MODEL}/correctness", case.question))
        assert (judgment is None) == (case.judge is None)
        if judgment is not None and case.judge is not None:
            assert (judgment.verdict, judgment.rationale) == (WORDS[case.judge], EXPLANATIONS[case.judge])
            said = {one.annotator: one.value for one in judgment.item.labels}
            assert said == {person: WORDS[right] for person, right in case.people.items()}
    assert (source.people.count, source.people.matched) == (8, 7)
    assert "no verdict of that name on 0000000000000005" in source.people.unmatched[0]


def test_annotations_or_spans_alone_point_to_the_folder(write: Write) -> None:
    annotation = {"span_id": "s", "name": "n", "annotator_kind": "LLM", "result": {"score": 1}}
    with pytest.raises(InputError, match="but not the spans they are about"):
        open_judgments([write("a/x.jsonl", annotation)])
    with pytest.raises(InputError, match="but not the spans they are about"):
        open_judgments([write("b/x.jsonl", annotation).parent])
    span = {"context": {"span_id": "s"}, "attributes": {"input.value": "?", "output.value": "!"}}
    with pytest.raises(InputError, match="Phoenix spans, but no annotations"):
        open_judgments([write("c/x.jsonl", span)])
