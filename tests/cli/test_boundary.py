"""No trace reaches a user: real processes, real full devices and folders that cannot be written."""

import ctypes
import sys
from pathlib import Path

import pytest

from metajudge.readers import write_jsonl
from tests.doubles.judgments import judgment
from tests.doubles.llm_server import LLMServer, score_answer

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
