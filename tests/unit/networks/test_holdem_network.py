"""Networks over codes: hold'em's own network is the printed one, and rows are what the grammar of keys says."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from equipoise.games import load_game
from equipoise.networks.fitting import Fitting
from equipoise.networks.grammars import PokerGrammar
from equipoise.networks.holdem import CardNetwork, CardsAndBets, card_inputs
from equipoise.networks.modules import FeedForward, Recurrent
from equipoise.networks.network import make_network, num_parameters, read
from equipoise.networks.poker_rows import poker_rows
from equipoise.networks.trained import TrainedNetwork
from equipoise.trees.betting_tree import betting_tree
from equipoise.trees.codes import CARDS_MASK, Grid, cards_of, codes_of, nodes_of
from tests.naive.holdem_network import PrintedNetwork, printed_from

torch.set_num_threads(1)  # as the solvers do: these networks are too small to share out
CPU = torch.device("cpu")
PRINTED_SIZE = 98_948  # B19 section 5.1


def rows_of(text, cards="cards"):
    return poker_rows(betting_tree(load_game(text)), cards)


def some_codes(rows, count, seed=0, nodes=None):
    """Return codes of random deals at random decisions (few deals, so that rows share holdings)."""
    generator = np.random.default_rng(seed)
    tree, width = rows.tree, int(rows.layout.deal_start[-1])
    deals = np.array([generator.permutation(tree.game.deck.size)[:width] for _ in range(max(1, count // 4))])
    nodes = np.flatnonzero(tree.nodes.num_children > 0) if nodes is None else nodes
    node = generator.choice(nodes, count).astype(np.int64)
    cards = deals[generator.integers(0, len(deals), count)]
    return codes_of(rows.layout, cards, tree.nodes.round[node].astype(np.int64), node)


def key_of(rows, code):
    """Return the key of an infoset as people write it."""
    game = rows.tree.game
    cards = [card for card in cards_of(np.array([code]), int(rows.layout.deal_start[-1]))[0].tolist() if card >= 0]
    node = int(nodes_of(np.array([code]))[0])
    hole = game.hole_cards
    return game.infoset_text(tuple(cards[:hole]), tuple(cards[hole:]), rows.tree.states[node].text)


def size(width, deals, positions, outputs):
    network = CardNetwork(deals, 13, 4, positions, outputs, CardsAndBets(width=width))
    assert num_parameters(network) == num_parameters(PrintedNetwork(deals, positions, outputs, width))
    return num_parameters(network)


def test_the_network_has_the_size_of_the_printed_source():
    assert size(64, 2, 12, 3) == 47_939  # flop hold'em: two sets of cards, two rounds of six bets, three actions
    assert size(64, 4, 24, 3) == 66_499  # limit hold'em


def test_the_printed_number_of_parameters_fits_no_sizes_that_the_paper_names():
    """The paper says 98,948. Its source gives d^2 (c + 7) + d (69 c + 8 + 2 b + a) + a for width d, c sets of cards, b
    bets and a actions, which is never that number for up to 60 bets and 8 actions; with width 64 it takes 410 bets."""

    def printed(d, c, b, a):
        return d * d * (c + 7) + d * (69 * c + 8 + 2 * b + a) + a

    assert printed(64, 2, 12, 3) == size(64, 2, 12, 3)
    near = [
        (d, c, b, a)
        for d in range(8, 300)
        for c in range(1, 6)
        for b in range(61)
        for a in range(2, 9)
        if printed(d, c, b, a) == PRINTED_SIZE
    ]
    assert near == []
    assert printed(64, 2, 410, 4) == PRINTED_SIZE == size(64, 2, 410, 4)


@pytest.mark.parametrize("text", ["flop_holdem", "limit_holdem(caps=3-3-4-5)", "nolimit_holdem(stack=2000)"])
def test_every_bet_has_a_place_of_its_own(text):
    """Reading a node's bets back gives its betting, action by action: nothing is written over, in any round."""
    rows = rows_of(text)
    tree, rounds = rows.tree, len(rows.tree.game.betting.rounds)
    width = rows._bets.shape[1] // rounds
    for node in np.random.default_rng(0).choice(tree.num_nodes, 200):
        taken, at = [[] for _ in range(rounds)], node
        while tree.parent[at] >= 0:
            above = tree.parent[at]
            before, after = tree.states[above], tree.states[at]
            taken[before.round].insert(0, after.spent[before.player] - before.spent[before.player])
            at = above
        for r, bets in enumerate(rows._bets[node].reshape(rounds, width).tolist()):
            assert [round(bet * rows._grammar.scale) for bet in bets if bet >= 0] == taken[r]


