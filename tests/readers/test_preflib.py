import pytest

from metajudge.errors import InputError
from metajudge.readers.ranking_files import read_ranking_file
from tests.readers.ranking_texts import written

PREFLIB = """# FILE NAME: 00001-00000001.toc
# DATA TYPE: toc
# NUMBER ALTERNATIVES: 3
# NUMBER VOTERS: 5
# ALTERNATIVE NAME 1: Apple pie
# ALTERNATIVE NAME 2: Bread, with salt
# ALTERNATIVE NAME 3: Cake
3: 1,{2,3}
2: 3,2,1
"""


def test_preflib_names_counts_ties_and_commas_in_names(tmp_path):
    found = read_ranking_file(written(tmp_path, "x.toc", PREFLIB))
    assert not found.rejects
    assert found.format == "preflib"
    assert found.candidates == ("Apple pie", "Bread, with salt", "Cake")
    assert [ballot.ranking for ballot in found.ballots] == [
        (("Apple pie",), ("Bread, with salt", "Cake")),
        (("Cake",), ("Bread, with salt",), ("Apple pie",)),
    ]
    assert [ballot.weight for ballot in found.ballots] == [3, 2]


def test_preflib_is_known_by_its_content_and_in_its_former_format(tmp_path):
    assert read_ranking_file(written(tmp_path, "x.txt", PREFLIB)).format == "preflib"
    former = "3\n1,Apple\n2,Bread\n3,Cake\n5,5,2\n3,1,{2,3}\n2,3\n"
    found = read_ranking_file(written(tmp_path, "x.toi", former))
    assert [ballot.ranking for ballot in found.ballots] == [(("Apple",), ("Bread", "Cake")), (("Cake",),)]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("2: 3,2,1\n", "", "announces 5 voters and contains 3: it may be cut off"),
        ("2: 3,2,1", "2: 3,2,4", "candidate 4, which the file does not declare"),
        ("2: 3,2,1", "2: 3,2", "leaves candidates out, and the file is of type toc"),
        ("2: 3,2,1", "2: 3,2,2,1", "names a candidate twice"),
        ("2: 3,2,1", "2: 3,{2,1", "groups are written"),
        ("2: 3,2,1", "many: 3,2,1", "not an order"),
        ("2: 3,2,1", "0: 3,2,1", "not an order"),
        ("DATA TYPE: toc", "DATA TYPE: soc", "has ties, and the file is of type soc"),
    ],
)
def test_preflib_orders_that_contradict_the_file_are_rejected(tmp_path, old, new, message):
    found = read_ranking_file(written(tmp_path, "x.txt", PREFLIB.replace(old, new)))
    assert message in found.rejects[0].reason


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nothing of the kind\n", "begins neither with '#'"),
        ("# DATA TYPE: wmd\n# ALTERNATIVE NAME 1: a\n1: 1\n", "of type 'wmd'"),
        ("# DATA TYPE: soc\n1: 1\n", "names no candidates"),
        ("# ALTERNATIVE NAME 1: a\n# ALTERNATIVE NAME 2: a\n1: 1,2\n", "two candidates one name"),
        ("# ALTERNATIVE NAME 1: a\n", "contains no ballots"),
    ],
)
def test_preflib_that_cannot_be_read(tmp_path, text, message):
    with pytest.raises(InputError, match=message):
        read_ranking_file(written(tmp_path, "x.soc", text))
