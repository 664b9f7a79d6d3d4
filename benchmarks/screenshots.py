"""Pictures of every page of the service: light, dark and on a phone, empty and filled.

    python -m metajudge.benchmarks.screenshots OUT [--only queue --only clash]

Runs in a checkout: the made-up data are those of its tests (``tests/api/pages``). Starts the service on a filled store
and on an empty one, opens each page in Debian's chromium and writes ``OUT/PAGE-LOOK.png`` of the whole page. Prints
what is wrong where a page is wider than its window or a script of it fails.
"""

import contextlib
import importlib
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from .service import free_port, process

LOOKS: dict[str, dict[str, Any]] = {
    "light": {"color_scheme": "light", "viewport": {"width": 1280, "height": 900}},
    "dark": {"color_scheme": "dark", "viewport": {"width": 1280, "height": 900}},
    "phone": {"color_scheme": "light", "viewport": {"width": 390, "height": 844}, "has_touch": True},
    "phone-dark": {"color_scheme": "dark", "viewport": {"width": 390, "height": 844}, "has_touch": True},
}
PAGES = {
    "start": "/",
    "queue": "/reviews",
    "queue-decided": "/reviews?status=decided",
    "clashes": "/clash",
    "clash-people": "/clash/people",
    "outcomes": "/outcomes",
    "assessments": "/assessments",
    "assessment": "/assessments/3",
    "search-none": "/search",
    "search": "/search?q=train",
    "search-nothing": "/search?q=nowhere+at+all",
    "dashboard": "/dashboard?days=0",
    "monitor": "/monitor",
    "policies": "/policies",
    "policy": "/policies/verdict_score",
    "proposals": "/proposals",
    "jobs": "/jobs",
    "runs": "/runs",
    "run": "/runs/run-1",
    "audit-log": "/audit-log",
    "operations": "/docs",
    "nowhere": "/nowhere",
}
"""Name of a picture -> address; further pages are found by following links of these."""
FOLLOWED = {
    "review-judgment": ("/reviews", "a.about:has-text('A train leaves')"),
    "review-case": ("/reviews", "a.about:has-text('case-1')"),
    "review-clash": ("/reviews", "a.about:has-text('Which city')"),
    "proposal": ("/proposals", "main a[href^='/proposals/']"),
    "job": ("/jobs", "main a[href^='/jobs/']"),
}
"""Name -> the page and its link that leads there."""


def main(
    out: Annotated[Path, typer.Argument(help="Folder for the pictures.")],
    only: Annotated[list[str] | None, typer.Option(help="Only this page. Repeatable.")] = None,
) -> None:
    """Writes the pictures; ends with 1 if a page is broken."""
    out.mkdir(parents=True, exist_ok=True)
    problems = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        _fill(folder / "filled.duckdb")
        for store in ("filled", "empty"):
            with _service(folder, f"{store}.duckdb") as address:
                problems += _pictures(address, out, "" if store == "filled" else "empty-", set(only or ()))
    for line in problems:
        print(line)
    print(f"{len(list(out.glob('*.png')))} pictures in {out}, {len(problems)} problems")
    raise typer.Exit(1 if problems else 0)


def _fill(path: Path) -> None:
    """Made-up data: judgments, a case, clashes, proposals, failed runs and requests."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    importlib.import_module("tests.api.pages.eventful_store").fill_eventful(path, 12, alone=True)


@contextlib.contextmanager
def _service(folder: Path, store: str) -> Iterator[str]:
    port = free_port()
    command = [sys.executable, "-m", "metajudge", "serve", "--port", str(port), "--store", str(folder / store)]
    with process(command, port, folder / "serve.log"):
        yield f"http://127.0.0.1:{port}"


def _pictures(address: str, out: Path, prefix: str, only: set[str]) -> list[str]:
    """Pictures of all pages of a service; returns what is wrong with them."""
    from playwright.sync_api import sync_playwright

    problems: list[str] = []
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for look, options in LOOKS.items():
            page = browser.new_page(base_url=address, **options)
            page.set_default_timeout(15_000)
            page.on("pageerror", _told(problems, look))
            if look == "light" and not prefix:
                _prepare(page)
            page.goto("/reviews")
            page.fill("input[name=reviewer]", "Ada")
            page.click("text=Continue")
            for name, where in PAGES.items():
                if not only or name in only:
                    page.goto(where)
                    problems += _picture(page, out, f"{prefix}{name}", look)
            for name, (where, link) in FOLLOWED.items():
                if (not only or name in only) and not prefix:
                    page.goto(where)
                    page.locator(link).first.click()
                    page.wait_for_load_state("load")
                    problems += _picture(page, out, name, look)
                    problems += _deciding(page, out, name, look)
            if not prefix and (not only or "policy-simulated" in only):
                page.goto("/policies/verdict_score")
                page.click("text=Simulate")
                page.wait_for_load_state("load")
                problems += _picture(page, out, "policy-simulated", look)
            page.close()
        browser.close()
    return problems


def _told(problems: list[str], look: str) -> Callable[[Any], None]:
    return lambda error: problems.append(f"{look}: a script failed: {error}")


def _prepare(page: Any) -> None:
    """Sends a job, which the made-up store has none of."""
    judgments = [
        {
            "id": f"sent-{number}",
            "item": {"id": f"i{number}", "question": "Which is larger?", "responses": {"A": "9.11", "B": "9.9"}},
            "judge": "owl",
            "verdict": "B>A",
        }
        for number in range(4)
    ]
    page.request.post("/v1/vet/batch?strategy=signals", data=judgments)


def _deciding(page: Any, out: Path, name: str, look: str) -> list[str]:
    """A picture of a review that was claimed, with its differences opened."""
    claim = page.locator("[data-key=t]")
    if not name.startswith("review-") or not claim.count():
        return []
    with page.expect_navigation():
        claim.click()
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    found = _picture(page, out, f"{name}-claimed", look)
    with page.expect_navigation():
        page.click("button:has-text('Release')")
    return found


def _picture(page: Any, out: Path, name: str, look: str) -> list[str]:
    page.screenshot(path=out / f"{name}-{look}.png", full_page=True)
    wide = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
    return [f"{name}, {look}: {wide} pixels wider than the window"] if wide > 0 else []


if __name__ == "__main__":
    typer.run(main)
