"""Spots: no-limit hold'em from the flop, turn or river on, with a pot, stacks and two ranges.

What a poker player types into a solver. A spot is a value with three forms that mean the same: one line of text,
a file of ``key value`` lines, and :func:`spot` in Python::

    spot(board=Td9d6hQc,pot=200,stack=900,first=66+|A8s+|AJo:0.5,second=QQ-22|KQs,bets=0.5-1-allin)

The *first* player (0) acts first in every round; *second* is player 1, in position. Payoffs to player 0 are relative to
half the pot, so the game is zero-sum (without rake): what the first player takes home of the pot, less what it puts in
from here on, is payoff + pot / 2.

A spot may end where the turn or the river is dealt (``until=river``). What follows is then worth what ``values`` says:

- ``check-down``: as if nobody bet any more;
- ``zero``: as if the pot were shared out;
- ``exact``: it is solved on;
- anything else names a value network, a file or ``network`` for the one that comes with equipoise.

Called all-ins are paid as they are in all of these.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from equipoise.errors import EquipoiseError, InvalidParameter, nearest
from equipoise.files import read_text
from equipoise.games.betting import (
    CALL,
    FOLD,
    BettingRound,
    BettingRules,
    BettingState,
    PotSizes,
    apply_action,
    legal_actions,
    raise_totals,
)
from equipoise.games.game import CHANCE, TERMINAL, Game, State
from equipoise.games.locks import BETWEEN_LOCKS, Lock, read_locks
from equipoise.games.notation import read_cards
from equipoise.games.poker import HOLDEM_DECK, Cards, Deck, best_five_cards, sets_of_cards
from equipoise.games.ranges import Range, read_range, write_range
from equipoise.games.sizes import betting_size

FULL_BOARD = 5
ROUND_NAMES = ("flop", "turn", "river")
MOST_NODES = 200_000  # of the betting tree, cards not counted
MOST_STATES = 10_000  # different ones: what must be looked at to count the nodes
MOST_CHIPS = 10_000_000
ALL_IN = "allin"
NONE = "none"
CHECK_DOWN, ZERO, EXACT = VALUES = ("check-down", "zero", "exact")  # others are networks

Float = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Rake:
    """What the house takes of a pot that is won: a share, at most ``cap`` chips."""

    share: float = 0.0
    cap: float | None = None

    def of(self, pot: float) -> float:
        """Return the rake of a pot."""
        taken = self.share * pot
        return taken if self.cap is None else min(taken, self.cap)


@dataclass(frozen=True, kw_only=True)
class Spot(Game):
    """A spot. Make one with :func:`spot`, which checks what it is given."""

    board: Cards
    pot: int
    stack: int
    ranges: tuple[Range, Range]
    bets: tuple[PotSizes, ...]  # by round
    raises: tuple[PotSizes, ...]
    rake: Rake = Rake()
    deck: Deck = HOLDEM_DECK
    locks: tuple[Lock, ...] = ()  # what players are bound to: chance plays it for them
    until: str | None = None  # betting ends where this round is dealt
    values: str = CHECK_DOWN  # what the closings before it are worth

    @cached_property
    def name(self) -> str:
        return f"spot({','.join(f'{name}={text}' for name, text in self.texts.items())})"

    @property
    def texts(self) -> dict[str, str]:
        """Return the parameters as ``spot_from_texts`` takes them; those that have no effect are left out."""
        first, second = (write_range(each, "|") for each in self.ranges)
        texts = {"board": self.deck.text(self.board), "pot": str(self.pot), "stack": str(self.stack)}
        texts |= {"first": first, "second": second, "bets": write_sizes(self.bets)}
        if self.raises != self.bets:
            texts["raises"] = write_sizes(self.raises)
        if self.rake.share > 0.0:
            texts["rake"] = repr(self.rake.share)
            texts |= {} if self.rake.cap is None else {"cap": repr(self.rake.cap)}
        if self.locks:
            texts["locks"] = BETWEEN_LOCKS.join(self.lock_texts)
        if self.until is not None:
            texts |= {"until": self.until, "values": self.values}
        return texts

    @property
    def lock_texts(self) -> list[str]:
        """Return the locks as they are written."""
        return [lock.text(self.betting) for lock in self.locks]

    def shares_at(self, hand: int, board: Cards, betting: str) -> tuple[float, ...] | None:
        """Return what a hand (a place in ``hands``) is bound to play, or None if it is free."""
        for lock in reversed(self.locks):
            dealt = not lock.board or lock.board == board[len(self.board) :]
            if lock.line.text == betting and dealt and lock.hands.weights[hand] > 0.0:
                return lock.shares
        return None

    @property
    def rounds(self) -> int:
        """Return how many rounds there are, also those in which nobody bets."""
        return FULL_BOARD + 1 - len(self.board)

    @property
    def betting_rounds(self) -> int:
        """Return in how many rounds there is betting."""
        if self.until is None or self.values == EXACT:
            return self.rounds
        return ROUND_NAMES.index(self.until) - len(ROUND_NAMES) + self.rounds

    def is_left_open(self, state: BettingState) -> bool:
        """Return whether the hand ends because the spot does: nobody has folded, and nobody is all-in."""
        return self.betting_rounds < self.rounds and state.folded < 0 and min(state.spent) < self.stack

    @cached_property
    def betting(self) -> BettingRules:
        """Return the betting rules: stacks and bets count from the beginning of the spot."""
        rounds = tuple(
            BettingRound(pot_sizes=bets, raise_sizes=raises)
            for bets, raises in zip(self.bets, self.raises, strict=True)
        )
        return BettingRules(blinds=(0, 0), rounds=rounds[: self.betting_rounds], stack=self.stack, dead=self.pot)

    @cached_property
    def hands(self) -> tuple[Cards, ...]:
        """Return every private hand of the deck."""
        return sets_of_cards(self.deck.size, 2)

    @cached_property
    def weights(self) -> tuple[Float, Float]:
        """Return both players' weights of all hands; those that share a card with the board have none."""
        first, second = (each.without(self.board).weights for each in self.ranges)
        return first, second

    @cached_property
    def compatible(self) -> tuple[Float, Float]:
        """Return, for each hand of a player, the weight of the opponent's hands that share no card with it."""
        both = []
        for player in range(2):
            theirs = self.weights[1 - player]
            by_card = np.zeros(self.deck.size)
            for hand, weight in zip(self.hands, theirs, strict=True):
                by_card[list(hand)] += weight
            places = np.array(self.hands)
            rest = theirs.sum() - by_card[places[:, 0]] - by_card[places[:, 1]] + theirs
            both.append(np.where(self.weights[player] > 0.0, np.maximum(rest, 0.0), 0.0))
        return both[0], both[1]

    @cached_property
    def pairs(self) -> float:
        """Return the weight of all pairs of hands that can be dealt."""
        return float(self.weights[0] @ self.compatible[0])

    def strength(self, hand: Cards, board: Cards) -> int:
        """Return the strength of a hand on a full board."""
        return best_five_cards(self.deck, hand, board)

    def board_size(self, betting_round: int) -> int:
        """Return how many board cards lie open in a round of the spot."""
        return len(self.board) + betting_round

    def hand_text(self, hand: Cards) -> str:
        """Return a hand as players write it, the highest card first."""
        return self.deck.text(sorted(hand, reverse=True))

    def infoset_text(self, hand: Cards, board: Cards, betting: str) -> str:
        """Return an infoset's key, as in ``AhKd/Td9d6hQc|cr200``."""
        return f"{self.hand_text(hand)}/{self.deck.text(board)}|{betting}"

    def seat_name(self, player: int) -> str:
        """Return what a player is called."""
        return ("first player", "second player")[player]

    def betting_action_name(self, state: BettingState, action: int) -> str:
        """Return an action in words; amounts are chips of this round, as in ``bet 200`` and ``raise to 600``."""
        if action == FOLD:
            return "fold"
        facing = state.to_call() > 0
        if action == CALL:
            return "call" if facing else "check"
        total = raise_totals(self.betting, state)[action - CALL - 1]
        before = self._spent_before(state)
        amount = f"{'raise to' if facing else 'bet'} {total - before}"
        return f"{amount} (all-in)" if total == self.stack else amount

    def _spent_before(self, state: BettingState) -> int:
        """Return what each player had spent when the round began."""
        if state.round == 0:
            return 0
        before = state.text.rsplit("/", 1)[0]
        raised = re.findall(r"r(\d+)", before)
        return int(raised[-1]) if raised else 0

    def winnings(self, state: BettingState) -> tuple[float, float]:
        """Return what the winner gains and the loser pays at the end of a hand, relative to half the pot."""
        if self.values == ZERO and self.is_left_open(state):
            return 0.0, 0.0
        matched = min(state.spent)
        half = self.pot / 2 + matched
        return half - self.rake.of(self.pot + 2 * matched), half

    def root(self) -> "SpotState":
        return SpotState(self, (), self.board, self.betting.start())


