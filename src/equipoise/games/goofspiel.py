"""Goofspiel as Gibson et al. (2012) play it: secret bids, descending prizes, and players learn only who won each bid.

Round k is worth n - k + 1 points; a tie gives nobody the points; whoever has more points wins 1. The bids of a round
are secret, so it makes no difference that player 0 is asked first. With one card left there is no choice: unless
``last_round=played``, the last bids are made automatically (as OpenSpiel does).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from equipoise.games.game import TERMINAL, Game, State

WIN, LOSS, TIE = 0, 1, 2  # of a bid, from player 0's side
_SEEN_BY = (("w", "l", "t"), ("l", "w", "t"))


@dataclass(frozen=True)
class Goofspiel(Game):
    """Goofspiel with ``cards`` cards a hand."""

    max_nodes = inf
    cards: int
    last_round_played: bool = False

    @property
    def name(self) -> str:
        return f"goofspiel(cards={self.cards}{',last_round=played' if self.last_round_played else ''})"

    @property
    def decision_rounds(self) -> int:
        """Return the number of rounds in which players are asked for a bid."""
        return self.cards if self.last_round_played or self.cards == 1 else self.cards - 1

    def root(self) -> "GoofspielState":
        return GoofspielState(self, ((), ()))

    def open_spiel_name(self) -> str | None:
        if self.last_round_played:
            return None
        return (
            "turn_based_simultaneous_game(game=goofspiel(imp_info=true,points_order=descending,returns_type=win_loss,"
            f"num_cards={self.cards}))"
        )

    def chip_unit(self) -> str:
        return "wins"


def bid_outcome(mine: int, theirs: int) -> int:
    """Return WIN, LOSS or TIE for the player who bid ``mine``."""
    return WIN if mine > theirs else LOSS if mine < theirs else TIE


@dataclass(frozen=True, slots=True)
class GoofspielState(State):
    """The bids made so far, player 0's and player 1's; card ``c`` (from 0) has bidding value c + 1."""

    game: Goofspiel
    bids: tuple[tuple[int, ...], tuple[int, ...]]

    @property
    def player(self) -> int:
        mine, theirs = len(self.bids[0]), len(self.bids[1])
        if mine != theirs:
            return 1
        return TERMINAL if mine == self.game.decision_rounds else 0

    def actions(self) -> Sequence[int]:
        if self.player == TERMINAL:
            return []
        used = self.bids[self.player]
        return [card for card in range(self.game.cards) if card not in used]

    def child(self, action: int) -> "GoofspielState":
        mine, theirs = self.bids
        bids = ((*mine, action), theirs) if self.player == 0 else (mine, (*theirs, action))
        return GoofspielState(self.game, bids)

    def infoset_key(self) -> str:
        player = self.player
        outcomes = [bid_outcome(a, b) for a, b in zip(*self.bids, strict=False)]
        seen = [f"{bid + 1}{_SEEN_BY[player][o]}" for bid, o in zip(self.bids[player], outcomes, strict=False)]
        return f"P{player}|{' '.join(seen)}"

    def action_name(self, action: int) -> str:
        return f"bid {action + 1}"

    def payoff(self) -> float:
        points = 0
        hands = [list(bids) for bids in self.bids]
        for bids in hands:
            bids.extend(card for card in range(self.game.cards) if card not in bids)  # the forced last bid
        for index, (a, b) in enumerate(zip(*hands, strict=True)):
            points += (self.game.cards - index) * ((a > b) - (a < b))
        return float((points > 0) - (points < 0))
