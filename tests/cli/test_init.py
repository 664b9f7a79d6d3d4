"""``metajudge init`` as a user types it."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from metajudge.panels.config import load_panel_file


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


@pytest.mark.slow
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