@dataclass(frozen=True, slots=True)
class SpotState(State):
    """A history: the hands dealt so far (as places in ``game.hands``), the board, and the betting."""

    game: Spot
    hands: tuple[int, ...]
    board: Cards
    betting: BettingState

    @property
    def _deals_board(self) -> bool:
        open_cards = FULL_BOARD if self.betting.finished else self.game.board_size(self.betting.round)
        return self.betting.folded < 0 and len(self.board) < open_cards

    @property
    def player(self) -> int:
        if len(self.hands) < 2 or self._deals_board:
            return CHANCE
        if self.betting.finished:
            return TERMINAL
        return self.betting.player if self._bound() is None else CHANCE

    def _bound(self) -> tuple[float, ...] | None:
        """Return what the acting player is bound to, if anything."""
        if not self.game.locks:
            return None
        return self.game.shares_at(self.hands[self.betting.player], self.board, self.betting.text)

    def actions(self) -> Sequence[int]:
        if len(self.hands) < 2:
            return [int(place) for place in np.flatnonzero(self._hand_weights())]
        if self._deals_board:
            dealt = {*self.board, *(card for hand in self.hands for card in self.game.hands[hand])}
            return [card for card in range(self.game.deck.size) if card not in dealt]
        if self.betting.finished:
            return []
        legal, bound = legal_actions(self.game.betting, self.betting), self._bound()
        return legal if bound is None else [action for action, share in zip(legal, bound, strict=True) if share > 0.0]

    def _hand_weights(self) -> Float:
        """Return the weights of the hands that may be dealt next."""
        game = self.game
        if not self.hands:
            return game.weights[0] * game.compatible[0]
        held = set(game.hands[self.hands[0]])
        return np.where([held.isdisjoint(hand) for hand in game.hands], game.weights[1], 0.0)

    def chance_probabilities(self) -> Sequence[float]:
        if len(self.hands) < 2:
            weights = self._hand_weights()
            return [float(weight) for weight in weights[weights > 0.0] / weights.sum()]
        if not self._deals_board and (bound := self._bound()) is not None:
            return [share / sum(bound) for share in bound if share > 0.0]
        count = len(self.actions())
        return [1.0 / count] * count

    def child(self, action: int) -> "SpotState":
        if len(self.hands) < 2:
            return SpotState(self.game, (*self.hands, action), self.board, self.betting)
        if self._deals_board:
            return SpotState(self.game, self.hands, (*self.board, action), self.betting)
        return SpotState(self.game, self.hands, self.board, apply_action(self.game.betting, self.betting, action))

    def infoset_key(self) -> str:
        hand = self.game.hands[self.hands[self.betting.player]]
        return self.game.infoset_text(hand, self.board, self.betting.text)

    def action_name(self, action: int) -> str:
        if len(self.hands) < 2:
            return self.game.hand_text(self.game.hands[action])
        if self._deals_board:
            return self.game.deck.text((action,))
        return self.game.betting_action_name(self.betting, action)

    def payoff(self) -> float:
        if self.game.rake.share > 0.0:
            raise InvalidParameter("a spot with rake is not zero-sum: leave out rake to play or list it")
        if self.game.values not in VALUES and self.game.is_left_open(self.betting):
            raise InvalidParameter("a network values whole ranges, not single hands: leave out values to play")
        won, _ = self.game.winnings(self.betting)
        if self.betting.folded >= 0:
            return won if self.betting.folded == 1 else -won
        mine, theirs = (self.game.strength(self.game.hands[hand], self.board) for hand in self.hands)
        return won * ((mine > theirs) - (mine < theirs))


