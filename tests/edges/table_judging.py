"""Producing verdicts: ``judge``, ``clash``, ``case``, ``peers`` and ``rank``."""

import re
from typing import Any

from tests.edges.series import Series, series
from tests.peers.fake_models import NAMES
from tests.stored.commands import ANTHROPIC_STYLE, OPENAI_STYLE

_JAY = f"--judge jay={OPENAI_STYLE.format('jay-1')}"
_TWO = f"{_JAY} --judge kite={ANTHROPIC_STYLE.format('kite-1')}"
_THREE = f"{_TWO} --judge lark={OPENAI_STYLE.format('lark-1')}"
_CANDIDATES = f"--candidate ant={OPENAI_STYLE.format('ant-1')} --candidate bee={ANTHROPIC_STYLE.format('bee-1')}"
_PEERS = " ".join(f"--model {name}={OPENAI_STYLE.format(name)}" for name in NAMES[:3])
_RULES = ("borda", "copeland", "schulze", "ranked_pairs", "median_rank", "plurality", "bradley_terry", "plackett_luce")

_SECONDS = re.compile(r"\d+\.\d{3}")


def _timeless(found: dict[str, Any]) -> dict[str, Any]:
    """Without the seconds that a table of candidates shows, which have three decimals."""
    printed = [number for number in found.get("printed", []) if not _SECONDS.fullmatch(number)]
    return {**found, "printed": printed}


