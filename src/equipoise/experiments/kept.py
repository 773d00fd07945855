"""How many infosets an iteration of mini-batches finds regrets for: what it keeps until its update (DN20 4.1)."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from equipoise.experiments.sweep import Setting
from equipoise.games import load_game
from equipoise.regret.matching import UNIFORM
from equipoise.sampling.gather import Gatherer
from equipoise.sampling.schemes import External, Outcome, Robust, Scheme
from equipoise.sampling.tree import compile_listed

EXTERNAL, OUTCOME = "external", "outcome"  # in place of a number of actions
EVERY = 10  # iterations between records


def measure_kept(setting: Setting, seed: int) -> Iterator[dict[str, Any]]:
    """Yield, now and then, the infosets met by mini-batch RM+ of both players, and their share."""
    actions, batch = str(setting.parameters["actions"]), int(str(setting.parameters["batch"]))
    scheme: Scheme = (
        External() if actions == EXTERNAL else Outcome(epsilon=0.0) if actions == OUTCOME else Robust(k=int(actions))
    )
    tables, game = compile_listed(load_game(setting.game), "vector", buffered=True)
    sampler = Gatherer(
        game, scheme, batch=batch, averaging="own_reach", fallback=UNIFORM, seed=seed, threads=setting.threads
    )
    regrets = np.zeros(tables.size)
    for iteration in range(1, (setting.iterations or 1) + 1):
        found = sampler.sample(regrets, (0, 1), iteration)
        kept = len(np.unique(found.observed))
        np.maximum(regrets + found.regret, 0.0, out=regrets)
        share = kept / (len(tables.first) - 1)
        if iteration > 1 and iteration % EVERY:
            continue
        yield {"iteration": iteration, "kept": kept, "share": share, "nodes_touched": sampler.nodes_touched}
