"""Sums on a sample of boards: the rule, targets, what is written down and what is learnt, resuming, refusals."""

import numpy as np
import pytest
import torch

import equipoise
from equipoise.errors import EquipoiseError, InvalidParameter, NotSupported
from equipoise.games import load_game, sizes
from equipoise.networks.fitting import Fitting, outputs_for
from equipoise.networks.heads import CardsToDecisions
from equipoise.networks.holdem import CardsAndBets
from equipoise.networks.poker_rows import poker_rows
from equipoise.networks.trained import Holders, TrainedNetwork
from equipoise.regret.matching import BEST
from equipoise.regret.rules import DiscountedCFR, coefficient_table, updated
from equipoise.runs.directory import RunDirectory
from equipoise.sampling.rows import REGRET, STRATEGY, Rows
from equipoise.sampling.vectors import BoardVectors
from equipoise.solvers.recipes import RECIPES, find_recipe
from equipoise.solvers.setup import Setup
from equipoise.stores.grids import FLOOR, GridConfig, GridRegrets, GridStrategy, regret_targets, shares
from equipoise.trees.betting_tree import betting_tree
from equipoise.trees.board_form import board_form
from equipoise.trees.codes import CARDS_MASK, Grid, codes_of, nodes_of
from tests.holdem import flop_holdem_of, small_holdem

torch.set_num_threads(1)
CPU = torch.device("cpu")
RULE = DiscountedCFR()
VECTOR = {"targets": "vector", "boards": 4, "fresh_boards": 3, "steps": 8, "width": 16, "minibatch": 64}
DOUBLE = {"targets": "vector", "boards": 4, "steps": 8, "width": 16, "strategy_width": 16, "minibatch": 64}
SMALL = {
    "deep-cfr": {**VECTOR, "policy_steps": 20},
    "sd-cfr": VECTOR,
    "dncfr": {**DOUBLE, "strategy_steps": 10, "strategy_minibatch": 64, "strategy_every": 2},
}


@pytest.fixture
def _nothing_is_listed(monkeypatch):
    monkeypatch.setattr(sizes, "MOST_LISTED", 0)


def parts(game, architecture=None, kept=3, seed=0):
    """Return what networks see of a game, a sampler, and a store of regrets."""
    form, tree = board_form(game), betting_tree(game)
    rows = poker_rows(tree, "ranks")
    sampler = BoardVectors(form, tree, rows.layout, kept=kept, fresh=2, fallback=BEST, seed=seed)
    fitting = Fitting(epochs=5, first_epochs=20, rate=3e-3, loss="positive")
    config = GridConfig(architecture=architecture or CardsToDecisions(width=16), fitting=fitting, holdings=32)
    return rows, sampler, GridRegrets(rows, config, RULE, seed=seed, device=CPU), config


def turns(sampler, regrets, count):
    """Run some turns; return the increments of each, by player and code."""
    found = []
    for turn in range(count):
        player, iteration = turn % 2, 1 + turn // 2
        increments = {}
        for rows in sampler.rows(regrets.scores_at, (player,), iteration):
            if rows.kind == REGRET:
                values = (rows.weight[:, None] * rows.values).astype(np.float32)
                increments |= dict(zip(rows.codes.tolist(), values, strict=True))
                regrets.absorb(rows)
        regrets.settle(iteration, (player,))
        found.append(increments)
    return found


def test_sums_are_those_of_the_rule_infoset_by_infoset():
    _, sampler, regrets, _ = parts(small_holdem())
    found = turns(sampler, regrets, 8)
    for player in range(2):
        expected = {}
        for iteration, increments in enumerate(found[player::2], start=1):
            rule = coefficient_table(RULE, iteration, 1)[0]
            for code, values in increments.items():
                old = expected.get(code, np.zeros(3))
                expected[code] = [updated(a, b, *rule[:4]) for a, b in zip(old, values, strict=True)]
        kept = {}
        for block in regrets.memories[player].sums.blocks:
            sums = block.sums.reshape(-1, 3)
            kept |= dict(zip(Grid(block.held, block.nodes).codes().tolist(), sums, strict=True))
        assert kept.keys() == expected.keys() and len(kept) > 100
        for code, values in expected.items():
            np.testing.assert_allclose(kept[code], values, rtol=1e-4, atol=1e-4)


