import datetime
import subprocess
import sys
from pathlib import Path
from typing import Any, ClassVar

import pytest

from metajudge.errors import InputError
from metajudge.readers import open_judgments
from metajudge.readers.frames import from_dataset, from_pandas, to_dataset, to_pandas
from metajudge.types import Judgment

pandas = pytest.importorskip("pandas", reason="pip install 'metajudge-vet[inputs]'")
datasets = pytest.importorskip("datasets", reason="pip install 'metajudge-vet[inputs]'")

PAIR = {"id": "i1", "question": "2+2?", "responses": {"A": "4", "B": '5,\n"q"'}, "label": "A>B", "category": "math"}
THREE = {"id": "i2", "question": "", "responses": {"A": "", "B": "x", "C": "z"}, "models": {"A": "m", "C": "n"}}
ONE = {"id": "i3", "question": "Why?", "responses": {"A": "So."}, "reference": "ref", "label": 3}

LABELLED = {
    "id": "i4",
    "question": "system: Be kind.\n\nuser: Why?",
    "responses": {"A": "So."},
    "labels": [
        {"value": "pass", "annotator": "anna", "time": "2026-11-01T10:00:00Z"},
        {"value": False},
        {"value": 2.0, "annotator": "ben"},
    ],
    "conversation": [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Why?"}],
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
    assert from_pandas(to_pandas(given)) == given
    assert [one.item for one in from_pandas(to_pandas(given))] == [one.item for one in given]
    assert from_dataset(to_dataset(given)) == given
    assert list(to_pandas(given)["verdict"].fillna("-"))[:4] == ["A>>B", "-", '[["B"], ["A", "C"]]', "0.1"]


@pytest.mark.parametrize("kind", ["csv", "parquet", "json", "jsonl", "hf"])
def test_what_is_written_is_read_by_the_command_line_as_it_is(tmp_path: Path, kind: str) -> None:
    given, path = judgments(), tmp_path / f"x.{kind}"
    frame = to_pandas(given)
    match kind:
        case "csv":
            frame.to_csv(path, index=False)
        case "parquet":
            frame.to_parquet(path)
        case "hf":
            datasets.disable_progress_bars()
            to_dataset(given).save_to_disk(path)
        case _:
            frame.to_json(path, orient="records", lines=kind == "jsonl")
    source = open_judgments([path])
    assert list(source) == given
    assert source.rejects == 0


def test_any_frame_is_read_by_a_mapping_in_three_spellings() -> None:
    frame = pandas.DataFrame(
        {"p": ["?", "!"], "x": ["a", "b"], "y": ["c", "d"], "w": ["C", "x-7b"], "mx": ["x-7b"] * 2, "my": ["y-7b"] * 2}
    )
    text = "question=p,responses.A=x,responses.B=y,verdict=w,models.A=mx,models.B=my"
    spelled = dict(part.split("=") for part in text.split(","))
    first = from_pandas(frame, text, judge="gpt", values={"C": "tie"})
    assert [str(one.verdict) for one in first] == ["A=B", "A>B"]
    assert from_pandas(frame, spelled, judge="gpt", values={"C": "tie"}) == first
    assert from_pandas(frame, text + ",judge:=gpt", values={"C": "tie"}) == first
    assert from_dataset(datasets.Dataset.from_pandas(frame), text, judge="gpt", values={"C": "tie"})[0].judge == "gpt"


def test_a_row_that_cannot_be_read_stops_with_its_place_and_field() -> None:
    frame = to_pandas(judgments())
    frame.loc[1, "judge"] = None
    with pytest.raises(InputError, match="DataFrame row 2: judge: column 'judge' is empty"):
        from_pandas(frame)
    twice = to_pandas([judgments()[0], judgments()[0]])
    with pytest.raises(InputError, match="rows 1 and 2 have the same id 'a'"):
        from_pandas(twice)
    with pytest.raises(InputError, match=r"has no column 'winner'.*Its columns: a\."):
        from_pandas(pandas.DataFrame({"a": [1]}), "verdict=winner")
    with pytest.raises(InputError, match="no column is mapped to verdict"):
        from_pandas(pandas.DataFrame({"a": [1]}))


def test_missing_values_of_every_kind_are_absent_and_never_text() -> None:
    frame = pandas.DataFrame(
        {
            "question": ["?"] * 4,
            "responses.A": ["x"] * 4,
            "verdict": [1.0, float("nan"), None, 2],
            "judge": ["g"] * 4,
            "rationale": [None, float("nan"), pandas.NA, pandas.NaT],
            "meta.when": [datetime.date(2026, 1, 2), None, pandas.NaT, pandas.NA],
        }
    )
    found = from_pandas(frame)
    assert [one.rationale for one in found] == [""] * 4
    assert [one.no_verdict for one in found] == [None, "the verdict is empty", "the verdict is empty", None]
    assert [one.meta for one in found] == [{"when": "2026-01-02"}, {}, {}, {}]


def test_assessments_become_a_tidy_frame() -> None:
    from metajudge import vet

    frame = to_pandas(vet(judgments()[:2]))
    assert list(frame["judgment_id"]) == ["a", "b"]
    assert list(frame["status"]) == ["unscored", "failed"]
    assert frame["failure"].iloc[1] == "no_verdict"
    assert pandas.isna(frame["score"].iloc[1])
    assert "signal.order" in frame.columns
    assert to_dataset(vet(judgments()[:1])).column_names == list(to_pandas(vet(judgments()[:1])).columns)


def test_neither_pandas_nor_datasets_is_loaded_by_the_import() -> None:
    code = "import sys, metajudge.readers.frames; print([m for m in ('pandas', 'datasets', 'pyarrow') if m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert found.strip() == "[]"


class TestWordsOfArguments:
    FRAME: ClassVar = {"p": ["?", "?"], "x": ["4", "4"], "y": ["5", "6"], "w": [1, 2]}
    MAP = "question=p,responses.A=x,responses.B=y,verdict=w"

    def test_values_may_be_numbers(self) -> None:
        frame = pandas.DataFrame(self.FRAME)
        found = from_pandas(frame, self.MAP, judge="g", values={1: "A", 2: "B"})
        assert [str(one.verdict) for one in found] == ["A>B", "B>A"]
        found = from_pandas(frame.assign(w=[True, False]), self.MAP, judge="g", values={True: "A", False: "tie"})
        assert [str(one.verdict) for one in found] == ["A>B", "A=B"]

    def test_errors_name_arguments_and_no_flags(self) -> None:
        frame = pandas.DataFrame(self.FRAME)
        for mapping, judge in ((self.MAP, "g"), (self.MAP, None), ("nonsense", "g"), ("question=p,verdict=w", "g")):
            with pytest.raises(InputError) as refused:
                from_pandas(frame, mapping, judge=judge)
            assert "--" not in str(refused.value)
        with pytest.raises(InputError, match=r'values=\{"1": "MEANING", "2": "MEANING"\}'):
            from_pandas(frame, self.MAP, judge="g")
        with pytest.raises(InputError, match='judge="NAME"'):
            from_pandas(frame, self.MAP)

    def test_none_is_no_verdict_and_what_is_no_dict_is_told(self) -> None:
        frame = pandas.DataFrame(self.FRAME)
        first, second = from_pandas(frame, self.MAP, judge="g", values={1: "A", 2: None})
        assert (str(first.verdict), second.verdict) == ("A>B", None)
        with pytest.raises(InputError, match="values is a list: give a dict of meanings"):
            from_pandas(frame, self.MAP, judge="g", values=["A", "B"])  # type: ignore[arg-type]

    def test_a_word_of_the_label_names_the_column_of_the_label(self) -> None:
        frame = pandas.DataFrame(self.FRAME).assign(people=["A", "neither"])
        with pytest.raises(InputError, match=r"'neither' \(1\) in column 'people'"):
            from_pandas(frame, f"{self.MAP},label=people", judge="g", values={1: "A", 2: "B"})

    def test_an_infinite_score_names_its_row(self) -> None:
        frame = pandas.DataFrame({"p": ["?", "?"], "x": ["4", "4"], "s": [1.0, float("inf")]})
        with pytest.raises(InputError, match=r"row 2: verdict: the score is infinite \(inf\), which is no grade"):
            from_pandas(frame, "question=p,responses.A=x,verdict=s", judge="g")