JUDGING: dict[str, Series] = {
    "judge_pairs": series(
        f"judge items.jsonl {_TWO} --seed 7 --limit 1 --out v.jsonl --combined c.jsonl --json >> v.jsonl c.jsonl",
        "vet v.jsonl --json",
    ),
    "judge_rules": series(
        f"judge items.jsonl {_TWO} --limit 1 --out v.jsonl --combined c.jsonl --rule sum --json >> c.jsonl",
        f"judge items.jsonl {_TWO} --limit 1 --out w.jsonl --combined d.jsonl --rule strength --json >> d.jsonl",
        f"judge items.jsonl {_JAY} --limit 2 --orders given --out x.jsonl --json",
    ),
    "judge_with_reference": series(f"judge items.jsonl {_JAY} --with-reference --out v.jsonl --json"),
    "judge_dry_run": series(
        "judge items.jsonl --judge openai:gpt-4o-mini --out v.jsonl --dry-run",
        "judge items.jsonl --out v.jsonl",
        "judge items.jsonl --judge nobody:x --out v.jsonl",
        f"judge empty.jsonl {_JAY} --out v.jsonl",
    ),
    "judge_grades": series(f"judge items.jsonl --grade {_TWO} --limit 1 --out g.jsonl --json >> g.jsonl"),
    "judge_text": series(f"judge items.jsonl {_TWO} --out v.jsonl", f"judge items.jsonl {_TWO} --out v.jsonl"),
    "clash_generated": series(
        f"clash prompts.jsonl {_CANDIDATES} {_THREE} --limit 1 --out a.jsonl --judgments j.jsonl >> j.jsonl",
        f"clash prompts.jsonl {_CANDIDATES} {_THREE} --out a.jsonl",
        part=_timeless,
    ),
    "clash_observers": series(
        f"clash prompts.jsonl --limit 1 {_CANDIDATES} {_THREE} --observers --criteria-model {OPENAI_STYLE.format('namer-1')}"
        " --out a.jsonl --json",
        part=_timeless,
    ),
    "clash_voters": series(
        f"clash prompts.jsonl --limit 1 {_CANDIDATES} {_THREE} --voters --out a.jsonl", part=_timeless
    ),
    "clash_given": series(
        f"clash items.jsonl --responses given {_THREE} --limit 1 --repeats 2 --out a.jsonl",
        f"clash items.jsonl --responses given {_THREE} --repeats 2 --out a.jsonl",
        "clash a.jsonl --compare-people",
        "review list",
        part=_timeless,
    ),
    "clash_given_page": series(
        f"clash items.jsonl --responses given {_THREE} --limit 2 --out a.jsonl --report r.html --report r.md >> r.html r.md",
        part=_timeless,
    ),
    "clash_ties": series(
        f"clash items.jsonl --responses given {_THREE} --ties --limit 2 --out a.jsonl", part=_timeless
    ),
    "clash_one_prompt": series(f"clash 'Explain tides' {_CANDIDATES} {_THREE}", part=_timeless),
    "clash_dry_run": series(
        f"clash prompts.jsonl {_CANDIDATES} {_THREE} --out a.jsonl --dry-run",
        f"clash prompts.jsonl {_CANDIDATES} --out a.jsonl",
        f"clash prompts.jsonl {_THREE} --out a.jsonl",
        f"clash prompts.jsonl {_CANDIDATES} {_THREE} --quorum 9 --out a.jsonl",
        part=_timeless,
    ),
    "case": series(
        f"case cases.jsonl {_TWO} --limit 1 --audit-share 1 --out c.jsonl --json >> c.jsonl",
        f"case cases.jsonl {_TWO} --details",
        "review stats --json",
    ),
    "case_report": series(f"case cases.jsonl {_JAY} --limit 1 --report r.html --report r.md >> r.html r.md"),
    "case_refused": series(
        "case cases.jsonl --judge openai:gpt-4o-mini --dry-run",
        f"case cases.jsonl {_JAY} --policy verdict",
        f"case s6.jsonl {_JAY}",
        "case missing.jsonl",
    ),
    "peers_rankings": series("peers --rankings peer_rankings.jsonl --resamples 100 --json"),
    "peers_text": series(
        "peers --rankings peer_rankings.jsonl --resamples 0 --rule borda --include-self no",
        "peers --rankings peer_rankings.jsonl --resamples 0 --human 'ant > bee = cat' --top-k 2",
        "peers --rankings missing.jsonl",
        "peers",
    ),
    "peers_influence": series(
        "peers --rankings peer_rankings.jsonl --resamples 0 --without ant,bee --json",
        "peers --rankings peer_rankings.jsonl --resamples 0 --without ant --without ant,cat",
    ),
    "peers_questions": series(
        f"peers --questions questions.jsonl {_PEERS} --resamples 0 --out b.jsonl --json",
        f"peers --questions questions.jsonl {_PEERS} --resamples 0 --out b.jsonl",
        f"peers --questions questions.jsonl {_PEERS} --out c.jsonl --dry-run",
    ),
    "peers_sweep": series("peers --rankings peer_rankings.jsonl --resamples 0"),
    "rank_kemeny": series(
        "rank ballots.jsonl --json", "rank ballots.jsonl", "rank cycle.jsonl --json", "rank cycle.jsonl"
    ),
    "rank_rules": series(*(f"rank ballots.jsonl --rule {rule} --json" for rule in _RULES)),
    "rank_rules_text": series(*(f"rank ballots.jsonl --rule {rule}" for rule in _RULES)),
    "rank_rules_on_a_cycle": series(*(f"rank cycle.jsonl --rule {rule} --json" for rule in _RULES)),
    "rank_ties": series(
        "rank tied.jsonl --ties ignore --json",
        "rank tied.jsonl --ties refuse",
        "rank tied.jsonl --rule bradley_terry --ties davidson --json",
        "rank tied.jsonl --rule bradley_terry --ties ignore --json",
        "rank tied.jsonl --rule plackett_luce --ties breslow --json",
        "rank tied.jsonl --rule borda --ties davidson",
        tolerance=1e-6,
    ),
    "rank_agreement_weighted": series("rank ballots.jsonl --rule agreement_weighted_borda --json"),
    "rank_files": series(
        "rank ballots.csv --json",
        "rank ballots.soc --json",
        "rank ballots.soc --rule bradley_terry --unranked ignore --prior 1 --json",
        "rank rankings.jsonl --json",
        "rank empty.jsonl",
        "rank missing.soc",
        tolerance=1e-6,
    ),
}
