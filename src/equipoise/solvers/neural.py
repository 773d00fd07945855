"""Neural recipes from their parameters: Double Neural CFR and its halves, Deep CFR, Single Deep CFR, NFSP."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from equipoise.errors import EquipoiseError
from equipoise.games import TERMINAL
from equipoise.games.poker import PokerGame
from equipoise.games.sizes import too_large_to_list
from equipoise.memory import require
from equipoise.networks.fitting import Fitting, Plateau
from equipoise.networks.holdem import CardsAndBets
from equipoise.networks.infosets import infosets_of
from equipoise.networks.modules import Architecture, FeedForward, Recurrent
from equipoise.networks.poker_rows import poker_rows
from equipoise.regret.matching import BEST, UNIFORM
from equipoise.regret.rules import LinearCFR, Rule
from equipoise.sampling.collect import Collector
from equipoise.sampling.gather import Gatherer
from equipoise.sampling.lockstep import Lockstep
from equipoise.sampling.schemes import External, Robust
from equipoise.sampling.tree import AMOUNT, KIND, WIDTH, SampledGame, chance_reach, compile_for_sampling
from equipoise.solvers.lockstep import LockstepCFR, RememberingRows, SummingRows
from equipoise.solvers.setup import SAMPLED_RULES, Setup
from equipoise.solvers.stored import StoredCFR, match_table
from equipoise.stores.memories import (
    MemoryConfig,
    MemoryRegrets,
    MemorySampler,
    MemoryStrategy,
    RowSnapshots,
    Snapshots,
    sample_bytes,
)
from equipoise.stores.networks import (
    NetworkConfig,
    NetworkRegrets,
    NetworkStrategy,
    RowRegretNetworks,
    RowStrategyNetworks,
)
from equipoise.stores.sums import (
    RegretStore,
    RowStrategies,
    StrategyStore,
    TableRegrets,
    TableStrategy,
)
from equipoise.trees.betting_tree import betting_tree
from equipoise.trees.codes import require_codes
from equipoise.trees.tables import TableMap
from equipoise.trees.treeplex import Float, Int64

Parameters = dict[str, Any]


class Unlisted:
    """A game too large to list, with all that neural solvers share."""

    def __init__(self, setup: Setup, cards: Any) -> None:
        assert isinstance(setup.game, PokerGame)
        require_codes(setup.game)
        self.tree = betting_tree(setup.game)
        self.rows = poker_rows(self.tree, cards)
        self.device = _device(setup.device)
        torch.set_num_threads(1)  # parts of a batch are shared out over threads, each with networks of its own pace

    def lockstep(self, setup: Setup, scheme: External | Robust, *, batch: int, fallback: int) -> Lockstep:
        """Return traversals in lockstep."""
        return Lockstep(
            self.tree,
            self.rows.layout,
            scheme,
            batch=batch,
            fallback=fallback,
            seed=setup.seed,
            threads=setup.threads,
        )


class Prepared:
    """A compiled game with all that neural solvers share."""

    def __init__(self, setup: Setup, cards: Any) -> None:
        form, self.sampled = compile_for_sampling(setup.game, setup.engine, buffered=True, order=setup.order)
        if form is None:
            raise EquipoiseError(f"{setup.game.name} is too large to list its infosets, which neural solvers here need")
        self.tables = TableMap(form)
        self.infosets = infosets_of(form, cards)
        self.device = _device(setup.device)
        torch.set_num_threads(1)  # these networks are too small to share out


def _device(name: str) -> torch.device:
    try:
        device = torch.device(name)
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise EquipoiseError(
            f"device '{name}' cannot be used ({reason}); give cpu, or cuda where there is one"
        ) from None
    return device


def architecture_of(network: str, width: int, layers: int) -> Architecture:
    """Return an architecture by name: mlp, cards, or a cell with or without attention, such as lstm+attention."""
    if network == "mlp":
        return FeedForward(width=width, layers=layers)
    if network == "cards":
        return CardsAndBets(width=width)
    cell, _, attention = network.partition("+")
    if attention:
        # As published: no hidden layer between the attended summary and the output.
        return Recurrent(cell=cell, width=width, attention="relu", hidden=False)  # type: ignore[arg-type]
    return Recurrent(cell=cell, width=width)  # type: ignore[arg-type]


def make_double_neural(
    setup: Setup, parameters: Parameters, *, regrets: bool = True, strategies: bool = True
) -> StoredCFR | LockstepCFR:
    """Return Double Neural CFR, or with one of its two networks replaced by a table."""
    if setup.engine == "auto" and too_large_to_list(setup.game):
        if not (regrets and strategies):
            raise EquipoiseError(f"{setup.game.name} is too large for tables of its infosets; dncfr needs none")
        return _make_unlisted_double_neural(setup, parameters)
    prepared = Prepared(setup, parameters["cards"])
    tables, infosets = prepared.tables, prepared.infosets
    rule = SAMPLED_RULES[parameters["rule"]]
    seeds = _seeds(setup)
    regret_store: RegretStore = TableRegrets(tables.size, rule)
    if regrets:
        config = _regret_network(parameters)
        regret_store = NetworkRegrets(infosets, config, rule, seed=seeds[0], device=prepared.device)
    strategy_store: StrategyStore = TableStrategy(tables.size, rule)
    if strategies:
        config = _strategy_network(parameters)
        mass = _mass(prepared, parameters["averaging"])
        strategy_store = NetworkStrategy(infosets, config, rule, mass, seed=seeds[1], device=prepared.device)
    gatherer = Gatherer(
        prepared.sampled,
        Robust(k=parameters["k"]),
        batch=parameters["batch"],
        averaging=parameters["averaging"],
        fallback=UNIFORM,
        seed=setup.seed,
        threads=setup.threads,
    )
    return StoredCFR(
        tables,
        gatherer,
        regret_store,
        strategy_store,
        updates=parameters["updates"],
        averaging=parameters["averaging"],
    )


def _seeds(setup: Setup) -> list[int]:
    """Return seeds of the regrets' networks and of the average's."""
    return [int(word) for word in np.random.SeedSequence(setup.seed).generate_state(2, np.uint32)]


def _regret_network(parameters: Parameters) -> NetworkConfig:
    return NetworkConfig(
        architecture=architecture_of(parameters["network"], parameters["width"], parameters["layers"]),
        fitting=_regret_fitting(parameters),
        shared=parameters["shared"] == "yes",
        anchor=parameters["anchor"],
        anchor_memory=parameters["anchor_memory"],
        scale=parameters["scale"],
    )


def _strategy_network(parameters: Parameters) -> NetworkConfig:
    return NetworkConfig(
        architecture=architecture_of(parameters["network"], parameters["strategy_width"], parameters["layers"]),
        fitting=_strategy_fitting(parameters),
        shared=parameters["shared"] == "yes",
        anchor_memory=parameters["anchor_memory"],
        kind=parameters["strategy_kind"],
        every=parameters["strategy_every"],
    )


def _make_unlisted_double_neural(setup: Setup, parameters: Parameters) -> LockstepCFR:
    if parameters["averaging"] != "stochastic":
        raise EquipoiseError(
            f"averaging={parameters['averaging']} needs a list of infosets, and {setup.game.name} has too many; "
            "give averaging=stochastic"
        )
    unlisted = Unlisted(setup, parameters["cards"])
    rows, rule, seeds = unlisted.rows, SAMPLED_RULES[parameters["rule"]], _seeds(setup)
    batch = parameters["batch"]

    def unit(codes: Int64) -> Float:
        """Return the share of a batch that chance leads to codes, or one traversal where it is less."""
        shares: Float = np.maximum(rows.chance_at(codes), 1.0 / batch)
        return shares

    config = _regret_network(parameters)
    regrets = RowRegretNetworks(rows, config, rule, unit, seed=seeds[0], device=unlisted.device)
    sampler = SummingRows(unlisted.lockstep(setup, Robust(k=parameters["k"]), batch=batch, fallback=UNIFORM), batch)
    config = _strategy_network(parameters)
    strategies = RowStrategyNetworks(rows, config, rule, sampler.rehearse, seed=seeds[1], device=unlisted.device)
    return LockstepCFR(rows, sampler, regrets, strategies, updates=parameters["updates"])


def _regret_fitting(parameters: Parameters) -> Fitting:
    if parameters["fitting"] == "algorithm2":
        return _algorithm_2(parameters, factor=0.5, patience=10, good_enough=1e-4, loss="squared")
    return Fitting(
        epochs=parameters["steps"],
        first_epochs=5 * parameters["steps"],
        rate=parameters["rate"],
        loss="positive" if SAMPLED_RULES[parameters["rule"]].at(1).floor == 0.0 else "squared",
    )


def _strategy_fitting(parameters: Parameters) -> Fitting:
    loss: Any = "cross_entropy" if parameters["strategy_kind"] == "average" else "squared"
    if parameters["fitting"] == "algorithm2":
        return _algorithm_2(parameters, factor=0.7, patience=15, good_enough=1e-5, loss=loss)
    return Fitting(
        epochs=parameters["strategy_steps"],
        first_epochs=2 * parameters["strategy_steps"],
        rate=parameters["strategy_rate"],
        loss=loss,
    )


def _algorithm_2(parameters: Parameters, *, factor: float, patience: int, good_enough: float, loss: Any) -> Fitting:
    """Return DN19's own optimisation (Algorithm 2, Appendix E)."""
    return Fitting(
        epochs=parameters["steps"],
        first_epochs=parameters["steps"],
        batch=256,
        rate=1e-3,
        slower_power=0.0,
        clip_value=1.0,  # the paper does not say which bound
        keep_optimiser=False,
        plateau=Plateau(factor=factor, patience=patience, good_enough=good_enough),
        loss=loss,
    )


