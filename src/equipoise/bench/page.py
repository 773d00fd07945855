"""The suite ``page``: how long one waits for the page, asked as a browser asks it.

A server is started as a user starts it; what is measured are its answers over HTTP, and the first page in Chromium too
where Playwright and Chromium are at hand. Each question is asked once before it is measured, but for the first page.
"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any
from urllib.parse import quote, urljoin

from equipoise.bench.measure import MILLISECONDS, OURS, WALL_SECONDS, Report, Row, readable
from equipoise.errors import EquipoiseError
from equipoise.solving import solve

FIRST_PAGE = 1.0  # seconds from "ready" to the list of runs
_IMPORTS = re.compile(rb"""(?:from|src=|href=)\s*["'](/static/[^"']+|\.{1,2}/[^"']+\.js)["']""")


@contextmanager
def _serving(folder: Path) -> Iterator[str]:
    """Serve a folder; yield the page's address once the server says that it is ready."""
    command = [sys.executable, "-m", "equipoise", "serve", str(folder), "--no-browser", "--port", "0", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            line = server.stdout.readline()
            if not line:
                raise EquipoiseError("the page does not start; try: equipoise serve --no-browser")
            yield str(json.loads(line)["url"])
        finally:
            server.terminate()


def _post(url: str, said: Mapping[str, object]) -> dict[str, Any]:
    request = urllib.request.Request(url, json.dumps(said).encode(), {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as response:
        found: dict[str, Any] = json.loads(response.read())
        return found


def _get(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=60) as response:
        content: bytes = response.read()
        return content


def _whole_page(url: str) -> float:
    """Fetch the first page with all that it loads, one file after the other, and what it asks; return the seconds."""
    started = time.perf_counter()
    waiting, known = [url, f"{url}static/rooms/runs.js"], {url, f"{url}static/rooms/runs.js"}
    while waiting:
        at = waiting.pop()
        for found in _IMPORTS.findall(_get(at)):
            there = urljoin(at, found.decode())
            if there not in known:
                known.add(there)
                waiting.append(there)
    runs = json.loads(_get(f"{url}api/runs"))["runs"]
    _get(f"{url}api/run?run={quote(runs[0]['run'])}")
    return time.perf_counter() - started


@contextmanager
def _chromium() -> Iterator[Callable[[str], float] | None]:
    """Yield what opens the first page in Chromium and returns the seconds to the list of runs; None without it."""
    binary = shutil.which("chromium") or shutil.which("chromium-browser")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        binary = None
    if binary is None:
        yield None
        return
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=binary)

        def look(url: str) -> float:
            context = browser.new_context()
            window = context.new_page()
            started = time.perf_counter()
            window.goto(url)
            window.wait_for_selector("main table tbody tr")
            took = time.perf_counter() - started
            context.close()
            return took

        look("data:text/html,<main><table><tbody><tr><td>warm</td></tr></tbody></table></main>")
        yield look
        browser.close()


def page(*, rounds: int = 5, report: Report) -> list[Row]:
    """Measure everything; ``report`` gets a line for each measurement."""
    if rounds < 1:
        raise EquipoiseError(f"rounds={rounds} is not valid; give 1 or more")
    with tempfile.TemporaryDirectory() as folder, _chromium() as look:
        runs = Path(folder) / "runs"
        for seed in range(20):
            solve("leduc_poker", "cfr+", iterations=200, seed=seed, out=runs / f"leduc-{seed}")
        firsts: dict[str, list[float]] = {}
        for current in range(rounds):
            for name, visit in (("over HTTP, file by file", _whole_page), ("in Chromium", look)):
                if visit is None:
                    continue
                with _serving(runs) as url:
                    took = visit(url)
                firsts.setdefault(name, []).append(took)
                report(f"first page {name}, round {current + 1} of {rounds}: {readable(took)} s")
        rows = [
            Row(
                work=f"first page, 20 runs, {name}",
                unit=WALL_SECONDS,
                samples={OURS: tuple(samples)},
                limit=FIRST_PAGE,
                one_core=False,
                threads=2,
            )
            for name, samples in firsts.items()
        ]
        _solve_large(runs, report)
        with _serving(runs) as url:
            for work, paths, limit in _questions(runs):
                asked = [partial(_get, url + path) for path in paths]
                rows.append(_measured(work, asked, limit, rounds, report))
            rows.append(_decisions(url, runs, rounds, report))
    return rows


def _solve_large(runs: Path, report: Report) -> None:
    """Make a table over all of flop hold'em, and networks of limit hold'em: how good they are does not matter here."""
    report("solving flop hold'em exactly, two iterations, and limit hold'em by networks, one")
    solve("flop_holdem", "dcfr", iterations=2, out=runs / "flop")
    few = {"traversals": 200, "steps": 5, "fresh_steps": 5}
    solve("limit_holdem", "sd-cfr", iterations=1, parameters=few, out=runs / "networks")


def _questions(runs: Path) -> list[tuple[str, list[str], float | None]]:
    """Return what is asked, at several places so that no answer is one given before, and in how many milliseconds."""
    leduc, flop = (quote(str(runs / name)) for name in ("leduc-0", "flop"))
    node = "api/explore/node?policy="
    lines = ("", "c", "r", "cr", "rr", "crr", "cc/&board=Ks", "rc/&board=Jh", "rc/r&board=Qs", "cc/cr&board=Kh")
    boards = ("2c7d9s", "AhKhQh", "TcTd4s", "9s8s2d", "KdJc5h", "6h5h4h", "AsAd3c", "QcJs8h")
    return [
        ("list of 20 runs", ["api/runs"], None),
        ("a run with its log", [f"api/run?run={leduc}"], None),
        ("a node of Leduc", [f"{node}{leduc}&line={line}" for line in lines], 50.0),
        ("flop hold'em, exact: the first node", [f"{node}{flop}"], 300.0),
        ("flop hold'em, exact: a node on a flop", [f"{node}{flop}&line=crc/&board={each}" for each in boards], 300.0),
    ]


def _measured(
    work: str, questions: Sequence[Callable[[], object]], limit: float | None, rounds: int, report: Report
) -> Row:
    """Measure questions of one kind, one after the other; a round's number is the median of them."""
    samples = []
    questions[0]()
    for current in range(rounds):
        took = []
        for question in questions:
            started = time.perf_counter()
            question()
            took.append(1e3 * (time.perf_counter() - started))
        samples.append(median(took))
        report(f"{work}, round {current + 1} of {rounds}: {readable(samples[-1])} ms")
    return Row(work=work, unit=MILLISECONDS, samples={OURS: tuple(samples)}, limit=limit, one_core=False, threads=2)


def _decisions(url: str, runs: Path, rounds: int, report: Report) -> Row:
    """Measure choices in play against networks, each with the opponent's answer to it."""
    play = f"{url}api/play/"
    began = _post(f"{play}start", {"opponent": str(runs / "networks"), "seat": "0", "seed": 1})
    session = began["session"]

    def choose() -> None:
        nonlocal began
        if began["state"] != "decision":
            began = _post(f"{play}deal", {"session": session})
        began = _post(f"{play}act", {"session": session, "place": 1})

    return _measured("a choice and the networks' answer", [choose] * 10, 300.0, rounds, report)
