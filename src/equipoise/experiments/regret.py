"""Average external regret while CFR runs, beside the bounds that papers give for it.

R_i / T is how much more player i's best fixed strategy would have won than what was played, on average over the
iterations (B19 section 2.1). Both players' strategies of an iteration are read before any of them changes, as in the
theory, so updates are simultaneous, and averages weigh all iterations alike.
"""

from collections.abc import Iterator
from math import sqrt
from typing import Any

import numpy as np

from equipoise.experiments.moments import Walked, each_by_itself, every_action, one_action, variances
from equipoise.experiments.sweep import Setting
from equipoise.games import load_game
from equipoise.regret.matching import UNIFORM, match_table
from equipoise.regret.rules import CFR
from equipoise.sampling.schemes import External, Inclusion, Outcome, Scheme
from equipoise.sampling.tree import from_game_tree
from equipoise.solvers.full_width import FullWidthCFR
from equipoise.solvers.sampled import SampledCFR
from equipoise.trees.best_response import Evaluator
from equipoise.trees.compile import build_game_tree
from equipoise.trees.sequence_form import SequenceForm, sequence_form
from equipoise.trees.tables import TableMap
from equipoise.trees.treeplex import Float, normalised, write_plan

DOUBT = 0.05  # the probability with which a bound on a sampled run may fail
EPSILON = 0.6  # of outcome sampling
GROWTH = 1.5  # from one record to the next
SCHEMES: dict[str, tuple[Scheme, Walked, bool]] = {  # and whether left-out actions are probed
    "es-mccfr": (External(), every_action, False),
    "os-mccfr": (Outcome(epsilon=EPSILON), one_action(EPSILON), False),
    "probing": (Inclusion(probe=True), each_by_itself(("fold", "raise", "bet")), True),
}


class _Sums:
    """Sums over iterations of what regrets are made of, at the strategies that were played."""

    def __init__(self, form: SequenceForm, tables: TableMap) -> None:
        self._form, self._tables, self._evaluator = form, tables, Evaluator(form)
        self._plans = [np.zeros(plex.num_sequences) for plex in form.treeplexes]
        self._actions = [np.zeros(plex.num_sequences) for plex in form.treeplexes]
        self._infosets = [np.zeros(plex.num_infosets) for plex in form.treeplexes]
        self._value = 0.0  # to player 0
        self.iterations = 0

    def add(self, strategy: Float) -> None:
        """Take in the strategies that an iteration plays, by table entry."""
        pair = self._tables.to_form(strategy)
        for player, plex in enumerate(self._form.treeplexes):
            plan = np.empty(plex.num_sequences)
            write_plan(plex, pair[player], plan)
            self._plans[player] += plan
            self._actions[player] += self._evaluator.action_values(player, pair)
            self._infosets[player] += self._evaluator.infoset_values(player, pair)
        self._value += self._evaluator.value(pair)
        self.iterations += 1

    def regrets(self) -> tuple[list[float], list[float]]:
        """Return both players' average external regrets, and what each could gain against the average strategies."""
        first, second = self._form.treeplexes
        average = normalised(first, self._plans[0]), normalised(second, self._plans[1])
        found = self._evaluator.best_responses(average)
        won = self._value / self.iterations
        best = found.best_response_values
        return [best[0] - won, best[1] + won], [best[0] - found.value, best[1] + found.value]

    def positive(self, player: int) -> Float:
        """Return a player's average counterfactual regret at each infoset, not below zero."""
        plex = self._form.treeplexes[player]
        sequences, starts = plex.sequence_table()
        values = self._actions[player][sequences] - np.repeat(self._infosets[player], plex.num_actions())
        worst: Float = np.maximum.reduceat(values, starts[:-1])
        return np.maximum(worst, 0.0) / self.iterations


def measure_regret(setting: Setting, seed: int) -> Iterator[dict[str, Any]]:
    """Yield, at some iterations, the larger of the two average regrets, and its shares of the bounds."""
    game = load_game(setting.game)
    tree = build_game_tree(game)
    form = sequence_form(tree)
    tables, sums = TableMap(form), _Sums(form, TableMap(form))
    full_width = setting.algorithm not in SCHEMES
    scheme, walked, probe = SCHEMES.get(setting.algorithm or "", (External(), every_action, False))
    spread = float(tree.payoff.max() - tree.payoff.min())
    actions = max(int(plex.num_actions().max()) for plex in form.treeplexes)
    infosets = [plex.num_infosets for plex in form.treeplexes]
    widths = [np.sqrt(plex.num_actions()) for plex in form.treeplexes]
    exact = FullWidthCFR(form, CFR(), updates="simultaneous")
    sampled = SampledCFR(tables, from_game_tree(tree, form), scheme, CFR(), updates="simultaneous", seed=seed)
    largest, least, due = 0.0, 1.0, 1
    for iteration in range(1, (setting.iterations or 1) + 1):
        scores = tables.from_form(exact.regret_sum) if full_width else sampled.regret_sum
        strategy = match_table(scores, tables.first, UNIFORM)
        sums.add(strategy)
        (exact if full_width else sampled).run(1)
        if iteration < due and iteration != setting.iterations:
            continue
        due = max(due + 1, int(GROWTH * due))
        regret, gain = sums.regrets()
        positive = [sums.positive(player) for player in range(2)]
        root = sqrt(iteration)
        record = {
            "iteration": iteration,
            "average_regret": max(regret),
            "gain": max(gain),
            # By player: the sum over infosets of positive regrets is a bound whatever was played (Zinkevich et al.).
            "of_infosets": max(each / part.sum() for each, part in zip(regret, positive, strict=True)),
            "of_two_epsilon": max(gain) / (2.0 * max(regret)),
        }
        plain = [spread * count * sqrt(actions) / root for count in infosets]  # the bound of CFR
        if full_width:
            record["of_matching"] = max(
                float((part * root / (spread * width)).max()) for part, width in zip(positive, widths, strict=True)
            )
            record["of_bound"] = max(each / bound for each, bound in zip(regret, plain, strict=True))
            record["bound"] = max(plain)
        else:
            policy = by_key(form, strategy)
            for player in range(2):
                found = variances(game, policy, player, walked, probe=probe)
                largest, least = max(largest, found.largest), min(least, found.least)
            # G12 Theorem 2: estimates differ by at most the payoffs' spread over the least probability of a sample.
            factor = (spread / least + sqrt(largest / DOUBT)) / spread
            record["variance"] = largest
            record["of_bound"] = max(each / (factor * bound) for each, bound in zip(regret, plain, strict=True))
            record["bound"] = factor * max(plain)
            if setting.algorithm == "es-mccfr":  # B19 section 2.2
                external = 1.0 + sqrt(2.0 / DOUBT)
                record["of_external"] = max(
                    each / (external * bound) for each, bound in zip(regret, plain, strict=True)
                )
        yield record


def by_key(form: SequenceForm, strategy: Float) -> dict[str, list[float]]:
    """Return a strategy by infoset key, from a table."""
    counts = np.concatenate([plex.num_actions() for plex in form.treeplexes])
    rows = iter(np.split(strategy, np.cumsum(counts)[:-1]))
    return {key: next(rows).tolist() for player in range(2) for key in form.keys(player)}
