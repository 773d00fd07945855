"""Play on after a spot that ends early: its strategy stays as it is, and what follows is solved around it.

That is how values at leaves are judged: exactly, in the whole spot.
"""

from dataclasses import replace

from equipoise.errors import NotSupported, require_whole
from equipoise.games.spots import EXACT, Spot
from equipoise.regret.rules import DiscountedCFR
from equipoise.solvers.spot_cfr import SpotCFR
from equipoise.stores.spot_tables import SpotTables
from equipoise.trees.spot_evaluator import SpotStrategy
from equipoise.trees.spot_form import SpotForm, spot_form
from equipoise.work import Report, silent


def whole_spot(game: Spot) -> Spot:
    """Return a spot that ends early, played to the end."""
    if game.until is None or game.values == EXACT:
        raise NotSupported(f"{game.name} is played to the end: there is nothing to complete")
    return replace(game, values=EXACT)


def complete(
    form: SpotForm, strategy: SpotStrategy, iterations: int, *, threads: int = 1, report: Report = silent
) -> tuple[SpotForm, SpotTables]:
    """Return the whole spot, and a strategy that is the given one as far as that goes, and solved from there on."""
    require_whole("iterations", iterations)
    whole = spot_form(whole_spot(form.game))
    rounds = form.game.betting_rounds
    solver = SpotCFR(whole, DiscountedCFR(), threads=threads, frozen=rounds)
    for number, table in enumerate(solver.regret_sum.early[:rounds]):
        assert whole.rounds[number].size == form.rounds[number].size
        strategy.write(number, 0, form.rounds[number].num_boards, table)  # regret matching plays what it reads
    for iteration in range(iterations):
        report("solving what follows", iteration / iterations)
        solver.run(1)
    return whole, solver.average_strategy()
