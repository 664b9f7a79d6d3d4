"""The names by which language models and their makers give themselves away: family -> models and makers. Data alone.

Names are written in parts (``open ai``), so that "OpenAI", "Open AI" and "open-ai" are one name. How certain a name is
says what it takes to hide it, see :mod:`metajudge.judging.identity`:

- ``sure``: the name of a model or maker and nothing else (ChatGPT, Anthropic);
- ``name``: also a person, a constellation or the like (Claude, Gemini);
- ``capital``: an ordinary word unless it has a capital letter (Llama, Grok, Cohere);
- ``word``: an ordinary word, or a company known for much besides (Amazon, Nova, command).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal

Certainty = Literal["sure", "name", "capital", "word"]
Kind = Literal["id", "family", "maker"]


@dataclass(frozen=True, slots=True)
class KnownName:
    """One name.

    Attributes:
        family: whose name it is; the families of :mod:`metajudge.providers.families`, and some more.
        kind: of a model (``family``) or of its maker.
    """

    parts: tuple[str, ...]
    family: str
    kind: Kind
    certainty: Certainty

    @property
    def key(self) -> str:
        """The name without joiners: how a match is looked up."""
        return "".join(self.parts)


_MODELS: Mapping[str, Mapping[Certainty, str]] = {
    "openai": {
        "sure": "chat gpt, chat gpts, gpt, gpts, gpt o, text davinci, dall e",
        "word": "o1, o3, o4, codex, davinci, sora",
    },
    "anthropic": {"name": "claude", "sure": "claude opus, claude sonnet, claude haiku, claude instant, claude code"},
    "google": {
        "name": "gemini",
        "sure": "gemma, gemini pro, gemini flash, gemini ultra, gemini nano, google gemini, google bard, pa lm 2, "
        "med palm",
        "capital": "bard, lamda, palm",
    },
    "meta": {"sure": "code llama, llama chat, meta llama", "capital": "llama"},
    "mistral": {
        "sure": "mixtral, ministral, codestral, pixtral, magistral, devstral, mistral large, mistral medium, "
        "mistral small, mistral nemo",
        "capital": "mistral",
    },
    "alibaba": {"sure": "qwen, qwq, qvq, tongyi qianwen, tong yi, 通义千问, 千问"},
    "deepseek": {"sure": "deep seek, 深度求索"},
    "inception": {"word": "mercury", "sure": "mercury coder"},
    "minimax": {"capital": "mini max, abab", "sure": "hailuo ai"},
    "zhipu": {"sure": "chat glm, 智谱清言", "word": "glm"},
    "microsoft": {"sure": "wizard lm, bing chat", "word": "phi, orca, copilot, bing"},
    "cohere": {"sure": "command r, command r+, c4ai, coral ai", "word": "command, aya"},
    "xai": {"capital": "grok"},
    "amazon": {
        "sure": "amazon nova, amazon titan, nova pro, nova lite, nova micro, nova premier",
        "word": "nova, titan",
    },
    "moonshot": {"name": "kimi", "sure": "月之暗面"},
    "01-ai": {"word": "yi", "sure": "yi lightning, yi large"},
    "tii": {"capital": "falcon"},
    "nvidia": {"sure": "nemotron"},
    "ai2": {"sure": "olmo, tulu"},
    "ibm": {"capital": "granite", "word": "watson", "sure": "watsonx"},
    "ai21": {"sure": "jamba", "word": "jurassic"},
    "lmsys": {"capital": "vicuna"},
    "stanford": {"capital": "alpaca"},
    "stability": {"sure": "stable lm, stable beluga, stable diffusion"},
    "databricks": {"sure": "dbrx", "capital": "dolly"},
    "mosaicml": {"sure": "mpt 7b, mpt 30b"},
    "baidu": {"sure": "ernie bot, 文心一言", "capital": "ernie"},
    "tencent": {"sure": "hunyuan, 混元"},
    "bytedance": {"sure": "doubao, 豆包"},
    "iflytek": {"sure": "spark desk, 讯飞星火"},
    "baichuan": {"sure": "baichuan, 百川"},
    "internlm": {"sure": "intern lm"},
    "stepfun": {"sure": "stepfun"},
    "writer": {"sure": "palmyra"},
    "huggingface": {"sure": "star coder, smol lm, hugging chat", "word": "zephyr"},
    "nous": {"sure": "nous hermes", "word": "hermes"},
    "eleuther": {"sure": "gpt j, gpt neo, gpt neox", "word": "pythia"},
    "open-assistant": {"sure": "openassistant, oasst"},
    "openchat": {"sure": "openchat"},
    "upstage": {"word": "solar"},
    "lg": {"sure": "exaone"},
    "reka": {"sure": "reka core, reka flash, reka edge"},
    "inflection": {"word": "pi"},
    "apple": {"sure": "open elm"},
    "snowflake": {"word": "arctic"},
    "koala": {"capital": "koala"},
    "perplexity": {"word": "sonar"},
}

_MAKERS: Mapping[str, Mapping[Certainty, str]] = {
    "openai": {"sure": "open ai"},
    "anthropic": {"sure": "anthropic, anthropic ai, anthropic pbc"},
    "google": {"sure": "google deep mind, deep mind, google ai, google brain", "word": "google, alphabet"},
    "meta": {"sure": "meta ai, facebook ai, meta platforms", "word": "meta, facebook"},
    "mistral": {"sure": "mistral ai"},
    "alibaba": {"sure": "alibaba cloud, ali cloud, aliyun, damo academy, 阿里云, 阿里巴巴", "word": "alibaba"},
    "deepseek": {"sure": "deep seek ai"},
    "inception": {"sure": "inception labs", "word": "inception"},
    "minimax": {"sure": "mini max ai"},
    "zhipu": {"sure": "zhipu, zhipu ai, z ai, thudm, 智谱"},
    "microsoft": {"sure": "microsoft research, microsoft ai", "word": "microsoft"},
    "cohere": {"sure": "cohere ai, cohere for ai, cohere labs", "capital": "cohere"},
    "xai": {"word": "x ai"},
    "amazon": {"sure": "amazon agi, amazon bedrock, amazon web services", "word": "amazon, aws"},
    "moonshot": {"sure": "moonshot ai", "word": "moonshot"},
    "01-ai": {"sure": "01 ai, zero one ai, 零一万物"},
    "tii": {"sure": "tii uae, technology innovation institute", "word": "tii"},
    "nvidia": {"sure": "nvidia research", "word": "nvidia"},
    "ai2": {"sure": "allen ai, allen institute for ai, allen institute for artificial intelligence, ai2"},
    "ibm": {"sure": "ibm research", "word": "ibm"},
    "ai21": {"sure": "ai21, ai21 labs"},
    "lmsys": {"sure": "lmsys, lmsys org, large model systems organization", "word": "lm arena"},
    "stanford": {"word": "stanford"},
    "stability": {"sure": "stability ai"},
    "databricks": {"word": "databricks"},
    "mosaicml": {"sure": "mosaic ml"},
    "baidu": {"sure": "baidu ai, 百度", "word": "baidu"},
    "tencent": {"sure": "tencent ai, tencent ai lab, 腾讯", "word": "tencent"},
    "bytedance": {"sure": "字节跳动", "word": "byte dance"},
    "iflytek": {"sure": "iflytek"},
    "internlm": {"sure": "shanghai ai laboratory, shanghai ai lab"},
    "huggingface": {"word": "hugging face"},
    "nous": {"sure": "nous research"},
    "eleuther": {"sure": "eleuther ai"},
    "upstage": {"word": "upstage"},
    "lg": {"sure": "lg ai research"},
    "reka": {"sure": "reka ai"},
    "inflection": {"sure": "inflection ai", "word": "inflection"},
    "apple": {"word": "apple"},
    "snowflake": {"word": "snowflake"},
    "perplexity": {"sure": "perplexity ai", "word": "perplexity"},
}


@cache
def known_names() -> Mapping[str, KnownName]:
    """Every name by its key."""
    found: dict[str, KnownName] = {}
    tables: tuple[tuple[Kind, Mapping[str, Mapping[Certainty, str]]], ...] = (("family", _MODELS), ("maker", _MAKERS))
    for kind, table in tables:
        for family, by_certainty in table.items():
            for certainty, names in by_certainty.items():
                for name in names.split(","):
                    one = KnownName(tuple(name.split()), family, kind, certainty)
                    found.setdefault(one.key, one)
    return found
