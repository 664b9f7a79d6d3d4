"""What the documentation shows is what there is: commands and options exist, marked blocks run, links lead somewhere.

In a page ``<!-- run -->`` before a block has it executed (blocks of a page share a folder with the sample in it), and
``<!-- file: NAME -->`` writes the block to a file there. Blocks without a mark are checked as far as that is possible
without a model: commands and options must exist, Python must compile, TOML and YAML must parse.
"""

import doctest
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest
import typer
import yaml

from metajudge.cli.app import app
from metajudge.cli.bench import MEASUREMENTS, command_of
from tests.docs.figures import PAGES, ROOT

BLOCK = re.compile(r"(?:^<!-- (?P<mark>[^\n]*?) -->\n)?^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.M | re.S)
LINK = re.compile(r"\]\((?!https?://|mailto:)([^)\s#]*)(?:#([^)\s]*))?\)")
COMMAND = re.compile(r"^(?:\$ )?((?:\w+=\S+ )*)metajudge ")


@dataclass(frozen=True)
class Block:
    page: Path
    line: int
    mark: str
    language: str
    text: str

    @property
    def place(self):
        return f"{self.page.name}:{self.line}"

    @property
    def commands(self):
        """Lines that call metajudge, continuation lines joined, up to a pipe or a comment."""
        joined = re.sub(r"\\\n\s*", " ", self.text)
        for line in joined.splitlines():
            if COMMAND.match(line.strip()):
                yield COMMAND.sub("metajudge ", line.strip())


def blocks(page):
    text = page.read_text("utf-8")
    for found in BLOCK.finditer(text):
        line = text.count("\n", 0, found.start()) + 1
        yield Block(page, line, (found["mark"] or "").strip(), found["language"], found["text"])


ALL = [block for page in PAGES for block in blocks(page)]


def words(command):
    """A shell line's words up to the first pipe, redirection or list operator."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars="|&;<>")
    lexer.whitespace_split = True
    lexer.commenters = "#"
    found = []
    for word in lexer:
        if set(word) <= set("|&;<>"):
            break
        found.append(word)
    return found[1:]


def find_command(given):
    """The command that words name, and the words after its name."""
    command, rest = typer.main.get_command(app), list(given)
    while hasattr(command, "commands") and rest and rest[0] in command.commands:
        command = command.commands[rest.pop(0)]
    if given[:2] == ["bench", "perf"] and given[2:3] and given[2] in MEASUREMENTS:
        return typer.main.get_command(command_of(given[2])), given[3:]
    if given[:1] == ["bench"] and hasattr(command, "commands") and rest and (rest[0] == "FILE" or "." in rest[0]):
        return command.commands["file"], rest  # a path in place of a benchmark's name
    return command, rest


def unknown_options(given):
    command, rest = find_command(given)
    if hasattr(command, "commands") and rest and not rest[0].startswith("-"):
        return [f"no command {rest[0]!r}"]
    known = {name for one in command.params for name in (*one.opts, *one.secondary_opts)} | {"-h", "--help"}
    named = [word.partition("=")[0] for word in rest if word.startswith("--") and len(word) > 2]
    return [f"no option {name}" for name in named if name not in known]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_shown_exists_with_its_options(page):
    wrong = [
        f"{block.place}: {command}: {problem}"
        for block in blocks(page)
        if block.language in ("console", "bash", "sh", "")
        for command in block.commands
        if "..." not in command.split()[1:2]
        for problem in unknown_options(words(command))
    ]
    assert wrong == []


def test_a_command_or_an_option_that_is_gone_is_found_out():
    assert unknown_options(["vet", "x", "--no-such-thing"]) == ["no option --no-such-thing"]
    assert unknown_options(["vetting", "x"]) == ["no command 'vetting'"]
    assert unknown_options(["rubric", "shows"]) == ["no command 'shows'"]


@pytest.mark.parametrize("block", [b for b in ALL if b.language in ("python", "toml", "yaml")], ids=lambda b: b.place)
def test_every_listing_parses(block):
    if block.text.startswith(">>>"):
        assert doctest.DocTestParser().get_examples(block.text)
    elif block.language == "python":
        compile(block.text, block.place, "exec", flags=0x2000)  # top-level await, as notebooks have it
    elif block.language == "toml":
        tomllib.loads(block.text)
    else:
        assert yaml.safe_load(block.text) is not None


SESSIONS = [page for page in PAGES if any(block.text.startswith(">>>") for block in blocks(page))]


@pytest.mark.parametrize("page", SESSIONS, ids=lambda page: page.name)
def test_interpreter_sessions_print_what_they_show(page):
    names: dict[str, object] = {}
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    for block in blocks(page):
        if block.text.startswith(">>>"):
            test = doctest.DocTestParser().get_doctest(block.text, names, block.place, str(page), block.line)
            said: list[str] = []
            runner.run(test, out=said.append, clear_globs=False)
            names = test.globs
            assert not said, "".join(said)


RUNNABLE = [page for page in PAGES if any(block.mark.startswith(("run", "file:")) for block in blocks(page))]


@pytest.mark.slow
@pytest.mark.parametrize("page", RUNNABLE, ids=lambda page: page.name)
def test_marked_blocks_run_in_order(page, tmp_path):
    shutil.copytree(ROOT / "benchmarks" / "sample", tmp_path / "benchmarks" / "sample")
    for block in blocks(page):
        if block.mark.startswith("file:"):
            (tmp_path / block.mark.removeprefix("file:").strip()).write_text(block.text)
        elif block.mark == "run" and block.language == "python":
            ended = run([sys.executable, "-c", block.text], tmp_path)
            assert ended.returncode == 0, f"{block.place}: {ended.stderr}"
        elif block.mark == "run":
            for command in block.commands:
                ended = run([sys.executable, "-m", "metajudge", *words(command)], tmp_path)
                # 1 is `calibrate threshold`, which can guarantee nothing on a sample this small.
                expected = (0, 1) if "calibrate threshold" in command else (0,)
                assert ended.returncode in expected, f"{block.place}: {command}\n{ended.stdout}\n{ended.stderr}"
                assert "Traceback" not in ended.stderr


def run(command, folder):
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)


def test_pages_run_something():
    assert {"quickstart.md", "rubrics.md"} <= {page.name for page in RUNNABLE}


def anchors(page):
    headings = re.findall(r"^#+ (.+)$", re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.M | re.S), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page):
    text = re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.M | re.S)
    broken = []
    for path, anchor in LINK.findall(text):
        target = (page.parent / path).resolve() if path else page
        if not target.exists():
            broken.append(path)
        elif anchor and target.suffix == ".md" and anchor not in anchors(target):
            broken.append(f"{path}#{anchor}")
    assert broken == []


def test_every_page_is_in_the_navigation_and_every_entry_exists():
    text = (ROOT / "mkdocs.yml").read_text("utf-8")
    named = set(re.findall(r": (\S+\.md)$", text, re.M))
    assert named == {page.name for page in PAGES[1:]}
