"""``metajudge import``: a conversation on a terminal, flags in scripts."""

import os
import pty
import select
import subprocess
import sys
from pathlib import Path

import pytest

TABLE = "xyz,foo,bar,baz\n" + "".join(f"Why {n}?,a{n},b{n},{'foo' if n % 2 else 'bar'}\n" for n in range(6))


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "t.csv").write_text(TABLE)
    return tmp_path


def run(folder, *words, stdin=subprocess.DEVNULL):
    return subprocess.run(
        [sys.executable, "-m", "metajudge", *words],
        cwd=folder,
        stdin=stdin,
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.mark.slow
def test_a_script_is_told_what_to_pass_and_yes_with_it_saves(folder):
    refused = run(folder, "import", "t.csv")
    assert refused.returncode == 2
    assert "standard input is none: give --yes" in refused.stderr
    assert "--judge NAME" in refused.stderr
    assert not (folder / "metajudge-inputs.toml").exists()
    open_still = run(folder, "import", "t.csv", "--yes")
    assert (open_still.returncode, "Give --judge NAME" in open_still.stderr) == (2, True)
    done = run(folder, "import", "t.csv", "--yes", "--judge", "gpt")
    assert (done.returncode, done.stderr) == (0, "")
    assert "6 judgments by gpt 6; verdicts: B>A 3, A>B 3" in done.stdout
    assert done.stdout.count("gpt says") == 3, "three judgments, as they will be read"
    assert '"judge" = "gpt"' in (folder / "metajudge-inputs.toml").read_text()


@pytest.mark.slow
def test_a_conversation_ends_with_a_mapping_that_vet_uses(folder):
    done = talk(folder, ["import", "t.csv"], ["gpt", ""])
    assert "Who judged: a column, or a name for all rows?" in done
    assert "baz  bar | foo" in done
    assert "Saved in metajudge-inputs.toml: 6 judgments" in done
    vetted = run(folder, "vet", "t.csv", "--json")
    assert '"judgments":6' in vetted.stdout
    left = talk(folder, ["import", "t.csv"], ["q"])
    assert "Nothing was saved." in left


def talk(folder: Path, words: list[str], answers: list[str]) -> str:
    """What a terminal shows; each answer is given when a question stands at the end of the output."""
    child, screen = pty.fork()
    if child == 0:
        os.chdir(folder)
        os.execv(sys.executable, [sys.executable, "-m", "metajudge", *words])
    shown, waiting = "", list(answers)
    while True:
        select.select([screen], [], [], 60)
        try:
            piece = os.read(screen, 65536).decode()
        except OSError:
            break
        if not piece:
            break
        shown += piece
        if waiting and shown.endswith(": "):
            os.write(screen, f"{waiting.pop(0)}\n".encode())
    os.waitpid(child, 0)
    os.close(screen)
    return shown
