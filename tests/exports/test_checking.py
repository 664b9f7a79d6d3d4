"""Each fault planted in a sound folder, and seen."""

import hashlib
import json
import shutil

import duckdb
import pytest

from metajudge.errors import InputError
from metajudge.exports import check
from tests.exports.test_cleaning import many
from tests.exports.vetted import exported


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sound") / "d"
    exported(folder, many(60), split=(0.7, 0.3))
    return folder


@pytest.fixture
def folder(sound, tmp_path):
    return shutil.copytree(sound, tmp_path / "d")


TRAIN, TEST = "data/train-00000-of-00001.parquet", "data/test-00000-of-00001.parquet"


def rewrite(folder, name, query):
    """Replaces a data file by a query over it, and signs the folder anew, so that only the planted fault is left."""
    path = folder / name
    duckdb.execute(f"COPY ({query.format(rows=f'(SELECT * FROM read_parquet({str(path)!r}))', test=repr(str(folder / TEST)))}) "
                   f"TO '{path}.new' (FORMAT parquet)")  # fmt: skip
    path.with_name(path.name + ".new").rename(path)
    sign(folder)


def sign(folder):
    manifest, stats = (json.loads((folder / name).read_text()) for name in ("manifest.json", "stats.json"))
    for name in (TRAIN, TEST):
        part = name.split("/")[1].partition("-")[0]
        stats["splits"][part]["rows"] = duckdb.execute(f"SELECT count(*) FROM '{folder / name}'").fetchone()[0]
    (folder / "stats.json").write_text(json.dumps(stats))
    for name, said in list(manifest["files"].items()):
        if not (folder / name).exists():
            del manifest["files"][name]
            continue
        data = (folder / name).read_bytes()
        said.update(bytes=len(data), sha256=hashlib.sha256(data).hexdigest())
    (folder / "manifest.json").write_text(json.dumps(manifest))


def kinds(folder, **options):
    return {fault.kind for fault in check(folder, **options).faults}


def test_a_sound_folder_has_no_fault(folder):
    report = check(folder)
    assert report.faults == []
    assert report.rows == {"test": 18, "train": 42}
    assert 0 <= report.chosen_longer <= 1


FIRST = "(SELECT * FROM {rows} LIMIT 1)"


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT * REPLACE (CASE WHEN id = (SELECT min(id) FROM {rows}) THEN chosen ELSE rejected END AS rejected) FROM {rows}", {"equal_pair"}),
        ("SELECT * REPLACE (CASE WHEN id = (SELECT min(id) FROM {rows}) THEN upper(chosen) || '  ' ELSE rejected END AS rejected) FROM {rows}", {"equal_pair"}),
        ("SELECT * REPLACE (CASE WHEN id = (SELECT min(id) FROM {rows}) THEN 0 ELSE margin END AS margin) FROM {rows}", {"tie"}),
        ("SELECT * REPLACE (CASE WHEN id = (SELECT min(id) FROM {rows}) THEN -1 ELSE margin END AS margin) FROM {rows}", {"tie"}),
        ("SELECT * FROM {rows} UNION ALL SELECT * REPLACE ('again' AS id) FROM " + FIRST, {"duplicate"}),
        ("SELECT * FROM {rows} UNION ALL SELECT * REPLACE (rejected AS chosen, chosen AS rejected) FROM " + FIRST, {"contradiction"}),
        ("SELECT * REPLACE (CASE WHEN id = (SELECT min(id) FROM {rows}) THEN ' ' ELSE chosen END AS chosen) FROM {rows}", {"empty"}),
        ("SELECT * REPLACE (CASE WHEN id = (SELECT min(id) FROM {rows}) THEN NULL ELSE rejected END AS rejected) FROM {rows}", {"empty"}),
        ("SELECT * EXCLUDE (rejected) FROM {rows}", {"schema"}),
        ("SELECT * REPLACE (42 AS prompt) FROM {rows}", {"schema"}),
        ("SELECT * FROM {rows} LIMIT 0", {"empty"}),
    ],
)  # fmt: skip
def test_a_planted_fault_is_caught_and_named(folder, query, expected):
    rewrite(folder, TRAIN, query)
    assert expected <= kinds(folder)
    if expected != {"schema"}:
        assert kinds(folder) == expected


