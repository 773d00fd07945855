"""What networks of sums learn from in a game whose infosets are listed: tables of what was found.

Networks are read for all infosets once after each fit. Every infoset is in every fit: those that were not observed as
anchors, with their last prediction.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from equipoise.networks.infosets import Infosets
from equipoise.networks.trained import TrainedNetwork
from equipoise.sampling.rows import Asked, Rows, ScoresAt, add_by_row
from equipoise.stores.answers import softmax
from equipoise.stores.networks import Bool, FloatTable, NetworkConfig, RegretLesson, StrategyLesson, rms
from equipoise.stores.sums import Diagnostics, State, kept_as
from equipoise.trees.codes import codes_in
from equipoise.trees.treeplex import Float

NEVER = -(10**9)


class ListedIncrements:
    """Regrets that a turn found, by the network's row and column."""

    def __init__(self, infosets: Infosets) -> None:
        self.seen = infosets
        self._last_seen = np.full(len(infosets.row_keys), NEVER, np.int64)
        self._increment = np.zeros(infosets.legal.shape)  # of the turn
        self._observed = np.zeros(len(infosets.row_keys), np.bool_)  # in the turn
        self._observed_share = 0.0
        self._outputs: dict[int, Float] = {}  # of networks, by the first of their players, since the last fit

    def _read(self, network: TrainedNetwork) -> Float:
        if network.players[0] not in self._outputs:
            self._outputs[network.players[0]] = network.read()
        return self._outputs[network.players[0]]

    def scores(self, networks: tuple[TrainedNetwork, ...], scale: tuple[float, ...]) -> ScoresAt:
        def scores_at(player: int, infosets: Asked) -> FloatTable:
            own = self.seen.listing.infosets_of(player) if infosets is None else codes_in(infosets)
            network = networks[player]
            scores: FloatTable = scale[player] * self._read(network)[self.seen.row_of[own] - network.rows.start]
            return scores

        return scores_at

    def add(self, number: int, rows: Rows) -> None:
        seen = self.seen.seen_as(rows.codes)
        self._observed[seen] = True
        add_by_row(rows.weight[:, None] * rows.values, seen, self._increment)

    def lesson(
        self, number: int, network: TrainedNetwork, players: tuple[int, ...], config: NetworkConfig, iteration: int
    ) -> RegretLesson:
        seen, last_seen = self._observed[network.rows], self._last_seen[network.rows]
        last_seen[seen] = iteration
        anchor = np.full(len(seen), config.anchor)
        if config.anchor_memory:
            anchor[iteration - last_seen > config.anchor_memory] = 0.0
        # In a large game few infosets are seen: together, anchors must not outweigh them.
        anchor *= min(1.0, seen.sum() / max(anchor[~seen].sum(), 1e-30))
        idle = [np.full(self.seen.num_rows[player], player not in players) for player in network.players]
        return RegretLesson(
            rows=None,
            before=self._read(network),
            increment=self._increment[network.rows],
            unit=np.ones(len(seen)),
            legal=network.legal,
            seen=seen,
            idle=np.concatenate(idle),
            anchor=anchor,
        )

    def reread(self, network: TrainedNetwork, lesson: RegretLesson, which: Bool) -> Float:
        self._outputs.pop(network.players[0], None)
        return self._read(network)[which]

    def close(self, players: tuple[int, ...]) -> None:
        mine = np.concatenate([self._observed[self.seen.rows_of(player)] for player in players])
        self._observed_share = float(mine.mean())
        self._increment[:] = 0.0
        self._observed[:] = False

    def from_table(self, table: Float, network: TrainedNetwork) -> Float:
        return self.seen.to_rows(table, network.players)

    def state(self) -> State:
        return {"last_seen": self._last_seen}

    def restore(self, state: State) -> None:
        self._last_seen = kept_as(self._last_seen, state["last_seen"])
        self._outputs.clear()

    def diagnostics(self) -> Diagnostics:
        return {"observed_share": self._observed_share}


class ListedSums:
    """Sums of strategies by table entry. ``reach`` gives, by entry, the mass of its infoset under a strategy."""

    def __init__(self, infosets: Infosets, reach: Callable[[Float], Float]) -> None:
        self.seen = infosets
        self._reach = reach
        self._pending = np.zeros(len(infosets.entry_row))  # since the last fit
        self._visits = np.zeros(len(infosets.entry_row))  # of this turn
        self._said: Float | None = None  # what networks say, by entry, since the last fit

    def add(self, rows: Rows) -> None:
        self.seen.listing.write(rows.weight[:, None] * rows.values, rows.codes, self._visits)

    def fade(self, player: int, old: float, new: float) -> None:
        own = self.seen.entries_of(player)
        self._pending[own] = old * self._pending[own] + new * self._visits[own]
        self._visits[own] = 0.0

    def table(self, networks: Sequence[TrainedNetwork], config: NetworkConfig) -> Float:
        if self._said is None:
            outputs = np.concatenate([network.read() for network in networks])
            if config.kind == "average":
                outputs = softmax(outputs, self.seen.legal)
            self._said = self.seen.to_table(outputs)
        return self._said

    def lessons(
        self, networks: Sequence[TrainedNetwork], weight: Float, config: NetworkConfig, fit_number: int
    ) -> Iterator[StrategyLesson]:
        said = self.table(networks, config)
        before, after = (np.repeat(each, self.seen.table_sizes) for each in (weight[0], weight.sum(axis=0)))
        if config.kind == "average":
            sums = before * self._reach(said) * said + self._pending
        else:  # DN19 Eq. 8, over the weight so far
            sums = (before * said + self._pending) / after
        for network in networks:
            summed = self.seen.to_rows(sums, network.players)
            if config.kind == "sum":
                summed = summed / self.seen.members[network.rows][:, None]
            met = np.ones(len(summed), np.bool_) if config.all_rows else self._met(network)
            yield StrategyLesson(None, summed, network.legal * met[:, None])

    def _met(self, network: TrainedNetwork) -> Bool:
        """Return which of a network's rows have been met since the last fit."""
        met: Bool = self.seen.to_rows(self._pending, network.players).sum(axis=1) > 0.0
        return met

    def close(self, networks: Sequence[TrainedNetwork], config: NetworkConfig) -> float:
        met = np.concatenate([self._met(network) for network in networks])[self.seen.entry_row]
        before = self.table(networks, config)
        self._said = None
        self._pending[:] = 0.0
        return rms((self.table(networks, config) - before)[~met])

    def start_from(self, sums: Float) -> None:
        self._pending = sums

    def state(self) -> State:
        return {"pending": self._pending}

    def restore(self, state: State) -> None:
        self._pending = kept_as(self._pending, state["pending"])
        self._said = None
