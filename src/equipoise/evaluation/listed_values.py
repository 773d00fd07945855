"""Values of actions in games whose infosets are listed: exact, from the sequence form.

For the infosets I and actions a of each player, in its own units:

1. the gradient against the opponent's plan, swept up by the strategy, is w(I) Q(I, a); swept up by best actions, the
   same for a best response (``Evaluator.action_values``);
2. w(I), the reach of chance and the opponent, is the counterfactual value where every end pays 1 (``LuckCorrector``).

In games of several rounds that forget each other (Bluff), reach is that within a round.
"""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from equipoise.errors import UnknownInfoset, nearest
from equipoise.evaluation.aivat import LuckCorrector, histories_paying_one, public_paying_one
from equipoise.evaluation.appraisal import Appraisal, Belief, InfosetValues
from equipoise.evaluation.lines import live_hands, range_at, read_line
from equipoise.evaluation.players import ListedPlayer
from equipoise.games import Game
from equipoise.games.betting import BettingState
from equipoise.games.game import pick
from equipoise.games.notation import read_infoset
from equipoise.games.poker import Cards, PokerGame
from equipoise.trees.best_response import Evaluator, Strategies
from equipoise.trees.compile import build_game_tree, build_public_tree, has_public_tree
from equipoise.trees.game_tree import GameTree
from equipoise.trees.public_tree import PublicTree, private_widths, sequence_vectors, stage_map, vector_form
from equipoise.trees.sequence_form import sequence_form
from equipoise.trees.treeplex import Float, Int64, write_plan

MOST_SUGGESTED = 20_000  # infosets among which the nearest to a wrong key is looked for


class _Side(NamedTuple):
    """A player's infosets and sequences, with the opponent's strategy that they are valued against."""

    pair: Strategies
    weighted: Float  # [sequences] w(I) Q(I, a)
    best: Float  # [sequences] the same for a best response
    others_reach: Float  # [infosets] w(I)
    own_reach: Float  # [infosets]
    opponent_plan: Float
    start: float  # the value of the game to the player


