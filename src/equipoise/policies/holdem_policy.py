"""Policies of hold'em: queried by infoset key like any other, but never listed as a whole.

Flop hold'em has 1.8 billion infosets, limit hold'em over 10^14; any of them can be looked up (``AhKd/2c7d9s|crc/r``), a
betting line can be seen as a 13 x 13 grid of starting hands, and play before the flop, or on one board, becomes a
:class:`Policy`.
"""

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from equipoise.errors import EquipoiseError, InvalidNotation, NotMeasurable, NotSupported, TooLarge
from equipoise.games import Game
from equipoise.games.betting import BettingState, legal_actions
from equipoise.games.notation import (
    Spoken,
    betting_in_words,
    betting_steps,
    ordered_board,
    read_betting,
    read_cards,
    read_infoset,
)
from equipoise.games.poker import Cards, PokerGame
from equipoise.games.sizes import num_infosets
from equipoise.html import grid
from equipoise.policies.files import HOLDEM, Parts, policy_header, write_parts
from equipoise.policies.policy import ActionProbabilities, Policy, came_from
from equipoise.trees.best_response import BestResponses
from equipoise.trees.betting_tree import BettingTree, betting_tree
from equipoise.trees.board_evaluator import BoardEvaluator, OnBoards
from equipoise.trees.board_form import BoardForm, UnmeasuredForm, board_form, has_board_form
from equipoise.trees.fingerprint import described
from equipoise.trees.situations import Bool, KeptStrategy, Situations
from equipoise.trees.treeplex import Float

