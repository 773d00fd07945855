"""Policies of spots: strategy, reach, value of each action and equity, for a hand, a class or a range, at any line."""

import html
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from equipoise.errors import InvalidNotation, NotSupported
from equipoise.games import Game
from equipoise.games.betting import BettingState, apply_action, legal_actions
from equipoise.games.notation import read_betting, read_cards
from equipoise.games.poker import Cards
from equipoise.games.ranges import Range, class_name, hand_classes, read_range
from equipoise.games.spots import ROUND_NAMES, Spot
from equipoise.html import grid
from equipoise.policies.files import SPOT, Parts, policy_header, write_parts
from equipoise.policies.holdem_policy import line_title
from equipoise.policies.policy import ActionProbabilities
from equipoise.trees.board_evaluator import OnBoards
from equipoise.trees.fingerprint import described
from equipoise.trees.spot_evaluator import SpotEvaluator, SpotStrategy, SpotValues
from equipoise.trees.spot_form import Permutation, SpotForm
from equipoise.trees.treeplex import Float

Bool = npt.NDArray[np.bool_]
STRATEGY = "strategy"  # what the arrays of an average strategy are called, in checkpoints and in files


@dataclass(frozen=True, kw_only=True)
class SpotLine:
    """What is played at one public state of a spot, hand by hand.

    *Reach* is the weight with which the player's range comes here. *Values* are chips from here on, the pot included: a
    fold is worth 0. *Equity* is the share of the pot if nobody bet any more.
    """

    game: Spot
    betting: BettingState
    board: Cards
    hands: Sequence[Cards]
    actions: tuple[str, ...]
    probabilities: Float  # [hands, actions]
    reach: Float  # [hands]
    values: Float  # [hands, actions]; NaN where no hand of the opponent goes with the own one
    best_values: Float  # [hands, actions] the same if the player goes on by a best response
    equity: Float  # [hands]
    opponents: Float  # [hands] the weight of the opponent's hands that go with the own one
    stands_for: int = 1  # boards: those that only suits tell from this one are played alike

    @property
    def player(self) -> int:
        """Return who acts."""
        return self.betting.player

    @property
    def reached(self) -> Bool:
        """Return whether hands come here at all."""
        return self.reach > 0.0

    @property
    def locks(self) -> list[str]:
        """Return what hands are bound to here."""
        dealt = self.board[len(self.game.board) :]
        here = [lock for lock in self.game.locks if lock.line.text == self.betting.text and lock.board in ((), dealt)]
        return [lock.text(self.game.betting) for lock in here]

    def title(self) -> str:
        """Return the public state in words."""
        return line_title(self.game, self.game.seat_name(self.player), self.betting, self.board)

    def _repr_html_(self) -> str:
        return grid(self.cell_names(), self.grid(), self.weights(), self.actions, self.title())

    def weights(self) -> Float:
        """Return [rank, rank]: how much of each cell's hands comes here, from 0 to 1; NaN where the range has none."""
        return self._cells(lambda line: [line.reach.mean()], 1)[:, :, 0]

    def board_text(self) -> str:
        """Return the board as it is written."""
        return self.game.deck.text(self.board)

    def select(self, text: str = "") -> "SpotLine":
        """Return the line for some hands only: a hand, a class, or any range; all where the text is empty."""
        if not text:
            return self
        chosen = read_range(text, self.game.deck).weights
        place = {hand: number for number, hand in enumerate(self.game.hands)}
        some = [number for number, hand in enumerate(self.hands) if chosen[place[hand]] > 0.0]
        if not some:
            raise InvalidNotation(f"no hand of {text} is in the range of this player on {self.board_text()}")
        return replace(
            self,
            hands=[self.hands[number] for number in some],
            probabilities=self.probabilities[some],
            reach=self.reach[some],
            values=self.values[some],
            best_values=self.best_values[some],
            equity=self.equity[some],
            opponents=self.opponents[some],
        )

    def means(self) -> dict[str, Any]:
        """Return the means over all hands, each as often as it comes here; plain means where none does.

        Values and equities are means over deals: a hand counts with each hand of the opponent that goes with it.
        """
        weights = self.reach if self.reach.sum() > 0.0 else np.ones(len(self.hands))
        known, deals = self.opponents > 0.0, weights * self.opponents

        def mean(numbers: Float) -> float | None:
            if not deals[known].sum() > 0.0:
                return None
            return float(deals[known] @ numbers[known] / deals[known].sum())

        played = weights @ self.probabilities / weights.sum()
        own = np.nansum(self.probabilities * self.values, axis=1)
        return {
            "reach": float(self.reach.sum()),
            "strategy": dict(zip(self.actions, played.tolist(), strict=True)),
            "values": {action: mean(self.values[:, number]) for number, action in enumerate(self.actions)},
            "value": mean(own),
            "equity": mean(self.equity),
        }

    def by_class(self) -> dict[str, "SpotLine"]:
        """Return the line class by class (``AKs``, ...), aces first."""
        order = {name: number for number, name in enumerate(hand_classes(self.game.deck))}
        names = sorted({class_name(self.game.deck, hand) for hand in self.hands}, key=order.__getitem__)
        return {name: self.select(name) for name in names}

    def grid(self) -> Float:
        """Return [rank, rank, action]: means over the hands of each cell; suited above the diagonal, aces first."""
        return self._cells(lambda line: list(line.means()["strategy"].values()), len(self.actions))

    def unreached(self) -> Bool:
        """Return the cells whose hands never come here."""
        none: Bool = self._cells(lambda line: [line.reach.sum()], 1)[:, :, 0] == 0.0
        return none

    def _cells(self, numbers: Any, count: int) -> Float:
        ranks = self.game.deck.ranks[::-1]
        cells = np.full((len(ranks), len(ranks), count), np.nan)
        for name, line in self.by_class().items():
            high, low = ranks.index(name[0]), ranks.index(name[1])
            cells[(low, high) if name.endswith("o") else (high, low)] = numbers(line)
        return cells

    def cell_names(self) -> list[list[str]]:
        """Return the cells' names, such as ``AKs``, ``AA`` and ``AKo``."""
        ranks = self.game.deck.ranks[::-1]
        return [
            [a + b + "s" if row < column else a + a if row == column else b + a + "o" for column, b in enumerate(ranks)]
            for row, a in enumerate(ranks)
        ]


