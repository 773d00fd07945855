"""Sums on a sample of boards, and networks that are fitted to them: regrets in every turn, the average in the end.

Rows come in grids with numbers (`trees.codes.Grid`): all hands on a board that is met in every turn. Their sums are
kept, by the update rule, as a table is; the network is what is *played*, on these boards and on all others. So its
errors show up as regrets and are mended, and the table only says what to fit. It is a table all the same: of a part of
the game, whose size does not depend on that of the game.

What the network of regrets is fitted to is each infoset's sums over its positive part, with a floor of -1: regret
matching sees no scale, and infosets would not be learnt together whose sums differ a thousandfold. Where a sum is not
positive, an output below zero is nearly right enough. An infoset counts the square root of the opponent's mean reach,
and by its own reach; both as they are in the last turn.

Each step draws holdings, all of them alike (boards are drawn by their weight), with all their decisions.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from equipoise.errors import EquipoiseError
from equipoise.networks.fitting import Examples, Fitting, Loss, outputs_for
from equipoise.networks.network import Architecture
from equipoise.networks.rows import Bool, SeenRows
from equipoise.networks.trained import TrainedNetwork
from equipoise.regret.rules import Rule, coefficient_table
from equipoise.sampling.rows import Asked, Rows
from equipoise.stores.answers import answers_of
from equipoise.stores.coded import NOT_LISTED
from equipoise.stores.networks import fit_diagnostics
from equipoise.stores.sums import Diagnostics, Mixture, State, joined, part_of, update_all
from equipoise.trees.codes import MOST_CARDS, NO_NUMBER, NODE_SHIFT, Grid, cards_of
from equipoise.trees.treeplex import Float, Int64
from equipoise.work import Report

FloatTable = npt.NDArray[np.float64]
Numbers = npt.NDArray[Any]  # in single or double precision
Float32 = npt.NDArray[np.float32]

FLOOR = -1.0  # of a target
UNREACHED = 0.1  # what an infoset counts, besides its own reach
ELSEWHERE = 8  # of so many steps, one is for grids that have other nodes than most


@dataclass(frozen=True, kw_only=True)
class GridConfig:
    """A network that is fitted to sums on grids, and how."""

    architecture: Architecture
    fitting: Fitting  # epochs are steps here: each draws its own batch
    holdings: int = 1024  # in a step
    head: float = 0.4


def infoset_bytes(columns: int) -> int:
    """Return the memory that an infoset takes: regrets and strategies with what a turn finds, and what was read."""
    return 4 * (2 * (2 * columns + 1) + columns)


class Block(NamedTuple):
    """Grids with the same nodes, one after the other."""

    nodes: Int64
    held: Int64  # [holdings] codes of cards
    sums: Float32  # [holdings, nodes, columns]
    found: Float32  # [holdings, nodes, columns] in this turn
    reach: Float32  # [holdings, nodes] what an infoset counts in a fit, as it was found in the last turn
    number: Int64  # [grids]
    first: Int64  # [grids + 1] where their holdings begin


class GridSums:
    """Sums by infoset of the grids that came so far, of one player."""

    def __init__(self, seen: SeenRows) -> None:
        self.seen = seen
        self.blocks: list[Block] = []
        self._new: dict[int, Block] = {}  # grids that came for the first time in this turn, by number
        self._place: dict[int, tuple[int, slice]] = {}  # the others: which block, and where in it

    def add(self, rows: Rows, reach: Float) -> None:
        """Take in findings of a grid; ``reach`` is what its infosets count in a fit."""
        grid = rows.infoset
        if not isinstance(grid, Grid) or grid.number == NO_NUMBER:
            raise EquipoiseError("sums are kept of grids that come again, and this sampler finds other rows")
        shape = len(grid.held), len(grid.nodes), self.seen.num_columns
        values = (rows.weight[:, None] * rows.values).astype(np.float32).reshape(shape)
        counted = reach.astype(np.float32).reshape(shape[:2])
        if grid.number in self._place:
            number, own = self._place[grid.number]
            self.blocks[number].found[own] += values
            self.blocks[number].reach[own] = counted
        elif grid.number in self._new:
            self._new[grid.number].found[:] += values
        else:
            ends = np.array([0, shape[0]], np.int64)
            number_alone = np.array([grid.number], np.int64)
            self._new[grid.number] = Block(
                grid.nodes, grid.held, np.zeros_like(values), values, counted, number_alone, ends
            )

    def settle(self, keep_positive: float, keep_negative: float, weight: float, floor: float) -> None:
        """End a turn: sums fade, and what was found is added."""
        if self._new:
            parts: dict[bytes, list[Block]] = {}
            for block in [*self.blocks, *self._new.values()]:
                parts.setdefault(block.nodes.tobytes(), []).append(block)
            self._set_blocks([_joined_blocks(each) for each in parts.values()])
            self._new.clear()
        rule = np.array([keep_positive, keep_negative, weight, floor])
        for block in self.blocks:
            block.sums.ravel()[:] = update_all(block.sums.ravel(), block.found.ravel(), rule)
            block.found[:] = 0.0

    def _set_blocks(self, blocks: list[Block]) -> None:
        self.blocks = blocks
        self._place = {
            int(number): (place, slice(int(block.first[k]), int(block.first[k + 1])))
            for place, block in enumerate(blocks)
            for k, number in enumerate(block.number)
        }

    def some(self, generator: np.random.Generator, step: int, size: int) -> "Some":
        """Return some holdings for a step of a fit, from one of the blocks."""
        block = self.blocks[self._of_step(step)]
        chosen = generator.integers(0, len(block.held), size)
        grid = Grid(block.held[chosen], block.nodes)
        return Some(grid, block.sums[chosen], block.reach[chosen])

    def _of_step(self, step: int) -> int:
        """Return which block a step is about: mostly the largest."""
        sizes = [len(block.held) for block in self.blocks]
        largest = int(np.argmax(sizes))
        others = [k for k in range(len(sizes)) if k != largest]
        return others[step // ELSEWHERE % len(others)] if others and step % ELSEWHERE == ELSEWHERE - 1 else largest

    def state(self) -> State:
        """Return all that the next turns depend on."""
        arrays: State = {"blocks": np.array([len(self.blocks)])}
        for number, block in enumerate(self.blocks):
            kept = block._asdict()
            del kept["found"]  # zeros between turns
            arrays |= joined({f"block{number}": kept})
        return arrays

    def restore(self, state: State) -> None:
        """Continue from a saved state."""
        blocks = []
        for number in range(int(state["blocks"][0])):
            kept = part_of(state, f"block{number}")
            block = Block(**{name: array.copy() for name, array in kept.items()}, found=np.zeros_like(kept["sums"]))
            self._check(block)
            blocks.append(block)
        self._set_blocks(blocks)

    def _check(self, block: Block) -> None:
        """Refuse a block whose arrays do not fit together: kernels take its cards for places in arrays."""
        kinds = [array.dtype for array in block]
        shape = len(block.held), len(block.nodes), self.seen.num_columns
        whole, single = np.dtype(np.int64), np.dtype(np.float32)
        fits = kinds == [whole, whole, single, single, single, whole, whole]
        fits = fits and (block.sums.shape, block.reach.shape) == (shape, shape[:2])
        fits = fits and len(block.first) == len(block.number) + 1 and block.first[-1] == len(block.held)
        if not fits or (np.diff(block.first) < 0).any() or block.first[0] != 0:
            raise ValueError("its sums on boards do not fit together")
        some = self.seen.on_grid(Grid(block.held[:0], block.nodes[:1]))
        cards = cards_of(block.held, MOST_CARDS)
        if (cards >= some.ranks * some.suits).any() or (block.held >> NODE_SHIFT != 0).any():
            raise ValueError("its sums are of cards that there are not")


class Some(NamedTuple):
    """Some holdings with all their decisions."""

    grid: Grid
    sums: Float32  # [holdings, nodes, columns]
    reach: Float32  # [holdings, nodes]


def _joined_blocks(parts: list[Block]) -> Block:
    """Return blocks with the same nodes as one."""
    joint = {
        name: np.concatenate([getattr(part, name) for part in parts])
        for name in ("held", "sums", "found", "reach", "number")
    }
    sizes = np.concatenate([np.diff(part.first) for part in parts])
    return Block(nodes=parts[0].nodes, first=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64), **joint)


def regret_targets(sums: Numbers) -> Numbers:
    """Return what a network of regrets is fitted to: sums over their positive part, or over the largest if none is."""
    positive = np.maximum(sums, 0.0).sum(axis=-1, keepdims=True)
    unit = np.where(positive > 0.0, positive, np.abs(sums).max(axis=-1, keepdims=True))
    targets: Numbers = np.maximum(sums / np.where(unit > 0.0, unit, 1.0), FLOOR)
    return targets


class FittedSums:
    """A player's sums, and the network that is fitted to them."""

    def __init__(self, seen: SeenRows, player: int, config: GridConfig, *, seed: int, device: torch.device) -> None:
        self.sums = GridSums(seen)
        self.network = TrainedNetwork(seen, (player,), config.architecture, head=config.head, seed=seed, device=device)
        self.fits = 0
        self._config = config
        self._seed = 4 * seed + player

    def fit(
        self,
        targets_of: Callable[[Numbers], Numbers],
        weights_of: Callable[[Some], Numbers],
        on_share: Callable[[float], None] = lambda share: None,
    ) -> None:
        """Fit the network; blocks that it has a table for are written there."""
        self.fits += 1
        network, seen = self.network, self.sums.seen
        learnt = GridSums(seen)
        for block in self.sums.blocks:
            tabled = network.network.take_over(
                Grid(block.held, block.nodes).codes(),
                seen,
                partial(_outputs, block, targets_of, self._config.fitting.loss),
            )
            if not tabled.all():
                learnt.blocks.append(block)
        generator = np.random.default_rng([self._seed, self.fits])
        steps = iter(range(1 << 62))

        def draw() -> Examples:
            some = learnt.some(generator, next(steps), self._config.holdings)
            legal = seen.legal_at(some.grid.nodes << NODE_SHIFT)
            weight = weights_of(some)[:, :, None] * legal
            flat = -1, seen.num_columns
            return Examples(
                network.inputs_on(some.grid),
                network.tensor(targets_of(some.sums).reshape(flat)),
                network.tensor((weight / max(weight.sum(), 1e-30)).reshape(flat)),
            )

        if learnt.blocks:
            network.fit(draw, self._config.fitting, self.fits, on_share=on_share)

    def state(self) -> State:
        """Return the sums, the network and the number of fits."""
        parts = {"sums": self.sums.state(), "network": self.network.state()}
        return {**joined(parts), "fits": np.array([self.fits])}

    def restore(self, state: State) -> None:
        """Continue from a saved state."""
        self.sums.restore(part_of(state, "sums"))
        self.network.restore(part_of(state, "network"))
        self.fits = int(state["fits"][0])