def read_sizes(text: str, rounds: int, what: str = "bets") -> tuple[PotSizes, ...]:
    """Return bet sizes by round: ``0.5-1-allin`` for all rounds, ``0.5/1-allin/allin`` round by round.

    Sizes are fractions of the pot (after the call, for raises), ``100%`` or ``allin``, in any order; ``none`` is none.
    """
    parts = text.split("/")
    if len(parts) not in (1, rounds):
        named = "/".join(ROUND_NAMES[len(ROUND_NAMES) - rounds :])
        raise InvalidParameter(
            f"spot: {what}={text} has sizes for {len(parts)} rounds, and the spot has {rounds} ({named})"
        )
    sizes = [_round_sizes(part, what, text) for part in parts]
    return tuple(sizes * rounds if len(sizes) == 1 else sizes)


def _round_sizes(part: str, what: str, text: str) -> PotSizes:
    words = [word for word in re.split(r"[-,\s]+", part.strip()) if word]
    fractions, all_in = set(), False
    if words == [NONE]:
        return PotSizes(fractions=(), all_in=False)
    for word in words:
        if word.casefold() in (ALL_IN, "a"):
            all_in = True
        elif re.fullmatch(r"\d{1,4}(\.\d{1,8})?%?", word) and (size := Fraction(word.rstrip("%"))) > 0:
            fractions.add(size / 100 if word.endswith("%") else size)
        else:
            words = []
            break
    if not words:
        raise InvalidParameter(
            f"spot: {what}={text} is not valid; give fractions of the pot such as 0.5-1-allin, by round 0.5/1/1-allin, "
            "or none"
        )
    return PotSizes(fractions=tuple(sorted(fractions)), all_in=all_in)


