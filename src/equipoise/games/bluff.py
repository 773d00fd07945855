"""Bluff (liar's dice) with its rounds, as in Gibson et al. (2012).

Six-sided dice, 6 is wild. Bids are quantity-face, each higher than the last in the order (quantity, then face). Calling
bluff ends the round: if fewer dice show the face (or a 6) than were bid, the bidder loses a die, otherwise the caller
does. A player without dice has lost the game (payoff 1 to the other). The paper does not say who opens the next round:
here the loser of a round does, and player 0 opens the first. Earlier rounds do not matter to the play of a round, and
players do not remember them. Rolls are unordered.
"""

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import factorial, inf, prod
from typing import NamedTuple

from equipoise.games.game import CHANCE, TERMINAL, Game, State

FACES = 6
WILD = FACES - 1  # faces are numbered from 0 inside

Roll = tuple[int, ...]


@cache
def rolls(dice: int) -> tuple[Roll, ...]:
    """Return every unordered roll."""
    return tuple(itertools.combinations_with_replacement(range(FACES), dice))


@cache
def roll_probabilities(dice: int) -> tuple[float, ...]:
    """Return the probability of each of :func:`rolls`."""
    orders = [factorial(dice) // prod(factorial(n) for n in Counter(roll).values()) for roll in rolls(dice)]
    return tuple(count / FACES**dice for count in orders)


def bid_holds(bid: int, mine: Roll, theirs: Roll) -> bool:
    """Return whether there are at least as many dice of the face, or wild, as were bid."""
    quantity, face = bid // FACES + 1, bid % FACES
    return sum(die in (face, WILD) for die in mine + theirs) >= quantity


class BluffRound(NamedTuple):
    """The public situation at the start of a round: the dice that each player has, and who bids first."""

    dice: tuple[int, int]
    opener: int

    @property
    def bids(self) -> int:
        """Return how many bids there are; the action with this number is the call."""
        return FACES * sum(self.dice)

    def after_loss(self, loser: int) -> "BluffRound | None":
        """Return the next round after ``loser`` lost this one, or None when the game is over."""
        left = (self.dice[0] - (loser == 0), self.dice[1] - (loser == 1))
        return BluffRound(left, loser) if min(left) > 0 else None


@dataclass(frozen=True)
class Bluff(Game):
    """Bluff in which the players start with ``dice[0]`` and ``dice[1]`` dice."""

    max_nodes = inf
    dice: tuple[int, int]

    @property
    def name(self) -> str:
        return f"bluff(dice={self.dice[0]}x{self.dice[1]})"

    @property
    def first_round(self) -> BluffRound:
        """Return the round that opens the game."""
        return BluffRound(self.dice, 0)

    def rounds(self) -> list[BluffRound]:
        """Return every round that can occur, those with fewer dice first: each comes after all that it leads to."""
        found: list[BluffRound] = []
        waiting: list[BluffRound | None] = [self.first_round]
        for current in waiting:  # grows while it is walked
            if current is not None and current not in found:
                found.append(current)
                waiting.extend(current.after_loss(loser) for loser in (0, 1))
        return sorted(found, key=lambda found_round: (sum(found_round.dice), found_round))

    def infoset_text(self, current: BluffRound, roll: Roll, bids: str) -> str:
        """Return an infoset's key, such as ``3|1-2 1-5``; games of several rounds name the round first."""
        faces = "".join([str(die + 1) for die in roll])
        where = "" if sum(self.dice) == 2 else f"{current.dice[0]}x{current.dice[1]} P{current.opener} opens: "
        return f"{where}{faces}|{bids}"

    @staticmethod
    def bids_text(bids: Sequence[int]) -> str:
        """Return bids one after the other, such as ``1-2 1-5``."""
        return " ".join(map(Bluff.bid_text, bids))

    @staticmethod
    def bid_text(bid: int) -> str:
        """Return a bid as quantity-face."""
        return f"{bid // FACES + 1}-{bid % FACES + 1}"

    @staticmethod
    def action_text(current: BluffRound, action: int) -> str:
        """Return a bid or the call."""
        return "bluff!" if action == current.bids else Bluff.bid_text(action)

    def root(self) -> "BluffState":
        return BluffState(self, self.first_round, (), ())

    def open_spiel_name(self) -> str | None:
        return "liars_dice" if self.dice == (1, 1) else None

    def chip_unit(self) -> str:
        return "wins"


@dataclass(frozen=True, slots=True)
class BluffState(State):
    """The round, the rolls made in it (indices into :func:`rolls`) and its bids; the last action may be the call."""

    game: Bluff
    round: BluffRound
    rolled: tuple[int, ...]
    bids: tuple[int, ...]
    loser: int = -1

    @property
    def player(self) -> int:
        if self.loser >= 0:
            return TERMINAL
        if len(self.rolled) < 2:
            return CHANCE
        return (self.round.opener + len(self.bids)) % 2

    def actions(self) -> Sequence[int]:
        if self.loser >= 0:
            return []
        if len(self.rolled) < 2:
            return range(len(rolls(self.round.dice[len(self.rolled)])))
        # The call is an answer to a bid, so the first action of a round is always a bid.
        return range(self.bids[-1] + 1, self.round.bids + 1) if self.bids else range(self.round.bids)

    def chance_probabilities(self) -> Sequence[float]:
        return roll_probabilities(self.round.dice[len(self.rolled)])

    def child(self, action: int) -> "BluffState":
        if len(self.rolled) < 2:
            return BluffState(self.game, self.round, (*self.rolled, action), ())
        if action < self.round.bids:
            return BluffState(self.game, self.round, self.rolled, (*self.bids, action))
        caller = self.player
        mine, theirs = self._roll(0), self._roll(1)
        loser = caller if bid_holds(self.bids[-1], mine, theirs) else 1 - caller
        following = self.round.after_loss(loser)
        if following is None:
            return BluffState(self.game, self.round, self.rolled, self.bids, loser)
        return BluffState(self.game, following, (), ())

    def _roll(self, player: int) -> Roll:
        return rolls(self.round.dice[player])[self.rolled[player]]

    def infoset_key(self) -> str:
        return self.game.infoset_text(self.round, self._roll(self.player), self.game.bids_text(self.bids))

    def action_name(self, action: int) -> str:
        if len(self.rolled) < 2:
            roll = rolls(self.round.dice[len(self.rolled)])[action]
            return "".join(str(die + 1) for die in roll)
        return self.game.action_text(self.round, action)

    def payoff(self) -> float:
        return -1.0 if self.loser == 0 else 1.0
