"""A network with all that it takes to fit, read, save and restore it: rows, inputs, optimiser, random streams."""

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from equipoise.networks.fitting import Drawn, Examples, Fitted, Fitting, make_optimiser, outputs_for
from equipoise.networks.network import Architecture, Inputs, Network, make_network, num_parameters, read
from equipoise.networks.rows import SeenRows
from equipoise.trees.codes import CARDS_MASK, MOST_CARDS, Grid, cards_of
from equipoise.trees.distinct import distinct
from equipoise.trees.treeplex import Float, Int64

State = dict[str, np.ndarray]


class Holders:
    """Codes by their holdings, of which some are drawn for each step: so many that have the same number of cards."""

    def __init__(self, codes: Int64, weight: Float, size: int, generator: np.random.Generator) -> None:
        held, which = distinct(codes & CARDS_MASK)
        self._order = np.argsort(which, kind="stable")
        self._first = np.concatenate([[0], np.cumsum(np.bincount(which, minlength=len(held)))])
        dealt = (cards_of(held, MOST_CARDS) >= 0).sum(axis=1)
        self._rounds = [np.flatnonzero(dealt == count) for count in np.unique(dealt)]
        self._weight, self._size, self._generator = weight, size, generator

    def draw(self) -> tuple[Int64, Float]:
        """Return places of codes, and what each counts: a round's counts add up to one over the number of rounds."""
        found, shares = [], []
        for holdings in self._rounds:
            chosen = holdings
            if len(holdings) > self._size:
                chosen = self._generator.choice(holdings, self._size, replace=False)
            counts = self._first[chosen + 1] - self._first[chosen]
            ends = np.cumsum(counts)
            places = np.arange(int(ends[-1])) + np.repeat(self._first[chosen] - ends + counts, counts)
            found.append(self._order[places])
            weight = self._weight[found[-1]]
            shares.append(weight / (weight.sum() * len(self._rounds)))
        return np.concatenate(found), np.concatenate(shares)


MOST_ROWS_A_STEP = 8192


