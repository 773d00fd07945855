"""The exact variance of estimates, scheme by scheme, at the average strategies of CFR: they play every action."""

from collections.abc import Iterator
from typing import Any

from equipoise.experiments.moments import Walked, each_by_itself, every_action, one_action, some_actions, variances
from equipoise.experiments.regret import by_key
from equipoise.experiments.sweep import Setting
from equipoise.games import load_game
from equipoise.regret.rules import CFR
from equipoise.solvers.full_width import FullWidthCFR
from equipoise.trees.compile import build_game_tree
from equipoise.trees.sequence_form import sequence_form
from equipoise.trees.tables import TableMap

AT = (1, 3, 10, 30, 100, 300, 1000)  # iterations of CFR; the average of the first is uniform play
_GIBSON = each_by_itself(("fold", "raise", "bet"))  # the scheme that Gibson et al. have for hold'em
SCHEMES: dict[str, tuple[Walked, bool]] = {
    "external": (every_action, False),
    "robust_1": (some_actions(1), False),
    "outcome": (one_action(0.0), False),
    "outcome_exploring": (one_action(0.6), False),
    "zeros": (_GIBSON, False),
    "probing": (_GIBSON, True),
    "robust_1_probing": (some_actions(1), True),
}


def measure_schemes(setting: Setting, seed: int) -> Iterator[dict[str, Any]]:
    """Yield the variance of the value at the root (``value_``) and of all regrets together (``variance_``)."""
    game = load_game(setting.game)
    form = sequence_form(build_game_tree(game))
    solver, tables = FullWidthCFR(form, CFR()), TableMap(form)
    for iteration in AT:
        if iteration > (setting.iterations or 1):
            return
        solver.run(iteration - solver.iteration)
        policy = by_key(form, tables.from_form(solver.average_strategy()))
        record: dict[str, Any] = {"iteration": iteration}
        for name, (walked, probe) in SCHEMES.items():
            found = [variances(game, policy, player, walked, probe=probe) for player in range(2)]
            record[f"value_{name}"] = sum(each.root for each in found) / 2
            record[f"variance_{name}"] = sum(each.of_all_regrets for each in found) / 2
        yield record