def write_sizes(sizes: Sequence[PotSizes]) -> str:
    """Return bet sizes as ``read_sizes`` takes them."""
    texts = [
        "-".join([*map(_fraction_text, each.fractions), *([ALL_IN] if each.all_in else [])]) or NONE for each in sizes
    ]
    return texts[0] if len(set(texts)) == 1 else "/".join(texts)


def _fraction_text(size: Fraction) -> str:
    text = f"{float(size):.8f}".rstrip("0").rstrip(".")
    return text if Fraction(text) == size else f"{float(size * 100):.8f}".rstrip("0").rstrip(".") + "%"


def spot(
    board: str,
    pot: int,
    stack: int,
    first: str | Range = "all",
    second: str | Range = "all",
    bets: str = "1-allin",
    raises: str | None = None,
    rake: float = 0.0,
    cap: float | None = None,
    locks: str | Sequence[str] = (),
    until: str | None = None,
    values: str | None = None,
    *,
    deck: Deck = HOLDEM_DECK,
) -> Spot:
    """Return a spot, or raise :class:`EquipoiseError` saying what is wrong with it.

    ``first`` and ``second`` are the players' ranges, ``stack`` is what each can still bet, ``bets`` and ``raises`` are
    sizes as in ``0.5-1-allin`` (for all rounds) or ``0.5/1/1-allin`` (flop, turn, river); raises are as bets if not
    given. ``rake`` is the share that the house takes of a pot, at most ``cap`` chips. ``locks`` bind hands to a
    strategy at a line, as in ``c:QQ+,AK=check:0.3,bet 200:0.7`` (games/locks.py). ``until`` is the round before which
    the spot ends, ``values`` what is worth what there: ``check-down``, ``zero``, ``exact``, or a network's file.
    """
    cards = _read_board(board, deck)
    _check_chips("pot", pot)
    _check_chips("stack", stack)
    rounds = FULL_BOARD + 1 - len(cards)
    bet_sizes = read_sizes(bets, rounds)
    raise_sizes = bet_sizes if raises is None else read_sizes(raises, rounds, "raises")
    if not 0.0 <= rake < 1.0 or (cap is not None and not cap >= 0.0):
        capped = "" if cap is None else f" with cap={cap}"
        raise InvalidParameter(f"spot: rake={rake}{capped} is not valid; give a share of the pot below 1, and chips")
    ranges = []
    for name, given in (("first", first), ("second", second)):
        try:
            ranges.append(given if isinstance(given, Range) else read_range(given, deck))
        except EquipoiseError as error:
            raise InvalidParameter(f"spot: {name}: {error}") from None
    made = Spot(
        board=cards,
        pot=pot,
        stack=stack,
        ranges=(ranges[0], ranges[1]),
        bets=bet_sizes,
        raises=raise_sizes,
        rake=Rake(share=rake, cap=cap),
        deck=deck,
        until=_read_until(until, cards),
    )
    if values is not None:
        made = valued(made, values)
    _check_ranges(made)
    _check_sizes(made)
    return locked(made, locks) if locks else made


