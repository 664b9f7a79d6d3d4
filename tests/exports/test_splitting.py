"""Splits without leaks, and lengths without a lesson."""

import random

import pytest

from metajudge.errors import ConfigurationError
from metajudge.exports import ExportRequest, check
from tests.exports.vetted import TOPICS, dropped, exported, judgment

WORDS = [
    f"{a}{b}"
    for a in ("ka", "lo", "mi", "ru", "te", "sha", "vo", "pe")
    for b in ("na", "bor", "lim", "tas", "dru", "gel")
]


def prose(rng, count):
    return " ".join(rng.choices(WORDS, k=count)).capitalize() + "."


def many(count, seed=0, variants=0):
    rng = random.Random(seed)
    judgments = []
    for number in range(count):
        question = prose(rng, 14)
        judgments.append(judgment(number, question=question, responses={"A": prose(rng, 9), "B": prose(rng, 12)}))
        if number < variants:
            other = {"A": prose(rng, 9), "B": prose(rng, 12)}
            judgments.append(
                judgment(number, item_id=f"variant-{number}", question=f"{question} please", responses=other)
            )
    return judgments


def test_near_duplicate_questions_are_in_one_split(tmp_path):
    _, rows = exported(tmp_path / "d", many(60, variants=30), split=(0.6, 0.2, 0.2))
    split = {row["item_id"]: row["split"] for row in rows}
    assert len(split) == 90
    assert set(split.values()) == {"train", "validation", "test"}
    assert all(split[f"item-{number}"] == split[f"variant-{number}"] for number in range(30))


def test_fractions_are_kept_to(tmp_path):
    result, _ = exported(tmp_path / "d", many(200), split=(0.8, 0.1, 0.1))
    assert result.rows == {"train": 160, "validation": 20, "test": 20}


def test_another_seed_splits_otherwise(tmp_path):
    judgments = many(40)
    splits = [
        [row["split"] for row in sorted(rows, key=lambda row: row["item_id"])]
        for seed in (0, 1)
        for _, rows in [exported(tmp_path / str(seed), judgments, split=(0.5, 0.5), seed=seed)]
    ]
    assert splits[0] != splits[1]


def test_a_split_that_leaves_a_part_empty_is_an_error_with_the_numbers(tmp_path):
    judgments = [judgment(number) for number in range(len(TOPICS))]
    with pytest.raises(
        ConfigurationError, match=r"leaves validation empty: 12 clusters.*train 11, validation 0, test 1"
    ):
        exported(tmp_path / "d", judgments, split=(0.93, 0.01, 0.06))
    assert not (tmp_path / "d").exists()


@pytest.mark.parametrize(
    ("split", "said"),
    [((0.9, 0.2), "sum to 1"), ((1.0, 0.0), "above 0"), ((0.7, 0.1, 0.1, 0.1), "one to three"), ((float("nan"), 1.0), "above 0")],
)  # fmt: skip
def test_fractions_that_make_no_split_are_refused(split, said):
    with pytest.raises(ConfigurationError, match=said):
        ExportRequest(split=split)


def test_balancing_makes_longer_no_hint_of_better(tmp_path):
    rng = random.Random(3)
    judgments = []
    for number in range(300):
        long_wins = rng.random() < 0.75
        sizes = (rng.randint(12, 30), rng.randint(4, 11))
        first, second = sizes if long_wins else sizes[::-1]
        judgments.append(
            judgment(number, question=prose(rng, 14), responses={"A": prose(rng, first), "B": prose(rng, second)})
        )
    plain, _ = exported(tmp_path / "plain", judgments, split=(0.7, 0.3))
    assert plain.stats["lengths"]["after"]["chosen_longer"] > 0.7
    result, rows = exported(tmp_path / "d", judgments, split=(0.7, 0.3), balance_length=True)
    for part in ("train", "test"):
        longer = [row["chosen_length"] > row["rejected_length"] for row in rows if row["split"] == part]
        assert len(longer) >= 20
        assert sum(longer) * 2 == len(longer)
    lengths = result.stats["lengths"]
    assert lengths["before"]["chosen_longer"] > 0.7
    assert lengths["after"]["chosen_longer"] == 0.5
    assert abs(lengths["after"]["mean_log_ratio"]) < 0.05
    assert dropped(result) == {"no_match_in_length": lengths["before"]["pairs"] - lengths["after"]["pairs"]}


@pytest.mark.parametrize("unit", [None, "item"])
def test_judge_pairs_under_one_instruction_are_split_by_item(tmp_path, unit):
    judgments = [
        judgment(number, judge=judge, verdict=verdict, question="Which is safer?", label="A>B")
        for number in range(12)
        for judge, verdict in (("owl", "A>B"), ("jay", "B>A"))
    ]
    asked = {"kind": "judgments", "by_label": True, "selection": {"rule": "all"}, "split": (0.5, 0.5), "unit": unit}
    result, rows = exported(tmp_path / "d", judgments, **asked)
    assert result.rows == {"train": 6, "test": 6}
    assert result.stats["unit"] == "item"
    assert len({row["item_id"] for row in rows}) == 12
    assert not {one.kind for one in check(tmp_path / "d").faults} & {"leak", "near_leak"}
    with pytest.raises(ConfigurationError, match="1 clusters of questions"):
        exported(tmp_path / "e", judgments, **{**asked, "unit": "question"})
