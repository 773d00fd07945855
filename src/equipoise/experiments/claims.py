"""The ledger of claims."""

from functools import cache

from equipoise.experiments.claim import Claim, Level, NotAttempted
from equipoise.experiments.holdem_claims import HOLDEM_CLAIMS
from equipoise.experiments.neural_claims import NEURAL_CLAIMS
from equipoise.experiments.not_attempted import LEFT
from equipoise.experiments.tabular_claims import TABULAR_CLAIMS
from equipoise.experiments.theory_claims import THEORY_CLAIMS
from equipoise.games import load_game

CLAIMS: dict[str, Claim] = {
    claim.id: claim for claim in (*TABULAR_CLAIMS, *HOLDEM_CLAIMS, *NEURAL_CLAIMS, *THEORY_CLAIMS)
}

NOT_ATTEMPTED: dict[str, NotAttempted] = {claim.id: claim for claim in LEFT if claim.id not in CLAIMS}
_LETTERS = ("G", "D", "C", "S", "T", "V", "L")


def _place(claim_id: str) -> tuple[int, int, str]:
    number = claim_id[1:].split("-")[0]
    return _LETTERS.index(claim_id[0]), int(number), claim_id


ORDER: tuple[str, ...] = tuple(sorted((*CLAIMS, *NOT_ATTEMPTED), key=_place))  # of the page


@cache
def _levels() -> dict[str, list[Level]]:
    """Return the published levels by the addresses of their games."""
    found: dict[str, list[Level]] = {}
    for claim in CLAIMS.values():
        for level in claim.levels:
            found.setdefault(load_game(level.game).address, []).append(level)
    return found


def levels_of(address: str) -> list[Level]:
    """Return the levels that papers have published for a game."""
    return _levels().get(address, [])
