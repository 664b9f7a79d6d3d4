"""The page of providers lists every profile as its file has it."""

import re
from pathlib import Path

from metajudge.providers.spec import PROVIDERS

PAGE = Path(__file__).parents[2] / "docs" / "providers.md"


def rows():
    for name, one in PROVIDERS.items():
        variables = [*one.base_url_variables, *dict.fromkeys(re.findall(r"\{(\w+)\}", one.base_url))]
        key = f"`{one.key_variable}`" + ("" if one.key_required else " (optional)")
        address = ", ".join(f"`{variable}`" for variable in variables) or "-"
        command = f"`metajudge check --agent {name}:{one.model}`"
        yield f"| {one.title} | `{name}` | {key} | {address} | {command} | {one.tested or 'untested'} |"


def test_the_table_is_that_of_the_profiles():
    table = PAGE.read_text("utf-8").partition("<!-- providers -->")[2].partition("<!-- /providers -->")[0]
    assert table.strip().splitlines()[2:] == list(rows())
