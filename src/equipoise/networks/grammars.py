"""What a network is told of an infoset: the steps that its player has observed, and the same as one flat vector.

An infoset is known by its key, and a *grammar* reads the keys of a kind of game. It answers three questions: which
infosets are the same up to a symmetry of the game (they share one row of a network's input), which observed steps led
to a row (for recurrent networks, a cell each), and which features a row has (for feed-forward ones).

- Poker (DN19 Appendix C): a cell holds the private card, the public card and the action: fold, chips spent over the
  stack, or the card that was dealt. Where only ranks decide, suits can be left out without loss (``ranks``).
- Every other game: keys are texts, cut into tokens. Dice and Goofspiel have tokens of their own (bids); the keys of
  OpenSpiel and Gambit games are cut into words, numbers and signs.
"""

import re
import zlib
from collections.abc import Hashable, Sequence
from typing import Literal, Protocol, cast

import numpy as np
import numpy.typing as npt

from equipoise.games import Game
from equipoise.games.betting import BettingState, apply_action
from equipoise.games.bluff import Bluff
from equipoise.games.goofspiel import Goofspiel
from equipoise.games.notation import read_action
from equipoise.games.poker import PokerGame, high_card_or_pair

Float32 = npt.NDArray[np.float32]
Cards = Literal["ranks", "cards"]
Step = Hashable
PokerStep = tuple[str, str, str, int, int]  # hand, open board, what happened, who acted, chips spent by then

_TOKENS = re.compile(r"r\d*|c/|c|f")  # of betting: a slash follows the call that ends a round
MOST_COLUMNS = 2048  # of a flat vector of tokens; beyond it, tokens share columns by a hash


class Grammar(Protocol):
    """How to read the keys of a game."""

    def row_key(self, key: str) -> str:
        """Return a key that infosets share if a symmetry of the game makes them the same."""

    def action(self, name: str) -> str:
        """Return what an action means in every infoset: ``check`` and ``call`` are one."""

    def steps(self, row_key: str) -> tuple[Step, ...]:
        """Return the observed steps, chance's included, at least one."""

    def cells(self, steps: Sequence[Step]) -> Float32:
        """Return one row of numbers for each of some steps."""

    def hints(self, steps: Sequence[Step]) -> Float32:
        """Return what cells do not say of each step, though it helps; no columns: nothing."""

    def flat(self, row_keys: Sequence[str]) -> Float32:
        """Return one vector for each row key."""


def grammar_of(game: Game, cards: Cards) -> Grammar:
    """Return the grammar of a game's keys."""
    if isinstance(game, PokerGame):
        return PokerGrammar(game, cards)
    if isinstance(game, Bluff | Goofspiel):
        return TokenGrammar(r"[^\s|]+|\|")
    return TokenGrammar(r"[A-Za-z]+|\d+(?:\.\d+)?|[^\sA-Za-z\d]")


