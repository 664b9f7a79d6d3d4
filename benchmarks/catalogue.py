"""The benchmarks there are."""

from collections.abc import Iterator
from dataclasses import dataclass

from metajudge.errors import InputError

from . import judgebench, llmbar, mtbench, realmistake, rewardbench2
from .benchmark import Benchmark, read_cards

_RULES = {one.__name__.rpartition(".")[2]: one for one in (judgebench, llmbar, mtbench, realmistake, rewardbench2)}
BENCHMARKS = {name: Benchmark(card, _RULES[name].accuracy) for name, card in read_cards().items()}


@dataclass(frozen=True, slots=True)
class Study:
    """A benchmark of judge panels, with a command path of its own."""

    name: str
    title: str
    source: str


STUDIES: dict[str, Study] = {
    study.name: study
    for study in (
        Study(
            "agent_clash",
            "recomputes a published study of a judge panel from its raw judgments",
            "Boisbouvier and Claude Opus 4.5, Multi-Agent Judging for LLM Evaluation; data CC-BY-4.0 "
            "(github.com/anthonyboisbouvier-paris/agent-clash-paper)",
        ),
        Study(
            "reliability",
            "runs a panel of yours over labelled pairs, again with fresh seeds, and writes its reliability",
            "any file of labelled pairs; MT-Bench human judgments (lmsys/mt_bench_human_judgments) and Arena-100k "
            "(lmarena-ai/arena-human-preference-100k), both CC-BY-4.0, are read as published",
        ),
    )
}


def benchmark_named(name: str) -> Benchmark:
    """Finds a benchmark.

    Raises:
        InputError: the name is unknown; the message lists the known ones.
    """
    if name not in BENCHMARKS:
        raise InputError(f"no benchmark is named {name!r}; there are: {', '.join([*BENCHMARKS, *STUDIES])}")
    return BENCHMARKS[name]


def lines() -> Iterator[str]:
    """Every benchmark and study with its citation, labels, licence and source."""
    for benchmark in BENCHMARKS.values():
        card = benchmark.card
        yield f"{card.name:<12} {card.citation}"
        yield f"{'':<12} labels: {card.label_rule}; licence: {card.licence}"
        yield f"{'':<12} {card.repository}"
    for study in STUDIES.values():
        yield f"{study.name:<12} {study.title}"
        yield f"{'':<12} {study.source}"
