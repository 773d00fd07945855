"""Sampling in buckets against the rules: what traversals find on average, where they converge, how they are saved."""

from functools import cache

import numpy as np
import pytest

from equipoise.abstraction.buckets import make_buckets
from equipoise.errors import EquipoiseError
from equipoise.regret.matching import UNIFORM
from equipoise.regret.rules import LinearCFR
from equipoise.sampling.bucketed import BucketStrategy, TablesOverBoards
from equipoise.sampling.gather import Gatherer
from equipoise.sampling.lockstep import Lockstep
from equipoise.sampling.schemes import External, Inclusion, Outcome, Robust
from equipoise.sampling.tree import FIRST, WIDTH, from_betting_tree
from equipoise.solvers.sampled import SampledCFR
from equipoise.solving import load_policy, resume, solve
from equipoise.trees.best_response import Evaluator
from equipoise.trees.betting_tree import betting_tree
from equipoise.trees.board_evaluator import BoardEvaluator
from equipoise.trees.board_form import board_form
from equipoise.trees.codes import card_layout
from equipoise.trees.compile import compile_game
from equipoise.trees.treeplex import normalised
from tests.holdem import flop_holdem_of, three_rounds
from tests.naive.cfr import regret_matching
from tests.naive.sampling import exact_expectations


class InBuckets:
    """A small game in buckets, and the way from its infosets' keys to rows of a table."""

    def __init__(self, game, text):
        self.game, self.buckets, self.tree = game, make_buckets(game, text), betting_tree(game)
        self.sampled = from_betting_tree(self.tree, self.buckets)
        self._first = self.sampled.tree.nodes.reshape(-1, WIDTH)[:, FIRST]
        self._cards = {game.deck.text((card,)): card for card in range(game.deck.size)}

    @property
    def tables(self):
        return TablesOverBoards(board_form(self.game), self.sampled, self.buckets)

    @property
    def size(self):
        return sum(self.sampled.table_sizes)

    @cache  # noqa: B019
    def row(self, key):
        """Return where an infoset's row begins in a table, and its length."""
        cards, _, betting = key.partition("|")
        hole, _, board = cards.partition("/")
        node = self.tree.node_of_text[betting]
        bucket = self.buckets.path(self.read(hole), self.read(board))[-1]
        count = int(self.tree.nodes.num_children[node])
        return int(self._first[node]) + bucket * count, count

    def read(self, text):
        return [self._cards[text[k : k + 2]] for k in range(0, len(text), 2)]

    def policy(self, keys, table, read):
        return {key: read(table[first : first + count]) for key in keys for first, count in [self.row(key)]}


@cache
def keys_of(ranks, suits, raises):
    form = compile_game(flop_holdem_of(ranks, suits, raises), "vector")
    return form, [form.keys(player) for player in range(2)]


SCHEMES = [External(), Inclusion(p=0.5, probe=True), Robust(k=1)]
BATCHES = 12


@pytest.mark.parametrize("text", ["none", "ehs2:2"])
def test_traversals_find_the_counterfactual_regrets_on_average(text):
    """Sums over all hands of a bucket, as recursion over all histories of the rules finds them, up to chance."""
    game = flop_holdem_of(4, 2, 1)
    here = InBuckets(game, text)
    _, keys = keys_of(4, 2, 1)
    random = np.random.default_rng(1)
    regrets = random.normal(size=here.size)
    policy = here.policy([key for own in keys for key in own], regrets, lambda row: regret_matching(row.tolist()))
    directions = random.normal(size=(10, here.size))
    for traverser in range(2):
        exact = exact_expectations(game, policy, traverser, lambda names, strategy: [1.0] * len(names))
        expected = np.zeros(here.size)
        for key, row in exact.regret.items():
            first, count = here.row(key)
            expected[first : first + count] += row
        for scheme in SCHEMES:
            gatherer = Gatherer(
                here.sampled, scheme, batch=3000, averaging="stochastic", fallback=UNIFORM, seed=3, threads=1
            )
            found = np.array([gatherer.sample(regrets, (traverser,), t).regret.copy() for t in range(1, BATCHES + 1)])
            along = (found - expected) @ directions.T  # one number a batch and direction, near normal
            t_values = along.mean(axis=0) / (along.std(axis=0, ddof=1) / np.sqrt(BATCHES))
            assert np.abs(t_values).max() < 5.0
            assert np.corrcoef(found.mean(axis=0), expected)[0, 1] > 0.9


