"""The folder: whole or absent, the same bytes for the same input, resumed where it stopped."""

import hashlib
import json
import os
import signal
import subprocess
import sys

import pytest
import yaml

from metajudge.errors import InputError
from metajudge.exports import ExportRequest, Format, check, export
from metajudge.exports import formats as formats_module
from metajudge.reading import write_jsonl
from metajudge.reading.jsonl import to_line
from tests.exports.stored import filled
from tests.exports.test_cleaning import many
from tests.exports.vetted import assessment, bar, exported, judgment, rows_of


def digests(folder):
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.fixture
def files(tmp_path):
    judgments = many(80)
    write_jsonl(tmp_path / "judgments.jsonl", judgments)
    lines = [assessment(one).model_dump_json() + "\n" for one in judgments]
    (tmp_path / "assessments.jsonl").write_text("".join(lines))
    return {"judgments": [tmp_path / "judgments.jsonl"], "assessments": tmp_path / "assessments.jsonl"}


def python(tmp_path, files, before="", options=""):
    """Exports the files to ``d`` in a process of its own, after some lines."""
    given = f"judgments=[{str(files['judgments'][0])!r}], assessments={str(files['assessments'])!r}"
    program = f"""
import os, resource, signal
from metajudge.exports import ExportRequest, export
from metajudge.errors import InputError
{before}
try:
    export({str(tmp_path / "d")!r}, ExportRequest(), {given}{options})
except InputError as error:
    print("refused:", error)
"""
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)


REQUEST = ExportRequest(split=(0.8, 0.1, 0.1), dedupe=True, shard_rows=30)


@pytest.mark.parametrize("layout", ["trl", "jsonl"])
def test_the_same_input_and_seed_give_the_same_bytes(tmp_path, files, layout):
    request = REQUEST.model_copy(update={"format": Format(layout)})
    for name in ("one", "two"):
        export(tmp_path / name, request, **files)
    assert digests(tmp_path / "one") == digests(tmp_path / "two")
    assert len(list((tmp_path / "one" / "data").glob("train-*"))) == 3


def test_an_export_that_was_cut_off_goes_on_and_ends_in_the_same_bytes(tmp_path, files, monkeypatch):
    export(tmp_path / "whole", REQUEST, **files)
    write, written = formats_module._write, []

    def interrupted(*arguments):
        if len(written) == 2:
            raise KeyboardInterrupt
        written.append(arguments[2].name)
        write(*arguments)

    monkeypatch.setattr(formats_module, "_write", interrupted)
    with pytest.raises(KeyboardInterrupt):
        export(tmp_path / "d", REQUEST, **files)
    assert not (tmp_path / "d").exists()
    monkeypatch.setattr(formats_module, "_write", lambda *a: (written.append(a[2].name), write(*a)))
    result = export(tmp_path / "d", REQUEST, **files)
    assert result.resumed == ("read", "select", "pair", "measure texts", "clean", "split")
    assert len(written) == len(set(written)), "a shard that was finished is not written again"
    assert digests(tmp_path / "d") == digests(tmp_path / "whole")
    assert not list(tmp_path.glob(".*partial"))


