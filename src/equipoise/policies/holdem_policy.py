"""Policies of hold'em: queried by infoset key like any other, but never listed as a whole.

Flop hold'em has 1.8 billion infosets, limit hold'em over 10^14; any of them can be looked up (``AhKd/2c7d9s|crc/r``), a
betting line can be seen as a 13 x 13 grid of starting hands, and the part before the flop, or beside one board, becomes
a :class:`Policy`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from equipoise.errors import EquipoiseError, TooLarge
from equipoise.games.betting import BettingState
from equipoise.games.notation import ordered_board, read_betting, read_cards, read_infoset
from equipoise.games.poker import Cards, PokerGame
from equipoise.games.sizes import num_infosets
from equipoise.policies.policy import ActionProbabilities, Policy, came_from
from equipoise.trees.betting_tree import BettingTree, betting_tree
from equipoise.trees.situations import Bool, Situations, SituationStrategy
from equipoise.trees.treeplex import Float

MOST_LISTED = 5_000_000  # infosets of a part that becomes a policy: each has a key


class HoldemPolicy:
    """Action probabilities of a poker game, by infosets that are asked for."""

    strategy: SituationStrategy
    origin: Mapping[str, Any]

    @property
    def poker(self) -> PokerGame:
        """Return the game."""
        raise NotImplementedError

    @property
    def game(self) -> str:
        """Return the game's text."""
        return self.poker.name

    @cached_property
    def _tree(self) -> BettingTree:
        return betting_tree(self.poker)

    def __getitem__(self, infoset_key: str) -> ActionProbabilities:
        return self.action_probabilities(infoset_key)

    def __contains__(self, key: object) -> bool:
        try:
            return isinstance(key, str) and bool(read_infoset(self.poker, key))
        except EquipoiseError:
            return False

    def __len__(self) -> int:
        return num_infosets(self.poker)

    def __iter__(self) -> Iterator[str]:
        raise TooLarge(
            f"{self.game} has too many infosets to go through: listed() is the part before the flop, listed('2c7d9s') "
            "the play on a board"
        )

    def items(self) -> Iterator[tuple[str, ActionProbabilities]]:
        """Refuse, as iteration does: there are too many infosets."""
        return ((key, self[key]) for key in self)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.game}{came_from(self.origin)}>"

    def action_probabilities(self, infoset_key: str) -> ActionProbabilities:
        """Return the probability of each action at an infoset; its ``reached`` tells gaps in the average."""
        infoset = read_infoset(self.poker, infoset_key)
        names, numbers, reached = self._at(infoset.betting, infoset.board, [infoset.hand])
        return ActionProbabilities(names, numbers[0], reached=bool(reached[0]))

    def save(self, path: str | Path) -> None:
        """Refuse: what is saved of hold'em is its run."""
        raise TooLarge(
            f"{path} is not written: a policy of {self.game} is kept in its run directory (solve with out=...); "
            "listed(board).save(path) saves the play on one board, listed().save(path) the play before the flop"
        )

    def to_open_spiel(self) -> Any:
        """Refuse: OpenSpiel would list all infosets."""
        raise TooLarge(f"{self.game} has too many infosets for an OpenSpiel TabularPolicy")

    def _at(self, betting: BettingState, board: Cards, hands: Sequence[Cards]) -> tuple[tuple[str, ...], Float, Bool]:
        """Return the action names at a public state, probabilities [hands, actions], and which hands are reached."""
        tree = self._tree
        node, hole = tree.node_of_text[betting.text], self.poker.hole_cards
        cards = np.zeros((len(hands), hole + sum(self.poker.board_cards)), np.int8)
        cards[:, :hole] = hands
        cards[:, hole : hole + len(board)] = board
        asked = Situations(np.full(len(hands), node), cards)
        found = self.strategy.probabilities_at(asked)
        return tree.action_names(node), found[:, tree.legal[node]], self.strategy.reached_at(asked)

    def line(self, text: str, board: str = "") -> "Line":
        """Return what is played at a betting line, as in ``crc/r`` (with a board) or ``cr``, by starting hands."""
        betting = read_betting(self.poker.betting, text)
        if betting.finished:
            raise EquipoiseError(f"line '{text}': the hand is over there: nobody has to act")
        cards = ordered_board(self.poker, read_cards(self.poker.deck, board))
        wanted = self.poker.board_size(betting.round)
        if len(cards) != wanted:
            need = f"give --board with {wanted} cards" if wanted else "it comes before the board: leave --board out"
            raise EquipoiseError(f"line '{text}' {'needs a board' if wanted else 'has no board'}; {need}")
        return self._line(betting, cards)

    def _line(self, betting: BettingState, board: Cards) -> "Line":
        hands = [hand for hand in self.poker.hands if not set(hand) & set(board)]
        names, numbers, reached = self._at(betting, board, hands)
        return Line(
            game=self.poker,
            betting=betting,
            board=board,
            hands=hands,
            actions=names,
            probabilities=numbers,
            reached=reached,
        )

    def listed(self, board: str = "") -> Policy:
        """Return the part before the board, or the part beside one board, as a policy with all its infosets."""
        game = self.poker
        cards = ordered_board(game, read_cards(game.deck, board))
        sizes = [game.board_size(betting_round) for betting_round in range(len(game.board_cards))]
        if len(cards) not in sizes:
            raise EquipoiseError(f"a board of {game.name} has {' or '.join(map(str, sizes[1:]))} cards, not {board}")
        states = [
            state for state in self._tree.states if not state.finished and game.board_size(state.round) == len(cards)
        ]
        hands = len(game.hands)
        if len(states) * hands > MOST_LISTED:
            raise EquipoiseError(
                f"{game.name} has {len(states):,} decisions beside {board}, each for {hands:,} hands: too many to list;"
                " `equipoise show` has them by --line and --infoset"
            )
        keys: list[str] = []
        players: list[int] = []
        names: list[tuple[str, ...]] = []
        probabilities: list[Float] = []
        reached: list[Bool] = []
        for state in states:
            line = self._line(state, cards)
            keys += [game.infoset_text(hand, line.board, state.text) for hand in line.hands]
            players += [state.player] * len(line.hands)
            names += [line.actions] * len(line.hands)
            probabilities.append(line.probabilities.ravel())
            reached.append(line.reached)
        return Policy(
            game=game.name,
            keys=keys,
            players=players,
            action_names=names,
            first_action=np.concatenate([[0], np.cumsum([len(actions) for actions in names])]),
            probabilities=np.concatenate(probabilities),
            origin=self.origin,
            reached=np.concatenate(reached),
        )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class LargePolicy(HoldemPolicy):
    """A policy of a game that nothing can evaluate: limit or no-limit hold'em to the river."""

    rules: PokerGame
    strategy: SituationStrategy
    origin: Mapping[str, Any] = field(default_factory=dict)

    @property
    def poker(self) -> PokerGame:
        return self.rules