def touched_by(here, scheme, batch=20_000):
    """Return the nodes that traversals of player 0, the first to act, touch on average while play is uniform."""
    gatherer = Gatherer(here.sampled, scheme, batch=batch, averaging="stochastic", fallback=UNIFORM, seed=1, threads=1)
    gatherer.sample(np.zeros(here.size), (0,), 1)
    return gatherer.nodes_touched / batch


@pytest.mark.parametrize("game", [flop_holdem_of(4, 2, 1), three_rounds(3, 3, stack=500)], ids=lambda game: game.name)
@pytest.mark.parametrize("scheme", [External(), Robust(k=1)], ids=str)
def test_as_many_nodes_are_touched_as_in_lockstep(game, scheme):
    """Public deals count, also those before a showdown of players who are all in."""
    here = InBuckets(game, "ehs2:2")
    layout = card_layout(game, renamed=False)
    lockstep = Lockstep(here.tree, layout, scheme, batch=20_000, fallback=UNIFORM, seed=2, part=2000)
    for _ in lockstep.rows(lambda player, codes: np.zeros((len(codes), here.tree.num_columns)), (0,), 1):
        pass
    assert touched_by(here, scheme) == pytest.approx(lockstep.nodes_touched / 20_000, rel=0.01)


def test_nodes_of_probes_are_touched():
    here = InBuckets(three_rounds(3, 3, stack=500), "ehs2:2")
    actions = int(here.tree.nodes.num_children[0])
    one_way_down = touched_by(here, Robust(k=1)) - 1.0
    expected = 1.0 + actions * one_way_down  # folding ends the game, and all else is probed
    assert touched_by(here, Inclusion(always="fold", p=1e-12, probe=True)) == pytest.approx(expected, rel=0.01)


def test_external_sampling_without_abstraction_converges_in_the_full_game(seed, level):
    game = flop_holdem_of(4, 2, 1)
    here = InBuckets(game, "none")
    solver = SampledCFR(here.tables, here.sampled, External(), LinearCFR(), seed=seed)
    evaluator = BoardEvaluator(board_form(game))
    solver.run(300)
    early = evaluator.best_responses(solver.average_strategy()).nash_conv
    solver.run(1_000_000)
    found = evaluator.best_responses(solver.average_strategy())
    # Chips; the big blind is 100. 16 seeds: late 1.95, median 2.14, 2.34; early 127, 136, 144.
    assert level(found.nash_conv, "late") < 3.0 < level(early, "early")

    # The same strategy, raw infoset by raw infoset, in the engine that lists them all.
    form, keys = keys_of(4, 2, 1)
    strategies = []
    for player, plex in enumerate(form.treeplexes):
        sequences, first_action = plex.sequence_table()
        weights = np.ones(plex.num_sequences)
        for infoset, key in enumerate(keys[player]):
            first, count = here.row(key)
            mine = sequences[first_action[infoset] : first_action[infoset + 1]]
            weights[mine] = solver.strategy_sum[first : first + count]
        strategies.append(normalised(plex, weights))
    listed = Evaluator(form).best_responses((strategies[0], strategies[1]))
    assert found.value == pytest.approx(listed.value, abs=1e-9)
    assert found.nash_conv == pytest.approx(listed.nash_conv, abs=1e-9)


