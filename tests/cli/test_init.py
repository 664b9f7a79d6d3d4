"""``metajudge init``: a panel file that is read back as it was meant."""

import os
import pty
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from metajudge.errors import ConfigurationError, RubricError
from metajudge.panels.config import load_panel_file, panel_config
from metajudge.panels.template import panel_text


def test_every_choice_survives_writing_and_reading():
    text = panel_text(
        ["openai:gpt-4o-mini", 'b=anthropic:claude "x"@http://localhost:1'],
        "weighted_average",
        "long",
        threshold=4.0,
        seed=7,
        folder=Path(),
    )
    panel = panel_config(tomllib.loads(text))
    assert [agent.spec() for agent in panel.agents] == [
        "openai:gpt-4o-mini",
        'b=anthropic:claude "x"@http://localhost:1',
    ]
    assert (panel.strategy, panel.rubric, panel.threshold, panel.seed) == ("weighted_average", "long", 4.0, 7)


def test_the_comments_are_settings_that_can_be_used():
    """What stands there as a comment must be legal once the mark is taken away."""
    text = panel_text(["openai:a"], "single", "short", folder=Path())
    settings = [
        line[2:] if line.startswith("# ") and (" = " in line or line.startswith("# [")) else line
        for line in text.splitlines()
        if not line.startswith("# ") or " = " in line or line.startswith("# [")
    ]
    panel = panel_config(tomllib.loads("\n".join(settings)))
    assert panel.limits["openai"].concurrency == 16
    assert panel.routes["math"].threshold == 4.0
    assert panel.seed == 7


def test_a_rubric_file_is_named_relative_to_the_panel_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("panels").mkdir()
    Path("own.yaml").write_bytes((Path(__file__).parents[2] / "rubrics" / "short.yaml").read_bytes())
    text = panel_text(["openai:a"], "single", "own.yaml", folder=Path("panels"))
    Path("panels/panel.toml").write_text(text)
    assert 'rubric = "../own.yaml"' in text
    assert load_panel_file(Path("panels/panel.toml")).rubric == "panels/../own.yaml"


@pytest.mark.parametrize(
    ("agents", "strategy", "said"),
    [
        (["openai:a", "openai:b"], "single", "does not go with 2 agents"),
        ([], "majority_vote", "needs agents"),
        (["openai:a"], "vote", "panel: strategy"),
    ],
)
def test_what_makes_no_sense_together_is_refused(agents, strategy, said):
    with pytest.raises(ConfigurationError, match=said):
        panel_text(agents, strategy, "short", folder=Path())


def test_an_unknown_rubric_is_refused():
    with pytest.raises(RubricError, match="unknown rubric 'shrot'"):
        panel_text(["openai:a"], "single", "shrot", folder=Path())


def test_from_flags_and_never_over_a_file_that_is_there(metajudge):
    done = metajudge("init", "--agent", "openai:gpt-4o-mini", stdin="")
    assert done.returncode == 0, done.stderr
    path = metajudge.folder / "panel.toml"
    written = path.read_text()
    again = metajudge("init", "--agent", "openai:other", stdin="")
    assert again.returncode == 2
    assert "give --force" in again.stderr
    assert path.read_text() == written
    assert metajudge("init", "--agent", "openai:other", "--force", stdin="").returncode == 0
    assert "openai:other" in path.read_text()


def test_without_a_terminal_the_flags_must_say_it(metajudge):
    done = metajudge("init", stdin="openai:a\n")
    assert done.returncode == 2
    assert "no terminal" in done.stderr
    assert "--strategy signals" in done.stderr
    assert not (metajudge.folder / "panel.toml").exists()
    refused = metajudge("init", "--agent", "opnai:a", stdin="")
    assert refused.returncode == 2
    assert "did you mean 'openai'" in refused.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_three_questions_on_a_terminal_and_a_slip_is_asked_again(metajudge):
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "metajudge", "init"]
    with subprocess.Popen(
        command, cwd=metajudge.folder, env=metajudge.env, stdin=theirs, stdout=subprocess.PIPE
    ) as run:
        os.close(theirs)
        os.write(ours, b"openai:a, opnai:b\nopenai:a, b=openai:b\nweighted_average\nnone\nbaseline\n")
        shown = run.communicate(timeout=60)[0].decode()
    os.close(ours)
    assert run.returncode == 0
    panel = load_panel_file(metajudge.folder / "panel.toml")
    assert [agent.spec() for agent in panel.agents] == ["openai:a", "b=openai:b"]
    assert (panel.strategy, panel.rubric) == ("weighted_average", "baseline")
    assert [shown.count(f"{number}. ") for number in (1, 2, 3)] == [1, 1, 1]


def test_shell_completion_is_installed_and_completes(metajudge):
    command = Path(sys.executable).with_name("metajudge")

    def run(*arguments, **environ):
        env = {**metajudge.env, "HOME": str(metajudge.folder), "SHELL": "/bin/bash", **environ}
        return subprocess.run([command, *arguments], env=env, capture_output=True, text=True, timeout=60)

    assert "_metajudge_completion" in run(_METAJUDGE_COMPLETE="source_bash").stdout
    done = run(_METAJUDGE_COMPLETE="complete_bash", COMP_WORDS="metajudge doc", COMP_CWORD="1")
    assert done.stdout.split() == ["doctor"]
    done = run(_METAJUDGE_COMPLETE="complete_bash", COMP_WORDS="metajudge vet --fail", COMP_CWORD="2")
    assert done.stdout.split() == ["--fail-under"]
    installed = run("--install-completion", "bash")
    assert installed.returncode == 0, installed.stderr
    assert (metajudge.folder / ".bash_completions" / "metajudge.sh").read_text().count("_metajudge_completion") >= 2
