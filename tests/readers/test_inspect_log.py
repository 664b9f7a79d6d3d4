import json
import zipfile
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from metajudge.errors import InputError
from metajudge.readers import Reject, open_judgments
from metajudge.types import Category, Grade
from tests.doubles.interop_cases import CASES, EXPLANATIONS
from tests.readers.interop_files import INTEROP


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


@pytest.mark.parametrize(
    ("value", "verdict"),
    [
        *(("C", Grade(1)), ("P", Grade(0.5)), ("I", Grade(0)), (0.25, Grade(0.25)), (True, Grade(1)), (7, Grade(7))),
        *(("0.5", Grade(0.5)), ("true", Grade(1)), ("False", Grade(0)), ("helpful", Category("helpful"))),
    ],
)
def test_scores_are_grades_of_the_answer(tmp_path: Path, value: Any, verdict: Any) -> None:
    (one,) = open_judgments([write_json(tmp_path / "log.json", sample(value=value))])
    assert one.verdict == verdict
    assert (one.judge, one.id) == ("openai/gpt-4o", "sums/a/1/YjuUYk83/model_graded_qa")
    assert (one.item.question, one.item.responses, one.item.reference) == ("2+2?", {"A": "4"}, "4")
    assert (one.item.models, one.item.category) == ({"A": "mockllm/model"}, "math")
    assert one.instruction == "Does the submission meet the criterion?"


def test_no_answer_and_no_value_are_no_verdicts_never_zero(tmp_path: Path) -> None:
    failed = score(float("nan"), reason="grader_failed")
    path = write_json(tmp_path / "log.json", sample("a", "N"), sample("b") | {"scores": {"model_graded_qa": failed}})
    first, second = open_judgments([path])
    assert (first.verdict, second.verdict) == (None, None)
    assert first.no_verdict == "the scorer said N: no answer, or a refusal"
    assert second.no_verdict == "the scorer gave no value (grader_failed)"


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


def test_what_programs_scored_is_kept_apart(tmp_path: Path) -> None:
    path = write_json(tmp_path / "log.json", sample(match={"value": "I", "answer": "4"}, model_graded_fact=score("I")))
    first, second = open_judgments([path])
    assert first.meta["scores"] == {"match": "I"}
    assert (first.meta.get("judge_model"), second.meta["judge_model"]) == (None, "openai/gpt-4o")
    assert (first.judge, second.judge) == ("openai/gpt-4o", "openai/gpt-4o/model_graded_fact")
    only = write_json(tmp_path / "match.json", sample() | {"scores": {"match": {"value": "C", "answer": "4"}}})
    with pytest.raises(InputError, match=r"contains no score of a model: its scorers are match"):
        open_judgments([only])
    # In a folder of logs it does not stop the others.
    source = open_judgments([tmp_path])
    assert (len(list(source)), source.rejects) == (2, 1)


def test_a_bad_sample_is_a_reject_with_its_number_and_field(tmp_path: Path) -> None:
    odd = sample("b") | {"scores": {"model_graded_qa": score([1, 2])}}
    path = write_json(tmp_path / "log.json", sample("a"), odd, {"scores": {"model_graded_qa": score("C")}})
    found = list(open_judgments([path]).scan())
    assert [str(one) for one in found if isinstance(one, Reject)] == [
        f"{path}:2: scores.model_graded_qa: the value '[1, 2]' is none of C, P, I or a number",
        f"{path}:3: scores.model_graded_qa: not the shape of an Inspect sample (KeyError('id'))",
    ]
    assert len(found) == 3


def test_a_damaged_member_does_not_take_the_others_with_it(tmp_path: Path) -> None:
    path = write_eval(tmp_path / "log.eval", sample("a"), sample("b"))
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("samples/c_epoch_1.json", "{half")
    found = list(open_judgments([path]).scan())
    (reject,) = (one for one in found if isinstance(one, Reject))
    assert "samples/c_epoch_1.json is no valid JSON" in reject.reason
    assert len(found) == 3


def test_a_log_in_one_line_longer_than_any_record_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("metajudge.readers.lines.MAX_LINE_BYTES", 1000)
    path = write_json(tmp_path / "log.json", *(sample(number) for number in range(20)))
    assert len(list(open_judgments([path]))) == 20


def test_a_chat_is_the_question_and_several_targets_the_reference(tmp_path: Path) -> None:
    chat = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": [{"type": "text", "text": "2+2?"}]}]
    path = write_json(tmp_path / "log.json", sample() | {"input": chat, "target": ["4", "four"]})
    (one,) = open_judgments([path])
    assert one.item.question.startswith("system: Be brief.\n\nuser: ")
    assert "2+2?" in one.item.question
    assert one.item.reference == "4\nfour"


def test_nothing_as_text_is_no_verdict_and_an_infinite_number_a_reject(tmp_path: Path) -> None:
    path = write_json(tmp_path / "log.json", sample("a", "nan"), sample("b", float("inf")))
    first, second = open_judgments([path]).scan()
    assert (first.verdict, first.no_verdict) == (None, "the scorer gave no value")
    assert "scores.model_graded_qa: 'value' is infinite" in str(second)


