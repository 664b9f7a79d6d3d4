"""A real browser on real pages: Debian's chromium, driven by playwright."""

import os
import re
import shutil
from pathlib import Path

import pytest

CHROMIUM = shutil.which("chromium")
PHONE = {"width": 375, "height": 812}
DESKTOP = {"width": 1280, "height": 900}

needs_browser = [
    pytest.mark.slow,
    pytest.mark.timeout(180),
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine: apt-get install chromium"),
]
"""``pytestmark`` of a file of browser tests."""


@pytest.fixture(scope="module")
def browser():
    """One browser for the tests of a file."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed (extra dev)")
    with playwright.sync_playwright() as driver:
        one = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield one
        one.close()


@pytest.fixture
def browse(browser):
    """Opens pages in a context of their own; no script of theirs may fail or be refused by the security policy."""
    contexts, wrong = [], []

    def start(address="", *, scheme="light", viewport=DESKTOP, **options):
        context = browser.new_context(color_scheme=scheme, viewport=viewport, base_url=address or None, **options)
        context.set_default_timeout(60_000)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: wrong.append(f"script error: {error}"))
        page.on("console", lambda said: wrong.append(said.text) if "Content Security Policy" in said.text else None)
        return page

    yield start
    for context in contexts:
        context.close()
    assert not wrong, wrong


def check_axe(page):
    """Fails where axe finds something that keeps people out."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page).response["violations"]
    told = [
        f"{one['id']}: {one['help']}: {[node['html'][:150] + ' ' + node['failureSummary'][:200] for node in one['nodes'][:3]]}"
        for one in found
    ]
    assert not told, "\n".join(told)


def check_width(page):
    """Fails where a page is wider than its window."""
    wide = page.evaluate(
        """() => document.documentElement.scrollWidth <= window.innerWidth ? [] :
        [...document.querySelectorAll('body *')].filter(e => e.getBoundingClientRect().right > window.innerWidth + 1)
        .slice(0, 5).map(e => e.outerHTML.slice(0, 150))"""
    )
    assert not wide, wide


def check_look(page, name, tmp_path):
    """Keeps a picture of a page with everything open, and fails where it keeps people out or is too wide."""
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    screenshot(page, name, tmp_path)
    check_axe(page)
    check_width(page)


def screenshot(page, name, tmp_path):
    """Keeps a picture of the whole page, in the folder METAJUDGE_SCREENSHOTS names, else with the test's files."""
    folder = Path(os.environ.get("METAJUDGE_SCREENSHOTS") or tmp_path)
    folder.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=folder / f"{re.sub(r'[^a-z0-9-]+', '-', name.lower())}.png", full_page=True)
