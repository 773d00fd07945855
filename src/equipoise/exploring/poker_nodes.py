"""A public state of poker as plain data: who acts, pot, stacks and board, what every hand does there, what comes next.

A state is a betting line and a board (``crc/r`` on ``2c7d9s``). Between rounds it waits for cards; after a fold or the
last call it is an end. The same description serves small poker games, hold'em and spots.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import comb
from typing import Any

import numpy as np

from equipoise.errors import InvalidNotation, InvalidParameter
from equipoise.evaluation.appraisal import Appraisal, LineAppraiser, known, means_over
from equipoise.games.betting import FOLD, BettingState, action_text, apply_action, legal_actions
from equipoise.games.notation import betting_in_words, read_action, read_betting, read_cards
from equipoise.games.poker import HOLDEM_DECK, Cards, Deck, PokerGame
from equipoise.games.ranges import Range, class_name, hand_classes, read_range, write_range
from equipoise.games.spots import ROUND_NAMES, Spot
from equipoise.policies.holdem_policy import line_title
from equipoise.trees.treeplex import Float

MOST_HANDS = 200  # rows of hands in one answer
MOST_BELIEVED = 30
MOST_DRAWN = 60  # states in the drawing of the tree around one
WEIGHT_DIGITS = 2  # of weights in a range that is written for people
FROM_HERE_ON = "chips from here on, the pot included: a fold is worth 0"
AnyPoker = PokerGame | Spot


@dataclass(frozen=True)
class PokerPlace:
    """A public state: the betting so far, and the board as far as it is dealt."""

    game: AnyPoker
    betting: BettingState
    board: Cards

    @property
    def missing(self) -> int:
        """Return how many cards chance has to deal before anything else happens."""
        if self.betting.folded >= 0:
            return 0
        return self.game.board_size(self.betting.round) - len(self.board)

    @property
    def next_deal(self) -> int:
        """Return how many cards come at once, if chance is to deal."""
        if isinstance(self.game, Spot):
            return min(1, self.missing)
        dealt = 0
        for count in self.game.board_cards:
            dealt += count
            if dealt > len(self.board):
                return min(count, self.missing)
        return 0

    @property
    def state(self) -> str:
        """Return what happens here: a ``decision``, a ``deal`` or the ``end``."""
        return "deal" if self.missing else "end" if self.betting.finished else "decision"

    @property
    def pot(self) -> int:
        """Return what is in the pot."""
        return sum(self.betting.spent) + self.game.betting.dead

    @property
    def stacks(self) -> list[int] | None:
        """Return what the players have left; None where stacks do not matter (limit games)."""
        stack = self.game.betting.stack
        return None if stack is None else [stack - spent for spent in self.betting.spent]

    def at(self) -> dict[str, str]:
        """Return what names this state in questions and links."""
        return {"line": self.betting.text, "board": self.game.deck.text(self.board)}

    def actions(self) -> list[tuple[int, str]]:
        """Return the legal actions, with their names."""
        if self.state != "decision":
            return []
        legal = legal_actions(self.game.betting, self.betting)
        return [(action, self.game.betting_action_name(self.betting, action)) for action in legal]

    def after(self, action: int) -> "PokerPlace":
        """Return the state after an action."""
        return PokerPlace(self.game, apply_action(self.game.betting, self.betting, action), self.board)

    def round_name(self) -> str:
        """Return what players call the round."""
        betting_round = min(self.betting.round, len(self.game.betting.rounds) - 1)
        if isinstance(self.game, Spot):
            return ROUND_NAMES[len(ROUND_NAMES) - self.game.rounds + betting_round]
        if self.game.deck == HOLDEM_DECK:
            return ("preflop", *ROUND_NAMES)[betting_round]
        return f"round {betting_round + 1}"

    def title(self) -> str:
        """Return the state in words."""
        if self.state == "decision":
            return line_title(self.game, self.game.seat_name(self.betting.player), self.betting, self.board)
        where = f" on {' '.join(self.game.deck.text((card,)) for card in self.board)}" if self.board else ""
        if self.betting.folded >= 0:
            return f"{self.game.seat_name(self.betting.folded)} has folded{where}"
        what = f"{self.next_deal} card{'s' * (self.next_deal > 1)} to come" if self.missing else "showdown"
        return f"{what}{where} after {betting_in_words(self.game, self.betting.text)}"

    def crumbs(self) -> list[dict[str, Any]]:
        """Return the way here, step by step, each with where it leads."""
        game, rules = self.game, self.game.betting
        here = PokerPlace(game, rules.start(), game.board if isinstance(game, Spot) else ())
        steps: list[dict[str, Any]] = [{"name": "start", "player": None, "to": here.at()}]
        for text in re.findall(r"r\d*|c|f", self.betting.text):
            here = self._dealt_before(here, steps)
            action = read_action(rules, here.betting, text)
            name, player = game.betting_action_name(here.betting, action), here.betting.player
            here = here.after(action)
            steps.append({"name": name, "player": player, "to": here.at()})
        self._dealt_before(here, steps)
        return steps

    def _dealt_before(self, here: "PokerPlace", steps: list[dict[str, Any]]) -> "PokerPlace":
        """Add the deals between a state and the next decision."""
        while here.missing and len(here.board) < len(self.board):
            cards = self.board[len(here.board) : len(here.board) + here.next_deal]
            here = PokerPlace(self.game, here.betting, (*here.board, *cards))
            steps.append({"name": self.game.deck.text(cards), "player": None, "to": here.at()})
        return here


def read_place(game: AnyPoker, line: str = "", board: str = "") -> PokerPlace:
    """Return the state that a line and a board name, or say what is wrong with them; cards may be missing."""
    came_to = read_betting(game.betting, line)
    cards = read_cards(game.deck, "".join(board.replace("/", "").split()))
    if isinstance(game, Spot) and cards[: len(game.board)] != game.board:
        own = set(game.board)
        cards = (*game.board, *(card for card in cards if card not in own))
    if len(set(cards)) < len(cards):
        raise InvalidNotation(f"the board {board} has a card twice")
    most = game.board_size(came_to.round)
    if came_to.folded >= 0:
        cards = cards[:most]
    if len(cards) > most:
        raise InvalidNotation(
            f"the board {board} has {len(cards)} cards, and there are at most {most} after the line '{line}'"
        )
    if isinstance(game, PokerGame):
        sizes = {game.board_size(number) for number in range(len(game.board_cards))} | {0}
        if len(cards) not in sizes:
            raise InvalidNotation(f"a board of {len(cards)} cards is between two deals of {game.name}")
        cards = _in_order(game, cards)
    return PokerPlace(game, came_to, cards)


def _in_order(game: PokerGame, cards: Cards) -> Cards:
    """Return a board with the cards of each deal in ascending order."""
    ordered: list[int] = []
    for count in game.board_cards:
        ordered += sorted(cards[len(ordered) : len(ordered) + count])
    return tuple(ordered)


@dataclass(frozen=True, kw_only=True)
class PokerNode:
    """A public state with what an appraiser knows of it."""

    place: PokerPlace
    appraiser: LineAppraiser

    @cached_property
    def appraisal(self) -> Appraisal | None:
        """Return what is known of the acting player's hands; None where nobody acts."""
        if self.place.state != "decision":
            return None
        at = self.place.at()
        return self.appraiser.line(at["line"], at["board"])

    @cached_property
    def hands(self) -> list[Cards]:
        """Return the acting player's hands, in the order of the appraisal."""
        assert self.appraisal is not None
        deck = self.place.game.deck
        return [tuple(sorted(read_cards(deck, key.partition("|")[0].partition("/")[0]))) for key in self.appraisal.keys]

    @cached_property
    def ranges(self) -> tuple[Float, Float]:
        """Return both players' own reach by hand."""
        at = self.place.at()
        return self.appraiser.ranges(at["line"], at["board"])

    @property
    def has_grid(self) -> bool:
        """Return whether hands are pairs of cards, which a grid shows."""
        return len(self.place.game.hands[0]) == 2

    def chosen(self, hands: str) -> list[int]:
        """Return the places of some of the acting player's hands: a hand, a class, any range; all if empty."""
        if not hands.strip():
            return list(range(len(self.hands)))
        game = self.place.game
        if self.has_grid:
            weights = read_range(hands, game.deck).weights
            wanted = {hand for hand, weight in zip(game.hands, weights, strict=True) if weight > 0.0}
        else:
            wanted = {tuple(sorted(read_cards(game.deck, each))) for each in re.split(r"[,\s]+", hands.strip()) if each}
        some = [place for place, hand in enumerate(self.hands) if hand in wanted]
        if not some:
            raise InvalidNotation(f"no hand of {hands} can be held here")
        return some

    def describe(self, *, hands: str = "", offset: int = 0, limit: int = MOST_HANDS) -> dict[str, Any]:
        """Return all of it as plain data; hands may be chosen by a range, and are paged."""
        place, game = self.place, self.place.game
        said: dict[str, Any] = {
            "game": game.address,
            "kind": "poker",
            "unit": game.chip_unit(),
            "mbb_per_chip": game.mbb_per_chip(),
            "here": place.at(),
            "title": place.title(),
            "seats": [game.seat_name(player) for player in range(2)],
            "crumbs": place.crumbs(),
            "state": place.state,
            "player": place.betting.player if place.state == "decision" else None,
            "round": place.round_name(),
            "pot": place.pot,
            "spent": list(place.betting.spent),
            "stacks": place.stacks,
            "to_call": place.betting.to_call() if place.state == "decision" else 0,
            "board": [game.deck.text((card,)) for card in place.board],
            "deck": {"ranks": list(game.deck.ranks[::-1]), "suits": list(game.deck.suits)},
            "method": self.appraiser.method,
            "exact": self.appraiser.exact,
            "values_are": FROM_HERE_ON,
            "actions": [],
        }
        said["tree"] = self._drawing()
        if place.state == "deal":
            said["deal"] = {"cards": place.next_deal, "left": self._cards_left()}
        if place.state == "end":
            return said | {"end": self._end()}
        if self.appraisal is None:
            return said
        found = self.appraisal
        some = self.chosen(hands)
        everything = means_over(found, range(len(self.hands)))
        said["actions"] = [
            {
                "name": name,
                "text": action_text(game.betting, place.betting, action),
                "kind": _kind(action),
                "probability": everything["strategy"][name],
                "to": place.after(action).at(),
                "over": place.after(action).state == "end",
            }
            for action, name in place.actions()
        ]
        said |= {
            "method": found.method,
            "all": everything,
            "chosen": means_over(found, some) if hands.strip() else None,
            "reach": float(found.reach.sum()),
            "reach_on_board": self._reach_on_board(float(found.reach.sum())),
            "hands": [self.hand(place) for place in some[offset : offset + limit]],
            "hands_of": len(some),
        }
        if self.has_grid:
            said["grid"] = self.grid()
            said["ranges"] = [self.range_of(player) for player in range(2)]
        else:
            said["ranges"] = [
                {"player": player, "hands": {game.hand_text(h): float(w) for h, w in zip(game.hands, own, strict=True)}}
                for player, own in enumerate(self.ranges)
            ]
        return said

    def _reach_on_board(self, reach: float) -> float | None:
        """Return how often play comes here if this board is dealt; None where boards are not equally likely."""
        game, left = self.place.game, self.place.game.deck.size
        if not isinstance(game, PokerGame):
            return None
        for count in game.board_cards[: self.place.betting.round + 1]:
            reach *= comb(left, count)
            left -= count
        return reach

    def hand(self, number: int) -> dict[str, Any]:
        """Return what is known of one of the acting player's hands."""
        found = self.appraisal
        assert found is not None
        game, infoset = self.place.game, found.infoset(number)
        best = infoset.best_action
        said: dict[str, Any] = {
            "hand": game.hand_text(self.hands[number]),
            "infoset": infoset.key,
            "strategy": dict(zip(found.actions, infoset.probabilities.tolist(), strict=True)),
            "reached": infoset.reached,
            "own_reach": infoset.own_reach,
            "reach": infoset.reach,
            "values": {a: known(float(v)) for a, v in zip(found.actions, infoset.values + found.paid, strict=True)},
            "value": known(infoset.value + found.paid),
            "best_action": best,
            "best_value": known(infoset.best_value + found.paid),
        }
        if self.has_grid:
            said["class"] = class_name(game.deck, self.hands[number])
        if found.equity is not None:
            said["equity"] = known(float(found.equity[number]))
        return said

    def detail(self, hand: str, believed: int = MOST_BELIEVED) -> dict[str, Any]:
        """Return everything that is known of one hand: with belief, and with estimates where nothing is exact."""
        places = self.chosen(hand)
        if len(places) != 1:
            raise InvalidParameter(f"'{hand}' is not one hand; give both cards, as in AhKd")
        assert self.appraisal is not None
        key = self.appraisal.keys[places[0]]
        valued = self.appraiser.at(key)
        said = valued.to_json(believed)
        if self.has_grid:
            deck, classes = self.place.game.deck, dict[str, float]()
            for name, probability in valued.belief.likeliest():
                cell = class_name(deck, tuple(read_cards(deck, name)))
                classes[cell] = classes.get(cell, 0.0) + probability
            likeliest = sorted(classes.items(), key=lambda each: -each[1])
            said["belief_by_class"] = [{"what": name, "probability": probability} for name, probability in likeliest]
        return {**self.hand(places[0]), **said}

    def grid(self) -> dict[str, Any]:
        """Return the acting player's hands by class: the 13 x 13 cells, aces first, suited above the diagonal."""
        assert self.appraisal is not None
        deck, by_class = self.place.game.deck, dict[str, list[int]]()
        for number, hand in enumerate(self.hands):
            by_class.setdefault(class_name(deck, hand), []).append(number)
        cells = []
        for name, places in by_class.items():
            means = means_over(self.appraisal, places)
            best = self.appraisal.best_values[places]
            cells.append(
                {
                    "name": name,
                    **_cell_of(deck, name),
                    "combos": len(places),
                    "reached": bool(self.appraisal.reached[places].any()),
                    **means,
                    "best_actions": _best_counts(self.appraisal.actions, best),
                }
            )
        return {"player": self.appraisal.player, "classes": _class_names(deck), "cells": cells}

    def range_of(self, player: int) -> dict[str, Any]:
        """Return a player's range: as text, and its cells."""
        deck, weights = self.place.game.deck, self.ranges[player]
        live = np.array([not set(hand) & set(self.place.board) for hand in self.place.game.hands])
        cells = []
        for name, places in hand_classes(deck).items():
            here = [place for place in places if live[place]]
            if here:
                weight = float(weights[here].mean())
                cells.append({"name": name, **_cell_of(deck, name), "combos": len(here), "weight": weight})
        rounded = np.asarray(np.round(np.minimum(weights, 1.0), WEIGHT_DIGITS), np.float64)
        for places in hand_classes(deck).values():
            alive = [place for place in places if live[place]]
            if alive and (rounded[alive] == rounded[alive[0]]).all():
                rounded[places] = rounded[alive[0]]  # a class that is played alike has one name, whatever the board
        return {
            "player": player,
            "text": write_range(Range(rounded, deck)) if rounded.any() else "",
            "combos": float(weights.sum()),
            "cells": cells,
        }

    def _cards_left(self) -> list[str]:
        deck = self.place.game.deck
        return [deck.text((card,)) for card in range(deck.size) if card not in self.place.board]

    def _drawing(self) -> list[dict[str, Any]]:
        """Return the states around this one for a drawing: the one before, and what may follow in two steps."""
        place, drawn = self.place, list[dict[str, Any]]()
        shares = {} if self.appraisal is None else means_over(self.appraisal, range(len(self.hands)))["strategy"]

        def add(each: PokerPlace, parent: str | None, name: str, probability: float | None) -> str:
            number = str(len(drawn))
            drawn.append(
                {
                    "id": number,
                    "parent": parent,
                    "name": name,
                    "player": each.betting.player if each.state == "decision" else None,
                    "state": "chance" if each.state == "deal" else each.state,
                    "payoff": None,
                    "probability": probability,
                    "here": each == place,
                    "to": each.at(),
                }
            )
            return number

        crumbs = place.crumbs()
        above = None
        if len(crumbs) > 1:
            before = read_place(place.game, **crumbs[-2]["to"])
            above = add(before, None, crumbs[-2]["name"], None)
            if before.state == "decision":
                for action, name in before.actions():
                    if before.after(action) != place:
                        add(before.after(action), above, name, None)
        here = add(place, above, crumbs[-1]["name"], None)
        for action, name in place.actions():
            after = place.after(action)
            number = add(after, here, name, shares.get(name))
            for more, text in after.actions():
                if len(drawn) < MOST_DRAWN:
                    add(after.after(more), number, text, None)
        return drawn

    def _end(self) -> dict[str, Any]:
        betting = self.place.betting
        if betting.folded >= 0:
            return {"folded": betting.folded, "wins": 1 - betting.folded, "pot": self.place.pot}
        return {"showdown": True, "pot": self.place.pot}


