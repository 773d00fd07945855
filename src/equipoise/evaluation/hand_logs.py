"""Played hands in files: a log of one line a hand, and a folder of PHH hand histories.

Poker has the lines of ACPC logs (see ``games.hand_histories``). Other games have lines of our own in that manner: every
event by its name in order, what the seats won, and who sat there: ``HAND:0:bid 2, bid 1, bid 1, bid 3:-1|1:A|B``.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from equipoise.errors import EquipoiseError
from equipoise.evaluation.hands import Hand
from equipoise.files import write_atomically
from equipoise.games.hand_histories import PlayedHand, acpc_line, phh
from equipoise.games.poker import PokerState

OnHand = Callable[[Hand], None]


def log_line(hand: Hand, players: tuple[str, str]) -> str:
    """Return a hand as a line of a log; ``players`` are the names of A and B."""
    if isinstance(hand.end, PokerState):
        return acpc_line(PlayedHand(number=hand.number, state=hand.end, names=hand.seats(players)))
    said = ", ".join(state.action_name(action) for state, action in hand.events())
    payoff = hand.end.payoff()
    return f"HAND:{hand.number}:{said}:{payoff:g}|{0.0 - payoff:g}:{'|'.join(hand.seats(players))}"


def hand_history(hand: Hand, players: tuple[str, str]) -> str:
    """Return a hand of hold'em in the poker hand history format."""
    if not isinstance(hand.end, PokerState):
        raise EquipoiseError(f"hands of {hand.game.name} cannot be written as PHH, only hold'em; write a log instead")
    return phh(PlayedHand(number=hand.number, state=hand.end, names=hand.seats(players)))


@contextmanager
def writing_hands(
    players: tuple[str, str], *, log: Path | None = None, phh: Path | None = None
) -> Iterator[OnHand | None]:
    """Give a function that writes a hand wherever it is wanted, or None where it is not wanted at all."""
    with ExitStack() as open_files:
        writers: list[OnHand] = []
        if log is not None:
            file = open_files.enter_context(write_atomically(log, "w"))
            writers.append(lambda hand: print(log_line(hand, players), file=file))
        if phh is not None:
            folder = _empty_folder(phh)
            writers.append(lambda hand: _write_history(folder / f"{hand.number}.phh", hand_history(hand, players)))

        def write(hand: Hand) -> None:
            for writer in writers:
                writer(hand)

        yield write if writers else None


def _write_history(path: Path, text: str) -> None:
    # Not through write_atomically: to wait for the disk after every hand would take longer than to play it.
    try:
        path.write_text(text)
    except OSError as error:
        raise EquipoiseError(f"cannot write {path}: {error.strerror}") from None


def _empty_folder(path: Path) -> Path:
    try:
        path.mkdir(parents=True, exist_ok=True)
        if any(path.iterdir()):
            raise EquipoiseError(f"{path} is not empty; give a new folder for the hand histories")
    except OSError as error:
        raise EquipoiseError(f"cannot write hand histories to {path}: {error.strerror}") from None
    return path
