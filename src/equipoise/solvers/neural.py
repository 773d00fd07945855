"""Neural recipes from their parameters: Double Neural CFR and its halves, Deep CFR, Single Deep CFR, NFSP."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from equipoise.errors import EquipoiseError, NotSupported
from equipoise.games import TERMINAL
from equipoise.games.poker import PokerGame
from equipoise.games.sizes import too_large_to_list
from equipoise.memory import require
from equipoise.networks.devices import find_device
from equipoise.networks.fitting import Fitting, Loss, Plateau
from equipoise.networks.holdem import CardsAndBets
from equipoise.networks.infosets import infosets_of
from equipoise.networks.modules import Architecture, FeedForward, Recurrent
from equipoise.networks.poker_rows import poker_rows
from equipoise.regret.matching import BEST, UNIFORM
from equipoise.regret.rules import LinearCFR, Rule
from equipoise.sampling.collect import Collector
from equipoise.sampling.gather import Gatherer
from equipoise.sampling.lockstep import Lockstep
from equipoise.sampling.schemes import External, Outcome, Robust
from equipoise.sampling.tree import AMOUNT, KIND, WIDTH, SampledGame, chance_reach, compile_for_sampling
from equipoise.solvers.lockstep import LockstepCFR, RememberingRows, SummingRows
from equipoise.solvers.parameters import (
    DeepCFR,
    DeepSampling,
    DoubleNeural,
    Fit,
    Network,
    RegretNetwork,
    SingleDeepCFR,
    StrategyNetwork,
)
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


class Unlisted:
    """A game too large to list, with all that neural solvers share."""

    def __init__(self, setup: Setup, cards: Any) -> None:
        assert isinstance(setup.game, PokerGame)
        require_codes(setup.game)
        self.tree = betting_tree(setup.game)
        self.rows = poker_rows(self.tree, cards)
        self.device = find_device(setup.device)
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
        self.device = find_device(setup.device)
        torch.set_num_threads(1)  # these networks are too small to share out


def architecture_of(network: Network, width: int) -> Architecture:
    """Return an architecture by name: mlp, cards, or a cell with or without attention, such as lstm+attention."""
    if network.network == "mlp":
        return FeedForward(width=width, layers=network.layers)
    if network.network == "cards":
        return CardsAndBets(width=width)
    cell, _, attention = network.network.partition("+")
    if attention:
        # As published: no hidden layer between the attended summary and the output.
        return Recurrent(cell=cell, width=width, attention="relu", hidden=False)  # type: ignore[arg-type]
    return Recurrent(cell=cell, width=width)  # type: ignore[arg-type]


def make_double_neural(setup: Setup, chosen: DoubleNeural | RegretNetwork | StrategyNetwork) -> StoredCFR | LockstepCFR:
    """Return Double Neural CFR, or with one of its two networks replaced by a table."""
    if setup.engine == "auto" and too_large_to_list(setup.game):
        if not isinstance(chosen, DoubleNeural):
            raise NotSupported(f"{setup.game.name} is too large for tables of its infosets; dncfr needs none")
        return _make_unlisted_double_neural(setup, chosen)
    prepared = Prepared(setup, chosen.network.cards)
    tables, infosets, sampling = prepared.tables, prepared.infosets, chosen.sampling
    rule = SAMPLED_RULES[sampling.rule]
    seeds = _seeds(setup)
    regret_store: RegretStore = TableRegrets(tables.size, rule)
    if isinstance(chosen, RegretNetwork):
        config = _regret_network(chosen)
        regret_store = NetworkRegrets(infosets, config, rule, seed=seeds[0], device=prepared.device)
    strategy_store: StrategyStore = TableStrategy(tables.size, rule)
    if isinstance(chosen, DoubleNeural | StrategyNetwork):
        config = _strategy_network(chosen, all_rows=chosen.strategy_sums.rows == "all")
        mass = _mass(prepared, sampling.averaging)
        strategy_store = NetworkStrategy(infosets, config, rule, mass, seed=seeds[1], device=prepared.device)
    gatherer = Gatherer(
        prepared.sampled,
        sampling.scheme,
        batch=sampling.batch,
        averaging=sampling.averaging,
        fallback=UNIFORM,
        seed=setup.seed,
        threads=setup.threads,
    )
    return StoredCFR(
        tables,
        gatherer,
        regret_store,
        strategy_store,
        updates=sampling.updates,
        averaging=sampling.averaging,
    )


def _seeds(setup: Setup) -> list[int]:
    """Return seeds of the regrets' networks and of the average's."""
    return [int(word) for word in np.random.SeedSequence(setup.seed).generate_state(2, np.uint32)]


def _regret_network(chosen: RegretNetwork) -> NetworkConfig:
    sums = chosen.sums
    floored = SAMPLED_RULES[chosen.sampling.rule].at(1).floor == 0.0
    loss: Loss = "positive" if floored and chosen.fitting == "steps" else "squared"
    return NetworkConfig(
        architecture=architecture_of(chosen.network, chosen.network.width),
        fitting=_fitting(chosen.fitting, chosen.fit, loss, first=5),
        shared=chosen.shared,
        anchor=sums.anchor,
        anchor_memory=sums.anchor_memory if sums.anchor > 0.0 else 0,
        scale=sums.scale,
        multiple=chosen.sampling.batch if sums.regrets == "sum" else 1,
    )


def _strategy_network(chosen: DoubleNeural | StrategyNetwork, *, all_rows: bool) -> NetworkConfig:
    sums = chosen.strategy_sums
    loss: Loss = "cross_entropy" if sums.kind == "average" else "squared"
    return NetworkConfig(
        architecture=architecture_of(chosen.network, chosen.strategy_network.width),
        fitting=_fitting(chosen.fitting, chosen.strategy_fit, loss, first=2),
        shared=chosen.shared,
        kind=sums.kind,
        every=sums.every,
        all_rows=all_rows,
    )


def _make_unlisted_double_neural(setup: Setup, chosen: DoubleNeural) -> LockstepCFR:
    sampling = chosen.sampling
    if sampling.averaging == "exact":
        raise NotSupported(
            f"averaging=exact needs a list of infosets, and {setup.game.name} has too many; give averaging=stochastic"
        )
    unlisted = Unlisted(setup, chosen.network.cards)
    rows, rule, seeds = unlisted.rows, SAMPLED_RULES[sampling.rule], _seeds(setup)
    batch = sampling.batch

    def unit(codes: Int64) -> Float:
        """Return the share of a batch that chance leads to codes, or one traversal where it is less."""
        shares: Float = np.maximum(rows.chance_at(codes), 1.0 / batch)
        return shares

    config = _regret_network(chosen)
    regrets = RowRegretNetworks(rows, config, rule, unit, seed=seeds[0], device=unlisted.device)
    lockstep = unlisted.lockstep(setup, sampling.scheme, batch=batch, fallback=UNIFORM)
    by_own_reach = sampling.averaging == "own_reach"
    sampler = SummingRows(lockstep, batch, own_reach=rows.legal_at if by_own_reach else None)
    config = _strategy_network(chosen, all_rows=False)
    rehearse = None if by_own_reach else sampler.rehearse
    strategies = RowStrategyNetworks(rows, config, rule, rehearse, seed=seeds[1], device=unlisted.device)
    return LockstepCFR(rows, sampler, regrets, strategies, updates=sampling.updates, averaging=sampling.averaging)


def _fitting(how: str, fit: Fit, loss: Loss, *, first: int) -> Fitting:
    """Return how a network is fitted; by steps, the first fit has ``first`` times as many."""
    if how == "algorithm2":  # DN19 Algorithm 2 and Appendix E
        return Fitting(
            epochs=fit.steps,
            first_epochs=fit.steps,
            batch=fit.minibatch,
            rate=fit.rate,
            slower_power=0.0,
            clip_value=fit.clip_value,
            keep_optimiser=False,
            plateau=Plateau(
                factor=fit.rate_factor,
                patience=fit.patience,
                floor=fit.rate_floor,
                reset_after=fit.reset_after,
                good_enough=fit.enough,
            ),
            loss=loss,
        )
    return Fitting(
        epochs=fit.steps,
        first_epochs=first * fit.steps,
        batch=fit.minibatch,
        rate=fit.rate,
        final_share=fit.rate_end,
        slower_after=fit.rate_after,
        slower_power=fit.rate_power,
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


def _memory_config(
    chosen: DeepCFR | SingleDeepCFR, fitting: Fitting, fresh_every: int, fresh_steps: int
) -> MemoryConfig:
    memory = chosen.memory
    aggregated = memory.targets == "aggregated"
    return MemoryConfig(
        architecture=architecture_of(chosen.network, chosen.network.width),
        fitting=fitting,
        kind="aggregated" if aggregated else memory.memory,
        capacity=0 if aggregated else memory.capacity,
        weighted=memory.weighted,
        fresh_every=fresh_every,
        fresh_steps=fresh_steps,
    )


def _regret_memory(chosen: DeepCFR | SingleDeepCFR) -> MemoryConfig:
    fit = chosen.fit
    if chosen.memory.targets == "aggregated":
        # Exact targets move little from one iteration to the next: a few full-batch steps follow them.
        # They are exact, so an output below zero is right enough where the mean is not positive.
        fitting = Fitting(
            epochs=fit.steps,
            rate=fit.rate,
            final_share=0.1,
            slower_after=100.0,
            slower_power=0.3,
            slowest_after=5000.0,
            clip_norm=fit.clip_norm,
            loss="positive",
        )
        return _memory_config(chosen, fitting, 0, fit.fresh_steps)
    fresh_every = fit.fresh_every if fit.fit == "hybrid" else {"scratch": 1, "fine_tune": 0}[fit.fit]
    fitting = Fitting(
        epochs=fit.steps if fit.fit != "scratch" else fit.fresh_steps,
        batch=fit.minibatch,
        rate=fit.rate,
        final_share=0.0 if fit.schedule == "linear" else 1.0,
        fall="linear",
        slower_power=0.0,
        clip_norm=fit.clip_norm,
    )
    return _memory_config(chosen, fitting, fresh_every, fit.fresh_steps)


def _policy_memory(chosen: DeepCFR) -> MemoryConfig:
    policy = chosen.policy
    fitting = Fitting(
        batch=0 if chosen.memory.targets == "aggregated" else chosen.fit.minibatch,
        rate=policy.rate,
        final_share=0.0 if policy.schedule == "linear" else 1.0,
        fall="linear",
        slower_power=0.0,
        clip_norm=policy.clip_norm,
        loss="cross_entropy" if policy.loss == "cross_entropy" else "squared_probabilities",
    )
    return _memory_config(chosen, fitting, 1, policy.steps)


def _deep_scheme(sampling: DeepSampling) -> External | Robust | Outcome:
    if sampling.sampling == "robust":
        return Robust(k=sampling.k)
    return Outcome(epsilon=sampling.epsilon) if sampling.sampling == "outcome" else External()


def make_deep_cfr(setup: Setup, chosen: DeepCFR | SingleDeepCFR) -> StoredCFR | LockstepCFR:
    """Return Deep CFR (an average policy network) or Single Deep CFR (snapshots)."""
    config = _regret_memory(chosen)
    memory, sampling = chosen.memory, chosen.sampling
    fallback = BEST if memory.fallback == "best" else UNIFORM
    rule = LinearCFR() if memory.weighted else SAMPLED_RULES["cfr"]
    seeds = _seeds(setup)
    if setup.engine == "auto" and too_large_to_list(setup.game):
        return _make_unlisted_deep_cfr(setup, chosen, config, rule, fallback)
    prepared = Prepared(setup, chosen.network.cards)
    tables, infosets = prepared.tables, prepared.infosets
    unit = largest_payoff(prepared.sampled)
    regrets = MemoryRegrets(infosets, config, unit=unit, seed=seeds[0], device=prepared.device)
    policy: MemoryStrategy | None = None
    strategies: StrategyStore
    if isinstance(chosen, SingleDeepCFR):
        strategies = Snapshots(
            regrets,
            rule,
            lambda scores: match_table(scores, tables.first, fallback),
            tables.own_reach,
            most_bytes=chosen.snapshot_megabytes << 20,
        )
    else:
        strategies = policy = MemoryStrategy(
            infosets,
            _policy_memory(chosen),
            shared=chosen.policy.networks == "one",
            seed=seeds[1],
            device=prepared.device,
        )
    collector = Collector(
        prepared.sampled,
        _deep_scheme(sampling),
        infosets.entry_row,
        infosets.entry_column,
        infosets.num_columns,
        batch=sampling.traversals,
        fallback=fallback,
        seed=setup.seed,
    )
    sampler = MemorySampler(collector, regrets, policy)
    return StoredCFR(tables, sampler, regrets, strategies, averaging="stochastic", fallback=fallback)


def _make_unlisted_deep_cfr(
    setup: Setup, chosen: DeepCFR | SingleDeepCFR, config: MemoryConfig, rule: Rule, fallback: int
) -> LockstepCFR:
    scheme = _deep_scheme(chosen.sampling)
    if isinstance(scheme, Outcome):
        raise NotSupported(
            f"{setup.game.name} is too large to list, and traversed without outcome sampling; "
            "give sampling=robust and k=1"
        )
    unlisted = Unlisted(setup, chosen.network.cards)
    rows, seeds = unlisted.rows, _seeds(setup)
    one_policy = isinstance(chosen, DeepCFR) and chosen.policy.networks == "one"
    memories = 2 if isinstance(chosen, SingleDeepCFR) else 3 if one_policy else 4
    require(
        memories * sample_bytes(rows.num_columns) * config.capacity,
        what=f"{memories} memories of {config.capacity:,} samples",
        instead="give a smaller capacity: --set capacity=N",
    )
    unit = unlisted.tree.largest_payoff
    regrets = MemoryRegrets(rows, config, unit=unit, seed=seeds[0], device=unlisted.device)
    policy: MemoryStrategy | None = None
    strategies: RowStrategies
    if isinstance(chosen, SingleDeepCFR):
        most_bytes = chosen.snapshot_megabytes << 20
        strategies = RowSnapshots(regrets, rule, fallback=fallback, most_bytes=most_bytes)
    else:
        strategies = policy = MemoryStrategy(
            rows, _policy_memory(chosen), shared=one_policy, seed=seeds[1], device=unlisted.device
        )
    lockstep = unlisted.lockstep(setup, scheme, batch=chosen.sampling.traversals, fallback=fallback)
    sampler = RememberingRows(MemorySampler(lockstep, regrets, policy))
    return LockstepCFR(rows, sampler, regrets, strategies)


def largest_payoff(game: SampledGame) -> float:
    """Return the largest amount that can change hands."""
    terminal = game.tree.nodes.reshape(-1, WIDTH)[:, KIND] == TERMINAL
    amounts = np.abs(game.tree.amounts.reshape(-1, WIDTH // 2)[terminal, AMOUNT])
    return float(amounts.max() * np.abs(game.tree.matrices).max()) or 1.0
