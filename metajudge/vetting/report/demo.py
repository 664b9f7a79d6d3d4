"""The report of ``metajudge demo``: the shipped sample, vetted in memory."""

from pathlib import Path
from typing import Final

from metajudge.blocking import vet
from metajudge.errors import MetajudgeError
from metajudge.report.files import write_report
from metajudge.types import Judgment
from metajudge.vetting.demo import sample_text
from metajudge.vetting.report.making import report_of_results
from metajudge.vetting.report.telling import Place

NOTE: Final = "The three judges of this sample are fictional: it shows how vetting works, and measures nothing."
COMMAND: Final = "metajudge demo"
PLACE: Final = Place(["sample.jsonl"], None, COMMAND, note=NOTE)
MARK: Final = f"<dt>Command</dt><dd>{COMMAND}</dd>"
"""Stands in every such report, and tells it from other files of the same name."""


def write_demo_report(path: Path) -> str | None:
    """Writes the report of the sample; a file that is no such report is left alone.

    Returns:
        None where it was written, else why not.
    """
    judgments = [Judgment.model_validate_json(line) for line in sample_text().splitlines()]
    try:
        if path.exists() and MARK not in path.read_text("utf-8", "replace"):
            return f"{path} is another file and is not overwritten; --report NAME.html takes another name"
        report = report_of_results(judgments, vet(judgments), place=PLACE)
        write_report(report, path)
    except (MetajudgeError, OSError) as error:
        return f"{path} was not written: {error}"
    return None
