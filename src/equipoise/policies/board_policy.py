"""A policy over canonical boards: queried by infoset key like any other, but never listed as a whole.

Flop hold'em has 1.8 billion infosets; any of them can be looked up (``AhKd/2c7d9s|crc/r``), a betting line can be seen
as a 13 x 13 grid of starting hands, and the part before the flop, or beside one board, becomes a :class:`Policy`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from equipoise.errors import EquipoiseError
from equipoise.games.betting import BettingState
from equipoise.games.notation import read_betting, read_cards, read_infoset
from equipoise.games.poker import Cards, PokerGame
from equipoise.policies.policy import Policy
from equipoise.trees.board_evaluator import BoardStrategy
from equipoise.trees.board_form import BoardForm, entries_before
from equipoise.trees.treeplex import Float

KEPT_BOARDS = 8


@dataclass(frozen=True, kw_only=True, eq=False)
class BoardPolicy:
    """Action probabilities of a game over boards."""

    form: BoardForm
    strategy: BoardStrategy
    origin: Mapping[str, Any] = field(default_factory=dict)

    @property
    def game(self) -> str:
        """Return the game's text."""
        return self.form.game.name

    def action_probabilities(self, infoset_key: str) -> dict[str, float]:
        """Return the probability of each action at an infoset."""
        infoset = read_infoset(self.form.game, infoset_key)
        names, numbers = self._at(infoset.betting, infoset.board, [infoset.hand])
        return dict(zip(names, numbers[0].tolist(), strict=True))

    def _at(self, betting: BettingState, board: Cards, hands: Sequence[Cards]) -> tuple[tuple[str, ...], Float]:
        """Return the action names at a public state, and the probabilities [hands, actions]."""
        form = self.form
        betting_round, node = form.node_of[betting.text]
        trees = form.betting[betting_round]
        if betting_round == 0:
            block, width = self._start, form.num_starting_classes
            classes = [form.cards.start_index(hand) for hand in hands]
        else:
            located = [form.cards.locate(hand, board) for hand in hands]
            number = located[0][0]
            block = self._beside(number)
            width = int(np.diff(form.pairs.first_pair[number : number + 2])[0])
            classes = [own for _, own in located]
        entry = int(entries_before(trees)[trees.node_player[node]] + trees.node_row[node] - trees.roots)
        rows = block[entry * width : (entry + int(trees.node_actions[node])) * width].reshape(-1, width)
        return form.action_names(betting_round, node), rows[:, classes].T

    @cached_property
    def _start(self) -> Float:
        out = np.empty(self.form.num_start_entries)
        self.strategy.write_start(out)
        return out

    @cached_property
    def _recent(self) -> dict[int, Float]:
        return {}

    def _beside(self, board: int) -> Float:
        """Return the strategy beside a canonical board; the last few are kept, for queries that stay there."""
        if board not in self._recent:
            if len(self._recent) == KEPT_BOARDS:
                self._recent.pop(next(iter(self._recent)))
            block = self.form.block(board)
            out = np.empty(block.stop - block.start)
            self.strategy.write_boards(board, board + 1, out)
            self._recent[board] = out
        return self._recent[board]

    def line(self, text: str, board: str = "") -> "Line":
        """Return what is played at a betting line, as in ``crc/r`` (with a board) or ``cr``, by starting hands."""
        game = self.form.game
        betting, cards = read_betting(game.betting, text), read_cards(game.deck, board)
        if betting.finished:
            raise EquipoiseError(f"line '{text}': the hand is over there: nobody has to act")
        wanted = game.board_size(betting.round)
        if len(cards) != wanted:
            need = f"give --board with {wanted} cards" if wanted else "it comes before the board: leave --board out"
            raise EquipoiseError(f"line '{text}' {'needs a board' if wanted else 'has no board'}; {need}")
        hands = [hand for hand in game.hands if not set(hand) & set(cards)]
        names, probabilities = self._at(betting, cards, hands)
        return Line(game=game, betting=betting, board=cards, hands=hands, actions=names, probabilities=probabilities)

    def listed(self, board: str = "") -> Policy:
        """Return the part before the board, or the part beside one board, as a policy with all its infosets."""
        game, form = self.form.game, self.form
        betting_round = 1 if board else 0
        keys: list[str] = []
        players: list[int] = []
        names: list[tuple[str, ...]] = []
        probabilities: list[Float] = []
        for state in form.states[betting_round]:
            line = self.line(state.text, board)
            keys += [game.infoset_text(hand, tuple(sorted(line.board)), state.text) for hand in line.hands]
            players += [state.player] * len(line.hands)
            names += [line.actions] * len(line.hands)
            probabilities.append(line.probabilities.ravel())
        return Policy(
            game=game.name,
            keys=keys,
            players=players,
            action_names=names,
            first_action=np.concatenate([[0], np.cumsum([len(actions) for actions in names])]),
            probabilities=np.concatenate(probabilities),
            origin=self.origin,
        )


@dataclass(frozen=True, kw_only=True)
class Line:
    """What is played at one public state, by private hand."""

    game: PokerGame
    betting: BettingState
    board: Cards
    hands: Sequence[Cards]
    actions: tuple[str, ...]
    probabilities: Float  # [hands, actions]

    def title(self) -> str:
        """Return the public state in words."""
        beside = f" beside {self.game.deck.text(self.board)}" if self.board else ""
        before = f"after '{self.betting.text}'" if self.betting.text else "first to act"
        return f"player {self.betting.player} {before}{beside}"

    def grid(self) -> Float:
        """Return [rank, rank, action]: means over the hands of each cell; suited above the diagonal, aces first.

        Cells without a hand (the board has the cards) are NaN.
        """
        deck = self.game.deck
        ranks = len(deck.ranks)
        totals, counts = np.zeros((ranks, ranks, len(self.actions))), np.zeros((ranks, ranks, 1))
        for (low, high), numbers in zip(self.hands, self.probabilities, strict=True):
            first, second = ranks - 1 - deck.rank(high), ranks - 1 - deck.rank(low)
            suited = low % len(deck.suits) == high % len(deck.suits)
            cell = (first, second) if suited else (second, first)
            totals[cell] += numbers
            counts[cell] += 1
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