def test_targets_have_positive_parts_of_one_and_a_floor():
    sums = np.array([[2.0, 6.0, -1.0], [3.0, -100.0, 0.0], [-2.0, -8.0, -4.0], [0.0, 0.0, 0.0]])
    expected = [[0.25, 0.75, -0.125], [1.0, FLOOR, 0.0], [-0.25, -1.0, -0.5], [0.0, 0.0, 0.0]]
    np.testing.assert_allclose(regret_targets(sums), expected)
    np.testing.assert_allclose(shares(np.array([[1.0, 3.0, 0.0], [0.0, 0.0, 0.0]])), [[0.25, 0.75, 0.0], [0.0] * 3])
    powers = np.exp(outputs_for("cross_entropy", np.array([0.25, 0.75, 0.0])))
    np.testing.assert_allclose(powers / powers.sum(), [0.25, 0.75, 0.0], atol=1e-5)


@pytest.mark.parametrize("architecture", [CardsToDecisions(width=16), CardsAndBets(width=16)])
def test_the_first_round_is_written_down_where_a_network_has_a_table_and_learnt_elsewhere(architecture):
    _, sampler, regrets, _ = parts(small_holdem(), architecture)
    turns(sampler, regrets, 4)
    for player in range(2):
        memory = regrets.memories[player]
        start = next(block for block in memory.sums.blocks if block.number[0] == 0)
        said = memory.network.read_at(Grid(start.held, start.nodes))
        wanted = regret_targets(start.sums.astype(np.float64)).reshape(-1, 3)
        error = np.abs(said - wanted).max()
        assert error < 1e-6 if isinstance(architecture, CardsToDecisions) else 1e-3 < error < 3.0


def test_what_is_read_of_a_board_stays_until_its_player_was_fitted(monkeypatch):
    rows, sampler, regrets, _ = parts(small_holdem())
    turns(sampler, regrets, 2)
    reads = []
    network = regrets.memories[0].network.network
    read = network.on_grid
    monkeypatch.setattr(network, "on_grid", lambda *asked: reads.append(asked[1].number) or read(*asked))
    block = next(block for block in regrets.memories[0].sums.blocks if block.number[0] > 0)
    grid = Grid(block.held[: block.first[1]], block.nodes, int(block.number[0]))
    first = regrets.scores_at(0, grid)
    np.testing.assert_array_equal(regrets.scores_at(0, grid), first)
    assert reads == []  # it was read when the opponent had its turn
    regrets.scores_at(0, grid._replace(number=-1))
    regrets.settle(2, (1,))
    regrets.scores_at(0, grid)
    assert reads == [-1]
    regrets.settle(2, (0,))
    assert np.abs(regrets.scores_at(0, grid) - first).max() > 1e-6
    assert reads == [-1, grid.number]
    np.testing.assert_allclose(regrets.scores_at(0, grid.codes()), regrets.scores_at(0, grid), atol=1e-5)
    assert rows.num_columns == 3


def test_sums_that_do_not_fit_together_are_not_restored():
    _, sampler, regrets, _ = parts(small_holdem())
    turns(sampler, regrets, 2)
    state = regrets.state()
    regrets.restore(state)
    largest = max((name for name in state if name.endswith(".held")), key=lambda name: len(state[name]))
    for name, wrong in (
        (largest, state[largest][:-1]),
        (largest, state[largest] | 62),
        (largest.replace("held", "sums"), state[largest.replace("held", "sums")].astype(np.float64)),
        (largest.replace("held", "first"), state[largest.replace("held", "first")][::-1]),
    ):
        with pytest.raises(ValueError, match="its sums"):
            regrets.restore({**state, name: wrong})


def test_rows_that_never_come_again_are_refused():
    _, sampler, regrets, _ = parts(small_holdem(), kept=0)
    with pytest.raises(EquipoiseError, match="grids that come again"):
        turns(sampler, regrets, 1)


