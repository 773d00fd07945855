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
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
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


def _get(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=60) as response:
        content: bytes = response.read()
        return content


def _whole_page(url: str) -> None:
    """Fetch the first page with all that it loads, one file after the other, and what it asks."""
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


@contextmanager
def _chromium() -> Iterator[Callable[[str], None] | None]:
    """Yield what opens the first page in Chromium, and returns when the runs are listed; None where there is none."""
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

        def look(url: str) -> None:
            context = browser.new_context()
            window = context.new_page()
            window.goto(url)
            window.wait_for_selector("main table tbody tr")
            context.close()

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
                    started = time.perf_counter()
                    visit(url)
                    took = time.perf_counter() - started
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
        with _serving(runs) as url:
            rows += [_question(url, work, path, limit, rounds, report) for work, path, limit in _questions(runs)]
    return rows


def _questions(runs: Path) -> list[tuple[str, str, float | None]]:
    """Return what is asked, where, and within how many milliseconds it must be answered."""
    run = quote(str(runs / "leduc-0"))
    return [("list of 20 runs", "api/runs", None), ("a run with its log", f"api/run?run={run}", None)]


def _question(url: str, work: str, path: str, limit: float | None, rounds: int, report: Report) -> Row:
    """Measure one question."""
    samples = []
    _get(url + path)
    for current in range(rounds):
        started = time.perf_counter()
        _get(url + path)
        samples.append(1e3 * (time.perf_counter() - started))
        report(f"{work}, round {current + 1} of {rounds}: {readable(samples[-1])} ms")
    return Row(work=work, unit=MILLISECONDS, samples={OURS: tuple(samples)}, limit=limit, one_core=False, threads=2)
