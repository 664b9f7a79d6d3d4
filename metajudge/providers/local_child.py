"""The process in which llama.cpp runs: it serves one model file on loopback until its standard input ends.

Started as ``python -m metajudge.providers.local_child PATH NAME CONTEXT``. The one line it prints is a JSON object:
``{"url": ...}`` once it answers, or ``{"error": ...}``. Standard input is the parent's end of a pipe: whatever ends the
parent, kill -9 included, ends the pipe and this process with it. Ctrl-C is the parent's business.
"""

import json
import os
import signal
import sys
import threading

MISSING = "missing"
"""What ``error`` says where the package is not installed."""


def main(path: str, name: str, context: str) -> None:
    """Serves a model file; returns only where that fails."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_input, daemon=True).start()
    output = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # llama.cpp's own output must not mix with ours

    def say(what: dict[str, str]) -> None:
        output.write(json.dumps(what) + "\n")
        output.flush()

    try:
        import xllamacpp
    except ImportError as error:
        say({"error": MISSING, "why": str(error)})
        return
    try:
        server = xllamacpp.Server(_parameters(xllamacpp.CommonParams(), path, name, int(context)))
    except Exception as error:
        say({"error": f"{type(error).__name__}: {error}"})
        return
    say({"url": server.listening_address})
    threading.Event().wait()


def _parameters(params: object, path: str, name: str, context: int) -> object:
    # The package ships no types; names are those of its pinned version.
    settings: dict[str, object] = {
        "hostnames": ["127.0.0.1"],
        "port": 0,  # the system chooses a free one: nothing can be in the way
        "n_ctx": context,
        "n_parallel": 1,
        "model_alias": {name},
        "ui": False,
        "verbosity": 1,
    }
    for key, value in settings.items():
        setattr(params, key, value)
    params.model.path = path  # type: ignore[attr-defined]
    # Its threads spin while they wait for each other: one core is left to the rest of the machine.
    params.cpuparams.n_threads = max(1, (os.cpu_count() or 2) - 1)  # type: ignore[attr-defined]
    return params


def _end_with_input() -> None:
    while os.read(0, 1024):
        pass
    os._exit(0)  # no orderly shutdown: it would wait for an answer that is not read


if __name__ == "__main__":
    main(*sys.argv[1:])
    sys.exit(1)
