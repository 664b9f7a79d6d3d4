import json
import zipfile
from datetime import datetime
from pathlib import Path
from typing import Any

from metajudge.reading import Reject, open_judgments
from metajudge.types import Grade
from tests.doubles.interop_cases import CASES, EXPLANATIONS
from tests.reading.interop_files import INTEROP


def score(value: Any, **changes: Any) -> dict[str, Any]:
    """A score as ``model_graded_qa`` leaves it."""
    asked = "[BEGIN DATA]\n[Task]: 2+2?\n[END DATA]\n\nDoes the submission meet the criterion?\n"
    grading = [
        {"role": "user", "content": asked},
        {"role": "assistant", "content": f"It is.\nGRADE: {value}", "model": "openai/gpt-4o", "source": "generate"},
    ]
    entry = {"value": value, "answer": "4", "explanation": f"It is.\nGRADE: {value}", "metadata": {"grading": grading}}
    return {**entry, "history": [], **changes}


def sample(id: Any = "a", value: Any = "C", **scores: Any) -> dict[str, Any]:
    return {
        "id": id,
        "epoch": 1,
        "input": "2+2?",
        "target": "4",
        "output": {"model": "m", "choices": [], "completion": "4"},
        "scores": {"model_graded_qa": score(value), **scores},
        "metadata": {"category": "math"},
        "messages": [],
        "events": [],
    }


HEAD: dict[str, Any] = {
    "version": 2,
    "status": "success",
    "eval": {"task": "sums", "run_id": "YjuUYk83gNdWiNLNctMBxU", "model": "mockllm/model", "created": "2026-11-21"},
    "plan": {},
    "results": {},
}


def write_json(path: Path, *samples: Any) -> Path:
    path.write_text(json.dumps(HEAD | {"samples": list(samples)}))
    return path


def write_eval(path: Path, *samples: dict[str, Any], header: str = "header.json") -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(header, json.dumps(HEAD))
        archive.writestr("summaries.json", "[]")
        for one in samples:
            archive.writestr(f"samples/{one['id']}_epoch_1.json", json.dumps(one))
    return path


def test_both_formats_give_the_same_records(tmp_path: Path) -> None:
    samples = [sample("a"), sample("b", "I")]
    files = [write_eval(tmp_path / "log.eval", *samples), write_json(tmp_path / "log.json", *samples)]
    source = open_judgments(files)
    assert len(list(source)) == 2
    assert (source.duplicates, source.rejects) == (2, 0)
    assert set(source.formats.values()) == {"Inspect log"}


def test_a_log_that_was_cut_off_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    path = write_eval(tmp_path / "log.eval", sample(), header="_journal/start.json")
    assert len(list(open_judgments([path]))) == 1


def test_a_damaged_member_does_not_take_the_others_with_it(tmp_path: Path) -> None:
    path = write_eval(tmp_path / "log.eval", sample("a"), sample("b"))
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("samples/c_epoch_1.json", "{half")
    found = list(open_judgments([path]).scan())
    (reject,) = (one for one in found if isinstance(one, Reject))
    assert "samples/c_epoch_1.json is no valid JSON" in reject.reason
    assert len(found) == 3


def test_what_inspect_wrote_is_read_without_flags_and_counts_once() -> None:
    source = open_judgments([INTEROP / "inspect"])
    found = list(source)
    assert (len(found), source.duplicates, source.rejects) == (18, 18, 1)
    told = {case.question: case for case in CASES}
    for one in found:
        case = told[one.item.question]
        assert one.item.responses == {"A": case.answer}
        assert one.judge in ("gpt-4o-mini", "gpt-4o-mini/model_graded_fact", "second/model_graded_fact")
        assert one.verdict == (None if case.judge is None else Grade(float(case.judge)))
        assert datetime.fromisoformat(one.meta["time"]).year == 2026
        if case.judge is not None:
            assert one.rationale.startswith(EXPLANATIONS[case.judge])
    (labelled,) = (one for one in found if one.item.labels)
    assert (labelled.judge, labelled.verdict) == ("gpt-4o-mini", Grade(1))
    assert [(label.value, label.annotator) for label in labelled.item.labels] == [(Grade(0), "anna")]
