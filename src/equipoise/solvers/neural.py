"""Neural recipes from their parameters: Double Neural CFR and its halves, Deep CFR, Single Deep CFR, NFSP."""

from dataclasses import replace
from functools import partial

import numpy as np

from equipoise.errors import InvalidParameter, NotSupported
from equipoise.memory import require
from equipoise.networks.fitting import Fitting, Loss, Plateau
from equipoise.networks.heads import CardsToDecisions
from equipoise.networks.holdem import CardsAndBets
from equipoise.networks.modules import FeedForward, Recurrent
from equipoise.networks.network import Architecture
from equipoise.networks.poker_rows import PokerRows
from equipoise.regret.matching import BEST, UNIFORM
from equipoise.regret.rules import LinearCFR
from equipoise.sampling.schemes import External, Outcome, Robust
from equipoise.solvers.parameters import (
    RESIDUAL,
    DeepCFR,
    DeepSampling,
    DoubleNeural,
    Fit,
    Network,
    RegretNetwork,
    SingleDeepCFR,
    StrategyNetwork,
)
from equipoise.solvers.representations import Representation
from equipoise.solvers.setup import SAMPLED_RULES, Setup
from equipoise.solvers.spaces import require_boards, space_of
from equipoise.solvers.stored import StoredCFR
from equipoise.stores.coded import CodedIncrements, CodedSums
from equipoise.stores.grids import GridConfig, GridRegrets, GridStrategy, infoset_bytes
from equipoise.stores.listed import ListedIncrements, ListedSums
from equipoise.stores.memories import (
    ListedBehaviour,
    MemoryConfig,
    MemoryRegrets,
    MemoryStrategy,
    Snapshots,
    sample_bytes,
)
from equipoise.stores.networks import NetworkConfig, NetworkRegrets, NetworkStrategy
from equipoise.stores.sums import RegretStore, StrategyStore, TableRegrets, TableStrategy
from equipoise.trees.treeplex import Float, Int64

ROUNDING = 1e-5  # sum of what all outputs are pulled by, below which a fit would follow rounding errors


def architecture_of(network: Network, width: int, own: Architecture | None = None) -> Architecture:
    """Return an architecture by name: mlp, cards, a cell with or without attention (lstm+attention), or one's own."""
    if network.network == "own":
        if own is None:
            raise InvalidParameter(
                "network=own is a network that is handed in from Python: solve(..., network=...), and for its run "
                "resume(..., network=...)"
            )
        return own
    if own is not None:
        raise InvalidParameter(f"a network was handed in, and the settings say network={network.network}: give one")
    if network.network == "mlp":
        return FeedForward(width=width, layers=network.layers)
    if network.network == "cards":
        return CardsAndBets(width=width)
    if network.network == "heads":
        return CardsToDecisions(width=width, layers=network.layers)
    cell, _, attention = network.network.partition("+")
    if network.network == RESIDUAL:
        return Recurrent(cell="lstm", width=width, attention="residual", hidden=False)
    if attention:
        # As published: no hidden layer between the attended summary and the output.
        return Recurrent(cell=cell, width=width, attention="relu", hidden=False)  # type: ignore[arg-type]
    return Recurrent(cell=cell, width=width)  # type: ignore[arg-type]


