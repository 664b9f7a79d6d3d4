"""Faults in files of other tools, the same ones in every format: each a clear sentence, and the rest is read."""

import json
import math
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from metajudge.errors import InputError
from metajudge.reading import JudgmentSource, Reject, open_judgments
from metajudge.types import Category, Grade, Judgment
from tests.reading.interop_files import INTEROP

KEY = "sk-proj-" + "a1B2c3D4" * 4
LM_EVAL = "lm_eval/samples_judged_2026-11-23T07-53-27.780133.jsonl"
Place = tuple[str | int, ...]


@dataclass(frozen=True)
class Export:
    """A file that a tool wrote (or that has its published shape), and where one verdict in it stands.

    Attributes:
        score: path to a judge's score; it begins with the number of the record where the file has several.
        reason: path to what the judge said about it.
        folder: the file is read with what stands beside it.
        words: the score is a mark or a ranking, not a number.
    """

    file: str
    score: Place
    reason: Place | None = None
    folder: bool = False
    words: bool = False

    def written(self, folder: Path, change: Callable[[Any], None]) -> Path:
        """The export with a change, below a folder."""
        source = INTEROP / self.file
        home = folder / source.parent.name
        shutil.copytree(source.parent, home) if self.folder else home.mkdir(parents=True)
        lines = source.suffix == ".jsonl"
        text = source.read_text()
        data = [json.loads(line) for line in text.splitlines()] if lines else json.loads(text)
        if source.parent.name == "langfuse":
            data[0] |= {"data_type": "NUMERIC", "stringValue": None}
        change(data)
        path = home / source.name
        path.write_text("".join(json.dumps(one) + "\n" for one in data) if lines else json.dumps(data))
        return home if self.folder else path


_MLFLOW: Place = (1, "info", "assessments", 1)
_OPENAI: Place = ("data", 0, "results", 0)
EXPORTS = {
    "alpaca_eval": Export("alpaca_eval/alpaca-reasons.json", (0, "preference"), (0, "preference_raw_completion")),
    "arena_hard": Export("published/arena-hard.jsonl", (0, "games", 0, "score"), None, words=True),
    "argilla": Export("argilla.json", (0, "suggestions", "tone", "value")),
    "datasets": Export("datasets/datasets.jsonl", (0, "verdict"), (0, "rationale"), words=True),
    "fastchat_pair": Export("fastchat/gpt-4_pair.jsonl", (0, "g1_winner"), (0, "g1_judgment"), words=True),
    "fastchat_single": Export("fastchat/gpt-4_single.jsonl", (0, "score"), (0, "judgment")),
    "label_studio": Export("published/label-studio.json", (0, "predictions", 0, "result", 2, "value", "rating")),
    "langfuse": Export("langfuse/scores.jsonl", (0, "value"), (0, "comment"), folder=True),
    "langsmith": Export("langsmith/feedback.jsonl", (0, "score"), (0, "comment"), folder=True),
    "lm_eval": Export(LM_EVAL, (0, "judge_score"), (0, "judge_reason")),
    "mlflow": Export("mlflow-traces.jsonl", (*_MLFLOW, "feedback", "value"), (*_MLFLOW, "rationale")),
    "openai_evals": Export("published/openai-evals.json", (*_OPENAI, "score"), (*_OPENAI, "sample", "output")),
    "phoenix": Export("phoenix-json/annotations.jsonl", (0, "result", "score"), (0, "result", "explanation"), True),
    "ragas": Export("ragas/ragas-frame.jsonl", (0, "correctness")),
    "ragas_annotations": Export("ragas/ragas-annotations.json", ("correctness", 0, "metric_output")),
    "rewardbench2": Export("published/rewardbench2-results.json", ("scores", 0, 0), words=True),
}
every = pytest.mark.parametrize("name", EXPORTS)
objects = pytest.mark.parametrize("name", [name for name in EXPORTS if name != "ragas"])
"""Formats in which a further field says nothing: in a frame it is a further metric."""
lines = pytest.mark.parametrize("name", [name for name, export in EXPORTS.items() if export.file.endswith(".jsonl")])


def put(place: Place, value: Any) -> Callable[[Any], None]:
    def change(data: Any) -> None:
        for key in place[:-1]:
            data = data[key]
        data[place[-1]] = value

    return change


def read(path: Path) -> tuple[JudgmentSource, list[Judgment], list[Reject]]:
    source = open_judgments([path])
    found = list(source.scan())
    judgments = [one for one in found if isinstance(one, Judgment)]
    return source, judgments, [one for one in found if isinstance(one, Reject)]


@cache
def whole(name: str) -> list[Judgment]:
    """What is read of an export as it is."""
    with TemporaryDirectory() as folder:
        _, judgments, rejects = read(EXPORTS[name].written(Path(folder), lambda _: None))
    assert rejects == []
    return judgments