def locked(game: Spot, locks: str | Sequence[str]) -> Spot:
    """Return a spot with further locks, or say what is wrong with them."""
    try:
        read = read_locks(locks, game.betting, game.deck, game.board, game.betting_action_name)
    except EquipoiseError as error:
        raise InvalidParameter(f"spot: {error}") from None
    for lock in read:
        who, weights = ("first", "second")[lock.line.player], game.weights[lock.line.player]
        held = lock.hands.without(lock.board).weights > 0.0
        if not (weights[held] > 0.0).any():
            raise InvalidParameter(
                f"spot: lock '{lock.text(game.betting)}': the {who} player, who acts there, has none of these hands"
            )
    return replace(game, locks=(*game.locks, *read))


def valued(game: Spot, values: str) -> Spot:
    """Return a spot whose closings are worth what ``values`` says."""
    if game.until is None:
        raise InvalidParameter(f"spot: values={values} says what a spot is worth where it ends; give until=river, too")
    if game.rake.share > 0.0 and values not in (CHECK_DOWN, EXACT):
        raise InvalidParameter(f"spot: values={values} ignores rake; leave out rake, or choose check-down or exact")
    return replace(game, values=values)


def _read_until(until: str | None, board: Cards) -> str | None:
    later = ROUND_NAMES[len(board) - len(ROUND_NAMES) + 1 :] if len(board) < FULL_BOARD else ()
    if until is None or until in later:
        return until
    if until not in ROUND_NAMES:
        raise InvalidParameter(f"spot: until={until} is not a round; give turn or river")
    raise InvalidParameter(
        f"spot: until={until}: the {until} is already on the board"
        + (f"; give {' or '.join(later)}" if later else "; a spot on the river has no round to end before")
    )


def _read_board(text: str, deck: Deck) -> Cards:
    try:
        cards = read_cards(deck, re.sub(r"[\s,]+", "", text))
    except EquipoiseError as error:
        raise InvalidParameter(f"spot: board={text}: {error}") from None
    if not FULL_BOARD - 2 <= len(cards) <= FULL_BOARD:
        raise InvalidParameter(f"spot: board={text} has {len(cards)} cards; give the flop (3), turn (4) or river (5)")
    return cards


def _check_chips(name: str, chips: int) -> None:
    if isinstance(chips, bool) or not isinstance(chips, int) or not 1 <= chips <= MOST_CHIPS:
        raise InvalidParameter(
            f"spot: {name}={chips} is not valid; give a whole number of chips from 1 to {MOST_CHIPS}"
        )


def _check_ranges(made: Spot) -> None:
    for name, weights in zip(("first", "second"), made.weights, strict=True):
        if not weights.any():
            raise InvalidParameter(
                f"spot: the board {made.deck.text(made.board)} blocks every hand of the {name} player's range"
            )
    if not made.pairs > 0.0:
        raise InvalidParameter("spot: the ranges block each other: no two of their hands can be dealt together")


def _check_sizes(made: Spot) -> None:
    opening = made.bets[0]
    if opening.fractions:
        smallest = opening.totals(0, 1, MOST_CHIPS * 10_000, made.pot)[0]
        if made.stack < smallest:
            raise InvalidParameter(
                f"spot: stack={made.stack} is below the smallest bet of {smallest} chips; give smaller bets,"
                " or bets=allin"
            )
    nodes = betting_size(made.betting, MOST_STATES).nodes
    if nodes > MOST_NODES:
        raise InvalidParameter(
            f"spot: these bets and raises make {nodes:,} betting nodes, and at most {MOST_NODES:,} are solved; "
            "give fewer sizes"
        )


