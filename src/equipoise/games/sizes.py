"""How large a poker game is, without listing it: its public betting tree, counted, times the cards of each round.

Betting states with the same future are counted once, so that a tree of any length is counted in the time of its
distinct states.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from math import comb

from equipoise.errors import TooLarge
from equipoise.games.betting import BettingRules, BettingState, apply_action, legal_actions
from equipoise.games.game import Game
from equipoise.games.poker import PokerGame

MOST_LISTED = 20_000_000  # infosets
MOST_FUTURES = 100_000  # distinct betting states; more would take minutes


@dataclass(frozen=True, kw_only=True)
class BettingSize:
    """Counts of a public betting tree, each by betting round."""

    decisions: tuple[int, ...]
    actions: tuple[int, ...]  # of all decisions together
    deals: tuple[int, ...]  # histories that end a round and go on: [r] are those after which round r's cards are dealt
    ends: tuple[int, ...]  # by the round in which the last action is taken

    @cached_property
    def nodes(self) -> int:
        """Return the number of public nodes: decisions, deals of board cards and ends."""
        return sum(self.decisions) + sum(self.deals) + sum(self.ends)


def betting_size(rules: BettingRules, most_states: int = MOST_FUTURES) -> BettingSize:
    """Count the public betting tree of some rules; more than ``most_states`` different states are refused."""
    rounds = len(rules.rounds)
    nothing = (0,) * (4 * rounds)
    futures: dict[BettingState, tuple[int, ...]] = {}

    def one(row: int, betting_round: int, count: int = 1) -> tuple[int, ...]:
        place = row * rounds + betting_round
        return (*nothing[:place], count, *nothing[place + 1 :])

    def total(*counts: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(map(sum, zip(*counts, strict=True)))

    start = rules.start()
    stack = [start]
    while stack:
        state = stack[-1]
        if state in futures:
            stack.pop()
            continue
        children = [apply_action(rules, state, action)._replace(text="") for action in legal_actions(rules, state)]
        unknown = [child for child in children if not child.finished and child not in futures]
        if len(futures) + len(stack) + len(unknown) > most_states:
            raise TooLarge(
                f"the betting has more than {most_states:,} different states, too many to count; give fewer bet sizes"
            )
        if unknown:
            stack.extend(unknown)
            continue
        here = [one(0, state.round), one(1, state.round, len(children))]
        for child in children:
            if child.folded < 0:
                here += [one(2, later) for later in range(state.round + 1, child.round + 1)]
            here.append(one(3, state.round) if child.finished else futures[child])
        futures[state] = total(*here)
        stack.pop()
    counted = futures[start]
    decisions, actions, deals, ends = (counted[first : first + rounds] for first in accumulate([0, *[rounds] * 3]))
    return BettingSize(decisions=decisions, actions=actions, deals=deals, ends=ends)


def hands_by_round(game: PokerGame) -> list[int]:
    """Return how many (board, private hand) pairs each round has, suits distinguished."""
    return [game.vector_width(betting_round) for betting_round in range(len(game.betting.rounds))]


def num_deals(game: PokerGame) -> int:
    """Return how many (board, private hand, private hand) triples there are in the round that has most."""
    return max(
        game.vector_width(betting_round)
        * comb(game.deck.size - game.board_size(betting_round) - game.hole_cards, game.hole_cards)
        for betting_round in range(len(game.betting.rounds))
    )


def num_infosets(game: PokerGame, hands: Sequence[int] | None = None) -> int:
    """Return the infosets of both players. ``hands`` by round may be those of an abstraction or up to isomorphism."""
    return _times(betting_size(game.betting).decisions, hands or hands_by_round(game))


def too_large_to_list(game: Game) -> bool:
    """Return whether a poker game has so many infosets that they can be worked with only as they are met."""
    return isinstance(game, PokerGame) and num_infosets(game) > MOST_LISTED


def num_infoset_actions(game: PokerGame, hands: Sequence[int] | None = None) -> int:
    """Return the actions of all infosets together: the length of a table of regrets."""
    return _times(betting_size(game.betting).actions, hands or hands_by_round(game))


def _times(nodes: Sequence[int], hands: Sequence[int]) -> int:
    return sum(count * width for count, width in zip(nodes, hands, strict=True))
