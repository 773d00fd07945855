"""Locks of a spot: at a betting line, the hands of a range play a fixed strategy, and the rest is solved around it.

A lock is written ``LINE:RANGE=STRATEGY``::

    c:QQ+,AK=check:0.3,bet 200:0.7      after a check, these hands check with 30 % and bet 200 with 70 %
    :all=c                              at the first decision (an empty line), everything checks
    cc/@Ks:AA=r200                      on the river Ks after two checks, aces bet 200; without @Ks on every river

Lines are written as everywhere (games/notation.py), hands as in ranges; the cards of later rounds may follow an ``@``.
Actions are written as in lines (``c``, ``r200``) or in words (``check``, ``bet 200``, ``raise to 600``, ``allin``),
each with its share after a colon unless it is the only one. Commas may be bars. If two locks name a hand, the later one
holds.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from equipoise.errors import EquipoiseError, InvalidNotation
from equipoise.games.betting import BettingRules, BettingState, action_text, legal_actions
from equipoise.games.notation import read_betting, read_cards
from equipoise.games.poker import Cards, Deck
from equipoise.games.ranges import Range, read_range, write_range

BETWEEN_LOCKS = ";"
ROUNDING = 1e-6  # by which shares may miss 1
_ALL_IN = " (all-in)"

NameOf = Callable[[BettingState, int], str]


@dataclass(frozen=True, kw_only=True)
class Lock:
    """What some hands are bound to play at a betting line."""

    line: BettingState
    board: Cards  # of later rounds; empty: on every board
    hands: Range  # 1 for each hand that is locked
    shares: tuple[float, ...]  # of each legal action

    def text(self, rules: BettingRules) -> str:
        """Return the lock as it is read, in one way, without commas."""
        cards = f"@{self.hands.deck.text(self.board)}" if self.board else ""
        played = [
            (action_text(rules, self.line, action), share)
            for action, share in zip(legal_actions(rules, self.line), self.shares, strict=True)
            if share > 0.0
        ]
        alone = len(played) == 1
        strategy = "|".join(name if alone else f"{name}:{share!r}" for name, share in played)
        return f"{self.line.text}{cards}:{write_range(self.hands, '|')}={strategy}"


def read_locks(
    text: str | Sequence[str], rules: BettingRules, deck: Deck, board: Cards, name_of: NameOf
) -> tuple[Lock, ...]:
    """Return the locks of a text, or of several; ``board`` is the spot's own, ``name_of`` names actions in words."""
    texts = text.split(BETWEEN_LOCKS) if isinstance(text, str) else text
    return tuple(_read_lock(each.strip(), rules, deck, board, name_of) for each in texts)


def _read_lock(text: str, rules: BettingRules, deck: Deck, board: Cards, name_of: NameOf) -> Lock:
    place, colon, rest = text.partition(":")
    hands, equals, strategy = rest.partition("=")
    if not (colon and equals):
        raise InvalidNotation(f"lock '{text}' is not LINE:RANGE=STRATEGY, as in c:QQ+,AK=check:0.3,bet 200:0.7")
    try:
        return _lock(place.strip(), hands, strategy, rules, deck, board, name_of)
    except EquipoiseError as error:
        raise InvalidNotation(f"lock '{text}': {error}") from None


def _lock(
    place: str, hands: str, strategy: str, rules: BettingRules, deck: Deck, board: Cards, name_of: NameOf
) -> Lock:
    line_text, at, cards_text = place.partition("@")
    line = read_betting(rules, line_text.strip())
    if line.finished:
        raise InvalidNotation(f"after the line '{line_text}' the hand is over; nobody has to act")
    cards = read_cards(deck, "".join(cards_text.split()))
    if at and len(cards) != line.round:
        dealt = f"{line.round} card{'' if line.round == 1 else 's'}"
        raise InvalidNotation(f"the line '{line_text}' comes after {dealt} of later rounds, not {len(cards)}")
    if set(cards) & set(board):
        raise InvalidNotation(f"the card {deck.text(cards)} is on the spot's board already")
    chosen = read_range(hands, deck)
    if not set(chosen.weights.tolist()) <= {0.0, 1.0}:
        raise InvalidNotation("a hand is locked or not: leave out weights of hands")
    return Lock(line=line, board=cards, hands=chosen, shares=_shares(strategy, rules, line, name_of))


def _shares(text: str, rules: BettingRules, line: BettingState, name_of: NameOf) -> tuple[float, ...]:
    """Return the share of each legal action."""
    legal = legal_actions(rules, line)
    known: dict[str, int] = {}
    for number, action in enumerate(legal):
        name = name_of(line, action)
        known |= {action_text(rules, line, action): number, name.removesuffix(_ALL_IN): number}
        if name.endswith(_ALL_IN):
            known |= {"allin": number, "all-in": number}
    shares = [0.0] * len(legal)
    parts = [part.strip() for part in re.split(r"[,|]", text) if part.strip()]
    for part in parts:
        action_name, colon, share = (piece.strip() for piece in part.partition(":"))
        number_of = known.get(" ".join(action_name.casefold().split()))
        if number_of is None:
            listed = ", ".join(f"{name_of(line, action)} ({action_text(rules, line, action)})" for action in legal)
            raise InvalidNotation(f"'{action_name}' is not one of the actions there: {listed}")
        if shares[number_of] > 0.0:
            raise InvalidNotation(f"'{action_name}' is given twice")
        if not colon and len(parts) > 1:
            raise InvalidNotation(f"'{part}' needs a share, as in {part}:0.5")
        if colon and not re.fullmatch(r"\d*\.?\d+(e-?\d+)?|\d+\.", share):
            raise InvalidNotation(f"the share '{share}' is not a number from 0 to 1")
        shares[number_of] = float(share) if colon else 1.0
    if abs(sum(shares) - 1.0) > ROUNDING:
        raise InvalidNotation(f"the shares of the actions add up to {sum(shares):g}, not to 1")
    return tuple(shares)
