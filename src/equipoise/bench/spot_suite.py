"""The suite ``spots``: reference spots to half a per cent of the pot, against postflop-solver, on one thread.

Times are processor seconds of the iterations alone, which is also what the peer's numbers are: exploitability is
computed every ten iterations, ours exactly, and its time is not counted on either side.

The peer runs in the same rounds where ``$EQUIPOISE_POSTFLOP`` names a program that does its work: called as ``PROGRAM
FILE ITERATIONS EVERY`` with a file of five lines (cards; pot and stack; bet and raise sizes as ``100%, a;100%, a``; two
lines of ``AhKd:weight``), it prints ``ITERATION wall S cpu S exploitability P %`` every so many iterations. Where it is
missing, its printed seconds stand in for it, scaled by how long a loop of scalar arithmetic takes on this machine.

Spots of Libratus are measured where ``$EQUIPOISE_LIBRATUS`` names a checkout of Sandholm-Lab/LibratusEndgames.
"""

import itertools
import os
import re
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import numpy as np
import numpy.typing as npt

from equipoise.bench.measure import MEBIBYTES, OURS, Report, Row, Unit, readable, run_program
from equipoise.bench.measure import one_core as pinned_to_one_core
from equipoise.compiled import kernel
from equipoise.errors import EquipoiseError, require_whole
from equipoise.games import load_game
from equipoise.games.poker import HOLDEM_DECK, sets_of_cards
from equipoise.games.ranges import Range
from equipoise.games.spots import Spot, spot
from equipoise.regret.rules import DiscountedCFR
from equipoise.solvers.recipes import SPOT_DEFAULTS
from equipoise.solvers.spot_cfr import SpotCFR
from equipoise.trees.spot_evaluator import SpotEvaluator
from equipoise.trees.spot_form import SpotForm, spot_form

PEER = "postflop-solver"
GOAL = 0.5  # per cent of the pot
EVERY = 10  # iterations between two looks
CPU_SECONDS = Unit(name="CPU s", rate=False)
WALL_SECONDS = Unit(name="s", rate=False)
# How much faster the machine on which a loop took LOOP_SECONDS runs the peer than the one its seconds were printed on.
PRINTED_TO_LOOP, LOOP_SECONDS = 0.49, 0.01105


@dataclass(frozen=True, kw_only=True)
class Reference:
    """A spot with what is printed of the peer: value of the first player, seconds to the goal, memory."""

    name: str
    ev_first: float
    tolerance: float
    printed_seconds: float
    printed_mebibytes: float
    required: float  # how many times as fast as the peer
    sizes: str = "100%, a;100%, a"  # as the peer writes them
    stack: int | None = None  # of Libratus's spots, whose files do not say


REFERENCES = (
    Reference(
        name="river_full", ev_first=464.675, tolerance=0.01, printed_seconds=0.0243, printed_mebibytes=0.5, required=2
    ),
    Reference(
        name="turn_basic", ev_first=91.217, tolerance=0.04, printed_seconds=0.77, printed_mebibytes=8, required=1
    ),
    Reference(name="turn_full", ev_first=91.23, tolerance=0.09, printed_seconds=3.9, printed_mebibytes=41, required=2),
    Reference(name="flop_basic", ev_first=107.98, tolerance=0.1, printed_seconds=70, printed_mebibytes=497, required=1),
    Reference(
        name="flop_benchmark",
        ev_first=535.7,
        tolerance=1.5,
        printed_seconds=220,
        printed_mebibytes=1266,
        required=1,
        sizes="100%, a;50%, a",
    ),
)
_HALVES = "50%, 100%, a;50%, 100%, a"
LIBRATUS = (
    Reference(
        name="libratus2",
        ev_first=2364.6,
        tolerance=1,
        printed_seconds=9.5,
        printed_mebibytes=75,
        required=1,
        sizes=_HALVES,
        stack=17610,
    ),
    Reference(
        name="libratus3",
        ev_first=292.6,
        tolerance=0.3,
        printed_seconds=1.6,
        printed_mebibytes=5,
        required=1,
        sizes=_HALVES,
        stack=19750,
    ),
    Reference(
        name="libratus4",
        ev_first=2298.5,
        tolerance=0.2,
        printed_seconds=0.047,
        printed_mebibytes=1,
        required=1,
        sizes=_HALVES,
        stack=18125,
    ),
)


