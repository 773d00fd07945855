"""The suite ``neural``: Deep CFR against OpenSpiel's in PyTorch, and what the parts of Double Neural CFR take.

OpenSpiel's Deep CFR has the settings that its own example recommends, on one core and one thread, as we have. It is
run iteration by iteration, by the parts of its ``solve``, so that its clock can be read in between. What is counted:

- Traversals: in both programs, external sampling at the strategy that networks of some iterations give, with all
  that it puts into memories. A *node* is a history, from the start of the game to the ends, chance nodes included. How
  many a traversal visits in the mean follows from the strategy alone: it is computed exactly, on OpenSpiel's states, at
  each program's own strategy, and must agree with what each program is seen to visit before anything is timed. (We
  walk the public tree, where the two hands that are dealt are not nodes: they are added.) OpenSpiel asks its network
  at every decision. We read ours out for all infosets before an iteration's traversals: this is timed with them.
- Seconds to a level: the level is the exploitability of OpenSpiel's policy network, fitted after the iterations that
  its time allows. Its seconds are those of its iterations; its fit is not counted, to its advantage. Ours are those of
  our iterations and of the policy fit after them. Fits at earlier looks leave no trace in a run, and are not counted.
  Neither are evaluations, or compiling, which is done before.

OpenSpiel's policy network gives some probability to illegal actions; what it gives to legal ones is rescaled to one.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from itertools import count
from pathlib import Path
from statistics import mean, median
from typing import Any, NamedTuple, TypeVar

from equipoise.bench.measure import (
    MILLION_NODES_PER_SECOND,
    MILLISECONDS,
    OURS,
    WALL_SECONDS,
    Clock,
    Contender,
    Reached,
    Report,
    Row,
    Suite,
    looks,
    readable,
    time_to_level,
)
from equipoise.bench.measure import one_core as pinned_to_one_core
from equipoise.bench.peers import OPEN_SPIEL, import_peer, in_open_spiel
from equipoise.errors import EquipoiseError, require_whole
from equipoise.games import load_game
from equipoise.games.poker import PokerGame
from equipoise.policies.policy import policy_from_strategies
from equipoise.regret.matching import BEST, match_table
from equipoise.sampling.rows import Asked
from equipoise.solvers.recipes import find_recipe
from equipoise.solvers.setup import Setup
from equipoise.solvers.stored import StoredCFR
from equipoise.trees.best_response import Evaluator
from equipoise.trees.compile import compile_game
from equipoise.trees.tables import Pair
from equipoise.trees.treeplex import Float

DEEP, DOUBLE = "deep-cfr", "dncfr"
LEDUC, NL_LEDUC = "leduc_poker", "nl_leduc(stack=5)"
PEER_MODULES = ("pyspiel", "torch", "tree", "open_spiel.python.pytorch.deep_cfr")  # tree: the last one needs dm-tree

# OpenSpiel's own recommendation, in its example deep_cfr_pytorch.py.
PEER_SETTINGS: dict[str, Any] = {
    "num_traversals": 1500,
    "batch_size_advantage": 2048,
    "batch_size_strategy": 2048,
    "policy_network_layers": (64, 64, 64),
    "advantage_network_layers": (64, 64, 64),
    "reinitialize_advantage_networks": True,
    "learning_rate": 1e-3,
    "memory_capacity": 1_000_000,
    "policy_network_train_steps": 5000,
    "advantage_network_train_steps": 750,
}
PEER_SECONDS = 200.0

LEVEL_SEEDS = 3
FIRST_LOOK, GROWTH = 8, 1.5  # iterations: few looks, because each fits a policy, which takes as long as many iterations
GIVE_UP = 0.5  # of OpenSpiel's seconds
EXACT = 1e-9

TIMED_AFTER = 20  # iterations of ours, by when the strategy is no longer that of the start
TRAVERSALS_SECONDS = 1.0  # so that OpenSpiel's traversals are some hundred, and their sizes average out
HIDDEN_DEALS = 2  # chance nodes of a history of Leduc that the public tree does not have
PEER_COUNTED = 1000  # traversals of each player
SAME_VISITS = 0.05  # relative: chance moves the mean by a fifth of this; one kind of chance node left out, by far more

DOUBLE_SETTINGS: dict[str, object] = {"batch": 500, "k": 3}
DOUBLE_WARM_UP, DOUBLE_COUNTED = 5, 50  # iterations: two fits of the strategy network are among those counted
DOUBLE_LIMIT = 1.5  # seconds
LSTM_WIDTH = 16
LSTM_WARM_UP, LSTM_COUNTED = 5, 50
LSTM_LIMIT = 12.0  # milliseconds
HOLDEM = "flop_holdem"
LOCKSTEP_WIDTH, LOCKSTEP_BATCH = 64, 10_000
LOCKSTEP_UNIT, LOCKSTEP_LIMIT = MILLION_NODES_PER_SECOND, 1.0

T = TypeVar("T")
Strategy = Callable[[Any], Mapping[int, float]]


def neural(*, rounds: int = 5, report: Report) -> list[Row]:
    """Measure everything; ``report`` gets a line for each measurement."""
    require_whole("rounds", rounds)
    for module in PEER_MODULES:
        import_peer(module)  # says so now, not after minutes, if one is missing
    with pinned_to_one_core() as pinned, _one_torch_thread():
        suite = _Suite(rounds=rounds, report=report, one_core=pinned, folder=Path())
        peer = OpenSpielDeepCFR(in_open_spiel(load_game(LEDUC)))
        level = suite.level(peer, {OPEN_SPIEL: 30.0})
        own = [suite.double_neural(), suite.lstm(), suite.lockstep()]
        return [suite.traversals(peer, {OPEN_SPIEL: 1000.0}), level, *own]


@contextmanager
def _one_torch_thread() -> Iterator[None]:
    torch = import_peer("torch")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


class OpenSpielDeepCFR:
    """OpenSpiel's Deep CFR in Python and PyTorch."""

    def __init__(self, game: Any, **settings: Any) -> None:
        self.game = game
        self.settings = {**PEER_SETTINGS, **settings}
        self.solver = import_peer("open_spiel.python.pytorch.deep_cfr").DeepCFRSolver(game, **self.settings)
        self._root = game.new_initial_state()

    def traverse(self, player: int, times: int) -> None:
        """Run some traversals of a player at the present networks."""
        for _ in range(times):
            self.solver._traverse_game_tree(self._root, player)

    def iterate(self) -> None:
        """Run one iteration, as its ``solve`` does."""
        for player in range(2):
            self.traverse(player, self.settings["num_traversals"])
            if self.settings["reinitialize_advantage_networks"]:
                self.solver._reinitialize_advantage_network(player)
            self.solver._learn_advantage_network(player)
        self.solver._iteration += 1

    def fit_policy(self) -> None:
        """Fit the policy network to all that was sampled, as ``solve`` does at its end."""
        self.solver._learn_strategy_network()

    def exploitability(self) -> float:
        """Return the exploitability of the policy network."""
        policies, pyspiel = import_peer("open_spiel.python.policy"), import_peer("pyspiel")

        def legal(state: Any) -> dict[int, float]:
            return rescaled(self.solver.action_probabilities(state))

        table = policies.tabular_policy_from_callable(self.game, legal)
        total: float = pyspiel.nash_conv(self.game, policies.python_policy_to_pyspiel_policy(table))
        return total / 2

    def strategy(self, state: Any) -> dict[int, float]:
        """Return the strategy of the present advantage networks."""
        _, matched = self.solver._sample_action_from_advantage(state, state.current_player())
        return {action: float(matched[action]) for action in state.legal_actions()}

    def counted_visits(self, times: int) -> float:
        """Return how many histories a traversal of each player visits together, by the calls that it makes."""
        original, calls = self.solver._traverse_game_tree, 0

        def counting(state: Any, player: int) -> Any:
            nonlocal calls
            calls += 1
            return original(state, player)

        self.solver._traverse_game_tree = counting  # its recursion goes by this name
        try:
            for player in range(2):
                self.traverse(player, times)
        finally:
            del self.solver._traverse_game_tree
        return calls / times


