"""What must not get into a dataset, near duplicates, splits without leaks, and lengths without a lesson."""

import gzip
import itertools
import json
import random
from collections import Counter

import duckdb
import numpy as np
import pytest

from metajudge.errors import ConfigurationError, InputError
from metajudge.exports import ExportRequest, check
from metajudge.exports.cleaning import PATTERNS
from metajudge.exports.near_duplicates import near_groups
from metajudge.exports.words import runs_of, words_of
from tests.exports.vetted import TOPICS, assessment, dropped, exported, judgment

LONG = "The tide turns twice a day because the moon pulls on the sea. " * 8


BAD = [
    ({"A": "", "B": "An answer."}, "empty"),
    ({"A": "An answer.", "B": " \n\t"}, "empty"),
    ({"A": "The  Answer\nis 4.", "B": "the answer is 4."}, "equal"),
    ({"A": "caf\u00e9 au lait", "B": "cafe\u0301  AU lait"}, "equal"),
    ({"A": LONG + "It then goes on to", "B": "An answer."}, "truncated"),
    ({"A": "An answer.", "B": LONG + "and the last line simply stops in the middle of a longer thought about tides"}, "truncated"),
    ({"A": "```python\nprint(1)", "B": "An answer."}, "truncated"),
    ({"A": LONG + "There are several reasons,", "B": "An answer."}, "truncated"),
]  # fmt: skip


def test_pairs_with_a_bad_text_are_dropped_and_counted(tmp_path):
    judgments = [judgment(number, responses=responses) for number, (responses, _) in enumerate(BAD)]
    result, rows = exported(tmp_path / "d", [*judgments, judgment(len(BAD))])
    assert [row["item_id"] for row in rows] == [f"item-{len(BAD)}"]
    assert dropped(result) == dict(Counter(reason for _, reason in BAD))


WHOLE = [
    "42",
    "Paris",
    LONG.strip(),
    LONG + "\n- a list\n- without full stops",
    "```python\nprint(1)\n```",
    "x = 2, y = 3",
]


def test_whole_texts_do_not_look_cut(tmp_path):
    judgments = [judgment(n, responses={"A": text, "B": "Something else."}) for n, text in enumerate(WHOLE)]
    assert len(exported(tmp_path / "d", judgments)[1]) == len(WHOLE)


def test_a_rationale_cut_by_its_limit_of_tokens_is_no_judge_pair(tmp_path):
    kept, lost = judgment(0, meta={"finish": "length"}), judgment(0, judge="jay", verdict="B>A")
    with pytest.raises(InputError, match="1 truncated"):
        exported(tmp_path / "d", [kept, lost], [assessment(kept), assessment(lost, False)], kind="judgments")


BENCHMARK = "A train leaves the station at noon and travels north at sixty miles an hour for two hours straight"


@pytest.mark.parametrize("ending", [".jsonl", ".jsonl.gz", ".json", ".txt"])
def test_items_of_a_named_benchmark_are_removed(tmp_path, ending):
    path = tmp_path / f"bench{ending}"
    data = json.dumps({"id": "x", "question": BENCHMARK}) + "\n" + json.dumps({"question": "How tall is Mount Elbrus?"})
    if ending == ".json":
        data = json.dumps([{"question": BENCHMARK}, {"question": "How tall is Mount Elbrus?"}])
    if ending == ".txt":
        data = f"{BENCHMARK}\nHow tall is Mount Elbrus?\n"
    path.write_bytes(gzip.compress(data.encode()) if ending.endswith("gz") else data.encode())
    judgments = [
        judgment(0, question=f"Solve: {BENCHMARK.upper()}! How far does it get?"),
        judgment(1, question="Tell me: how tall is Mount Elbrus, in metres?"),
        judgment(2, question="A train leaves the station at noon and I want to know why it is late"),
        judgment(3),
    ]
    result, rows = exported(tmp_path / "d", judgments, decontaminate=[path])
    assert [row["item_id"] for row in rows] == ["item-2", "item-3"]
    assert dropped(result) == {"contaminated": 2}
    assert f"13 words in a row with an item of: bench{ending}" in (tmp_path / "d" / "README.md").read_text()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "cannot read the benchmark"),
        ("", "is empty"),
        ('{"question": "Too short"}', "no item has 5 words or more"),
    ],
)
def test_a_benchmark_that_cannot_be_looked_for_is_an_error_before_anything_is_written(tmp_path, content, said):
    path = tmp_path / "bench.jsonl"
    if content is not None:
        path.write_text(content)
    with pytest.raises(InputError, match=said):
        exported(tmp_path / "d", [judgment(0)], decontaminate=[path])
    assert not (tmp_path / "d").exists()


