"""What metajudge itself costs: time and CPU beyond the models' latency, against a floor in the same run.

    metajudge bench perf overhead BASE_URL [--latency-ms 200] [--concurrency 64] [--judgments 350] [--model SPEC ...]
        [--input PATH] [--repeat 1] [--json-out OUT]

BASE_URL is a server, in a process of its own, that speaks OpenAI's chat completions and Anthropic's messages and
answers schemas after a fixed latency. Vets 350 judgments with two agents, one per protocol, everything on (rendering,
schema, parsing, reply cache, store, output file), and prints the setting and

- wall: ``wall_s`` over its ideal, ``ceil(calls / concurrency) x latency``;
- CPU a call: CPU of the command beyond that of the same command with ``--limit 1``, over its calls;
- peak resident memory of the command;
- the identical second run's CPU beyond that of a run with one known judgment;
- the same number of requests, as many at once, sent by aiohttp alone (the floor) and through the official SDKs, half
  through each, in the same run;
- the scoring core on 1,000,000 x 3 x 7 scores.

Without ``--input`` the judgments are made from the packaged sample, with texts as long as recorded ones. With
``--repeat`` everything is run so often, in turn, and each figure is its median: what it takes to start a command
varies, and CPU a call is a difference between two commands.
"""

import asyncio
import json
import math
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import typer

from .measuring import METAJUDGE, Finished, finished, keep, machine

MODELS = ("openai:gpt-4o-mini", "anthropic:claude-sonnet-4-5")


@dataclass(frozen=True, slots=True)
class Setting:
    """What is run: so many judgments by one agent a model, so many calls at once, each answered after so long."""

    latency_s: float = 0.2
    concurrency: int = 64
    judgments: int = 350
    models: tuple[str, ...] = MODELS


def write_input(path: Path, count: int, padding: int) -> None:
    """Writes judgments made of the sample's, each with its own id and question, padded to recorded length."""
    from metajudge.reading import open_judgments, write_jsonl

    sample = Path(__file__).parents[1] / "sample" / "judgments.jsonl"
    decided = [judgment for judgment in open_judgments([sample]) if judgment.verdict is not None]
    filler = "The steps are checked one after the other, and each is compared with the question. " * (padding // 84)

    def made(i: int) -> Any:
        base = decided[i % len(decided)]
        item = base.item.model_copy(update={"id": f"item-{i}", "question": f"{base.item.question} ({i})"})
        return base.model_copy(update={"id": f"j-{i}", "item": item, "rationale": f"{base.rationale} {filler}"})

    write_jsonl(path, (made(i) for i in range(count)))


async def _timed(ask: Callable[[int], Awaitable[None]], count: int, at_once: int) -> dict[str, float]:
    """Wall seconds and CPU milliseconds a call, of so many calls from so many workers."""
    numbers = iter(range(count))

    async def worker() -> None:
        for i in numbers:
            await ask(i)

    start, cpu = time.monotonic(), time.process_time()
    await asyncio.gather(*(worker() for _ in range(at_once)))
    return {"wall_s": time.monotonic() - start, "cpu_ms_per_call": (time.process_time() - cpu) / count * 1000}


async def floor(base_url: str, count: int, at_once: int) -> dict[str, float]:
    """The same number of requests of like size by aiohttp alone: wall seconds and CPU milliseconds a call."""
    import aiohttp

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=at_once)) as session:

        async def ask(i: int) -> None:
            body = {"model": "gpt-4o-mini", "messages": [{"role": "user", "content": f"{i} " + "words " * 1600}]}
            async with session.post(f"{base_url}/v1/chat/completions", json=body) as response:
                await response.json()

        return await _timed(ask, count, at_once)


async def through_sdks(base_url: str, count: int, at_once: int) -> dict[str, float]:
    """The same number of requests through the SDKs' own methods: wall seconds and CPU milliseconds a call."""
    import anthropic
    import openai

    async with (
        openai.AsyncOpenAI(api_key="key", base_url=f"{base_url}/v1", max_retries=0) as chat,
        anthropic.AsyncAnthropic(api_key="key", base_url=base_url, max_retries=0) as messages,
    ):

        async def ask(i: int) -> None:
            turns: Any = [{"role": "user", "content": f"{i} " + "words " * 1600}]
            if i % 2:
                await chat.chat.completions.create(model="gpt-4o-mini", messages=turns)
            else:
                await messages.messages.create(model="claude-sonnet-4-5", messages=turns, max_tokens=1024)

        await asyncio.gather(ask(0), ask(1))  # imports what the first calls import
        return await _timed(ask, count, at_once)


