"""Shared by all tests: a fixed Hypothesis profile, trees built once, caches of one's own, levels with their spread.

A test that bounds what a method learns takes its ``seed`` from here and notes the number by ``level``. One seed is run,
and the bound stands well outside what other seeds have. ``pytest --seeds 16 -k NAME`` runs that many, as they are and
with whatever settings of other machines (``make test-elsewhere`` has them), and shows the least, the median and the
largest number: they are quoted beside each bound. Where networks learn, the figures are of both settings together.
"""

import itertools
import os
import re
import signal
import statistics
from collections import defaultdict
from functools import cache

import pytest
from hypothesis import HealthCheck, settings

from equipoise.files import cache_home
from equipoise.games import load_game
from equipoise.trees.compile import compile_game

settings.register_profile(
    "equipoise", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("equipoise")

# A shell that starts tests in the background has them ignore Ctrl-C, and all that they start, too.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Compiled kernels are all that tests share with each other and with later runs: their names say what they are made of.
os.environ.setdefault("NUMBA_CACHE_DIR", str(cache_home()))
_caches = itertools.count()


@pytest.fixture(autouse=True)
def _cache_of_its_own(tmp_path_factory, monkeypatch):
    """Give each test an empty cache of buckets, and leave the user's alone."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / f"cache-{next(_caches)}"))


@cache
def _compiled(text: str, engine: str):
    return compile_game(load_game(text), engine)


@pytest.fixture(scope="session")
def compiled():
    """Return a game's sequence form by its text and engine; nothing in the tests changes a form."""
    return lambda text, engine="auto": _compiled(text, engine)


def pytest_addoption(parser):
    parser.addoption("--seeds", type=int, default=1, help="seeds of tests that bound what is learnt; shows the spread")


def pytest_generate_tests(metafunc):
    given = {name for mark in metafunc.definition.iter_markers("parametrize") for name in str(mark.args[0]).split(",")}
    if "seed" in metafunc.fixturenames and "seed" not in given:
        metafunc.parametrize("seed", range(metafunc.config.getoption("--seeds")), ids=lambda seed: f"seed{seed}")


@pytest.fixture
def level(record_property):
    """Note a number that a test bounds, for the spread over seeds; return it."""

    def noted(found, name="found"):
        record_property("level", (name, float(found)))
        return found

    return noted


def pytest_terminal_summary(terminalreporter, config):
    skipped = [report for report in terminalreporter.stats.get("skipped", []) if "no Chromium" in str(report.longrepr)]
    if skipped:
        terminalreporter.section("BROWSER TESTS WERE SKIPPED", sep="!", red=True, bold=True)
        terminalreporter.write_line(
            f"{len(skipped)} tests of the page need Chromium, and there is none here: apt install chromium, or set "
            "EQUIPOISE_CHROMIUM to a binary"
        )
    if config.getoption("--seeds") == 1:
        return
    spreads = defaultdict(list)
    for report in (report for reports in terminalreporter.stats.values() for report in reports):
        if getattr(report, "when", "") == "call":
            test = re.sub(r"-?seed\d+", "", report.nodeid).replace("[]", "")
            for name, (what, found) in report.user_properties:
                if name == "level":
                    spreads[test, what].append(found)
    terminalreporter.section("seeds, least, median, largest")
    for (test, what), found in sorted(spreads.items()):
        numbers = "  ".join(f"{number:.4g}" for number in (min(found), statistics.median(found), max(found)))
        terminalreporter.write_line(f"{len(found)}  {numbers}  {test} {what}")
