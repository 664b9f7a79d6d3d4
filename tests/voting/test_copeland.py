from metajudge import voting


def test_copeland_counts_level_contests_half():
    found = voting.copeland([["a", "b", "c"], ["b", "a", "c"]])
    assert found.scores == {"a": 1.5, "b": 1.5, "c": 0.0}
