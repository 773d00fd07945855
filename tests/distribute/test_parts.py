"""What is shared out in parts has the bits of one thread: on copies of all that workers are sent."""

from contextlib import nullcontext

import numpy as np
import pytest

import equipoise
from equipoise import value_training
from equipoise.distribute.packing import pack
from equipoise.errors import NotSupported
from equipoise.evaluation import lockstep_play
from equipoise.games import load_game, sizes
from equipoise.games.poker import PokerGame
from equipoise.solvers.recipes import find_recipe
from equipoise.solvers.representations import choose
from equipoise.solvers.setup import Setup
from equipoise.trees.board_evaluator import BoardEvaluator
from tests.clusters import Copies, needs_ray
from tests.holdem import flop_holdem_of

pytestmark = needs_ray

SMALL = flop_holdem_of(4, 3, raises=1)
FEW = {"width": 8, "minibatch": 64}


def same(found, wanted) -> None:
    assert found.keys() == wanted.keys()
    for name, array in wanted.items():
        np.testing.assert_array_equal(found[name], array, err_msg=name)


BATCHES = {
    "es-mccfr": {"batch": 7000},
    "os-mccfr": {"batch": 6000, "epsilon": 0.4},
    "rs-mccfr": {"k": 1},
    "rs-mccfr+": {"batch": 9000, "averaging": "own_reach"},
    "is-mccfr": {"batch": 500, "rule": "linear"},
    "probing": {"batch": 600, "rule": "discounted", "updates": "simultaneous"},
    "dncfr": {"batch": 2000, "width": 8, "steps": 2, "strategy_steps": 2},
    "rs-mccfr+-asn": {"batch": 2000, "strategy_width": 8, "strategy_steps": 2},
}


@pytest.mark.parametrize("name", BATCHES)
def test_batches_for_tables_on_workers_have_the_bits_of_one_thread(name):
    alone, shared = pair(name, "leduc_poker", BATCHES[name])
    for made in (alone, shared):
        made.run(3)
    assert shared.workers_used.parts >= 3
    assert shared.solver.nodes_touched == alone.solver.nodes_touched
    same(shared.solver.state(), alone.solver.state())


def test_batches_in_buckets_on_workers_have_the_bits_of_one_thread():
    alone, shared = pair("es-mccfr", SMALL, {"batch": 5500, "buckets": "ehs2:4", "precision": "float32"})
    for made in (alone, shared):
        made.run(2)
    same(shared.solver.state(), alone.solver.state())


class Made:
    """A solver, and the workers that it has."""

    def __init__(self, name, game, given, workers) -> None:
        self.workers_used = workers
        played = game if isinstance(game, PokerGame) else load_game(game)
        self.solver = find_recipe(name).solver(Setup(game=played, workers=workers, seed=5), given)

    def run(self, iterations: int) -> None:
        self.solver.run(iterations)


def pair(name, game, given):
    return Made(name, game, given, None), Made(name, game, given, Copies())


IN_LOCKSTEP = {
    "deep-cfr": {**FEW, "traversals": 5000, "steps": 3, "fresh_steps": 3, "policy_steps": 3, "network": "cards"},
    "sd-cfr": {**FEW, "traversals": 5000, "steps": 3, "fresh_steps": 3, "network": "mlp", "sampling": "robust", "k": 1},
    "dncfr": {"width": 8, "batch": 3000, "steps": 3, "strategy_steps": 3, "strategy_every": 2},
    "nfsp": {**FEW, "episodes": 5000, "q_steps": 3, "policy_steps": 3, "capacity": 50_000, "q_capacity": 50_000},
}


@pytest.fixture
def _nothing_is_listed(monkeypatch):
    monkeypatch.setattr(sizes, "MOST_LISTED", 0)


