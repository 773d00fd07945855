"""Look-aheads, gadgets and continual re-solving, against linear programs and exact evaluation."""

import numpy as np
import pytest

import equipoise
from equipoise.errors import EquipoiseError, NotFound, NotSupported
from equipoise.games import load_game
from equipoise.games.poker import kuhn_poker, leduc_poker, nl_leduc
from equipoise.regret.rules import DiscountedCFR
from equipoise.resolving import agent_of
from equipoise.solvers.leaf_values import LEAF_VALUES, CheckDownValues, ExactValues
from equipoise.solvers.lookahead_cfr import LookaheadCFR
from equipoise.solvers.public_values import PublicNetworkValues, PublicSituations
from equipoise.trees.betting_tree import betting_tree
from equipoise.trees.build_poker import poker_public_tree
from equipoise.trees.lookahead import PublicState, lookahead
from equipoise.trees.value_network import ValueNetwork
from tests.naive.gadgets import PartOfPoker
from tests.naive.linear_program import game_value

RULE = DiscountedCFR()


def _public(game, betting, board_card=None):
    """Return the public tree, the public state after some betting, and the same as betting and board of the rules."""
    tree, bets = poker_public_tree(game), betting_tree(game)
    node = next(n for n in range(tree.num_nodes) if tree.player[n] >= 0 and tree.infoset_text(n, "") == f"|{betting}")
    group = 0 if board_card is None else board_card
    return tree, PublicState(node, group), bets.states[bets.node_of_text[betting]]


def _ranges(hands, seed):
    generator = np.random.default_rng(seed)
    return generator.random(hands), generator.random(hands) * (generator.random(hands) > 0.3)


def _weights(tree, state, reach, live, total):
    """Return chance x both reaches by hands of the deck."""
    probability = tree.stages[tree.stage[state.node]].probability[state.group]
    out = np.zeros((total, total))
    out[np.ix_(live, live)] = probability * reach[0][:, None] * reach[1][None, :]
    return out


@pytest.mark.parametrize("betting", ["crc/", "rrc/c", "cc/r"])
@pytest.mark.parametrize("gadget", ["unsafe", "cfrd", "maxmargin"])
@pytest.mark.parametrize("own", [0, 1])
def test_gadgets_have_the_value_of_their_linear_program(betting, gadget, own):
    game, board = leduc_poker(), 3
    tree, state, bets = _public(game, betting, board)
    live = [hand for hand in range(6) if hand != board]
    reach = _ranges(5, seed=own)
    given = np.random.default_rng(7).normal(size=5) * 0.02
    opponent = 1 - own
    cfr = LookaheadCFR(lookahead(tree, [state]), RULE)
    if gadget == "unsafe":
        cfr.enter(reach)
    else:
        cfr.enter_by(gadget, own, reach, given)
    cfr.run(20_000)
    values = np.zeros(6)
    values[live] = given
    entering = list(reach)
    if gadget != "unsafe":
        entering[opponent] = np.ones(5)
    weights = _weights(tree, state, entering, live, 6)
    part = PartOfPoker(
        poker=game,
        betting=bets,
        board=(board,),
        weights=weights,
        opponent=opponent,
        gadget={"unsafe": "none"}.get(gadget, gadget),
        values=values,
    )
    truth = game_value(part) * (1.0 if opponent == 0 else -1.0)  # to the opponent
    found = cfr.root_values(opponent)[0]
    if gadget == "unsafe":
        assert found @ reach[opponent] / weights.sum() == pytest.approx(truth, abs=2e-4)
    elif gadget == "cfrd":
        # By the average strategy the opponent gets the better of both, hand by hand.
        best = _best_values(cfr, opponent)
        assert np.maximum(given, best).sum() / weights.sum() == pytest.approx(truth, abs=2e-4)
    else:
        mass = weights.sum(axis=own)[live]
        best = _best_values(cfr, opponent)
        assert ((best - given) / mass).max() == pytest.approx(truth, abs=1e-3)