def test_work_left_over_from_another_request_is_not_taken_up(tmp_path, files, monkeypatch):
    monkeypatch.setattr(formats_module, "_write", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        export(tmp_path / "d", REQUEST, **files)
    monkeypatch.undo()
    result = export(tmp_path / "d", REQUEST.model_copy(update={"seed": 5}), **files)
    assert result.resumed == ()


@pytest.mark.slow
def test_a_full_disk_leaves_no_folder_and_says_so(tmp_path, files):
    """The kernel refuses to let a file grow beyond a limit, as a full disk would."""
    full = "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\nresource.setrlimit(resource.RLIMIT_FSIZE, ({}, -1))"
    for limit in (5_000, 20_000, 100_000):
        done = python(tmp_path, files, full.format(limit))
        assert "refused:" in done.stdout, done.stdout + done.stderr
        assert "was not written" in done.stdout
        assert "give the same command again" in done.stdout
        assert not (tmp_path / "d").exists()
    assert sum(export(tmp_path / "d", ExportRequest(), **files).rows.values()) == 80


def test_an_error_while_a_shard_is_written_is_told_in_words(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(formats_module, "_write", full)
    with pytest.raises(InputError, match="the disk is full"):
        exported(tmp_path / "d", [judgment(0)])
    assert not (tmp_path / "d").exists()


def test_a_killed_process_leaves_nothing_that_looks_whole(tmp_path, files):
    kill = "watch = lambda name, *_: os.kill(os.getpid(), signal.SIGKILL) if name == 'clean' else None"
    done = python(tmp_path, files, kill, ", watch=watch")
    assert done.returncode == -signal.SIGKILL
    assert not (tmp_path / "d").exists()
    result = export(tmp_path / "d", ExportRequest(), **files)
    assert result.resumed == ("read", "select", "pair", "measure texts")
    assert result.rows == {"train": 80}


def test_an_output_folder_that_exists_is_refused_and_left_alone(tmp_path):
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "mine.txt").write_text("mine")
    with pytest.raises(InputError, match="exists already"):
        exported(tmp_path / "d", [judgment(0)])
    assert os.listdir(tmp_path / "d") == ["mine.txt"]
    with pytest.raises(InputError, match="does not exist; create it first"):
        exported(tmp_path / "no" / "d", [judgment(0)])


@pytest.mark.parametrize("kind", ["responses", "judgments"])
@pytest.mark.parametrize("layout", list(Format))
def test_every_format_passes_its_own_check(tmp_path, kind, layout):
    judgments = []
    for number in range(12):
        judgments += [judgment(number), judgment(number, judge="jay", verdict="B>A")]
    vetted = [assessment(one, one.judge == "owl") for one in judgments]
    result, rows = exported(tmp_path / "d", judgments, vetted, kind=kind, format=layout, split=(0.7, 0.3))
    assert check(tmp_path / "d").faults == []
    assert sum(result.rows.values()) == len(rows) >= 12
    header = yaml.safe_load((tmp_path / "d" / "README.md").read_text().split("---\n")[1])
    named = {feature["name"] for feature in header["dataset_info"]["features"]}
    assert named == set(rows[0]) - {"split"}


def test_a_store_gives_the_same_rows_as_the_files_it_was_made_from(tmp_path):
    judgments = [judgment(number, label="A>B", category="C") for number in range(6)]
    judgments += [judgment(6, verdict=[["A"], ["B"]]), judgment(7, verdict="B>>A", order=("B", "A"))]
    vetted = [assessment(one, number != 2, probability=0.5 + number / 20, guarantee=bar())
              for number, one in enumerate(judgments)]  # fmt: skip
    pairs = list(zip(judgments, vetted, strict=True))
    early = [(said, found.model_copy(update={"accepted": False}), "run-1") for said, found in pairs]
    store = filled(tmp_path / "s.duckdb", [one for both in zip(early, pairs, strict=True) for one in both])
    _, rows = exported(tmp_path / "files", judgments, vetted)
    result = export(tmp_path / "store", store=store)
    assert rows_of(tmp_path / "store") == rows
    assert result.stats["read"]["superseded"] == 8
    with pytest.raises(InputError, match="8 discarded"):
        export(tmp_path / "early", store=store, run="run-1")
    with pytest.raises(InputError, match="has no run 'nowhere': there are run, run-1"):
        export(tmp_path / "none", store=store, run="nowhere")


def test_forgotten_texts_are_not_exported(tmp_path):
    judgments = [judgment(0), judgment(1)]
    records = [(said, assessment(said)) for said in judgments for _ in range(2)]
    result = export(tmp_path / "d", store=filled(tmp_path / "s.duckdb", records, forget=["item-0"]))
    assert [row["item_id"] for row in rows_of(tmp_path / "d")] == ["item-1"]
    assert result.stats["read"]["forgotten"] == 1


def test_two_contents_under_one_item_id_are_an_error_in_files(tmp_path):
    with pytest.raises(InputError, match="item 'item-0' has two different contents"):
        exported(tmp_path / "d", [judgment(0), judgment(0, judge="jay", question="Something else?")])


def test_assessments_that_do_not_fit_their_judgments_are_errors(tmp_path):
    one, other = judgment(0), judgment(1)
    with pytest.raises(InputError, match="several different assessments, the first 'item-0/owl/AB'"):
        exported(tmp_path / "d", [one], [assessment(one), assessment(one, False)])
    with pytest.raises(InputError, match="1 assessments have no judgment in the input, the first 'item-1/owl/AB'"):
        exported(tmp_path / "d", [one], [assessment(one), assessment(other)])
    with pytest.raises(InputError, match="the ids contradict each other"):
        exported(tmp_path / "d", [one], [assessment(one, item_id="item-9")])
    with pytest.raises(InputError, match="assessments contain no texts"):
        export(tmp_path / "d", assessments=[assessment(one)])
    with pytest.raises(InputError, match="nothing says which to keep"):
        export(tmp_path / "d", judgments=[one])
    assert os.listdir(tmp_path) == []


@pytest.mark.slow
def test_two_exports_to_one_place_do_not_mix(tmp_path, files):
    seen = []

    def watch(name, *_):
        if name == "pair":
            seen.append(python(tmp_path, files))

    export(tmp_path / "d", ExportRequest(), watch=watch, **files)
    assert "by another process" in seen[0].stdout


@pytest.mark.slow
@pytest.mark.parametrize("layout", list(Format))
def test_datasets_reads_each_of_two_folders_of_one_name_as_it_is(tmp_path, layout):
    """Of one cache; the second differs in one letter of one word: its JSONL is as long as the first one's."""
    swapped = [one.model_validate_json(one.model_dump_json().replace("tetas", "tetos")) for one in many(60)]
    wanted = []
    for name, judgments in (("one", many(60)), ("two", swapped)):
        (tmp_path / name).mkdir()
        _, rows = exported(
            tmp_path / name / "pairs", judgments, format=layout, split=(0.8, 0.1, 0.1), dedupe=False, shard_rows=20
        )
        wanted.append(sorted(f"{row['split']} {row['chosen' if 'chosen' in row else 'completion']}" for row in rows))
    program = f"""
import json
from datasets import load_dataset
for name in ("one", "two"):
    found = load_dataset(f"{tmp_path}/{{name}}/pairs", cache_dir={str(tmp_path / "cache")!r})
    print(json.dumps(sorted(
        f"{{part}} {{row['chosen' if 'chosen' in row else 'completion']}}" for part, rows in found.items() for row in rows
    )))
"""
    env = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "home")}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=env, timeout=110)
    assert done.returncode == 0, done.stderr[-2000:]
    assert [json.loads(line) for line in done.stdout.splitlines()] == wanted
    assert wanted[0] != wanted[1]


def test_repeated_judgments_count_once_and_bad_lines_are_counted(tmp_path):
    judgments = [judgment(0, judge=f"judge-{number}") for number in range(8)]
    other = judgment(9, id=judgments[0].id, item_id="other")
    lines = [b"nonsense\n", *map(to_line, [*judgments, judgments[0], other]), b'{"id": 3}\n', b"\xff\n"]
    (tmp_path / "judgments.jsonl").write_bytes(b"".join(lines))
    request = ExportRequest.model_validate({"selection": {"rule": "all"}})
    result = export(tmp_path / "out", request, judgments=[tmp_path / "judgments.jsonl"])
    assert (result.stats["read"]["judgments"], result.stats["read"]["unreadable_lines"]) == (8, 4)
    assert sum(result.rows.values()) == 1
