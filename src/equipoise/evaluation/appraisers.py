"""The one door to values of actions: from a policy and an opponent to what can appraise the game they play."""

import time
from collections.abc import Callable

from equipoise.errors import NotMeasurable, NotSupported
from equipoise.evaluation.appraisal import Appraisal, Appraiser, InfosetValues
from equipoise.evaluation.board_action_values import BoardAppraiser
from equipoise.evaluation.listed_values import ListedAppraiser
from equipoise.evaluation.match import Entrant, betting_can_be_listed, seat_players
from equipoise.evaluation.players import Seat, both
from equipoise.evaluation.sampled_values import SampledAppraiser
from equipoise.evaluation.spot_action_values import SpotAppraiser
from equipoise.games import Game
from equipoise.games.poker import PokerGame
from equipoise.games.sizes import too_large_to_list
from equipoise.games.spots import Spot
from equipoise.trees.board_evaluator import OnBoards, silent
from equipoise.trees.board_form import has_board_form
from equipoise.trees.treeplex import Float


def appraiser(
    policy: Entrant,
    opponent: Entrant | None = None,
    *,
    game: Game | str | None = None,
    threads: int = 1,
    on_boards: OnBoards = silent,
    patience: float | None = None,
) -> Appraiser:
    """Return what appraises the infosets of a policy that meets an opponent; by default it meets itself.

    Exact values before the board of flop hold'em take a pass over all boards, once: some seconds for tables, minutes
    for networks. If that is longer than ``patience`` (seconds), they are estimated there instead.
    Either may also be a player, or the name of a simple one (``uniform``); ``game`` is needed if neither says it.
    """
    played, (player, other) = seat_players(policy, policy if opponent is None else opponent, game)
    if isinstance(played, Spot):
        return _of_spot(played, player, other)
    over_boards, listed = both(player.over_boards, other.over_boards), both(player.listed, other.listed)
    if isinstance(played, PokerGame) and has_board_form(played) and over_boards is not None:
        source = over_boards[0] if player.policy is not None else over_boards[1]
        made = BoardAppraiser(played, *over_boards, form=source.form_over(played), threads=threads, on_boards=on_boards)
        if patience is not None and made.seconds_to_prepare(time.perf_counter) > patience:
            return BoardsOrSamples(made, SampledAppraiser(played, *over_boards))
        return made
    if listed is not None and not too_large_to_list(played):
        return ListedAppraiser(played, *listed, is_reached=_reached_by(player))
    at_once = both(player.lockstep, other.lockstep)
    if isinstance(played, PokerGame) and at_once is not None and betting_can_be_listed(played):
        return SampledAppraiser(played, *at_once)
    raise NotMeasurable(f"values of actions in {played.name} cannot be found: it is too large, or its players cannot")


class BoardsOrSamples:
    """Appraises a game over boards whose strategy takes long to read: exactly on a board, by estimates before it."""

    exact = False

    def __init__(self, boards: BoardAppraiser, samples: SampledAppraiser) -> None:
        self.game = boards.game
        self.method = f"on a board {boards.method}, before it {samples.method}"
        self._boards, self._samples = boards, samples

    def _of(self, text: str) -> BoardAppraiser | SampledAppraiser:
        return self._boards if "/" in text else self._samples

    def at(self, key: str) -> InfosetValues:
        """Return what is known of an infoset."""
        return self._of(key.partition("|")[2]).at(key)

    def start_value(self, player: int) -> float:
        """Return that it is not known."""
        return float("nan")

    def line(self, betting: str, board: str = "") -> Appraisal:
        """Return what is known of all hands at a line."""
        return self._of(betting).line(betting, board)

    def ranges(self, betting: str, board: str = "") -> tuple[Float, Float]:
        """Return both players' own reach of a line."""
        return self._boards.ranges(betting, board)


def _reached_by(player: Seat) -> Callable[[str], bool]:
    """Return whether a player's average has weight at an infoset; baselines have it everywhere."""
    policy = player.policy
    return (lambda key: True) if policy is None else lambda key: policy[key].reached


def _of_spot(game: Spot, player: Seat, other: Seat) -> SpotAppraiser:
    for each in (player, other):
        if each.in_spots is None:
            raise NotSupported(f"{each.name} cannot be valued in a spot; a solved policy or a simple player can")
    players = both(player.in_spots, other.in_spots)
    assert players is not None
    source = players[0] if player.policy is not None else players[1]
    return SpotAppraiser(*players, source.spot_form(game))


def action_values(policy: Entrant, infoset_key: str, *, opponent: Entrant | None = None) -> InfosetValues:
    """Return what is known of an infoset; an :func:`appraiser` answers many such questions faster."""
    return appraiser(policy, opponent).at(infoset_key)
