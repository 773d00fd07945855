"""``python -m tests.faults --kills 100``: runs killed at random moments end with the bits of runs that were not.

For every algorithm, a run is made once as a whole. Then it is made again in a process that is killed (``kill -9``) at
a moment drawn from the whole time that it takes, resumed in another process, killed again, ..., until it has ended.
After every kill the run directory must be readable. A kill before the first checkpoint leaves a run that can only be
started again, and `resume` must say so. In the end all arrays of the last checkpoint, the policy and every number of
the log but the times are compared. Disks and second writers are tests of the usual suite, which are run afterwards.
"""

import argparse
import json
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import equipoise
from equipoise.errors import EquipoiseError, NotFound
from equipoise.runs.directory import RunDirectory
from equipoise.solvers.recipes import RECIPES

ROOT = Path(__file__).parents[2]
NETWORKS = {"steps": 4, "width": 8, "minibatch": 32}
DOUBLE = {"batch": 50, **NETWORKS}
STRATEGY = {"strategy_steps": 4, "strategy_width": 8, "strategy_minibatch": 32, "strategy_every": 5}
DEEP = {**NETWORKS, "traversals": 50, "capacity": 2000, "fresh_steps": 8}
SPOT = "spot(board=Td9d6hQc,pot=200,stack=400,first=66+|A8s+,second=22-99|AKs,bets=1-allin)"
# Game, iterations and settings of runs of about two seconds each.
RUNS: dict[str, list[tuple[str, int, dict[str, Any]]]] = {
    **{name: [("leduc_poker", 60_000, {})] for name in ("cfr", "cfr+", "lcfr", "pcfr+")},
    "dcfr": [("leduc_poker", 60_000, {}), (SPOT, 400, {})],
    "xfp": [("leduc_poker", 12_000, {})],
    "es-mccfr": [("leduc_poker", 100_000, {})],
    "os-mccfr": [("leduc_poker", 400_000, {})],
    **{name: [("leduc_poker", 1_500, {"batch": 300})] for name in ("rs-mccfr", "rs-mccfr+")},
    **{name: [("leduc_poker", 150_000, {})] for name in ("is-mccfr", "probing")},
    "dncfr": [("kuhn_poker", 150, {**DOUBLE, **STRATEGY})],
    "rs-mccfr+-rsn": [("kuhn_poker", 150, DOUBLE)],
    "rs-mccfr+-asn": [("kuhn_poker", 250, {"batch": 50, **STRATEGY})],
    "deep-cfr": [("kuhn_poker", 100, {**DEEP, "policy_steps": 20})],
    "sd-cfr": [("kuhn_poker", 100, DEEP)],
    "nfsp": [("kuhn_poker", 150, {"episodes": 50, "width": 8, "minibatch": 64, "capacity": 2000, "q_capacity": 2000})],
}
# Public chance sampling is for games over boards, and the smallest, flop hold'em, takes gigabytes.
LEFT_OUT = {"pcs"}
START = """
import json, sys, equipoise
game, algorithm, iterations, parameters = json.loads(sys.argv[2])
equipoise.solve(game, algorithm, iterations=iterations, parameters=parameters, out=sys.argv[1], seed=7,
                checkpoint_seconds=0.05, evaluation_growth=1.5)
"""
GO_ON = "import sys, equipoise; equipoise.resume(sys.argv[1])"
RESTART = "import sys, equipoise; equipoise.resume(sys.argv[1], restart=True)"


def findings(run: Path) -> dict[str, Any]:
    """Return all that a run found, without its times: arrays by name, and the log."""
    directory = RunDirectory.open(run)
    checkpoint, complaints = directory.load_checkpoint()
    assert checkpoint is not None and complaints == [], complaints
    found: dict[str, Any] = {f"checkpoint {name}": array for name, array in checkpoint.state.items()}
    found["iteration"] = np.array(checkpoint.iteration)
    if directory.policy_path.exists():
        with np.load(directory.policy_path) as arrays:
            found |= {f"policy {name}": arrays[name] for name in arrays.files if name != "header"}
    log = [{k: v for k, v in record.items() if not k.endswith("seconds")} for record in directory.read_log()]
    found["log"] = np.frombuffer(json.dumps(log).encode(), np.uint8)
    return found


def differences(found: dict[str, Any], expected: dict[str, Any]) -> list[str]:
    """Return the names of what is not the same, bit for bit."""
    names = found.keys() | expected.keys()
    return sorted(
        name
        for name in names
        if name not in found
        or name not in expected
        or (found[name].dtype, found[name].shape) != (expected[name].dtype, expected[name].shape)
        or found[name].tobytes() != expected[name].tobytes()
    )


