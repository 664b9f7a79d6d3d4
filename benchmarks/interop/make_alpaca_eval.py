"""Writes AlpacaEval's annotations of our pairs: ``python -m benchmarks.interop.make_alpaca_eval DIR URL``.

To be run by a Python that has it (``pip install alpaca-eval``); URL is an OpenAI-compatible server. Its own command
``alpaca_eval`` is run with two annotators of ours, one that gives reasons and one that does not. Written are their
``annotations.json``. What was run is printed.
"""

import json
import os
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

from .cases import CASES
from .pair_cases import ANSWERS, MODELS

_PROMPTS = {
    "reasons": """<|im_start|>user
Instruction: {instruction}
First answer: {output_1}
Second answer: {output_2}
Which is better? Give a reason, then write [[A]] for the first or [[B]] for the second.
<|im_end|>
""",
    "bare": """<|im_start|>user
Instruction: {instruction}
Output (a): {output_1}
Output (b): {output_2}
Which is better? Write nothing but Output (a) or Output (b).
<|im_end|>
""",
}
_MARKS = {"reasons": ("A\\]\\]", "B\\]\\]"), "bare": ("Output \\(a\\)", "Output \\(b\\)")}
_CONFIG = """NAME:
  prompt_template: PROMPT
  fn_completions: openai_completions
  completions_kwargs: {model_name: gpt-4o-mini, max_tokens: 300, temperature: 0}
  completion_parser_kwargs:
    outputs_to_match:
      1: 'FIRST'
      2: 'SECOND'
  batch_size: 1
"""


def main(folder: Path, url: str) -> None:
    """Writes ``alpaca-reasons.json`` and ``alpaca-bare.json``."""
    with tempfile.TemporaryDirectory() as given:
        work = Path(given)
        for model in MODELS:
            rows = [
                {"instruction": case.question, "output": answer, "generator": model, "dataset": "ours"}
                for case, answer in zip(CASES, ANSWERS[model], strict=True)
            ]
            (work / f"{model}.json").write_text(json.dumps(rows))
        for name in _PROMPTS:
            written = _run(work, name, url)
            (folder / f"alpaca-{name}.json").write_text(written.read_text())
            print(f"{name}: {len(json.loads(written.read_text()))} annotations")


def _run(work: Path, name: str, url: str) -> Path:
    config = work / name
    config.mkdir()
    (config / "prompt.txt").write_text(_PROMPTS[name])
    given = {"NAME": name, "PROMPT": str(config / "prompt.txt"), "FIRST": _MARKS[name][0], "SECOND": _MARKS[name][1]}
    text = _CONFIG
    for mark, value in given.items():
        text = text.replace(mark, value)
    (config / "configs.yaml").write_text(text)
    clients = work / "clients.yaml"
    clients.write_text(f"default:\n  - api_key: none\n    base_url: {url}\n")
    words = ["alpaca_eval", "--model_outputs", f"{MODELS[1]}.json", "--reference_outputs", f"{MODELS[0]}.json"]
    words += [
        "--annotators_config",
        str(config),
        "--output_path",
        f"results-{name}",
        "--precomputed_leaderboard",
        "None",
    ]
    words += ["--fn_metric", "get_winrate", "--sort_by", "win_rate", "--is_overwrite_leaderboard", "True"]
    environment = os.environ | {"OPENAI_CLIENT_CONFIG_PATH": str(clients), "OPENAI_API_KEY": "none"}
    program = Path(sys.executable).with_name("alpaca_eval")
    print(f"$ {' '.join(words[:5])} --annotators_config {name} ...   (alpaca_eval {version('alpaca_eval')})")
    done = subprocess.run([program, *words[1:]], cwd=work, env=environment, capture_output=True, text=True, check=False)
    found = sorted((work / f"results-{name}").rglob("annotations.json"))
    if not found:
        raise SystemExit(f"alpaca_eval wrote no annotations (exit code {done.returncode}):\n{done.stderr[-3000:]}")
    return found[0]


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
