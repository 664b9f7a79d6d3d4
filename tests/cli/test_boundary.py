"""No trace reaches a user: full devices, folders that cannot be written, interrupts, removed commands, loaded packages."""

import ctypes
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from metajudge.cli import boundary
from metajudge.cli.boundary import guarded
from metajudge.errors import ConfigurationError
from metajudge.panels.config import panel_config
from metajudge.reading import write_jsonl
from tests.cli.conftest import agents
from tests.doubles.judgments import judgment
from tests.doubles.llm_server import LLMServer, score_answer
from tests.doubles.waiting import until

SAMPLE = Path(__file__).parents[2] / "benchmarks" / "sample" / "judgments.jsonl"
FULL = Path("/dev/full")

BROKEN_COMMAND = """
import sys
import metajudge.vetting.summary
def fails(self):
    raise ZeroDivisionError("a fault of ours")
metajudge.vetting.summary.VetSummary.to_json = fails
from metajudge.cli import main
sys.argv[0] = "metajudge"
main()
"""


def broken(metajudge, *arguments, **more):
    command = (sys.executable, "-c", BROKEN_COMMAND, *arguments)
    return metajudge.process(*command, env={**metajudge.env, **more}, timeout=300)


@pytest.mark.slow
def test_a_fault_of_ours_is_one_line_that_says_where_the_state_is(metajudge):
    done = broken(metajudge, "vet", SAMPLE)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith("metajudge: unexpected error: ZeroDivisionError: a fault of ours (")
    assert "kept in metajudge.db: run the same command again to resume" in line
    assert "--debug shows the trace" in line


@pytest.mark.slow
@pytest.mark.parametrize("place", ["before", "after", "environment"])
def test_the_trace_is_for_who_asks(metajudge, place):
    words = {"before": ["--debug", "vet", SAMPLE], "after": ["vet", SAMPLE, "--debug"], "environment": ["vet", SAMPLE]}
    more = {"METAJUDGE_DEBUG": "1"} if place == "environment" else {}
    done = broken(metajudge, *words[place], **more)
    assert done.returncode == 1
    assert "Traceback (most recent call last)" in done.stderr


@pytest.mark.skipif(not FULL.exists(), reason="there is no /dev/full here")
class TestFullDisk:
    @pytest.fixture
    def crowd(self, tmp_path):
        write_jsonl(tmp_path / "judgments.jsonl", [judgment(f"j{i}") for i in range(6)])
        return "judgments.jsonl"

    @pytest.mark.slow
    def test_of_vet_names_the_file_keeps_the_results_and_the_earlier_file(self, metajudge, crowd):
        (metajudge.folder / "out.jsonl").write_text("of an earlier run\n")
        (metajudge.folder / "out.jsonl.partial").symlink_to(FULL)
        with LLMServer(answer=score_answer(5)) as server:
            command = ("vet", crowd, "--agent", f"openai:gpt-4o-mini@{server.url}", "--out", "out.jsonl")
            done = metajudge(*command)
            assert done.returncode == 1
            (line,) = [one for one in done.stderr.splitlines() if one.startswith("metajudge: ") and "note:" not in one]
            assert line.startswith("metajudge: out.jsonl: cannot be written: No space left on device")
            assert (metajudge.folder / "out.jsonl").read_text() == "of an earlier run\n"
            (metajudge.folder / "out.jsonl.partial").unlink()
            summary, code = metajudge.json(*command)
            assert (code, summary["assessed"], server.count) == (0, 6, 6)
        assert len((metajudge.folder / "out.jsonl").read_text().splitlines()) == 6

    def test_of_standard_output_is_said_once(self, metajudge):
        with FULL.open("w") as full:
            done = metajudge.process(sys.executable, "-m", "metajudge", "demo", stdout=full)
        assert done.returncode == 1
        assert done.stderr.splitlines() == ["metajudge: a file or standard output: No space left on device."]


def test_a_reader_that_goes_away_is_no_error_message(metajudge):
    command = f"{sys.executable} -m metajudge schema assessment | true; exit ${{PIPESTATUS[0]}}"
    done = metajudge.process("bash", "-c", command)
    assert (done.returncode in (0, 1), done.stderr) == (True, "")


def test_end_of_input_at_a_question_is_no_trace(metajudge):
    done = metajudge("init", stdin="")
    assert "Traceback" not in done.stderr


