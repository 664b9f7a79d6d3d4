"""A file is replaced whole or not at all."""

import os
import stat

import pytest

from metajudge.files.replacing import replacing, sync


def test_the_file_is_replaced_at_the_end_and_nothing_else_is_left(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    with replacing(path) as part:
        part.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_is_missing_or_in_the_place_is_an_os_error(tmp_path):
    with pytest.raises(FileNotFoundError), replacing(tmp_path / "no" / "a.txt"):
        raise AssertionError("nothing to write to")
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError), replacing(tmp_path / "folder") as part:
        part.write_text("new")
    assert [one.name for one in tmp_path.iterdir()] == ["folder"]


def test_two_writers_at_once_do_not_share_a_part(tmp_path):
    path = tmp_path / "a.txt"
    with replacing(path) as first, replacing(path) as second:
        assert first != second
        first.write_text("first")
        second.write_text("second")
    assert path.read_text() == "first", "the one that ended last"


@pytest.mark.parametrize(("private", "mode"), [(True, 0o600), (False, 0o640)])
def test_who_may_read_it(tmp_path, private, mode):
    earlier = os.umask(0o027)
    try:
        with replacing(tmp_path / "a.txt", private=private) as part:
            part.write_text("new")
    finally:
        os.umask(earlier)
    assert stat.S_IMODE((tmp_path / "a.txt").stat().st_mode) == mode


def test_durable_means_content_before_name_before_return(tmp_path, monkeypatch):
    done = []
    monkeypatch.setattr(
        "metajudge.files.replacing.sync", lambda path: done.append((path.name, (tmp_path / "a").exists()))
    )
    with replacing(tmp_path / "a", durable=True) as part:
        part.write_text("new")
    assert [exists for _, exists in done] == [False, True]
    assert done[1][0] == tmp_path.name


def test_sync_takes_files_and_folders(tmp_path):
    (tmp_path / "a").touch()
    sync(tmp_path / "a")
    sync(tmp_path)
    with pytest.raises(FileNotFoundError):
        sync(tmp_path / "b")
