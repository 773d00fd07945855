"""The variance of value estimates at the root while CFR runs (Gibson et al. 2012, Figure 2).

Each iteration: some traversals that update nothing, by MCCFR and by probing under the same scheme; their empirical
variances at the root; then one full CFR traversal for the next strategy.
"""

import time
from pathlib import Path

import numpy as np

from equipoise.experiments.sweep import Setting
from equipoise.games import load_game
from equipoise.regret.rules import CFR
from equipoise.runs.directory import RunDirectory
from equipoise.sampling.estimates import RootEstimates
from equipoise.sampling.schemes import Inclusion
from equipoise.sampling.tree import from_game_tree
from equipoise.solvers.full_width import FullWidthCFR
from equipoise.trees.compile import build_game_tree
from equipoise.trees.sequence_form import sequence_form


def measure_variance(setting: Setting, seed: int, path: Path) -> None:
    """Run the measurement and log, per iteration, the variance of both estimators."""
    tree = build_game_tree(load_game(setting.game))
    form = sequence_form(tree)
    sampled = from_game_tree(tree, form)
    estimators = {
        "mccfr": RootEstimates(sampled, Inclusion()),
        "probing": RootEstimates(sampled, Inclusion(probe=True)),
    }
    solver = FullWidthCFR(form, CFR())
    tables = [plex.sequence_table()[0] for plex in form.treeplexes]
    traversals = int(str(setting.parameters["traversals"]))
    if (path / "config.json").exists():  # short enough to be made again from the start
        directory = RunDirectory.open_to_write(path)
        directory.cut_log(0)
    else:
        directory = RunDirectory.create(path, {"game": setting.game, "algorithm": setting.algorithm, "seed": seed})
    record: dict[str, float] = {}
    started = time.perf_counter()
    for iteration in range(1, (setting.iterations or 1) + 1):
        scores = np.concatenate([solver.regret_sum[player][tables[player]] for player in range(2)])
        record = {"iteration": iteration, "seconds": round(time.perf_counter() - started, 3)}
        for number, (name, estimator) in enumerate(estimators.items()):
            samples = estimator.sample(scores, player=0, count=traversals, seed=2 * seed + number, iteration=iteration)
            record[f"variance_{name}"] = float(samples.var(ddof=1))
        directory.append_log(record)
        solver.run(1)
    directory.save_result(record)