def rescaled(probabilities: Mapping[int, float]) -> dict[int, float]:
    """Return numbers as probabilities: so that they add up to one."""
    total = sum(map(float, probabilities.values()))
    return {action: float(probability) / total for action, probability in probabilities.items()}


def expected_visits(state: Any, traverser: int, strategy: Strategy) -> float:
    """Return how many histories from here on an external-sampling traversal visits in the mean, this one included."""
    if state.is_terminal():
        return 1.0
    if state.is_chance_node():
        weights: dict[int, float] = dict(state.chance_outcomes())
    elif state.current_player() == traverser:
        weights = dict.fromkeys(state.legal_actions(), 1.0)
    else:
        weights = dict(strategy(state))
    below: Iterator[float] = (
        weight * expected_visits(state.child(action), traverser, strategy)
        for action, weight in weights.items()
        if weight > 0.0
    )
    return 1.0 + sum(below)


def by_infoset(strategy: Strategy) -> Strategy:
    """Return the same strategy, asked once at each infoset."""
    known: dict[str, Mapping[int, float]] = {}

    def remembered(state: Any) -> Mapping[int, float]:
        key = state.information_state_string()
        if key not in known:
            known[key] = strategy(state)
        return known[key]

    return remembered


class Learnt(NamedTuple):
    """What OpenSpiel came to in its time."""

    seconds: float
    iterations: int
    fit_seconds: float
    exploitability: float