@pytest.mark.parametrize("text", ["flop_holdem", "limit_holdem"])
def test_outputs_and_gradients_are_those_of_the_printed_network(text):
    rows = rows_of(text)
    codes = some_codes(rows, 300)
    network = make_network(
        rows, CardsAndBets(width=16), torch.Generator().manual_seed(1), head=1.0, rows=codes
    ).double()
    held = rows.holdings(codes)
    assert len(held.cards) < 120 and len(held.bets) < 300 == len(held.holding)
    for parameter in network.parameters():
        if parameter.dim() == 1:
            torch.nn.init.normal_(parameter, std=0.1)
    inputs = card_inputs(held, CPU)
    inputs = inputs._replace(bets=inputs.bets.double())
    plain = printed_from(network)
    cards = torch.from_numpy(held.cards[held.holding])
    groups = torch.split(cards, list(held.deals), dim=1)
    expected = plain(groups, torch.from_numpy(held.bets[held.node]).double())
    found = network(inputs)
    torch.testing.assert_close(found, expected, rtol=0.0, atol=1e-9)
    assert float(expected.detach().std()) > 0.1
    pull = torch.from_numpy(np.random.default_rng(2).normal(size=expected.shape))
    expected.backward(pull)
    network.backpropagate(inputs, lambda outputs, rows: pull)
    ours = dict(network.named_parameters())
    for name, layer in (
        ("card2", plain.card2),
        ("bet1", plain.bet1),
        ("trunk1", plain.comb1),
        ("head", plain.action_head),
    ):
        torch.testing.assert_close(ours[f"{name}.weight"].grad, layer.weight.grad, rtol=0.0, atol=1e-8)
        assert float(layer.weight.grad.abs().max()) > 1e-3
    torch.testing.assert_close(ours["card1.weight"].grad, plain.card1.weight.grad, rtol=0.0, atol=1e-8)
    for deal, embedding in enumerate(plain.card_embeddings):
        for kind in ("rank", "suit", "card"):
            expected_gradient = getattr(embedding, kind).weight.grad
            torch.testing.assert_close(ours[kind].grad[deal], expected_gradient, rtol=0.0, atol=1e-8)


@pytest.mark.parametrize("text", ["leduc_poker", "flop_holdem"])
def test_vectors_and_cells_are_those_of_the_grammar(text):
    """Leduc's suits matter here: both sides take cards as they are dealt."""
    rows = rows_of(text)
    grammar = PokerGrammar(rows.tree.game, "cards")
    codes = some_codes(rows, 60, seed=3)
    keys = [key_of(rows, code) for code in codes]
    every = [f"{keys[0].split('|')[0].split('/')[0]}|{s.text}" for s in rows.tree.states if not s.finished]
    np.testing.assert_array_equal(rows.vectors(codes), grammar.flat([*keys, *every])[: len(keys)])
    trie = rows.prefixes(codes)
    depth = np.searchsorted(trie.level_start, np.arange(len(trie.cells)), side="right") - 1
    for row, key in enumerate(keys):
        path = [int(trie.last[row])]
        while depth[path[0]] > 0:
            path.insert(0, int(trie.level_start[depth[path[0]] - 1] + trie.parent[path[0]]))
        np.testing.assert_array_equal(trie.cells[path], grammar.cells(grammar.steps(key)))
    assert len(trie.cells) < sum(len(grammar.steps(key)) for key in keys) / 1.5  # prefixes are shared


def test_a_turn_card_is_dealt_once_and_seen_from_then_on():
    rows = rows_of("limit_holdem")
    node = rows.tree.node_of_text["cc/cc/c"]
    code = some_codes(rows, 1, nodes=np.array([node]))
    cards = cards_of(code, 7)[0]
    trie = rows.prefixes(code)
    open_board, dealt = trie.cells[:, 52:104].sum(axis=1), trie.cells[:, 106:158].sum(axis=1)
    assert open_board.tolist() == [0, 0, 0, 3, 3, 3, 4, 4]
    assert dealt.tolist() == [0, 0, 0, 3, 0, 0, 1, 0]
    assert trie.cells[6, 106 + cards[5]] == 1.0


