"""Poker as players write it, both ways: cards (``AhKd``), betting (``cr200c/r400c``), infosets (``AhKd/2c7d9s|crc/r``).

Betting is written as in the ACPC protocol: ``f`` fold, ``c`` call or check, ``r`` raise or bet in a limit game, and
``r400`` one after which its player has spent 400 chips in the hand; ``/`` ends a round. What is read may have its cards
in any order within a deal; what is written has one order, so that texts can be keys.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

from equipoise.errors import InvalidNotation
from equipoise.games.betting import (
    CALL,
    FOLD,
    RAISE,
    BettingRules,
    BettingState,
    action_text,
    apply_action,
    legal_actions,
    raise_choices,
)
from equipoise.games.poker import Cards, Deck, PokerGame, PokerState

_STEPS = re.compile(r"r\d*|.", re.DOTALL)


@lru_cache(maxsize=16)
def _names(deck: Deck) -> tuple[dict[str, int], re.Pattern[str]]:
    """Return the cards by their names, and what finds the longest name at the beginning of a text."""
    number = {deck.text((card,)).casefold(): card for card in range(deck.size)}
    return number, re.compile("|".join(sorted(map(re.escape, number), key=len, reverse=True)))


def read_cards(deck: Deck, text: str) -> Cards:
    """Return the cards of a text such as ``AhKd``, in its order. Capital and small letters are the same."""
    number, names = _names(deck)
    cards = []
    rest = text.casefold()
    while rest:
        found = names.match(rest)
        if found is None:
            place = f" at '{text[len(text) - len(rest) :]}'" if len(rest) < len(text) else ""
            suits = f" and a suit ({' '.join(deck.suits)})" if deck.suits != ("",) else ""
            example = deck.text((deck.size - 1, 0))
            raise InvalidNotation(
                f"cannot read the cards '{text}'{place}: write each as a rank ({' '.join(deck.ranks)}){suits}, "
                f"as in {example}"
            )
        card = number[found[0]]
        if card in cards:
            raise InvalidNotation(f"'{text}' has the card {deck.text((card,))} twice")
        cards.append(card)
        rest = rest[found.end() :]
    return tuple(cards)


def read_action(rules: BettingRules, state: BettingState, text: str) -> int:
    """Return the legal action that ``f``, ``c``, ``r`` or ``r400`` is after ``state``."""
    totals = raise_choices(rules, state)
    if text == "f" and state.to_call() > 0:
        return FOLD
    if text == "c":
        return CALL
    if re.fullmatch(r"r\d+", text) and int(text[1:]) in totals:
        return RAISE + totals.index(int(text[1:]))
    if text == "r" and totals and rules.rounds[state.round].bet_size is not None:
        return RAISE
    after = f"after '{state.text}'" if state.text else "as the first action"
    raise InvalidNotation(
        f"'{text}' {after} is not legal betting; player {state.player} may {_legal_texts(rules, state, totals)}"
    )


def _legal_texts(rules: BettingRules, state: BettingState, totals: Sequence[int]) -> str:
    if len(totals) > 8:  # any amount, from the smallest to all-in
        texts = [*(["f"] if state.to_call() > 0 else []), "c", f"r{totals[0]} to r{totals[-1]}"]
    else:
        texts = [action_text(rules, state, action) for action in legal_actions(rules, state)]
    return ", ".join(texts)


def read_betting(rules: BettingRules, text: str) -> BettingState:
    """Return what betting such as ``cr200c/r400c`` has come to.

    The slash after a round may be left out at the end, and after an all-in call there may be one for each round that
    is not played, as in the ACPC's logs.
    """
    return _read_betting(rules, text)[0]


def betting_steps(rules: BettingRules, text: str) -> list[tuple[BettingState, int]]:
    """Return the decisions that led to some betting, each with the action that was chosen there."""
    return _read_betting(rules, text)[1]


class Spoken(Protocol):
    """A game whose betting can be said in words: poker, or a spot."""

    @property
    def deck(self) -> Deck:
        """Return the cards."""

    @property
    def betting(self) -> BettingRules:
        """Return the rules of the betting."""

    def betting_action_name(self, state: BettingState, action: int) -> str:
        """Return an action in words."""


def betting_in_words(game: Spoken, text: str) -> str:
    """Return betting as people say it, rounds apart: ``call, raise, call; check``."""
    words: dict[int, list[str]] = {}
    for state, action in betting_steps(game.betting, text):
        words.setdefault(state.round, []).append(game.betting_action_name(state, action))
    return "; ".join(", ".join(spoken) for spoken in words.values())


def _read_betting(rules: BettingRules, text: str) -> tuple[BettingState, list[tuple[BettingState, int]]]:
    state, steps = rules.start(), list[tuple[BettingState, int]]()
    slashes = 0  # read
    for step in _STEPS.findall(text):
        missing = state.text.count("/") - slashes
        if step == "/":
            if missing <= 0 and not (state.finished and state.folded < 0 and slashes < state.round):
                raise InvalidNotation(f"betting '{text}' has a '/' where no round ends")
            slashes += 1
        elif state.finished:
            raise InvalidNotation(f"betting '{text}': the hand is over after '{state.text}', but '{step}' follows")
        elif missing > 0:
            raise InvalidNotation(f"betting '{text}': the round is over after '{state.text[:-1]}'; write a '/' there")
        else:
            action = read_action(rules, state, step)
            steps.append((state, action))
            state = apply_action(rules, state, action)
    return state, steps


@dataclass(frozen=True, kw_only=True)
class PokerInfoset:
    """What the acting player knows: the own hand, the board, the betting."""

    game: PokerGame
    hand: Cards
    board: Cards
    betting: BettingState

    @property
    def player(self) -> int:
        """Return who acts."""
        return self.betting.player

    @property
    def key(self) -> str:
        """Return the infoset's key, as policies have it."""
        return self.game.infoset_text(self.hand, self.board, self.betting.text)

    def action_names(self) -> tuple[str, ...]:
        """Return the legal actions in words."""
        actions = legal_actions(self.game.betting, self.betting)
        return tuple(self.game.betting_action_name(self.betting, action) for action in actions)


