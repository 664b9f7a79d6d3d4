"""Files of ballots, and the rankings read from them."""

from metajudge.readers.ballots import read_ballots


def written(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text, "utf-8")
    return path


def rankings(path):
    found = read_ballots(path)
    assert not found.rejects, found.rejects[0]
    return [ballot.ranking for ballot in found.ballots]
