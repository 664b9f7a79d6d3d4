"""Agents as named on the command line."""

import re

import pytest

from metajudge.errors import ConfigurationError
from metajudge.providers.model import Endpoint
from metajudge.providers.spec import PROVIDERS, parse_agent_spec


@pytest.mark.parametrize(
    ("text", "name", "provider", "model", "base_url"),
    [
        ("openai:gpt-4o-mini", "gpt-4o-mini", "openai", "gpt-4o-mini", None),
        ("critic=anthropic:claude-sonnet-4-5", "critic", "anthropic", "claude-sonnet-4-5", None),
        ("ollama:llama3:8b@http://localhost:11434", "llama3:8b", "ollama", "llama3:8b", "http://localhost:11434"),
        ("openai:a@httpd@https://h.example/v1", "a@httpd", "openai", "a@httpd", "https://h.example/v1"),
        ("x.1_-=groq:org/model=2", "x.1_-", "groq", "org/model=2", None),
        (" openai:m ", "m", "openai", "m", None),
    ],
)
def test_name_provider_model_and_url_are_split_where_they_should_be(text, name, provider, model, base_url):
    spec = parse_agent_spec(text)
    assert (spec.name, spec.provider, spec.model, spec.base_url) == (name, provider, model, base_url)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("gpt-4o-mini", "has no model"),
        ("openai:", "names no model"),
        ("openai:@http://localhost", "names no model"),
        ("opnai:m", "did you mean 'openai'"),
        ("local:a.gguf", "write ollama:NAME, vllm:NAME, lmstudio:NAME or openai:NAME@http://localhost:PORT"),
        ("acme:m", r"unknown provider 'acme'\. Known: anthropic, azure, bedrock"),
        ("a b=openai:m", "may contain only letters"),
        ("=openai:m", "may contain only letters"),
        ("openai:m@ftp://host", "starts with http"),
        ("openai:m@localhost:8000", "starts with http"),
        ("openai:m@http://", "with a host"),
        ("openai:m@http://host:99999", "not a URL"),
        ("openai:m@http://user:secret@host", "user or password"),
        ("openai:m@http://host/v1?api_key=1", "query of the base URL contains api_key"),
        ("openai:m@httpx://host", "not an http"),
        ("", "has no model"),
        (":m", "unknown provider ''"),
        ("a=b=openai:m", "may contain only letters"),
        ("openai:m@http://[::1", "not a URL"),
        ("openai:m@http://host/#x", "fragment"),
        ("openai:m@http://ho st", "not an http"),
    ],
)
def test_a_wrong_agent_is_refused_with_what_to_write(text, said):
    with pytest.raises(ConfigurationError, match=said):
        parse_agent_spec(text)


def test_a_password_in_a_url_is_not_repeated_as_a_field_of_the_message():
    with pytest.raises(ConfigurationError) as refused:
        parse_agent_spec("openai:m@http://user:hunter2secret@host")
    assert "hunter2secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "base_url"),
    [
        ("openai:m@http://h", "http://h/v1"),
        ("openai:m@http://h/", "http://h/v1"),
        ("openai:m@http://h/v1", "http://h/v1"),
        ("openai:m@http://h/v1/", "http://h/v1"),
        ("openai:m@http://h/proxy", "http://h/proxy/v1"),
        ("openai:m@http://h/v1/chat/completions", "http://h/v1"),
        ("anthropic:m@http://h", "http://h"),
        ("anthropic:m@http://h/v1", "http://h"),
        ("anthropic:m@http://h/v1/messages", "http://h"),
        ("openai:m@https://api.perplexity.ai/chat/completions", "https://api.perplexity.ai"),
        (
            "openai:m@https://h/openai/deployments/d/chat/completions?api-version=1",
            "https://h/openai/deployments/d?api-version=1",
        ),
        ("gemini:m", "https://generativelanguage.googleapis.com/v1beta/openai"),
        ("groq:m", "https://api.groq.com/openai/v1"),
    ],
)
def test_a_base_url_with_or_without_v1_is_one_endpoint(text, base_url):
    assert parse_agent_spec(text).endpoint.base_url == base_url


def test_every_built_in_provider_has_a_url_in_its_environment(monkeypatch):
    for name, provider in PROVIDERS.items():
        for variable in re.findall(r"\{(\w+)\}", provider.base_url):
            monkeypatch.setenv(variable, "here")
        endpoint = parse_agent_spec(f"{name}:m").endpoint
        assert endpoint == Endpoint(provider.protocol, re.sub(r"\{\w+\}", "here", provider.base_url))


@pytest.mark.parametrize(
    ("variable", "given", "spec", "url"),
    [
        ("OPENAI_BASE_URL", "https://gateway.example/openai/v1/", "openai:m", "https://gateway.example/openai/v1"),
        ("OPENAI_BASE_URL", "http://localhost:4000", "openai:m", "http://localhost:4000/v1"),
        ("OPENAI_BASE_URL", "http://localhost:4000", "openai:m@http://h/v1", "http://h/v1"),
        ("ANTHROPIC_BASE_URL", "https://gateway.example", "anthropic:m", "https://gateway.example"),
        ("AZURE_OPENAI_ENDPOINT", "https://r.openai.azure.com/", "azure:m", "https://r.openai.azure.com/openai/v1"),
        ("AZURE_OPENAI_RESOURCE", "r", "azure:m", "https://r.openai.azure.com/openai/v1"),
    ],
)
def test_the_environments_address_is_honoured_and_an_agents_own_goes_before_it(monkeypatch, variable, given, spec, url):
    monkeypatch.setenv(variable, given)
    assert parse_agent_spec(spec).endpoint.base_url == url


def test_an_address_that_is_missing_or_none_is_said_with_its_variable(monkeypatch):
    with pytest.raises(ConfigurationError, match="Azure OpenAI: its address needs AZURE_OPENAI_RESOURCE"):
        _ = parse_agent_spec("azure:m").endpoint
    monkeypatch.setenv("OPENAI_BASE_URL", "gateway.example")
    with pytest.raises(ConfigurationError, match=r"OPENAI_BASE_URL: 'gateway.example' is not an http"):
        _ = parse_agent_spec("openai:m").endpoint


@pytest.mark.parametrize(
    ("text", "local"),
    [
        ("ollama:m", True),
        ("openai:m@http://127.0.0.1:8000", True),
        ("openai:m@http://[::1]:8000", True),
        ("openai:m@http://localhost.example.com", False),
        ("openai:m", False),
    ],
)
def test_loopback_is_told_from_what_looks_like_it(text, local):
    assert parse_agent_spec(text).is_local is local


@pytest.mark.parametrize("text", ["mini=openai:gpt-4o-mini", "l=ollama:llama3:8b@http://localhost:11434"])
def test_a_spec_prints_as_it_is_written(text):
    assert str(parse_agent_spec(text)) == text