def _mass(prepared: Prepared, averaging: str) -> Callable[[Float], Float]:
    """Return what a strategy's own reach is worth in the sums that averaging makes.

    Sampled visits count an infoset as often as chance leads to it: their expectation is own reach x chance's reach.
    """
    tables = prepared.tables
    if averaging != "stochastic":
        return tables.own_reach
    chance = chance_reach(prepared.sampled, tables.form)
    return lambda strategy: tables.own_reach(strategy) * chance


def _memory_configs(parameters: Parameters) -> tuple[MemoryConfig, MemoryConfig]:
    """Return the memories of regrets and of strategies."""
    aggregated = parameters["targets"] == "aggregated"
    architecture = architecture_of(parameters["network"], parameters["width"], parameters["layers"])
    common: dict[str, Any] = {
        "architecture": architecture,
        "kind": "aggregated" if aggregated else parameters["memory"],
        "capacity": parameters["capacity"],
        "weighted": parameters["weighted"] == "yes",
    }
    fresh_every = {"scratch": 1, "hybrid": parameters["fresh_every"], "fine_tune": 0}[parameters["fit"]]
    if aggregated:
        # Exact targets move little from one iteration to the next: a few full-batch steps follow them.
        # They are exact, so an output below zero is right enough where the mean is not positive.
        fitting = Fitting(
            epochs=15,
            rate=4e-3,
            final_share=0.1,
            slower_after=100.0,
            slower_power=0.3,
            slowest_after=5000.0,
            loss="positive",
        )
        config = MemoryConfig(**common, fitting=fitting, fresh_every=0, fresh_steps=100)
    else:
        fitting = Fitting(
            epochs=parameters["steps"],
            batch=parameters["minibatch"],
            rate=parameters["rate"],
            final_share=0.0,
            fall="linear",
            slower_power=0.0,
            clip_norm=parameters["clip_norm"],
        )
        config = MemoryConfig(**common, fitting=fitting, fresh_every=fresh_every, fresh_steps=parameters["fresh_steps"])
    policy_fitting = Fitting(
        batch=parameters["minibatch"],
        rate=5e-3,
        final_share=0.0,
        fall="linear",
        slower_power=0.0,
        loss="cross_entropy",
    )
    return config, MemoryConfig(**common, fitting=policy_fitting, fresh_steps=parameters.get("policy_steps", 1))