def test_the_policy_is_what_the_sums_say_on_boards_that_were_kept(seed, level):
    game = small_holdem()
    rows, sampler, regrets, config = parts(game, CardsToDecisions(width=64), kept=4, seed=seed)
    fitting = Fitting(
        first_epochs=400, rate=1e-2, final_share=0.0, fall="linear", loss="cross_entropy", slower_power=0.0
    )
    policy = GridConfig(architecture=config.architecture, fitting=fitting, holdings=64)
    strategies = GridStrategy(rows, policy, RULE, seed=seed, device=CPU)
    assert strategies.concluded
    generator = np.random.default_rng(seed)
    for iteration in (1, 2, 3):
        for player in range(2):
            for each in sampler.rows(regrets.scores_at, (player,), iteration):
                if each.kind == STRATEGY:
                    legal = rows.legal_at(each.codes)
                    drawn = generator.random(each.values.shape) ** 4 * legal + 1e-3 * legal
                    played = drawn / drawn.sum(axis=1, keepdims=True)
                    strategies.absorb(Rows(each.player, STRATEGY, iteration, each.infoset, played, each.weight))
            strategies.settle(iteration, (player,))
    assert strategies.conclude(lambda what, share: None) and not strategies.conclude(lambda what, share: None)
    errors = []
    for player in range(2):
        ((_, strategy_at),) = strategies.mixture(player)
        for block in strategies.memories[player].sums.blocks:
            wanted = shares(block.sums.astype(np.float64)).reshape(-1, 3)
            errors.append(np.abs(strategy_at(Grid(block.held, block.nodes).codes()) - wanted).max(axis=1))
            if block.number[0] == 0:
                assert errors[-1].max() < 1e-4
    assert level(np.concatenate(errors).mean()) < 0.04  # 16 seeds: 0.005, median 0.015, 0.027


@pytest.mark.usefixtures("_nothing_is_listed")
@pytest.mark.parametrize("algorithm", list(SMALL))
def test_a_run_that_was_cut_ends_with_the_same_bits(algorithm, tmp_path):
    game = flop_holdem_of(4, 2, 1)
    options = {"parameters": SMALL[algorithm], "seed": 5, "first_evaluation": 2}
    equipoise.solve(game, algorithm, iterations=3, out=tmp_path / "cut", **options)
    cut = equipoise.resume(tmp_path / "cut", iterations=6, game=game)
    whole = equipoise.solve(game, algorithm, iterations=6, out=tmp_path / "whole", **options)
    states = [RunDirectory.open(tmp_path / name).load_checkpoint()[0].state for name in ("cut", "whole")]
    assert states[0].keys() == states[1].keys()
    for name, array in states[0].items():
        np.testing.assert_array_equal(array, states[1][name], err_msg=name)
    assert cut.nash_conv == whole.nash_conv
    threads = equipoise.solve(game, algorithm, iterations=6, threads=2, **options)
    assert threads.nash_conv == whole.nash_conv
    reopened = equipoise.load_policy(tmp_path / "whole", game=game)
    assert equipoise.exploitability(game, reopened) == pytest.approx(whole.exploitability, abs=1e-9)


# 16 seeds: 11.1, median 13.1, 15.3; 10.7, 14.4, 16.2; 7.3, 8.4, 9.2. Uniform play: 81. Of 60 boards 8 are seen at once.
LEVELS = {"deep-cfr": 18.0, "sd-cfr": 19.5, "dncfr": 10.5}


@pytest.mark.usefixtures("_nothing_is_listed")
@pytest.mark.parametrize("algorithm", list(SMALL))
def test_a_small_game_is_solved_from_some_of_its_boards(algorithm, seed, level):
    wide = {"boards": 8, "steps": 30, "width": 48, "minibatch": 128}
    own = {"deep-cfr": {"policy_steps": 300}, "dncfr": {"strategy_width": 48, "strategy_steps": 60}}
    parameters = {**SMALL[algorithm], **wide, **own.get(algorithm, {})}
    solution = equipoise.solve(
        flop_holdem_of(5, 2, 1), algorithm, iterations=20, seed=seed, parameters=parameters, first_evaluation=20
    )
    assert level(solution.exploitability) < LEVELS[algorithm]