class KeptStrategy(SpotStrategy, Protocol):
    """A strategy on a spot that can be saved."""

    def arrays(self, name: str) -> dict[str, npt.NDArray[Any]]:
        """Return all arrays, named."""


@dataclass(frozen=True, kw_only=True, eq=False)
class SpotPolicy:
    """Action probabilities of a spot, and what they are worth."""

    form: SpotForm
    strategy: KeptStrategy
    origin: Mapping[str, Any] = field(default_factory=dict)

    @property
    def game(self) -> str:
        """Return the game's text."""
        return self.form.game.name

    def __len__(self) -> int:
        return self.form.num_infosets

    def __repr__(self) -> str:
        return f"<SpotPolicy of a spot on {self.form.game.deck.text(self.form.game.board)}, {len(self):,} decisions>"

    @property
    def rules(self) -> Spot:
        """Return the spot."""
        return self.form.game

    @cached_property
    def fingerprint(self) -> str:
        """Return the fingerprint of the spot."""
        return described(self.rules)

    def parts(self) -> Parts:
        """Return what the policy can be opened from: the average strategy's sums, and of which spot they are."""
        header = policy_header(SPOT, self.game, self.fingerprint, self.origin, layout=self.form.layout)
        return Parts(header, self.strategy.arrays(STRATEGY))

    def _repr_html_(self) -> str:
        return f"{html.escape(repr(self))}{self.line()._repr_html_()}"

    def save(self, path: str | Path) -> None:
        """Write the policy to a file, all of it or nothing."""
        write_parts(path, self.parts(), compressed=False)

    def best_responses(self, game: Game, *, threads: int, on_boards: OnBoards) -> SpotValues:
        """Return the policy's value and both best responses to it."""
        if described(game) != self.fingerprint:
            raise NotSupported(f"the policy is of {self.game}, not of {game.address}")
        return SpotEvaluator(self.form, threads, on_boards).best_responses(self.strategy)

    def to_open_spiel(self) -> Any:
        """Refuse: OpenSpiel has no such game."""
        raise NotSupported("OpenSpiel has no spots; export lines of this one as csv or json instead")

    @cached_property
    def _evaluator(self) -> SpotEvaluator:
        return SpotEvaluator(self.form)

    def __getitem__(self, infoset_key: str) -> ActionProbabilities:
        return self.action_probabilities(infoset_key)

    def action_probabilities(self, infoset_key: str) -> ActionProbabilities:
        """Return the probability of each action at an infoset, such as ``AhKd/Td9d6hQc|cr200``."""
        cards, _, betting_text = infoset_key.partition("|")
        hand_text, _, board_text = cards.partition("/")
        game = self.form.game
        betting, board = self._read_line(betting_text, board_text)
        hand = tuple(sorted(read_cards(game.deck, hand_text)))
        if len(hand) != 2 or set(hand) & set(board):
            raise InvalidNotation(f"'{hand_text}' is not a hand of two cards on the board {game.deck.text(board)}")
        path, renaming = self._find(board)
        number = betting.round
        each, place = self.form.rounds[number], path[-1]
        node = each.node_of[betting.text]
        actions, width = int(each.betting.node_actions[node]), int(each.boards.width[place, betting.player])
        names = self._names(betting)
        own = self._places(number, place, betting.player, renaming)
        if hand not in own:
            raise InvalidNotation(f"{game.hand_text(hand)} is not in the range of the {game.seat_name(betting.player)}")
        sums = self._sums(number, place, betting.player, node).reshape(actions, width)[:, own[hand]]
        total = sums.sum()
        played = sums / total if total > 0.0 else np.full(actions, 1.0 / actions)
        return ActionProbabilities(names, played, reached=bool(total > 0.0))

    def line(self, text: str = "", board: str = "") -> SpotLine:
        """Return strategy, reach, values and equity after some betting, such as ``r200c/r600``.

        ``board`` has the cards of later rounds, with or without the spot's own board.
        """
        betting, cards = self._read_line(text, board)
        path, renaming = self._find(cards)
        valued = self._evaluator.board_values(self.strategy, path, betting.player)
        return self._line(betting, cards, path, renaming, *valued)

    def lines(self, rounds: Collection[str]) -> Iterator[SpotLine]:
        """Yield all lines of some rounds (``flop``, ``turn``, ``river``), on all boards that can be told apart."""
        game = self.form.game
        for number, each in enumerate(self.form.rounds):
            if self.round_names[number] not in rounds:
                continue
            for dealt, count in self.runouts(number):
                cards = (*game.board, *self._dealt(dealt))
                path, renaming = self._find(cards)
                valued = [self._evaluator.board_values(self.strategy, path, player) for player in range(2)]
                for state in each.states:
                    line = self._line(state, cards, path, renaming, *valued[state.player])
                    yield replace(line, stands_for=count)

    @property
    def round_names(self) -> tuple[str, ...]:
        """Return the names of the spot's rounds."""
        return ROUND_NAMES[len(ROUND_NAMES) - self.form.game.rounds :]

    def num_rows(self, rounds: Collection[str]) -> int:
        """Return how many (line, board, hand, action) there are in some rounds, on boards that can be told apart."""
        chosen = [each for name, each in zip(self.round_names, self.form.rounds, strict=True) if name in rounds]
        return sum(int((each.boards.live @ np.array(each.entries)).sum()) for each in chosen)

    def _line(
        self,
        betting: BettingState,
        cards: Cards,
        path: Sequence[int],
        renaming: Permutation,
        plans: tuple[Float, Float],
        gradient: Float,
        response: Float,
    ) -> SpotLine:
        """Return a line from both plans, and from what the acting player's rows are worth on its board."""
        game, number, player, place = self.form.game, betting.round, betting.player, path[-1]
        each = self.form.rounds[number]
        node = each.node_of[betting.text]
        width, live = int(each.boards.width[place, player]), int(each.boards.live[place, player])
        rows = self._last_rows(betting)
        own = plans[player][rows[player] * width :][:live]
        opponent, other_width = 1 - player, int(each.boards.width[place, 1 - player])
        theirs = plans[opponent][rows[opponent] * other_width :][:other_width]
        first, actions = int(each.betting.node_row[node]), int(each.betting.node_actions[node])
        worth, best = (
            rows[first * width : (first + actions) * width].reshape(actions, width)[:, :live]
            for rows in (gradient, response)
        )
        sums = self._sums(number, place, player, node).reshape(actions, width)[:, :live]
        total = sums.sum(axis=0)
        with np.errstate(invalid="ignore", divide="ignore"):
            played = np.where(total > 0.0, sums / total, 1.0 / actions)
            won, beside = self._evaluator.check_down(number, place, player, theirs)
            mass = np.where(beside > 1e-12 * max(theirs.sum(), 1e-300), beside, np.nan)
            paid = game.pot / 2 + betting.spent[player]
            values, best_values = worth / mass + paid, best / mass + paid
            equity = (won / mass + 1.0) / 2
        places = self._places(number, place, player, renaming)
        hands = sorted(places, key=lambda hand: hand[::-1], reverse=True)
        order = [places[hand] for hand in hands]
        return SpotLine(
            game=game,
            betting=betting,
            board=cards,
            hands=hands,
            actions=self._names(betting),
            probabilities=played.T[order],
            reach=own[order].copy(),
            values=values.T[order],
            best_values=best_values.T[order],
            equity=equity[order],
            opponents=np.nan_to_num(mass[order]),
        )

    def range_at(self, text: str, board: str = "", player: int = 0) -> Range:
        """Return a player's range after some betting."""
        betting, cards = self._read_line(text, board)
        path, renaming = self._find(cards)
        number, place = betting.round, path[-1]
        plans, _, _ = self._evaluator.board_values(self.strategy, path, player)
        width = int(self.form.rounds[number].boards.width[place, player])
        reach = plans[player][self._last_rows(betting)[player] * width :][:width]
        where = {hand: k for k, hand in enumerate(self.form.game.hands)}
        weights = np.zeros(len(self.form.game.hands))
        for hand, j in self._places(number, place, player, renaming).items():
            weights[where[hand]] = min(float(reach[j]), 1.0)
        return Range(weights, self.form.game.deck)

    def betting_at(self, text: str) -> BettingState:
        """Return what a line has come to."""
        return read_betting(self.form.game.betting, text)

    def lines_on(self, board: str = "") -> Iterator[str]:
        """Yield the betting before each decision of the round in which a board lies."""
        dealt = self._dealt(board)
        if len(dealt) >= self.form.game.rounds:
            raise InvalidNotation(f"the board {board} has more cards than the spot is played to")
        yield from (state.text for state in self.form.rounds[len(dealt)].states)

    def _dealt(self, board: str) -> Cards:
        """Return the cards after the spot's own board."""
        game = self.form.game
        given = read_cards(game.deck, "".join(board.replace("/", "").split()))
        return given[len(game.board) :] if set(given[: len(game.board)]) == set(game.board) else given

    def runouts(self, betting_round: int = 1) -> Iterator[tuple[str, int]]:
        """Yield the cards of later rounds that can be told apart, with how many boards each stands for."""
        game = self.form.game
        for number, cards in enumerate(self.form.rounds[betting_round].cards):
            count, board, level = 1, number, betting_round
            while level > 0:
                count *= int(self.form.rounds[level].boards.images[board])
                board = int(self.form.rounds[level].parent[board])
                level -= 1
            yield game.deck.text(cards[len(game.board) :]), count

    def _names(self, betting: BettingState) -> tuple[str, ...]:
        game = self.form.game
        return tuple(game.betting_action_name(betting, action) for action in legal_actions(game.betting, betting))

    def _read_line(self, text: str, board: str) -> tuple[BettingState, Cards]:
        """Return the betting of a line and the whole board, or say what is wrong with them."""
        game = self.form.game
        betting = read_betting(game.betting, text)
        if betting.finished:
            raise InvalidNotation(f"after the line '{text}' the hand is over; nobody has to act")
        given = self._dealt(board)
        if len(given) != betting.round:
            first = len(ROUND_NAMES) - game.rounds + 1
            wanted = " and ".join(f"the {name}" for name in ROUND_NAMES[first : first + betting.round])
            need = f"give {wanted} by --board" if betting.round else "leave out --board, or give a longer --line"
            raise InvalidNotation(f"the line '{text}' has {betting.round} card(s) after the spot's board; {need}")
        if set(given) & set(game.board):
            raise InvalidNotation(f"the card {game.deck.text(given)} is on the spot's board already")
        return betting, (*game.board, *given)

    def _find(self, board: Cards) -> tuple[list[int], Permutation]:
        """Return the boards, round by round, that a board is solved as, and the renaming of suits that leads there."""
        suits = len(self.form.game.deck.suits)
        path, renaming = [0], tuple(range(suits))
        for number, card in enumerate(board[len(self.form.game.board) :], 1):
            moved = card // suits * suits + renaming[card % suits]
            before, each = self.form.rounds[number - 1], self.form.rounds[number]
            for child in range(*map(int, before.first_child[path[-1] : path[-1] + 2])):
                leading = [
                    r
                    for r in each.renamings[child]
                    if moved // suits * suits + r[moved % suits] == each.cards[child][-1]
                ]
                if leading:
                    path.append(child)
                    renaming = tuple(leading[0][suit] for suit in renaming)
                    break
        return path, renaming

    def _places(self, number: int, board: int, player: int, renaming: Permutation) -> dict[Cards, int]:
        """Return the place of each of a player's hands, as they are before suits are renamed, on a board."""
        suits, game = len(renaming), self.form.game
        back = [renaming.index(suit) for suit in range(suits)]
        found: dict[Cards, int] = {}
        for j, hand in enumerate(self.form.rounds[number].hands[player][board]):
            cards = (card // suits * suits + back[card % suits] for card in game.hands[hand])
            found[tuple(sorted(cards))] = j
        return found

    def _sums(self, number: int, board: int, player: int, node: int) -> Float:
        """Return the weights of a node's actions, action after action."""
        each = self.form.rounds[number]
        entries, widths = each.entries, [int(width) for width in each.boards.width[board]]
        out = np.zeros(entries[0] * widths[0] + entries[1] * widths[1])
        self.strategy.write(number, board, board + 1, out)
        row = int(each.betting.node_row[node]) - each.betting.roots
        start = (entries[0] * widths[0] if player else 0) + row * widths[player]
        return np.maximum(out[start : start + int(each.betting.node_actions[node]) * widths[player]], 0.0)

    def _last_rows(self, betting: BettingState) -> tuple[int, int]:
        """Return each player's row of its round that leads to some betting."""
        game, each = self.form.game, self.form.rounds[betting.round]
        root = next(k for k, state in enumerate(each.roots) if _goes_on(state.text, betting.text))
        state, rows = each.roots[root], [root, root]
        while state.text != betting.text:
            node = each.node_of[state.text]
            for ordinal, action in enumerate(legal_actions(game.betting, state)):
                after = apply_action(game.betting, state, action)
                if _goes_on(after.text, betting.text):
                    rows[state.player] = int(each.betting.node_row[node]) + ordinal
                    state = after
                    break
        return rows[0], rows[1]


def _goes_on(before: str, text: str) -> bool:
    """Return whether a line goes on after another, and does not only begin with the same digits."""
    return text.startswith(before) and not (before[-1:].isdigit() and text[len(before) :][:1].isdigit())
