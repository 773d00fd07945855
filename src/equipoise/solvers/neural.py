"""Neural recipes from their parameters: Double Neural CFR and its halves, Deep CFR, Single Deep CFR, NFSP."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from equipoise.errors import EquipoiseError
from equipoise.games import TERMINAL
from equipoise.networks.fitting import Fitting, Plateau
from equipoise.networks.infosets import infosets_of
from equipoise.networks.modules import Architecture, FeedForward, Recurrent
from equipoise.regret.matching import BEST, UNIFORM
from equipoise.regret.rules import LinearCFR
from equipoise.sampling.collect import Collector
from equipoise.sampling.gather import Gatherer
from equipoise.sampling.schemes import External, Robust
from equipoise.sampling.tree import AMOUNT, KIND, WIDTH, SampledGame, chance_reach, compile_for_sampling
from equipoise.solvers.setup import SAMPLED_RULES, Setup
from equipoise.solvers.stored import StoredCFR, match_table
from equipoise.stores.memories import MemoryConfig, MemoryRegrets, MemorySampler, MemoryStrategy, Snapshots
from equipoise.stores.networks import NetworkConfig, NetworkRegrets, NetworkStrategy
from equipoise.stores.sums import RegretStore, StrategyStore, TableRegrets, TableStrategy
from equipoise.trees.tables import TableMap
from equipoise.trees.treeplex import Float

Parameters = dict[str, Any]


class Prepared:
    """A compiled game with all that neural solvers share."""

    def __init__(self, setup: Setup, cards: Any) -> None:
        form, self.sampled = compile_for_sampling(setup.game, setup.engine, buffered=True)
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
    """Return an architecture by name: mlp, or a cell with or without attention, such as lstm+attention."""
    if network == "mlp":
        return FeedForward(width=width, layers=layers)
    cell, _, attention = network.partition("+")
    if attention:
        # As published: no hidden layer between the attended summary and the output.
        return Recurrent(cell=cell, width=width, attention="relu", hidden=False)  # type: ignore[arg-type]
    return Recurrent(cell=cell, width=width)  # type: ignore[arg-type]


def make_double_neural(
    setup: Setup, parameters: Parameters, *, regrets: bool = True, strategies: bool = True
) -> StoredCFR:
    """Return Double Neural CFR, or with one of its two networks replaced by a table."""
    prepared = Prepared(setup, parameters["cards"])
    tables, infosets = prepared.tables, prepared.infosets
    rule = SAMPLED_RULES[parameters["rule"]]
    seeds = np.random.SeedSequence(setup.seed).generate_state(2, np.uint32)
    regret_store: RegretStore = TableRegrets(tables.size, rule)
    if regrets:
        config = NetworkConfig(
            architecture=architecture_of(parameters["network"], parameters["width"], parameters["layers"]),
            fitting=_regret_fitting(parameters),
            shared=parameters["shared"] == "yes",
            anchor=parameters["anchor"],
            anchor_memory=parameters["anchor_memory"],
            scale=parameters["scale"],
        )
        regret_store = NetworkRegrets(infosets, config, rule, seed=int(seeds[0]), device=prepared.device)
    strategy_store: StrategyStore = TableStrategy(tables.size, rule)
    if strategies:
        config = NetworkConfig(
            architecture=architecture_of(parameters["network"], parameters["strategy_width"], parameters["layers"]),
            fitting=_strategy_fitting(parameters),
            shared=parameters["shared"] == "yes",
            anchor_memory=parameters["anchor_memory"],
            kind=parameters["strategy_kind"],
            every=parameters["strategy_every"],
        )
        mass = _mass(prepared, parameters["averaging"])
        strategy_store = NetworkStrategy(infosets, config, rule, mass, seed=int(seeds[1]), device=prepared.device)
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


def make_deep_cfr(setup: Setup, parameters: Parameters, *, snapshots: bool) -> StoredCFR:
    """Return Deep CFR (an average policy network) or Single Deep CFR (snapshots)."""
    prepared = Prepared(setup, parameters["cards"])
    tables, infosets = prepared.tables, prepared.infosets
    aggregated = parameters["targets"] == "aggregated"
    fallback = BEST if parameters["fallback"] == "best" else UNIFORM
    seeds = np.random.SeedSequence(setup.seed).generate_state(2, np.uint32)
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
        fitting = Fitting(epochs=15, rate=4e-3, final_share=0.1, slower_after=100.0, slower_power=0.3, loss="positive")
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
    unit = largest_payoff(prepared.sampled)
    regrets = MemoryRegrets(infosets, config, unit=unit, seed=int(seeds[0]), device=prepared.device)
    rule = LinearCFR() if parameters["weighted"] == "yes" else SAMPLED_RULES["cfr"]
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
        fitting = Fitting(
            batch=parameters["minibatch"],
            rate=5e-3,
            final_share=0.0,
            fall="linear",
            slower_power=0.0,
            loss="cross_entropy",
        )
        config = MemoryConfig(**common, fitting=fitting, fresh_steps=parameters["policy_steps"])
        strategies = policy = MemoryStrategy(infosets, config, seed=int(seeds[1]), device=prepared.device)
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


def largest_payoff(game: SampledGame) -> float:
    """Return the largest amount that can change hands."""
    terminal = game.tree.nodes.reshape(-1, WIDTH)[:, KIND] == TERMINAL
    amounts = np.abs(game.tree.amounts.reshape(-1, WIDTH // 2)[terminal, AMOUNT])
    return float(amounts.max() * np.abs(game.tree.matrices).max()) or 1.0