def as_others_are():
    """Gives up root's right to write everywhere; for other users nothing changes."""
    ctypes.CDLL(None).prctl(24, 1)  # PR_CAPBSET_DROP, CAP_DAC_OVERRIDE: gone with the next exec


class TestReadOnlyFolder:
    @pytest.fixture
    def elsewhere(self, tmp_path_factory):
        return tmp_path_factory.mktemp("elsewhere")

    @pytest.fixture
    def read_only(self, metajudge):
        """Runs a command in a folder that may not be written."""

        def run(*arguments):
            metajudge.folder.chmod(0o555)
            return metajudge.process(sys.executable, *arguments, timeout=300, preexec_fn=as_others_are)

        if run("-c", "open('probe', 'w')").returncode == 0:
            pytest.skip("this user writes wherever it likes")
        metajudge.folder.chmod(0o755)
        yield lambda *arguments: run("-m", "metajudge", *arguments)
        metajudge.folder.chmod(0o755)

    @pytest.mark.slow
    def test_with_a_mapping_the_run_goes_on_and_says_that_it_is_not_kept(self, metajudge, read_only, elsewhere):
        (metajudge.folder / "votes.csv").write_text("q,a,b,win\n1+1?,2,3,A\n2+2?,4,5,B\n")
        mapping = "question=q,responses.A=a,responses.B=b,verdict=win,judge:=g"
        done = read_only("vet", "votes.csv", "--map", mapping, "--store", elsewhere / "s.duckdb")
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr
        assert "cannot write" in done.stderr
        assert "--map is needed again next time" in done.stderr
        assert "unscored           2" in done.stdout

    @pytest.mark.slow
    @pytest.mark.parametrize("options", [[], ["--out", "out.jsonl", "--store", "ELSEWHERE"]], ids=["store", "out"])
    def test_without_another_place_to_write_it_says_which(self, metajudge, read_only, elsewhere, options):
        write_jsonl(metajudge.folder / "j.jsonl", [judgment("j")])
        done = read_only(
            "vet", "j.jsonl", *(word.replace("ELSEWHERE", str(elsewhere / "s.duckdb")) for word in options)
        )
        assert done.returncode == 2, done.stderr
        assert len(done.stderr.splitlines()) == 1, done.stderr
        assert ("out.jsonl" if options else "metajudge.db") in done.stderr


LEAVING = """
import atexit, gc, threading
import duckdb
kept = duckdb.connect()
gc.freeze()
atexit.register(print, "an exit handler")
threading.Thread(target=lambda: print(threading.main_thread().join() or "a thread")).start()
from metajudge.cli import main
import sys
sys.argv = ["metajudge", *sys.argv[1:]]
main()
"""


def test_a_command_ends_with_its_threads_and_exit_handlers_and_without_remarks_on_leaks(metajudge):
    done = metajudge.process(sys.executable, "-c", LEAVING, "no-such-command")
    assert done.returncode == 2
    assert done.stdout.splitlines() == ["a thread", "an exit handler"]
    assert "no-such-command" in done.stderr
    assert "leaked" not in done.stderr


def test_main_called_by_another_module_raises_the_exit(monkeypatch):
    from metajudge.cli import main

    monkeypatch.setattr(sys, "argv", ["metajudge", "--version"])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 0


@pytest.mark.parametrize(
    ("code", "status", "said"),
    [(None, 0, ""), (3, 3, ""), ("no server at this port", 1, "metajudge: no server at this port\n")],
)
def test_a_command_that_leaves_with_a_sentence_says_it(monkeypatch, capsys, code, status, said):
    from metajudge.cli import boundary

    def leaves(_words):
        raise SystemExit(code)

    monkeypatch.setattr(boundary, "_call", leaves)
    assert boundary.guarded(["vet"]) == status
    assert capsys.readouterr().err == said


AGENT = {"model": "openai:m"}


@pytest.mark.parametrize(
    ("words", "substitute"),
    [
        ("local", "ollama:NAME"),
        ("local install --folder models", "openai:NAME@http://localhost:PORT"),
        ("local list", "lmstudio:NAME"),
        ("calibrate cascade --data x --out p.json", "weighted_average or majority_vote"),
        ("calibrate weights --data x", "--agent-scores FILE"),
        ("peers --json=f.json", "--json-out FILE"),
    ],
)
def test_the_command_line_ends_with_one_sentence_and_no_other_hint(words, substitute, capsys):
    assert guarded(words.split()) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("metajudge: ")
    assert substitute in line
    assert "Did you mean" not in line