def make_double_neural(
    setup: Setup, representation: Representation, chosen: DoubleNeural | RegretNetwork | StrategyNetwork
) -> StoredCFR:
    """Return Double Neural CFR, or with one of its two networks replaced by a table."""
    if isinstance(chosen, DoubleNeural) and chosen.sampling.targets == "vector":
        return _double_neural_on_boards(setup, representation, chosen)
    sampling, seeds = chosen.sampling, _seeds(setup)
    space, rule = space_of(setup, representation, chosen.network), SAMPLED_RULES[sampling.rule]
    batch, averaging = sampling.batch, sampling.averaging
    sampler = space.means(sampling.scheme, batch=batch, averaging=averaging, fallback=UNIFORM)
    regrets: RegretStore
    strategies: StrategyStore
    if (coded := space.coded) is not None and not isinstance(chosen, DoubleNeural):
        raise NotSupported(f"{setup.game.name} is too large for tables of its infosets; dncfr needs none")
    if isinstance(chosen, RegretNetwork):
        found = (
            ListedIncrements(space.listed().seen)
            if coded is None
            else CodedIncrements(
                coded.seen,
                partial(_share_of_batch, coded.seen, batch),
                networks=1 if chosen.shared else 2,
                seed=seeds[0],
            )
        )
        config = _regret_network(chosen, setup.network)
        regrets = NetworkRegrets(found, config, rule, seed=seeds[0], device=space.device)
    else:
        regrets = TableRegrets(space.listed().listing, rule)
    if isinstance(chosen, DoubleNeural | StrategyNetwork):
        sums = (
            ListedSums(space.listed().seen, space.listed().mass(averaging))
            if coded is None
            else CodedSums(coded.seen, None if averaging == "own_reach" else sampler.rows)
        )
        all_rows = coded is None and chosen.strategy_sums.rows == "all"
        config = _strategy_network(chosen, setup.network, all_rows=all_rows)
        strategies = NetworkStrategy(sums, config, rule, seed=seeds[1], device=space.device)
    else:
        strategies = TableStrategy(space.listed().listing, rule)
    return StoredCFR(space, sampler, regrets, strategies, updates=sampling.updates)


def _double_neural_on_boards(setup: Setup, representation: Representation, chosen: DoubleNeural) -> StoredCFR:
    """Return Double Neural CFR with exact regrets of all hands on boards that are drawn anew in each turn."""
    require_boards(representation)
    sampling, seeds = chosen.sampling, _seeds(setup)
    space, rule = space_of(setup, representation, chosen.network), SAMPLED_RULES[sampling.rule]
    assert space.coded is not None
    sampler = space.vectors(kept=0, fresh=sampling.boards, fallback=UNIFORM)
    found = CodedIncrements(space.coded.seen, alike, networks=1 if chosen.shared else 2, seed=seeds[0])
    config = _by_holdings(_regret_network(chosen, setup.network))
    regrets = NetworkRegrets(found, config, rule, seed=seeds[0], device=space.device)
    # What a network stands for counts in full wherever it is met: on each board, all hands are.
    sums = CodedSums(space.coded.seen, None)
    average = _by_holdings(_strategy_network(chosen, setup.network, all_rows=False))
    strategies = NetworkStrategy(sums, average, rule, seed=seeds[1], device=space.device)
    return StoredCFR(space, sampler, regrets, strategies, updates=sampling.updates)


def _by_holdings(config: NetworkConfig) -> NetworkConfig:
    """Return the same with steps that take whole holdings."""
    fitting = config.fitting
    return replace(config, fitting=replace(fitting, holdings=fitting.batch, batch=0))


def alike(codes: Int64) -> Float:
    """Return 1 for each of some codes: what their increments are divided by where nothing is sampled of them."""
    return np.ones(len(codes))


def _share_of_batch(seen: PokerRows, batch: int, codes: Int64) -> Float:
    """Return the share of a batch that chance leads to codes, or one traversal where it is less."""
    shares: Float = np.maximum(seen.chance_at(codes), 1.0 / batch)
    return shares


def _seeds(setup: Setup) -> list[int]:
    """Return seeds of the regrets' networks and of the average's."""
    return [int(word) for word in np.random.SeedSequence(setup.seed).generate_state(2, np.uint32)]


def _regret_network(chosen: RegretNetwork, own: Architecture | None) -> NetworkConfig:
    sums = chosen.sums
    floored = SAMPLED_RULES[chosen.sampling.rule].at(1).floor == 0.0
    loss: Loss = "positive" if floored and chosen.fitting == "steps" else "squared"
    return NetworkConfig(
        architecture=architecture_of(chosen.network, chosen.network.width, own),
        fitting=_fitting(chosen.fitting, chosen.network, chosen.fit, loss, first=5),
        shared=chosen.shared,
        anchor=sums.anchor,
        anchor_memory=sums.anchor_memory if sums.anchor > 0.0 else 0,
        scale=sums.scale,
        multiple=chosen.sampling.batch if chosen.sampling.targets == "sampled" and sums.regrets == "sum" else 1,
    )