class PokerGrammar:
    """Keys such as ``Qs/Kh|crc/r``: private cards, board, betting."""

    def __init__(self, game: PokerGame, cards: Cards) -> None:
        self._game = game
        self._deck = game.deck
        # Suits may be left out only where strength is a matter of ranks.
        self._by_rank = cards == "ranks" and game.strength is high_card_or_pair
        rules = game.betting
        self.scale = float(rules.stack or max(self._most_spent()))
        self._states: dict[str, BettingState] = {"": rules.start()}
        self._kinds = len(self._deck.ranks) if self._by_rank else self._deck.size
        self._texts = list(self._deck.ranks) if self._by_rank else [self._deck.text((c,)) for c in range(self._kinds)]
        self._rank_text = re.compile("|".join(re.escape(rank) for rank in sorted(self._deck.ranks, key=len)[::-1]))

    def _most_spent(self) -> tuple[int, ...]:
        rules = self._game.betting
        limit = [(betting.max_raises or 0) * (betting.bet_size or 0) for betting in rules.rounds]
        return (max(rules.blinds) + sum(limit),)

    def row_key(self, key: str) -> str:
        if not self._by_rank:
            return key
        cards, _, betting = key.partition("|")
        hand, _, board = cards.partition("/")
        return f"{self._ranks(hand)}/{self._ranks(board)}|{betting}" if board else f"{self._ranks(hand)}|{betting}"

    def _ranks(self, cards: str) -> str:
        """Return the ranks of cards in order: without suits, their order must not matter either."""
        return "".join(sorted(self._rank_text.findall(cards)))

    def action(self, name: str) -> str:
        word, _, amount = name.partition(" ")
        if word == "fold":
            return "fold"
        return "call" if word in ("call", "check", "pass") else f"raise {amount}".strip()

    def _numbers(self, cards: str) -> list[int]:
        """Return the cards (or ranks) of a text, as numbers."""
        found = []
        while cards:
            number = max(
                (n for n, text in enumerate(self._texts) if cards.startswith(text)), key=lambda n: len(self._texts[n])
            )
            found.append(number)
            cards = cards[len(self._texts[number]) :]
        return found

    def _parts(self, row_key: str) -> tuple[str, str, str]:
        cards, _, betting = row_key.partition("|")
        hand, _, board = cards.partition("/")
        return hand, board, betting

    def _state(self, betting: str) -> BettingState:
        """Return what some betting has come to; every beginning of it is remembered."""
        if betting in self._states:
            return self._states[betting]
        last = _TOKENS.findall(betting)[-1]
        before = self._state(betting[: -len(last)])
        rules = self._game.betting
        self._states[betting] = apply_action(rules, before, read_action(rules, before, last.rstrip("/")))
        return self._states[betting]

    def steps(self, row_key: str) -> tuple[Step, ...]:
        """Return the deal, then each action and each board: (hand, board, what, who, chips)."""
        hand, board, betting = self._parts(row_key)
        found: list[Step] = [(hand, "", "deal", -1, 0)]
        open_board, so_far = "", ""
        for token in _TOKENS.findall(betting):
            actor = self._state(so_far).player
            so_far += token
            what = "fold" if token == "f" else "spent"
            found.append((hand, open_board, what, actor, self._state(so_far).spent[actor]))
            if token.endswith("/"):
                open_board = board
                found.append((hand, open_board, "board", -1, 0))
        return tuple(found)

    @property
    def _pair_flag(self) -> int:
        return int(self._by_rank)

    def _paired(self, mine: Sequence[int], open_cards: Sequence[int]) -> bool:
        """Return whether some rank is in both."""
        ranks = [{n if self._by_rank else self._deck.rank(n) for n in cards} for cards in (mine, open_cards)]
        return bool(ranks[0] & ranks[1])

    def cells(self, steps: Sequence[Step]) -> Float32:
        """Return cells as DN19 has them; 21 numbers on no-limit Leduc: 6 + 6 + fold, spent, 6 dealt + who acts."""
        kinds = self._kinds
        table = np.zeros((len(steps), 3 * kinds + 3 + self._pair_flag), np.float32)
        for row, step in zip(table, steps, strict=True):
            hand, board, what, actor, spent = cast(PokerStep, step)
            mine, open_cards = self._numbers(hand), self._numbers(board)
            row[mine] = 1.0
            row[[kinds + card for card in open_cards]] = 1.0
            row[2 * kinds] = what == "fold"
            row[2 * kinds + 1] = spent / self.scale
            if what == "board":
                row[[2 * kinds + 2 + card for card in open_cards]] = 1.0
            row[3 * kinds + 2] = actor == 1
            if self._pair_flag:
                row[3 * kinds + 3] = self._paired(mine, open_cards)
        return table

    def hints(self, steps: Sequence[Step]) -> Float32:
        """Return a flag for a pair with the board, unless cells have it: with suits, it takes a network long to see."""
        table = np.zeros((len(steps), 1 - self._pair_flag), np.float32)
        for row, step in zip(table, steps, strict=True):
            hand, board, *_ = cast(PokerStep, step)
            row[:] = self._paired(self._numbers(hand), self._numbers(board))
        return table

    def flat(self, row_keys: Sequence[str]) -> Float32:
        """Return cards, a flag for a pair, then the betting: who has spent what, and each round's raises."""
        parts = [self._parts(key) for key in row_keys]
        holdings = {label: n for n, label in enumerate(dict.fromkeys((hand, board) for hand, board, _ in parts))}
        bettings = {text: n for n, text in enumerate(dict.fromkeys(betting for _, _, betting in parts))}
        cards = np.zeros((len(holdings), 2 * self._kinds + 1), np.float32)
        for (hand, board), n in holdings.items():
            mine, open_cards = self._numbers(hand), self._numbers(board)
            cards[n, mine] = 1.0
            cards[n, [self._kinds + card for card in open_cards]] = 1.0
            cards[n, -1] = self._paired(mine, open_cards)
        rounds = [[_TOKENS.findall(part) for part in re.findall(r"[^/]*/?", text)[:-1]] for text in bettings]
        num_rounds = len(self._game.betting.rounds)
        longest = [max((len(each[r]) for each in rounds if len(each) > r), default=0) for r in range(num_rounds)]
        table = np.zeros((len(bettings), 4 + num_rounds + 2 * sum(longest)), np.float32)
        for text, n in bettings.items():
            state = self._state(text)
            table[n, :4] = (
                state.player,
                state.spent[state.player] / self.scale,
                state.spent[1 - state.player] / self.scale,
                state.to_call() / self.scale,
            )
            table[n, 4 + state.round] = 1.0
            so_far, first_column = "", 4 + num_rounds
            for number, tokens in enumerate(rounds[n]):
                for place, token in enumerate(tokens):
                    actor, column = self._state(so_far).player, first_column + 2 * place
                    so_far += token
                    table[n, column] = 1.0 if token[0] == "r" else -1.0
                    if token[0] == "r":
                        table[n, column + 1] = self._state(so_far).spent[actor] / self.scale
                first_column += 2 * longest[number]
        chosen_cards = [holdings[hand, board] for hand, board, _ in parts]
        chosen_betting = [bettings[betting] for _, _, betting in parts]
        return np.concatenate([cards[chosen_cards], table[chosen_betting]], axis=1)


