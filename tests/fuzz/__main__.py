"""``python -m tests.fuzz --seconds 60``: each target in a process of its own, two at a time; a table of what was tried.

An input that ends in a traceback, a crash or a hang is printed, as small as Hypothesis can make it, with the seed that
finds it again. The exit code is 1 if there was one.
"""

import argparse
import faulthandler
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
LONGEST_INPUT = 60.0  # seconds; the slowest known one takes two, kernels compiled
MEMORY = 12 << 30
SHOWN = 4000  # characters of an input, and of a traceback
EXAMPLES = 200  # before the next seed


def fuzz_one(name: str, seconds: float, first_seed: int, folder: Path) -> int:
    """Fuzz a target in this process; print one line of JSON with the number of inputs."""
    from hypothesis import HealthCheck, Phase, given, seed, settings

    from tests.fuzz.property import Hung
    from tests.fuzz.targets import TARGETS

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    warnings.simplefilter("ignore")

    def hung(*_: object) -> None:
        raise Hung(f"no end after {LONGEST_INPUT:g} s")

    signal.signal(signal.SIGALRM, hung)
    inputs, check = TARGETS[name].make(folder)
    tried, number, note = 0, first_seed, folder / "input"
    begun = time.monotonic()

    def attempt(value: Any) -> None:
        nonlocal tried
        tried += 1
        note.write_text(f"seed {number}: {value!r}", encoding="utf-8", errors="backslashreplace")
        faulthandler.dump_traceback_later(2 * LONGEST_INPUT, exit=True)  # for what does not come back to Python
        signal.setitimer(signal.ITIMER_REAL, LONGEST_INPUT)
        try:
            check(value)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            faulthandler.cancel_dump_traceback_later()

    failed = ""
    longest = 5  # until the pace is known
    while not failed and time.monotonic() - begun < seconds:
        until_now, at = tried, time.monotonic()
        options = settings(
            max_examples=longest,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
            phases=(Phase.generate, Phase.shrink),
            report_multiple_bugs=False,
        )
        try:
            seed(number)(options(given(inputs)(attempt)))()
        except (Exception, Hung):
            told = note.read_text(encoding="utf-8")
            failed = f"{told[:SHOWN]}\n{traceback.format_exc(limit=-8, chain=False)[:SHOWN]}"
        pace = (tried - until_now) / max(time.monotonic() - at, 1e-6)
        left = seconds - (time.monotonic() - begun)
        longest = max(1, min(EXAMPLES, int(pace * left)))
        number += 1
    print(json.dumps({"tried": tried, "seconds": time.monotonic() - begun, "failed": failed}))
    return 0


def start(name: str, seconds: float, seed: int, folder: Path) -> "subprocess.Popen[str]":
    """Start a target's process."""
    folder.mkdir()
    environment = {
        **os.environ,
        "XDG_CACHE_HOME": str(folder / "cache"),
        "PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH")))),
    }
    environment.setdefault("NUMBA_CACHE_DIR", str(_kernels()))
    return subprocess.Popen(
        [sys.executable, "-m", "tests.fuzz", f"--child={name}", "--seconds", str(seconds), "--seed", str(seed)],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=open(folder / "stderr", "w"),
        text=True,
    )


def _kernels() -> Path:
    from equipoise.files import cache_home

    return cache_home()


def main() -> int:
    options = argparse.ArgumentParser(prog="make fuzz")
    options.add_argument("--seconds", type=float, default=60.0, help="for all targets together")
    options.add_argument("--seed", type=int, default=None, help="where to begin; by default another one each time")
    options.add_argument("--only", action="append", help="this target; repeat for more")
    options.add_argument("--jobs", type=int, default=2)
    options.add_argument("--child", help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.child:
        return fuzz_one(given.child, given.seconds, given.seed, Path.cwd())
    from tests.fuzz.targets import TARGETS

    names = given.only or list(TARGETS)
    for name in names:
        if name not in TARGETS:
            options.error(f"there is no target '{name}'; there are {', '.join(TARGETS)}")
    seed = given.seed if given.seed is not None else int(time.time()) * 1000
    share = given.seconds * min(given.jobs, len(names)) / len(names)
    print(f"seed {seed}; {share:.1f} s for each of {len(names)} targets, {given.jobs} at a time", flush=True)
    base = Path(tempfile.mkdtemp(prefix="equipoise-fuzz-"))
    waiting, running = list(names), dict[str, "subprocess.Popen[str]"]()
    inputs = failures = 0
    began = time.monotonic()
    try:
        while waiting or running:
            while waiting and len(running) < given.jobs:
                name = waiting.pop(0)
                running[name] = start(name, share, seed, base / f"{len(waiting)}")
                running[name].folder = base / f"{len(waiting)}"  # type: ignore[attr-defined]
            for name, process in list(running.items()):
                if process.poll() is None:
                    continue
                del running[name]
                folder = process.folder  # type: ignore[attr-defined]
                said = process.stdout.read() if process.stdout else ""
                found = _result(process.returncode, said, folder)
                inputs += found["tried"]
                failures += bool(found["failed"])
                state = "FAILED" if found["failed"] else "ok"
                print(f"{name:18} {found['tried']:>8,} inputs {found['seconds']:7.1f} s  {state}", flush=True)
                if found["failed"]:
                    print(found["failed"], flush=True)
            time.sleep(0.05)
    finally:
        for process in running.values():
            process.kill()
        shutil.rmtree(base, ignore_errors=True)
    print(f"{inputs:,} inputs in {time.monotonic() - began:.0f} s, {failures} target(s) failed")
    return 1 if failures else 0


def _result(code: int, said: str, folder: Path) -> dict[str, Any]:
    """Return what a target's process found; one that crashed is a failure of the input it had last."""
    lines = said.strip().splitlines()
    if code == 0 and lines:
        found: dict[str, Any] = json.loads(lines[-1])
        return found
    last = folder / "input"
    told = last.read_text(encoding="utf-8") if last.exists() else "before the first input"
    err = (folder / "stderr").read_text(errors="replace")[-4000:]
    return {"tried": 0, "seconds": 0.0, "failed": f"the process ended with {code}: {told}\n{err}"}


if __name__ == "__main__":
    sys.exit(main())
