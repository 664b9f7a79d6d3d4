"""lm-evaluation-harness' samples, as lm_eval wrote them with a task that asks a judge."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from metajudge.readers import Reject, open_judgments
from metajudge.types import Category, Grade
from tests.doubles.interop_cases import CASES
from tests.readers.interop_files import INTEROP

Write = Callable[..., Path]
(SAMPLES,) = (INTEROP / "lm_eval").iterdir()


def sample(**more: Any) -> dict[str, Any]:
    return {
        "doc_id": 1,
        "doc": {"subject": "maths"},
        "target": "4",
        "arguments": {"gen_args_0": {"arg_0": "2+2?", "arg_1": {}}},
        "resps": [["4."]],
        "filtered_resps": ["4"],
        "filter": "strict",
    } | more


def test_each_metric_of_a_sample_is_a_verdict_on_the_answer() -> None:
    source = open_judgments([SAMPLES])
    found = list(source)
    assert (source.formats, source.rejects) == ({str(SAMPLES): "lm-evaluation-harness samples"}, 0)
    assert [one.judge for one in found] == ["exact_match", "judge_score", "gpt-4o-mini/tone"] * len(CASES)
    assert [one.meta.get("source") for one in found[:3]] == ["CODE", None, None]
    for case, one in zip(CASES, found[1::3], strict=True):
        assert one.item.question == f"Question: {case.question}\nAnswer:"
        assert one.item.reference == case.answer
        assert one.rationale
        assert isinstance(one.verdict, Grade)
    assert "2026-11-23T07-53-27" in found[0].id
    assert found[2].rationale
    assert found[2].verdict == Grade(3)


def test_the_filtered_answer_and_the_category_are_read(write: Write) -> None:
    (one,) = open_judgments([write("samples_t.jsonl", sample(metrics=["helpful"], helpful="yes"))])
    assert (one.item.responses, one.item.category, one.meta["filter"]) == ({"A": "4"}, "maths", "strict")
    assert one.verdict == Category("yes")


def test_answers_of_two_models_to_one_document_are_two_items(write: Write) -> None:
    first = write("samples_a.jsonl", sample(ok=1))
    second = write("samples_b.jsonl", sample(ok=0, resps=[["5"]], filtered_resps=["5"]))
    source = open_judgments([first, second])
    assert len({one.item.id for one in source}) == 2
    assert source.rejects == 0


def test_answers_scored_together_are_a_reject(write: Write) -> None:
    good, together = sample(ok=1), sample(doc_id=2, ok=1, filtered_resps=[["4", "5"]])
    found = list(open_judgments([write("samples_t.jsonl", good, together)]).scan())
    assert isinstance(found[1], Reject)
    assert found[1].reason == "filtered_resps: 2 answers were scored together, so no score is about one of them"