def _strategy_network(
    chosen: DoubleNeural | StrategyNetwork, own: Architecture | None, *, all_rows: bool
) -> NetworkConfig:
    sums = chosen.strategy_sums
    loss: Loss = "cross_entropy" if sums.kind == "average" else "squared"
    return NetworkConfig(
        architecture=architecture_of(chosen.network, chosen.strategy_network.width, own),
        fitting=_fitting(chosen.fitting, chosen.network, chosen.strategy_fit, loss, first=2),
        shared=chosen.shared,
        kind=sums.kind,
        every=sums.every,
        all_rows=all_rows,
    )


def _fitting(how: str, network: Network, fit: Fit, loss: Loss, *, first: int) -> Fitting:
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
            mixed=network.mixed,
        )
    return Fitting(
        epochs=fit.steps,
        first_epochs=first * fit.steps,
        batch=fit.minibatch,
        rate=fit.rate,
        final_share=fit.rate_end,
        slower_after=fit.rate_after,
        slower_power=fit.rate_power,
        least_pull=ROUNDING if network.network == RESIDUAL else 0.0,
        loss=loss,
        mixed=network.mixed,
    )


def _memory_config(
    chosen: DeepCFR | SingleDeepCFR,
    own: Architecture | None,
    fitting: Fitting,
    fresh_every: int,
    fresh_steps: int,
) -> MemoryConfig:
    memory = chosen.memory
    aggregated = chosen.targets == "aggregated"
    return MemoryConfig(
        architecture=architecture_of(chosen.network, chosen.network.width, own),
        fitting=fitting,
        kind="aggregated" if aggregated else memory.memory,
        capacity=0 if aggregated else memory.capacity,
        weighted=memory.weighted,
        fresh_every=fresh_every,
        fresh_steps=fresh_steps,
    )


def _regret_memory(chosen: DeepCFR | SingleDeepCFR, own: Architecture | None) -> MemoryConfig:
    fit = chosen.fit
    if chosen.targets == "aggregated":
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
            mixed=chosen.network.mixed,
        )
        return _memory_config(chosen, own, fitting, 0, fit.fresh_steps)
    fresh_every = fit.fresh_every if fit.fit == "hybrid" else {"scratch": 1, "fine_tune": 0}[fit.fit]
    fitting = Fitting(
        epochs=fit.steps if fit.fit != "scratch" else fit.fresh_steps,
        batch=fit.minibatch,
        rate=fit.rate,
        final_share=0.0 if fit.schedule == "linear" else 1.0,
        fall="linear",
        slower_power=0.0,
        clip_norm=fit.clip_norm,
        mixed=chosen.network.mixed,
    )
    return _memory_config(chosen, own, fitting, fresh_every, fit.fresh_steps)


def _policy_memory(chosen: DeepCFR, own: Architecture | None) -> MemoryConfig:
    policy = chosen.policy
    fitting = Fitting(
        batch=0 if chosen.targets == "aggregated" else chosen.fit.minibatch,
        rate=policy.rate,
        final_share=0.0 if policy.schedule == "linear" else 1.0,
        fall="linear",
        slower_power=0.0,
        clip_norm=policy.clip_norm,
        loss="cross_entropy" if policy.loss == "cross_entropy" else "squared_probabilities",
        mixed=chosen.network.mixed,
    )
    config = _memory_config(chosen, own, fitting, 1, policy.steps)
    return replace(config, masses=chosen.sampling.sampling != "external")


def _deep_scheme(sampling: DeepSampling) -> External | Robust | Outcome:
    if sampling.sampling == "robust":
        return Robust(k=sampling.k)
    return Outcome(epsilon=sampling.epsilon) if sampling.sampling == "outcome" else External()


