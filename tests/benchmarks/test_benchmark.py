import pytest
from metajudge.benchmarks.benchmark import find_folder
from metajudge.benchmarks.judgebench import CARD

from metajudge.errors import InputError


def test_the_parent_folder_and_the_repository_are_found(small, tmp_path):
    parent = tmp_path / "parent"
    parent.mkdir()
    small.rename(parent / "judgebench")
    assert find_folder(CARD, parent) == parent / "judgebench"
    (parent / "upstream" / "outputs").mkdir(parents=True)
    assert find_folder(CARD, parent / "upstream") == parent / "upstream" / "outputs"
    with pytest.raises(InputError, match="no judgments of JudgeBench here"):
        find_folder(CARD, parent / "upstream" / "outputs")
    with pytest.raises(InputError, match="no such file or folder"):
        find_folder(CARD, tmp_path / "nowhere")
