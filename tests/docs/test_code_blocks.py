"""Code, figures and tables in the documentation."""

import dataclasses
import doctest
import json
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
import types
from dataclasses import dataclass
from pathlib import Path

import pytest
import typer
import yaml

import metajudge
from metajudge.cli.app import app
from metajudge.cli.bench import MEASUREMENTS, command_of
from metajudge.providers.spec import PROVIDERS
from tests.docs import figures
from tests.docs.figures import PAGES, ROOT
from tests.docs.layouts import LAYOUTS

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


BLOCKS = figures.blocks()
FAST = [block for block in BLOCKS if not block.run and not block.by_hand]


@pytest.mark.parametrize("block", FAST, ids=lambda block: f"{block.page.name}-{block.name}")
def test_a_block_shows_what_its_command_prints(block):
    if block.data_missing:
        pytest.skip("METAJUDGE_DATA names no folder of recorded data")
    text, _ = figures.laid_out(block)
    assert figures.difference(block, text) == "", "run: python -m tests.docs.figures"


def test_a_block_written_by_hand_has_a_date_and_every_layout_has_a_block():
    dated = re.compile(r"^recorded \S+$|^.*\n\d{4}-\d\d-\d\d$")
    assert [block for block in BLOCKS if block.by_hand and not dated.match(f"{block.made}\n{block.run}".strip())] == []
    assert set(LAYOUTS) - {block.name for block in BLOCKS} == set()
    made = {}
    for block in BLOCKS:
        assert made.setdefault(block.name, block.made) == block.made, f"two blocks {block.name!r}"


def test_every_start_of_a_block_has_an_end():
    for page in figures.PAGES:
        text = page.read_text("utf-8")
        assert len(figures.BLOCK.findall(text)) == text.count("<!-- figures ") == text.count("<!-- end figures"), page


def test_a_recorded_file_is_shown_or_referred_to_by_a_page():
    rows = list(figures.listed())
    assert [row for row in rows if not row["date"]] == []
    referred = {row["command"] for row in rows}
    recorded = {path.stem: json.loads(path.read_text("utf-8"))["command"] for path in figures.RESULTS.glob("*.json")}
    assert {name for name, command in recorded.items() if command not in referred} == set()


def test_a_figure_that_differs_is_found_written_and_found_no_more(tmp_path, monkeypatch, capsys):
    page = tmp_path / "page.md"
    page.write_text(
        "Before.\n<!-- figures demo:\nmetajudge demo -->\n\n```\n40 of 41 right\n```\n\n<!-- end figures -->\nAfter.\n"
    )
    monkeypatch.setattr(figures, "PAGES", [page])
    monkeypatch.setattr("sys.argv", ["figures", "--check"])
    assert figures.main() == 1
    assert "+  kept          36 of 40 right  90.0 %" in capsys.readouterr().out
    monkeypatch.setattr("sys.argv", ["figures"])
    assert figures.main() == 0
    assert page.read_text().startswith("Before.\n<!-- figures demo:\nmetajudge demo -->\n\n```\n96 recorded")
    assert page.read_text().endswith("```\n\n<!-- end figures -->\nAfter.\n")
    monkeypatch.setattr("sys.argv", ["figures", "--check"])
    assert figures.main() == 0
    figures.write(figures.blocks()[0], "\n40 of 41\n\n", "2026-11-26, 95 s of CPU")
    assert figures.main() == 0, "a slow block is made only by its name"
    (listed,) = figures.listed()
    assert (listed["command"], listed["date"], listed["seconds"]) == ("metajudge demo", "2026-11-26", "95")
    monkeypatch.setattr("sys.argv", ["figures", "--check", "demo"])
    assert figures.main() == 1


def test_a_command_that_fails_writes_nothing():
    block = dataclasses.replace(FAST[0], name="kept", made="metajudge bench file nowhere.jsonl --json")
    with pytest.raises(RuntimeError, match=r"bench file nowhere.jsonl --json: exit code 1: .*No such file"):
        figures.laid_out(block)


def test_the_pages_name_the_tasks_that_are_functions_and_no_others():
    tasks = {
        name
        for name in metajudge.__all__
        if isinstance(getattr(metajudge, name), types.FunctionType)
        and not name.startswith(("from_", "to_", "load_", "open_", "count"))
    }
    readme = (figures.ROOT / "README.md").read_text("utf-8")
    (sentence,) = re.findall(r"^Seven tasks are also one function each in Python: ([^(]+)\(", readme, re.M)
    assert set(re.findall(r"`(\w+)`", sentence)) == tasks
    page = (figures.ROOT / "docs" / "python.md").read_text("utf-8")
    assert set(re.findall(r"^\| \[`(\w+)`\]\(python-", page, re.M)) == tasks
    assert len(tasks) == 7, "README.md, docs/index.md and docs/python.md say seven"


PAGE = Path(__file__).parents[2] / "docs" / "providers.md"


def rows():
    for name, one in PROVIDERS.items():
        variables = [*one.base_url_variables, *dict.fromkeys(re.findall(r"\{(\w+)\}", one.base_url))]
        key = f"`{one.key_variable}`" + ("" if one.key_required else " (optional)")
        address = ", ".join(f"`{variable}`" for variable in variables) or "-"
        command = f"`metajudge check --agent {name}:{one.model}`"
        yield f"| {one.title} | `{name}` | {key} | {address} | {command} | {one.tested or 'untested'} |"


def test_the_table_is_that_of_the_profiles():
    table = PAGE.read_text("utf-8").partition("<!-- providers -->")[2].partition("<!-- /providers -->")[0]
    assert table.strip().splitlines()[2:] == list(rows())