SECRETS = [
    ("write to ann.lee@example.org today", "email"),
    ("the key is sk-abcdefghijklmnopqrstuvwx", "api_key"),
    ("AKIAABCDEFGHIJKLMNOP is in the log", "api_key"),
]


def test_personal_data_and_secrets_are_flagged_or_dropped(tmp_path):
    judgments = [
        judgment(number, responses={"A": f"Well, {secret}.", "B": "No idea."})
        for number, (secret, _) in enumerate(SECRETS)
    ]
    judgments.append(judgment(len(SECRETS)))
    result, rows = exported(tmp_path / "d", judgments, personal_data="flag")
    assert all(flag in row["flags"] for row, (_, flag) in zip(rows, SECRETS, strict=False))
    assert rows[-1]["flags"] == []
    assert result.stats["flags"]["api_key"] == 2
    result, rows = exported(tmp_path / "e", judgments, personal_data="drop")
    assert [row["item_id"] for row in rows] == [f"item-{len(SECRETS)}"]
    assert dropped(result) == {"personal_data_or_secret": len(SECRETS)}


FOUND = {
    "email": ["mail ada.l+x@example.co.uk now"],
    "phone": ["call +1 555 123 4567 now", "(030) 1234-5678"],
    "ip_address": ["at 192.168.0.255 it"],
    "social_security_number": ["123-45-6789"],
    "card_number": ["4111 1111 1111 1111"],
    "iban": ["DE89 3704 0044 0532 0130 00"],
    "api_key": ["sk-" + "a" * 24, "AKIA" + "A" * 16, "ghp_" + "a" * 36],
    "private_key": ["-----BEGIN RSA PRIVATE KEY-----"],
    "web_token": ["eyJhbGciOiJI.eyJzdWIiOiIx.SflKxwRJSM"],
    "password": ["password: hunter2hunter2", 'api_key="abcdefgh1"'],
}
NOTHING = ["2 + 2 = 4", "version 1.2.3", "in 1999-2001", "a password is needed", "300.1.1.1", "x@y", "sk-short"]
NOTHING += ["In 1999 it sold 12,345 copies at 9.99, or 3/4 of 2024-05-17."]


def matches(pattern, text):
    return duckdb.execute("SELECT regexp_matches(?, ?)", [text, pattern]).fetchone()[0]


def test_every_flag_has_its_examples():
    assert set(FOUND) == set(PATTERNS)


@pytest.mark.parametrize(("flag", "text"), [(flag, text) for flag, texts in FOUND.items() for text in texts])
def test_what_looks_like_it_is_flagged(flag, text):
    assert matches(PATTERNS[flag], text)


@pytest.mark.parametrize("text", NOTHING)
def test_ordinary_text_is_not(text):
    assert not [flag for flag, pattern in PATTERNS.items() if matches(pattern, text)]


VOCABULARY = [f"w{number}" for number in range(3_000)]


def features(text):
    words = text.lower().split()
    return set(words) | set(itertools.pairwise(words))


def jaccard(one, other):
    a, b = features(one), features(other)
    return len(a & b) / len(a | b) if a | b else 1.0


def texts_with_variants(seed):
    rng = random.Random(seed)
    texts = [" ".join(rng.choices(VOCABULARY, k=25)) for _ in range(150)]
    for text in texts[:60]:
        words = text.split()
        for place in rng.sample(range(25), rng.randint(1, 6)):
            words[place] = rng.choice(VOCABULARY)
        texts.append(" ".join(words))
    return texts


