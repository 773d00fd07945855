"""A policy over canonical boards: a policy of hold'em that can also be evaluated exactly."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from equipoise.games.poker import PokerGame
from equipoise.policies.holdem_policy import HoldemPolicy
from equipoise.trees.board_form import BoardForm
from equipoise.trees.situations import PlayedStrategy


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class BoardPolicy(HoldemPolicy):
    """Action probabilities of a game over boards."""

    form: BoardForm
    strategy: PlayedStrategy
    origin: Mapping[str, Any] = field(default_factory=dict)

    @property
    def poker(self) -> PokerGame:
        return self.form.game