MOST_LISTED = 5_000_000  # infosets of a part that becomes a policy: each has a key


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class HoldemPolicy:
    """Action probabilities of a poker game, by infosets that are asked for."""

    rules: PokerGame
    strategy: KeptStrategy
    origin: Mapping[str, Any] = field(default_factory=dict)

    @property
    def game(self) -> str:
        """Return the game's text."""
        return self.rules.address

    @cached_property
    def _tree(self) -> BettingTree:
        return betting_tree(self.rules)

    def __getitem__(self, infoset_key: str) -> ActionProbabilities:
        return self.action_probabilities(infoset_key)

    def __contains__(self, key: object) -> bool:
        try:
            return isinstance(key, str) and bool(read_infoset(self.rules, key))
        except EquipoiseError:
            return False

    def __len__(self) -> int:
        return num_infosets(self.rules)

    def __iter__(self) -> Iterator[str]:
        raise TooLarge(
            f"{self.game} has too many infosets to go through: listed() is the part before the flop, listed('2c7d9s') "
            "the play on a board"
        )

    def items(self) -> Iterator[tuple[str, ActionProbabilities]]:
        """Refuse, as iteration does: there are too many infosets."""
        return ((key, self[key]) for key in self)

    def __repr__(self) -> str:
        return f"<HoldemPolicy of {self.game}{came_from(self.origin)}>"

    def action_probabilities(self, infoset_key: str) -> ActionProbabilities:
        """Return the probability of each action at an infoset; its ``reached`` tells gaps in the average."""
        infoset = read_infoset(self.rules, infoset_key)
        names, numbers, reached = self._at(infoset.betting, infoset.board, [infoset.hand])
        return ActionProbabilities(names, numbers[0], reached=bool(reached[0]))

    @cached_property
    def fingerprint(self) -> str:
        """Return the fingerprint of the game's rules."""
        return described(self.rules)

    def parts(self) -> Parts:
        """Return what the policy can be opened from."""
        header, arrays = self.strategy.parts()
        return Parts(policy_header(HOLDEM, self.game, self.fingerprint, self.origin, strategy=header), arrays)

    def save(self, path: str | Path) -> None:
        """Write the policy to a file, all of it or nothing: networks, or the sums that it is proportional to."""
        write_parts(path, self.parts(), compressed=False)

    @cached_property
    def form(self) -> BoardForm:
        """Return the game as the exact evaluator takes it."""
        return board_form(self.rules)

    def best_responses(self, game: Game, *, threads: int, on_boards: OnBoards) -> BestResponses:
        """Return the policy's value and both best responses to it, if its game can be evaluated."""
        if not has_board_form(self.rules):
            why = UnmeasuredForm(self.rules).why
            raise NotMeasurable(f"{why}; play matches instead, such as: equipoise match RUN always-call")
        if described(game) != self.fingerprint:
            raise NotSupported(f"the policy is of {self.game}, not of {game.address}")
        evaluator = BoardEvaluator(self.form, threads=threads, on_boards=on_boards)
        return evaluator.best_responses(self.strategy.over(self.form))

    def to_open_spiel(self) -> Any:
        """Refuse: OpenSpiel would list all infosets."""
        raise TooLarge(f"{self.game} has too many infosets for an OpenSpiel TabularPolicy")

    def _at(self, betting: BettingState, board: Cards, hands: Sequence[Cards]) -> tuple[tuple[str, ...], Float, Bool]:
        """Return the action names at a public state, probabilities [hands, actions], and which hands are reached."""
        tree = self._tree
        node, hole = tree.node_of_text[betting.text], self.rules.hole_cards
        cards = np.zeros((len(hands), hole + sum(self.rules.board_cards)), np.int8)
        cards[:, :hole] = hands
        cards[:, hole : hole + len(board)] = board
        asked = Situations(np.full(len(hands), node), cards)
        found = self.strategy.probabilities_at(asked)
        return tree.action_names(node), found[:, tree.legal[node]], self.strategy.reached_at(asked)

    def line(self, text: str, board: str = "") -> "Line":
        """Return what is played at a betting line, as in ``crc/r`` (with a board) or ``cr``, by starting hands."""
        betting = read_betting(self.rules.betting, text)
        if betting.finished:
            raise InvalidNotation(f"after the line '{text}' the hand is over; nobody has to act")
        cards = read_cards(self.rules.deck, board)
        wanted = self.rules.board_size(betting.round)
        if len(cards) != wanted:
            what = f"the line '{text}'" if text else "the start of the hand"
            need = f"needs a board of {wanted} cards, not {len(cards)}" if wanted else "has no board"
            do = f"give --board {self._some_board(wanted)}" if wanted else "leave out --board, or give a longer --line"
            raise InvalidNotation(f"{what} {need}; {do}")
        dealt = ordered_board(self.rules, cards)
        line = self._line(betting, dealt)
        return replace(line, reach=self._own_reach(betting, dealt, line.hands))

    def _own_reach(self, betting: BettingState, board: Cards, hands: Sequence[Cards]) -> Float:
        """Return how much of each hand the acting player's own choices have left when some betting is reached."""
        reach = np.ones(len(hands))
        for state, action in betting_steps(self.rules.betting, betting.text):
            if state.player == betting.player:
                _, numbers, _ = self._at(state, board[: self.rules.board_size(state.round)], hands)
                reach *= numbers[:, legal_actions(self.rules.betting, state).index(action)]
        return reach

    def _repr_html_(self) -> str:
        return f"{html.escape(repr(self))}{self.line('')._repr_html_()}"

    def _some_board(self, cards: int) -> str:
        """Return a board to show how one is written."""
        deck = self.rules.deck
        return deck.text(tuple(range(0, deck.size, len(deck.suits) + 1))[:cards])

    def hand_class(self, text: str) -> str | None:
        """Return the class of starting hands that a text such as ``AKs``, ``kk`` or ``T9o`` names; None if none."""
        deck = self.rules.deck
        rank = "(" + "|".join(map(re.escape, sorted(deck.ranks, key=len, reverse=True))) + ")"
        found = re.fullmatch(f"{rank}{rank}([so]?)", text, re.IGNORECASE)
        if found is None or self.rules.hole_cards != 2 or (found[3] and found[1].lower() == found[2].lower()):
            return None
        number = {name.lower(): place for place, name in enumerate(deck.ranks)}
        high, low = sorted((found[1].lower(), found[2].lower()), key=number.__getitem__, reverse=True)
        return deck.ranks[number[high]] + deck.ranks[number[low]] + found[3].lower()

    def _line(self, betting: BettingState, board: Cards) -> "Line":
        hands = [hand for hand in self.rules.hands if not set(hand) & set(board)]
        names, numbers, reached = self._at(betting, board, hands)
        return Line(
            game=self.rules,
            betting=betting,
            board=board,
            hands=hands,
            actions=names,
            probabilities=numbers,
            reached=reached,
        )

    def listed(self, board: str = "") -> Policy:
        """Return play before the flop, or play on one board, as a policy with all its infosets."""
        game = self.rules
        given = read_cards(game.deck, board)
        sizes = [game.board_size(betting_round) for betting_round in range(len(game.board_cards))]
        if len(given) not in sizes:
            wanted = " or ".join(map(str, sizes[1:]))
            raise InvalidNotation(f"a board of {game.name} has {wanted} cards, and '{board}' has {len(given)}")
        cards = ordered_board(game, given)
        states = [
            state for state in self._tree.states if not state.finished and game.board_size(state.round) == len(cards)
        ]
        hands = len(game.hands)
        if len(states) * hands > MOST_LISTED:
            raise TooLarge(
                f"{game.name} has {len(states):,} decisions {f'on {board}' if board else 'before the flop'}, each for "
                f"{hands:,} hands: too many to list; see them by `equipoise show --line` and `--infoset`"
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
            game=game.address,
            fingerprint=self.fingerprint,
            loaded=game,
            keys=keys,
            players=players,
            action_names=names,
            first_action=np.concatenate([[0], np.cumsum([len(actions) for actions in names])]),
            probabilities=np.concatenate(probabilities),
            origin=self.origin,
            reached=np.concatenate(reached),
        )