def _kind(action: int) -> str:
    return "fold" if action == FOLD else "call" if action == FOLD + 1 else "raise"


def _class_names(deck: Deck) -> list[list[str]]:
    """Return the names of the cells, row by row: aces first, suited above the diagonal."""
    ranks = deck.ranks[::-1]
    return [
        [a + b + "s" if row < column else a + a if row == column else b + a + "o" for column, b in enumerate(ranks)]
        for row, a in enumerate(ranks)
    ]


def _cell_of(deck: Deck, name: str) -> dict[str, int]:
    ranks = deck.ranks[::-1]
    high, low = ranks.index(name[0]), ranks.index(name[1])
    return {"row": low, "column": high} if name.endswith("o") else {"row": high, "column": low}


def _best_counts(actions: Sequence[str], best: Float) -> dict[str, int]:
    """Return how many hands of a cell a best response plays each action with."""
    found = best[~np.isnan(best).any(axis=1)]
    counts = np.bincount(found.argmax(axis=1), minlength=len(actions)) if len(found) else np.zeros(len(actions), int)
    return {action: int(count) for action, count in zip(actions, counts, strict=True) if count}


def decisions_of_round(game: AnyPoker, place: PokerPlace, most: int) -> Iterable[PokerPlace]:
    """Yield the decisions of a state's round on its board, breadth first; not more than ``most``."""
    start = PokerPlace(game, game.betting.start(), game.board if isinstance(game, Spot) else ())
    waiting, found = [start], 0
    for here in waiting:  # grows while it is walked
        if here.state == "deal":
            if len(here.board) >= len(place.board):
                continue
            cards = place.board[len(here.board) : len(here.board) + here.next_deal]
            waiting.append(PokerPlace(game, here.betting, (*here.board, *cards)))
            continue
        if here.state != "decision":
            continue
        if len(here.board) == len(place.board):
            yield here
            found += 1
            if found == most:
                return
        waiting += [here.after(action) for action, _ in here.actions()]
