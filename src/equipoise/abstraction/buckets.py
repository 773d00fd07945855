"""Abstractions by name: what ``buckets=ehs2:10``, ``kmeans:552`` and ``none`` are on a hold'em game.

How many buckets a round has is known before any table is made, and so is the size of the abstract game.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import comb
from typing import ClassVar, NamedTuple

import numpy as np

from equipoise.abstraction.bucket_tables import (
    HIGHEST_CODE,
    BucketTables,
    RoundBoards,
    bucket_of,
    lossless_tables,
    round_boards,
    table_bytes,
)
from equipoise.abstraction.cache import Parts, cached
from equipoise.abstraction.clusters import cluster_tables
from equipoise.abstraction.percentiles import percentile_tables
from equipoise.errors import InvalidParameter, NotSupported
from equipoise.games import Game
from equipoise.games.poker import PokerGame, best_five_cards
from equipoise.games.suits import HOLE_CARDS, choose_table, hand_images, orbit_count, place_of_set
from equipoise.memory import require
from equipoise.work import Report, silent

NONE = "none"


class Deck(NamedTuple):
    """The cards of a hold'em game: all that an abstraction depends on."""

    ranks: int
    suits: int
    board_sizes: tuple[int, ...]

    @property
    def size(self) -> int:
        """Return the number of cards."""
        return self.ranks * self.suits


@dataclass(frozen=True, kw_only=True)
class Percentiles:
    """Nested percentiles of E[HS^2], ``count`` a round (Gibson et al. 2012)."""

    kind: ClassVar[str] = "ehs2"
    count: int

    @property
    def text(self) -> str:
        return f"{self.kind}:{self.count}"

    def buckets(self, deck: Deck) -> list[int]:
        return [self.count ** (r + 1) for r in range(len(deck.board_sizes))]

    def make(self, boards: RoundBoards, parts: Parts) -> BucketTables:
        return percentile_tables(boards, self.count, parts)


@dataclass(frozen=True, kw_only=True)
class Clusters:
    """k-means on strength to come and against groups of hands; before the flop lossless (Brown et al. 2019, Fig. 2)."""

    kind: ClassVar[str] = "kmeans"
    count: int

    @property
    def text(self) -> str:
        return f"{self.kind}:{self.count}"

    def buckets(self, deck: Deck) -> list[int]:
        if len(deck.board_sizes) < 2 or deck.board_sizes[0] != 0:
            raise NotSupported("buckets=kmeans is for games that begin without a board; use buckets=ehs2:10")
        return [orbit_count(deck.ranks, deck.suits, [HOLE_CARDS]), *[self.count] * (len(deck.board_sizes) - 1)]

    def make(self, boards: RoundBoards, parts: Parts) -> BucketTables:
        return cluster_tables(boards, self.count, parts)


@dataclass(frozen=True, kw_only=True)
class Lossless:
    """Every hand and board up to suits by itself: no abstraction."""

    kind: ClassVar[str] = NONE
    text: ClassVar[str] = NONE

    def buckets(self, deck: Deck) -> list[int]:
        if len(deck.board_sizes) != 2 or deck.board_sizes[0] != 0:
            raise NotSupported(
                "buckets=none is for games with one deal of board cards, such as flop_holdem; use buckets=ehs2:10"
            )
        sizes = ([HOLE_CARDS], [HOLE_CARDS, deck.board_sizes[1]])
        return [orbit_count(deck.ranks, deck.suits, size) for size in sizes]

    def make(self, boards: RoundBoards, parts: Parts) -> BucketTables:
        return lossless_tables(boards)


Kind = Percentiles | Clusters | Lossless


def kind_from_text(text: str) -> Kind:
    """Return the abstraction that a text names."""
    name, _, number = text.partition(":")
    if text == NONE:
        return Lossless()
    if number.isdecimal() and int(number) >= 1:
        if name == Percentiles.kind and int(number) <= 100:
            return Percentiles(count=int(number))
        if name == Clusters.kind and int(number) <= HIGHEST_CODE + 1:
            return Clusters(count=int(number))
    raise InvalidParameter(
        f"buckets={text} is not valid; give ehs2:N (N percentiles per round, up to 100), kmeans:N (N clusters per "
        f"round, up to {HIGHEST_CODE + 1:,}) or none"
    )


def has_deck(game: Game) -> bool:
    """Return whether a game is hold'em: two private cards, and the best five of all cards win."""
    return isinstance(game, PokerGame) and game.hole_cards == HOLE_CARDS and game.strength is best_five_cards


def deck_of(game: Game) -> Deck:
    """Return the cards of a hold'em game."""
    if not isinstance(game, PokerGame) or not has_deck(game):
        raise NotSupported(f"buckets are for hold'em games (flop_holdem, limit_holdem, ...), not for {game.name}")
    sizes = tuple(game.board_size(r) for r in range(len(game.board_cards)))
    return Deck(len(game.deck.ranks), len(game.deck.suits), sizes)


@dataclass(frozen=True, kw_only=True)
class Buckets:
    """An abstraction of a deck, ready for use."""

    kind: Kind
    deck: Deck
    tables: BucketTables

    @property
    def counts(self) -> list[int]:
        """Return the number of buckets in each round."""
        return self.kind.buckets(self.deck)

    def path(self, hole: Sequence[int], board: Sequence[int]) -> list[int]:
        """Return a hand's bucket in each round so far; the board's cards as they were dealt."""
        choose = choose_table(self.deck.size)
        hand = place_of_set(np.array(sorted(hole), np.uint8), choose)
        buckets: list[int] = []
        for betting_round, size in enumerate(self.deck.board_sizes):
            if size > len(board):
                break
            raw = place_of_set(np.array(sorted(board[:size]), np.uint8), choose)
            raw += int(self.tables.first_raw[betting_round])
            found, renaming = int(self.tables.board_of[raw]), int(self.tables.renaming_of[raw])
            image = hand_images(self.deck.ranks, self.deck.suits)[renaming, hand]
            before = buckets[-1] if buckets else 0
            buckets.append(int(bucket_of(self.tables, betting_round, before, found, int(image))))
        return buckets


def make_buckets(
    game: Game,
    text: str,
    *,
    report: Report = silent,
    on_complaint: Callable[[str], None] = lambda sentence: None,
) -> Buckets:
    """Return the abstraction of a game that a text names, from the cache on disk if it was made before."""
    deck, kind = deck_of(game), kind_from_text(text)
    kind.buckets(deck)  # says what is wrong before any work
    canonical = sum(orbit_count(deck.ranks, deck.suits, [size]) for size in deck.board_sizes)
    raw = sum(comb(deck.size, size) for size in deck.board_sizes)
    # Beside the tables: means of the rounds before the last, or histograms and features (limit_holdem: 2.2 GiB in all).
    require(5 * table_bytes(deck.size, canonical, raw) + (1 << 28), what=f"buckets {text} of {game.name}")

    def report_of(what: str, share: float) -> None:
        report(f"making buckets: {what}", share)

    parts = Parts.of(kind.kind, (text, *deck), report_of, on_complaint) if text != NONE else Parts(report_of)

    def make() -> dict[str, np.ndarray[tuple[int, ...], np.dtype[np.generic]]]:
        return kind.make(round_boards(*deck), parts)._asdict()

    arrays = cached(kind.kind, (text, *deck), make, on_complaint) if text != NONE else make()
    parts.forget()
    return Buckets(kind=kind, deck=deck, tables=BucketTables(**arrays))
