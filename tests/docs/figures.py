"""Writes the figures of README.md and docs/ into their blocks, from what the commands named there print now.

    python -m tests.docs.figures [--check] [--slow] [NAME ...]

A block is ``<!-- figures NAME: MADE -->``, its text, ``<!-- end figures -->``. MADE is one of

- commands with `` ; `` between them, run in this process in an empty folder that has the sample; DATA is the folder
  that METAJUDGE_DATA names;
- ``recorded NAME``: ``benchmarks/results/NAME.json``, of a command that is no longer part of the package;
- ``all pages``: the list of all that no test makes again;
- ``all files``: what is read of each file in ``tests/reading/interop``, beside its own count.

LAYOUTS has the function that lays out a block, by its name; blocks of one name on several pages have the same text. One
that took over 30 seconds of CPU ends with date and seconds of that run, and is made again only by its name or with
``--slow``. One without a layout was written by hand, from a recorded file, or on the date with which it ends.
``--check`` writes nothing and ends with 1 where a text differs.
"""

import argparse
import contextlib
import difflib
import functools
import json
import os
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from typer.testing import CliRunner

from tests.docs.layouts import LAYOUTS
from tests.reading.interop_files import rows, table

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(
    r"^<!-- figures (?P<name>[\w-]+):\s+(?P<made>[^>]+?) -->\n(?P<text>.*?)^<!-- end figures(?:: (?P<run>.+?))? -->\n",
    re.M | re.S,
)
EARLIER = re.compile(r"`([^`]+)`\s+of\s+\[0\.2\.0\]")
DATE = re.compile(r"\b\d{4}-\d\d-\d\d\b")
FAST_S = 30.0
ENVIRONMENT = {
    "COLUMNS": "80",
    **dict.fromkeys(("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "METAJUDGE_STORE", "METAJUDGE_WEBHOOK_SECRET")),
}


@dataclass(frozen=True)
class Block:
    """A block of a page; ``run`` has the date and seconds of the last run, "" where every run of the tests makes it."""

    page: Path
    name: str
    made: str
    text: str
    run: str

    @property
    def by_hand(self) -> bool:
        return self.name not in LAYOUTS

    @property
    def data_missing(self) -> bool:
        return "DATA/" in self.made and "METAJUDGE_DATA" not in os.environ


def blocks() -> list[Block]:
    """The blocks of all pages, as they stand now."""
    return [
        Block(page, found["name"], " ".join(found["made"].split()), found["text"], found["run"] or "")
        for page in PAGES
        for found in BLOCK.finditer(page.read_text("utf-8"))
    ]


@functools.cache
def printed(made: str) -> tuple[tuple[str, ...], float]:
    """What each command prints, or the text of the recorded file; and the seconds of CPU."""
    started = sum(os.times()[:4])  # with the processes that a command starts
    if made.startswith("recorded "):
        texts = [(RESULTS / f"{made.split()[1]}.json").read_text("utf-8")]
    elif made == "all pages":
        texts = [json.dumps(list(listed()))]
    elif made == "all files":
        texts = [json.dumps(table(rows()))]
    else:
        texts = list(run(made.split(" ; ")))
    return tuple(texts), sum(os.times()[:4]) - started


def run(commands: list[str]) -> Iterator[str]:
    """The standard output of each command, one after the other in one folder.

    Raises:
        RuntimeError: a command failed. 1 is no failure: a threshold that abstains ends with it.
    """
    from metajudge.cli.app import app

    data = str(Path(os.environ.get("METAJUDGE_DATA", "DATA")).absolute())
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        shutil.copytree(ROOT / "benchmarks" / "sample", Path(folder, "benchmarks", "sample"))
        for command in commands:
            words = [word.replace("DATA/", f"{data}/") for word in shlex.split(command)[1:]]
            done = CliRunner().invoke(app, words, env={**ENVIRONMENT, "XDG_CONFIG_HOME": folder})
            if done.exit_code not in (0, 1) or not isinstance(done.exception, SystemExit | None):
                raise RuntimeError(f"{command}: exit code {done.exit_code}: {done.stderr}{done.exception!r}")
            yield done.stdout


def listed() -> Iterator[dict[str, str]]:
    """All that no test makes again, a row a command and page: ``command``, ``of``, ``date``, ``seconds``, ``page``."""
    files = {path.stem: json.loads(path.read_text("utf-8")) for path in sorted(RESULTS.glob("*.json"))}
    recorded = {
        name: {"command": one["command"], "of": one["commit"], "date": one["date"], "seconds": f"{one['seconds']:.0f}"}
        for name, one in files.items()
    }
    for block in blocks():
        if block.made.startswith("recorded "):
            yield {**recorded[block.made.split()[1]], "page": block.page.name}
        elif block.run:
            date, _, seconds = block.run.partition(", ")
            taken = {"of": "now", "date": date, "seconds": seconds.removesuffix(" s of CPU")}
            yield {"command": block.made.replace(" --json", ""), **taken, "page": block.page.name}
    scripts = {script(one["command"]): one for one in recorded.values()}
    for page in PAGES:
        for paragraph in page.read_text("utf-8").split("\n\n"):
            for found in EARLIER.finditer(paragraph):
                command = " ".join(found[1].split())
                same, options = scripts.get(script(command)), {word for word in command.split() if word[:2] == "--"}
                if not same or not options <= set(same["command"].split()):
                    same = {"command": command, "of": "0.2.0", "date": date_of(paragraph, found.end()), "seconds": ""}
                yield {**same, "page": page.name}


def date_of(paragraph: str, place: int) -> str:
    """The first date in a paragraph after a place, else the last before it; "" where there is none."""
    after = DATE.findall(paragraph, place) or DATE.findall(paragraph)[::-1]
    return after[0] if after else ""


def script(command: str) -> str:
    """The script that a command runs, however it names it, and whether with arguments: ``memory ...``."""
    found = re.match(r"python (?:-m )?(?:\w+[./])*?(\w+)(?:\.py)?( [^-]|$| )", command)
    return f"{found[1]}{' ...' * bool(found[2].strip())}" if found else command


def laid_out(block: Block) -> tuple[str, str]:
    """The text that a block should have now, and the date and seconds with which it ends."""
    outputs, seconds = printed(block.made)
    slow = f"{datetime.now(UTC):%Y-%m-%d}, {seconds:.0f} s of CPU" if seconds > FAST_S else ""
    return f"\n{LAYOUTS[block.name](*outputs).strip()}\n\n", slow


def write(block: Block, text: str, slow: str) -> None:
    """Puts the text into the block's page."""

    def replaced(found: re.Match[str]) -> str:
        if found["name"] != block.name:
            return found[0]
        head = found[0].split("-->\n", 1)[0]
        return f"{head}-->\n{text}<!-- end figures{': ' * bool(slow)}{slow} -->\n"

    block.page.write_text(BLOCK.sub(replaced, block.page.read_text("utf-8")), "utf-8")


def difference(block: Block, text: str) -> str:
    """How the page differs from what the commands print now; "" where it does not."""
    shown, now = (one.splitlines() for one in (block.text, text))
    return "\n".join(difflib.unified_diff(shown, now, block.page.name, block.made, lineterm=""))


def main() -> int:
    """Writes or checks the blocks; 1 where one differs, or cannot be made."""
    parser = argparse.ArgumentParser("python -m tests.docs.figures")
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--check", action="store_true", help="write nothing; 1 where a text differs")
    parser.add_argument("--slow", action="store_true", help="also those that take over 30 seconds of CPU")
    given = parser.parse_args()
    found = blocks()
    if unknown := set(given.names) - (known := {block.name for block in found}):
        parser.error(f"no block {', '.join(sorted(unknown))}: there are {', '.join(sorted(known))}")
    wanted = [one for one in found if (one.name in given.names if given.names else given.slow or not one.run)]
    wrong = 0
    for block in sorted(wanted, key=lambda one: one.made == "all pages"):  # the list shows dates of the others
        if block.by_hand or block.data_missing:
            why = "is written by hand" if block.by_hand else "needs METAJUDGE_DATA, the folder of the recorded data"
            print(f"{block.page.name}: {block.name} {why}", file=sys.stderr)
            continue
        text, slow = laid_out(block)
        if changed := difference(block, text):
            wrong += given.check
            print(changed)
        if not given.check and (changed or slow):
            write(block, text, slow)
    return min(wrong, 1)


if __name__ == "__main__":
    sys.exit(main())