@pytest.mark.parametrize("text", ["ehs2:2", "kmeans:6"])
def test_coarser_buckets_are_evaluated_in_the_full_game(text):
    game = flop_holdem_of(4, 2, 1)
    here = InBuckets(game, text)
    sums = np.abs(np.random.default_rng(4).normal(size=here.size))
    form = board_form(game)
    found = BoardEvaluator(form).best_responses(BucketStrategy(form, here.sampled, here.buckets, sums))
    listed_form, keys = keys_of(4, 2, 1)
    strategies = []
    for player, plex in enumerate(listed_form.treeplexes):
        sequences, first_action = plex.sequence_table()
        weights = np.ones(plex.num_sequences)
        for infoset, key in enumerate(keys[player]):
            first, count = here.row(key)
            weights[sequences[first_action[infoset] : first_action[infoset + 1]]] = sums[first : first + count]
        strategies.append(normalised(plex, weights))
    listed = Evaluator(listed_form).best_responses((strategies[0], strategies[1]))
    assert found.nash_conv == pytest.approx(listed.nash_conv, abs=1e-9)


def test_single_precision_is_close_to_double():
    here = InBuckets(flop_holdem_of(4, 2, 1), "ehs2:2")
    solvers = [
        SampledCFR(here.tables, here.sampled, External(), LinearCFR(), seed=1, precision=precision)
        for precision in ("float64", "float32")
    ]
    for solver in solvers:
        solver.run(200)
    assert solvers[1].regret_sum.dtype == solvers[1].strategy_sum.dtype == np.float32
    scale = np.abs(solvers[0].regret_sum).max()
    np.testing.assert_allclose(solvers[1].regret_sum, solvers[0].regret_sum, atol=1e-3 * scale)


def test_batches_do_not_depend_on_threads():
    here = InBuckets(flop_holdem_of(4, 2, 1), "ehs2:2")
    found = []
    for threads in (1, 2):
        solver = SampledCFR(here.tables, here.sampled, Outcome(), LinearCFR(), batch=500, seed=5, threads=threads)
        solver.run(20)
        found.append(solver.regret_sum)
    np.testing.assert_array_equal(*found)


def test_run_is_resumed_bit_for_bit_and_its_policy_can_be_asked(tmp_path):
    game = flop_holdem_of(4, 2, 1)
    settings = {"parameters": {"buckets": "ehs2:2", "rule": "linear"}, "seed": 3, "first_evaluation": 500}
    whole = solve(game, "es-mccfr", iterations=2000, **settings)
    solve(game, "es-mccfr", iterations=700, out=tmp_path / "run", **settings)
    again = resume(tmp_path / "run", iterations=2000, game=game)
    policy = load_policy(tmp_path / "run", game=game)
    np.testing.assert_array_equal(whole.solver.regret_sum, again.solver.regret_sum)
    np.testing.assert_array_equal(whole.solver.strategy_sum, again.solver.strategy_sum)
    assert whole.nash_conv == again.nash_conv == again.history[-1]["nash_conv"]
    assert again.nash_conv_mbb == pytest.approx(10 * again.nash_conv)
    assert sum(policy.action_probabilities("5c5d|").values()) == pytest.approx(1.0)


@pytest.mark.parametrize("text", ["ehs2:2", "kmeans:3"])
def test_games_with_later_rounds_are_solved_but_not_measured(text, tmp_path):
    game = three_rounds(3, 3)
    settings = {"parameters": {"buckets": text, "rule": "linear"}}
    prepared = []
    solution = solve(game, "es-mccfr", iterations=300, out=tmp_path / "run", on_progress=prepared.append, **settings)
    assert np.isnan(solution.exploitability) and "exploitability" not in solution.summary()
    assert solution.history[-1]["nodes_touched"] > 300 and any(hasattr(note, "share") for note in prepared)
    assert sum(load_policy(tmp_path / "run", game=game).action_probabilities("2c3c|").values()) == pytest.approx(1.0)
    with pytest.raises(EquipoiseError, match="instead of until"):
        solve(game, "es-mccfr", until=0.1, **settings)
    with pytest.raises(EquipoiseError, match="ehs2:10"):
        solve(game, "es-mccfr", iterations=10)


def test_buckets_are_refused_where_there_are_none():
    with pytest.raises(EquipoiseError, match="it is for hold'em"):
        solve("leduc_poker", "es-mccfr", iterations=1, parameters={"buckets": "ehs2:10"})
    with pytest.raises(EquipoiseError, match="precision"):
        solve("leduc_poker", "es-mccfr", iterations=1, parameters={"precision": "half"})
