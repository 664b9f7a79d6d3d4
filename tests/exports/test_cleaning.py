"""What must not get into a dataset."""

import gzip
import json
from collections import Counter

import duckdb
import pytest

from metajudge.errors import InputError
from metajudge.exports.cleaning import PATTERNS
from tests.exports.vetted import assessment, dropped, exported, judgment

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
