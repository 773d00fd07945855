"""Value networks of small poker games: what a deal is worth to every hand, for look-aheads of a public tree.

As on the river (trees/value_network.py), a network says what hands gain over checking down, in means and over the pot.
Games of this size have few hands, so it sees both ranges as they are, the board by its number, and the pot.
"""

import zlib
from typing import NamedTuple

import numpy as np

from equipoise.errors import NotSupported
from equipoise.games import CHANCE, Game
from equipoise.games.poker import PokerGame
from equipoise.regret.rules import DiscountedCFR, Rule
from equipoise.solvers.leaf_values import CheckDownValues, ExactValues
from equipoise.solvers.lookahead_cfr import LookaheadCFR, Pair
from equipoise.trees.compile import build_public_tree
from equipoise.trees.lookahead import Lookahead, PublicState, deal_after, is_settled, lookahead
from equipoise.trees.public_tree import PublicTree
from equipoise.trees.treeplex import Float
from equipoise.trees.value_network import ValueNetwork

POT_CENTRES = np.linspace(-3.0, 0.0, 7)  # of the logarithm of the pot over all chips


class PublicLabel(NamedTuple):
    """A situation after a deal, and what it is worth: as a label of the river has it, with hands in their order."""

    seen: Float
    cfv: Pair  # over the pot
    check_down: Pair
    beside: Pair
    reach: Pair


def chips_at(tree: PublicTree, node: int) -> float:
    """Return what each player has put in at a closing: what the loser of a showdown without bets pays."""
    while tree.num_children[node] > 0:
        node = int(tree.first_child[node])
    return float(tree.terminal_amount[node])


def stack_of(game: Game) -> float:
    """Return what a player can lose, for scale."""
    if not isinstance(game, PokerGame):
        raise NotSupported(f"value networks are trained for poker games, and {game.name} is not one")
    return float(game.betting.stack or 1)


def seen_of(ranges: tuple[Float, Float], groups: Float, chips: Float, stack: float) -> Float:
    """Return what a network sees of ranges, [rows, hands] each; boards, [rows, boards]; and chips, [rows]."""
    share = np.log(chips / stack)[:, None]
    bumps = np.exp(-2.0 * (share - POT_CENTRES) ** 2)
    return np.concatenate([*ranges, groups, chips[:, None] / stack, bumps], axis=1)


def require_deal(game: Game) -> PublicTree:
    """Return the public tree of a game in which betting goes on after a deal, or refuse the game."""
    tree = build_public_tree(game)
    if not any(tree.player[node] == CHANCE and not is_settled(tree, node) for node in range(tree.num_nodes)):
        raise NotSupported(f"in {game.name} no betting follows a deal: there is nothing for a network to value")
    return tree


