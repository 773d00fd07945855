"""A page that is served for tests, and a real Chromium that looks at it.

``served`` is a page over a copy of some finished runs, in a process of its own, as ``equipoise serve`` starts it.
``room`` opens one of its rooms in Chromium, and fails the test if the browser has anything to complain about.
"""

import json
import os
import shutil
import subprocess
import sys
import urllib.error
import urllib.request
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

import equipoise

CHROMIUM = os.environ.get("EQUIPOISE_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
REQUIRED = os.environ.get("EQUIPOISE_REQUIRE_BROWSER") == "1"
PATIENCE = 90_000  # milliseconds that the browser waits for something to happen, on a busy machine
GONE = "no Chromium here (apt install chromium)"


@pytest.fixture(scope="session")
def runs(tmp_path_factory):
    """Return a folder with a few finished runs; whoever writes to it takes a copy."""
    folder = tmp_path_factory.mktemp("runs")
    equipoise.solve("kuhn_poker", iterations=200, out=folder / "kuhn")
    equipoise.solve("leduc_poker", iterations=50, out=folder / "leduc")
    return folder


@dataclass(frozen=True)
class Served:
    """A page that is being served: where, and the folder that it shows as it names it."""

    url: str
    process: subprocess.Popen
    base: Path  # where the server runs; names of runs are relative to it
    folder: str = "page"

    def ask(self, path, said=None, *, method=None, headers=None, body=None, raw=False):
        """Return the status and the JSON (or the bytes) that the server answers with."""
        data = body if body is not None else None if said is None else json.dumps(said).encode()
        sent = {"content-type": "application/json"} if data is not None else {}
        request = urllib.request.Request(
            self.url.split("?")[0].rstrip("/") + path, data=data, headers={**sent, **(headers or {})}, method=method
        )
        try:
            with urllib.request.urlopen(request, timeout=300) as response:
                content = response.read()
                return response.status, content if raw else json.loads(content)
        except urllib.error.HTTPError as error:
            content = error.read()
            return error.code, content if raw else json.loads(content)


@contextmanager
def serving(base, *arguments):
    """Serve a page from a folder, at a free port."""
    command = [sys.executable, "-m", "equipoise", "serve", *arguments, "--no-browser", "--port", "0", "--json"]
    process = subprocess.Popen(command, cwd=base, stdout=subprocess.PIPE, text=True)
    try:
        line = process.stdout.readline()
        assert line, "the server has ended"
        yield Served(json.loads(line)["url"], process, base)
    finally:
        process.terminate()
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()


@pytest.fixture(scope="module")
def served(runs, tmp_path_factory):
    """Serve a copy of the runs."""
    base = tmp_path_factory.mktemp("served")
    shutil.copytree(runs, base / "page")
    with serving(base, "page") as page:
        yield page


@pytest.fixture(scope="session")
def chromium():
    """Start Chromium once."""
    if CHROMIUM is None:
        if REQUIRED:
            pytest.fail(GONE)
        pytest.skip(GONE)
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM)
        yield browser
        browser.close()


def _is_fault(line):
    """Return whether a line of the console is a fault of the page; an answer that refuses something is none."""
    return line.type == "error" and "responded with a status of 4" not in line.text


@pytest.fixture
def opened(chromium):
    """Return what opens an address in a new window; errors of scripts and refusals of the policy fail the test."""
    contexts, complaints = [], []

    def open_at(url, *, width=1280, height=800, dark=False, **options):
        context = chromium.new_context(
            viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light", **options
        )
        context.set_default_timeout(PATIENCE)
        contexts.append(context)
        window = context.new_page()
        window.on("pageerror", lambda error: complaints.append(str(error)))
        window.on("console", lambda line: complaints.append(line.text) if _is_fault(line) else None)
        window.goto(url)
        return window

    yield open_at
    for context in contexts:
        context.close()
    assert not complaints


@pytest.fixture
def room(served, opened):
    """Return what opens a room of the served page: ``room("runs?axis=seconds")``."""
    return lambda name="", **options: opened(served.url + name, **options)