_KEYS: dict[str, str] = {"oop": "first", "ip": "second", "bet": "bets", "raise": "raises"}  # as other programs say
PARAMETERS = ("board", "pot", "stack", "first", "second", "bets", "raises", "rake", "cap", "locks", "until", "values")


def _chips(text: str) -> int:
    return int(text) if re.fullmatch(r"\d{1,9}", text) else 0


def _number(name: str) -> Callable[[str], float]:
    def read(text: str) -> float:
        try:
            return float(text)
        except ValueError:
            raise InvalidParameter(f"spot: {name}={text} is not a number") from None

    return read


def spot_from_texts(given: dict[str, str]) -> Spot:
    """Return the spot whose parameters are given as texts."""
    for name in ("board", "pot", "stack"):
        if name not in given:
            raise InvalidParameter(f"spot: {name} is missing; give board, pot and stack, as in board=Td9d6hQc,pot=200")
    for name in ("pot", "stack"):
        if _chips(given[name]) < 1:
            raise InvalidParameter(f"spot: {name}={given[name]} is not valid; give a whole number of chips above 0")
    readers: dict[str, Callable[[str], object]] = {"pot": _chips, "stack": _chips}
    readers |= {name: _number(name) for name in ("rake", "cap")}
    return spot(**{name: readers.get(name, str)(text) for name, text in given.items()})  # type: ignore[arg-type]


def load_spot_text(arguments: str) -> Spot:
    """Return the spot of a text such as ``board=Td9d6hQc,pot=200,stack=900,first=66+|A8s+``."""
    given: dict[str, str] = {}
    for piece in filter(None, (piece.strip() for piece in arguments.split(","))):
        name, equals, value = (part.strip() for part in piece.partition("="))
        if not equals:
            raise InvalidParameter(
                f"spot: '{piece}' is not a parameter; write name=value, and hands of a range with bars: first=66+|A8s+"
            )
        _add(given, name, value)
    return spot_from_texts(given)


def load_spot_file(path: str) -> Spot:
    """Return the spot of a file of ``key value`` lines: ``board Td9d6hQc``, ``first 66+,A8s+``, ``pot 200``, ..."""
    lines = read_text(path, expected="a spot's text file").splitlines()
    given: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        text = line.partition("#")[0].strip()
        if not text:
            continue
        name, _, value = text.partition(" ")
        if name == "name":
            continue
        if not value.strip():
            raise InvalidParameter(f"spot:{path}, line {number}: '{text}' is not 'key value', as in 'pot 200'")
        if name == "lock":  # one a line, as many as there are
            given["locks"] = BETWEEN_LOCKS.join(filter(None, (given.get("locks"), value.strip())))
            continue
        try:
            _add(given, _KEYS.get(name, name), value.strip())
        except EquipoiseError as error:
            raise InvalidParameter(f"spot:{path}, line {number}: {error}") from None
    try:
        return spot_from_texts(given)
    except EquipoiseError as error:
        raise InvalidParameter(f"spot:{path}: {str(error).removeprefix('spot: ')}") from None


def spot_file(game: Spot) -> str:
    """Return a spot as the text of a file that ``load_spot_file`` reads."""
    lines = []
    for name, text in game.texts.items():
        if name == "locks":
            lines += [f"lock {lock}" for lock in game.lock_texts]
        else:
            lines.append(f"{name} {text.replace('|', ',') if name in ('first', 'second') else text}")
    return "\n".join(lines) + "\n"


def _add(given: dict[str, str], name: str, value: str) -> None:
    if name not in PARAMETERS:
        raise InvalidParameter(f"spot has no parameter '{name}'{nearest(name, PARAMETERS) or _listed()}")
    if name in given:
        raise InvalidParameter(f"spot: parameter '{name}' is given twice")
    given[name] = value


def _listed() -> str:
    return f"; it has {', '.join(PARAMETERS)}"
