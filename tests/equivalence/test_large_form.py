"""Best responses by depth-first walks (for trees too large for plans) equal those of the sequence form."""

import numpy as np
import pytest

from equipoise.games import load_game
from equipoise.sampling.large import LargeEvaluator
from equipoise.sampling.tree import LargeForm, compile_nodes, from_public_tree
from equipoise.solvers.recipes import find_recipe
from equipoise.solvers.setup import Setup
from equipoise.trees.best_response import Evaluator
from equipoise.trees.compile import build_public_tree
from equipoise.trees.public_tree import vector_form
from equipoise.trees.treeplex import normalised


@pytest.mark.parametrize(
    "text", ["kuhn_poker", "one_card_poker(cards=6)", "bluff(dice=1x1)", "bluff(dice=2x1)", "bluff(dice=1x2)"]
)
def test_depth_first_best_responses_equal_the_sequence_form(text):
    public = build_public_tree(load_game(text))
    form = vector_form(public)
    sampled = from_public_tree(public, form)
    random = np.random.default_rng(5)
    # Some infosets without any weight: they are played uniformly.
    table = random.random(sum(sampled.table_sizes)) ** 3 * (random.random(sum(sampled.table_sizes)) < 0.9)
    split = sampled.table_sizes[0]
    sums = table[:split], table[split:]
    strategies = []
    for plex, own in zip(form.treeplexes, sums, strict=True):
        weights = np.ones(plex.num_sequences)
        weights[plex.sequence_table()[0]] = own
        strategies.append(normalised(plex, weights))
    expected = Evaluator(form).best_responses(tuple(strategies))
    found = LargeEvaluator(LargeForm(public.game, public, sampled)).best_responses(sums)
    assert found.value == pytest.approx(expected.value, abs=1e-9)
    assert found.best_response_values == pytest.approx(expected.best_response_values, abs=1e-9)
    assert found.nash_conv > 0.1


def test_tables_without_a_form_are_laid_out_node_after_node_and_solve_the_same_game(seed, level):
    game = load_game("bluff(dice=1x1)")
    tables, sampled = compile_nodes(game, buffered=False)
    recipe = find_recipe("es-mccfr")
    solver = recipe.make(Setup(game=game, seed=seed), recipe.resolve({}))
    large = type(solver)(tables, sampled, solver_scheme(), solver.rule, seed=seed)
    levels = []
    for _ in range(2):
        large.run(4000)
        levels.append(LargeEvaluator(large.form).best_responses(large.average_strategy()).exploitability)
    # 16 seeds: after 4,000 iterations 0.201, median 0.221, 0.242; after 8,000 0.138, 0.148, 0.162; uniform play 0.78.
    assert level(levels[1], "after 8,000") < level(levels[0], "after 4,000") < 0.3
    solver.run(8000)
    listed = Evaluator(solver.form).best_responses(solver.average_strategy()).exploitability
    assert levels[1] == pytest.approx(listed, abs=1e-9)  # the same draws lead to the same strategies


def solver_scheme():
    from equipoise.sampling.schemes import External

    return External()
