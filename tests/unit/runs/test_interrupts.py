"""Ctrl-C is answered at once in every phase, and costs at most the step at hand."""

import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import equipoise
from equipoise.runs import interrupts
from equipoise.runs.drive import Interrupted
from equipoise.runs.phases import Phase, Progress
from tests.holdem import write_small_holdem

DEEP = (
    "--algorithm",
    "deep-cfr",
    "--set",
    "traversals=50",
    "--set",
    "capacity=1000",
    "--set",
    "fresh_steps=2",
    "--set",
    "steps=2",
)
AT_ONCE = 30.0  # seconds; some hundredths on an idle machine, and what is interrupted takes minutes


class Program:
    """The command line in a process of its own, with what it prints to a terminal or a pipe."""

    def __init__(self, folder: Path, *arguments: str, terminal: bool) -> None:
        self.text = ""
        reading, writing = pty.openpty() if terminal else os.pipe()
        self._reading = reading
        command = [sys.executable, "-m", "equipoise", *arguments]
        environment = {**os.environ, "COLUMNS": "120", "TERM": "xterm"}
        self.process = subprocess.Popen(
            command, cwd=folder, stdin=subprocess.DEVNULL, stdout=writing, stderr=writing, env=environment
        )
        os.close(writing)

    def read_until(self, pattern: str, timeout: float = 300.0) -> float:
        """Read on until the text matches; return how long that took."""
        started = time.monotonic()
        while not re.search(pattern, self.text):
            passed = time.monotonic() - started
            assert passed < timeout, f"no {pattern!r} in {self.text[-2000:]!r}"
            if select.select([self._reading], [], [], 0.05)[0]:
                try:
                    data = os.read(self._reading, 65536)
                except OSError:  # the terminal's other end is closed
                    data = b""
                assert data, f"no {pattern!r} in {self.text[-2000:]!r}"
                self.text += data.decode(errors="replace")
        return time.monotonic() - started

    def interrupt(self) -> None:
        self.process.send_signal(signal.SIGINT)

    def end(self, timeout: float = 300.0) -> int:
        self.read_until(r"continue with|nothing is saved", timeout)
        code = self.process.wait(timeout)
        os.close(self._reading)
        return code


@pytest.mark.parametrize("terminal", [True, False])
def test_fitting_the_policy_is_announced_and_left_at_once(terminal, tmp_path):
    long_fit = ("--iterations", "2", "--set", "policy_steps=10000000")
    program = Program(tmp_path, "solve", "kuhn_poker", *DEEP, *long_fit, "--out", "run", terminal=terminal)
    program.read_until("fitting the policy, [0-9]+ %")
    program.interrupt()
    assert program.read_until(interrupts.ANSWER) < AT_ONCE
    program.read_until("stopped after iteration 1, which is saved; continue with: equipoise resume run")
    assert program.end() == 130


def test_opening_an_interrupted_run_shows_the_fit(tmp_path):
    long_fit = ("--iterations", "2", "--set", "policy_steps=10000000")
    program = Program(tmp_path, "solve", "kuhn_poker", *DEEP, *long_fit, "--out", "run", terminal=False)
    program.read_until("fitting the policy")
    program.interrupt()
    assert program.end() == 130
    program = Program(tmp_path, "evaluate", "run", terminal=False)
    program.read_until(r"(?s)evaluating run.*fitting the policy, 0 %")
    program.interrupt()
    program.read_until("interrupted")
    assert program.process.wait(120) == 130


def test_a_second_interrupt_ends_a_long_kernel_and_keeps_the_last_checkpoint(tmp_path):
    """The game takes minutes an iteration in one kernel; nothing of Python runs meanwhile in the main thread."""
    program = Program(
        tmp_path,
        *("solve", "kuhn_poker", "--algorithm", "rs-mccfr", "--set", "batch=1000000000", "--iterations", "3"),
        *("--out", "run"),
        terminal=True,
    )
    program.read_until("solving")
    time.sleep(1.0)  # into the kernel
    program.interrupt()
    assert program.read_until(interrupts.ANSWER) < AT_ONCE
    time.sleep(0.2)
    program.interrupt()
    assert program.read_until(interrupts.SECOND_ANSWER) < AT_ONCE
    assert program.read_until("stopped; nothing is saved yet") < interrupts.GRACE + AT_ONCE
    assert program.process.wait(120) == 130


