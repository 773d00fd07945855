"""Played hands in files: a log of one line a hand, and PHH hand histories.

Poker has the lines of ACPC logs (see ``games.hand_histories``). Other games have lines of our own in that manner: every
event by its name in order, what the seats won, and who sat there: ``HAND:0:bid 2, bid 1, bid 1, bid 3:-1|1:A|B``.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from equipoise.errors import CannotWrite, InvalidNotation, NotFound, NotSupported
from equipoise.evaluation.hands import Hand
from equipoise.evaluation.match import Estimate, Standing, estimate_from
from equipoise.files import same_output, write_atomically
from equipoise.games.hand_histories import PlayedHand, acpc_line, phh_table, read_hands
from equipoise.games.poker import PokerGame, PokerState

OnHand = Callable[[Hand], None]


def log_line(hand: Hand, players: tuple[str, str]) -> str:
    """Return a hand as a line of a log; ``players`` are the names of A and B."""
    if isinstance(hand.end, PokerState):
        return acpc_line(PlayedHand(number=hand.number, state=hand.end, names=hand.seats(players)))
    said = ", ".join(state.action_name(action) for state, action in hand.events())
    payoff = hand.end.payoff()
    return f"HAND:{hand.number}:{said}:{payoff:g}|{0.0 - payoff:g}:{'|'.join(hand.seats(players))}"


def hand_history(hand: Hand, players: tuple[str, str]) -> str:
    """Return a hand of hold'em as a table of a file of poker hand histories (``.phhs``)."""
    if not isinstance(hand.end, PokerState):
        raise NotSupported(
            f"hands of {hand.game.name} cannot be written as PHH, which is for hold'em; use --log instead"
        )
    return phh_table(PlayedHand(number=hand.number, state=hand.end, names=hand.seats(players)))


@contextmanager
def writing_standings(path: Path | None) -> Iterator[Callable[[Standing], None] | None]:
    """Give a function that adds a line about how a match stands to a file, for others to follow; or None."""
    if path is None:
        yield None
        return
    try:
        file = open(path, "w", encoding="utf-8")  # noqa: SIM115 (closed below)
    except OSError as error:
        raise CannotWrite(f"cannot write {path}: {error.strerror}") from None
    with file:

        def write(standing: Standing) -> None:
            try:
                file.write(json.dumps(standing.to_json()) + "\n")
                file.flush()
            except OSError as error:
                raise CannotWrite(f"cannot write {path}: {error.strerror}") from None

        yield write


@contextmanager
def writing_hands(
    players: tuple[str, str], *, log: Path | None = None, phh: Path | None = None
) -> Iterator[OnHand | None]:
    """Give a function that writes a hand wherever it is wanted, or None where it is not wanted at all."""
    _require_two_files(log, phh)
    with ExitStack() as open_files:
        writers: list[OnHand] = []
        if log is not None:
            file = open_files.enter_context(write_atomically(log, "w"))
            writers.append(lambda hand: print(log_line(hand, players), file=file))
        if phh is not None:
            histories = open_files.enter_context(write_atomically(phh, "w"))
            writers.append(lambda hand: print(hand_history(hand, players), file=histories))

        def write(hand: Hand) -> None:
            for writer in writers:
                writer(hand)

        yield write if writers else None


def _require_two_files(log: Path | None, phh: Path | None) -> None:
    if log is not None and phh is not None and same_output(log, phh):
        raise NotSupported("the log and the PHH hand histories cannot go to the same file; give two files")


@dataclass(frozen=True, kw_only=True)
class Winnings:
    """What somebody won in a log."""

    name: str
    hands: int
    chips: int
    estimate: Estimate | None  # of a hand; one hand alone makes none, nor does one deal

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers, each under its name."""
        numbers: dict[str, Any] = {"name": self.name, "hands": self.hands, "chips": self.chips}
        if self.estimate is not None:
            numbers |= {"mean": self.estimate.mean, "interval_95": list(self.estimate.interval)}
        return numbers


def read_log(game: PokerGame, path: Path) -> list[PlayedHand]:
    """Return the hands of a file, in ACPC or PHH format; each is played again by the rules."""
    try:
        return read_hands(game, path.read_text(encoding="utf-8"))
    except OSError as error:
        raise NotFound(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InvalidNotation(f"{path} is not a text file; give an ACPC log or PHH hand histories") from None
    except InvalidNotation as error:
        raise InvalidNotation(f"{path}: {error}") from None


def deals_come_twice(hands: Sequence[PlayedHand]) -> bool:
    """Return whether each deal is played twice in a row, with the seats swapped, as our matches play it."""
    return len(hands) % 2 == 0 and all(map(_same_deal_swapped, hands[::2], hands[1::2]))


def _same_deal_swapped(first: PlayedHand, second: PlayedHand) -> bool:
    shown = min(len(first.state.board), len(second.state.board))  # a fold ends the board early
    same_board = first.state.board[:shown] == second.state.board[:shown]
    return first.names == second.names[::-1] and first.state.hands == second.state.hands and same_board


def winnings(hands: Sequence[PlayedHand]) -> list[Winnings]:
    """Return what each name won, most first; one that sits in both seats is counted by seat.

    Two hands of one deal are not independent: where each deal is played twice, a sample is the mean of its two hands.
    """
    per_sample = 2 if deals_come_twice(hands) else 1
    won: dict[str, list[int]] = defaultdict(list)
    for hand in hands:
        alone = hand.names[0] == hand.names[1]
        for seat, (name, payoff) in enumerate(zip(hand.names, hand.payoffs, strict=True)):
            won[f"{name} (seat {seat})" if alone else name].append(payoff)
    found = []
    for name, payoffs in won.items():
        count, estimate = len(payoffs), None
        samples = np.reshape(payoffs, (-1, per_sample)).mean(axis=1)
        if len(samples) > 1:
            variance = float(np.var(samples, ddof=1))
            estimate = estimate_from(float(np.mean(samples)), variance=variance, samples=len(samples), hands=count)
        found.append(Winnings(name=name, hands=count, chips=sum(payoffs), estimate=estimate))
    return sorted(found, key=lambda each: -each.chips)


def write_hands(hands: Sequence[PlayedHand], *, log: Path | None = None, phh: Path | None = None) -> None:
    """Write hands to an ACPC log, to PHH hand histories, or to both."""
    _require_two_files(log, phh)
    if phh is not None and len({hand.number for hand in hands}) < len(hands):
        raise NotSupported("PHH files need hands with different numbers, and some in this log are the same")
    for path, text_of in ((log, acpc_line), (phh, phh_table)):
        if path is not None:
            with write_atomically(path, "w") as file:
                for hand in hands:
                    print(text_of(hand), file=file)
