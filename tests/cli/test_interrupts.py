"""Ctrl-C with real processes: the first one finishes what is in flight, the second one ends everything at once."""

import signal
import subprocess
import sys
import time

import pytest

from tests.cli.conftest import agents
from tests.doubles.llm_server import LLMServer, score_answer
from tests.doubles.waiting import until

pytestmark = pytest.mark.timeout(240)

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


@pytest.mark.parametrize(
    "after_s", [0.0, pytest.param(0.3, marks=pytest.mark.slow), pytest.param(1.0, marks=pytest.mark.slow)]
)
def test_an_interrupt_while_a_command_still_loads_is_130_without_a_trace(metajudge, after_s):
    process = started(metajudge, "vet", "-")  # which waits for its input at last
    time.sleep(after_s)
    process.send_signal(signal.SIGINT)
    assert ended(process)[0] == 130


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


@pytest.mark.slow
@pytest.mark.parametrize("before", [STUCK_IN_THE_LOOP, STUCK_IN_CLOSING], ids=["blocked loop", "closing database"])
def test_a_second_interrupt_ends_a_command_that_is_stuck(metajudge, sixty, before):
    process = started(metajudge, "vet", sixty, before=before)
    assert process.stdout.readline() == "stuck\n"
    process.send_signal(signal.SIGINT)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    assert ended(process, within_s=10)[0] == 130


@pytest.mark.slow
def test_interrupts_in_quick_succession_are_130(metajudge, sixty):
    with LLMServer(answer=score_answer(5), latency_s=1.0) as server:
        process = started(metajudge, "vet", sixty, *agents(server))
        until(lambda: server.count)
        while process.poll() is None:
            process.send_signal(signal.SIGINT)
            time.sleep(0.02)
        assert ended(process)[0] == 130


@pytest.mark.slow
def test_a_command_without_a_way_to_stop_is_cancelled_and_130(metajudge):
    with LLMServer(answer=score_answer(5), latency_s=20.0) as server:
        process = started(metajudge, "check", "--agent", f"openai:gpt-4o-mini@{server.url}")
        until(lambda: server.count)
        process.send_signal(signal.SIGINT)
        assert ended(process)[0] == 130
