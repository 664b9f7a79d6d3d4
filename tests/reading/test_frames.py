import datetime
from pathlib import Path
from typing import Any

import pytest

from metajudge import vet
from metajudge.auditing import audit_judgments
from metajudge.errors import InputError
from metajudge.reading import open_judgments
from metajudge.reading.frames import from_dataset, from_pandas
from metajudge.runs.frames import to_dataset, to_pandas
from metajudge.types import Judgment

pandas = pytest.importorskip("pandas", reason="pip install 'metajudge-vet[inputs]'")
datasets = pytest.importorskip("datasets", reason="pip install 'metajudge-vet[inputs]'")
datasets.disable_progress_bars()

PAIR = {"id": "i1", "question": "2+2?", "responses": {"A": "4", "B": '5,\n"q"'}, "label": "A>B", "category": "math"}
THREE = {"id": "i2", "question": "", "responses": {"A": "", "B": "x", "C": "z"}, "models": {"A": "m", "C": "n"}}
ONE = {"id": "i3", "question": "Why?", "responses": {"A": "So."}, "reference": "ref", "label": 3}
PEOPLE = [
    {"value": "pass", "annotator": "anna", "time": "2026-11-01T10:00:00Z"},
    {"value": False},
    {"value": 2.0, "annotator": "ben"},
]
CHAT = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Why?"}]
LABELLED = {
    "id": "i4",
    "question": "system: Be kind.\n\nuser: Why?",
    "responses": {"A": "So."},
    "labels": PEOPLE,
    "conversation": CHAT,
    "metadata": {"A": {"tokens": 3, "parts": [1, None]}},
}
SCALED = LABELLED | {"id": "i5", "scale": ["poor", "good"], "labels": [{"value": "poor"}]}
CATEGORIES = ["pass", True, False, {"category": "5"}, {"category": "n/a"}, {"category": "a=b"}, "long " * 10]


def judgments() -> list[Judgment]:
    rows: list[dict[str, Any]] = [
        {"id": "a", "item": PAIR, "judge": "g", "verdict": "A>>B", "order": ["B", "A"], "labels": ["1", "2"]},
        {"id": "b", "item": PAIR, "judge": "h", "verdict": None, "no_verdict": "it refused", "rationale": "No."},
        {"id": "c", "item": THREE, "judge": "g", "verdict": [["B"], ["A", "C"]], "meta": {"k": [1, {"x": None}]}},
        {"id": "d", "item": ONE, "judge": "g", "verdict": 0.1, "instruction": "Grade."},
        *({"id": f"e{n}", "item": LABELLED, "judge": "g", "verdict": word} for n, word in enumerate(CATEGORIES)),
        {"id": "f", "item": SCALED, "judge": "g", "verdict": "good"},
    ]
    return [Judgment.model_validate(row) for row in rows]


def test_judgments_come_back_equal_from_frames_and_datasets() -> None:
    given = judgments()
    frame = to_pandas(given)
    assert from_pandas(frame) == from_dataset(to_dataset(given)) == given
    assert [one.item for one in from_pandas(frame)] == [one.item for one in given]
    assert list(frame["verdict"].fillna("-"))[:4] == ["A>>B", "-", '[["B"], ["A", "C"]]', "0.1"]


WRITERS: dict[str, Any] = {
    "csv": lambda given, path: to_pandas(given).to_csv(path, index=False),
    "parquet": lambda given, path: to_pandas(given).to_parquet(path),
    "hf": lambda given, path: to_dataset(given).save_to_disk(path),
    "json": lambda given, path: to_pandas(given).to_json(path, orient="records"),
    "jsonl": lambda given, path: to_pandas(given).to_json(path, orient="records", lines=True),
}


@pytest.mark.parametrize("kind", WRITERS)
def test_what_is_written_is_read_by_the_command_line_as_it_is(tmp_path: Path, kind: str) -> None:
    given, path = judgments(), tmp_path / f"x.{kind}"
    WRITERS[kind](given, path)
    source = open_judgments([path])
    assert (list(source), source.rejects) == (given, 0)


def test_missing_values_of_every_kind_are_absent_and_never_text() -> None:
    frame = pandas.DataFrame(
        {
            "question": ["?"] * 4,
            "responses.A": ["x"] * 4,
            "judge": ["g"] * 4,
            "verdict": [1.0, float("nan"), None, 2],
            "rationale": [None, float("nan"), pandas.NA, pandas.NaT],
            "meta.when": [datetime.date(2026, 1, 2), None, pandas.NaT, pandas.NA],
        }
    )
    found = from_pandas(frame)
    assert [one.rationale for one in found] == [""] * 4
    assert [one.no_verdict for one in found] == [None, "the verdict is empty", "the verdict is empty", None]
    assert [one.meta for one in found] == [{"when": "2026-01-02"}, {}, {}, {}]