def _best_values(cfr, player):
    """Return what a player's hands can get at the root against the other's average strategy."""
    arrays, betting = cfr.look.arrays, cfr.look.arrays.betting
    opponent, hands = 1 - player, arrays.hands
    plan = {0: cfr.work.plan[opponent].reshape(-1, hands[opponent])[0]}
    for node in range(len(cfr.look.nodes)):
        if betting.node_player[node] == opponent:
            for action, played in enumerate(cfr.average_at(node)):
                plan[int(betting.node_row[node]) + action] = plan[int(betting.node_before[node])] * played
    worth = np.zeros((int(betting.rows[player]), hands[player]))
    for leaf in range(len(arrays.leaf_amount)):
        matrix = arrays.matrices[arrays.leaf_matrix[leaf]] * arrays.leaf_amount[leaf]
        theirs = plan[int(arrays.leaf_row[opponent, leaf])]
        worth[arrays.leaf_row[player, leaf]] += matrix @ theirs if player == 0 else -(matrix.T @ theirs)
    for node in reversed(range(len(cfr.look.nodes))):
        if betting.node_player[node] == player:
            worth[betting.node_before[node]] += worth[cfr.look.rows(node)].max(axis=0)
    return worth[0]


def test_exact_leaves_are_the_full_solve():
    game = nl_leduc(5)
    tree = poker_public_tree(game)
    look = lookahead(tree, [PublicState(0)])
    cfr = LookaheadCFR(look, RULE, ExactValues(look, RULE))
    cfr.enter((np.ones(6), np.ones(6)))
    parameters = {"alpha": 1.5, "beta": 0.0, "gamma": 2.0}
    cfr.run(50)  # later, rounding breaks ties
    full = equipoise.solve(game, "dcfr", iterations=50, parameters=parameters)
    for hand, name in enumerate(("Js", "Jh", "Qs", "Qh", "Ks", "Kh")):
        assert np.allclose(list(full.policy[f"{name}|"].values()), cfr.average_at(0)[:, hand], rtol=0.0, atol=1e-9)
    cfr.run(950)
    assert cfr.root_values(0)[0].sum() == pytest.approx(game_value(game), abs=1e-3)


def test_check_down_leaves_are_a_game_without_bets_after_the_deal():
    """The same game with a cap of no raises in the second round has the same value."""
    from dataclasses import replace

    game = leduc_poker()
    silent = replace(
        game,
        betting=replace(game.betting, rounds=(game.betting.rounds[0], replace(game.betting.rounds[1], max_raises=0))),
    )
    look = lookahead(poker_public_tree(game), [PublicState(0)])
    cfr = LookaheadCFR(look, RULE, CheckDownValues(look, RULE))
    cfr.enter((np.ones(6), np.ones(6)))
    cfr.run(5_000)
    assert cfr.root_values(0)[0].sum() == pytest.approx(game_value(silent), abs=1e-3)


@pytest.mark.parametrize("gadget", ["cfrd", "maxmargin"])
def test_nobody_gains_at_the_opponents_own_equilibrium_values(gadget):
    """After the first solve, the second round is re-solved: neither player gets more than it had."""
    agent = agent_of("leduc_poker", gadget=gadget, iterations=4000)
    checked = 0
    for at in agent.next_situations(0, next(agent.first_situations(0)), agent.start):
        if agent.tree.stage[at.state.node] == 1 and at.own.sum() > 0.5:
            solved = agent.solve(0, at)
            hands = solved.cfr.look.arrays.hands[1]
            probability = agent.tree.stages[1].probability[at.state.group]
            gain = (_best_values(solved.cfr, 1) - at.values) / np.maximum(at.own @ probability, 1e-9)
            assert gain.max() < 0.05  # chips, in pots of 2 to 10
            assert hands == 5
            checked += 1
    assert checked > 10


def test_safe_re_solving_tends_to_the_blueprint_and_unsafe_does_not():
    found = [equipoise.resolve("nl_leduc(stack=5)", iterations=n).exploitability for n in (30, 300)]
    assert found[1] < 0.002 < 0.01
    assert found[1] < found[0] / 3
    unsafe = equipoise.resolve("nl_leduc(stack=5)", gadget="unsafe", iterations=300)
    assert unsafe.exploitability > 0.05 > 5 * found[1]
    assert "unsafe" in unsafe.warning


def test_margins_are_safe():
    assert equipoise.resolve("nl_leduc(stack=5)", gadget="maxmargin", iterations=300).exploitability < 0.01


