"""The suite ``tabular``: full-width CFR+ and exact best responses, against OpenSpiel's C++ and LiteEFG.

Nothing is timed before it is shown to be the same work: the peers must come to our exploitability after the same
iterations, and to our nash_conv of the same policy. Conventions that this rests on:

- OpenSpiel averages the strategies that were played, as we do, so the averages are compared.
- LiteEFG averages the strategies that come out of each iteration, one later, so the current strategies are compared.
"""

import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from equipoise.bench.goal import solve_to
from equipoise.bench.measure import (
    ITERATIONS_PER_SECOND,
    MEBIBYTES,
    MILLISECONDS,
    OURS,
    WALL_SECONDS,
    Contender,
    Report,
    Row,
    Suite,
    readable,
    repeating,
    run_program,
)
from equipoise.bench.measure import one_core as pinned_to_one_core
from equipoise.bench.peers import LITE_EFG, OPEN_SPIEL, LiteEFGCFRPlus, OpenSpielCFRPlus, import_peer, in_open_spiel
from equipoise.errors import require_whole
from equipoise.games import load_game
from equipoise.policies.policy import policy_from_strategies
from equipoise.regret.rules import CFRPlus
from equipoise.solvers.full_width import FullWidthCFR
from equipoise.trees.best_response import Evaluator
from equipoise.trees.compile import Engine, compile_game

LEDUC, NL_LEDUC, LIARS_DICE = "leduc_poker", "nl_leduc(stack=5)", "bluff(dice=1x1)"
COMPARED_AFTER = 10  # iterations
EXACT = 1e-9
# No-limit Leduc has infosets where all actions are worth exactly the same after one iteration. Whether a regret there
# is 0 (play uniformly) or 1e-18 (play that action) hangs on the order of additions, so that right programs part by one
# or two percent for a while. There the same policy must have the same nash_conv, and CFR+ must come near, in chips.
NEAR = 0.02

GOAL_GAME, GOAL, GOAL_SECONDS, GOAL_MEBIBYTES = "nl_leduc(stack=15)", 0.01, 60.0, 1024.0
GIVE_UP = 5.0  # times the limit
PROGRAM_RUNS = 5


def tabular(*, rounds: int = 5, report: Report) -> list[Row]:
    """Measure everything; ``report`` gets a line for each measurement."""
    require_whole("rounds", rounds)
    for module in ("pyspiel", "LiteEFG"):
        import_peer(module)  # says so now, not after minutes, if one is missing
    with pinned_to_one_core() as pinned, tempfile.TemporaryDirectory(prefix="equipoise-bench-") as folder:
        suite = _Suite(rounds=rounds, report=report, one_core=pinned, folder=Path(folder))
        return [  # small games first: the heap that large ones leave behind may slow down peers that allocate much
            suite.iterations(LEDUC, "vector", {OPEN_SPIEL: 400.0, LITE_EFG: 80.0}),
            suite.iterations(LEDUC, "sequence", {OPEN_SPIEL: 200.0}),
            *suite.nash_conv(LEDUC, {OPEN_SPIEL: 800.0}),
            suite.iterations(NL_LEDUC, "auto", {OPEN_SPIEL: 300.0}, tolerance=NEAR),
            suite.iterations(LIARS_DICE, "sequence", {OPEN_SPIEL: 120.0}),
            *suite.nash_conv(LIARS_DICE, {OPEN_SPIEL: 800.0}),
            *suite.goal(),
            suite.program("equipoise --help", ["--help"], limit=0.5),
            suite.program(
                "equipoise solve kuhn_poker", ["solve", "kuhn_poker", "--iterations", "100"], limit=2.0, out=True
            ),
        ]


