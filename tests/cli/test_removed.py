"""What was removed is answered by one sentence that names its substitute."""

import pytest

from metajudge.cli import boundary
from metajudge.cli.boundary import guarded
from metajudge.errors import ConfigurationError
from metajudge.panels.config import panel_config

AGENT = {"model": "openai:m"}


@pytest.mark.parametrize(
    ("words", "substitute"),
    [
        ("local", "ollama:NAME"),
        ("local install --folder models", "openai:NAME@http://localhost:PORT"),
        ("local list", "lmstudio:NAME"),
        ("calibrate cascade --data x --out p.json", "weighted_average or majority_vote"),
        ("calibrate weights --data x", "--agent-scores FILE"),
        ("peers --json=f.json", "--json-out FILE"),
    ],
)
def test_the_command_line_ends_with_one_sentence_and_no_other_hint(words, substitute, capsys):
    assert guarded(words.split()) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("metajudge: ")
    assert substitute in line
    assert "Did you mean" not in line


@pytest.mark.parametrize("path", [*boundary.COMMANDS, "bench live run"])
def test_every_removed_command_has_its_sentence(path):
    found = boundary.sentence(
        f"No such command {path.split()[-1]!r}. Did you mean 'list'?", [*path.split(), "--x", "y"]
    )
    assert found.startswith("`metajudge ")
    assert any(found.endswith(said) for said in boundary.COMMANDS.values())


@pytest.mark.parametrize("path", boundary.OPTIONS)
def test_every_removed_option_has_its_sentence(path):
    *_, option = words = path.split()
    assert boundary.sentence(f"No such option: {option} (Possible options: --x)", words).startswith(option)


@pytest.mark.parametrize(("problem", "words"), [("No such command 'vett'.", ["vett"]), ("Missing argument", ["local"])])
def test_other_usage_errors_speak_for_themselves(problem, words):
    assert boundary.sentence(problem, words) is None


@pytest.mark.parametrize(
    ("panel", "substitute"),
    [
        ({"agents": [AGENT], "strategy": "cascade"}, "use weighted_average or majority_vote"),
        ({"agents": [AGENT], "cascade": {"plan": "p.json"}}, "use weighted_average or majority_vote"),
        ({"agents": [AGENT], "routes": {"Math": {"strategy": "cascade"}}}, r"routes\.Math: strategy cascade"),
        ({"agents": [{**AGENT, "score": "expected"}]}, "use samples = 5"),
    ],
)
def test_a_panel_with_something_removed_is_refused_with_its_substitute(panel, substitute):
    with pytest.raises(ConfigurationError, match=substitute):
        panel_config(panel)
