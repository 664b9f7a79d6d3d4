"""Former forms of options: understood one version longer, with a note."""

import pytest

from metajudge.cli.former_options import modern


@pytest.mark.parametrize(
    ("given", "now", "noted"),
    [
        ("bench judgebench --json", "bench judgebench --json", False),
        ("bench judgebench --json f.json --seed 1", "bench judgebench --json-out f.json --seed 1", True),
        ("peers --json=f.json", "peers --json-out f.json", True),
        ("clash --json -", "clash --json", False),
        ("clash --json prompt", "clash --json prompt", False),
        ("clash --json-out f.json", "clash --json-out f.json", False),
        ("clash -- --json f.json", "clash -- --json f.json", False),
        ("vet --json f.json", "vet --json f.json", False),
        ("", "", False),
    ],
)
def test_a_file_behind_json_is_that_of_json_out(given, now, noted, capsys):
    assert modern(given.split()) == now.split()
    assert ("--json FILE is deprecated: write --json-out" in capsys.readouterr().err) is noted
