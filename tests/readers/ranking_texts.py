"""Files of ballots, and the rankings read from them."""

from metajudge.readers.ranking_files import read_ranking_file


def written(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text, "utf-8")
    return path


def rankings(path):
    found = read_ranking_file(path)
    assert not found.rejects, found.rejects[0]
    return [ballot.ranking for ballot in found.ballots]