class TrainedNetwork:
    """A network of one player's rows, or of both players'. Rows that are listed have their inputs made once."""

    def __init__(
        self,
        infosets: SeenRows,
        players: tuple[int, ...],
        architecture: Architecture,
        *,
        head: float,
        seed: int,
        device: torch.device,
    ) -> None:
        self.infosets = infosets
        self.players = players
        own = infosets.own_rows(players)
        if isinstance(own, slice):
            self.rows = own
            self.legal = infosets.legal_at(np.arange(own.start, own.stop))
        self._head = head
        self._seed = seed
        self.device = device
        self.network = make_network(infosets, architecture, self.generator(0), head=head, rows=own).to(device)
        self._optimiser: torch.optim.Adam | None = None  # made for the first fit: PyTorch takes long to load it
        self._inputs = self.network.inputs_of(infosets, own, device)  # of all rows, or of examples
        self._precision = next((each.dtype for each in self.network.parameters()), torch.float32)
        self.fitted: Fitted | None = None

    @property
    def num_parameters(self) -> int:
        """Return how many numbers the network has."""
        return num_parameters(self.network)

    def generator(self, fit_number: int) -> torch.Generator:
        """Return the random stream of a fit: made anew each time, so that a resumed run draws the same numbers."""
        words = self._words(fit_number)
        return torch.Generator().manual_seed(words[0] << 31 | words[1] >> 1)

    def _words(self, fit_number: int) -> list[int]:
        seed = np.random.SeedSequence([self._seed, self.players[0], fit_number])
        return [int(word) for word in seed.generate_state(2, np.uint32)]

    def inputs(self, places: Int64 | None = None) -> Inputs:
        """Return the inputs of all own rows, or of some by their place among them."""
        if places is None:
            return self._inputs
        if self.network.row_by_row:
            return self._inputs.index_select(0, torch.from_numpy(places).to(self.device))
        return self.network.inputs_of(self.infosets, places + self.rows.start, self.device)

    def inputs_on(self, grid: Grid) -> Inputs:
        """Return the inputs of all infosets of a grid."""
        return self.network.inputs_on(self.infosets, grid, self.device)

    def inputs_at(self, rows: Int64) -> Inputs:
        """Return the inputs of some rows, by number or code."""
        if self.infosets.num_listed is not None:
            return self.inputs(rows - self.rows.start)
        return self.network.inputs_of(self.infosets, rows, self.device)

    def read_at(self, rows: Int64 | Grid) -> Float:
        """Return the outputs of some rows, by number, code or grid."""
        return read(self.infosets, self.network, rows, self.device)

    def tensor(self, numbers: npt.NDArray[Any]) -> torch.Tensor:
        """Return numbers as the network takes them."""
        return torch.from_numpy(numbers).to(self.device, self._precision)

    def restart(self, fit_number: int) -> None:
        """Forget everything learnt."""
        self.network.start_afresh(self.generator(fit_number), self._inputs, head=self._head)
        self.forget_optimiser()

    def forget_optimiser(self) -> None:
        """Start the optimiser anew."""
        self._optimiser = None

    def _made_optimiser(self) -> torch.optim.Adam:
        if self._optimiser is None:
            self._optimiser = make_optimiser(self.network)
        return self._optimiser

    def fit(
        self,
        examples: Drawn,
        fitting: Fitting,
        fit_number: int,
        epochs: int | None = None,
        on_share: Callable[[float], None] = lambda share: None,
    ) -> Fitted:
        """Fit the network, and remember what the fit came to. ``examples`` may be a function that draws a batch."""
        if not fitting.keep_optimiser:
            self.forget_optimiser()
        self.fitted = self.network.fit(
            self._made_optimiser,
            examples,
            fitting,
            fit_number=fit_number,
            generator=self.generator(fit_number),
            epochs=epochs,
            on_share=on_share,
        )
        return self.fitted

    def fit_to(
        self,
        target: Float,
        weight: npt.NDArray[Any],
        fitting: Fitting,
        fit_number: int,
        codes: Int64 | None = None,
    ) -> Fitted:
        """Fit the network to targets of its rows; a row of weight zero is left out, a loss is a mean over rows.

        Targets and weights are of all own rows or, where rows are too many to list, of those with the given codes.
        With more than MOST_ROWS_A_STEP rows, and no batch asked for, each step takes so many of them, drawn in
        proportion to their weight: the same loss in expectation. Where whole holdings are asked for, each step takes
        so many of every round, with all their rows, and rounds count alike. What the network has a table for is not
        fitted, but written down.
        """

        def inputs(places: Int64) -> Inputs:
            if codes is not None:
                return self.inputs_at(codes[places])
            return self.inputs(None if len(places) == len(weight) else places)

        row_weight = weight.max(axis=1)
        used = np.flatnonzero(row_weight)
        if codes is not None:
            tabled = self.network.take_over(
                codes[used], self.infosets, lambda which: outputs_for(fitting.loss, target[used[which]])
            )
            used = used[~tabled]
            if not len(used):
                return Fitted(0.0, 0, 0.0)
        if fitting.holdings > 0 and codes is not None:
            batches = Holders(
                codes[used], row_weight[used], fitting.holdings, np.random.default_rng(self._words(fit_number))
            )

            def draw_holdings() -> Examples:
                places, share = batches.draw()
                rows = used[places]
                shares = weight[rows] / row_weight[rows][:, None] * share[:, None]
                return Examples(inputs(rows), self.tensor(target[rows]), self.tensor(shares))

            return self.fit(draw_holdings, replace(fitting, batch=0), fit_number)
        whole = float(row_weight[used].sum())
        if len(used) <= MOST_ROWS_A_STEP or fitting.batch > 0:
            share = weight[used] / whole
            return self.fit(Examples(inputs(used), self.tensor(target[used]), self.tensor(share)), fitting, fit_number)
        edges = np.cumsum(row_weight[used]) / whole
        generator = np.random.default_rng(self._words(fit_number))

        def draw() -> Examples:
            rows = used[np.minimum(np.searchsorted(edges, generator.random(MOST_ROWS_A_STEP)), len(used) - 1)]
            share = weight[rows] / row_weight[rows][:, None] / MOST_ROWS_A_STEP
            return Examples(inputs(rows), self.tensor(target[rows]), self.tensor(share))

        return self.fit(draw, fitting, fit_number)

    def read(self) -> Float:
        """Return the outputs of all own rows."""
        return read(self.infosets, self.network, self.rows, self.device)

    def parameters(self) -> Float:
        """Return all parameters as one vector."""
        return self.network.flat_parameters()

    def module_with(self, flat: Float) -> Network:
        """Return a copy of the network with other parameters."""
        module = copy.deepcopy(self.network)
        module.load_flat(flat)
        return module

    def state(self) -> State:
        """Return parameters and the optimiser's memory."""
        arrays: State = {}
        if self.fitted is not None:
            arrays["fitted"] = np.array([self.fitted.loss, self.fitted.steps])
        for name, parameter in self.network.named_parameters():
            arrays[name] = parameter.detach().cpu().numpy().copy()
            for key, value in self._optimiser.state.get(parameter, {}).items() if self._optimiser is not None else ():
                arrays[f"{name}.{key}"] = value.detach().cpu().numpy().copy()
        return arrays

    def restore(self, state: State) -> None:
        """Continue from saved parameters."""
        self.forget_optimiser()
        if "fitted" in state:
            self.fitted = Fitted(float(state["fitted"][0]), int(state["fitted"][1]), 0.0)
        with torch.no_grad():
            for name, parameter in self.network.named_parameters():
                parameter.copy_(torch.from_numpy(state[name]))
                if f"{name}.step" in state:
                    keys = ("step", "exp_avg", "exp_avg_sq")
                    memory = {key: torch.from_numpy(state[f"{name}.{key}"].copy()) for key in keys}
                    if memory["step"].dtype != torch.float32 or memory["step"].ndim:
                        raise ValueError(f"{name}.step is not a number of steps")
                    if any((m.dtype, m.shape) != (parameter.dtype, parameter.shape) for m in list(memory.values())[1:]):
                        raise ValueError(f"what Adam remembers does not fit {name}")
                    for key in keys[1:]:  # the number of steps stays on the CPU: Adam demands it
                        memory[key] = memory[key].to(self.device)
                    self._made_optimiser().state[parameter] = memory
