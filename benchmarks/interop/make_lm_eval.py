"""Writes lm-evaluation-harness' samples of our cases: ``python -m benchmarks.interop.make_lm_eval DIR URL``.

To be run by a Python that has it (``pip install 'lm-eval[api]'``); URL is an OpenAI-compatible server. A task of ours
asks a model our questions and has a judge grade each answer (``process_results``), beside the harness's own exact
match. Its command ``lm_eval`` is run with ``--log_samples``. Written is the file of samples; what was run is printed.
"""

import json
import os
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

from .cases import CASES

_TASK = """task: judged
dataset_path: json
dataset_kwargs:
  data_files:
    test: DATA
test_split: test
output_type: generate_until
doc_to_text: "Question: {{question}}\\nAnswer:"
doc_to_target: answer
generation_kwargs: {until: ["\\n\\n"], max_gen_toks: 64}
process_results: !function judging.process
metric_list:
  - {metric: exact_match, aggregation: mean, higher_is_better: true}
  - {metric: judge_score, aggregation: mean, higher_is_better: true}
  - {metric: judge_reason, aggregation: bypass, higher_is_better: true}
  - {metric: tone, aggregation: !function judging.mean, higher_is_better: true}
metadata: {version: 1.0}
"""
_JUDGING = '''"""The judge of the task."""

import json
import os

import openai

CLIENT = openai.OpenAI(base_url=os.environ["JUDGE_URL"], api_key="none")
SCHEMA = {
    "type": "object",
    "properties": {"reason": {"type": "string"}, "score": {"type": "integer", "enum": [1, 2, 3, 4, 5]}},
    "required": ["reason", "score"],
}


def ask(what, doc, answer):
    text = f"Grade the {what} from 1 to 5. Question: {doc['question']} Answer: {answer}"
    shape = {"type": "json_schema", "json_schema": {"name": "grade", "schema": SCHEMA}}
    reply = CLIENT.chat.completions.create(
        model="gpt-4o-mini", messages=[{"role": "user", "content": text}], response_format=shape
    )
    return json.loads(reply.choices[0].message.content)


def process(doc, results):
    graded, tone = ask("correctness", doc, results[0]), ask("tone", doc, results[0])
    return {
        "exact_match": float(results[0].strip() == doc["answer"]),
        "judge_score": graded["score"],
        "judge_reason": graded["reason"],
        "tone": {"score": tone["score"], "explanation": tone["reason"], "judge": "gpt-4o-mini"},
    }


def mean(items):
    return sum(one["score"] for one in items) / len(items)
'''


def main(folder: Path, url: str) -> None:
    """Writes ``samples_judged_TIME.jsonl``."""
    with tempfile.TemporaryDirectory() as given:
        work = Path(given)
        rows = "".join(json.dumps({"question": case.question, "answer": case.answer}) + "\n" for case in CASES)
        (work / "cases.jsonl").write_text(rows)
        (work / "judged.yaml").write_text(_TASK.replace("DATA", str(work / "cases.jsonl")))
        (work / "judging.py").write_text(_JUDGING)
        model = f"model=wren-small,base_url={url}/chat/completions,num_concurrent=1,max_retries=1"
        words = ["lm_eval", "--model", "local-chat-completions", "--model_args", model, "--apply_chat_template"]
        words += ["--tasks", "judged", "--include_path", ".", "--output_path", "out", "--log_samples"]
        private = {"JUDGE_URL": url, "OPENAI_API_KEY": "none", "HF_HOME": str(work / "hf"), "HF_HUB_OFFLINE": "1"}
        program = Path(sys.executable).with_name("lm_eval")
        print(f"$ {' '.join(words)}   (lm_eval {version('lm_eval')})")
        done = subprocess.run(
            [program, *words[1:]], cwd=work, env=os.environ | private, capture_output=True, text=True, check=False
        )
        found = sorted(work.rglob("samples_judged_*.jsonl"))
        if not found:
            raise SystemExit(f"lm_eval wrote no samples (exit code {done.returncode}):\n{done.stderr[-3000:]}")
        lines = found[0].read_text().splitlines()
        (folder / found[0].name).write_text("".join(f"{line}\n" for line in lines))
        print(f"{found[0].name}: {len(lines)} samples, metrics {', '.join(json.loads(lines[0])['metrics'])}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