def _fitted_sums(chosen: DeepCFR | SingleDeepCFR, own: Architecture | None) -> GridConfig:
    """Return how networks are fitted to sums on a sample of boards: they move little, so a few steps follow them."""
    fit = chosen.fit
    fitting = Fitting(
        epochs=fit.steps,
        first_epochs=5 * fit.steps,
        rate=fit.rate,
        final_share=0.1,
        slower_after=20.0,
        slower_power=0.3,
        clip_norm=fit.clip_norm,
        loss="positive",
        mixed=chosen.network.mixed,
    )
    architecture = architecture_of(chosen.network, chosen.network.width, own)
    return GridConfig(architecture=architecture, fitting=fitting, holdings=fit.minibatch)


def _policy_of_sums(chosen: DeepCFR, own: Architecture | None) -> GridConfig:
    policy = chosen.policy
    fitting = Fitting(
        epochs=policy.steps,
        first_epochs=policy.steps,
        rate=policy.rate,
        final_share=0.0 if policy.schedule == "linear" else 1.0,
        fall="linear",
        slower_power=0.0,
        clip_norm=policy.clip_norm,
        loss="cross_entropy",
        mixed=chosen.network.mixed,
    )
    return replace(_fitted_sums(chosen, own), fitting=fitting)


def _make_vector(setup: Setup, representation: Representation, chosen: DeepCFR | SingleDeepCFR) -> StoredCFR:
    """Return the same with exact regrets on a sample of boards in place of samples."""
    require_boards(representation)
    space, seeds, boards = space_of(setup, representation, chosen.network), _seeds(setup), chosen.boards
    fallback, rule = BEST if chosen.memory.fallback == "best" else UNIFORM, SAMPLED_RULES[boards.rule]
    sampler = space.vectors(kept=boards.boards, fresh=boards.fresh_boards, fallback=fallback)
    what = f"sums of {boards.boards} boards"
    require(sampler.num_kept * infoset_bytes(space.seen.num_columns), what=what, instead="give fewer: --set boards=N")
    config = _fitted_sums(chosen, setup.network)
    regrets = GridRegrets(space.seen, config, rule, seed=seeds[0], device=space.device)
    strategies: StrategyStore
    if isinstance(chosen, DeepCFR):
        policy = _policy_of_sums(chosen, setup.network)
        strategies = GridStrategy(space.seen, policy, rule, seed=seeds[1], device=space.device)
    else:
        most_bytes = chosen.snapshot_megabytes << 20
        strategies = Snapshots(regrets, rule, None, fallback=fallback, most_bytes=most_bytes)
    return StoredCFR(space, sampler, regrets, strategies)


def make_deep_cfr(setup: Setup, representation: Representation, chosen: DeepCFR | SingleDeepCFR) -> StoredCFR:
    """Return Deep CFR (an average policy network) or Single Deep CFR (snapshots)."""
    if chosen.targets == "vector":
        return _make_vector(setup, representation, chosen)
    space, seeds, config = (
        space_of(setup, representation, chosen.network),
        _seeds(setup),
        _regret_memory(chosen, setup.network),
    )
    fallback = BEST if chosen.memory.fallback == "best" else UNIFORM
    sampler = space.samples(_deep_scheme(chosen.sampling), batch=chosen.sampling.traversals, fallback=fallback)
    one_policy = isinstance(chosen, DeepCFR) and chosen.policy.networks == "one"
    memories = 2 if isinstance(chosen, SingleDeepCFR) else 3 if one_policy else 4
    space.require_memories(memories, config.capacity, sample_bytes(space.seen.num_columns))
    regrets = MemoryRegrets(space.seen, config, unit=space.unit, seed=seeds[0], device=space.device)
    if isinstance(chosen, DeepCFR):
        policy = MemoryStrategy(
            space.seen, _policy_memory(chosen, setup.network), shared=one_policy, seed=seeds[1], device=space.device
        )
        return StoredCFR(space, sampler, regrets, policy)
    rule = LinearCFR() if chosen.memory.weighted else SAMPLED_RULES["cfr"]
    most_bytes = chosen.snapshot_megabytes << 20
    behaviour = None
    if space.coded is None:
        listed = space.listed()
        behaviour = ListedBehaviour(listed.listing, listed.tables.own_reach, regrets.scores_with)
    snapshots = Snapshots(regrets, rule, behaviour, fallback=fallback, most_bytes=most_bytes)
    return StoredCFR(space, sampler, regrets, snapshots)