def spots(*, rounds: int = 5, report: Report) -> list[Row]:
    """Measure everything; ``report`` gets a line for each measurement."""
    require_whole("rounds", rounds)
    rows = []
    with tempfile.TemporaryDirectory(prefix="equipoise-bench-") as folder:
        scale = None
        if "EQUIPOISE_POSTFLOP" not in os.environ:
            scale = PRINTED_TO_LOOP * _loop_seconds() / LOOP_SECONDS
            report(f"{PEER} is not here: its printed seconds times {scale:.2f}, by a loop of scalar arithmetic")
        with pinned_to_one_core() as pinned:
            for reference, game in _games():
                rows += _measured(reference, game, rounds, report, Path(folder), scale, pinned)
        rows.append(_two_threads(report))
    return rows


def _games() -> Iterator[tuple[Reference, Spot]]:
    folder = resources.files("equipoise.bench") / "spots"
    for reference in REFERENCES:
        game = load_game(f"spot:{folder / reference.name}.txt")
        assert isinstance(game, Spot)
        yield reference, game
    libratus = os.environ.get("EQUIPOISE_LIBRATUS")
    for reference in LIBRATUS if libratus else ():
        yield reference, libratus_spot(Path(str(libratus)) / f"subgame{reference.name[-1]}.txt", reference.stack or 0)


def libratus_spot(path: Path, stack: int) -> Spot:
    """Return one of Libratus's endgames, with bets and raises of half the pot, the pot and all-in."""
    try:
        text = path.read_text()
    except OSError as error:
        raise EquipoiseError(f"{path}: {error.strerror}") from None
    given = dict(line[1:].split(maxsplit=1) for line in text.splitlines() if line.startswith("-"))
    reach = np.array(given["reach"].split(), np.float64).reshape(2, -1)
    number = {HOLDEM_DECK.text((card,)): card for card in range(HOLDEM_DECK.size)}
    cards = [number[rank + suit] for rank in HOLDEM_DECK.ranks for suit in "shdc"]
    place = {hand: k for k, hand in enumerate(sets_of_cards(HOLDEM_DECK.size, 2))}
    order = [place[min(pair), max(pair)] for pair in itertools.combinations(cards, 2)]
    weights = np.zeros_like(reach)
    weights[:, order] = reach
    first, second = (Range(each) for each in weights)
    return spot(given["board"].strip(), int(given["pot"]), stack, first, second, bets="0.5-1-allin")


def _measured(
    reference: Reference, game: Spot, rounds: int, report: Report, folder: Path, scale: float | None, pinned: bool
) -> list[Row]:
    form = spot_form(game)
    times: list[float] = []
    theirs: list[float] = []
    notes: list[str] = []
    for current in range(rounds):
        found = solve_to(form, GOAL)
        times.append(found.seconds)
        said = f"{OURS} {readable(found.seconds)} s, {found.iterations} iterations, ev_first {found.ev_first:.3f}"
        if scale is None:
            seconds, iterations = _peer(reference, game, found.iterations, folder)
            theirs.append(seconds)
            said += f"; {PEER} {readable(seconds)} s, {iterations} iterations"
        report(f"{reference.name} to {GOAL} % of the pot, round {current + 1} of {rounds}: {said}")
        if found.seconds > 20:
            break  # long enough for one measurement
    if scale is not None:
        theirs = [scale * reference.printed_seconds]
        notes.append(f"{PEER}: printed, {reference.printed_seconds} s, times {scale:.2f}")
    off = abs(found.ev_first - reference.ev_first)
    if off > reference.tolerance + (found.exploitability_pot + GOAL) / 100 * game.pot:
        raise EquipoiseError(f"{reference.name}: ev_first is {found.ev_first}, and should be {reference.ev_first}")
    solved = {OURS: tuple(times), PEER: tuple(theirs)}
    tables = {OURS: (2 * 4 * form.num_entries / 2**20,), PEER: (reference.printed_mebibytes,)}
    total = f"tables, as {PEER} counts; with room to work in and to evaluate {found.memory / 2**20:.1f} MiB"
    return [
        Row(
            work=f"{reference.name} to {GOAL} % of the pot",
            unit=CPU_SECONDS,
            samples=solved,
            one_core=pinned,
            required={PEER: reference.required},
            notes=tuple(notes),
        ),
        Row(
            work=f"{reference.name}: memory",
            unit=MEBIBYTES,
            samples=tables,
            one_core=pinned,
            required={PEER: 1.0},
            notes=(total,),
        ),
    ]


