"""The manifest: every file with its digest, the same bytes for the same folder."""

import hashlib
import json

from metajudge.preferences.manifest import MANIFEST, describe, pretty, write_manifest


def test_every_file_is_described_and_the_manifest_is_not(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "train.jsonl").write_bytes(b"{}\n")
    (tmp_path / "README.md").write_bytes(b"card")
    for _ in range(2):
        write_manifest(tmp_path, {"request": {"b": 1, "a": 2}}, {"data/train.jsonl": 1})
    written = json.loads((tmp_path / MANIFEST).read_bytes())
    assert sorted(written["files"]) == ["README.md", "data/train.jsonl"]
    assert written["files"]["data/train.jsonl"] == {
        "bytes": 3,
        "rows": 1,
        "sha256": hashlib.sha256(b"{}\n").hexdigest(),
    }
    assert "rows" not in written["files"]["README.md"]
    assert written["format_version"] == 1
    assert written["request"] == {"a": 2, "b": 1}


def test_an_empty_file_with_no_rows_says_so(tmp_path):
    (tmp_path / "x").touch()
    assert describe(tmp_path / "x", 0) == {"bytes": 0, "sha256": hashlib.sha256().hexdigest(), "rows": 0}


def test_keys_are_sorted_whatever_their_order():
    assert pretty({"b": 1, "a": [2]}) == pretty({"a": [2], "b": 1}) == b'{\n  "a": [\n    2\n  ],\n  "b": 1\n}\n'
