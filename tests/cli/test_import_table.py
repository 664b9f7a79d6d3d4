"""``metajudge import``: a conversation on a terminal."""

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