@pytest.mark.usefixtures("_nothing_is_listed")
@pytest.mark.parametrize("name", IN_LOCKSTEP)
def test_lockstep_and_its_evaluation_on_workers_have_the_bits_of_one_thread(name):
    alone, shared = pair(name, SMALL, {**IN_LOCKSTEP[name]})
    for made in (alone, shared):
        made.run(3)
    assert shared.workers_used.parts >= 6
    same(shared.solver.state(), alone.solver.state())
    evaluator = BoardEvaluator(alone.solver.form)
    found = []
    for made in (alone, shared):
        made.solver.conclude()
        found.append(made.solver.best_responses(evaluator))
    assert found[0] == found[1] == evaluator.best_responses(shared.solver.average_strategy())


@pytest.mark.usefixtures("_nothing_is_listed")
def test_networks_and_not_memories_are_sent():
    made = Made("sd-cfr", SMALL, IN_LOCKSTEP["sd-cfr"], Copies())
    made.run(2)
    kept = sum(array.nbytes for array in made.solver.state().values())
    sent = pack((made.solver.sampler, made.solver.regrets.scores_at), made.workers_used._constants)
    assert len(sent.constants) == 2  # the tree and what networks see
    assert sent.nbytes < 40_000 < kept


@pytest.mark.parametrize("known", ["none", "b", "both"])
def test_hands_and_aivat_on_workers_have_the_bits_of_one_thread(known, monkeypatch):
    monkeypatch.setattr(lockstep_play, "PAIRS_A_PART", 1000)
    players = equipoise.solve(SMALL, "dcfr", iterations=5).policy, "always-call"
    given = {"hands": 5000, "seed": 4, "known": known}
    workers, hands = Copies(), ([], [])
    alone = equipoise.play_match(*players, **given, on_hand=lambda hand: hands[0].append(hand.actions))
    shared = equipoise.play_match(
        *players, **given, workers=workers, on_hand=lambda hand: hands[1].append(hand.actions)
    )
    assert workers.parts >= 3
    assert (shared.best, shared.plain, shared.seats) == (alone.best, alone.plain, alone.seats)
    assert len(hands[0]) == 5000 and hands[0] == hands[1]


def test_hands_that_are_played_faster_than_they_could_be_sent_are_refused():
    with pytest.raises(NotSupported, match="not shared out: leave out --cluster, or give --threads"):
        equipoise.play_match("always-call", "uniform", game="leduc_poker", hands=10, workers=Copies())


def test_labels_on_workers_have_the_bits_of_one_thread(tmp_path, monkeypatch):
    monkeypatch.setattr(value_training, "open_cluster", lambda text: nullcontext(workers))
    workers, small = Copies(), {"labels": 150, "held_out": 100, "iterations": 5, "passes": 1, "width": 8}
    alone = equipoise.train_values("nl_leduc(stack=2)", tmp_path / "alone", **small)
    shared = equipoise.train_values("nl_leduc(stack=2)", tmp_path / "shared", cluster="local:2", **small)
    assert workers.parts == 3
    for file in sorted((tmp_path / "alone").rglob("0*.npz")):
        with np.load(file) as one, np.load(tmp_path / "shared" / file.relative_to(tmp_path / "alone")) as other:
            same(dict(other), dict(one))
    assert shared.losses == alone.losses


@pytest.mark.parametrize(
    ("name", "game", "given", "said"),
    [
        ("es-mccfr", "leduc_poker", {}, "--set batch=500"),
        ("deep-cfr", "leduc_poker", {}, "sweeps"),
        ("cfr+", "leduc_poker", {}, "sweeps"),
        ("nfsp", "leduc_poker", {}, "sweeps"),
        ("rs-mccfr", "leduc_poker", {}, None),
        ("dncfr", "leduc_poker", {}, None),
        ("deep-cfr", "limit_holdem", {}, None),
        ("deep-cfr", "flop_holdem", {"targets": "vector"}, "threads only"),
    ],
)
def test_what_cannot_be_shared_out_says_so(name, game, given, said):
    recipe, played = find_recipe(name), load_game(game)
    representation = choose(played, "auto", recipe)
    chosen = recipe.resolve(given, game=representation.settings)
    why = recipe.why_alone(representation, chosen)
    assert why is None if said is None else said in why
    if said is not None:
        with pytest.raises(NotSupported, match="runs on one machine: leave out --cluster, or "):
            equipoise.solve(game, name, parameters=given, cluster="local:2")