def test_assessments_become_a_tidy_frame() -> None:
    frame = to_pandas(vet(judgments()[:2]))
    assert list(frame["judgment_id"]) == ["a", "b"]
    assert list(frame["status"]) == ["assessed", "failed"]
    assert (frame["failure"].iloc[1], pandas.isna(frame["score"].iloc[1])) == ("no_verdict", True)
    assert "signal.order" in frame.columns
    assert to_dataset(vet(judgments()[:1])).column_names == list(to_pandas(vet(judgments()[:1])).columns)


def test_a_path_or_a_frame_is_vetted_and_audited_as_it_is(tmp_path: Path) -> None:
    path, given = tmp_path / "in.csv", judgments()[:2]
    to_pandas(given).to_csv(path, index=False)
    expected = vet(given)
    for one in (path, str(path), to_pandas(given), to_dataset(given)):
        assert [found.final_score for found in vet(one)] == [found.final_score for found in expected]
        assert audit_judgments(one).holdings.judgments == 2
    usual = pandas.DataFrame({"prompt": ["?"] * 3, "response_a": "x", "response_b": "y", "winner": "A"})
    with pytest.raises(InputError, match=r"no known format(.|\n)*Missing: judge\. Give mapping="):
        vet(usual)
    with pytest.warns(UserWarning, match="is read by the names of its columns"):
        assert len(vet(usual.assign(judge="j", n=range(3)))) == 3


FRAME = {"p": ["?", "?"], "x": ["4", "4"], "y": ["5", "6"], "w": [1, 2], "mx": ["x-7b"] * 2, "my": ["y-7b"] * 2}
MAP = "question=p,responses.A=x,responses.B=y,verdict=w"
MODELS = f"{MAP},models.A=mx,models.B=my"


@pytest.mark.parametrize(
    ("words", "mapping", "values", "verdicts"),
    [
        ([1, 2], MAP, {1: "A", 2: "B"}, ["A>B", "B>A"]),
        ([True, False], MAP, {True: "A", False: "tie"}, ["A>B", "A=B"]),
        ([1, 2], MAP, {1: "A", 2: None}, ["A>B", "None"]),
        (["C", "x-7b"], MODELS, {"C": "tie"}, ["A=B", "A>B"]),
        (["C", "x-7b"], dict(part.split("=") for part in MODELS.split(",")), {"C": "tie"}, ["A=B", "A>B"]),
        (["C", "x-7b"], f"{MODELS},judge:=gpt", {"C": "tie"}, ["A=B", "A>B"]),
    ],
)
def test_any_frame_is_read_by_a_mapping_and_meanings(words: Any, mapping: Any, values: Any, verdicts: Any) -> None:
    frame = pandas.DataFrame(FRAME | {"w": words})
    judge = None if "judge" in mapping else "gpt"
    found = from_pandas(frame, mapping, judge=judge, values=values)
    assert [(str(one.verdict), one.judge) for one in found] == [(verdict, "gpt") for verdict in verdicts]
    dataset = datasets.Dataset.from_pandas(frame)
    assert [one.verdict for one in from_dataset(dataset, mapping, judge=judge, values=values)] == [
        one.verdict for one in found
    ]


@pytest.mark.parametrize(
    ("frame", "mapping", "options", "message"),
    [
        (FRAME, MAP, {"judge": "g"}, r'values=\{"1": "MEANING", "2": "MEANING"\}'),
        (FRAME, MAP, {}, 'judge="NAME"'),
        (FRAME, "nonsense", {"judge": "g"}, "is not FIELD=COLUMN"),
        (FRAME, "question=p,verdict=w", {"judge": "g"}, r"Missing: responses\.A"),
        (FRAME, MAP, {"judge": "g", "values": ["A", "B"]}, "values is a list: give a dict of meanings"),
        # A word of the label names the column of the label.
        (
            FRAME | {"people": ["A", "neither"]},
            f"{MAP},label=people",
            {"judge": "g", "values": {1: "A", 2: "B"}},
            r"people has neither \(1 time\), which is no label here",
        ),
        (
            FRAME | {"w": [1.0, float("inf")]},
            "question=p,responses.A=x,verdict=w",
            {"judge": "g"},
            r"DataFrame:2: verdict: the score is infinite \(inf\), which is no grade",
        ),
        ({"a": [1]}, "verdict=winner", {}, r"has no column 'winner'.*Its columns: a\."),
        ({"a": [1]}, None, {}, 'Missing: verdict, judge. Give mapping="verdict=COLUMN,judge:=NAME"'),
        (
            to_pandas(judgments()).assign(judge=["g", None, *"g" * 10]),
            None,
            {},
            "DataFrame:2: judge: column 'judge' is",
        ),
        (
            to_pandas([judgments()[0]] * 2).assign(judge=["g", "h"]),
            None,
            {},
            "DataFrame:2: id 'a' is .* at DataFrame:1",
        ),
    ],
)
def test_errors_name_row_field_and_arguments_and_no_flags(frame: Any, mapping: Any, options: Any, message: str) -> None:
    with pytest.raises(InputError, match=message) as refused:
        from_pandas(pandas.DataFrame(frame), mapping, **options)
    assert "--" not in str(refused.value)