class PublicSituations:
    """Random situations after a deal, and their labels."""

    def __init__(self, game: Game) -> None:
        self.tree, self.stack = require_deal(game), stack_of(game)
        self._closings = [
            node
            for node in range(self.tree.num_nodes)
            if self.tree.player[node] == CHANCE and not is_settled(self.tree, node)
        ]

    def random_reach(self, stage: int, generator: np.random.Generator) -> Pair:
        """Return random reaches of all (board, hand) pairs of a stage, or of hands before a deal.

        Mostly hands of one rank are alike, as they are when suits mean nothing, and some are not held at all.
        """
        found = []
        for labels in self.tree.stages[stage].labels:
            power = generator.choice([0.25, 1.0, 4.0])
            ranks = (
                np.array([hash_of(label) for label in labels]) if generator.random() < 0.8 else np.arange(len(labels))
            )
            drawn = generator.random(int(ranks.max()) + 1) ** power
            drawn[generator.random(len(drawn)) < generator.choice([0.0, 0.3])] = 0.0
            found.append(drawn[ranks])
        return found[0], found[1]

    def met(self, generator: np.random.Generator, most: int) -> list[tuple[int, int, Pair]]:
        """Return situations (closing, board, reaches) that are met in an iteration of solving the first look-ahead."""
        look = lookahead(self.tree, [PublicState(0)])
        cfr = LookaheadCFR(look, DiscountedCFR(), ExactValues(look, DiscountedCFR()))
        cfr.enter(self.random_reach(0, generator))
        cfr.run(int(generator.integers(1, most)))
        deal, (first, second) = deal_after(self.tree, look.stage), cfr.entering()
        found = []
        for k, state in enumerate(look.closings):
            for group in deal.groups[state.group]:
                reach = first[k, deal.source[0][group]], second[k, deal.source[1][group]]
                if self._can_be_dealt(state.node, group, reach):
                    found.append((state.node, group, reach))
        return found

    def random(self, generator: np.random.Generator) -> tuple[int, int, Pair]:
        """Return a random situation."""
        while True:
            node = int(generator.choice(self._closings))
            stage = int(self.tree.stage[node]) + 1
            groups = self.tree.stages[stage].groups
            group = int(generator.integers(groups))
            first, second = (reach.reshape(groups, -1)[group] for reach in self.random_reach(stage, generator))
            if self._can_be_dealt(node, group, (first, second)):
                return node, group, (first, second)

    def _can_be_dealt(self, node: int, group: int, reach: Pair) -> bool:
        """Return whether there are two hands, one of each range, that can be dealt together."""
        probability = self.tree.stages[int(self.tree.stage[node]) + 1].probability[group]
        return bool(reach[0] @ probability @ reach[1] > 0.0)

    def label(self, node: int, group: int, reach: Pair, iterations: int) -> PublicLabel:
        """Solve a situation."""
        tree = self.tree
        stage = tree.stages[tree.stage[node] + 1]
        probability = stage.probability[group] / stage.probability[group].max()
        first, second = (each / each.sum() for each in reach)
        pot = 2.0 * chips_at(tree, node)
        look = lookahead(tree, [PublicState(int(tree.first_child[node]), group)])
        cfr = LookaheadCFR(look, DiscountedCFR(), ExactValues(look, DiscountedCFR()) if look.closings else None)
        cfr.enter((first, second))
        cfr.run(iterations)
        scale = stage.probability[group].max() * pot
        showdown = _check_down_matrix(tree, node, group)
        return PublicLabel(
            seen_of((first[None], second[None]), np.eye(stage.groups)[[group]], np.array([pot / 2]), self.stack)[0],
            (cfr.root_values(0)[0] / scale, cfr.root_values(1)[0] / scale),
            (showdown @ second / scale, -(showdown.T @ first) / scale),
            (probability @ second, first @ probability),
            (first, second),
        )


def _check_down_matrix(tree: PublicTree, node: int, group: int) -> Float:
    end = node
    while tree.num_children[end] > 0:
        end = int(tree.first_child[end])
    matrix: Float = tree.payoff_matrices[tree.terminal_matrix[end]][group] * tree.terminal_amount[end]
    weighted: Float = matrix * tree.stages[tree.stage[end]].probability[group]
    return weighted


def hash_of(label: str) -> int:
    """Return a number that hands which differ by suits only share: that of their rank on their board."""
    hand, _, board = label.partition("/")
    return zlib.crc32(f"{hand[0]}/{board[:1]}".encode()) % 997


class PublicNetworkValues(CheckDownValues):
    """What closings are worth by a network."""

    def __init__(self, network: ValueNetwork, look: Lookahead, rule: Rule) -> None:
        super().__init__(look, rule)
        tree, self._network = look.tree, network
        self._probability = tree.stages[look.stage + 1].probability
        self._chips = np.array([chips_at(tree, state.node) for state in look.closings])
        self._stack = stack_of(tree.game)
        groups = deal_after(tree, look.stage).groups
        follows = [[group in groups[state.group] for group in range(len(self._probability))] for state in look.closings]
        self._follows = np.array(follows)

    def closings(self, entering: Pair, player: int, iteration: int) -> Float:
        probability = self._probability
        reach = [entering[p][:, self._deal.source[p]] for p in range(2)]  # [closings, groups, hands]
        total = [each.sum(axis=2, keepdims=True) for each in reach]
        held = (total[0][:, :, 0] > 0.0) & (total[1][:, :, 0] > 0.0) & self._follows
        worth = super().closings(entering, player, iteration)
        if not held.any():
            return worth
        closing, group = np.nonzero(held)
        first, second = (reach[p][held] / total[p][held] for p in range(2))
        seen = seen_of((first, second), np.eye(len(probability))[group], self._chips[closing], self._stack)
        read = self._network.read(seen.astype(np.float32)).astype(np.float64).reshape(len(closing), 2, -1)
        beside = (
            np.einsum("rij,rj->ri", probability[group], reach[1][held]),
            np.einsum("rij,ri->rj", probability[group], reach[0][held]),
        )
        weights = [reach[p][held] * beside[p] for p in range(2)]
        left_over = sum((weights[p] * read[:, p]).sum(axis=1) for p in range(2))
        pairs = sum(each.sum(axis=1) for each in weights)
        gain = read[:, player] - (left_over / np.maximum(pairs, 1e-300))[:, None]
        found = worth.reshape(*held.shape, -1)
        found[held] += 2.0 * self._chips[closing][:, None] * gain * beside[player]
        return worth
