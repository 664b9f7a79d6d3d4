"""DNS rebinding and forms under a named host, in a real browser whose names are made to point at this machine."""

import pytest

from tests.api.pages.browser import CHROMIUM, needs_browser
from tests.api.pages.conftest import key
from tests.api.pages.filled_store import fill

pytestmark = needs_browser
NAMES = "MAP evil.example 127.0.0.1, MAP judge.example 127.0.0.1"


@pytest.fixture
def pointed():
    """A page of a browser for which evil.example and judge.example are this machine."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed (extra dev)")
    with playwright.sync_playwright() as driver:
        options = ["--no-sandbox", f"--host-resolver-rules={NAMES}"]
        one = driver.chromium.launch(executable_path=CHROMIUM, args=options)
        yield one.new_page()
        one.close()


def test_forms_work_under_a_named_host_without_tls(pointed, serve_pages, tmp_path):
    """A browser says where a form came from by `Origin` alone there: no other header is sent without TLS."""
    fill(tmp_path / "s.duckdb", 2, cases=False)
    keys, hosts = (key("ada", "review"),), ("judge.example",)
    port = serve_pages(store=tmp_path / "s.duckdb", keys=keys, allowed_hosts=hosts).rpartition(":")[2]
    pointed.goto(f"http://judge.example:{port}/reviews")
    pointed.get_by_label("Key", exact=True).fill(("ada" * 32)[:32])
    pointed.keyboard.press("Enter")
    pointed.wait_for_selector("text=Review next")
    pointed.keyboard.press("n")
    pointed.wait_for_selector(".pick:not([disabled])")
    assert pointed.goto(f"http://evil.example:{port}/login").status == 403