def test_a_row_of_the_test_split_in_train_is_a_leak(folder):
    rewrite(folder, TRAIN, "SELECT * FROM {rows} UNION ALL SELECT * FROM (SELECT * FROM read_parquet({test}) LIMIT 1)")
    assert {"leak", "duplicate"} <= kinds(folder)


def test_the_same_prompt_with_other_answers_is_a_leak_too(folder):
    rewrite(
        folder,
        TRAIN,
        "SELECT * FROM {rows} UNION ALL SELECT * REPLACE (chosen || ' more' AS chosen, 'x' AS item_id, 'y' AS cluster) "
        "FROM (SELECT * FROM read_parquet({test}) LIMIT 1)",
    )
    assert kinds(folder) == {"leak", "near_leak"}


def test_a_nearly_equal_question_is_a_leak_unless_it_is_not_asked_about(folder):
    rewrite(
        folder,
        TRAIN,
        "SELECT * FROM {rows} UNION ALL SELECT * REPLACE (prompt || ' please' AS prompt, question || ' please' AS question, "
        "'x' AS item_id, 'y' AS cluster) FROM (SELECT * FROM read_parquet({test}) LIMIT 1)",
    )
    assert kinds(folder) == {"near_leak"}
    assert kinds(folder, near_threshold=1.0) == set()


def test_lengths_that_are_only_said_to_be_balanced(folder):
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["request"]["balance_length"] = True
    (folder / "manifest.json").write_text(json.dumps(manifest))
    assert kinds(folder) == {"imbalance"}


def test_a_file_that_was_touched_lost_or_added(folder):
    path = folder / TRAIN
    path.write_bytes(path.read_bytes() + b" ")
    assert "digest" in kinds(folder)
    path.unlink()
    assert {"missing", "rows"} <= kinds(folder)
    (folder / "data" / "train-extra.jsonl").write_text('{"prompt": "p", "chosen": "c", "rejected": "r"}\n')
    assert "digest" in kinds(folder)


def test_a_damaged_data_file_is_a_fault_and_no_traceback(folder):
    (folder / TRAIN).write_bytes(b"PAR1 but not really")
    assert {"schema", "digest"} <= kinds(folder)


@pytest.mark.parametrize(
    ("card", "kind"),
    [
        (None, "missing"),
        ("# no header", "card"),
        ("---\n: [\n---\n", "card"),
        ("---\nlicense: mit\n---\n", "card"),
        ("---\nconfigs:\n- data_files:\n  - split: train\n    path: data/other-*.parquet\n  - split: test\n    path: data/test-*\n---\n", "card"),
    ],
)  # fmt: skip
def test_a_card_that_does_not_fit(folder, card, kind):
    (folder / "README.md").unlink()
    if card is not None:
        (folder / "README.md").write_text(card)
    sign(folder)
    assert kinds(folder) == {kind}


def test_completions_both_desired_and_undesired(tmp_path):
    exported(tmp_path / "d", many(20), format="kto")
    path = tmp_path / "d" / TRAIN
    duckdb.execute(f"COPY (SELECT * FROM '{path}' UNION ALL SELECT * REPLACE (NOT label AS label) FROM (SELECT * FROM '{path}' "
                   f"LIMIT 1)) TO '{path}.new' (FORMAT parquet)")  # fmt: skip
    path.with_name(path.name + ".new").rename(path)
    assert "contradiction" in kinds(tmp_path / "d")


def test_a_folder_by_somebody_else_is_checked_as_far_as_it_goes(tmp_path):
    data = tmp_path / "d" / "data"
    data.mkdir(parents=True)
    row = {"prompt": [{"role": "user", "content": "Why?"}], "chosen": [{"role": "assistant", "content": "So."}]}
    lines = [{**row, "rejected": [{"role": "assistant", "content": text}]} for text in ("No.", "so.")]
    (data / "train.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert kinds(tmp_path / "d") == {"missing", "equal_pair"}


def test_what_is_no_dataset_at_all(tmp_path):
    with pytest.raises(InputError, match="is no folder"):
        check(tmp_path / "nothing")
    with pytest.raises(InputError, match="contains no data file"):
        check(tmp_path)
