"""The variance of value estimates at the root while CFR runs (Gibson et al. 2012, Figure 2).

Each iteration: some traversals that update nothing, by MCCFR and by probing under the same scheme; their empirical
variances at the root; then one full CFR traversal for the next strategy, of both players at once ("vanilla") or of one
after the other: strategies of alternating updates settle, and the variance is a third.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from equipoise.experiments.sweep import Setting
from equipoise.games import load_game
from equipoise.regret.rules import CFR
from equipoise.sampling.estimates import RootEstimates
from equipoise.sampling.schemes import Inclusion
from equipoise.sampling.tree import from_game_tree
from equipoise.solvers.full_width import FullWidthCFR
from equipoise.trees.compile import build_game_tree
from equipoise.trees.sequence_form import sequence_form


def measure_variance(setting: Setting, seed: int) -> Iterator[dict[str, Any]]:
    """Yield, per iteration, the variance of both estimators."""
    tree = build_game_tree(load_game(setting.game))
    form = sequence_form(tree)
    sampled = from_game_tree(tree, form)
    estimators = {
        "mccfr": RootEstimates(sampled, Inclusion()),
        "probing": RootEstimates(sampled, Inclusion(probe=True)),
    }
    updates = str(setting.parameters["updates"])
    solver = FullWidthCFR(form, CFR(), updates="simultaneous" if updates == "simultaneous" else "alternating")
    tables = [plex.sequence_table()[0] for plex in form.treeplexes]
    traversals = int(str(setting.parameters["traversals"]))
    for iteration in range(1, (setting.iterations or 1) + 1):
        scores = np.concatenate([solver.regret_sum[player][tables[player]] for player in range(2)])
        record: dict[str, Any] = {"iteration": iteration}
        for number, (name, estimator) in enumerate(estimators.items()):
            samples = estimator.sample(scores, player=0, count=traversals, seed=2 * seed + number, iteration=iteration)
            record[f"variance_{name}"] = float(samples.var(ddof=1))
        yield record
        solver.run(1)