@dataclass(frozen=True, kw_only=True)
class Found:
    """What solving a spot came to."""

    iterations: int
    seconds: float  # processor time of iterations
    ev_first: float
    exploitability_pot: float
    memory: int


def solve_to(form: SpotForm, goal: float, *, threads: int = 1, at_most: int = 5000) -> Found:
    """Solve a spot to an exploitability in per cent of the pot."""
    rule = DiscountedCFR(**SPOT_DEFAULTS["dcfr"])
    SpotCFR(form, rule).run(1)  # compiles
    solver, evaluator = SpotCFR(form, rule, threads=threads), SpotEvaluator(form, threads)
    seconds = 0.0
    while solver.iteration < at_most:
        started = time.process_time()
        solver.run(EVERY)
        seconds += time.process_time() - started
        values = evaluator.best_responses(solver.average_strategy())
        percent = 100 * values.exploitability / form.game.pot
        if percent <= goal:
            break
    return Found(
        iterations=solver.iteration,
        seconds=seconds,
        ev_first=values.value + form.game.pot / 2,
        exploitability_pot=percent,
        memory=solver.memory,
    )


def _peer(reference: Reference, game: Spot, iterations: int, folder: Path) -> tuple[float, int]:
    """Return the peer's processor seconds and iterations to the goal."""
    file = folder / f"{reference.name}.txt"
    lines = [" ".join(game.deck.text((card,)) for card in game.board), f"{game.pot} {game.stack}", reference.sizes]
    for weights in game.weights:
        hands = np.flatnonzero(weights)
        lines.append(" ".join(f"{game.deck.text(game.hands[hand])}:{weights[hand]:.9g}" for hand in hands))
    file.write_text("\n".join(lines) + "\n")
    program = os.environ["EQUIPOISE_POSTFLOP"]
    _, printed = run_program([program, str(file), str(2 * iterations + 50), str(EVERY)])
    for line in printed.splitlines():
        found = re.match(r"(\d+) wall ([\d.]+) cpu ([\d.]+) exploitability ([\d.]+) %", line)
        if found and float(found[4]) <= GOAL:
            # Short runs by the wall, whose clock is finer; long ones by the processor, which nobody else can hold up.
            return float(found[3]) if float(found[3]) > 0.2 else float(found[2]), int(found[1])
    raise EquipoiseError(f"{PEER} did not come to {GOAL} % of the pot on {reference.name}")


def _two_threads(report: Report) -> Row:
    """Measure what a second thread brings on a flop spot, by the wall."""
    reference, game = next(pair for pair in _games() if pair[0].name == "flop_basic")
    form = spot_form(game)
    times: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(3):
        for threads in (1, 2):
            solver = SpotCFR(form, DiscountedCFR(), threads=threads)
            solver.run(8)  # while it tries how many threads are fastest
            started = time.perf_counter()
            solver.run(12)
            times[threads].append((time.perf_counter() - started) / 12)
            report(f"{reference.name}, {threads} thread(s): {readable(times[threads][-1])} s an iteration")
    samples = {OURS: tuple(times[2]), "one thread": tuple(times[1])}
    return Row(
        work=f"{reference.name}: an iteration on two threads",
        unit=WALL_SECONDS,
        samples=samples,
        one_core=False,
        threads=2,
        required={"one thread": 1.7},
    )


@kernel
def _walk(order: npt.NDArray[np.uint32], values: npt.NDArray[np.float32], rounds: int) -> float:
    total = 0.0
    for _ in range(rounds):
        for j in range(order.size):
            total = total * 0.5 + values[order[j]]
    return total


def _loop_seconds() -> float:
    """Return how long a loop of scalar arithmetic takes here."""
    random = np.random.default_rng(1)
    order, values = random.permutation(4096).astype(np.uint32), random.random(4096).astype(np.float32)
    _walk(order, values, 1)
    best = float("inf")
    for _ in range(5):
        started = time.process_time()
        _walk(order, values, 2000)
        best = min(best, time.process_time() - started)
    return best
