"""What every solver is made from, besides the parameters of its recipe."""

from collections.abc import Callable
from dataclasses import dataclass

from equipoise.games import Game
from equipoise.regret.rules import CFR, CFRPlus, DiscountedCFR, LinearCFR, Rule
from equipoise.sampling.large import LargeForm
from equipoise.sampling.tree import TableOrder
from equipoise.trees.board_form import BoardForm, UnmeasuredForm
from equipoise.trees.compile import Engine
from equipoise.trees.fingerprint import described
from equipoise.trees.public_tree import PublicTree
from equipoise.trees.sequence_form import SequenceForm
from equipoise.trees.spot_form import SpotForm
from equipoise.work import Report, silent


@dataclass(frozen=True, kw_only=True)
class Setup:
    """The game, and how to work on it."""

    game: Game
    engine: Engine = "auto"
    seed: int = 0
    threads: int = 1
    device: str = "auto"  # of networks
    order: TableOrder = "auto"  # of sampled tables
    report: Report = silent  # of what is being prepared
    on_complaint: Callable[[str], None] = lambda sentence: None


class AlwaysConcluded:
    """A solver whose strategy so far can be asked for at any time."""

    concluded = True

    def conclude(self, report: Report = silent) -> bool:
        """Do nothing, for nothing is left to do."""
        return False


# A game as evaluation sees it.
Form = SequenceForm | LargeForm | BoardForm | UnmeasuredForm | SpotForm


def fingerprint_of(form: Form) -> str:
    """Return the fingerprint of a compiled game."""
    if isinstance(form, SequenceForm):
        return form.fingerprint
    if isinstance(form, LargeForm) and isinstance(form.sampled.source, PublicTree):
        return form.sampled.source.fingerprint
    return described(form.game)


SAMPLED_RULES: dict[str, Rule] = {
    "cfr": CFR(),
    "cfr_plus": CFRPlus(),
    "cfr_plus_plain": CFRPlus(power=0.0),  # as Double Neural CFR averages: all iterations count the same
    "cfr_plus_quadratic": CFRPlus(power=2.0),
    "linear": LinearCFR(),
    "discounted": DiscountedCFR(),
}