def test_preparing_is_left_at_once(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    program = Program(
        tmp_path,
        *("solve", "limit_holdem", "--algorithm", "es-mccfr", "--set", "buckets=ehs2:2", "--set", "precision=float32"),
        *("--iterations", "10", "--out", "run"),
        terminal=False,
    )
    program.read_until("strength of all hands on full boards, [1-9]")
    program.interrupt()
    assert program.read_until(interrupts.ANSWER) < AT_ONCE
    assert program.read_until("stopped; nothing is saved yet") < 2 * AT_ONCE
    assert program.process.wait(120) == 130
    assert not (tmp_path / "run").exists()


def stop_in(what, after=0):
    """Return a listener that sends Ctrl-C when a phase has come so often."""
    seen = []

    def listen(progress):
        if isinstance(progress, Phase) and progress.what == what:
            seen.append(progress)
            if len(seen) == 1 + after:
                os.kill(os.getpid(), signal.SIGINT)

    return listen


@pytest.mark.parametrize("after", [0, 2])
def test_an_evaluation_that_was_left_is_all_that_a_resume_has_to_do(after, tmp_path, capsys):
    text = write_small_holdem(tmp_path / "game.py")
    settings = {"iterations": 20, "first_evaluation": 10}
    whole = equipoise.solve(text, "dcfr", **settings, out=tmp_path / "whole")
    # Evaluations come after iterations 10, 12, 15, ...; each says when it begins, and then how far it is.
    listener = stop_in("exact evaluation", after)
    with pytest.raises(Interrupted) as caught:
        equipoise.solve(text, "dcfr", **settings, out=tmp_path / "cut", on_progress=listener)
    assert isinstance(caught.value, KeyboardInterrupt)
    assert caught.value.iteration in (10, 12, 15) and caught.value.directory == tmp_path / "cut"
    assert interrupts.ANSWER in capsys.readouterr().err
    resumed = equipoise.resume(tmp_path / "cut", trust_game=True)
    told = [{key: value for key, value in record.items() if "seconds" not in key} for record in whole.history]
    again = [{key: value for key, value in record.items() if "seconds" not in key} for record in resumed.history]
    assert again == told


def test_the_last_evaluation_can_be_left_with_everything_saved(tmp_path):
    text = write_small_holdem(tmp_path / "game.py")
    whole = equipoise.solve(text, "dcfr", iterations=15, first_evaluation=100)
    with pytest.raises(Interrupted) as caught:
        equipoise.solve(
            *(text, "dcfr"),
            iterations=15,
            first_evaluation=100,
            out=tmp_path / "cut",
            on_progress=stop_in("exact evaluation"),
        )
    assert caught.value.iteration == 15
    iterations = []
    found = equipoise.resume(
        tmp_path / "cut",
        trust_game=True,
        on_progress=lambda p: isinstance(p, Progress) and iterations.append(p.iteration),
    )
    assert set(iterations) == {15}  # nothing was solved again
    assert (found.value, found.nash_conv) == (whole.value, whole.nash_conv)


def test_without_a_directory_the_solution_so_far_is_in_the_interruption():
    def listen(progress):
        if isinstance(progress, Progress) and progress.iteration >= 300:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt) as caught:
        equipoise.solve("leduc_poker", iterations=100_000_000, on_progress=listen)
    error = caught.value
    assert isinstance(error, Interrupted) and error.directory is None
    found = error.solution
    assert found.iterations == error.iteration >= 300
    expected = equipoise.solve("leduc_poker", iterations=found.iterations)
    np.testing.assert_array_equal(found.policy.probabilities, expected.policy.probabilities)
    assert found.history and found.history[-1]["exploitability"] < 0.1


def test_deep_cfr_gives_its_policy_after_an_interruption():
    quick = {"traversals": 50, "steps": 2, "fresh_steps": 2, "policy_steps": 40}
    with pytest.raises(Interrupted) as caught:
        equipoise.solve("kuhn_poker", "deep-cfr", iterations=2, parameters=quick, on_progress=stop_in("solving"))
    assert caught.value.iteration == 1
    expected = equipoise.solve("kuhn_poker", "deep-cfr", iterations=1, parameters=quick)
    policy = caught.value.solution.policy
    np.testing.assert_array_equal(policy.probabilities, expected.policy.probabilities)


def test_a_question_never_trains():
    solution = equipoise.solve(
        "kuhn_poker", "deep-cfr", iterations=2, parameters={"traversals": 50, "steps": 2, "policy_steps": 4}
    )
    solution.solver.average_strategy()
    solution.solver.run(1)
    with pytest.raises(RuntimeError, match="conclude"):
        solution.solver.average_strategy()
    assert solution.solver.conclude() and not solution.solver.conclude()
    solution.solver.average_strategy()


def test_other_threads_solve_without_handlers(tmp_path):
    import threading

    found = []
    before = signal.getsignal(signal.SIGINT)
    thread = threading.Thread(target=lambda: found.append(equipoise.solve("kuhn_poker", iterations=10)))
    thread.start()
    thread.join()
    assert found[0].iterations == 10 and signal.getsignal(signal.SIGINT) is before


def test_handlers_and_the_wake_up_descriptor_are_put_back():
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    before = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    handler = signal.signal(signal.SIGUSR1, lambda number, frame: None)
    try:

        def listen(progress):
            os.kill(os.getpid(), signal.SIGUSR1)

        equipoise.solve("kuhn_poker", iterations=3, on_progress=listen)
        assert os.read(reading, 1) == bytes([signal.SIGUSR1])  # whoever listened before still hears of other signals
        assert signal.set_wakeup_fd(before) == writing
    finally:
        signal.signal(signal.SIGUSR1, handler)
        os.close(reading)
        os.close(writing)


def test_solving_is_left_after_the_step_at_hand(tmp_path):
    program = Program(tmp_path, "solve", "leduc_poker", "--iterations", "100000000", "--out", "run", terminal=True)
    program.read_until("exploitability")
    program.interrupt()
    assert program.read_until(interrupts.ANSWER) < AT_ONCE
    program.read_until("which is saved")
    assert program.end() == 130
    assert len(list((tmp_path / "run" / "checkpoints").iterdir())) == 1
