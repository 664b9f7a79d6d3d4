"""Agents as named on the command line, their families and prices."""

import re

import pytest
from genai_prices import Usage as LibraryUsage
from genai_prices import calc_price

from metajudge.errors import ConfigurationError
from metajudge.providers.families import FAMILIES, family_of, kinships
from metajudge.providers.model import Endpoint
from metajudge.providers.prices import FlatPrice, ListPrice, find_price
from metajudge.providers.spec import PROVIDERS, parse_agent_spec
from metajudge.types import Usage


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


KNOWN = {
    "openai": "gpt-4o-mini gpt-4o-2024-08-06 gpt4o GPT-4 o1-mini-2024-09-12 o3 o4-mini-high chatgpt-4o-latest ChatGPT-0301 "
    "text-davinci-003 openrouter/openai/gpt-4.1 azure/gpt-4o openai/gpt-oss-120b",
    "anthropic": "claude-3-haiku-20240307 claude-sonnet-4-5 openrouter/anthropic/claude-sonnet-4.5 "
    "us.anthropic.claude-3-haiku-20240307-v1:0 bedrock/anthropic.claude-3-5-sonnet-20241022-v2:0",
    "google": "gemini-1.5-pro gemma-2-9b-it gemma2:9b google/gemini-2.5-flash PaLM2",
    "meta": "meta-llama/Llama-3.1-8B-Instruct llama3:8b llama3.1:70b LLaMA2 Llama-2-70b-chat-hf "
    "accounts/fireworks/models/llama-v3p1-70b-instruct codellama-34b",
    "mistral": "mistral-7b mixtral-8x7b-instruct mistralai/Mistral-Large codestral-latest ministral-8b",
    "alibaba": "qwen2.5-72b QwQ-32B Qwen/Qwen3-30B-A3B",
    "deepseek": "deepseek-v3 deepseek-r1-distill-llama-70b deepseek/deepseek-chat",
    "inception": "openrouter/inception/mercury mercury-coder",
    "minimax": "openrouter/minimax/minimax-m2.1 MiniMaxAI/MiniMax-M2",
    "zhipu": "openrouter/z-ai/glm-4.7 glm-4.7 chatglm3-6b",
    "microsoft": "phi-4 phi3:14b microsoft/Phi-3.5-mini-instruct",
    "cohere": "command-r-plus cohere/command-a",
    "xai": "grok-3 x-ai/grok-4",
    "tii": "Falcon falcon-180b",
}


@pytest.mark.parametrize(
    ("family", "model"), [(family, model) for family, ids in KNOWN.items() for model in ids.split()]
)
def test_known_models(family, model):
    assert family_of(model) == family


@pytest.mark.parametrize(
    "model",
    ["osprey-70b", "osprey-8b-instruct", "osprey-2024-08-06", "Osprey-8x7B-chat", "osprey:70b", "groq/osprey-70b",
     "osprey-70b/CoT", "osprey-2.5-20240806", "osprey-0613", "osprey@http://localhost:8000"],
)  # fmt: skip
def test_an_unknown_model_is_its_own_family_whatever_its_size_and_date(model):
    assert family_of(model) == "osprey"


@pytest.mark.parametrize("model", ["commander-7b", "grokking-1b", "metaphor", "gptq-model", "philosopher", "yield"])
def test_a_name_inside_another_word_is_no_family(model):
    assert family_of(model) not in FAMILIES


def test_odd_ids_have_some_family_and_prompts_named_alike_are_not_one():
    assert all(isinstance(family_of(model), str) for model in ("", "42", "7b", "-", "/", "2024-08-06"))
    assert family_of("heron/CoT") != family_of("ibis/CoT")


def test_kin_are_told_for_judge_and_candidates_once_each_and_strangers_are_none():
    panel = [("mini", "gpt-4o-mini"), ("sonnet", "claude-sonnet-4-5"), ("other", "qwen2.5-72b")]
    found = kinships(panel, "openrouter/openai/o3/vanilla", ["claude-3-haiku", "claude-3-opus", "gpt-4"])
    assert [(one.agent, one.family, one.role) for one in found] == [
        ("mini", "openai", "judge"),
        ("mini", "openai", "candidate"),
        ("sonnet", "anthropic", "candidate"),
    ]
    assert str(found[0]) == "mini is of the openai family, and so is the judge"
    assert kinships([("mini", "gpt-4o-mini")], "claude-3-haiku", ["glm-4.7"]) == []


# Dollars equal the price library's, for flat and tiered prices, cached tokens included.
MODELS = [
    ("openai:gpt-4o-mini", "openai"),
    ("openai:gpt-4o", "openai"),
    ("openai:o1-mini", "openai"),
    ("openai:gpt-5", "openai"),
    ("anthropic:claude-sonnet-4-5", "anthropic"),
    ("anthropic:claude-3-haiku-20240307", "anthropic"),
    ("gemini:gemini-2.5-pro", "google"),
    ("gemini:gemini-1.5-flash", "google"),
    ("deepseek:deepseek-chat", "deepseek"),
    ("mistral:mistral-large-latest", "mistral"),
    ("groq:llama-3.1-8b-instant", "groq"),
]
USAGES = [
    Usage(1, 0, 0, 1),
    Usage(1234, 0, 0, 567),
    Usage(50_000, 40_000, 0, 10),
    Usage(50_000, 10_000, 20_000, 900),
    Usage(128_000, 0, 0, 1),
    Usage(128_001, 0, 0, 1),
    Usage(200_000, 0, 0, 1),
    Usage(200_001, 0, 0, 1),
    Usage(900_000, 300_000, 100_000, 60_000),
]


@pytest.mark.parametrize(("text", "provider"), MODELS)
def test_prices_equal_the_librarys(text, provider):
    spec = parse_agent_spec(text)
    price = find_price(spec)
    assert price is not None
    for usage in USAGES:
        expected = calc_price(
            LibraryUsage(
                input_tokens=usage.input_tokens,
                cache_read_tokens=usage.cached_tokens,
                cache_write_tokens=usage.cache_write_tokens,
                output_tokens=usage.output_tokens,
            ),
            spec.model,
            provider_id=provider,
        )
        assert price.cost(usage) == pytest.approx(float(expected.total_price), abs=1e-9), usage


def test_prices_are_tiered_or_none_and_never_zero_where_nobody_knows_them_and_the_users_own_count():
    assert isinstance(find_price(parse_agent_spec("gemini:gemini-2.5-pro")), ListPrice)
    for text in ("openai:no-such-model-at-all", "ollama:llama3", "vllm:gpt-4o-mini@http://127.0.0.1:1"):
        assert find_price(parse_agent_spec(text)) is None
    assert FlatPrice.of(2.0, 8.0).cost(Usage(1_000_000, 400_000, 100_000, 500_000)) == pytest.approx(6.0)
    assert FlatPrice.of(0, 0).cost(Usage(5, 0, 0, 5)) == 0.0


@pytest.mark.parametrize("price", [-1.0, float("nan"), float("inf")])
def test_a_price_that_is_no_price_is_refused(price):
    with pytest.raises(ConfigurationError, match="zero or more dollars"):
        FlatPrice.of(price, 1.0)