class _Suite(Suite):
    """The rows."""

    def iterations(self, text: str, engine: Engine, required: dict[str, float], *, tolerance: float = EXACT) -> Row:
        """Measure CFR+ iterations a second on a game."""
        work = f"CFR+, {text}, {engine} engine"
        form = compile_game(load_game(text), engine)
        spiel = in_open_spiel(form.game)
        solver, open_spiel = FullWidthCFR(form, CFRPlus()), OpenSpielCFRPlus(spiel)
        lite = LiteEFGCFRPlus(spiel, self.folder)
        self._same_algorithm(work, solver, open_spiel, lite, tolerance)
        contenders = [
            Contender(name=OURS, run=_running(solver)),
            Contender(name=OPEN_SPIEL, run=repeating(open_spiel.iterate)),
            Contender(name=LITE_EFG, run=repeating(lite.iterate)),
        ]
        samples = self.take_turns(work, contenders, ITERATIONS_PER_SECOND)
        return Row(work=work, unit=ITERATIONS_PER_SECOND, samples=samples, required=required, one_core=self.one_core)

    def nash_conv(self, text: str, required: dict[str, float]) -> list[Row]:
        """Measure the exact nash_conv of a CFR+ average: as people call it, and with trees that OpenSpiel keeps.

        OpenSpiel's function makes its trees anew in every call. Its best responders can also be made beforehand, which
        is nearer to what we do, so the second row says what is gained by the engine alone.
        """
        pyspiel = import_peer("pyspiel")
        work = f"nash_conv, {text}"
        form = compile_game(load_game(text))
        spiel = in_open_spiel(form.game)
        solver, theirs = FullWidthCFR(form, CFRPlus()), OpenSpielCFRPlus(spiel)
        solver.run(COMPARED_AFTER)
        repeating(theirs.iterate)(COMPARED_AFTER)
        strategies, evaluator = solver.average_strategy(), Evaluator(form)
        policy = theirs.solver.tabular_average_policy()  # of all that nash_conv takes, this is the fastest to look up
        lite = LiteEFGCFRPlus(spiel, self.folder)
        lite.set_strategy(policy.policy_table())
        root = spiel.new_initial_state()
        responders = [pyspiel.TabularBestResponse(spiel, player, policy) for player in range(2)]

        def ours() -> float:
            return evaluator.best_responses(strategies).nash_conv

        def open_spiel() -> float:
            value: float = pyspiel.nash_conv(spiel, policy)
            return value

        def open_spiel_kept() -> float:
            value = 0.0
            for responder in responders:
                responder.set_policy(policy)  # forgets the values of the last evaluation
                value += responder.value_from_state(root)
            return value

        for name, call in (
            (OPEN_SPIEL, open_spiel),
            (f"{OPEN_SPIEL}, trees kept", open_spiel_kept),
            (LITE_EFG, lite.nash_conv),
        ):
            self.compare(f"{work} of the same policy", ours(), name, call(), EXACT)
        rows = []
        for suffix, peers, least in (
            ("", {OPEN_SPIEL: open_spiel, LITE_EFG: lite.nash_conv}, required),
            (", OpenSpiel's trees kept", {OPEN_SPIEL: open_spiel_kept}, {}),
        ):
            contenders = [Contender(name=name, run=repeating(call)) for name, call in {OURS: ours, **peers}.items()]
            samples = self.take_turns(work + suffix, contenders, MILLISECONDS)
            rows.append(
                Row(work=work + suffix, unit=MILLISECONDS, samples=samples, required=least, one_core=self.one_core)
            )
        return rows

    def goal(self) -> list[Row]:
        """Measure the seconds and the memory that a fresh process takes for a hard goal, building the tree included."""
        solve_to("nl_leduc(stack=2)", 1.0, 1.0)  # so that every kernel is compiled and on disk
        work = f"CFR+, {GOAL_GAME}, to exploitability {GOAL}"
        command = [sys.executable, "-m", "equipoise.bench.goal", GOAL_GAME, str(GOAL), str(GIVE_UP * GOAL_SECONDS)]
        seconds, printed = run_program(command)
        found = json.loads(printed)
        mebibytes = found["peak_bytes"] / 2**20
        note = f"exploitability {found['exploitability']:.5f} after {found['iterations']} iterations"
        if found["exploitability"] > GOAL:
            note = f"given up: {note}"
        self.report(f"{work}: {readable(seconds)} s, {readable(mebibytes)} MiB, {note}")
        return [
            Row(
                work=work,
                unit=WALL_SECONDS,
                samples={OURS: (seconds,)},
                limit=GOAL_SECONDS,
                notes=(note,),
                one_core=self.one_core,
            ),
            Row(
                work=f"{work}, peak memory",
                unit=MEBIBYTES,
                samples={OURS: (mebibytes,)},
                limit=GOAL_MEBIBYTES,
                one_core=self.one_core,
            ),
        ]

    def program(self, work: str, arguments: list[str], *, limit: float, out: bool = False) -> Row:
        """Measure a command from its start to its end, after one run that fills the caches."""
        seconds = []
        for run in range(PROGRAM_RUNS + 1):
            target = ["--out", str(self.folder / f"run-{run}")] if out else []
            elapsed, _ = run_program([sys.executable, "-m", "equipoise", *arguments, *target])
            if run > 0:
                seconds.append(elapsed)
                self.report(f"{work}, run {run} of {PROGRAM_RUNS}: {readable(elapsed)} s")
        return Row(work=work, unit=WALL_SECONDS, samples={OURS: tuple(seconds)}, limit=limit, one_core=self.one_core)

    def _same_algorithm(
        self, work: str, solver: FullWidthCFR, open_spiel: OpenSpielCFRPlus, lite: LiteEFGCFRPlus, tolerance: float
    ) -> None:
        """Show that CFR+ of all three comes to the same exploitability after the same iterations."""
        nash_conv, form, spiel = import_peer("pyspiel").nash_conv, solver.form, open_spiel.game
        evaluator = Evaluator(form)
        solver.run(COMPARED_AFTER)
        for peer in (open_spiel, lite):
            repeating(peer.iterate)(COMPARED_AFTER)
        average = solver.average_strategy()
        ours = evaluator.best_responses(average).nash_conv
        what = f"{work}: nash_conv after {COMPARED_AFTER} iterations"
        if tolerance > EXACT:
            policies = import_peer("open_spiel.python.policy")
            same = policies.python_policy_to_pyspiel_policy(policy_from_strategies(form, average).to_open_spiel())
            self.compare(f"{what}, of our average", ours, OPEN_SPIEL, nash_conv(spiel, same), EXACT)
        theirs = nash_conv(spiel, open_spiel.solver.average_policy())
        self.compare(f"{what}, averages", ours, OPEN_SPIEL, theirs, tolerance)
        current = evaluator.best_responses(solver.strategy).nash_conv
        self.compare(f"{what}, current strategies", current, LITE_EFG, lite.nash_conv(), tolerance)


def _running(solver: FullWidthCFR) -> Callable[[int], float]:
    """Return a ``run`` for a contender: many iterations in one call, which is how people call us."""

    def run(repeats: int) -> float:
        solver.run(repeats)
        return repeats

    return run