@pytest.mark.parametrize("path", [*boundary.COMMANDS, "bench live run"])
def test_every_removed_command_has_its_sentence(path):
    found = boundary.sentence(
        f"No such command {path.split()[-1]!r}. Did you mean 'list'?", [*path.split(), "--x", "y"]
    )
    assert found.startswith("`metajudge ")
    assert any(found.endswith(said) for said in boundary.COMMANDS.values())


@pytest.mark.parametrize("path", boundary.OPTIONS)
def test_every_removed_option_has_its_sentence(path):
    *_, option = words = path.split()
    assert boundary.sentence(f"No such option: {option} (Possible options: --x)", words).startswith(option)


@pytest.mark.parametrize(("problem", "words"), [("No such command 'vett'.", ["vett"]), ("Missing argument", ["local"])])
def test_other_usage_errors_speak_for_themselves(problem, words):
    assert boundary.sentence(problem, words) is None


@pytest.mark.parametrize(
    ("panel", "substitute"),
    [
        ({"agents": [AGENT], "strategy": "cascade"}, "use weighted_average or majority_vote"),
        ({"agents": [AGENT], "cascade": {"plan": "p.json"}}, "use weighted_average or majority_vote"),
        ({"agents": [AGENT], "routes": {"Math": {"strategy": "cascade"}}}, r"routes\.Math: strategy cascade"),
        ({"agents": [{**AGENT, "score": "expected"}]}, "use samples = 5"),
    ],
)
def test_a_panel_with_something_removed_is_refused_with_its_substitute(panel, substitute):
    with pytest.raises(ConfigurationError, match=substitute):
        panel_config(panel)


READY = """
import os, signal, sys, time, traceback
{before}
from metajudge.cli import main
sys.argv[0] = "metajudge"
signal.signal(signal.SIGINT, lambda *_: os._exit(130))
print("ready", flush=True)
try:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    main()
except KeyboardInterrupt as error:
    if "in main" in "".join(traceback.format_tb(error.__traceback__)):
        raise
    os._exit(130)  # it came before the command began
"""

STUCK_IN_THE_LOOP = """
from metajudge.vetting.blocks import Vetting
def stuck(self, *given):
    print("stuck", flush=True)
    while True:
        time.sleep(0.01)
Vetting.by_evidence = stuck
"""
"""A stretch of the command that never gives the event loop a turn."""

STUCK_IN_CLOSING = """
from metajudge.store.store import Store
def stuck(self):
    print("stuck", flush=True)
    time.sleep(600)
Store._close = stuck
"""
"""A database that takes its time to close."""


def started(metajudge, *arguments, before=""):
    """A command of its own process, ready to run."""
    command = (sys.executable, "-c", READY.format(before=before), *arguments)
    process = metajudge.process(*command, of=subprocess.Popen, stdin=subprocess.PIPE)
    assert process.stdout.readline() == "ready\n"
    return process


def ended(process, within_s=90.0):
    """Exit code and what was said, which is never a trace."""
    out, err = process.communicate(timeout=within_s)
    assert "Traceback" not in out + err, err
    assert "Exception ignored" not in err, err
    assert "KeyboardInterrupt" not in err, err
    return process.returncode, err


@pytest.mark.timeout(240)
@pytest.mark.parametrize(
    "after_s", [0.0, pytest.param(0.3, marks=pytest.mark.slow), pytest.param(1.0, marks=pytest.mark.slow)]
)
def test_an_interrupt_while_a_command_still_loads_is_130_without_a_trace(metajudge, after_s):
    process = started(metajudge, "vet", "-")  # which waits for its input at last
    time.sleep(after_s)
    process.send_signal(signal.SIGINT)
    assert ended(process)[0] == 130


@pytest.mark.timeout(240)
@pytest.mark.slow
def test_a_second_interrupt_ends_a_run_at_once_and_loses_nothing_acknowledged(metajudge, sixty):
    command = ("vet", sixty, "--concurrency", 4, "--no-early-exit")
    slow = True

    def held_back(_request):
        return "slow" if slow and server.count > 60 else None

    with LLMServer(answer=score_answer(5), faults=held_back, slow_s=9.0) as server:
        process = started(metajudge, *command, *agents(server), "--out", "out.jsonl")
        until(lambda: server.count >= 64)
        process.send_signal(signal.SIGINT)
        time.sleep(1)
        assert process.poll() is None, "the first one waits for calls in flight"
        begun = time.monotonic()
        process.send_signal(signal.SIGINT)
        code, said = ended(process)
        assert time.monotonic() - begun < 5, "it waited for calls in flight"
        assert (code, "stopped at once" in said) == (130, True)
        slow = False
        summary, code = metajudge.json(*command, *agents(server))
        assert (code, summary["assessed"]) == (0, 60)
        assert summary["calls"] <= 60 + 4, "what was acknowledged is asked again"


