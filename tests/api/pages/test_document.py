"""``/docs`` in a real browser: readable for everybody, as wide as the window."""

import pytest

from tests.api.pages.browser import DESKTOP, PHONE, check_axe, check_width, needs_browser, screenshot

pytestmark = needs_browser


@pytest.mark.parametrize(("scheme", "viewport"), [("light", DESKTOP), ("dark", PHONE)])
def test_it_keeps_nobody_out(serve_pages, browse, tmp_path, scheme, viewport):
    page = browse(scheme=scheme, viewport=viewport)
    page.goto(f"{serve_pages()}/docs")
    check_axe(page)
    check_width(page)
    page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")
    check_axe(page)
    check_width(page)
    screenshot(page, f"docs-{scheme}", tmp_path)


def test_an_unknown_address_is_a_page_for_people(serve_pages, browse):
    page = browse()
    assert page.goto(f"{serve_pages()}/nowhere").status == 404
    page.get_by_text("there is no such page here").wait_for()
    check_axe(page)
