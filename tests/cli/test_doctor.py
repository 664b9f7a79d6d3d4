"""``metajudge doctor`` as a user types it."""

import pytest

SECRET = "sk-very-secret-0001"


@pytest.mark.parametrize("config", [None, "panel.toml"])
def test_the_command(metajudge, config):
    metajudge.env["OPENAI_API_KEY"] = SECRET
    (metajudge.folder / "panel.toml").write_text('[[agents]]\nmodel = "anthropic:a"\n')
    found, code = metajudge.json("doctor", *(("--config", config) if config else ()))
    assert code == (1 if config else 0)
    assert found["ok"] is (code == 0)
    assert SECRET not in str(found)
    names = {check["name"] for check in found["checks"]}
    assert {"python", "packages", "extras", "clock", "panel", "keys", "store", "disk"} <= names
