"""The result folder: what is in it, its manifest, and how it is written and read."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from metajudge.errors import InputError
from metajudge.files.output import write_text
from metajudge.report.html import to_html

from .answers import LiveFindings, analyse
from .plan import LivePlan
from .records import LiveItem, RunRecord, ScoreLine, lines_of, read_lines, read_record
from .report import report_of

PLAN, ITEMS, SCORES, RUN = "plan.json", "items.jsonl", "scores.jsonl", "run.json"
REPORT, PAGE, README = "report.json", "report.html", "README.txt"
FILES = (PLAN, ITEMS, SCORES, RUN, REPORT, PAGE, README)
MANIFEST = "MANIFEST.sha256"
SIGNATURE = MANIFEST + ".sig"

ABOUT = """Result of `metajudge bench live`.

plan.json     what was fixed before the first call: models, prompts and rubrics by digest, sample, analyses
items.jsonl   the judgments of the sample: ids, digests, right or wrong, the score of free evidence
scores.jsonl  one line for each agent and judgment: score or failure, tokens, dollars, seconds
run.json      how the run went: times, budget, versions
report.json   every figure; report.html shows them
MANIFEST.sha256      digests of these files (sha256sum -c MANIFEST.sha256)
MANIFEST.sha256.sig  signature of the manifest by an SSH key, where the folder is signed

No question, response, rationale or reply of a model is in this folder, only ids and digests of them.
Check it: metajudge bench live verify FOLDER
"""


@dataclass(frozen=True, slots=True)
class LiveRun:
    """The contents of a result folder."""

    plan: LivePlan
    items: list[LiveItem]
    lines: list[ScoreLine]
    run: RunRecord


def fix_plan(folder: Path, plan: LivePlan, items: Sequence[LiveItem], run: RunRecord) -> None:
    """Writes plan and sample before the first call."""
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / ITEMS, lines_of(items))
    write_text(folder / RUN, run.model_dump_json(indent=1) + "\n")
    write_text(folder / PLAN, plan.to_text())


def write_results(folder: Path, found: LiveRun) -> LiveFindings:
    """Writes scores, record, report and manifest; an earlier signature, which no longer holds, is removed."""
    findings = analyse(found.plan, found.items, found.lines, found.run)
    (folder / SIGNATURE).unlink(missing_ok=True)
    write_text(folder / SCORES, lines_of(found.lines))
    write_text(folder / RUN, found.run.model_dump_json(indent=1) + "\n")
    write_text(folder / REPORT, findings.model_dump_json(indent=1) + "\n")
    write_text(folder / PAGE, to_html(report_of(found.plan, findings, found.run)))
    write_text(folder / README, ABOUT)
    write_text(folder / MANIFEST, "".join(f"{file_digest(folder / name)}  {name}\n" for name in sorted(FILES)))
    return findings


def read_run(folder: Path) -> LiveRun:
    """Reads a result folder.

    Raises:
        InputError: no result folder, or a file of it cannot be read.
    """
    if not (folder / PLAN).is_file():
        raise InputError(f"{folder}: no result of `metajudge bench live` here ({PLAN} is missing)")
    plan = read_record(folder / PLAN, LivePlan)
    items = read_lines(folder / ITEMS, LiveItem)
    lines = read_lines(folder / SCORES, ScoreLine) if (folder / SCORES).is_file() else []
    return LiveRun(plan, items, lines, read_record(folder / RUN, RunRecord))


def read_manifest(folder: Path) -> dict[str, str]:
    """File name -> SHA-256 as the manifest has it.

    Raises:
        InputError: no manifest, or a line of it is none.
    """
    path = folder / MANIFEST
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        raise InputError(f"{path}: cannot be read: the folder is not finished, or not one of `bench live`") from None
    found = {}
    for number, line in enumerate(text.splitlines(), start=1):
        value, sign, name = line.partition("  ")
        if not sign or len(value) != 64 or not name or "/" in name or "\\" in name or name.startswith("."):
            raise InputError(f"{path}:{number}: not a digest and the name of a file in this folder")
        found[name] = value
    return found


def manifest_problems(folder: Path, manifest: dict[str, str]) -> Iterator[str]:
    """What of the folder is not as its manifest says."""
    for name in FILES:
        if name not in manifest:
            yield f"{name} is not in the manifest"
    for name, value in manifest.items():
        if not (folder / name).is_file():
            yield f"{name} is missing"
        elif file_digest(folder / name) != value:
            yield f"{name} is not the file that the manifest names: it was changed afterwards"
    for path in sorted(folder.iterdir()):
        if path.name not in manifest and path.name not in (MANIFEST, SIGNATURE):
            yield f"{path.name} is in the folder but not in the manifest"


def file_digest(path: Path) -> str:
    """64 hex digits of SHA-256 over a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