def make_deep_cfr(setup: Setup, parameters: Parameters, *, snapshots: bool) -> StoredCFR | LockstepCFR:
    """Return Deep CFR (an average policy network) or Single Deep CFR (snapshots)."""
    config, policy_config = _memory_configs(parameters)
    fallback = BEST if parameters["fallback"] == "best" else UNIFORM
    rule = LinearCFR() if parameters["weighted"] == "yes" else SAMPLED_RULES["cfr"]
    seeds = _seeds(setup)
    if setup.engine == "auto" and too_large_to_list(setup.game):
        return _make_unlisted_deep_cfr(setup, parameters, config, None if snapshots else policy_config, rule, fallback)
    prepared = Prepared(setup, parameters["cards"])
    tables, infosets = prepared.tables, prepared.infosets
    unit = largest_payoff(prepared.sampled)
    regrets = MemoryRegrets(infosets, config, unit=unit, seed=seeds[0], device=prepared.device)
    policy: MemoryStrategy | None = None
    strategies: StrategyStore
    if snapshots:
        strategies = Snapshots(
            regrets,
            rule,
            lambda scores: match_table(scores, tables.first, fallback),
            tables.own_reach,
            most_bytes=parameters["snapshot_megabytes"] << 20,
        )
    else:
        strategies = policy = MemoryStrategy(infosets, policy_config, seed=seeds[1], device=prepared.device)
    collector = Collector(
        prepared.sampled,
        External(),
        infosets.entry_row,
        infosets.entry_column,
        infosets.num_columns,
        batch=parameters["traversals"],
        fallback=fallback,
        seed=setup.seed,
    )
    sampler = MemorySampler(collector, regrets, policy)
    return StoredCFR(tables, sampler, regrets, strategies, averaging="stochastic", fallback=fallback)