def run_for(iterate: Callable[[], object], seconds: float, *, clock: Clock = time.perf_counter) -> tuple[float, int]:
    """Run iterations until some seconds have passed; return the seconds they took and how many they were."""
    started, iterations = clock(), 0
    while (elapsed := clock() - started) < seconds:
        iterate()
        iterations += 1
    return elapsed, iterations


def each_seconds(call: Callable[[], object], times: int, *, clock: Clock = time.perf_counter) -> tuple[float, ...]:
    """Return the seconds of each of some calls."""
    seconds = []
    for _ in range(times):
        started = clock()
        call()
        seconds.append(clock() - started)
    return tuple(seconds)


def level_notes(learnt: Learnt, uniform: float, found: list[Reached]) -> tuple[str, ...]:
    """Say what the level is worth, and how we came to it or did not."""
    level = learnt.exploitability
    theirs = (
        f"{OPEN_SPIEL} has exploitability {level:.4f} after {learnt.iterations} iterations; its policy fit of "
        f"{readable(learnt.fit_seconds)} s is not counted"
    )
    if level >= uniform:
        theirs += f"; this is no better than playing uniformly ({uniform:.4f}), so the level means nothing"
    iterations = ", ".join(f"{reached.iterations}" for reached in found)
    fit = readable(median(reached.fit_seconds for reached in found))
    ours = f"{OURS}: {iterations} iterations by seed, and a policy fit of {fit} s, which is counted"
    late = [f"{reached.exploitability:.4f}" for reached in found if reached.exploitability > level]
    if late:
        ours += f"; given up at exploitability {', '.join(late)}: it would take longer"
    return theirs, ours


