"""CFR+ to a goal, in a process of its own: ``python -m equipoise.bench.goal GAME EXPLOITABILITY SECONDS_AT_MOST``.

Prints one JSON object: the iterations, the exploitability they came to, and the most memory that the process held.
"""

import json
import math
import resource
import sys
import time
from pathlib import Path

from equipoise.games import load_game
from equipoise.regret.rules import CFRPlus
from equipoise.solvers.full_width import FullWidthCFR
from equipoise.trees.best_response import Evaluator
from equipoise.trees.compile import compile_game

BETWEEN_EVALUATIONS = 0.05  # the share of iterations so far that is run before the next look at exploitability


def solve_to(game: str, goal: float, at_most: float) -> dict[str, float]:
    """Run CFR+ until its average is within ``goal`` of equilibrium, or ``at_most`` seconds have passed."""
    started = time.perf_counter()
    form = compile_game(load_game(game))
    solver, evaluator = FullWidthCFR(form, CFRPlus()), Evaluator(form)
    exploitability = math.inf
    while exploitability > goal and time.perf_counter() - started < at_most:
        solver.run(max(1, math.ceil(BETWEEN_EVALUATIONS * solver.iteration)))
        exploitability = evaluator.best_responses(solver.average_strategy()).exploitability
    return {"iterations": solver.iteration, "exploitability": exploitability, "peak_bytes": peak_bytes()}


def peak_bytes() -> int:
    """Return the most memory that this process has held."""
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    # Not the first choice: where a process is made by fork or vfork, this also counts what its parent held then.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


if __name__ == "__main__":
    sys.stdout.write(json.dumps(solve_to(sys.argv[1], float(sys.argv[2]), float(sys.argv[3]))) + "\n")