class ListedAppraiser:
    """Appraises infosets of a listed game; all of them are valued when it is made."""

    exact = True

    def __init__(
        self,
        game: Game,
        player: ListedPlayer,
        opponent: ListedPlayer,
        *,
        is_reached: Callable[[str], bool] = lambda key: True,
    ) -> None:
        self.game = game
        self._public = build_public_tree(game) if has_public_tree(game) else None
        self._tree = build_game_tree(game) if self._public is None else None
        if self._public is not None:
            self._form, pays_one = vector_form(self._public), public_paying_one(self._public)
        elif self._tree is not None:
            self._form, pays_one = sequence_form(self._tree), histories_paying_one(self._tree)
        self.method = "exact"
        self._is_reached = is_reached  # whether the player's average has weight at an infoset
        own, theirs = player.strategies(self._form), opponent.strategies(self._form)
        corrector, evaluator = LuckCorrector(self._form, pays_one), Evaluator(self._form)
        self._sides = tuple(
            self._side(seat, (own[0], theirs[1]) if seat == 0 else (theirs[0], own[1]), corrector, evaluator)
            for seat in range(2)
        )

    def _side(self, seat: int, pair: Strategies, corrector: LuckCorrector, evaluator: Evaluator) -> _Side:
        plans = []
        for plex, strategy in zip(self._form.treeplexes, pair, strict=True):
            plan = np.empty(plex.num_sequences)
            write_plan(plex, strategy, plan)
            plans.append(plan)
        value = evaluator.value(pair)
        return _Side(
            pair=pair,
            weighted=evaluator.action_values(seat, pair),
            best=evaluator.action_values(seat, pair, respond=True),
            others_reach=corrector.reach(seat, pair[1 - seat]),
            own_reach=plans[seat][self._form.treeplexes[seat].parent_sequence],
            opponent_plan=plans[1 - seat],
            start=value if seat == 0 else -value,
        )

    def start_value(self, player: int) -> float:
        return self._sides[player].start

    @cached_property
    def _places(self) -> dict[str, tuple[int, int]]:
        """Return the player and the place in its treeplex of each infoset."""
        return {key: (player, place) for player in range(2) for place, key in enumerate(self._form.keys(player))}

    @property
    def keys(self) -> Sequence[str]:
        """Return the keys of all infosets, player 0's first."""
        return list(self._places)

    @cached_property
    def _sequences(self) -> tuple[tuple[Int64, Int64], tuple[Int64, Int64]]:
        first, second = (plex.sequence_table() for plex in self._form.treeplexes)
        return first, second

    def at(self, key: str) -> InfosetValues:
        self.find(key)  # says what is wrong with it
        paid = 0.0
        if isinstance(self.game, PokerGame):
            betting = read_infoset(self.game, key).betting
            paid = float(betting.spent[betting.player])
        return self.among([key], paid).infoset(0)

    def find(self, key: str) -> tuple[int, int]:
        """Return the player and the place in its treeplex of an infoset, or say that there is none."""
        found = self._places.get(key)
        if found is None:
            hint = nearest(key, self._places) if len(self._places) <= MOST_SUGGESTED else ""
            raise UnknownInfoset(f"{self.game.address} has no infoset '{key}'{hint}")
        return found

    def among(self, keys: Sequence[str], paid: float = 0.0) -> Appraisal:
        """Return what is known of some infosets of one player that have the same actions."""
        places = [self.find(key) for key in keys]
        player = places[0][0]
        side, (sequences, first_action) = self._sides[player], self._sequences[player]
        which = np.array([place for _, place in places], np.int64)
        actions = int(first_action[which[0] + 1] - first_action[which[0]])
        rows = sequences[first_action[which][:, None] + np.arange(actions)]
        reach = side.others_reach[which]
        with np.errstate(invalid="ignore", divide="ignore"):
            known = np.where(reach > 0.0, reach, np.nan)[:, None]
            values, best = side.weighted[rows] / known, side.best[rows] / known
        return Appraisal(
            player=player,
            keys=keys,
            actions=self._form.labels.action_names(int(self._form.infosets[player][which[0]])),
            probabilities=side.pair[player][rows],
            reached=np.array([self._is_reached(key) for key in keys]),
            own_reach=side.own_reach[which],
            others_reach=reach,
            values=values,
            best_values=best,
            errors=None,
            believe=lambda place: self._belief(player, int(which[place])),
            paid=paid,
            method=self.method,
        )

    def table(self, player: int) -> dict[str, Float]:
        """Return numbers of all of a player's infosets, in the order of :attr:`keys`: reach, value, and what is lost.

        *gain* is what the first deviation to the best action gains where the infoset is met, times its reach.
        """
        side, (sequences, first_action) = self._sides[player], self._sequences[player]
        if not len(sequences):
            return {name: np.zeros(0) for name in ("reach", "own_reach", "value", "gain")}
        strategy, reach = side.pair[player][sequences], side.others_reach
        played = np.add.reduceat(strategy * side.weighted[sequences], first_action[:-1])
        most = np.maximum.reduceat(side.weighted[sequences], first_action[:-1])
        with np.errstate(invalid="ignore", divide="ignore"):
            value = np.where(reach > 0.0, played / reach, np.nan)
        return {
            "reach": side.own_reach * reach,
            "own_reach": side.own_reach,
            "value": value,
            "gain": np.maximum(most - played, 0.0) * side.own_reach,
        }

    def line(self, betting: str, board: str = "") -> Appraisal:
        """Return what is known of all hands of a poker game at a betting line."""
        came_to, cards = self._read_line(betting, board)
        game = self._poker
        keys = [game.infoset_text(game.hands[k], cards, came_to.text) for k in live_hands(game, cards)]
        return self.among(keys, paid=float(came_to.spent[came_to.player]))

    def ranges(self, betting: str, board: str = "") -> tuple[Float, Float]:
        """Return both players' own reach of a line, for each of ``game.hands``."""
        came_to, cards = self._read_line(betting, board)
        acting = came_to.player
        pair = self._sides[acting].pair

        def played(state: BettingState, board: Cards, hands: Sequence[Cards]) -> Float:
            found = [self.find(self._poker.infoset_text(hand, board, state.text)) for hand in hands]
            sequences, first_action = self._sequences[state.player]
            which = np.array([place for _, place in found], np.int64)
            actions = int(first_action[which[0] + 1] - first_action[which[0]])
            rows: Float = pair[state.player][sequences[first_action[which][:, None] + np.arange(actions)]]
            return rows

        first, second = (range_at(self._poker, player, came_to, cards, played) for player in range(2))
        return first, second

    @property
    def _poker(self) -> PokerGame:
        assert isinstance(self.game, PokerGame), "only poker has betting lines"
        return self.game

    def _read_line(self, betting: str, board: str) -> tuple[BettingState, Cards]:
        return read_line(self._poker, betting, board)

    def likeliest_history(self, key: str) -> list[int] | None:
        """Return the likeliest history of an infoset, as places among the actions on the way; None: it is not listed.

        Where chance and the opponent never lead there, it is the first one.
        """
        return self._history(key, lambda probabilities: int(probabilities.argmax()))

    def drawn_history(self, key: str, draw: float) -> list[int] | None:
        """Return a history of an infoset by a draw from [0, 1), each as likely as it is believed to be."""
        return self._history(
            key, lambda probabilities: pick(probabilities.tolist(), draw) if probabilities.any() else 0
        )

    def _history(self, key: str, choose: Callable[[Float], int]) -> list[int] | None:
        tree = self._tree
        if tree is None:
            return None
        player, place = self.find(key)
        nodes = np.flatnonzero(tree.infoset == int(self._form.infosets[player][place]))
        return tree.places_on_way(int(nodes[choose(self._belief(player, place).probabilities)]))

    def _belief(self, player: int, place: int) -> Belief:
        number = int(self._form.infosets[player][place])
        if self._public is not None:
            return self._belief_in_hands(self._public, player, place)
        assert self._tree is not None
        return self._belief_in_histories(self._tree, player, number)

    def _belief_in_hands(self, tree: PublicTree, player: int, place: int) -> Belief:
        """Return the posterior of the opponent's hands: the deal's probability x its plan at its last decision."""
        nodes = tree.deciding[player]
        widths = private_widths(tree, player, nodes)
        ends = np.cumsum(widths)
        which = int(np.searchsorted(ends, place, side="right"))
        node, entry = int(nodes[which]), place - int(ends[which] - widths[which])
        stage, opponent = tree.stages[tree.stage[node]], 1 - player
        hands, others = stage.probability.shape[1 + player], stage.probability.shape[1 + opponent]
        group, hand = divmod(entry, hands)
        deal = stage.probability[group, hand] if player == 0 else stage.probability[group, :, hand]
        own = np.arange(group * others, (group + 1) * others)
        through = int(tree.last_decisions[0][opponent, node])
        plan = np.ones(others)
        if through >= 0:
            before = int(tree.stage[tree.parent[through]])
            entries = stage_map(tree, opponent, int(tree.stage[node]), before)[own]
            plan = self._sides[player].opponent_plan[self._vectors[opponent][through] + entries]
        labels = [stage.labels[opponent][k].partition("/")[0] for k in own]  # poker's have the board after a slash
        return _posterior(labels, deal * plan)

    @cached_property
    def _vectors(self) -> tuple[Int64, Int64]:
        tree = self._public
        assert tree is not None
        first, second = (sequence_vectors(tree, p, self._form.treeplexes[p]) for p in range(2))
        return first, second

    def _belief_in_histories(self, tree: GameTree, player: int, number: int) -> Belief:
        """Return the posterior of the infoset's histories."""
        nodes = np.flatnonzero(tree.infoset == number)
        weights, walked = np.ones(len(nodes)), nodes.copy()
        strategy = self._by_node[1 - player]
        while (walked > 0).any():
            above = np.maximum(tree.parent[walked], 0)
            up = walked > 0
            chance, theirs = tree.player[above] == -1, tree.player[above] == 1 - player
            weights *= np.where(up & chance, tree.probability[walked], 1.0)
            weights *= np.where(up & theirs, strategy[walked], 1.0)
            walked = np.where(up, above, 0)
        return _posterior(_Ways(tree, nodes), weights)

    @cached_property
    def _by_node(self) -> tuple[Float, Float]:
        """Return, by player and for each node that its action leads to, the probability of that action."""
        tree, both = self._tree, []
        assert tree is not None
        above = np.maximum(tree.parent, 0)
        for player in range(2):
            plex, numbers = self._form.treeplexes[player], self._form.infosets[player]
            first, stride = (np.zeros(tree.num_infosets, np.int64) for _ in range(2))
            first[numbers], stride[numbers] = plex.first_sequences(), plex.strides()
            infoset = tree.infoset[above]
            action = np.arange(tree.num_nodes) - tree.first_child[above]
            mine = (tree.player[above] == player) & (tree.parent >= 0)
            sequence = np.where(mine, first[infoset] + action * stride[infoset], 0)
            # The player is met as the opponent: by the strategy that the other side is valued against.
            both.append(np.where(mine, self._sides[1 - player].pair[player][sequence], 1.0))
        return both[0], both[1]


class _Ways(Sequence[str]):
    """Histories in words, made when they are asked for: there may be thousands."""

    def __init__(self, tree: GameTree, nodes: Int64) -> None:
        self._tree, self._nodes = tree, nodes

    def __len__(self) -> int:
        return len(self._nodes)

    def __getitem__(self, place: Any) -> Any:
        return ", ".join(self._tree.way_to(int(self._nodes[place])))


def _posterior(names: Sequence[str], weights: Float) -> Belief:
    total = weights.sum()
    return Belief(names, weights / total if total > 0.0 else weights)
