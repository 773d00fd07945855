"""Values of actions in games over boards (flop hold'em): exact, board by board.

On a board only that board is worked on. Before it, what the second round is worth must be known on all boards: that
takes as long as an exact evaluation, is done when it is first asked for, and kept.
"""

from collections.abc import Callable, Sequence
from functools import cached_property
from math import comb

import numpy as np

from equipoise.evaluation.appraisal import Appraisal, InfosetValues
from equipoise.evaluation.lines import belief, compatible_reach, live_hands, range_at, read_line
from equipoise.evaluation.players import BoardPlayer
from equipoise.games.betting import BettingState
from equipoise.games.notation import read_infoset
from equipoise.games.poker import Cards, PokerGame
from equipoise.games.suits import HOLE_CARDS
from equipoise.trees.betting_tree import BettingTree
from equipoise.trees.board_evaluator import BoardEvaluator, BoardStrategy, Entered, OnBoards, RowValues, silent
from equipoise.trees.board_form import BoardForm, board_form
from equipoise.trees.board_places import BoardPlaces, board_places
from equipoise.trees.situations import Bool, Situations, SituationStrategy
from equipoise.trees.treeplex import Float


class Asked:
    """Two players of poker who are asked for all hands at a decision."""

    def __init__(self, tree: BettingTree, strategies: tuple[SituationStrategy, SituationStrategy]) -> None:
        self.tree = tree
        self._strategies = strategies  # by seat

    def at(self, state: BettingState, board: Cards, hands: Sequence[Cards]) -> tuple[Float, Bool]:
        """Return what the acting player does with each hand, [hands, actions], and where it has anything to go by."""
        tree, hole = self.tree, self.tree.game.hole_cards
        node = tree.node_of_text[state.text]
        cards = np.zeros((len(hands), hole + sum(tree.game.board_cards)), np.int8)
        cards[:, :hole] = hands
        cards[:, hole : hole + len(board)] = board
        asked = Situations(np.full(len(hands), node), cards)
        strategy = self._strategies[state.player]
        return strategy.probabilities_at(asked)[:, tree.legal[node]], strategy.reached_at(asked)

    def played(self, state: BettingState, board: Cards, hands: Sequence[Cards]) -> Float:
        """Return what the acting player does with each hand, [hands, actions]."""
        return self.at(state, board, hands)[0]


class BoardAppraiser:
    """Appraises infosets of a game over boards."""

    exact = True
    method = "exact"

    def __init__(
        self,
        game: PokerGame,
        player: BoardPlayer,
        opponent: BoardPlayer,
        *,
        form: BoardForm | None = None,
        threads: int = 1,
        on_boards: OnBoards = silent,
    ) -> None:
        self.game = game
        self._form = board_form(game) if form is None else form
        self._evaluator = BoardEvaluator(self._form, threads=threads, on_boards=on_boards)
        own, theirs = player.strategy_over(self._form), opponent.strategy_over(self._form)
        self._strategies: tuple[tuple[BoardStrategy, BoardStrategy], ...] = ((own, theirs), (theirs, own))
        tree = self._places.tree
        asked, other = player.strategy_on(tree), opponent.strategy_on(tree)
        self._asked = Asked(tree, (asked, other)), Asked(tree, (other, asked))
        self._starts: dict[int, RowValues] = {}

    @cached_property
    def _places(self) -> BoardPlaces:
        return board_places(self._form)

    @cached_property
    def _entered(self) -> tuple[Entered, Entered]:
        """Return the first round, by the seat that is valued."""
        first, second = (self._evaluator.enter(*pair) for pair in self._strategies)
        return first, second

    def _start(self, player: int) -> RowValues:
        if player not in self._starts:
            pair, entered = self._strategies[player], self._entered[player]
            self._starts[player] = self._evaluator.start_values(player, pair, entered)
        return self._starts[player]

    def seconds_to_prepare(self, clock: Callable[[], float]) -> float:
        """Return about how long going through all boards will take, from how long a few of them do."""
        if len(self._starts) == 2:
            return 0.0
        pair, entered = self._strategies[0], self._entered[0]
        self._evaluator.board_values(0, pair, entered, 0)  # kernels are compiled here
        started = clock()
        for board in range(1, 3):
            self._evaluator.board_values(0, pair, entered, board % self._form.num_boards)
        return (clock() - started) / 2 * self._form.num_boards * (2 - len(self._starts))

    def start_value(self, player: int) -> float:
        chance = self._form.starting_hands.chance
        return float(chance @ self._start(player).played[: len(chance)])

    def at(self, key: str) -> InfosetValues:
        infoset = read_infoset(self.game, key)
        found = self.line(infoset.betting.text, self.game.deck.text(infoset.board))
        return found.infoset(found.place(infoset.key))

    def ranges(self, betting: str, board: str = "") -> tuple[Float, Float]:
        came_to, cards = read_line(self.game, betting, board)
        played = self._asked[came_to.player].played
        first, second = (range_at(self.game, player, came_to, cards, played) for player in range(2))
        return first, second

    def line(self, betting: str, board: str = "") -> Appraisal:
        game, form = self.game, self._form
        came_to, cards = read_line(game, betting, board)
        player, second = came_to.player, came_to.round == 1
        ranges = self.ranges(betting, board)
        live = live_hands(game, cards)
        hands = [game.hands[place] for place in live]
        seen = np.array([(*hand, *cards) for hand in hands], np.int8)
        canonical, classes = self._places.classes(seen, second_round=second)
        if second:
            pair, entered = self._strategies[player], self._entered[player]
            rows = self._evaluator.board_values(player, pair, entered, int(canonical[0]))
        else:
            rows = self._start(player)
        betting_round, node = form.node_of[came_to.text]
        trees = form.betting[betting_round]
        first, actions = int(trees.node_row[node]), int(trees.node_actions[node])
        width = len(rows.played) // int(trees.rows[player])
        others = comb(game.deck.size - HOLE_CARDS - len(cards), HOLE_CARDS)
        # Rows are means over the opponent's hands, each as often as it comes here.
        weight = compatible_reach(game, ranges[1 - player])[live] / others
        with np.errstate(invalid="ignore", divide="ignore"):
            known = np.where(weight > 0.0, weight, np.nan)[:, None]
            played, best = (
                each[first * width : (first + actions) * width].reshape(actions, width).T[classes] / known
                for each in rows
            )
        probabilities, reached = self._asked[player].at(came_to, cards, hands)
        return Appraisal(
            player=player,
            keys=[game.infoset_text(hand, cards, came_to.text) for hand in hands],
            actions=self._places.tree.action_names(self._places.tree.node_of_text[came_to.text]),
            probabilities=probabilities,
            reached=reached,
            own_reach=ranges[player][live],
            others_reach=weight * deal_chance(game, cards),
            values=played,
            best_values=best,
            errors=None,
            believe=lambda place: belief(game, ranges[1 - player], hands[place]),
            paid=float(came_to.spent[player]),
            method=self.method,
        )


def deal_chance(game: PokerGame, board: Cards) -> float:
    """Return the chance that a hand and a board are dealt, as far as the hand's owner sees."""
    chance = 1.0 / comb(game.deck.size, game.hole_cards)
    left, dealt = game.deck.size - game.hole_cards, 0
    for count in game.board_cards:
        if dealt >= len(board):
            break
        chance /= comb(left - dealt, count)
        dealt += count
    return chance
