"""What is advised runs: commands are collected from outputs and executed on the input that printed them.

Words in capitals stand for what only the reader knows, and get a value here: a person, a stored judgment, a model at an
address where nobody answers (such a command gets ``--dry-run``; ``check``, which only asks, is left out). A sheet that people fill in is filled in. ``import``
asks on a terminal, and says so without one. A command without a word of its own is a name: it must exist.
"""

import contextlib
import html
import re
import shlex
from pathlib import Path

import pytest
import typer

from metajudge.cli.app import app
from tests.doubles.degenerate import records, written
from tests.stored.commands import run

NAMES = typer.main.get_command(app).commands
NOBODY = "vllm:m@http://127.0.0.1:9/v1"
MODELS = {
    "openai:gpt-4o-mini": NOBODY,
    "anthropic:claude-sonnet-4-5": NOBODY.replace(":m@", ":n@"),
    "PROVIDER:MODEL": NOBODY,
}
TABLE = Path(__file__).parents[1] / "benchmarks" / "sample" / "audit"


def advised(text):
    """Commands in a text, in its order: in backquotes, or to the end of the line or of the part."""
    found = []
    for quoted, plain in re.findall(r"`metajudge ([^`\n]+)`|metajudge ([^`\n<]+)", html.unescape(text)):
        line = quoted or re.split(r"  +|; | \(|, (?=[a-z])|\.$", plain)[0].rstrip(".:")
        with contextlib.suppress(ValueError):  # a quotation mark of the sentence around it
            words = shlex.split(line)
            if words and words[0] in NAMES and words not in found:
                found.append(words)
    return found


def is_name(words):
    """Whether a command is only named: it stops before any argument or option."""
    command = NAMES[words[0]]
    for word in words[1:]:
        if word not in getattr(command, "commands", {}):
            return False
        command = command.commands[word]
    return not command.params or words[0] not in ("runs", "demo")


def ready(words, judgment):
    """The words with a value for each that stands for one."""
    given = {"NAME": "ann", "JUDGMENT_ID": judgment, "FILE": "x.jsonl", **MODELS}
    asks = any(word in MODELS or (word, words[0]) == ("--config", "vet") for word in words) and "--dry-run" not in words
    return [given.get(word, word) for word in words] + (["--dry-run"] if asks else [])


def executed(first, judgment="a-0", fill=None):
    """Runs a command and all that it advises; returns what was advised."""
    done = run(*first)
    assert done.code in (0, 1), (first, done.stderr)
    texts = [done.stdout, done.stderr, *(Path(word).read_text() for word in first if word.endswith(".html"))]
    commands = [words for words in advised("\n".join(texts)) if not is_name(words) and words[0] != "check"]
    if fill is not None:
        fill()
    for words in commands:
        then = run(*ready(words, judgment))
        asks = words[0] == "import" and "asks on a terminal" in then.stderr
        # 1 is an answer: no threshold passes, rows that cannot be read are listed, something is missing
        assert then.code == 0 or asks or (then.code == 1 and words[0] in ("calibrate", "inspect", "doctor")), (
            words,
            then.stderr,
        )
    return commands


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("METAJUDGE_STORE", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path


SHAPES = [
    *(("pairwise", shape) for shape in ("constant", "identical", "unlabelled", "missing", "ties", "single")),
    *(("grade", shape) for shape in ("constant", "identical", "constant_wrong", "unlabelled")),
    ("category", "tied_labels"),
    ("ranking", "constant"),
]


@pytest.mark.parametrize(("kind", "shape"), SHAPES)
def test_the_next_commands_of_an_audit_and_a_run_run(folder, kind, shape):
    name = written(folder / "my verdicts.jsonl", records(kind, shape)).name
    told = executed(["audit", name])
    if shape in ("constant_wrong", "tied_labels") and kind != "pairwise":
        assert not [words for words in told if words[0] == "calibrate"], "nothing could be fitted"
    if (kind, shape) == ("grade", "identical"):
        calibrates = [words[:2] for words in told if words[0] == "calibrate"]
        assert calibrates == [["calibrate", "fit"], ["calibrate", "threshold"]]
    for options in (["--policy", "verdict_score", "--review-sample", "1"], ["--report", "v.html"]):
        executed(["vet", name, "--store", "my store.db", *options])
    for command in ("inspect", "import"):
        executed([command, name])


def test_labels_are_asked_for_in_a_sheet_that_the_next_command_reads(folder):
    name = written(folder / "x.jsonl", records("pairwise", "unlabelled")).name
    assert ["audit", name, "--out", "audit"] in executed(["audit", name])

    def fill():
        sheet = folder / "audit" / "to-label.csv"
        head, *rows = sheet.read_text().splitlines()
        sheet.write_text("\n".join([head, *(row.replace(",,,", ",A,ann,", 1) for row in rows)]) + "\n")

    told = executed(["audit", name, "--out", "audit"], fill=fill)
    assert ["audit", name, "--labels", "audit/to-label.csv"] in told


def test_a_table_with_labels_of_its_own_file_is_named_with_its_columns(folder):
    for name in ("grades.csv", "people.csv"):
        (folder / name).write_text((TABLE / name).read_text())
    told = executed(["audit", "grades.csv", "--labels", "people.csv"])
    assert [words[1] for words in told if words[0] == "calibrate"] == ["fit", "threshold"]


def test_the_other_commands_that_advise(folder):
    judgment = "code-4/kestrel-mini/BA"
    run("demo", "--save", "x.jsonl")
    executed(["demo", "--save", "my sample.jsonl"], judgment)
    executed(["init", "my panel.toml", "--agent", NOBODY, "--force"])
    executed(["vet", "x.jsonl", "--store", "s.db", "--policy", "verdict_score", "--review-sample", "1"], judgment)
    told = executed(["show", run("runs", "--store", "s.db").stdout.split()[0], "--store", "s.db"])
    assert all(words[-2:] == ["--store", "s.db"] for words in told)
    review = run("review", "list", "--store", "s.db").stdout.split()[0]
    executed(["review", "claim", review, "--reviewer", "ann", "--store", "s.db"])
    executed(["export", "preferences", "--store", "s.db", "--ignore-decisions", "--out", "my pairs"])
