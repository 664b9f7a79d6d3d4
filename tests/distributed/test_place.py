"""A folder by its path or URL."""

import pickle

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from metajudge.distributed.place import Place
from metajudge.errors import ConfigurationError, StoreError

TABLE = pa.table({"x": [1, 2, 3]})


@pytest.fixture(params=["path", "url"])
def place(request, tmp_path):
    where = tmp_path / "out"
    return Place(where if request.param == "path" else where.as_uri(), "inner")


def test_what_is_written_is_read_listed_and_removed(place, tmp_path):
    place.write("a.json", b"{}")
    place.write_table("b.parquet", TABLE, rows_a_group=1)
    assert place.path == tmp_path / "out" / "inner"
    assert (place.read_bytes("a.json"), place.read_bytes("c")) == (b"{}", None)
    assert place.names_of() == ["a.json", "b.parquet"]
    assert place.read(pc.field("x") > 1)["x"].to_pylist() == [2, 3]
    place.delete(["a.json", "never there"])
    assert place.names_of() == ["b.parquet"]
    place.clear()
    assert place.names_of() == []
    assert place.read(schema=TABLE.schema).num_rows == 0


def test_it_can_be_sent_to_another_process(place):
    place.write("a", b"1")
    assert pickle.loads(pickle.dumps(place)).read_bytes("a") == b"1"


def test_a_file_that_cannot_be_written_leaves_nothing_behind(place, tmp_path, monkeypatch):
    def full(*_args, **_options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pq, "write_table", full)
    with pytest.raises(StoreError, match="No space left"):
        place.write_table("a.parquet", TABLE)
    assert list((tmp_path / "out" / "inner").iterdir()) == []


@pytest.mark.parametrize("where", ["nowhere://bucket/folder", "s3:///folder"])
def test_a_url_of_no_known_kind_is_refused(where):
    with pytest.raises(ConfigurationError, match=r"--out .* s3://BUCKET/FOLDER"):
        Place(where).names_of()