class _Suite(Suite):
    """The rows."""

    def traversals(self, peer: OpenSpielDeepCFR, required: dict[str, float]) -> Row:
        """Measure traversal nodes a second, both at networks of some iterations."""
        work, unit = f"Deep CFR, {LEDUC}, traversals", MILLION_NODES_PER_SECOND
        solver = _make(DEEP, LEDUC)
        solver.run(TIMED_AFTER)
        traversals = int(str(find_recipe(DEEP).parameters["traversals"]))
        sample = _sampling(solver)
        root = peer.game.new_initial_state()
        visits = {
            name: sum(expected_visits(root, player, by_infoset(strategy)) for player in range(2))
            for name, strategy in ((OURS, _present_strategy(solver)), (OPEN_SPIEL, peer.strategy))
        }
        before = solver.nodes_touched
        sample()
        walked = (solver.nodes_touched - before) / traversals
        self._same_visits(work, OURS, visits[OURS], walked + 2 * HIDDEN_DEALS)
        self._same_visits(work, OPEN_SPIEL, visits[OPEN_SPIEL], peer.counted_visits(PEER_COUNTED))

        def ours(repeats: int) -> float:
            for _ in range(repeats):
                sample()
            return repeats * traversals * visits[OURS]

        def theirs(repeats: int) -> float:
            for player in range(2):
                peer.traverse(player, repeats)
            return repeats * visits[OPEN_SPIEL]

        contenders = [Contender(name=OURS, run=ours), Contender(name=OPEN_SPIEL, run=theirs)]
        samples = self.take_turns(work, contenders, unit, seconds=TRAVERSALS_SECONDS)
        each = ", ".join(f"{name} {total / 2:.1f}" for name, total in visits.items())
        note = f"a node is a history, chance nodes included; a traversal visits in the mean: {each}"
        return Row(work=work, unit=unit, samples=samples, required=required, notes=(note,), one_core=self.one_core)

    def level(self, peer: OpenSpielDeepCFR, required: dict[str, float]) -> Row:
        """Measure the seconds in which we come to what OpenSpiel has learnt in its time, from several seeds."""
        work = f"Deep CFR, {LEDUC}, to OpenSpiel's exploitability after {PEER_SECONDS:.0f} s"
        self._compile(work)
        learnt = self._learn(work, peer)
        pyspiel = import_peer("pyspiel")
        uniform = pyspiel.nash_conv(peer.game, pyspiel.UniformRandomPolicy(peer.game)) / 2
        found = []
        for seed in range(LEVEL_SEEDS):
            solver = _make(DEEP, LEDUC, seed=seed)
            reached = time_to_level(
                solver.run,
                partial(_concluded, solver),
                partial(_exploitability, Evaluator(solver.space.listed().form)),
                level=learnt.exploitability,
                give_up=GIVE_UP * learnt.seconds,
                looked_at=looks(FIRST_LOOK, GROWTH),
            )
            found.append(reached)
            self.report(
                f"{work}, seed {seed}: {OURS} {readable(reached.seconds)} s, of these {readable(reached.fit_seconds)} "
                f"s the policy fit, exploitability {reached.exploitability:.4f} after {reached.iterations} iterations"
            )
        return Row(
            work=work,
            unit=WALL_SECONDS,
            samples={OURS: tuple(reached.seconds for reached in found), OPEN_SPIEL: (learnt.seconds,)},
            required=required,
            notes=level_notes(learnt, uniform, found),
            one_core=self.one_core,
        )

    def double_neural(self) -> Row:
        """Measure an iteration of Double Neural CFR."""
        settings = ", ".join(f"{name}={value}" for name, value in DOUBLE_SETTINGS.items())
        work = f"Double Neural CFR, {NL_LEDUC}, {settings}, one iteration"
        solver = _make(DOUBLE, NL_LEDUC, DOUBLE_SETTINGS)
        solver.run(DOUBLE_WARM_UP)
        seconds = each_seconds(lambda: solver.run(1), DOUBLE_COUNTED)
        self.report(f"{work}: median {readable(median(seconds))} s, mean {readable(mean(seconds))} s")
        note = (
            f"over {DOUBLE_COUNTED} iterations; the mean, with the fits of the strategy network that fall among them, "
            f"is {readable(mean(seconds))} s, the longest {readable(max(seconds))} s"
        )
        return Row(
            work=work,
            unit=WALL_SECONDS,
            samples={OURS: seconds},
            limit=DOUBLE_LIMIT,
            notes=(note,),
            one_core=self.one_core,
        )

    def lstm(self) -> Row:
        """Measure a forward and a backward pass of the published network over all infosets."""
        from equipoise.networks.infosets import infosets_of
        from equipoise.networks.modules import Recurrent
        from equipoise.networks.network import make_network

        torch = import_peer("torch")
        work = f"LSTM {LSTM_WIDTH} with attention, all infosets of {NL_LEDUC}, forward and backward"
        infosets = infosets_of(compile_game(load_game(NL_LEDUC)), "cards")
        architecture = Recurrent(cell="lstm", width=LSTM_WIDTH, attention="relu", hidden=False)
        network = make_network(infosets, architecture, torch.Generator().manual_seed(0), head=1.0)
        inputs: Any = network.inputs_of(infosets, slice(None), torch.device("cpu"))

        def call() -> None:
            network.backpropagate(inputs, lambda outputs, rows: outputs)  # the gradient of half their squares

        each_seconds(call, LSTM_WARM_UP)
        samples = tuple(MILLISECONDS.value(1.0, seconds) for seconds in each_seconds(call, LSTM_COUNTED))
        self.report(f"{work}: {readable(median(samples))} ms")
        note = f"{len(infosets.row_keys):,} infosets in {len(infosets.trie.cells):,} prefixes"
        return Row(
            work=work,
            unit=MILLISECONDS,
            samples={OURS: samples},
            limit=LSTM_LIMIT,
            notes=(note,),
            one_core=self.one_core,
        )

    def lockstep(self) -> Row:
        """Measure traversals of a game that is not listed, which ask the network at every level."""
        from equipoise.networks.holdem import CardsAndBets
        from equipoise.networks.poker_rows import poker_rows
        from equipoise.networks.trained import TrainedNetwork
        from equipoise.sampling.lockstep import Lockstep
        from equipoise.sampling.schemes import External
        from equipoise.trees.betting_tree import betting_tree

        torch = import_peer("torch")
        work, unit = f"Deep CFR, {HOLDEM}, traversals in lockstep, network of width {LOCKSTEP_WIDTH}", LOCKSTEP_UNIT
        game = load_game(HOLDEM)
        assert isinstance(game, PokerGame)
        rows = poker_rows(betting_tree(game), "ranks")
        architecture = CardsAndBets(width=LOCKSTEP_WIDTH)
        networks = [
            TrainedNetwork(rows, (player,), architecture, head=1.0, seed=0, device=torch.device("cpu"))
            for player in range(2)
        ]
        lockstep = Lockstep(rows.tree, rows.layout, External(), batch=LOCKSTEP_BATCH, fallback=BEST, seed=0)
        iterations = count(1)

        def scores_at(player: int, infosets: Asked) -> Float:
            assert infosets is not None
            return networks[player].read_at(infosets)

        def call() -> None:
            iteration = next(iterations)
            for _ in lockstep.rows(scores_at, (0, 1), iteration):
                pass

        each_seconds(call, 1)
        samples = []
        for _ in range(self.rounds):
            before = lockstep.nodes_touched
            (seconds,) = each_seconds(call, 1)
            samples.append(unit.value(lockstep.nodes_touched - before, seconds))
        self.report(f"{work}: {readable(median(samples))} million nodes/s")
        note = "nodes of the betting tree, ends and public deals included, at networks that are not trained"
        return Row(
            work=work,
            unit=unit,
            samples={OURS: tuple(samples)},
            limit=LOCKSTEP_LIMIT,
            notes=(note,),
            one_core=self.one_core,
        )

    def _learn(self, work: str, peer: OpenSpielDeepCFR) -> Learnt:
        """Give OpenSpiel its time, and see what it has learnt."""
        self.report(f"{work}: {OPEN_SPIEL} is solving for {PEER_SECONDS:.0f} s")
        seconds, iterations = run_for(peer.iterate, PEER_SECONDS)
        (fit_seconds,) = each_seconds(peer.fit_policy, 1)
        learnt = Learnt(seconds, iterations, fit_seconds, peer.exploitability())
        self.report(
            f"{work}: {OPEN_SPIEL} {readable(seconds)} s, exploitability {learnt.exploitability:.4f} after "
            f"{iterations} iterations and a policy fit of {readable(fit_seconds)} s"
        )
        return learnt

    def _compile(self, work: str) -> None:
        """Compile all that is timed, and show that our exploitability is OpenSpiel's on what comes out."""
        solver = _make(DEEP, LEDUC, {"fresh_steps": 1, "steps": 1, "policy_steps": 10})
        solver.run(2)
        average = _concluded(solver)
        policies = import_peer("open_spiel.python.policy")
        same = policies.python_policy_to_pyspiel_policy(
            policy_from_strategies(solver.space.listed().form, average).to_open_spiel()
        )
        theirs = import_peer("pyspiel").nash_conv(in_open_spiel(solver.form.game), same) / 2
        ours = _exploitability(Evaluator(solver.space.listed().form), average)
        self.compare(f"{work}: exploitability of an average of ours", ours, OPEN_SPIEL, theirs, EXACT)

    def _same_visits(self, work: str, name: str, expected: float, counted: float) -> None:
        """Show that a program visits what its strategy lets expect, and end the benchmark when it does not."""
        said = f"{work}: {name} visits {counted:.1f} nodes in a traversal of each player, {expected:.1f} are expected"
        self.report(said)
        if not abs(expected - counted) <= SAME_VISITS * expected:
            raise EquipoiseError(f"{said}; counting different work means nothing")


