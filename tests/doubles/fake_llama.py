"""Stands in for the package xllamacpp in the process that serves a local model: a folder for PYTHONPATH.

Its server answers every request with an instance of the schema asked for. A model file that says ``broken`` cannot be
loaded, and one that says ``dies`` ends the process with the first request.
"""

from pathlib import Path

SOURCE = """
import http.server, json, os, threading
from types import SimpleNamespace

class CommonParams:
    def __init__(self):
        self.model, self.cpuparams = SimpleNamespace(path=""), SimpleNamespace(n_threads=0)

def instance(schema):
    if "enum" in schema:
        return schema["enum"][-1]
    if schema.get("type") == "object":
        return {name: instance(one) for name, one in schema["properties"].items()}
    return "fine"

class Server:
    def __init__(self, params):
        content = open(params.model.path, "rb").read()
        if b"broken" in content:
            print("llama: error loading model: tensor missing", file=__import__("sys").stderr)
            raise RuntimeError("Failed to init server")
        print("noise on standard output", flush=True)
        alias, seen = sorted(params.model_alias)[0], []

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            def do_POST(self):
                if b"dies" in content:
                    os._exit(9)
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                schema = body["response_format"]["json_schema"]["schema"]
                answer = {"id": "c", "object": "chat.completion", "created": 0, "model": alias,
                    "choices": [{"index": 0, "finish_reason": "stop",
                                 "message": {"role": "assistant", "content": json.dumps(instance(schema))}}],
                    "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}}
                raw = json.dumps(answer).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)
            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer((params.hostnames[0], params.port), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.listening_address = f"http://127.0.0.1:{server.server_address[1]}"
"""


def install_fake(folder: Path) -> Path:
    """Writes the package into a folder and returns the folder."""
    folder.mkdir(exist_ok=True)
    (folder / "xllamacpp.py").write_text(SOURCE)
    return folder


def gguf(path: Path, content: str = "weights") -> Path:
    """A file that looks like a model from outside."""
    path.write_bytes(b"GGUF" + content.encode())
    return path