def test_values_at_leaves_matter():
    errors = {
        values: equipoise.resolve("leduc_poker", values=values, iterations=200).exploitability for values in LEAF_VALUES
    }
    assert errors["exact"] < 0.01 < errors["check-down"] < errors["zero"]


def test_an_agent_at_play_is_what_was_listed():
    game = nl_leduc(5)
    agent, listed = agent_of(game, iterations=20), equipoise.resolve(game, iterations=20)
    compared = 0

    def walk(state):
        nonlocal compared
        if state.player >= 0:
            played = list(agent.action_probabilities(state))
            assert played == pytest.approx(list(listed.policy[state.infoset_key()].values()), abs=1e-12)
            compared += 1
        for action in list(state.actions())[-3:]:
            walk(state.child(action))

    walk(game.root())
    assert compared > 100


def test_games_without_deals_and_with_dice_are_re_solved():
    assert equipoise.resolve(kuhn_poker(), iterations=1000).exploitability < 1e-3
    assert equipoise.resolve("bluff(dice=1x1)", iterations=50).exploitability < 0.01


@pytest.mark.parametrize("game", ["flop_holdem", "bluff(dice=2x1)", "goofspiel(cards=4)"])
def test_games_whose_public_states_are_not_listed_are_refused(game):
    with pytest.raises(EquipoiseError) as raised:
        equipoise.resolve(load_game(game))
    assert isinstance(raised.value, NotSupported)


def test_unknown_values_are_refused():
    with pytest.raises(NotFound, match="exact, check-down, zero"):
        equipoise.resolve("leduc_poker", values="exakt")


@pytest.fixture(scope="module")
def small_network(tmp_path_factory):
    """Train a network of a few labels."""
    folder = tmp_path_factory.mktemp("values") / "leduc"
    return equipoise.train_values(
        "nl_leduc(stack=5)", folder, labels=1500, held_out=100, iterations=100, width=64, layers=1, passes=40
    )


def test_a_small_network_learns_what_a_deal_is_worth(small_network):
    assert small_network.losses.huber < 0.5 * small_network.losses.check_down_huber
    assert small_network.network.round == "nl_leduc(stack=5)"


def test_re_solving_through_a_network(small_network):
    by_network = equipoise.resolve("nl_leduc(stack=5)", values=small_network.path, iterations=100).exploitability
    assert by_network < 0.12  # more labels: docs/holdem.md
    assert equipoise.resolve("nl_leduc(stack=5)", values="zero", iterations=100).exploitability > 0.3


def test_networks_of_other_games_are_refused(small_network):
    with pytest.raises(NotSupported, match="of nl_leduc"):
        equipoise.resolve("leduc_poker", values=small_network.path)
    with pytest.raises(NotSupported, match="no betting follows a deal"):
        equipoise.train_values("kuhn_poker")


def test_labels_of_small_games_are_values_of_solved_subgames():
    known, generator = PublicSituations(nl_leduc(5)), np.random.default_rng(1)
    for at in [known.random(generator), *known.met(generator, 20)[:3]]:
        found = known.label(*at, 2000)
        sums = [float(found.reach[p] @ found.cfv[p]) for p in range(2)]
        assert sums[0] == pytest.approx(-sums[1], abs=2e-3)
        downs = [float(found.reach[p] @ found.check_down[p]) for p in range(2)]
        assert downs[0] == pytest.approx(-downs[1], abs=1e-12)
        assert found.seen[:10].sum() == pytest.approx(2.0)


def test_a_network_that_says_nothing_is_check_down_in_look_aheads():
    look = lookahead(poker_public_tree(nl_leduc(5)), [PublicState(0)])
    inputs = 10 + 6 + 1 + 7
    silent = ValueNetwork(
        header={"round": "nl_leduc(stack=5)"},
        weights=(np.ones((inputs, 4), np.float32), np.zeros((4, 10), np.float32)),
        biases=(np.zeros(4, np.float32), np.zeros(10, np.float32)),
    )
    generator = np.random.default_rng(0)
    entering = generator.random((len(look.closings), 6)), generator.random((len(look.closings), 6))
    for player in range(2):
        found = PublicNetworkValues(silent, look, RULE).closings(entering, player, 1)
        np.testing.assert_allclose(found, CheckDownValues(look, RULE).closings(entering, player, 1), atol=1e-12)
