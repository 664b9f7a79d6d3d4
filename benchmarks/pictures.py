"""The pictures of README and documentation.

    python -m metajudge.benchmarks.pictures docs/images --data DATA/judgebench

Writes ``precision.svg``, precision against coverage of all judges of JudgeBench, by free evidence and by a calibration
out of fold (``metajudge bench judgebench --seeds 1``; light or dark as its reader prefers), and ``report-light.png``
and ``report-dark.png``, the top of the report of ``metajudge demo``, taken in Debian's chromium.
"""

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from metajudge.report.html import to_svg

from .bench_report import coverage_chart
from .findings import BenchFindings

WIDTH, HEIGHT = 1100, 1000
"""Pixels of the report's picture."""


def main(
    out: Annotated[Path, typer.Argument(help="Folder for the pictures.")],
    data: Annotated[Path, typer.Option(help="Folder of JudgeBench's recorded judgments.")],
) -> None:
    """Writes the pictures."""
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (out / "precision.svg").write_text(precision(data, folder), "utf-8")
        _metajudge(folder, "demo", "--report", "report.html")
        for look in ("light", "dark"):
            _photograph(folder / "report.html", out / f"report-{look}.png", look)
    for path in sorted(out.iterdir()):
        print(path)


def precision(data: Path, folder: Path) -> str:
    """The curve of all judges together, as SVG."""
    _metajudge(folder, "bench", "judgebench", "--data", str(data.resolve()), "--seeds", "1", "--json", "found.json")
    found = BenchFindings.model_validate_json((folder / "found.json").read_bytes())
    chart = coverage_chart(found.judges[0])
    judges, questions = len(found.judges) - 1, found.judges[0].questions
    title = f"Precision against coverage: {judges} judges, {found.judges[0].decided:,} verdicts, {questions} questions"
    return to_svg(chart.model_copy(update={"title": title}), "precision")


def _metajudge(folder: Path, *words: str) -> None:
    command = [sys.executable, "-m", "metajudge", *words]
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if ended.returncode:
        raise SystemExit(f"metajudge {' '.join(words)} ended with {ended.returncode}: {ended.stderr.strip()}")


def _photograph(page: Path, picture: Path, look: str) -> None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as tools:
        browser = tools.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        scheme = "dark" if look == "dark" else "light"
        view = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme=scheme)  # type: ignore[arg-type]
        view.goto(page.resolve().as_uri())
        view.screenshot(path=picture)
        browser.close()


if __name__ == "__main__":
    main.__doc__ = __doc__
    typer.run(main)