def verdicts(judgments: list[Judgment]) -> int:
    return sum(one.verdict is not None for one in judgments)


@every
def test_nan_is_no_verdict_and_the_rest_is_read(name: str, tmp_path: Path) -> None:
    before = whole(name)
    export = EXPORTS[name]
    _, after, rejects = read(export.written(tmp_path, put(export.score, math.nan)))
    if name == "rewardbench2":  # one score of four: without it nothing is known of their order
        assert ["missing or infinite" in one.reason for one in rejects] == [True]
    elif name == "argilla":  # a suggestion without a value is none
        assert (len(after), rejects) == (len(before) - 1, [])
    else:
        assert (len(after), rejects) == (len(before), [])
    assert verdicts(after) == verdicts(before) - 1
    assert all(one.no_verdict for one in after if one.verdict is None)


@every
@pytest.mark.parametrize("value", [math.inf, "-Infinity"])
def test_an_infinite_score_is_told_and_the_rest_is_read(name: str, value: Any, tmp_path: Path) -> None:
    before = whole(name)
    export = EXPORTS[name]
    _, after, rejects = read(export.written(tmp_path, put(export.score, value)))
    assert len(after) + len(rejects) == len(before)
    assert verdicts(after) == verdicts(before) - 1
    told = [one.reason for one in rejects] + [one.no_verdict or "" for one in after]
    assert any("inf" in one.casefold() or "no verdict" in one or "no number" in one for one in told)


@pytest.mark.parametrize("name", [name for name, export in EXPORTS.items() if export.reason])
@pytest.mark.parametrize("reason", [{"text": "Because of this."}, ["Because of this."], {"why": "Because of this."}])
def test_a_rationale_of_any_type_is_text(name: str, reason: Any, tmp_path: Path) -> None:
    before = whole(name)
    export = EXPORTS[name]
    assert export.reason is not None
    _, after, rejects = read(export.written(tmp_path, put(export.reason, reason)))
    assert (len(after), rejects) == (len(before), [])
    said = [one.rationale for one in after if "Because of this." in one.rationale]
    assert len(said) == 1
    assert "Because" not in said[0].partition("Because of this.")[2]


@objects
def test_fields_of_a_newer_version_change_nothing(name: str, tmp_path: Path) -> None:
    def newer(data: Any) -> None:
        for one in data if isinstance(data, list) else [data]:
            one["a_field_of_version_99"] = {"nested": [{"score": "none of ours"}]}

    before = whole(name)
    _, after, rejects = read(EXPORTS[name].written(tmp_path, newer))
    assert (after, rejects) == (before, [])


@lines
def test_records_of_another_tool_in_the_file_are_rejects(name: str, tmp_path: Path) -> None:
    export = EXPORTS[name]
    before = whole(name)
    strange = {"pk": 1, "fields": "another tool's record"}
    _, after, rejects = read(export.written(tmp_path, lambda data: data.extend([strange, ["no object"]])))
    assert after == before
    assert len(rejects) == 2
    assert all(one.reason and "Error(" not in one.reason.partition("not the shape")[0] for one in rejects)


@objects
def test_a_key_in_an_export_is_neither_shown_nor_kept(name: str, tmp_path: Path) -> None:
    export = EXPORTS[name]

    def change(data: Any) -> None:
        put(export.score, {"api_key": KEY, "said": f"Incorrect API key provided: {KEY}"})(data)
        for one in data if isinstance(data, list) else [data]:
            one["config"] = {"apiKey": KEY, "headers": {"Authorization": f"Bearer {KEY}"}}

    try:
        source, after, rejects = read(export.written(tmp_path, change))
    except InputError as error:
        assert name == "datasets"  # a table's unknown verdicts stop the command
        assert KEY not in str(error)
        return
    assert KEY not in "".join(one.model_dump_json() for one in after)
    assert KEY not in "".join(one.to_json() + str(one) for one in rejects)
    source.write_rejects(tmp_path / "rejects.jsonl")
    assert not rejects or KEY not in (tmp_path / "rejects.jsonl").read_text()


def test_a_key_in_what_a_tool_noted_is_hidden(tmp_path: Path) -> None:
    def change(data: Any) -> None:
        told = data[0]["info"]["assessments"]
        for one in told:
            one["metadata"] = {"api_key": "short", "note": f"with {KEY}", "tokens": 12}
        put((0, "info", "assessments", 0, "feedback"), {"error": {"error_message": f"Bad key {KEY}"}})(data)

    _, after, _ = read(EXPORTS["mlflow"].written(tmp_path, change))
    first, second = after[:2]
    assert first.no_verdict == "Bad key [hidden]"
    assert {name: second.meta[name] for name in ("api_key", "note", "tokens")} == {
        "api_key": "[hidden]",
        "note": "with [hidden]",
        "tokens": 12,
    }