def read_infoset(game: PokerGame, text: str) -> PokerInfoset:
    """Return the infoset of a text such as ``AhKd``, ``AhKd|r`` or ``AhKd/2c7d9s|crc/r``; its ``key`` is the way back.

    Slashes may also stand between the board cards of different rounds.
    """
    cards, _, betting_text = text.partition("|")
    hand_text, *board_texts = cards.split("/")
    betting = read_betting(game.betting, betting_text)
    if betting.finished:
        raise InvalidNotation(f"'{text}': the hand is over after '{betting.text}'; nobody has to act")
    hand, board = read_cards(game.deck, hand_text), read_cards(game.deck, "".join(board_texts))
    _check_counts(game, text, [hand], board, {game.board_size(betting.round)})
    return PokerInfoset(game=game, hand=tuple(sorted(hand)), board=ordered_board(game, board), betting=betting)


def read_state(game: PokerGame, *, hands: tuple[str, str], board: str = "", betting: str = "") -> PokerState:
    """Return the state in which players 0 and 1 hold ``hands``, ``board`` lies open, and ``betting`` has happened.

    Board cards that the betting asks for may still be missing, by whole deals: chance deals them next.
    """
    came_to = read_betting(game.betting, betting)
    holdings = [read_cards(game.deck, hand) for hand in hands]
    cards = read_cards(game.deck, board.replace("/", ""))
    text = f"{hands[0]}|{hands[1]}/{board}"
    _check_counts(game, text, holdings, cards, {game.board_size(dealt) for dealt in range(came_to.round + 1)})
    places = tuple(game.hands.index(tuple(sorted(hand))) for hand in holdings)
    return PokerState(game, places, ordered_board(game, cards), came_to)


def board_text(game: PokerGame, board: Cards) -> str:
    """Return a board as the ACPC writes it, a slash before each round's cards: ``/2c7d9s/Th``."""
    return "".join(f"/{game.deck.text(deal)}" for deal in board_deals(game, board) if deal)


def board_deals(game: PokerGame, board: Cards) -> list[Cards]:
    """Return what each round's deal brought to a board."""
    rounds = range(len(game.board_cards))
    return [board[game.board_size(number) - game.board_cards[number] : game.board_size(number)] for number in rounds]


def ordered_board(game: PokerGame, board: Cards) -> Cards:
    """Return a board with the cards of each deal in ascending order."""
    return tuple(card for deal in board_deals(game, board) for card in sorted(deal))


def _check_counts(game: PokerGame, text: str, hands: Sequence[Cards], board: Cards, sizes: set[int]) -> None:
    if any(len(hand) != game.hole_cards for hand in hands):
        wrong = next(len(hand) for hand in hands if len(hand) != game.hole_cards)
        example = game.deck.text(tuple(range(game.deck.size))[: -game.hole_cards - 1 : -1])
        raise InvalidNotation(
            f"'{text}' has a hand of {_counted(wrong)}; {game.name} deals {game.hole_cards}, as in {example}"
        )
    if len(board) not in sizes:
        wanted = " or ".join(str(size or "none") for size in sorted(sizes))
        raise InvalidNotation(
            f"'{text}' has a board of {_counted(len(board))}; after this betting it should have {wanted}"
        )
    cards = [card for cards in (*hands, board) for card in cards]
    for card in cards:
        if cards.count(card) > 1:
            raise InvalidNotation(f"'{text}': the card {game.deck.text((card,))} is dealt twice")


def _counted(cards: int) -> str:
    return f"{cards or 'no'} card{'' if cards == 1 else 's'}"