def _make_unlisted_deep_cfr(
    setup: Setup,
    parameters: Parameters,
    config: MemoryConfig,
    policy_config: MemoryConfig | None,
    rule: Rule,
    fallback: int,
) -> LockstepCFR:
    unlisted = Unlisted(setup, parameters["cards"])
    rows, seeds = unlisted.rows, _seeds(setup)
    memories = 2 if policy_config is None else 4
    require(
        memories * sample_bytes(rows.num_columns) * config.capacity,
        what=f"{memories} memories of {config.capacity:,} samples",
        instead="give a smaller capacity: --set capacity=N",
    )
    unit = unlisted.tree.largest_payoff
    regrets = MemoryRegrets(rows, config, unit=unit, seed=seeds[0], device=unlisted.device)
    policy: MemoryStrategy | None = None
    strategies: RowStrategies
    if policy_config is None:
        most_bytes = parameters["snapshot_megabytes"] << 20
        strategies = RowSnapshots(regrets, rule, fallback=fallback, most_bytes=most_bytes)
    else:
        strategies = policy = MemoryStrategy(rows, policy_config, seed=seeds[1], device=unlisted.device)
    lockstep = unlisted.lockstep(setup, External(), batch=parameters["traversals"], fallback=fallback)
    sampler = RememberingRows(MemorySampler(lockstep, regrets, policy))
    return LockstepCFR(rows, sampler, regrets, strategies)


def largest_payoff(game: SampledGame) -> float:
    """Return the largest amount that can change hands."""
    terminal = game.tree.nodes.reshape(-1, WIDTH)[:, KIND] == TERMINAL
    amounts = np.abs(game.tree.amounts.reshape(-1, WIDTH // 2)[terminal, AMOUNT])
    return float(amounts.max() * np.abs(game.tree.matrices).max()) or 1.0