@pytest.mark.timeout(240)
@pytest.mark.slow
@pytest.mark.parametrize("before", [STUCK_IN_THE_LOOP, STUCK_IN_CLOSING], ids=["blocked loop", "closing database"])
def test_a_second_interrupt_ends_a_command_that_is_stuck(metajudge, sixty, before):
    process = started(metajudge, "vet", sixty, before=before)
    assert process.stdout.readline() == "stuck\n"
    process.send_signal(signal.SIGINT)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    assert ended(process, within_s=10)[0] == 130


@pytest.mark.timeout(240)
@pytest.mark.slow
def test_interrupts_in_quick_succession_are_130(metajudge, sixty):
    with LLMServer(answer=score_answer(5), latency_s=1.0) as server:
        process = started(metajudge, "vet", sixty, *agents(server))
        until(lambda: server.count)
        while process.poll() is None:
            process.send_signal(signal.SIGINT)
            time.sleep(0.02)
        assert ended(process)[0] == 130


@pytest.mark.timeout(240)
@pytest.mark.slow
def test_a_command_without_a_way_to_stop_is_cancelled_and_130(metajudge):
    with LLMServer(answer=score_answer(5), latency_s=20.0) as server:
        process = started(metajudge, "check", "--agent", f"openai:gpt-4o-mini@{server.url}")
        until(lambda: server.count)
        process.send_signal(signal.SIGINT)
        assert ended(process)[0] == 130


HEAVY = (
    *("openai", "anthropic", "aiohttp", "httpx2", "genai_prices", "sklearn", "scipy.stats", "scipy.optimize"),
    *("pandas", "pyarrow", "fastapi", "starlette", "matplotlib"),
)
LIGHT = ("numpy", "duckdb", "pydantic_core", "rich", "jinja2", "yaml", "uvloop", "scipy")
LOADED = """
import sys
from metajudge.cli.boundary import guarded
code = guarded(sys.argv[2:])
print([name for name in sys.argv[1].split(",") if name in sys.modules], file=sys.stderr)
sys.exit(code)
"""


@pytest.fixture
def run(tmp_path):
    """Runs Python in a folder with one judgment, with byte code that is kept from run to run."""
    write_jsonl(tmp_path / "one.jsonl", [judgment("j")])
    dropped = {"PYTHONDONTWRITEBYTECODE", "OPENAI_API_KEY", "ANTHROPIC_API_KEY"}
    kept = {name: value for name, value in os.environ.items() if name not in dropped}
    environment = kept | {"PYTHONPYCACHEPREFIX": str(tmp_path / "cache"), "XDG_CONFIG_HOME": str(tmp_path / "config")}

    def python(*words):
        (tmp_path / "metajudge.db").unlink(missing_ok=True)
        done = subprocess.run(
            [sys.executable, *map(str, words)], cwd=tmp_path, env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return done

    return python


def loaded(run, *words):
    done = run("-c", LOADED, ",".join((*HEAVY, *LIGHT)), *words)
    return set(json.loads(done.stderr.splitlines()[-1].replace("'", '"')))


@pytest.mark.slow
def test_vet_without_agents_loads_nothing_that_sends_and_no_statistics_package(run):
    assert loaded(run, "vet", "one.jsonl", "--calibration", "none").isdisjoint(HEAVY)


def test_help_loads_no_package_but_those_that_print_it(run):
    assert loaded(run, "--help") <= {"pydantic_core"}


@pytest.mark.slow
@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_with_an_agent_its_own_sdk_is_loaded_and_no_other(run, provider):
    with LLMServer(answer=score_answer(5)) as server:
        found = loaded(run, "vet", "one.jsonl", "--agent", f"a={provider}:gpt-4o-mini@{server.url}")
    assert found.intersection(HEAVY) <= {"aiohttp", "genai_prices", "httpx2", provider}
    assert {"aiohttp", provider} <= found
