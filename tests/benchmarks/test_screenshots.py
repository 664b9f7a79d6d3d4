"""The pictures are of pages that there are, and of all that the navigation leads to."""

import importlib

script = importlib.import_module("metajudge.benchmarks.screenshots")
rendering = importlib.import_module("metajudge.api.pages.rendering")
authorization = importlib.import_module("metajudge.api.authorization")


def test_every_page_of_the_navigation_is_pictured_and_every_address_exists():
    addresses = {where.partition("?")[0] for where in script.PAGES.values()}
    assert {where for _, where, _ in rendering.NAVIGATION} <= addresses
    unknown = [one for one in addresses if authorization.route_of("GET", one) is None]
    assert unknown == ["/nowhere"], "the page that is not there"