@pytest.mark.parametrize("seed", range(3))
def test_what_is_grouped_is_near_and_what_is_near_is_grouped(seed):
    texts = texts_with_variants(seed)
    groups = near_groups([[words_of(texts)]], 0.7, seed)
    near = [(a, b) for a in range(len(texts)) for b in range(a + 1, len(texts)) if jaccard(texts[a], texts[b]) >= 0.7]
    assert len(near) > 10
    assert all(groups[a] == groups[b] for a, b in near)
    joined = {tuple(np.flatnonzero(groups == root)) for root in set(groups) if (groups == root).sum() == 2}
    assert joined <= set(near), "a pair that is not near was joined: the exact check is missing"


def test_all_fields_must_be_near_so_that_one_prompt_keeps_its_different_answers():
    prompt = "explain in simple words why the sky looks blue at noon and red at dusk"
    one, other = (
        "because air scatters short waves much more than long ones",
        "angels paint it anew every single morning",
    )
    assert near_groups([[words_of([prompt, prompt]), words_of([one, other])]], 0.7).tolist() == [0, 1]
    assert near_groups([[words_of([prompt, prompt]), words_of([one, one + " indeed"])]], 0.7).tolist() == [0, 0]


def test_a_large_bucket_of_the_same_text_is_one_group():
    texts = ["the very same sentence again and again"] * 500 + ["something else entirely, with other words"]
    groups = near_groups([[words_of(texts)]], 0.7)
    assert set(groups[:500]) == {0}
    assert groups[500] == 500


def test_chunks_make_no_difference():
    texts = texts_with_variants(7)
    whole = near_groups([[words_of(texts)]], 0.7)
    pieces = near_groups(([words_of(texts[start : start + 17])] for start in range(0, len(texts), 17)), 0.7)
    assert whole.tolist() == pieces.tolist()


def test_nothing_to_group():
    assert len(near_groups([], 0.7)) == 0
    assert near_groups([[words_of(["one text only"])]], 0.7).tolist() == [0]


def words(text):
    return words_of([text]).hashes.tolist()


def test_case_and_punctuation_make_no_difference():
    assert words("Hello, World 42!") == words("hello world... 42")
    assert words("hello world") != words("world hello")


def test_the_words_of_every_third_text_are_those_of_these_texts_alone():
    texts = ["a b", "", "語 c", "d", "e\x00f g", "h i", "", "\x00", "j"]
    together = words_of(texts)
    for first in range(3):
        alone, found = words_of(texts[first::3]), together.every(3, first)
        assert (found.hashes.tolist(), found.ends.tolist()) == (alone.hashes.tolist(), alone.ends.tolist())
    assert together.ends.tolist() == [2, 2, 4, 5, 8, 10, 10, 10, 11]


def test_words_of_many_texts_are_those_of_each_alone():
    texts = ["one two three", "", "...", "naïve café", "日本語 text", "a日b", "tail"]
    together = words_of(texts)
    alone = [words(text) for text in texts]
    starts, ends = together.starts, together.ends
    assert [together.hashes[a:b].tolist() for a, b in zip(starts, ends, strict=True)] == alone
    assert [len(one) for one in alone] == [3, 0, 0, 2, 4, 3, 1]


def test_every_cjk_character_is_a_word_so_that_near_texts_stay_near():
    assert words("日本語")[0] == words("日")[0]
    assert len(words("今日は晴れ")) == 5


def test_runs_do_not_cross_from_one_text_to_the_next():
    found = words_of(["a b c", "d e", "f g h i"])
    _, owners = runs_of(found, 3)
    assert owners.tolist() == [0, 2, 2]
    assert len(runs_of(words_of(["a b"]), 3)[0]) == 0


def test_no_texts_at_all():
    assert len(words_of([]).hashes) == 0
    assert words_of(["", ""]).ends.tolist() == [0, 0]


def test_different_words_have_different_hashes():
    distinct = [f"word{number}" for number in range(50_000)]
    assert len(np.unique(words_of(distinct).hashes)) == len(distinct)


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
