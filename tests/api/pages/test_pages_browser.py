"""Start, search, policies and audit log in a real browser: look, keys, saved filters."""

import re

import pytest

from tests.api.pages.browser import PHONE, check_axe, check_look, check_width, needs_browser, screenshot
from tests.api.pages.eventful_store import fill_eventful, made_proposal

pytestmark = needs_browser
PAGES = {
    "start": "/",
    "search": "/search?q=train",
    "search-all": "/search?q=e",
    "search-none": "/search",
    "policies": "/policies",
    "policy": "/policies/verdict_score",
    "proposals": "/proposals",
    "proposal": f"/proposals/{made_proposal().proposal_id}",
    "audit-log": "/audit-log",
    "assessments-eventful": "/assessments",
    "assessment-eventful": "/assessments/3",
    "runs-eventful": "/runs",
    "dashboard-eventful": "/dashboard",
    "dashboard-probability": "/dashboard?basis=probability",
    "jobs": "/jobs",
    "run": "/runs/run-1",
    "monitor": "/monitor",
    "clashes": "/clash",
    "queue": "/reviews",
    "docs": "/docs",
    "nowhere": "/runs/nowhere",
    "nothing": "/nothing",
}


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    found = tmp_path_factory.mktemp("browser") / "s.duckdb"
    fill_eventful(found, 12)
    return found


@pytest.mark.parametrize(("scheme", "size"), [("light", {}), ("dark", {"viewport": {**PHONE, "width": 390}})])
def test_axe_is_clean_and_nothing_is_too_wide(browse, serve_pages, path, tmp_path, scheme, size):
    page = browse(serve_pages(store=path), scheme=scheme, **size)
    for name, where in PAGES.items():
        page.goto(where)
        check_look(page, f"{name}-{scheme}{'-phone' if size else ''}", tmp_path)


def test_every_page_is_two_keys_away_and_the_keys_are_listed(browse, serve_pages, path):
    page = browse(serve_pages(store=path))
    page.goto("/")
    for letter, where in {"a": "/assessments", "p": "/policies", "l": "/audit-log", "h": "/"}.items():
        page.keyboard.press("g")
        page.keyboard.press(letter)
        page.wait_for_url(re.compile(rf"{where}$"))
    page.keyboard.press("?")
    assert page.locator("dialog[open]").inner_text().count("Policies") == 1
    page.keyboard.press("Escape")
    assert page.locator("dialog[open]").count() == 0
    page.keyboard.press("Tab")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid", "focus is not visible"


def test_filters_are_saved_by_name_in_this_browser(browse, serve_pages, path):
    page = browse(serve_pages(store=path))
    page.goto("/assessments?decision=REVIEW&before=9")
    page.fill("[data-saved] [name=name]", "to <b>do</b>")
    page.keyboard.press("Enter")
    page.goto("/assessments")
    page.click("text=to <b>do</b>")
    page.wait_for_url("**/assessments?decision=REVIEW")
    page.goto("/audit-log")
    assert page.locator("[data-saved] li").count() == 0, "filters of another page"
    page.goto("/reviews?status=all&done=x")
    page.fill("[data-saved] [name=name]", "every review")
    page.keyboard.press("Enter")
    page.click("text=every review")
    page.wait_for_url("**/reviews?status=all")
    page.goto("/assessments")
    check_axe(page)
    page.get_by_role("button", name="Delete the saved filters to <b>do</b>").click()
    page.reload()
    assert page.locator("[data-saved] li").count() == 0


@pytest.mark.parametrize("kind", ["judgment", "case", "clash"])
def test_on_a_phone_the_decision_stays_in_sight(browse, serve_pages, tmp_path, kind):
    fill_eventful(tmp_path / "s.duckdb", 2)
    page = browse(serve_pages(store=tmp_path / "s.duckdb"), viewport={"width": 390, "height": 844}, scheme="dark")
    page.goto("/reviews")
    page.fill("input[name=reviewer]", "Ada")
    page.click("text=Continue")
    about = {"judgment": "A train leaves", "case": "climate", "clash": "Which city"}[kind]
    page.locator("li.card", has_text=about).first.locator("a.about").click()
    page.wait_for_selector("[data-key=t]")
    page.wait_for_load_state("load")
    page.keyboard.press("t")
    page.wait_for_selector(".decision-bar .pick >> nth=0")
    for scroll in (0, 0.5):
        page.evaluate(f"window.scrollTo(0, {scroll} * document.body.scrollHeight)")
        box = page.locator(".decision-bar .pick").first.bounding_box()
        assert 0 <= box["y"] <= 844 - box["height"], (kind, scroll, box)
    screenshot(page, f"review-{kind}-dark-phone", tmp_path)
    check_axe(page)
    check_width(page)