ARCHITECTURES = [CardsAndBets(width=8), FeedForward(width=8), Recurrent(width=8), Recurrent(attention="relu", width=8)]


@pytest.mark.parametrize("architecture", ARCHITECTURES, ids=str)
@pytest.mark.parametrize("cards", ["ranks", "cards"])
def test_every_network_reads_codes_in_any_order_and_company(architecture, cards):
    rows = rows_of("flop_holdem", cards)
    network = TrainedNetwork(rows, (0,), architecture, head=1.0, seed=3, device=CPU)
    codes = some_codes(rows, 80)
    together = network.read_at(codes)
    assert together.shape == (80, 3)
    for part in (codes[::-1], codes[10:11], codes[[3, 3, 70]]):
        place = [np.flatnonzero(codes == code)[0] for code in part]
        np.testing.assert_allclose(network.read_at(part), together[place], atol=1e-5)
    assert together.std(axis=0).min() > 1e-4
    np.testing.assert_array_equal(read(rows, network.network, codes, CPU), together)
    assert len(network.read_at(codes[:0])) == 0


PRODUCTS = """
from concurrent.futures import ThreadPoolExecutor
import numpy as np
from tests.unit.networks.test_holdem_network import CPU, FeedForward, TrainedNetwork, rows_of, some_codes

rows = rows_of("flop_holdem")
network = TrainedNetwork(rows, (0,), FeedForward(width=8), head=1.0, seed=3, device=CPU)
for count in (36, 42):  # sizes at which MKL, on two threads, cuts a product in another way than on one
    codes = some_codes(rows, count)
    with ThreadPoolExecutor(1) as pool:
        assert np.array_equal(pool.submit(network.read_at, codes).result(), network.read_at(codes))
"""


@pytest.mark.processes
def test_every_thread_reads_the_same_bits():
    """In a process of its own, since MKL reads its settings once; these are the ones under which it showed."""
    settings = {**os.environ, "MKL_CBWR": "COMPATIBLE", "OMP_NUM_THREADS": "2"}
    subprocess.run([sys.executable, "-c", PRODUCTS], env=settings, check=True, cwd=Path(__file__).parents[3])


def test_a_network_of_codes_learns_which_hands_are_pairs(seed, level):
    rows = rows_of("flop_holdem", "ranks")
    network = TrainedNetwork(rows, (0,), CardsAndBets(width=32), head=1.0, seed=seed, device=CPU)
    codes = np.unique(some_codes(rows, 1500, nodes=np.array([0])))
    cards = cards_of(codes, 2)
    pairs = (cards[:, 0] // 4 == cards[:, 1] // 4).astype(np.float64)
    target = np.repeat(pairs[:, None], 3, axis=1)
    network.fit_to(target, np.ones_like(target), Fitting(first_epochs=400, rate=1e-2), 1, codes)
    missed = np.abs(network.read_at(codes) - target).mean()
    # 16 seeds: 0.009, median 0.014, 0.021. The best constant: above 0.09.
    assert level(missed) < 0.05 < 0.09 < np.abs(target - target.mean()).mean()
    assert network.network.inputs_of(rows, codes, CPU).holding.shape == codes.shape


@pytest.mark.parametrize("architecture", [CardsAndBets(width=8), FeedForward(width=8, layers=2)])
def test_a_grid_is_read_as_its_rows_are(architecture):
    rows = rows_of("flop_holdem")
    own = rows.own_rows((1,))
    network = make_network(rows, architecture, torch.Generator().manual_seed(3), head=1.0, rows=own)
    nodes = np.unique(nodes_of(own[rows.tree.nodes.round[nodes_of(own)] == 1]))
    held = np.unique(own[nodes_of(own) == nodes[0]] & CARDS_MASK)
    grid = Grid(held, nodes)
    assert grid.size == len(nodes) * len(held) > 50
    expected = read(rows, network, grid.codes(), CPU)
    found = network.on_grid(rows, grid, CPU)
    assert found.shape == expected.shape and np.ptp(expected) > 0.1
    np.testing.assert_allclose(found, expected, atol=1e-6)
    network.rows_at_once = len(nodes)  # a holding at a time
    np.testing.assert_allclose(network.on_grid(rows, grid, CPU), expected, atol=1e-6)
