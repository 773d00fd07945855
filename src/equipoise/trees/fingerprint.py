"""Fingerprints of games: what a run or a policy was made for, in a few letters, so that changed rules are noticed.

A fingerprint begins with what was hashed: ``tree`` (every history), ``public`` (public nodes and hands), ``poker`` (the
description of a game too large to list) or ``name``. Only fingerprints of one kind say anything about each other.
"""

import hashlib
import random

import numpy as np
import numpy.typing as npt

from equipoise.errors import EquipoiseError, GameChanged
from equipoise.games import Game
from equipoise.games.poker import PokerGame

SHOWDOWNS = 500  # hands whose strengths stand for the rule that ranks them


def fingerprint(kind: str, *parts: npt.NDArray[np.generic] | str) -> str:
    """Return the fingerprint of arrays and texts."""
    digest = hashlib.sha256()  # the fastest on most processors
    for part in parts:
        if isinstance(part, str):
            content = part.encode(errors="surrogatepass")
            digest.update(f"text {len(content)} ".encode() + content)
        else:
            # The machine's own order of bytes does not count, nor does the layout in memory.
            array = np.ascontiguousarray(part, part.dtype.newbyteorder("<"))
            digest.update(f"{array.dtype.str} {array.shape} ".encode())
            digest.update(array.data)
    return f"{kind}:{digest.hexdigest()[:32]}"


def described(game: Game) -> str:
    """Return the fingerprint of a game that is not listed: of poker what defines it, of others the name."""
    if not isinstance(game, PokerGame):
        return fingerprint("name", game.name)
    parts = (game.deck, game.betting, game.board_cards, game.hole_cards, sorted(game.names.items()))
    draw, cards = random.Random(0), game.hole_cards + sum(game.board_cards)
    strengths = []
    for _ in range(SHOWDOWNS):
        dealt = draw.sample(range(game.deck.size), cards)
        hand, board = tuple(sorted(dealt[: game.hole_cards])), tuple(sorted(dealt[game.hole_cards :]))
        strengths.append(game.strength_of(hand, board))
    return fingerprint("poker", *map(repr, parts), np.array(strengths, np.int64))


def differ(known: str | None, now: str | None) -> bool:
    """Return whether two fingerprints are known to be of different rules."""
    return known is not None and now is not None and known != now and known.split(":")[0] == now.split(":")[0]


def require_same_game(known: str | None, now: str, *, what: str, of: str, game: str) -> None:
    """Refuse what was made with other rules than the game has now; where nothing is known, it is taken as it is.

    ``of`` is what the file calls its game, ``game`` what it is to be used with.
    """
    if differ(known, now):
        if of != game:
            raise EquipoiseError(f"{what} is of {of}, and {game} has other rules")
        raise GameChanged(
            f"{what} was made with other rules: {game} has changed since; solve it again, or bring back its old rules"
        )