def line_title(game: Spoken, who: str, betting: BettingState, board: Cards) -> str:
    """Return a public state in words: ``big blind to act on 2c 7d 9s after call, check``."""
    cards = " ".join(game.deck.text((card,)) for card in board)
    before = betting_in_words(game, betting.text)
    return f"{who} to act{f' on {cards}' if cards else ''}{f' after {before}' if before else ''}"


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
    reach: Float | None = None  # [hands] how much of each hand the own choices before have left; None: not asked for

    def title(self) -> str:
        """Return the public state in words."""
        return line_title(self.game, self.game.seat_name(self.betting.player), self.betting, self.board)

    def _repr_html_(self) -> str:
        return grid(self.cell_names(), self.grid(), self.weights(), self.actions, f"{self.game.name}: {self.title()}")

    def weights(self) -> Float:
        """Return [rank, rank]: how much of each cell's hands comes here, from 0 to 1; NaN where the board has them."""
        reach = np.ones(len(self.hands)) if self.reach is None else self.reach
        reach = np.where(self.reached, reach, 0.0)[:, None]
        return self._cell_means(np.ones_like(self.reached), reach)[:, :, 0]

    def board_text(self) -> str:
        """Return the board as it is written."""
        return self.game.deck.text(self.board)

    def hands_of(self, name: str) -> dict[str, ActionProbabilities]:
        """Return what each hand of a class plays, such as ``AKs``, ``AA`` or ``AK`` (suited or not), by infoset key."""
        return {
            self.game.infoset_text(self.hands[place], self.board, self.betting.text): ActionProbabilities(
                self.actions, self.probabilities[place], reached=bool(self.reached[place])
            )
            for place in self._places_of(name)
        }

    def mean_of(self, name: str) -> ActionProbabilities:
        """Return the mean over the hands of a class; those that the average never reached count if it has no others."""
        places = self._places_of(name)
        reached = [place for place in places if self.reached[place]]
        mean = self.probabilities[reached or places].mean(axis=0)
        return ActionProbabilities(self.actions, mean, reached=bool(reached))

    def _places_of(self, name: str) -> list[int]:
        deck = self.game.deck

        def in_class(low: int, high: int) -> bool:
            suited = low % len(deck.suits) == high % len(deck.suits)
            ranks = deck.ranks[deck.rank(high)] + deck.ranks[deck.rank(low)]
            return name in (ranks, ranks + ("s" if suited else "o"))

        places = [place for place, (low, high) in enumerate(self.hands) if in_class(low, high)]
        if not places:
            raise InvalidNotation(f"no hand {name} is possible on {self.board_text()}")
        return places

    def grid(self) -> Float:
        """Return [rank, rank, action]: means over the hands of each cell; suited above the diagonal, aces first.

        A hand counts as much as it comes here. Hands that the average never reached do not count in a cell that has
        others. Cells without a hand (the board has
        the cards) are NaN.
        """
        counted = self.reached if self.reach is None else self.reached * self.reach
        means = self._cell_means(counted)
        for others in (self.reached, np.ones_like(self.reached)):  # for the cells that have none of these
            means = np.where(np.isnan(means), self._cell_means(others), means)
        return means

    def unreached(self) -> Bool:
        """Return [rank, rank]: cells with hands, none of which the average reached."""
        some, reached = (self._cell_means(which)[:, :, 0] for which in (np.ones_like(self.reached), self.reached))
        return np.isnan(reached) & ~np.isnan(some)

    def _cell_means(self, which: Bool | Float, values: Float | None = None) -> Float:
        """Return the mean of some numbers by cell, as a rule probabilities; each hand counts as ``which`` says."""
        deck = self.game.deck
        ranks, values = len(deck.ranks), self.probabilities if values is None else values
        totals, counts = np.zeros((ranks, ranks, values.shape[1])), np.zeros((ranks, ranks, 1))
        for (low, high), numbers, counted in zip(self.hands, values, which, strict=True):
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
