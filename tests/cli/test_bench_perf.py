"""``metajudge bench perf NAME``: what follows the name goes to it, and other names are refused."""

from typer.testing import CliRunner

from metajudge.cli.app import app
from metajudge.cli.bench import MEASUREMENTS

run = CliRunner().invoke


def test_what_follows_the_name_goes_to_it(tmp_path):
    out = tmp_path / "fuzz.json"
    done = run(app, ["bench", "perf", "fuzz", "--replies", "70", "--seed", "3", "--json-out", str(out)])
    assert done.exit_code == 0
    assert "70 replies, seed 3" in done.output
    assert '"replies": 70' in out.read_text()


def test_another_name_is_refused_with_the_names_there_are():
    done = run(app, ["bench", "perf", "nothing"])
    assert done.exit_code == 2
    assert all(name in done.output for name in MEASUREMENTS)
