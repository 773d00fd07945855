"""Values of actions by playing on, in poker games that nothing evaluates exactly (limit and no-limit hold'em).

Reach and belief are exact: they follow from the strategies on the way. For values, the opponent's hand is drawn from
that belief and the rest of the board from the deck; then each action is taken once on the same cards, and both players
go on by their strategies. Means over the deals are unbiased estimates, with their standard errors.
"""

import zlib
from dataclasses import replace

import numpy as np

from equipoise.evaluation.appraisal import Appraisal, InfosetValues
from equipoise.evaluation.board_action_values import Asked, deal_chance
from equipoise.evaluation.lines import belief, compatible_reach, live_hands, range_at, read_line
from equipoise.evaluation.lockstep_play import play_on
from equipoise.evaluation.players import LockstepPlayer
from equipoise.games.betting import BettingState
from equipoise.games.notation import read_infoset
from equipoise.games.poker import Cards, PokerGame
from equipoise.trees.betting_tree import betting_tree
from equipoise.trees.treeplex import Float

DEALS = 4000  # at an infoset


class SampledAppraiser:
    """Appraises infosets of a poker game: exact reach and belief, values estimated one infoset at a time."""

    exact = False

    def __init__(
        self, game: PokerGame, player: LockstepPlayer, opponent: LockstepPlayer, *, deals: int = DEALS, seed: int = 0
    ) -> None:
        self.game = game
        self._deals, self._seed = deals, seed
        self._tree = betting_tree(game)
        own, theirs = player.strategy_on(self._tree), opponent.strategy_on(self._tree)
        self._strategies = (own, theirs), (theirs, own)  # by the seat that is valued
        self._asked = tuple(Asked(self._tree, pair) for pair in self._strategies)
        self.method = f"estimated ({deals:,} hands played on from the infoset)"

    def start_value(self, player: int) -> float:
        return float("nan")

    def ranges(self, betting: str, board: str = "") -> tuple[Float, Float]:
        came_to, cards = read_line(self.game, betting, board)
        played = self._asked[came_to.player].played
        first, second = (range_at(self.game, player, came_to, cards, played) for player in range(2))
        return first, second

    def line(self, betting: str, board: str = "") -> Appraisal:
        """Return all hands at a line: what they play and how often they come here, without values."""
        came_to, cards = read_line(self.game, betting, board)
        hands = [self.game.hands[place] for place in live_hands(self.game, cards)]
        return self._line(came_to, cards, self.ranges(betting, board), hands)

    def _line(self, came_to: BettingState, board: Cards, ranges: tuple[Float, Float], hands: list[Cards]) -> Appraisal:
        game, player = self.game, came_to.player
        place_of = {hand: place for place, hand in enumerate(game.hands)}
        places = [place_of[hand] for hand in hands]
        probabilities, reached = self._asked[player].at(came_to, board, hands)
        compatible = compatible_reach(game, np.isin(np.arange(len(game.hands)), live_hands(game, board)).astype(float))
        unknown = np.full(probabilities.shape, np.nan)
        return Appraisal(
            player=player,
            keys=[game.infoset_text(hand, board, came_to.text) for hand in hands],
            actions=self._tree.action_names(self._tree.node_of_text[came_to.text]),
            probabilities=probabilities,
            reached=reached,
            own_reach=ranges[player][places],
            others_reach=compatible_reach(game, ranges[1 - player])[places]
            / compatible[places]
            * deal_chance(game, board),
            values=unknown,
            best_values=unknown,
            errors=unknown,
            believe=lambda place: belief(game, ranges[1 - player], hands[place]),
            paid=float(came_to.spent[player]),
            method=f"{self.method}; ask for one infoset",
        )

    def at(self, key: str) -> InfosetValues:
        infoset = read_infoset(self.game, key)
        came_to, board = infoset.betting, infoset.board
        ranges = self.ranges(came_to.text, self.game.deck.text(board))
        known = self._line(came_to, board, ranges, [infoset.hand]).infoset(0)
        values, errors = self._play_on(came_to, board, infoset.hand, known.belief.probabilities, infoset.key)
        return replace(known, values=values, errors=errors, method=self.method)

    def _play_on(
        self, came_to: BettingState, board: Cards, hand: Cards, believed: Float, key: str
    ) -> tuple[Float, Float]:
        """Return the mean payoff of each action, and its standard error."""
        game, tree, player = self.game, self._tree, came_to.player
        node = tree.node_of_text[came_to.text]
        actions = np.flatnonzero(tree.legal[node])
        if believed.sum() == 0.0:
            return (np.full(len(actions), np.nan),) * 2
        random = np.random.default_rng([self._seed, zlib.crc32(key.encode())])
        drawn = random.choice(len(game.hands), size=self._deals, p=believed)
        hole, size = game.hole_cards, game.deck.size
        cards = np.zeros((self._deals, 2 * hole + sum(game.board_cards)), np.int8)
        cards[:, player * hole : (player + 1) * hole] = hand
        cards[:, (1 - player) * hole : (2 - player) * hole] = np.array(game.hands)[drawn]
        cards[:, 2 * hole : 2 * hole + len(board)] = board
        # What is left of the deck, in random order: dealt cards are put last.
        keys = random.random((self._deals, size))
        out = cards[:, : 2 * hole + len(board)].astype(np.int64)
        np.put_along_axis(keys, out, 2.0, axis=1)
        left = sum(game.board_cards) - len(board)
        if left:
            cards[:, 2 * hole + len(board) :] = np.argsort(keys, axis=1)[:, :left]
        wins = []
        for action in actions:
            nodes = np.full(self._deals, tree.child[node, action], np.int32)
            won = play_on(tree, self._strategies[player], nodes, cards, seed=self._seed)
            wins.append(won if player == 0 else -won)
        means = np.array([won.mean() for won in wins])
        errors = np.array([won.std(ddof=1) / np.sqrt(len(won)) for won in wins])
        return means, errors
