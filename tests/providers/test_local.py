"""Local models: one process a file, started with the first call, and never left behind."""

import pytest

from metajudge.errors import ConfigurationError
from metajudge.providers.prices import find_price
from metajudge.providers.spec import parse_agent_spec
from metajudge.types import Usage
from metajudge.vetting.engine import Engine
from tests.doubles.fake_llama import gguf
from tests.doubles.judgments import judgment


class TestSpec:
    def test_an_agent_is_called_after_its_file(self):
        spec = parse_agent_spec("local:/models/Tiny-1B.Q4.gguf")
        assert (spec.name, spec.model, spec.is_local) == ("Tiny-1B.Q4", "/models/Tiny-1B.Q4.gguf", True)
        assert parse_agent_spec("t=local:a/b.gguf").name == "t"
        assert parse_agent_spec(r"local:C:\models\tiny.gguf").name == "tiny"

    def test_it_has_no_url_and_costs_nothing(self):
        with pytest.raises(ConfigurationError, match="has no URL: write local:PATH"):
            parse_agent_spec("local:a.gguf@http://localhost:1")
        assert find_price(parse_agent_spec("local:a.gguf")).cost(Usage(10, 0, 0, 10)) == 0


class TestMistakes:
    async def test_a_missing_file_and_a_file_that_is_no_model_are_refused_before_anything_starts(
        self, tmp_path, fake, started
    ):
        (tmp_path / "m.gguf").write_bytes(b"PK\x03\x04 a zip file")
        (tmp_path / "empty.gguf").write_bytes(b"")
        for name, said in (
            ("none.gguf", "no such file"),
            ("m.gguf", "is not a GGUF file"),
            ("empty.gguf", "it is empty"),
            ("", "is a folder"),
        ):
            with pytest.raises(ConfigurationError, match=said):
                async with Engine([f"m=local:{tmp_path / name}"]):
                    pass
        assert not started

    async def test_the_missing_package_says_how_to_install_it(self, tmp_path, monkeypatch):
        from metajudge.providers import local

        monkeypatch.setattr(local, "find_spec", lambda _name: None)
        with pytest.raises(ConfigurationError, match=r"xllamacpp: pip install"):
            async with Engine([f"local:{gguf(tmp_path / 'm.gguf')}"]):
                pass

    async def test_a_model_that_cannot_be_loaded_says_what_llama_said_and_leaves_no_process(
        self, tmp_path, fake, started
    ):
        with pytest.raises(ConfigurationError, match=r"cannot serve .*tensor missing"):
            async with Engine([f"local:{gguf(tmp_path / 'm.gguf', 'broken')}"]) as engine:
                await engine.vet(judgment())
        assert [process.poll() is not None for process in started] == [True]