def _outputs(block: Block, targets_of: Callable[[Numbers], Numbers], loss: Loss, which: Bool) -> Numbers:
    targets = targets_of(block.sums.astype(np.float64))
    return outputs_for(loss, targets.reshape(len(which), -1)[which])


class GridRegrets:
    """Regrets on grids, and one network a player that is fitted to them in each of its turns."""

    has_sums = False

    def __init__(self, seen: SeenRows, config: GridConfig, rule: Rule, *, seed: int, device: torch.device) -> None:
        self._seen, self._rule = seen, rule
        self.memories = tuple(FittedSums(seen, player, config, seed=seed, device=device) for player in range(2))
        self._readings: tuple[dict[int, Float32], dict[int, Float32]] = ({}, {})  # of grids with numbers

    def scores_at(self, player: int, infosets: Asked) -> FloatTable:
        assert infosets is not None, "there are too many infosets to ask for all"
        memory, readings = self.memories[player], self._readings[player]
        grid = infosets if isinstance(infosets, Grid) else None
        if not memory.fits:
            return np.ones((len(infosets) if grid is None else grid.size, self._seen.num_columns))
        if grid is None or grid.number == NO_NUMBER:
            return memory.network.read_at(infosets)
        if grid.number not in readings:
            readings[grid.number] = memory.network.read_at(grid).astype(np.float32)
        return readings[grid.number].astype(np.float64)

    def absorb(self, rows: Rows) -> None:
        own = np.ones_like(rows.weight) if rows.own_reach is None else rows.own_reach
        self.memories[rows.player].sums.add(rows, np.sqrt(rows.weight) * (UNREACHED + own))

    def settle(self, iteration: int, players: tuple[int, ...]) -> None:
        rule = coefficient_table(self._rule, iteration, 1)[0]
        for player in players:
            memory = self.memories[player]
            memory.sums.settle(*rule[:4].tolist())
            memory.fit(regret_targets, lambda some: some.reach)
            self._readings[player].clear()

    def start_from(self, regret_sum: Float, iteration: int) -> None:
        raise EquipoiseError(NOT_LISTED)

    def state(self) -> State:
        return joined({f"player{player}": memory.state() for player, memory in enumerate(self.memories)})

    def restore(self, state: State) -> None:
        for player, memory in enumerate(self.memories):
            memory.restore(part_of(state, f"player{player}"))
            self._readings[player].clear()

    def diagnostics(self) -> Diagnostics:
        return {
            **fit_diagnostics("regret", [memory.network for memory in self.memories]),
            "regret_parameters": float(sum(memory.network.num_parameters for memory in self.memories)),
        }