def require_readable(run: Path) -> str:
    """Read a killed run as its user would; return the program that goes on with it."""
    if not (run / "config.json").exists():
        return START  # it had not begun: solve takes the folder again
    try:
        equipoise.load_policy(run)
    except EquipoiseError as error:
        if "has no good checkpoint yet" not in str(error):
            raise
        with pytest.raises(NotFound, match="--restart starts it again"):
            equipoise.resume(run)
        return RESTART
    return GO_ON


class Victim:
    """A kind of run: once whole, then killed as often as asked."""

    def __init__(self, algorithm: str, game: str, iterations: int, parameters: dict[str, Any], folder: Path) -> None:
        self.what = json.dumps([game, algorithm, iterations, parameters])
        self.name = f"{algorithm} on {game.partition('(')[0]}"
        self.folder = folder
        folder.mkdir()
        self.start(START, folder / "whole").wait()  # compiles kernels
        shutil.rmtree(folder / "whole")
        began = time.monotonic()
        assert self.start(START, folder / "whole").wait() == 0, (folder / "stderr").read_text()
        self.seconds = time.monotonic() - began
        self.expected = findings(folder / "whole")
        self.kills = self.ends = self.restarts = 0

    def start(self, program: str, run: Path) -> "subprocess.Popen[bytes]":
        with open(self.folder / "stderr", "wb") as err:
            return subprocess.Popen([sys.executable, "-c", program, str(run), self.what], stderr=err)

    def kill(self, times: int, dice: random.Random) -> None:
        """Make a run that is killed so many times, and compare it with the whole one."""
        run = self.folder / "killed"
        shutil.rmtree(run, ignore_errors=True)
        program, left = START, times
        while True:
            process = self.start(program, run)
            if left:
                time.sleep(dice.uniform(0.0, self.seconds))
                process.kill()
            code = process.wait(timeout=600)
            if code == 0:
                break
            assert code == -signal.SIGKILL, f"exit code {code}: {(self.folder / 'stderr').read_text()[-2000:]}"
            left -= 1
            self.kills += 1
            had_checkpoint = program == GO_ON
            program = require_readable(run)
            assert program == GO_ON or not had_checkpoint, "a checkpoint that had been written is lost"
            self.restarts += program == RESTART
        self.ends += 1
        if different := differences(findings(run), self.expected):
            raise AssertionError(f"not the same bits: {', '.join(different)}")


def main() -> int:
    options = argparse.ArgumentParser(prog="make faults")
    options.add_argument("--kills", type=int, default=100)
    options.add_argument("--seed", type=int, default=None, help="of the moments; by default another one each time")
    options.add_argument("--only", action="append", help="this algorithm; repeat for more")
    options.add_argument("--no-disks", action="store_true", help="leave out the tests of disks and of two writers")
    given = options.parse_args()
    assert RUNS.keys() | LEFT_OUT == RECIPES.keys(), RECIPES.keys() ^ RUNS.keys() ^ LEFT_OUT
    seed = given.seed if given.seed is not None else int(time.time())
    dice = random.Random(seed)
    kinds = [(name, *run) for name in given.only or RUNS for run in RUNS[name]]
    print(f"seed {seed}; {given.kills} kills over {len(kinds)} kinds of runs", flush=True)
    base = Path(tempfile.mkdtemp(prefix="equipoise-faults-"))
    kills = ends = lost = 0
    if given.kills < len(kinds):
        kinds = dice.sample(kinds, max(1, given.kills))
    try:
        for number, kind in enumerate(kinds):
            wanted = (given.kills - kills + len(kinds) - number - 1) // (len(kinds) - number)
            victim = Victim(*kind, base / str(number))
            state = "same bits"
            try:
                while victim.kills < wanted:
                    victim.kill(min(3, wanted - victim.kills), dice)
            except Exception as error:
                lost += 1
                state = f"FAILED: {error}"
            kills += victim.kills
            ends += victim.ends
            print(
                f"{victim.name:28} {victim.seconds:5.1f} s a run, {victim.kills:3} kills "
                f"({victim.restarts} before a checkpoint), {victim.ends:3} runs ended: {state}",
                flush=True,
            )
            shutil.rmtree(base / str(number))
    finally:
        shutil.rmtree(base, ignore_errors=True)
    print(f"{kills} kills, {ends} resumed runs with the bits of whole ones, losses: {lost}", flush=True)
    if given.no_disks:
        return 1 if lost else 0
    disks = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-rs",
            "tests/equivalence/test_faults.py",
            "tests/equivalence/test_resume.py",
            "tests/unit/test_files.py",
            "tests/unit/runs",
            "-k",
            "disk or grow or writer or read_only or killed or lock or full",
        ],
        cwd=ROOT,
    )
    return 1 if lost or disks.returncode else 0


if __name__ == "__main__":
    sys.exit(main())
