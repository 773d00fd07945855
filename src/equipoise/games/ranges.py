"""Ranges of hold'em hands as players write them, read and written: ``66+,A8s+,A5s-A4s,AJo:0.5,KhQh``, or ``all``.

A part of a range is one of these, with a weight after a colon where it is not 1; parts are separated by commas, bars or
spaces, and a later part replaces what an earlier one said of a hand.

    AA  AKs  AKo  AK    a pair, suited, offsuit, both
    66+  A8s+           this pair or better; this kicker or a better one, below the first card
    QQ-22  A5s-A4s      from one to the other
    KhQh                one hand
    all                 every hand
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from equipoise.errors import InvalidNotation
from equipoise.games.poker import HOLDEM_DECK, Cards, Deck, sets_of_cards

EVERYTHING = "all"
_SEPARATORS = re.compile(r"[,|\s]+")

Float = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Range:
    """The weight of each hand, 0 to 1; hands in the order of ``sets_of_cards(deck.size, 2)``."""

    weights: Float
    deck: Deck = HOLDEM_DECK

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Range) and self.deck == other.deck and bool((self.weights == other.weights).all())

    def __hash__(self) -> int:
        return hash(self.weights.tobytes())

    def __str__(self) -> str:
        return write_range(self)

    def without(self, cards: Sequence[int]) -> "Range":
        """Return the range without the hands that hold one of some cards."""
        blocked = [not set(hand).isdisjoint(cards) for hand in sets_of_cards(self.deck.size, 2)]
        return Range(np.where(blocked, 0.0, self.weights), self.deck)

    def grid(self) -> Float:
        """Return the mean weights of the 13 x 13 classes: aces first, suited above the diagonal."""
        ranks = len(self.deck.ranks)
        grid = np.zeros((ranks, ranks))
        for name, hands in hand_classes(self.deck).items():
            high, low = (ranks - 1 - self.deck.ranks.index(rank) for rank in name[:2])
            row, column = (low, high) if name.endswith("o") else (high, low)
            grid[row, column] = self.weights[hands].mean() if len(hands) else 0.0
        return grid


_CLASSES: dict[Deck, dict[str, list[int]]] = {}


def hand_classes(deck: Deck = HOLDEM_DECK) -> dict[str, list[int]]:
    """Return the hands of each class (``AA``, ``AKs``, ``AKo``), as places in the list of all hands; aces first."""
    if deck not in _CLASSES:
        ranks, suits = deck.ranks[::-1], len(deck.suits)
        found: dict[str, list[int]] = {}
        for high, first in enumerate(ranks):
            for second in ranks[high:]:
                kinds = ("",) if first == second else ("s", "o") if suits > 1 else ("o",)
                found |= {first + second + kind: [] for kind in kinds}
        for place, hand in enumerate(sets_of_cards(deck.size, 2)):
            found[class_name(deck, hand)].append(place)
        _CLASSES[deck] = found
    return _CLASSES[deck]


def class_name(deck: Deck, hand: Cards) -> str:
    """Return the class of a hand: ``AKs`` for ``AhKh``."""
    low, high = sorted(hand)
    name = deck.ranks[deck.rank(high)] + deck.ranks[deck.rank(low)]
    if name[0] == name[1]:
        return name
    return name + ("s" if low % len(deck.suits) == high % len(deck.suits) else "o")


def read_range(text: str, deck: Deck = HOLDEM_DECK) -> Range:
    """Return the range that a text describes, or say which part of it is wrong."""
    weights = np.zeros(len(sets_of_cards(deck.size, 2)))
    parts = [part for part in _SEPARATORS.split(text.strip()) if part]
    if not parts:
        raise InvalidNotation("a range is empty: write hands such as 66+,A8s+,AJo:0.5,KhQh, or all")
    for part in parts:
        hands, colon, weight = part.partition(":")
        weights[_hands_of(deck, hands, part)] = _weight(weight, part) if colon else 1.0
    return Range(weights, deck)


def _weight(text: str, part: str) -> float:
    if not re.fullmatch(r"\d*\.?\d+(e-?\d+)?|\d+\.", text) or not 0.0 <= float(text) <= 1.0:
        raise InvalidNotation(f"range part '{part}': the weight '{text}' is not a number from 0 to 1")
    return float(text)


def _hands_of(deck: Deck, text: str, part: str) -> list[int]:
    """Return the places of the hands that one part names."""
    if text.casefold() == EVERYTHING:
        return list(range(len(sets_of_cards(deck.size, 2))))
    ranks = "".join(map(re.escape, deck.ranks))
    if found := re.fullmatch(rf"([{ranks}])([{deck_suits(deck)}])([{ranks}])([{deck_suits(deck)}])", text, re.I):
        return [_one_hand(deck, found.groups(), part)]
    found = re.fullmatch(rf"([{ranks}]{{2}})([so]?)(\+|-([{ranks}]{{2}})([so]?))?", text, re.I)
    if found is None:
        raise InvalidNotation(
            f"range part '{part}' is not a hand or hands: write AA, 66+, QQ-22, AKs, A8s+, A5s-A4s, AJo, AK or KhQh"
        )
    names, kind = found[1].upper(), found[2].lower()
    high, low = sorted(map(deck.ranks.index, names), reverse=True)
    if high == low and kind:
        raise InvalidNotation(f"range part '{part}': a pair is neither suited nor offsuit; write {names}")
    lows = range(low, low + 1)
    if found[3] == "+":
        lows = range(low, len(deck.ranks) if high == low else high)
    elif found[3]:
        lows = _lows_between(deck, (high, low, kind), (found[4].upper(), found[5].lower()), part)
    kinds = ("",) if high == low else (kind,) if kind else ("s", "o")
    classes = hand_classes(deck)
    places: list[int] = []
    for other in lows:
        first, second = (other, other) if high == low else (high, other)
        for each in kinds:
            places += classes.get(deck.ranks[first] + deck.ranks[second] + each, [])
    return places


def _lows_between(deck: Deck, start: tuple[int, int, str], end: tuple[str, str], part: str) -> range:
    """Return the lower ranks of a span such as ``QQ-22`` or ``A5s-A4s``, given in either order."""
    high, low, kind = start
    other_high, other_low = sorted(map(deck.ranks.index, end[0]), reverse=True)
    pairs = high == low, other_high == other_low
    if pairs[0] != pairs[1] or kind != end[1] or not (pairs[0] or high == other_high):
        raise InvalidNotation(
            f"range part '{part}': both ends must be pairs, or share the first card and the kind, as in A5s-A4s"
        )
    return range(min(low, other_low), max(low, other_low) + 1)


def _one_hand(deck: Deck, pieces: Sequence[str], part: str) -> int:
    suits = len(deck.suits)
    cards = [
        deck.ranks.index(rank.upper()) * suits + deck.suits.index(suit.lower())
        for rank, suit in (pieces[:2], pieces[2:])
    ]
    if cards[0] == cards[1]:
        raise InvalidNotation(f"range part '{part}' has the card {deck.text(cards[:1])} twice")
    return sets_of_cards(deck.size, 2).index((min(cards), max(cards)))


def deck_suits(deck: Deck) -> str:
    """Return the letters of a deck's suits."""
    return "".join(deck.suits)