@pytest.mark.parametrize(
    ("game", "given", "complaint"),
    [
        ("leduc_poker", {}, "targets=vector is for games"),
        ("limit_holdem", {}, "targets=vector is for games"),
        ("flop_holdem", {"cards": "cards", "strength": "no"}, "give cards=ranks"),
        ("flop_holdem", {"boards": 921, "strength": "no"}, "boards=921 is not valid; give 1 to 920"),
        ("flop_holdem", {"traversals": 10}, "traversals=10 would change nothing"),
        ("flop_holdem", {"capacity": 10}, "capacity=10 would change nothing"),
        ("flop_holdem", {"policy_loss": "squared"}, "policy_loss=squared would change nothing"),
    ],
)
def test_what_vector_targets_cannot_do_is_refused(game, given, complaint):
    with pytest.raises((InvalidParameter, NotSupported), match=complaint):
        find_recipe("deep-cfr").solver(Setup(game=load_game(game)), {"targets": "vector", **given})
    with pytest.raises(InvalidParameter, match="boards=5 would change nothing: it is for targets=vector"):
        RECIPES["deep-cfr"].resolve({"boards": 5}, game="codes")


def test_heads_answer_for_every_decision_as_their_rows_do():
    game = load_game("flop_holdem")
    tree = betting_tree(game)
    rows = poker_rows(tree, "ranks")
    network = TrainedNetwork(rows, (1,), CardsToDecisions(width=16), head=1.0, seed=2, device=CPU)
    generator = np.random.default_rng(0)
    deals = np.array([generator.permutation(52)[:5] for _ in range(12)])
    for betting_round in range(2):
        nodes = tree.decisions(1).astype(np.int64)
        nodes = nodes[tree.nodes.round[nodes] == betting_round]
        held = np.unique(codes_of(rows.layout, deals, np.full(12, betting_round), np.zeros(12, np.int64)))
        outputs = generator.normal(size=(len(held) * len(nodes), 3))
        tabled = network.network.take_over(Grid(held, nodes).codes(), rows, lambda which: outputs[which])  # noqa: B023
        assert tabled.tolist() == [betting_round == 0] * len(outputs)
        for some in (nodes, nodes[::-1], nodes[1:3]):
            grid = Grid(held, some)
            codes = grid.codes()
            one_by_one = np.concatenate([network.read_at(codes[k : k + 1]) for k in range(len(codes))])
            np.testing.assert_allclose(network.read_at(grid), one_by_one, atol=1e-5)
            mixed = generator.permutation(len(codes))
            np.testing.assert_allclose(network.read_at(codes[mixed]), one_by_one[mixed], atol=1e-5)
            assert np.ptp(one_by_one) > 0.1
        if betting_round == 0:
            np.testing.assert_allclose(network.read_at(Grid(held, nodes)), outputs, atol=1e-6)
    both = rows.own_rows((1,))
    assert len(set(tree.nodes.round[nodes_of(both)].tolist())) == 2
    np.testing.assert_allclose(network.read_at(both)[::-1], network.read_at(both[::-1].copy()), atol=1e-5)


def test_steps_by_holdings_take_whole_holdings_and_rounds_count_alike():
    game = small_holdem()
    tree, form = betting_tree(game), board_form(game)
    rows = poker_rows(tree, "ranks")
    sampler = BoardVectors(form, tree, rows.layout, kept=0, fresh=3, fallback=BEST, seed=0)
    found = [
        each.codes for each in sampler.rows(lambda who, grid: np.ones((grid.size, 3)), (0,), 1) if each.kind == REGRET
    ]
    codes = np.random.default_rng(0).permutation(np.concatenate(found))
    weight = np.random.default_rng(1).random(len(codes))
    holders = Holders(codes, weight, 5, np.random.default_rng(2))
    drawn = []
    for _ in range(40):
        places, share = holders.draw()
        assert len(set(places.tolist())) == len(places)
        held = codes[places] & CARDS_MASK
        assert set(places.tolist()) == set(np.flatnonzero(np.isin(codes & CARDS_MASK, held)).tolist())
        later = tree.nodes.round[nodes_of(codes[places])] == 1
        assert len(set(held[later].tolist())) == len(set(held[~later].tolist())) == 5
        for some in (later, ~later):
            np.testing.assert_allclose(share[some], 0.5 * weight[places][some] / weight[places][some].sum())
        drawn.append(frozenset(held.tolist()))
    assert len(set(drawn)) == 40


def test_games_with_too_many_decisions_have_no_heads():
    tree = betting_tree(load_game("limit_holdem"))
    rows = poker_rows(tree, "ranks")
    with pytest.raises(NotSupported, match="network=heads has an output for every decision"):
        CardsToDecisions().make(rows, rows.own_rows((0,)))
