"""The dashboard, assessments and jobs in a real browser: thresholds by mouse and keyboard, live progress, axe, phone."""

import importlib
import json
import re
import urllib.request

import pytest

from metajudge.stats.interval_estimate import Estimate
from tests.api.conftest import panel_of
from tests.api.pages.browser import check_axe, needs_browser, screenshot
from tests.api.pages.dashboard_store import fill_dashboard
from tests.api.pages.filled_store import SCRIPT
from tests.doubles.judgments import judgment
from tests.doubles.llm_server import LLMServer, score_answer
from tests.doubles.waiting import until

pytestmark = needs_browser
standing_module = importlib.import_module("metajudge.api.pages.standing")


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    found = tmp_path_factory.mktemp("browser") / "s.duckdb"
    fill_dashboard(found, 40)
    return found


def ladder_on(page):
    """The counts that the page's script works with, as the library's own."""
    data = json.loads(page.get_attribute("#threshold", "data-ladder"))
    found = standing_module.Ladder(
        data["basis"], tuple(standing_module.Step(*row[:4]) for row in data["steps"]), data["without"]
    )
    n = right = 0
    for value, _, labelled, correct, *ends in reversed(data["steps"]):
        n, right = n + labelled, right + correct
        if n:
            found.precisions[value] = Estimate(right / n, *ends, n, 0.95, "by question")
    return found


def shown(page):
    """What stands on the page."""
    places = ("precision", "interval", "coverage", "kept", "asked", "discarded")
    return {place: page.inner_text(f"#now-{place}") for place in places}


def expected(page):
    """What the library says at the thresholds where the sliders stand."""
    keep, discard = (round(float(page.input_value(f"#{name}")) * 100) for name in ("keep", "discard"))
    return standing_module.words_of(standing_module.standing(ladder_on(page), keep, discard))


class TestThreshold:
    @pytest.mark.parametrize("basis", ["score", "probability"])
    def test_by_keyboard_the_figures_are_the_librarys(self, browse, serve_pages, path, basis):
        page = browse(serve_pages(store=path))
        page.goto(f"/dashboard?basis={basis}")
        page.keyboard.press("t")
        seen = {page.input_value("#keep")}
        assert shown(page) == expected(page)
        for pressed in ["ArrowLeft"] * 9 + ["PageUp", "Home", "ArrowRight", "End", "PageDown"]:
            page.keyboard.press(pressed)
            assert shown(page) == expected(page), page.input_value("#keep")
            seen.add(page.input_value("#keep"))
        assert len(seen) > 10
        page.focus("#discard")
        for pressed in ["ArrowLeft"] * 5 + ["End"]:
            page.keyboard.press(pressed)
            assert shown(page) == expected(page)
        assert page.input_value("#discard") == page.input_value("#keep")
        assert page.get_attribute("#keep", "aria-valuetext") == page.inner_text("#keep-value")


class TestList:
    def test_filters_answer_without_a_reload_and_keys_go_through_the_list(self, browse, serve_pages, path):
        page = browse(serve_pages(store=path))
        page.goto("/assessments")
        page.evaluate("window.stayed = true")
        page.select_option("[name=outcome]", "kept")
        page.wait_for_url("**outcome=kept**")
        until(lambda: page.locator("tbody .chip", has_text="discarded").count() == 0)
        assert page.evaluate("window.stayed")
        page.locator("body").press("j")
        first = page.evaluate("document.activeElement.href")
        page.keyboard.press("j")
        assert page.evaluate("document.activeElement.href") != first
        page.keyboard.press("Enter")
        page.wait_for_url(re.compile(r"/assessments/\d+$"))
        page.keyboard.press("u")
        page.wait_for_url("**/assessments")


class TestLiveJob:
    @pytest.fixture
    def models(self):
        with LLMServer(answer=score_answer(5), latency_s=0.25) as server:
            yield server

    def send(self, address, count):
        records = [judgment(id=f"j{n}", judge=f"owl {SCRIPT}").model_dump(mode="json") for n in range(count)]
        asked = urllib.request.Request(
            f"{address}/v1/vet/batch", json.dumps(records).encode(), {"content-type": "application/json"}
        )
        with urllib.request.urlopen(asked) as answer:
            return json.load(answer)["job_id"]

    def test_it_reaches_done_without_a_reload_and_keeps_the_focus(self, browse, serve_pages, models, tmp_path):
        address = serve_pages(panels={"default": panel_of(models)}, store=tmp_path / "s.duckdb")
        job_id = self.send(address, 60)
        page = browse(address, reduced_motion="reduce")
        page.goto(f"/jobs/{job_id}")
        page.evaluate("window.stayed = true")
        page.focus("#cancel button")
        seen = page.get_attribute("[role=progressbar]", "aria-valuenow")
        page.wait_for_selector(f"[role=progressbar]:not([aria-valuenow='{seen}'])")
        if page.locator("#cancel").count():
            assert page.evaluate("document.activeElement.closest('#cancel') !== null"), "progress took the focus away"
        screenshot(page, "job-running", tmp_path)
        check_axe(page)
        page.wait_for_selector("#state:text-is('done')", timeout=60_000)
        assert page.get_attribute("[role=progressbar]", "aria-valuenow") == "60"
        assert page.evaluate("window.stayed"), "the page was loaded anew"
        assert page.evaluate("window.attacked") is None
        screenshot(page, "job-done", tmp_path)
        check_axe(page)
        page.wait_for_timeout(2500)
        assert page.locator("[hx-trigger]").count() == 0, "it goes on asking"
