from collections import Counter
from pathlib import Path

import pytest
from pydantic import ValidationError

from metajudge.types import Item, Judgment
from tests.doubles.evidence import signals_of

SAMPLE = Path(__file__).parent.parent / "benchmarks" / "sample" / "judgments.jsonl"
BROKEN = SAMPLE.with_name("broken.jsonl")


def reasons() -> list[str]:
    found = []
    for line in BROKEN.read_text(encoding="utf-8").splitlines():
        with pytest.raises(ValidationError) as error:
            Judgment.model_validate_json(line)
        found.append(str(error.value))
    return found


JUDGMENTS = [Judgment.model_validate_json(line) for line in SAMPLE.read_text(encoding="utf-8").splitlines()]
ITEMS: dict[str, Item] = {judgment.item.id: judgment.item for judgment in JUDGMENTS}


def test_counts_are_those_of_the_readme() -> None:
    verdicts = [judgment for judgment in JUDGMENTS if judgment.verdict is not None]
    assert (len(JUDGMENTS), len(ITEMS)) == (96, 16)
    assert Counter(item.category for item in ITEMS.values()) == dict.fromkeys(
        ("Knowledge", "Reasoning", "Math", "Coding"), 4
    )
    assert len(verdicts) == 93
    assert sum(bool(judgment.correct) for judgment in verdicts) == 66
    assert sum(judgment.verdict is not None and judgment.verdict.is_tie for judgment in verdicts) == 3
    assert len({judgment.id for judgment in JUDGMENTS}) == 96


REASONS = [
    "Invalid JSON",
    "verdict names 'C'",
    "at least 1 item",
    "'Assistant A is better' is not a verdict on 2 responses",
    "verdict is null without a reason",
    "judge\n  Field required",
]


def test_each_malformed_line_has_its_own_reason_and_rationales_speak_of_the_labels_seen() -> None:
    assert [reason for reason, message in zip(REASONS, reasons(), strict=True) if reason not in message] == []
    signals = signals_of(JUDGMENTS)
    states = Counter(signals[judgment.id]["rationale"].state for judgment in JUDGMENTS if judgment.verdict is not None)
    assert states == {"agree": 90, "contradict": 3}
