"""Regrets of one hand by the definition: against every hand of the opponent, on every board, line by line."""

from functools import cache
from itertools import combinations

from equipoise.games import TERMINAL
from equipoise.trees.betting_tree import BettingTree


class Table:
    """A poker game of two rounds, with strategies: ``plays(player, hand, board, node)``, probabilities by column."""

    def __init__(self, tree: BettingTree, plays):
        self.tree, self.plays = tree, cache(plays)
        self.worth = cache(self.worth_anew)
        self.deck = range(tree.game.deck.size)
        self.most = tree.game.board_cards[1]

    def children(self, node):
        first = int(self.tree.nodes.first_child[node])
        return {
            int(self.tree.nodes.column[k]): k for k in range(first, first + int(self.tree.nodes.num_children[node]))
        }

    def payoff(self, node, hands, board):
        """Return what player 0 wins at an end."""
        state = self.tree.states[node]
        at_risk = float(state.pot_share_at_risk())
        if state.folded >= 0:
            return at_risk if state.folded == 1 else -at_risk
        mine, theirs = (self.tree.game.strength_of(hand, board) for hand in hands)
        return at_risk * ((mine > theirs) - (mine < theirs))

    def worth_anew(self, node, hands, board):
        """Return what player 0 wins from a node on."""
        nodes = self.tree.nodes
        if not board and nodes.round[node] > 0 and self.tree.states[node].folded < 0:
            left = [card for card in self.deck if card not in (*hands[0], *hands[1])]
            boards = list(combinations(left, self.most))
            return sum(self.worth(node, hands, each) for each in boards) / len(boards)
        if nodes.player[node] == TERMINAL:
            return self.payoff(node, hands, board)
        acting = int(nodes.player[node])
        played = self.plays(acting, hands[acting], board, node)
        return sum(played[column] * self.worth(child, hands, board) for column, child in self.children(node).items())

    def reach(self, player, hand, board, node):
        """Return a player's own reach of a node."""
        product, at = 1.0, node
        while (above := int(self.tree.parent[at])) >= 0:
            if self.tree.nodes.player[above] == player:
                known = board if self.tree.nodes.round[above] > 0 else ()
                product *= self.plays(player, hand, known, above)[int(self.tree.nodes.column[at])]
            at = above
        return product

    def others(self, cards):
        """Return all hands without some cards."""
        return [hand for hand in self.tree.game.hands if not set(hand) & set(cards)]

    def regrets(self, player, hand, board, node):
        """Return regrets by column, as means over the opponent's hands of regret x its reach."""
        others = self.others((*hand, *board))
        own = self.plays(player, hand, board, node)
        sign = 1.0 if player == 0 else -1.0
        found = dict.fromkeys(self.children(node), 0.0)
        for other in others:
            hands = (hand, other) if player == 0 else (other, hand)
            weight = self.reach(1 - player, other, board, node) / len(others)
            worth = {column: sign * self.worth(child, hands, board) for column, child in self.children(node).items()}
            mean = sum(own[column] * each for column, each in worth.items())
            for column, each in worth.items():
                found[column] += weight * (each - mean)
        return found

    def mean_reach(self, player, board, node):
        """Return a player's mean reach of a node, over all hands."""
        hands = self.others(board)
        return sum(self.reach(player, hand, board, node) for hand in hands) / len(hands)