class TokenGrammar:
    """Keys as lists of tokens, for any game."""

    def __init__(self, token: str) -> None:
        self._token = re.compile(token)

    def row_key(self, key: str) -> str:
        return key

    def action(self, name: str) -> str:
        return name

    def steps(self, row_key: str) -> tuple[Step, ...]:
        return ("", *self._token.findall(row_key))

    def cells(self, steps: Sequence[Step]) -> Float32:
        vocabulary = sorted({str(step) for step in steps})
        width = min(len(vocabulary), MOST_COLUMNS)
        table = np.zeros((len(steps), width), np.float32)
        column = {text: n if len(vocabulary) == width else _hashed(text) for n, text in enumerate(vocabulary)}
        for row, step in zip(table, steps, strict=True):
            row[column[str(step)]] = 1.0
        return table

    def hints(self, steps: Sequence[Step]) -> Float32:
        return np.zeros((len(steps), 0), np.float32)

    def flat(self, row_keys: Sequence[str]) -> Float32:
        """Return which tokens a key has and, unless that tells all keys apart, which stands where."""
        lists = [self._token.findall(key) for key in row_keys]
        # A token means something else before the first bar (the private part) than after it.
        sided = [[(token, "|" in tokens[:place]) for place, token in enumerate(tokens)] for tokens in lists]
        if len({frozenset(tokens) for tokens in sided}) == len(row_keys):
            return _one_hot(sided)
        return _one_hot([list(enumerate(tokens)) for tokens in lists])


def _one_hot(lists: Sequence[Sequence[Hashable]]) -> Float32:
    vocabulary = sorted({repr(token) for tokens in lists for token in tokens})
    width = min(len(vocabulary), MOST_COLUMNS)
    column = {text: n if len(vocabulary) == width else _hashed(text) for n, text in enumerate(vocabulary)}
    table = np.zeros((len(lists), width), np.float32)
    for row, tokens in zip(table, lists, strict=True):
        row[[column[repr(token)] for token in tokens]] = 1.0
    varying = table.std(axis=0) > 0.0
    return np.ascontiguousarray(table[:, varying]) if varying.any() else table


def _hashed(text: str) -> int:
    return zlib.crc32(text.encode()) % MOST_COLUMNS
