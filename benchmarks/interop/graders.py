"""A server on loopback that speaks OpenAI's chat completions and answers by our cases, in place of a model.

The model ``answerer`` gives a case's answer. Any other model is a judge: it finds the case whose answer is in the
prompt and says of it what :class:`~benchmarks.interop.cases.Case` says, in the form that the prompt asks for. A
meta-judge, asked by us, gives the scale's best point where the people of the case agree with its judge, else its worst.
"""

import json
import re
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from .cases import CASES, EXPLANATIONS, Case

ANSWERER = "answerer"
JUDGE = "gpt-4o-mini"
META_JUDGE = "meta-judge"
REFUSED = "refused"
"""A model that answers with an error."""
ASKED: Counter[str] = Counter()
"""Requests by model since the start."""
UNREADABLE = "I would rather not grade this."
"""What the judge says where a case has no verdict."""


@contextmanager
def serving() -> Iterator[str]:
    """Serves in threads on a free port; gives the address, ``http://127.0.0.1:PORT/v1``."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def reply(body: dict[str, Any]) -> str:
    """What the model of a request answers."""
    text = "\n".join(_text(message.get("content")) for message in body["messages"])
    if body["model"] == ANSWERER:
        return next((case.answer for case in CASES if case.question in text), "I do not know.")
    case = next((case for case in CASES if case.question in text), None) or next(
        (case for case in CASES if case.answer in text), None
    )
    schema = ((body.get("response_format") or {}).get("json_schema") or {}).get("schema")
    if body["model"] == META_JUDGE:
        return json.dumps(_instance(schema, schema, _is_supported(case)))
    return _verdict(text, case)


def _verdict(text: str, case: Case | None) -> str:
    """A judge's words, by the form that a prompt of promptfoo, Inspect or DeepEval asks for."""
    of_tone = "tone" in text.lower()
    if "evaluation steps" in text.lower() and '"steps"' in text:
        return json.dumps({"steps": ["Look at the tone." if of_tone else "Compare the answer with what is known."]})
    if case is None or case.judge is None:
        return UNREADABLE
    right, why = case.judge, EXPLANATIONS[case.judge]
    if "GRADE:" in text:
        return f"{why}\n\nGRADE: {'C' if right else 'I'}"
    if '"category"' in text:
        return json.dumps({"category": "C" if right else "D", "reason": why})
    if of_tone:
        said = "The tone fits." if case.tone > 3 else "The tone is curt."
        return json.dumps({"score": case.tone * 2, "reason": said})
    if "Evaluation Steps" in text:  # DeepEval's G-Eval grades from 0 to 10
        return json.dumps({"score": 10 if right else 0, "reason": why})
    if "A>B" in text:
        return json.dumps({"verdict": "A>B" if right else "B>A", "rationale": why})
    return json.dumps({"reason": why, "pass": right, "score": 1.0 if right else 0.0})


def _is_supported(case: Case | None) -> bool:
    """Whether people agree with the judge on a case; true where the case has no label."""
    return case is None or all(right is case.judge for right in case.people.values())


def _instance(part: Any, root: Any, best: bool) -> Any:
    """An instance of a schema: every number the highest or the lowest one, every text the same sentence."""
    while isinstance(part, dict) and "$ref" in part:
        part = root["$defs"][part["$ref"].rsplit("/", 1)[1]]
    if "anyOf" in part:
        return _instance(part["anyOf"][0], root, best)
    if "enum" in part or "const" in part:
        points = part.get("enum") or [part["const"]]
        return max(points) if best else min(points)
    if "properties" in part:
        return {name: _instance(one, root, best) for name, one in part["properties"].items()}
    kind = part.get("type")
    if kind == "array":
        return [_instance(part["items"], root, best)]
    if kind in ("integer", "number"):
        return 5 if best else 1
    return best if kind == "boolean" else "Checked against the question."


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content)
    return str(content or "")


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if not self.path.endswith("/chat/completions") or body["model"] == REFUSED:
            self.send_error(400, "no such path or model here")
            return
        ASKED[body["model"]] += 1
        text = reply(body)
        tokens = len(re.findall(r"\w+", text))
        answer = {
            "id": "chatcmpl-interop",
            "object": "chat.completion",
            "created": 1_793_440_800,
            "model": body["model"],
            "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 100, "completion_tokens": tokens, "total_tokens": 100 + tokens},
        }
        data = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Says nothing."""