def test_a_score_with_several_values_is_a_verdict_each_on_items_apart(tmp_path: Path) -> None:
    path = write_json(tmp_path / "log.json", sample(value={"right": "C", "tone": 4}))
    right, tone = open_judgments([path])
    assert (right.verdict, tone.verdict) == (Grade(1), Grade(4))
    assert right.id.endswith("/model_graded_qa/right")
    assert right.item.id != tone.item.id


def test_a_panel_is_a_verdict_of_each_of_its_models(tmp_path: Path) -> None:
    failures = [{"index": 1, "reason": "grader_failed", "explanation": "?"}]
    paneled = score("C", explanation=None)
    paneled["metadata"]["panel"] = {"votes": ["C", None, "I"], "size": 3, "failures": failures}
    head = HEAD | {"eval": HEAD["eval"] | {"scorers": [_scorer("vendor/openai/gpt-4o", "vendor/b", "other/c")]}}
    path = tmp_path / "log.json"
    path.write_text(json.dumps(head | {"samples": [sample() | {"scores": {"model_graded_qa": paneled}}]}))
    first, second, third = open_judgments([path])
    assert [one.judge for one in (first, second, third)] == ["openai/gpt-4o", "b", "other/c"]
    assert [one.verdict for one in (first, second, third)] == [Grade(1), None, Grade(0)]
    assert second.no_verdict == "the scorer gave no value (grader_failed)"
    assert (first.rationale, third.rationale) == ("It is.\nGRADE: C", "")
    assert len({one.id for one in (first, second, third)}) == 3
    assert len({one.item.id for one in (first, second, third)}) == 1


def _scorer(*models: str) -> dict[str, Any]:
    return {"name": "model_graded_qa", "options": {"model": list(models)}, "metrics": []}


def test_what_a_person_changed_is_a_label_and_the_score_as_it_was_the_verdict(tmp_path: Path) -> None:
    by = {"author": "anna", "timestamp": "2026-11-02T10:00:00Z"}
    edited = score("I")
    edited["history"] = [
        {"value": "C", "explanation": "It is.", "metadata": edited["metadata"]},
        {"value": "P", "explanation": "UNCHANGED", "provenance": by},
        {"value": "I", "explanation": "UNCHANGED", "provenance": by},
    ]
    added = {"value": "C", "history": [{"value": "C", "provenance": by}]}
    path = write_json(tmp_path / "log.json", sample() | {"scores": {"model_graded_qa": edited, "expert": added}})
    source = open_judgments([path])
    (one,) = source
    assert (one.verdict, one.rationale) == (Grade(1), "It is.")
    assert [(label.value, label.annotator, str(label.time)) for label in one.item.labels] == [
        (Grade(0), "anna", "2026-11-02 10:00:00+00:00")
    ]
    assert (source.people.count, source.people.matched) == (2, 1)


def test_scores_that_answer_different_instructions_are_items_apart(tmp_path: Path) -> None:
    other = score("C")
    other["metadata"] = {"grading": [{"role": "user", "content": "[END DATA]\n\nIs it polite?"}]}
    first, again, polite = open_judgments(
        [write_json(tmp_path / "log.json", sample(model_graded_qa1=score("I"), manners=other))]
    )
    assert first.item.id == again.item.id
    assert polite.item.id != first.item.id


def test_one_answer_in_two_epochs_is_one_item(tmp_path: Path) -> None:
    first, second = open_judgments([write_json(tmp_path / "log.json", sample(), sample() | {"epoch": 2})])
    assert first.item.id == second.item.id
    assert first.id != second.id


def test_the_one_score_of_the_first_logs(tmp_path: Path) -> None:
    old = {key: value for key, value in sample().items() if key != "scores"} | {"score": score("C")}
    path = tmp_path / "log.json"
    path.write_text(json.dumps(HEAD | {"version": 1, "results": {"scorer": {"name": "closedqa"}}, "samples": [old]}))
    (one,) = open_judgments([path])
    assert (one.judge, one.verdict) == ("openai/gpt-4o/closedqa", Grade(1))


@pytest.mark.parametrize(
    ("head", "samples", "said"),
    [
        ({"status": "error"}, [], "the status 'error' and no samples"),
        ({"status": "cancelled"}, [], "the status 'cancelled' and no samples"),
        ({"status": "success"}, [], "has no samples: it was written without them"),
        ({}, [sample() | {"scores": None}], "are not scored: `inspect score LOG`"),
        (
            {},
            [sample() | {"scores": {}, "error": {"message": "ValueError('sk-secret')"}}],
            r"was scored \(ValueError\)",
        ),
    ],
)
def test_a_log_without_verdicts_says_why(tmp_path: Path, head: Any, samples: list[Any], said: str) -> None:
    path = tmp_path / "log.json"
    path.write_text(json.dumps(HEAD | head | {"samples": samples}))
    with pytest.raises(InputError, match=said) as error:
        open_judgments([path])
    assert "sk-secret" not in str(error.value)


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