def scoring_seconds(n: int = 1_000_000) -> float:
    """Seconds for agent scores, average and vote of ``n`` judgments, 3 agents, 7 criteria."""
    import numpy as np

    from metajudge.scoring.formulas import agent_scores, decide_average, decide_majority

    scores = np.random.default_rng(0).integers(1, 6, size=(n, 3, 7))
    start = time.perf_counter()
    agents = agent_scores(scores, [0.20, 0.20, 0.15, 0.10, 0.15, 0.10, 0.10])
    decide_average(agents, 4.5)
    decide_majority(agents, 4.5)
    return time.perf_counter() - start


def measure(base_url: str, setting: Setting, given: Path | None) -> dict[str, Any]:
    """Runs everything once and returns the figures."""
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        source = given or work / "judgments.jsonl"
        if given is None:
            write_input(source, setting.judgments, padding=2000)
        agents = [part for model in setting.models for part in ("--agent", f"{model}@{base_url}")]
        common = [str(source), *agents, "--no-early-exit", "--concurrency", str(setting.concurrency)]

        def run(store: str, limit: int) -> tuple[dict[str, Any], Finished]:
            files = ("--store", str(work / store), "--out", str(work / f"{store}.{limit}.jsonl"))
            done = finished([*METAJUDGE, "vet", *common, "--limit", str(limit), *files, "--json"], codes=(0, 1))
            return json.loads(done.printed), done

        first, one = run("one.db", 1)
        summary, full = run("full.db", setting.judgments)
        repeated, again = run("full.db", setting.judgments)
        _, known = run("full.db", 1)
    calls = summary["calls"]
    ideal = math.ceil(calls / setting.concurrency) * setting.latency_s
    assert repeated["calls"] == 0, "the second run sent requests"
    bare = asyncio.run(floor(base_url, calls, setting.concurrency))
    # In a process of its own, whose memory is not counted as that of later commands.
    words = ("overhead", base_url, "--sdks-alone", str(calls), "--concurrency", str(setting.concurrency))
    sdks = json.loads(finished([*METAJUDGE, "bench", "perf", *words]).printed)
    return {
        "calls": calls,
        "ideal_s": ideal,
        "wall_over_ideal": summary["wall_s"] / ideal,
        "cpu_ms_per_call": (full.cpu_s - one.cpu_s) / (calls - first["calls"]) * 1000,
        "peak_mb": full.peak_mb,
        "second_run_extra_cpu_s": again.cpu_s - known.cpu_s,
        "floor_wall_over_ideal": bare["wall_s"] / ideal,
        "floor_cpu_ms_per_call": bare["cpu_ms_per_call"],
        "wall_over_floor": summary["wall_s"] / bare["wall_s"],
        "sdks_wall_over_ideal": sdks["wall_s"] / ideal,
        "sdks_cpu_ms_per_call": sdks["cpu_ms_per_call"],
    }


def main(
    base_url: str,
    latency_ms: Annotated[float, typer.Option(help="The server's latency.")] = 200.0,
    concurrency: Annotated[int, typer.Option(help="Calls in flight.")] = 64,
    judgments: Annotated[int, typer.Option(help="Judgments vetted.")] = 350,
    model: Annotated[list[str] | None, typer.Option(help="PROVIDER:MODEL of an agent, in place of the two.")] = None,
    given: Annotated[Path | None, typer.Option("--input", help="Judgments to vet in place of made ones.")] = None,
    repeat: Annotated[int, typer.Option(help="Runs of which the median is given.", min=1)] = 1,
    out: Annotated[Path | None, typer.Option("--json-out", help="Write the figures here as well.")] = None,
    sdks_alone: Annotated[int | None, typer.Option(hidden=True)] = None,
) -> None:
    """Measures and prints."""
    url = base_url.rstrip("/")
    setting = Setting(latency_ms / 1000, concurrency, judgments, tuple(model or MODELS))
    if sdks_alone is not None:
        print(json.dumps(asyncio.run(through_sdks(url, sdks_alone, concurrency))))
        return
    runs = [measure(url, setting, given) for _ in range(repeat)]
    figures = {name: median(run[name] for run in runs) for name in runs[0]}
    # Last: a process started from here counts this one's peak memory as its own.
    figures["scoring_core_s"] = scoring_seconds()
    print(f"{'setting':26} {setting}")
    for name, value in figures.items():
        print(f"{name:26} {value:.3f}" if isinstance(value, float) else f"{name:26} {value}")
    keep({"machine": machine(), "setting": asdict(setting), **figures}, out)
