"""Writes FastChat's judgment files of our pairs: ``python -m benchmarks.interop.make_fastchat DIR URL``.

To be run by a Python that has it (``pip install fschat 'openai<1' 'anthropic<0.8' torch transformers``); URL is an
OpenAI-compatible server. Its own command ``fastchat.llm_judge.gen_judgment`` is run twice, for pairs and for single
grades, over the folder layout of MT-Bench with our questions, of two turns each, our answers and prompts of our
wording between FastChat's marks. A stand-in for a model need not know how FastChat has grades written: ``Score: 7`` in
its answers is passed on as ``[[7]]``, but for one question. Written are ``gpt-4_pair.jsonl`` and
``gpt-4_single.jsonl``; what was run is printed.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import version
from pathlib import Path

from .cases import CASES
from .pair_cases import ANSWERS, MODELS

_PAIR = "[User Question]\n{question}\n\nREF[The Start of Assistant A's Answer]\n{answer_a}\n[The End of Assistant A's "
_PAIR += "Answer]\n\n[The Start of Assistant B's Answer]\n{answer_b}\n[The End of Assistant B's Answer]"
_SINGLE = "[Instruction]\nGrade the answer from 1 to 10, as [[rating]].\n\n[Question]\n{question}\n\nREF[The Start of "
_SINGLE += "Assistant's Answer]\n{answer}\n[The End of Assistant's Answer]"
_REFERENCE = "[The Start of Reference Answer]\n{ref_answer_1}\n[The End of Reference Answer]\n\n"
_TALK = (
    "<|The Start of Assistant X's Conversation with User|>\n\n### User:\n{question_1}\n\n### Assistant X:\n{ONE}\n\n"
)
_TALK += "### User:\n{question_2}\n\n### Assistant X:\n{TWO}\n\n<|The End of Assistant X's Conversation with User|>"
_REFERENCES = (
    "<|The Start of Reference Answer|>\n\n### User:\n{question_1}\n\n### Reference answer:\n{ref_answer_1}\n\n"
)
_REFERENCES += (
    "### User:\n{question_2}\n\n### Reference answer:\n{ref_answer_2}\n\n<|The End of Reference Answer|>\n\n\n"
)
_SYSTEM = "You compare answers. Give a reason, then [[A]], [[B]], or [[C]] for a tie."


def _talk(side: str, one: str, two: str) -> str:
    return _TALK.replace("X", side).replace("{ONE}", f"{{{one}}}").replace("{TWO}", f"{{{two}}}")


def _prompts() -> list[dict[str, str]]:
    both = f"{_talk('A', 'answer_a_1', 'answer_a_2')}\n\n\n{_talk('B', 'answer_b_1', 'answer_b_2')}"
    one = _talk("A", "answer_1", "answer_2")
    grade = "Grade the second answer from 1 to 10, as [[rating]].\n\n"
    texts = {
        ("pair", "v2"): _PAIR.replace("REF", ""),
        ("pair", "math-v1"): _PAIR.replace("REF", _REFERENCE),
        ("pair", "v2-multi-turn"): both,
        ("pair", "math-v1-multi-turn"): _REFERENCES + both,
        ("single", "v1"): _SINGLE.replace("REF", ""),
        ("single", "math-v1"): _SINGLE.replace("REF", _REFERENCE),
        ("single", "v1-multi-turn"): one,
        ("single", "math-v1-multi-turn"): _REFERENCES + one,
    }
    return [
        {
            "name": f"{kind}-{name}",
            "type": "pairwise" if kind == "pair" else "single",
            "system_prompt": _SYSTEM
            if kind == "pair"
            else grade
            if "multi" in name
            else "You are a helpful assistant.",
            "prompt_template": text,
            "description": "",
            "category": "math" if "math" in name else "general",
            "output_format": "[[A]]" if kind == "pair" else "[[rating]]",
        }
        for (kind, name), text in texts.items()
    ]


def main(folder: Path, url: str) -> None:
    """Writes ``gpt-4_pair.jsonl`` and ``gpt-4_single.jsonl``."""
    with tempfile.TemporaryDirectory() as given, _rating(url) as address:
        work = Path(given)
        _write_bench(work / "data" / "mt_bench")
        _lines(work / "data" / "judge_prompts.jsonl", _prompts())
        for mode in ("pairwise-all", "single"):
            words = ["-m", "fastchat.llm_judge.gen_judgment", "--mode", mode, "--judge-model", "gpt-4"]
            print(f"$ python {' '.join(words)}   (fschat {version('fschat')})")
            private = {"OPENAI_API_KEY": "none", "OPENAI_API_BASE": address}
            done = subprocess.run(
                [sys.executable, *words],
                cwd=work,
                env=os.environ | private,
                input="\n",
                capture_output=True,
                text=True,
                check=False,
            )
            kind = "single" if mode == "single" else "pair"
            written = work / "data" / "mt_bench" / "model_judgment" / f"gpt-4_{kind}.jsonl"
            if not written.is_file():
                raise SystemExit(f"gen_judgment wrote nothing (exit code {done.returncode}):\n{done.stderr[-3000:]}")
            text = written.read_text()
            (folder / written.name).write_text(text)
            print(f"{written.name}: {len(text.splitlines())} records")


@contextmanager
def _rating(url: str) -> Iterator[str]:
    """A server on the loopback that passes requests on and writes grades between brackets."""

    class Passing(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            kinds = {"Content-Type": "application/json"}
            with urllib.request.urlopen(urllib.request.Request(f"{url}/chat/completions", body, kinds)) as reply:
                given = json.load(reply)
            message = given["choices"][0]["message"]
            if CASES[-1].question not in body.decode():
                message["content"] = re.sub(r"Score: (\d+)", r"[[\1]]", message["content"])
            data = json.dumps(given).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Passing)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()


def _write_bench(bench: Path) -> None:
    questions = []
    for number, case in enumerate(CASES):
        # Only questions of these categories come with reference answers.
        category = "math" if number == 0 else "stem"
        turns = [case.question, f"Say that in one word: {case.answer}"]
        questions.append({"question_id": 81 + number, "category": category, "turns": turns})
    _lines(bench / "question.jsonl", questions)
    for model in MODELS:
        _answers(
            bench / "model_answer" / f"{model}.jsonl", model, [[text, text.split()[-1]] for text in ANSWERS[model]]
        )
    _answers(bench / "reference_answer" / "gpt-4.jsonl", "gpt-4", [["144", "144"]])


def _answers(path: Path, model: str, turns: list[list[str]]) -> None:
    _lines(
        path,
        [
            {
                "question_id": 81 + number,
                "answer_id": f"{model}-{number}",
                "model_id": model,
                "choices": [{"turns": two}],
            }
            for number, two in enumerate(turns)
        ],
    )


def _lines(path: Path, rows: list[dict[str, object]] | list[dict[str, str]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