def shares(sums: Numbers) -> Numbers:
    """Return sums as shares of their rows; nothing where there is no weight."""
    total = sums.sum(axis=-1, keepdims=True)
    found: Numbers = sums / np.where(total > 0.0, total, 1.0)
    return found


class GridStrategy:
    """Strategies on grids, and the policy networks that are fitted to them when a run concludes."""

    def __init__(self, seen: SeenRows, config: GridConfig, rule: Rule, *, seed: int, device: torch.device) -> None:
        self._rule = rule
        self.memories = tuple(FittedSums(seen, player, config, seed=seed, device=device) for player in range(2))
        self._iteration = self._fitted_at = 0  # the last one, and that of the last fit
        self._averaged: set[int] = set()  # in this turn

    def absorb(self, rows: Rows) -> None:
        self._averaged.add(rows.player)
        self.memories[rows.player].sums.add(rows, rows.weight)

    def settle(self, iteration: int, players: tuple[int, ...]) -> None:
        rule = coefficient_table(self._rule, iteration, 1)[0]
        for player in self._averaged:
            self.memories[player].sums.settle(rule[5], rule[5], rule[6], -np.inf)
        self._averaged.clear()
        self._iteration = iteration

    @property
    def concluded(self) -> bool:
        return self._fitted_at >= self._iteration

    def conclude(self, report: Report) -> bool:
        """Fit the policy networks if anything has changed since they were."""
        if self.concluded:
            return False
        for number, memory in enumerate(self.memories):

            def on_share(share: float, done: int = number) -> None:
                report("fitting the policy", (done + share) / len(self.memories))

            memory.fits = 0  # from scratch, and the same whenever it was done before or left in the middle
            memory.network.restart(1)
            memory.fit(shares, lambda some: some.sums.sum(axis=-1), on_share)
        self._fitted_at = self._iteration
        return True

    def _require_fit(self) -> None:
        if not self.concluded:
            raise RuntimeError("the policy networks are older than the sums: call the solver's conclude() first")

    def average(self) -> Float:
        raise EquipoiseError("there are too many infosets for a table of the average")

    def mixture(self, player: int) -> Mixture:
        """Return the policy network's strategy."""
        self._require_fit()
        return [(1.0, answers_of(self.memories[player].network, "softmax", fitted=self._fitted_at > 0))]

    def start_from(self, average: Float, reach: Float, iteration: int) -> None:
        raise EquipoiseError(NOT_LISTED)

    def state(self) -> State:
        """Return the sums and, if they are fitted to them, the networks: no iteration depends on these."""
        parts = {f"player{player}": memory.sums.state() for player, memory in enumerate(self.memories)}
        if 0 < self._fitted_at == self._iteration:
            parts |= {f"policy{player}": memory.network.state() for player, memory in enumerate(self.memories)}
        return {**joined(parts), "iteration": np.array([self._iteration])}

    def restore(self, state: State) -> None:
        self._iteration, self._fitted_at = int(state["iteration"][0]), 0
        for player, memory in enumerate(self.memories):
            memory.sums.restore(part_of(state, f"player{player}"))
            if fitted := part_of(state, f"policy{player}"):
                memory.network.restore(fitted)
                self._fitted_at = self._iteration

    def diagnostics(self) -> Diagnostics:
        return {
            **fit_diagnostics("strategy", [memory.network for memory in self.memories]),
            "strategy_parameters": float(sum(memory.network.num_parameters for memory in self.memories)),
        }
