"""Played hands as text, in two formats that other programs read, both ways.

- ACPC: one line a hand, as the logs of the Annual Computer Poker Competition have it, with the result and the players'
  names: ``STATE:0:cr200c/cc/cc/cc:QsQd|AhKd/2c7d9s/Th/3c:200|-200:B|A``.
- PHH (Kim 2024, the poker hand history format): TOML, a table a hand; PokerKit reads it.

In both the seats are listed in the order of acting in the last round: in hold'em the big blind first, then the dealer.
"""

import json
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from equipoise.errors import InvalidNotation
from equipoise.games.betting import BettingState, apply_action
from equipoise.games.game import TERMINAL
from equipoise.games.notation import board_deals, board_text, read_action, read_state
from equipoise.games.poker import HOLDEM_DECK, PokerGame, PokerState

_NAME = re.compile(r"[^:|\s]+( [^:|\s]+)*")
_PHH_ROUNDS = 4
_STACK_IN_BLINDS = 200  # of a game without stacks, where a format wants them: more than can be lost


@dataclass(frozen=True, kw_only=True)
class PlayedHand:
    """A hand that is over: its number, its last state, and who were players 0 and 1."""

    number: int
    state: PokerState
    names: tuple[str, str]

    def __post_init__(self) -> None:
        if self.state.player != TERMINAL:
            raise InvalidNotation(f"hand {self.number} is not over after '{self.state.betting.text}'")
        for name in self.names:
            if not _NAME.fullmatch(name):
                raise InvalidNotation(
                    f"'{name}' cannot be a player's name in a log; leave out ':', '|' and line breaks"
                )

    @property
    def payoffs(self) -> tuple[int, int]:
        """Return what players 0 and 1 have won."""
        won = round(self.state.payoff())
        return won, -won


def _seats(game: PokerGame) -> tuple[int, int]:
    first = game.betting.rounds[-1].first_player
    return first, 1 - first


def acpc_line(hand: PlayedHand) -> str:
    """Return a hand as a line of an ACPC log."""
    state, seats = hand.state, _seats(hand.state.game)
    game, betting = state.game, state.betting
    skipped = 0 if betting.folded >= 0 else betting.round - betting.text.count("/")
    cards = "|".join(game.hand_text(game.hands[state.hands[seat]]) for seat in seats)
    won = "|".join(str(hand.payoffs[seat]) for seat in seats)
    names = "|".join(hand.names[seat] for seat in seats)
    return f"STATE:{hand.number}:{betting.text}{'/' * skipped}:{cards}{board_text(game, state.board)}:{won}:{names}"


def read_acpc_line(game: PokerGame, line: str) -> PlayedHand:
    """Return the hand of a line of an ACPC log; the payoffs in it must be those of the rules."""
    found = re.fullmatch(
        r"STATE:(\d+):([^:]*):([^:|/]+)\|([^:|/]+)((?:/[^:|/]+)*):([^:|]+)\|([^:|]+):([^:|]+)\|([^:|]+)", line.strip()
    )
    if found is None:
        raise InvalidNotation(
            f"'{line.strip()}' is not an ACPC line: STATE:number:betting:cards|cards/board:won|won:a|b"
        )
    number, betting, *hands, board, won0, won1, name0, name1 = found.groups()
    seats = _seats(game)
    by_player = [seats.index(player) for player in range(2)]
    state = read_state(game, hands=(hands[by_player[0]], hands[by_player[1]]), board=board, betting=betting)
    names = [name0, name1]
    hand = PlayedHand(number=int(number), state=state, names=(names[by_player[0]], names[by_player[1]]))
    won = [_amount(won0), _amount(won1)]
    if [hand.payoffs[seat] for seat in seats] != won:
        raise InvalidNotation(f"hand {number}: the log pays {won0}|{won1}, which the rules of {game.name} do not")
    return hand


def _amount(text: str) -> float | None:
    return float(text) if re.fullmatch(r"-?\d+(\.\d+)?", text) else None


def phh(hand: PlayedHand) -> str:
    """Return a hand in the poker hand history format.

    The format has no hold'em that ends after the flop: such a hand is written as limit hold'em that stops there, with
    the finishing stacks; and the game's name stands in a field of our own, ``_game``.
    """
    state = hand.state
    game, seats = state.game, _seats(state.game)
    fields: dict[str, Any] = _phh_rules(game)
    stack = fields["starting_stacks"][0]
    fields |= {
        "actions": _phh_actions(state),
        "hand": hand.number,
        "players": [hand.names[seat] for seat in seats],
        "finishing_stacks": [stack + hand.payoffs[seat] for seat in seats],
        "_game": game.name,
    }
    # A JSON value of these types is a TOML value too.
    return "".join(f"{name} = {json.dumps(value, ensure_ascii=False)}\n" for name, value in fields.items())


def _phh_rules(game: PokerGame) -> dict[str, Any]:
    rules = game.betting
    if game.deck != HOLDEM_DECK or game.hole_cards != 2:
        raise InvalidNotation(f"hands of {game.name} cannot be written as PHH, which is for hold'em; write an ACPC log")
    small, big = rules.rounds[0].bet_size, rules.rounds[-1].bet_size
    stack = rules.stack if rules.stack is not None else _STACK_IN_BLINDS * game.big_blind
    return {
        "variant": "NT" if small is None else "FT",
        "antes": [0, 0],
        "blinds_or_straddles": sorted(rules.blinds),  # by PHH's custom as at a larger table, though two sit in reverse
        **({"min_bet": game.big_blind} if small is None else {"small_bet": small, "big_bet": big}),
        "starting_stacks": [stack, stack],
    }


