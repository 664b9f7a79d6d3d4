import gzip

import pytest

from metajudge.errors import InputError
from metajudge.readers.ranking_files import read_ranking_file
from tests.readers.ranking_texts import rankings, written


def test_csv_with_a_ranking_a_row(tmp_path):
    path = written(tmp_path, "b.csv", "voter,weight,ranking\nx,2,b > a=c\ny,,a>b\n")
    assert rankings(path) == [(("b",), ("a", "c")), (("a",), ("b",))]
    assert [ballot.weight for ballot in read_ranking_file(path).ballots] == [2, 1]


def test_csv_with_a_column_a_candidate_has_lower_ranks_first_and_empty_cells_unranked(tmp_path):
    path = written(tmp_path, "b.csv", "judge,a,b,c\nx,2,1,10\ny,1,1,\nz,,,3\n")
    assert rankings(path) == [(("b",), ("a",), ("c",)), (("a", "b"),), (("c",),)]
    assert read_ranking_file(path).candidates == ("a", "b", "c")


def test_csv_with_a_place_a_row(tmp_path):
    path = written(tmp_path, "b.csv", "voter,candidate,rank\nx,a,2\ny,a,1\nx,b,1\ny,b,1\n")
    assert rankings(path) == [(("b",), ("a",)), (("a", "b"),)]


def test_tsv_and_gzip_and_a_byte_order_mark(tmp_path):
    path = tmp_path / "b.tsv.gz"
    path.write_bytes(gzip.compress(b"\xef\xbb\xbfvoter\tranking\nx\ta > b\n"))
    assert rankings(path) == [(("a",), ("b",))]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("voter,candidate,rank\nx,a,1\nx,a,2\n", "ranks a candidate twice"),
        ("voter,candidate,rank,weight\nx,a,1,1\nx,b,2,3\n", "different weights"),
        ("a,b\n1,first\n", "the rank is 'first'"),
        ("a,b\n,\n1\n", "the row has 1 cells, the header 2"),
        ("voter,ranking\nx,a > a\n", "'a' twice"),
        ("candidate,rank\na,1\n", "need a column that names the voter"),
        ("voter,score\nx,1\n", "make no ballots"),
        ("a,a\n1,2\n", "a name of its own"),
        ("", "is empty"),
    ],
)
def test_csv_that_holds_no_ballot_says_why(tmp_path, text, message):
    with pytest.raises(InputError, match=message):
        read_ranking_file(written(tmp_path, "b.csv", text))
