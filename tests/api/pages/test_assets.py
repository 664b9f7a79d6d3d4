"""Files with lasting addresses."""

import re

import pytest

from tests.api.nouns import KEY
from tests.api.pages.conftest import PAGES


class TestAssets:
    def test_an_address_names_the_content_and_is_kept_forever(self, visit):
        visitor = visit(api_key=KEY)
        addresses = re.findall(r'(?:href|src)="(/static/[^"]+)"', visitor.see("/login"))
        assert len(addresses) >= 4
        for address in addresses:
            response = visitor.get(address)
            assert response.status_code == 200
            assert "immutable" in response.headers["cache-control"]

    def test_a_plain_name_is_asked_for_anew(self, visit):
        response = visit(api_key=KEY).get("/static/style.css")
        assert (response.status_code, response.headers["cache-control"]) == (200, "no-cache")

    @pytest.mark.parametrize("name", ["nope.css", "..%2f__init__.py", "%2e%2e/__init__.py"])
    def test_nothing_but_the_files_there(self, visit, name):
        assert visit(api_key=KEY).get(f"/static/{name}").status_code == 404

    def test_the_vendored_script_names_its_version_and_licence(self):
        text = (PAGES / "static" / "htmx.LICENSE.txt").read_text()
        assert re.search(r"htmx \d+\.\d+\.\d+", text)
        assert "Zero-Clause BSD" in text
