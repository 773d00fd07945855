"""Safe subgame solving on spots: a strategy stays as it is up to a round, and every board of that round is solved anew.

Of the strategy nothing is kept there but, for each seat, the own range and what the opponent's hands could win at most
against it: their values by a best response, line by line. A gadget (gadgets.py) bounds the opponent by these, so the
new strategy is no more exploitable than the old one, up to what the solves leave. ``unsafe`` solves for both ranges as
the strategy has them, and promises nothing.
"""

from collections.abc import Sequence

import numpy as np

from equipoise.errors import InvalidParameter, NotSupported, require_whole
from equipoise.games.spots import ROUND_NAMES
from equipoise.lanes import aligned_zeros
from equipoise.memory import require
from equipoise.regret.rules import DiscountedCFR, Rule, coefficient_table
from equipoise.solvers.gadgets import GADGETS, MODES, Gadget, begin, enter_next, make_entrance
from equipoise.solvers.spot_cfr import SpotCFR
from equipoise.stores.spot_tables import SpotTables, make_tables
from equipoise.trees.spot_evaluator import SpotEvaluator, SpotStrategy
from equipoise.trees.spot_form import SpotForm, part_of
from equipoise.trees.treeplex import Float
from equipoise.work import Report, silent

ROUNDING = 1e-9  # of a range: what is left of it next to a hand that blocks all of it


class GadgetCFR(SpotCFR):
    """CFR on a board with all its roots: one player enters by its reach, the opponent by a gadget before each root."""

    def __init__(self, part: SpotForm, rule: Rule, gadget: Gadget, opponent: int, given: Float, mass: Float) -> None:
        """Prepare; ``given`` and ``mass`` are [roots, hands] of the opponent."""
        # Of maxmargin, reach is one over masses of any size: too much for single precision.
        super().__init__(part, rule, storage="float64" if gadget == "maxmargin" else "float32")
        self._mode, self._opponent = MODES[gadget], opponent
        self._live = int(part.rounds[0].boards.live[0, opponent])
        self._entrances = [make_entrance(self._live) for _ in given]
        self._entering = np.zeros((len(given), part.rounds[0].boards.width[0, opponent]))
        for root, entrance in enumerate(self._entrances):
            entrance.given[:], entrance.mass[:] = given[root, : self._live], mass[root, : self._live]
            begin(gadget, self._live, entrance, self._entering[root])
        if gadget != "unsafe":
            self._weights[opponent][:] = self._entering.ravel()

    def run(self, iterations: int) -> None:
        """Run some iterations; after each turn of the opponent it chooses anew with what it enters."""
        rules = coefficient_table(self.rule, self.iteration + 1, iterations)
        for exact, rule in zip(rules, rules.astype(self._precision), strict=True):
            self.iteration += 1
            for player in range(2):
                self._turn(rule, player, 1)
            if self._mode != MODES["unsafe"]:
                self._enter(exact)

    def _enter(self, rule: Float) -> None:
        values = self.root_values[self._opponent].astype(np.float64).reshape(self._entering.shape)
        for root, entrance in enumerate(self._entrances):
            enter_next(self._mode, self._live, rule, values[root], entrance, self._entering[root])
        self._weights[self._opponent][:] = self._entering.ravel()


def round_to_resolve(form: SpotForm, name: str | None) -> int:
    """Return the number of the round from which on a spot is solved anew: by default that of the next deal."""
    names = ROUND_NAMES[len(ROUND_NAMES) - form.game.rounds :]
    if form.game.betting_rounds < form.game.rounds:
        raise NotSupported(f"{form.game.name} ends early; solve it without until, or complete it: evaluate --complete")
    if len(names) == 1:
        raise NotSupported("a river spot has no later round that could be solved anew")
    if name is not None and name not in names[1:]:
        raise InvalidParameter(f"from={name} is not a later round of this spot: {', '.join(names[1:])}")
    return 1 if name is None else names.index(name)


def path_to(form: SpotForm, number: int, board: int) -> list[int]:
    """Return the boards that lead to a board, and itself."""
    path = [board]
    for each in range(number, 0, -1):
        path.insert(0, int(form.rounds[each].parent[path[0]]))
    return path


def resolve_boards(
    form: SpotForm,
    strategy: SpotStrategy,
    *,
    number: int,
    gadget: Gadget = "cfrd",
    iterations: int,
    report: Report = silent,
) -> SpotTables:
    """Return a strategy that is the given one before a round, and solved anew on each board of it."""
    require_whole("iterations", iterations, low=1)
    if gadget not in GADGETS:
        raise InvalidParameter(f"gadget={gadget} is not one of {', '.join(GADGETS)}")
    require(2 * 4 * form.num_entries, what="a re-solved spot", instead="give fewer bet sizes")
    out, evaluator = make_tables(form, "float32"), SpotEvaluator(form)
    for earlier in range(number):
        strategy.write(earlier, 0, form.rounds[earlier].num_boards, out.early[earlier])
    boards = form.rounds[number].num_boards
    for board in range(boards):
        report("re-solving", board / boards)
        path = path_to(form, number, board)
        for seat in range(1 if gadget == "unsafe" else 2):
            cfr = _entered(form, evaluator, strategy, path, seat, gadget)
            cfr.run(iterations)
            _copy(cfr, form, out, number, board, (0, 1) if gadget == "unsafe" else (seat,))
    return out


def _entered(
    form: SpotForm, evaluator: SpotEvaluator, strategy: SpotStrategy, path: Sequence[int], seat: int, gadget: Gadget
) -> GadgetCFR:
    """Return what one seat solves on a board."""
    number, board, opponent = len(path) - 1, path[-1], 1 - seat
    roots, width = form.rounds[number].betting.roots, form.rounds[number].boards.width[board]
    plans, _, response = evaluator.board_values(strategy, path, opponent)
    first, second = (plans[player][: roots * width[player]].copy() for player in range(2))
    given = response[: roots * width[opponent]].reshape(roots, -1)
    mass = np.zeros_like(given)
    if gadget == "maxmargin":
        own = (first, second)[seat].reshape(roots, -1)
        for root in range(roots):
            beside = evaluator.check_down(number, board, opponent, own[root])[1]
            mass[root, : len(beside)] = np.where(beside > ROUNDING * own[root].sum(), beside, 0.0)
    part = part_of(form, number, board, (first, second))
    return GadgetCFR(part, DiscountedCFR(), gadget, opponent, given, mass)


def _copy(cfr: SpotCFR, form: SpotForm, out: SpotTables, number: int, board: int, players: Sequence[int]) -> None:
    """Write what some players play on a board, and on all that follow it, into the tables of the whole spot."""
    first, end = board, board + 1
    for later, part in enumerate(cfr.form.rounds):
        whole = form.rounds[number + later]
        table = out.early[number + later] if number + later < len(out.early) else out.uncoded
        found = aligned_zeros(part.size, np.float32)
        cfr.average_strategy().write(later, 0, part.num_boards, found)
        start = int(whole.boards.table_start[first, 0])
        for place in range(part.num_boards):
            for player in players:
                begins = int(part.boards.table_start[place, player])
                count = part.entries[player] * int(part.boards.width[place, player])
                table[start + begins : start + begins + count] = found[begins : begins + count]
        first, end = int(whole.first_child[first]), int(whole.first_child[end])