def write_range(given: Range, separator: str = ",") -> str:
    """Return a short text from which ``read_range`` makes the same range again."""
    if (given.weights == 1.0).all():
        return EVERYTHING
    return separator.join(_parts(given))


def _parts(given: Range) -> Iterator[str]:
    deck, classes = given.deck, hand_classes(given.deck)
    whole = {
        name: float(given.weights[hands[0]])
        for name, hands in classes.items()
        if hands and (given.weights[hands] == given.weights[hands[0]]).all()
    }
    ranks = deck.ranks[::-1]
    runs = [[rank + rank for rank in ranks]]
    runs += [[high + low + kind for low in ranks[place + 1 :]] for kind in "so" for place, high in enumerate(ranks)]
    for run in runs:
        place = 0
        while place < len(run):
            weight = whole.get(run[place], 0.0)
            end = place + 1
            if weight > 0.0:
                while end < len(run) and whole.get(run[end], 0.0) == weight:
                    end += 1
                yield _span(run, place, end) + _weight_text(weight)
            place = end
    for name, hands in classes.items():
        if name not in whole:
            for place in hands:
                if given.weights[place] > 0.0:
                    hand = sets_of_cards(deck.size, 2)[place]
                    yield deck.text(hand[::-1]) + _weight_text(float(given.weights[place]))


def _span(run: list[str], start: int, end: int) -> str:
    if end - start == 1:
        return run[start]
    return f"{run[end - 1]}+" if start == 0 else f"{run[start]}-{run[end - 1]}"


def _weight_text(weight: float) -> str:
    return "" if weight == 1.0 else f":{weight!r}"
