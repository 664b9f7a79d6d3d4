"""Help, reference, completion, ``metajudge init``, and small commands."""

import json
import os
import pty
import random
import shlex
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest
import typer
from typer.testing import CliRunner

from metajudge.cli.app import app
from metajudge.cli.help import written
from metajudge.cli.options import STRATEGIES, complete_agent, complete_policy, complete_strategy
from metajudge.cli.reference import leaves, reference
from metajudge.panels.config import Strategy, load_panel_file
from tests.doubles.llm_server import LLMServer

ROOT = typer.main.get_command(app)
LEAVES = dict(leaves(ROOT, ""))
PAGE = Path(__file__).parents[2] / "docs" / "cli.md"


@pytest.mark.parametrize("name", LEAVES)
def test_examples_parse_with_everything_that_is_required(name):
    command = LEAVES[name]
    for line in written().examples[name]:
        context = command.context_class(command, info_name=name, **command.context_settings)
        given, _, _ = command.make_parser(context).parse_args(shlex.split(line))
        missing = [one.name for one in command.params if one.required and given.get(one.name) in (None, ())]
        assert not missing, line


def test_the_page_of_the_documentation_is_that_of_the_code():
    assert PAGE.read_text("utf-8") == reference(), "run: python -m metajudge.cli.reference > docs/cli.md"


def test_values_are_completed_with_their_meanings_and_from_what_there_is():
    assert [value for value, _ in complete_strategy("s")] == ["single", "signals"]
    assert complete_policy("verdict") == ["verdict", "verdict_score"]
    assert "openai:" in complete_agent("open")
    assert {value for value, _ in STRATEGIES} == set(get_args(Strategy)), "every strategy, and no other"


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


run = CliRunner().invoke


def test_what_follows_the_name_goes_to_it(tmp_path):
    out = tmp_path / "fuzz.json"
    done = run(app, ["bench", "perf", "fuzz", "--replies", "70", "--seed", "3", "--json-out", str(out)])
    assert done.exit_code == 0
    assert "70 replies, seed 3" in done.output
    assert '"replies": 70' in out.read_text()


@pytest.mark.slow
def test_a_time_limit_that_comes_first_is_exit_code_1_with_the_bound(metajudge, tmp_path):
    source = random.Random(1)
    names = [f"m{i}" for i in range(60)]
    path = tmp_path / "hard.jsonl"
    path.write_text("\n".join(json.dumps({"ranking": source.sample(names, 60)}) for _ in range(7)), "utf-8")
    done = metajudge("rank", path, "--time-limit", "0.000001", "--json")
    assert done.returncode == 1
    data = json.loads(done.stdout)
    assert data["proven"] is False
    assert data["bound"] < data["cost"]
    assert "no order costs less than" in done.stderr


@pytest.mark.slow
def test_a_model_that_cannot_is_exit_code_1_with_the_kind_of_failure(metajudge):
    (metajudge.folder / "reviews.md").write_text("- right verdict\n- quotes the code\n")
    with LLMServer(answer=lambda _body: json.dumps({"title": "x"})) as server:
        done = metajudge("rubric", "refine", "reviews.md", "--model", f"openai:m@{server.url}", "--out", "r.yaml")
    assert done.returncode == 1
    assert "no rubric (bad_reply)" in done.stderr
    assert not (metajudge.folder / "r.yaml").exists()