@dataclass(frozen=True, kw_only=True)
class Line:
    """What is played at one public state, by private hand."""

    game: PokerGame
    betting: BettingState
    board: Cards
    hands: Sequence[Cards]
    actions: tuple[str, ...]
    probabilities: Float  # [hands, actions]
    reached: Bool  # [hands] false where the average has no weight, and uniform play fills the gap

    def title(self) -> str:
        """Return the public state in words."""
        beside = f" beside {self.game.deck.text(self.board)}" if self.board else ""
        before = f"after '{self.betting.text}'" if self.betting.text else "first to act"
        return f"player {self.betting.player} {before}{beside}"

    def grid(self) -> Float:
        """Return [rank, rank, action]: means over the hands of each cell; suited above the diagonal, aces first.

        Hands that the average never reached do not count in a cell that has others. Cells without a hand (the board has
        the cards) are NaN.
        """
        # Once over the hands that were reached, once over all for the cells that have none of these.
        means = self._cell_means(self.reached)
        return np.where(self.unreached()[:, :, None], self._cell_means(np.ones_like(self.reached)), means)

    def unreached(self) -> Bool:
        """Return [rank, rank]: cells with hands, none of which the average reached."""
        some, reached = (self._cell_means(which)[:, :, 0] for which in (np.ones_like(self.reached), self.reached))
        return np.isnan(reached) & ~np.isnan(some)

    def _cell_means(self, which: Bool) -> Float:
        deck = self.game.deck
        ranks = len(deck.ranks)
        totals, counts = np.zeros((ranks, ranks, len(self.actions))), np.zeros((ranks, ranks, 1))
        for (low, high), numbers, counted in zip(self.hands, self.probabilities, which, strict=True):
            first, second = ranks - 1 - deck.rank(high), ranks - 1 - deck.rank(low)
            suited = low % len(deck.suits) == high % len(deck.suits)
            cell = (first, second) if suited else (second, first)
            totals[cell] += numbers * counted
            counts[cell] += counted
        with np.errstate(invalid="ignore"):
            means: Float = totals / counts
        return means

    def cell_names(self) -> list[list[str]]:
        """Return the cells' names, such as ``AKs``, ``AA`` and ``AKo``."""
        ranks = self.game.deck.ranks[::-1]
        return [
            [a + b + "s" if row < column else a + a if row == column else b + a + "o" for column, b in enumerate(ranks)]
            for row, a in enumerate(ranks)
        ]
