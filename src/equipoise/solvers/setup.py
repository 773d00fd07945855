"""What every solver is made from, besides the parameters of its recipe."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from equipoise.games import Game
from equipoise.regret.rules import CFR, CFRPlus, DiscountedCFR, LinearCFR, Rule
from equipoise.sampling.tree import LargeForm
from equipoise.trees.board_form import BoardForm, UnmeasuredForm
from equipoise.trees.compile import Engine
from equipoise.trees.sequence_form import SequenceForm
from equipoise.trees.spot_form import SpotForm
from equipoise.work import Report, silent
from equipoise.workers import Workers

if TYPE_CHECKING:
    from equipoise.networks.network import Architecture


@dataclass(frozen=True, kw_only=True)
class Setup:
    """The game, and how to work on it."""

    game: Game
    engine: Engine = "auto"
    seed: int = 0
    threads: int = 1
    device: str = "auto"  # of networks
    network: "Architecture | None" = None  # of one's own, where the settings say so
    workers: Workers | None = None  # elsewhere, to share the work with
    report: Report = silent  # of what is being prepared
    on_complaint: Callable[[str], None] = lambda sentence: None


# A game as evaluation sees it.
Form = SequenceForm | LargeForm | BoardForm | UnmeasuredForm | SpotForm


SAMPLED_RULES: dict[str, Rule] = {
    "cfr": CFR(),
    "cfr_plus": CFRPlus(),
    "cfr_plus_plain": CFRPlus(power=0.0),  # as Double Neural CFR averages: all iterations count the same
    "cfr_plus_quadratic": CFRPlus(power=2.0),
    "linear": LinearCFR(),
    "discounted": DiscountedCFR(),
}
