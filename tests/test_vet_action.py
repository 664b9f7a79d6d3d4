"""The GitHub Action: its script, run as a runner runs it, with the runner's variables."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.doubles.crowds import crowd

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / ".github" / "actions" / "vet"
SAMPLE = ROOT / "benchmarks" / "sample" / "judgments.jsonl"
STUB = """#!/bin/sh
printf '%s\\n' "$@" > "$STUB_ARGUMENTS"
for one in "$@"; do case "$one" in --markdown=*) printf "$STUB_COMMENT" > "${one#--markdown=}" ;; esac; done
echo '{"kept": 1}'
echo "::set-output name=x::y" >&2
exit "$STUB_CODE"
"""


class Runner:
    """A runner's variables, and a command of ours that only notes what it was given."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        stub = folder / "bin" / "metajudge"
        stub.parent.mkdir()
        stub.write_text(STUB)
        stub.chmod(0o755)
        self.summary, self.output = folder / "summary.md", folder / "output"

    def run(self, *, code: int = 0, comment: str = "kept 1", real: bool = False, **inputs: str) -> tuple[int, str]:
        path = f"{Path(sys.executable).parent if real else self.folder / 'bin'}:{os.environ['PATH']}"
        given = {f"METAJUDGE_ACTION_{name.upper()}": text for name, text in inputs.items()}
        runner = {
            "PATH": path,
            "GITHUB_ACTIONS": "true",
            "RUNNER_TEMP": str(self.folder / "temp"),
            "GITHUB_STEP_SUMMARY": str(self.summary),
            "GITHUB_OUTPUT": str(self.output),
            "STUB_ARGUMENTS": str(self.folder / "arguments"),
            "STUB_COMMENT": comment,
            "STUB_CODE": str(code),
        }
        done = subprocess.run(
            ["bash", str(FOLDER / "run.sh")],
            cwd=self.folder,
            env={**os.environ, **runner, **given},
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout + done.stderr

    @property
    def arguments(self) -> list[str]:
        return (self.folder / "arguments").read_text().splitlines()

    @property
    def outputs(self) -> dict[str, str]:
        """The step's outputs, as the runner reads them."""
        found, lines = {}, iter(self.output.read_text().splitlines())
        for line in lines:
            name, sign, text = line.partition("<<")
            if sign and "=" not in name:
                found[name] = "\n".join(iter(lambda: next(lines), text))
            else:
                name, _, found[name.partition("=")[0]] = line.partition("=")
        return found


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    return Runner(tmp_path)


def test_inputs_become_one_argument_each_and_never_commands(runner: Runner) -> None:
    code, _ = runner.run(
        files="a file.jsonl\n\n  \n$(touch pwned); b.jsonl\r\n",
        agents="openai:gpt-4o-mini\nanthropic:x",
        labels="people.csv",
        fail_under="precision=0.9",
        budget_usd="2",
    )
    out = runner.folder / "temp" / "metajudge"
    assert code == 0
    assert runner.arguments == [
        "vet",
        "--labels=people.csv",
        "--agent=openai:gpt-4o-mini",
        "--agent=anthropic:x",
        "--fail-under=precision=0.9",
        "--budget-usd=2",
        f"--store={out / 'metajudge.db'}",
        f"--out={out / 'assessments.jsonl'}",
        f"--markdown={out / 'comment.md'}",
        "--json",
        "--",
        "a file.jsonl",
        "$(touch pwned); b.jsonl",
    ]
    assert not (runner.folder / "pwned").exists()


def test_summary_and_outputs_are_written_and_a_missed_bar_fails_the_step(runner: Runner) -> None:
    code, shown = runner.run(files="x", code=5, comment="kept 1\\ncomment-file=elsewhere\\n")
    assert code == 5
    assert runner.summary.read_text() == "kept 1\ncomment-file=elsewhere\n"
    out = runner.folder / "temp" / "metajudge"
    assert runner.outputs == {
        "exit-code": "5",
        "comment-file": str(out / "comment.md"),
        "json-file": str(out / "vet.json"),
        "comment": "kept 1\ncomment-file=elsewhere\n",
    }
    assert json.loads((out / "vet.json").read_text()) == {"kept": 1}
    stop, mark = next(line for line in shown.splitlines() if line.startswith("::stop-commands")).rsplit("::", 1)
    assert stop == "::stop-commands"
    assert f"::{mark}::" in shown  # what a file says stands between the two


def test_a_long_comment_is_cut_and_says_so(runner: Runner) -> None:
    runner.run(files="x", comment="é" * 40_000)
    comment = runner.outputs["comment"]
    assert comment.rstrip().endswith("(cut here)")
    assert len(comment.encode()) < 60_100


@pytest.mark.parametrize(
    ("inputs", "said"), [({"files": " \n"}, "names no file"), ({"files": "x", "command": "rm"}, "vet or audit")]
)
def test_inputs_that_make_no_sense_are_errors(runner: Runner, inputs: dict[str, str], said: str) -> None:
    code, shown = runner.run(**inputs)
    assert (code, said in shown) == (2, True)
    assert not (runner.folder / "arguments").exists()


def test_a_run_that_wrote_no_report_shows_its_messages(runner: Runner) -> None:
    code, _ = runner.run(files="x", command="audit", fail_on="any", code=2)
    assert (code, runner.arguments[:2]) == (2, ["audit", "--fail-on=any"])
    assert runner.outputs["comment"].startswith("### metajudge audit ended with exit code 2\n\n    ::set-output")


def test_the_action_interpolates_nothing_into_a_shell() -> None:
    action = yaml.safe_load((FOLDER / "action.yml").read_text())
    steps = action["runs"]["steps"]
    assert all("${{" not in step["run"] for step in steps)
    passed = {text for step in steps for text in step.get("env", {}).values()}
    assert passed == {f"${{{{ inputs.{name} }}}}" for name in action["inputs"] if name != "install"}
    named = {name.removeprefix("METAJUDGE_ACTION_") for step in steps for name in step.get("env", {})}
    script = (FOLDER / "run.sh").read_text()
    assert all(f"METAJUDGE_ACTION_{name}:-" in script for name in named)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("inputs", "code", "said"),
    [
        (
            {"fail_under": "precision=0.995\nkept=0.1"},
            5,
            "**missed**: precision 0.9926 (400 of 403 kept are right; 95 % interval by question 95.3 to 99.9 %)",
        ),
        ({"fail_under": "kept=0.1"}, 0, "- reached: kept 0.8396 (403 of 480 kept) reaches 0.1"),
        ({"command": "audit", "fail_on": "position", "files": str(SAMPLE)}, 5, "Jury"),
    ],
)
def test_the_real_command(runner: Runner, inputs: dict[str, str], code: int, said: str) -> None:
    """Vets a file with enough labels that something is kept by them, of which not all is right."""
    judgments = crowd(120, skills={"owl": 0.9, "wren": 0.8})
    (runner.folder / "labelled.jsonl").write_text("".join(f"{one.model_dump_json()}\n" for one in judgments))
    found, shown = runner.run(real=True, **{"files": "labelled.jsonl"} | inputs)
    assert found == code, shown
    assert said in runner.summary.read_text()
    assert runner.outputs["comment"].strip() == runner.summary.read_text().strip()
    assert json.loads(Path(runner.outputs["json-file"]).read_text())