def _make(algorithm: str, text: str, parameters: Mapping[str, object] | None = None, *, seed: int = 0) -> StoredCFR:
    recipe = find_recipe(algorithm)
    solver = recipe.solver(Setup(game=load_game(text), seed=seed), parameters or {})
    assert isinstance(solver, StoredCFR)
    return solver


def _concluded(solver: Any) -> Any:
    """Return the average strategy, with the policy fit that it takes."""
    solver.conclude()
    return solver.average_strategy()


def _exploitability(evaluator: Evaluator, strategies: Pair) -> float:
    return evaluator.best_responses(strategies).exploitability


def _present_strategy(solver: StoredCFR) -> Strategy:
    """Return what our next traversals play."""
    space = solver.space.listed()
    scores = space.listing.table(lambda player: solver.regrets.scores_at(player, None))
    matched = match_table(scores, space.listing.first, BEST)
    policy = policy_from_strategies(space.form, space.tables.to_form(matched)).to_open_spiel()
    strategy: Strategy = policy.action_probabilities
    return strategy


def _sampling(solver: StoredCFR) -> Callable[[], None]:
    """Return a call that reads out the networks and does the traversals of one more iteration, fitting nothing."""
    from equipoise.stores.memories import MemoryRegrets

    regrets, iterations = solver.regrets, count(solver.iteration + 1)
    assert isinstance(regrets, MemoryRegrets)

    def sample() -> None:
        iteration = next(iterations)
        for player in range(2):
            regrets.forget_readings(player)
            for _ in solver.sampler.rows(regrets.scores_at, (player,), iteration):
                pass

    return sample
