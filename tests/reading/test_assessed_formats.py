"""Formats whose records are runs with what was said of them, in files that the tools wrote or in their published shape."""

import json
from pathlib import Path

import pytest

from metajudge.reading import open_judgments
from metajudge.types import Category, Grade
from tests.doubles.interop_cases import CASES, EXPLANATIONS, JUDGE_MODEL
from tests.reading.conftest import Write
from tests.reading.interop_files import INTEROP

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


def test_suggestions_are_verdicts_and_responses_labels() -> None:
    source = open_judgments([INTEROP / "argilla.json"])
    found = {(one.judge, one.item.question): one for one in source}
    for case in CASES:
        assert found["gpt-4o-mini/tone", case.question].verdict == Grade(case.tone)
        judgment = found.get(("gpt-4o-mini/correctness", case.question))
        if judgment is None:
            assert case.judge is None
            continue
        assert judgment.verdict == Category("yes" if case.judge else "no")
        words = [one.value for one in judgment.item.labels]
        assert words == [Category("yes" if right else "no") for right in case.people.values()]
        assert judgment.item.responses == {"A": case.answer}
    assert (source.people.count, source.people.matched) == (8, 7)


TASKS = INTEROP / "published" / "label-studio.json"
WORDS_OF_LABEL_STUDIO = {True: "correct", False: "wrong"}


def test_predictions_are_verdicts_and_annotations_labels() -> None:
    source = open_judgments([TASKS])
    found = {(one.judge, one.item.question): one for one in source}
    assert (source.formats, source.rejects, source.people.matched) == ({str(TASKS): "Label Studio tasks"}, 0, 7)
    for case in CASES:
        tone = found["gpt-4o-mini/tone", case.question]
        assert (tone.verdict, tone.rationale, tone.item.labels) == (Grade(case.tone), "", ())
        right = found.get(("gpt-4o-mini/correctness", case.question))
        if case.judge is not None:
            assert (right.verdict, right.rationale) == (
                Category(WORDS_OF_LABEL_STUDIO[case.judge]),
                EXPLANATIONS[case.judge],
            )
            said = {one.annotator: one.value for one in right.item.labels}
            people = {"anna": "1", "ben": "2"}
            assert said == {people[who]: Category(WORDS_OF_LABEL_STUDIO[yes]) for who, yes in case.people.items()}
            assert all(one.time is not None for one in right.item.labels)
            assert right.meta["time"] == "2026-11-01T10:00:00+00:00"


(SAMPLES,) = (INTEROP / "lm_eval").iterdir()


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


PAGE = INTEROP / "published" / "openai-evals.json"


def test_each_grader_is_a_judge_with_its_model_and_reason() -> None:
    source = open_judgments([PAGE])
    found = {(one.judge, one.item.question): one for one in source}
    assert (source.formats, source.rejects) == ({str(PAGE): "OpenAI Evals output items"}, 0)
    assert len(found) == 17
    for case in CASES:
        tone = found["gpt-4o-mini/tone", case.question]
        assert (tone.verdict, tone.rationale) == (Grade(case.tone), f"The tone is {case.tone} of 5.")
        assert (tone.item.responses, tone.item.models) == ({"A": case.answer}, {"A": "heron-large"})
        assert tone.meta["time"] == f"2026-11-01T10:00:0{CASES.index(case)}+00:00"
        program = found["same text", case.question]
        assert (program.verdict, program.meta["source"]) == (Category(False), "CODE")
        right = found.get(("gpt-4o-mini/correctness", case.question))
        assert (right is None) == (case.judge is None)
        if right is not None and case.judge is not None:
            assert (right.verdict, right.rationale) == (Category(case.judge), EXPLANATIONS[case.judge])
            assert right.meta["score"] == float(case.judge)
    assert found["same text", CASES[0].question].item.reference == "144"


def test_items_one_a_line_and_as_a_list_are_the_same(write: Write) -> None:
    items = json.loads(PAGE.read_text())["data"]
    for path in (write("items.jsonl", *items), write("items.json", json.dumps(items))):
        assert list(open_judgments([path])) == list(open_judgments([PAGE]))


RAGAS = INTEROP / "ragas"


@pytest.mark.parametrize("name", ["ragas-frame.csv", "ragas-frame.jsonl"])
def test_each_metric_of_a_frame_is_a_verdict(name: str) -> None:
    source = open_judgments([RAGAS / name])
    found = list(source)
    assert (source.formats, source.rejects) == ({str(RAGAS / name): "Ragas scores"}, 0)
    assert [one.judge for one in found[:4]] == ["correctness", "tone", "faithfulness", "exact_match"]
    assert len(found) == 4 * len(CASES)
    assert [one.verdict for one in found[:2]] == [Grade(10), Grade(9)]
    assert all(one.verdict is None and one.no_verdict for one in found if one.judge == "faithfulness")
    item = found[0].item
    assert item.question == f"{CASES[0].question}\n\nRetrieved contexts:\n1. Notes on: {CASES[0].question}\n" + (
        "2. Nothing else was found."
    )
    assert (item.responses, item.reference) == ({"A": "144"}, "144")


def test_the_csv_and_the_jsonl_frame_have_the_same_items() -> None:
    items = [{one.item.id for one in open_judgments([RAGAS / f"ragas-frame.{end}"])} for end in ("csv", "jsonl")]
    assert items[0] == items[1]


def test_a_metric_of_an_experiment_has_its_reason() -> None:
    found = list(open_judgments([RAGAS / "ragas-experiment.csv"]))
    assert {one.judge for one in found} == {"correctness"}
    assert {one.verdict for one in found} == {Category("pass"), Category("fail")}
    assert all(one.rationale.endswith(".") for one in found)


def test_what_people_accepted_or_edited_is_the_label() -> None:
    source = open_judgments([RAGAS / "ragas-annotations.json"])
    found = list(source)
    judged = [case for case in CASES if case.judge is not None]
    assert source.formats == {str(RAGAS / "ragas-annotations.json"): "Ragas annotations"}
    for case, one in zip(judged, found, strict=True):
        assert case.judge is not None
        accepted = all(right == case.judge for right in case.people.values())
        assert (one.verdict, one.rationale) == (Grade(float(case.judge)), EXPLANATIONS[case.judge])
        assert [label.value for label in one.item.labels] == [Grade(float(case.judge == accepted))]


def test_a_mapping_kept_for_the_file_is_used_and_one_of_other_columns_is_not(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write("frame.jsonl", {"user_input": "?", "response": "!", "tone": 1, "fit": 2})
    monkeypatch.chdir(path.parent)
    for column, kind in (("fit", "JSONL, mapped"), ("gone", "Ragas scores")):
        write(
            "metajudge-inputs.toml",
            '[inputs."frame.jsonl".columns]',
            f'verdict = "{column}"\nquestion = "user_input"\n"responses.A" = "response"',
            '[inputs."frame.jsonl".constants]\njudge = "g"',
        )
        assert open_judgments([Path("frame.jsonl")]).formats == {"frame.jsonl": kind}
