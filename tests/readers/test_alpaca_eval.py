import json
from pathlib import Path
from typing import Any

import pytest

from metajudge.readers import Reject, open_judgments
from tests.readers.interop_files import INTEROP


def annotation(preference: Any = 1, raw: Any = None, **changes: Any) -> dict[str, Any]:
    """An entry as ``annotations.json`` holds it."""
    entry = {
        "instruction": "Name a Broadway actor.",
        "output_1": "Meryl Streep.",
        "generator_1": "gpt4_1106_preview",
        "dataset": "helpful_base",
        "output_2": "Nobody.",
        "generator_2": "Mistral-7B",
        "annotator": "weighted_alpaca_eval_gpt4_turbo",
        "preference": preference,
        "price_per_example": 0.01,
        "time_per_example": 0.17,
        "raw_completion": raw,
    }
    return {**entry, **changes}


def ranked(best: str, why: str = "It is better.") -> dict[str, Any]:
    other = "m" if best == "M" else "M"
    models = [{"model": best, "rank": 1}, {"model": other, "rank": 2}]
    return {"concise_explanation": why, "ordered_models": models}


def read(path: Path, *entries: dict[str, Any]) -> list[Any]:
    path.write_text(json.dumps(list(entries), indent=2))
    return list(open_judgments([path]).scan())


@pytest.mark.parametrize(
    ("preference", "expected"),
    [(1, "A>B"), (2, "B>A"), (1.5, "A=B"), (0, "A=B"), (1.9900139974, "B>A"), (1.4593660117, "A>B"), (1.0, "A>B")],
)
def test_preferences_become_verdicts(tmp_path: Path, preference: float, expected: str) -> None:
    (one,) = read(tmp_path / "annotations.json", annotation(preference))
    assert str(one.verdict) == expected
    assert one.meta["preference"] == preference
    assert one.judge == "weighted_alpaca_eval_gpt4_turbo"
    assert one.item.models == {"A": "gpt4_1106_preview", "B": "Mistral-7B"}
    assert one.item.category == "helpful_base"


def test_no_preference_is_no_verdict_and_nonsense_too(tmp_path: Path) -> None:
    found = read(tmp_path / "a.json", annotation(None), annotation(-1, annotator="other"))
    assert [one.verdict for one in found] == [None, None]
    assert [one.no_verdict for one in found] == [
        "the annotator's completion could not be parsed: preference is null",
        "the recorded preference -1 is none of 1 to 2 or 0",
    ]


@pytest.mark.parametrize(
    ("preference", "raw", "order"),
    [
        (1, ranked("m"), ("A", "B")),
        (1, ranked("M"), ("B", "A")),
        (2, ranked("m"), ("B", "A")),
        (1.99, {"text": "m", "logprobs": {}}, ("B", "A")),
        (1.46, {"text": "M", "logprobs": {}}, ("B", "A")),
        (1, "M", ("B", "A")),
    ],
)
def test_the_order_shown_follows_from_the_completion(
    tmp_path: Path, preference: float, raw: Any, order: tuple[str, str]
) -> None:
    (one,) = read(tmp_path / "a.json", annotation(preference, raw))
    assert (one.order, one.labels, one.meta["order_known"]) == (order, ("m", "M"), True)


@pytest.mark.parametrize(("preference", "raw"), [(1, None), (1, "Output (a) is better"), (1.5, ranked("m")), (1, {})])
def test_an_order_that_is_not_recorded_is_not_claimed(tmp_path: Path, preference: float, raw: Any) -> None:
    (one,) = read(tmp_path / "a.json", annotation(preference, raw))
    assert (one.labels, one.meta["order_known"]) == (None, False)


def test_a_broken_entry_is_rejected_by_its_number_and_field(tmp_path: Path) -> None:
    first, second = read(tmp_path / "a.json", annotation(output_1=None), annotation())
    assert isinstance(first, Reject)
    assert (first.line, first.reason) == (1, "'output_1' must be a string, not null")
    assert str(second.verdict) == "A>B"


def test_two_annotators_judge_one_item_and_the_same_annotation_twice_is_a_duplicate(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps([annotation(), annotation(2, annotator="other"), annotation()]))
    source = open_judgments([path])
    first, second = source
    assert first.item == second.item
    assert source.duplicates == 1
    assert source.formats[str(path)] == "AlpacaEval annotations"


def test_lines_of_annotations_are_read_too(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps(annotation()) + "\n")
    assert len(list(open_judgments([path]))) == 1


@pytest.mark.parametrize("name", ["reasons", "bare"])
def test_what_alpaca_eval_wrote_has_its_text_its_time_and_the_order_shown(name: str) -> None:
    path = INTEROP / "alpaca_eval" / f"alpaca-{name}.json"
    source = open_judgments([path])
    found = list(source)
    written = json.loads(path.read_text())
    assert (source.rejects, len(found)) == (0, 6)
    for row, one in zip(written, found, strict=True):
        assert one.meta["time"] == row["preference_date"]
        assert one.meta["judge_version"] == "alpaca_eval==0.6.6"
        assert one.meta["order_known"]
        said_first = "(a)" in row["preference_raw_completion"] or "[[A]]" in row["preference_raw_completion"]
        assert (one.order[0] == one.verdict.winner) == said_first
        assert one.rationale == ("" if name == "bare" else row["preference_raw_completion"])
    assert {one.order for one in found} == {("A", "B"), ("B", "A")}
