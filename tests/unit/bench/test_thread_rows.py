"""The suite that measures threads: programs that are busy meanwhile, and gone afterwards."""

import subprocess

import pytest

from equipoise.bench import threads
from equipoise.bench.measure import ITERATIONS_PER_SECOND, OURS
from equipoise.errors import EquipoiseError


def test_busy_programs_are_gone_afterwards(monkeypatch):
    started = []
    popen = subprocess.Popen

    def noted(*arguments, **options):
        started.append(popen(*arguments, **options))
        return started[-1]

    monkeypatch.setattr(threads.subprocess, "Popen", noted)
    with threads.busy_programs(2):
        assert [program.poll() for program in started] == [None, None]
    assert all(program.returncode is not None for program in started)


def test_rows_say_what_is_required_idle_and_busy(monkeypatch):
    monkeypatch.setattr(threads, "SECONDS", 0.01)
    monkeypatch.setattr(threads, "WORKS", (("CFR+", "cfr+", "kuhn_poker", {}, ITERATIONS_PER_SECOND),))
    monkeypatch.setattr(threads, "open_cores", lambda: 2)
    monkeypatch.setattr(threads, "set_threads", lambda count: count)
    rows = threads.threads(rounds=1, report=lambda line: None)
    assert [row.required for row in rows] == [{"one thread": 1.6}, {"one thread": 0.9}, {"one thread": 0.9}]
    assert all(row.threads == 2 and len(row.samples[OURS]) == 1 for row in rows)


def test_no_rounds_are_refused():
    with pytest.raises(EquipoiseError, match="rounds=0"):
        threads.threads(rounds=0, report=lambda line: None)
