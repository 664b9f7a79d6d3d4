import dataclasses
import subprocess

import pytest
from metajudge.benchmarks.benchmark import benchmark_named
from metajudge.benchmarks.fetch import fetch

from metajudge.errors import InputError


def git(place, *arguments):
    words = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *arguments]
    return subprocess.run(words, cwd=place, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def repository(tmp_path):
    place = tmp_path / "upstream"
    (place / "data").mkdir(parents=True)
    git(place, "init", "--quiet")
    (place / "data" / "pairs.jsonl").write_text("{}\n")
    git(place, "add", ".")
    git(place, "commit", "--quiet", "-m", "data")
    return place


def card(repository):
    commit = git(repository, "rev-parse", "HEAD")
    return dataclasses.replace(benchmark_named("judgebench").card, repository=repository.as_uri(), commit=commit)


def test_the_files_of_the_commit_arrive_and_nothing_else(repository, tmp_path):
    (repository / "data" / "later.jsonl").write_text("not committed")
    out = tmp_path / "out"
    assert fetch(card(repository), out) == 1
    assert (out / "data" / "pairs.jsonl").read_text() == "{}\n"
    assert [entry.name for entry in out.iterdir()] == ["data"]
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["out", "upstream"]


def test_a_source_without_the_commit_is_refused_and_leaves_nothing(repository, tmp_path):
    wrong = dataclasses.replace(card(repository), commit="e2c52c284e735e139b3daa61c206ee208f36c461")
    with pytest.raises(InputError, match=r"cannot fetch JudgeBench \(commit e2c52c.*nothing was kept"):
        fetch(wrong, tmp_path / "out")
    assert [entry.name for entry in tmp_path.iterdir()] == ["upstream"]


def test_without_a_network_the_error_says_so_and_nothing_is_left(repository, tmp_path):
    with pytest.raises(InputError, match="check the network"):
        fetch(card(repository), tmp_path / "out", source="http://127.0.0.1:9/nothing")
    assert [entry.name for entry in tmp_path.iterdir()] == ["upstream"]


def test_a_damaged_file_in_the_source_does_not_arrive(repository, tmp_path):
    wanted = card(repository)
    blob = git(repository, "rev-parse", "HEAD:data/pairs.jsonl")
    stored = repository / ".git" / "objects" / blob[:2] / blob[2:]
    stored.chmod(0o644)
    import zlib

    stored.write_bytes(zlib.compress(b"blob 3\0[]\n"))
    with pytest.raises(InputError, match="nothing was kept"):
        fetch(wanted, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_folder_with_something_in_it_is_left_alone(repository, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("mine")
    with pytest.raises(InputError, match="not empty"):
        fetch(card(repository), tmp_path / "out")
    assert (tmp_path / "out" / "mine.txt").read_text() == "mine"


def test_without_git_the_error_names_what_to_get(repository, tmp_path, monkeypatch):
    wanted = card(repository)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match=f"git is not installed.*{wanted.commit}"):
        fetch(wanted, tmp_path / "out")
