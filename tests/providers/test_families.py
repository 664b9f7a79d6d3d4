"""Families: read off ids as providers, routers, benchmarks and people write them."""

import pytest
from genai_prices import Usage as LibraryUsage
from genai_prices import calc_price

from metajudge.errors import ConfigurationError
from metajudge.providers.families import FAMILIES, family_of, kinships
from metajudge.providers.prices import FlatPrice, ListPrice, find_price
from metajudge.providers.spec import parse_agent_spec
from metajudge.types import Usage

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