@pytest.mark.parametrize("name", [name for name, export in EXPORTS.items() if not export.words])
def test_one_record_twice_counts_once_and_another_verdict_under_its_id_names_both_places(
    name: str, tmp_path: Path
) -> None:
    export = EXPORTS[name]
    before = whole(name)
    place = export.score
    other = 2 if name in ("alpaca_eval", "openai_evals", "ragas_annotations") else 3
    paths = [
        export.written(tmp_path / "one", lambda _: None),
        export.written(tmp_path / "two", put(place, float(other) if name != "langfuse" else 0.0)),
    ]
    source = open_judgments(paths)
    found = list(source.scan())
    rejects = [one for one in found if isinstance(one, Reject)]
    assert (len(found) - len(rejects), len(rejects), source.duplicates) == (len(before), 1, len(before) - 1)
    assert "is already used for another judgment at" in rejects[0].reason
    assert "--prefix-ids" in rejects[0].reason
    assert len(list(open_judgments(paths, prefix_ids=True))) == 2 * len(before)


@pytest.mark.parametrize("said", ["true", "True", " TRUE "])
@pytest.mark.parametrize("name", ["mlflow", "ragas", "lm_eval", "label_studio", "argilla"])
def test_a_boolean_written_as_text_is_the_boolean(name: str, said: str, tmp_path: Path) -> None:
    export = EXPORTS[name]
    _, after, rejects = read(export.written(tmp_path, put(export.score, said)))
    assert rejects == []
    assert Category(True) in [one.verdict for one in after]


def test_several_judges_in_one_record_are_several_judgments(tmp_path: Path) -> None:
    def change(data: Any) -> None:
        first = data[0]
        first["metrics"] = ["quality", "quality_2"]
        first["quality"] = {"value": 4, "explanation": "Good.", "judge": "heron"}
        first["quality_2"] = {"verdict": "fail", "comment": "Bad.", "judge_model": "wren"}

    _, after, _ = read(EXPORTS["lm_eval"].written(tmp_path, change))
    found = {one.judge: (one.verdict, one.rationale) for one in after[:2]}
    assert found == {"heron/quality": (Grade(4), "Good."), "wren/quality_2": (Category("fail"), "Bad.")}


def test_metrics_of_several_kinds_in_one_file_stay_apart() -> None:
    _, after, _ = read(INTEROP / "ragas" / "ragas-frame.jsonl")
    items = {one.meta["name"]: one.item.id for one in after[:4]}
    assert len(set(items.values())) == 4
    assert {one.meta.get("source") for one in after if one.judge == "exact_match"} == {"CODE"}


def test_a_file_without_any_readable_verdict_says_why(tmp_path: Path) -> None:
    def choices(data: Any) -> None:
        for one in data:
            one["resps"] = one["filtered_resps"] = [[-1.5, False], [-2.5, True]]

    path = EXPORTS["lm_eval"].written(tmp_path, choices)
    with pytest.raises(InputError, match=r"6 bad lines, the first at .*chose by likelihood"):
        open_judgments([path])


def test_files_of_older_versions_are_read(tmp_path: Path) -> None:
    def before_filters(data: Any) -> None:
        for one in data:
            del one["metrics"], one["filter"]
            one["arguments"] = [["Question: ?\nAnswer:", {"until": ["\n"]}]]

    _, found, rejects = read(EXPORTS["lm_eval"].written(tmp_path / "lm", before_filters))
    assert (len(found), rejects, found[0].item.question) == (18, [], "Question: ?\nAnswer:")

    def first_columns(data: Any) -> None:
        old = {"user_input": "question", "response": "answer", "retrieved_contexts": "contexts"}
        data[:] = [
            {old.get(name, "ground_truth" if name == "reference" else name): one for name, one in row.items()}
            for row in data
        ]

    _, older, _ = read(EXPORTS["ragas"].written(tmp_path / "ragas", first_columns))
    _, newer, _ = read(INTEROP / "ragas" / "ragas-frame.jsonl")
    assert older == newer

    def published(data: Any) -> None:
        for one in data:
            one["raw_completion"] = one.pop("preference_raw_completion")
            del one["preference_date"], one["preference_version"]

    _, older, _ = read(EXPORTS["alpaca_eval"].written(tmp_path / "alpaca", published))
    _, newer, _ = read(INTEROP / "alpaca_eval" / "alpaca-reasons.json")
    assert [(one.id, one.verdict, one.rationale) for one in older] == [
        (one.id, one.verdict, one.rationale) for one in newer
    ]
