import itertools
import math
import re
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from metajudge.evidence.index import EvidenceIndex
from metajudge.evidence.score import signal_score
from metajudge.types import Item, Judgment

SAMPLE = Path(__file__).parent.parent / "benchmarks" / "sample" / "judgments.jsonl"
BROKEN = SAMPLE.with_name("broken.jsonl")
JUDGES = {"osprey-70b", "harrier-8b", "kestrel-mini"}


def reasons() -> list[str]:
    found = []
    for line in BROKEN.read_text(encoding="utf-8").splitlines():
        with pytest.raises(ValidationError) as error:
            Judgment.model_validate_json(line)
        found.append(str(error.value))
    return found


JUDGMENTS = [Judgment.model_validate_json(line) for line in SAMPLE.read_text(encoding="utf-8").splitlines()]
ITEMS: dict[str, Item] = {judgment.item.id: judgment.item for judgment in JUDGMENTS}


def sides(name: str) -> tuple[str, str]:
    """The right and the wrong response's text."""
    item = ITEMS[name]
    assert item.label is not None
    assert item.label.winner is not None
    (wrong,) = set(item.responses) - {item.label.winner}
    return item.responses[item.label.winner], item.responses[wrong]


def function(response: str, name: str) -> Any:
    found = re.search(r"```python\n(.*?)```", response, re.S)
    assert found is not None
    scope: dict[str, Any] = {}
    exec(found.group(1), scope)
    return scope[name]


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


def test_every_item_was_judged_by_all_three_in_both_orders() -> None:
    seen = {(judgment.item.id, judgment.judge, "".join(judgment.order)) for judgment in JUDGMENTS}
    assert seen == set(itertools.product(ITEMS, JUDGES, ("AB", "BA")))


def test_labels_are_balanced_over_the_positions() -> None:
    winners = Counter(item.label.winner for item in ITEMS.values() if item.label is not None)
    assert winners == {"A": 8, "B": 8}


REASONS = [
    "Invalid JSON",
    "verdict names 'C'",
    "at least 1 item",
    "'Assistant A is better' is not a verdict on 2 responses",
    "verdict is null without a reason",
    "judge\n  Field required",
]


def test_each_malformed_line_has_its_own_reason() -> None:
    assert [reason for reason, message in zip(REASONS, reasons(), strict=True) if reason not in message] == []


def test_rationales_speak_of_the_labels_the_judge_saw() -> None:
    index = EvidenceIndex.build(JUDGMENTS)
    states = Counter(
        index.signals(judgment)["rationale"].state for judgment in JUDGMENTS if judgment.verdict is not None
    )
    assert states == {"agree": 90, "contradict": 3}


def test_signals_keep_mostly_right_verdicts_and_make_honest_mistakes() -> None:
    index = EvidenceIndex.build(JUDGMENTS)
    kept = [judgment for judgment in JUDGMENTS if (signal_score(index.signals(judgment)).value or 0) > 4.5]
    assert len(kept) == 40
    wrong = [judgment for judgment in kept if not judgment.correct]
    assert {judgment.item.id for judgment in wrong} == {"reasoning-3"}
    assert len(wrong) == 4


def test_math_labels_are_recomputed() -> None:
    total = sum(n for n in range(1, 101) if n % 3 == 0 or n % 5 == 0)
    change = Fraction(120, 100) * Fraction(80, 100) - 1
    sixes = Fraction(sum(6 in rolls for rolls in itertools.product(range(1, 7), repeat=4)), 6**4)
    factorial = str(math.factorial(100))
    zeros = len(factorial) - len(factorial.rstrip("0"))
    answers = {
        "math-1": str(total),
        "math-2": f"{-change * 100} % lower",
        "math-3": str(sixes),
        "math-4": f"{zeros} zeros",
    }
    for name, answer in answers.items():
        right, wrong = sides(name)
        assert answer in right
        assert answer not in wrong


def test_reasoning_labels_are_recomputed() -> None:
    heights = [
        order
        for order in itertools.permutations("ABCD")  # tallest first
        if order.index("A") < order.index("B") < order.index("C") and order.index("D") < order.index("A")
    ]
    assert [order[1] for order in heights] == ["A"]
    assert sides("reasoning-2")[0].endswith("Anna.")

    def deciding(box: str) -> bool:
        contents = [
            dict(zip(("apples", "oranges", "mixed"), order, strict=True))
            for order in itertools.permutations(("apples", "oranges", "mixed"))
            if all(label != content for label, content in zip(("apples", "oranges", "mixed"), order, strict=True))
        ]
        for fruit in ("apples", "oranges"):
            fitting = [c for c in contents if c[box] in (fruit, "mixed")]
            if len(fitting) > 1:
                return False
        return True

    assert [box for box in ("apples", "oranges", "mixed") if deciding(box)] == ["mixed"]
    assert 'labelled "mixed"' in sides("reasoning-4")[0].split(".")[0]

    def breaks_rule(letter: str, number: str) -> bool:
        return letter in "AEIOU" and int(number) % 2 == 1

    must = [card for card in "EK" if any(breaks_rule(card, hidden) for hidden in "12")]
    must += [card for card in "47" if any(breaks_rule(hidden, card) for hidden in "AK")]
    assert must == ["E", "7"]
    assert sides("reasoning-3")[0].startswith("E and 7")


def test_code_labels_are_recomputed(capsys: pytest.CaptureFixture[str]) -> None:
    primes = [n for n in range(-2, 60) if n > 1 and all(n % d for d in range(2, n))]
    good, bad = (function(text, "is_prime") for text in sides("code-1"))
    assert [n for n in range(-2, 60) if good(n)] == primes
    assert [n for n in range(2, 60) if bad(n)] != primes

    good, bad = (function(text, "unique") for text in sides("code-3"))
    assert good([3, 1, 3, 2]) == [3, 1, 2] != bad([3, 1, 3, 2])

    good, bad = (function(text, "median") for text in sides("code-4"))
    assert (good([4, 1, 3, 2]), good([5, 1, 3])) == (2.5, 3)
    assert bad([4, 1, 3, 2]) != 2.5

    function(ITEMS["code-2"].question, "add")
    lines = capsys.readouterr().out.split("\n")[:2]
    right, wrong = sides("code-2")
    assert right.startswith(f"It prints {lines[0]} and then {lines[1]}.")
    assert lines[1] not in wrong