def _phh_actions(state: PokerState) -> list[str]:
    game, rules, seats = state.game, state.game.betting, _seats(state.game)
    holdings = [(f"p{place}", game.hand_text(game.hands[state.hands[seat]])) for place, seat in enumerate(seats, 1)]
    actions = [f"d dh {who} {cards}" for who, cards in holdings]
    deals = [f"d db {game.deck.text(deal)}" for deal in board_deals(game, state.board)]
    betting, spent_before, last_round = rules.start(), 0, 0
    for text in re.findall(r"r\d*|c|f", state.betting.text):
        after = apply_action(rules, betting, read_action(rules, betting, text))
        name = {"f": "f", "c": "cc"}.get(text, f"cbr {max(after.spent) - spent_before}")
        actions.append(f"p{seats.index(betting.player) + 1} {name}")
        if after.round > betting.round and not after.finished:
            actions.append(deals[after.round])
            spent_before = max(after.spent)  # an amount is that of the round
        betting, last_round = after, betting.round
    if state.betting.folded < 0:
        # Hands are shown when the betting is over; all-in, before the rest of the board. A game that ends earlier than
        # the format's own cannot show: there, betting would go on.
        if len(game.board_cards) == _PHH_ROUNDS:
            actions += [f"{who} sm {cards}" for who, cards in holdings]
        actions += deals[last_round + 1 :]
    return actions


def read_phh(game: PokerGame, text: str) -> PlayedHand:
    """Return the hand of a text in the poker hand history format; it must be one of ``game``."""
    try:
        return _from_phh(game, tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise InvalidNotation(f"this is not a PHH hand: {error}") from None


def phh_table(hand: PlayedHand) -> str:
    """Return a hand as a table of a ``.phhs`` file, which is such tables one after the other."""
    return f"[{hand.number + 1}]\n{phh(hand)}"


def read_phhs(game: PokerGame, text: str) -> list[PlayedHand]:
    """Return the hands of a ``.phhs`` file."""
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidNotation(f"this is not a file of PHH hands: {error}") from None
    for name, table in tables.items():
        if not isinstance(table, dict):
            raise InvalidNotation(f"this is not a file of PHH hands: '{name}' stands outside a hand; each begins [1]")
    return [_from_phh(game, table) for table in tables.values()]


def read_hands(game: PokerGame, text: str) -> list[PlayedHand]:
    """Return the hands of a log: lines of the ACPC, whose comments and scores are passed over, or PHH."""
    lines = {k: line for k, line in enumerate(text.splitlines(), 1) if line.strip() and line.lstrip()[0] != "#"}
    if not lines:
        raise InvalidNotation("there are no hands in this log")
    if not next(iter(lines.values())).startswith("STATE:"):
        many = any(line.startswith("[") for line in lines.values())
        return read_phhs(game, text) if many else [read_phh(game, text)]
    hands = []
    for number, line in lines.items():
        if line.startswith("SCORE:"):
            continue
        try:
            hands.append(read_acpc_line(game, line))
        except InvalidNotation as error:
            raise InvalidNotation(f"line {number}: {error}") from None
    return hands


def _are_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _from_phh(game: PokerGame, fields: dict[str, Any]) -> PlayedHand:
    number = fields.get("hand", 0)
    if not isinstance(number, int) or isinstance(number, bool):
        raise InvalidNotation(f"hand = {number!r} is not the number of a hand")
    actions, players = fields.get("actions", []), fields.get("players", ["p1", "p2"])
    if not _are_texts(actions):
        raise InvalidNotation(f"hand {number}: actions must be a list of texts")
    if not _are_texts(players) or len(players) != 2:
        raise InvalidNotation(f"hand {number}: players must be a list of two names")
    for name, value in _phh_rules(game).items():
        if fields.get(name) != value:
            raise InvalidNotation(f"hand {number}: {name} is {fields.get(name)}, but {value} in {game.name}")
    seats = _seats(game)
    hands, board, betting = ["", ""], "", game.betting.start()
    spent_before = 0
    for action in actions:
        match action.split("#")[0].split():
            case ["d", "dh", ("p1" | "p2") as seat, cards]:
                hands[seats[int(seat[1]) - 1]] = cards
            case ["d", "db", cards]:
                board += cards
                spent_before = max(betting.spent)
            case [("p1" | "p2") as seat, ("f" | "cc" | "cbr") as what, *amount]:
                if betting.finished or seats[int(seat[1]) - 1] != betting.player:
                    raise InvalidNotation(f"hand {number}: '{action}' is out of turn after '{betting.text}'")
                betting = apply_action(game.betting, betting, _phh_action(game, betting, what, amount, spent_before))
            case [_, "sm", *_]:
                pass  # who shows what adds nothing where all cards are known
            case _:
                raise InvalidNotation(f"hand {number}: '{action}' is not an action of hold'em in PHH")
    state = read_state(game, hands=(hands[0], hands[1]), board=board, betting=betting.text)
    return PlayedHand(number=number, state=state, names=(players[seats.index(0)], players[seats.index(1)]))


def _phh_action(game: PokerGame, betting: BettingState, what: str, amount: Sequence[str], spent_before: int) -> int:
    if what != "cbr":
        return read_action(game.betting, betting, {"f": "f", "cc": "c"}[what])
    if len(amount) != 1 or not amount[0].isdigit():
        raise InvalidNotation(f"'cbr {' '.join(amount)}' needs a whole number of chips")
    return read_action(game.betting, betting, f"r{spent_before + int(amount[0])}")
