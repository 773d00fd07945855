"""Neural Fictitious Self-Play (Heinrich and Silver 2016): Q-learning makes the responses, supervised learning the mean.

One iteration:

1. Episodes of self-play. At the start of each, each player chooses how to act in it: by epsilon-greedy on its Q-network
   with the anticipatory probability, by its average-policy network otherwise (Algorithm 1, line 4).
2. What a player did while it responded goes to its reservoir; all of its transitions go to its circular buffer, for
   Q-learning is off-policy and may learn from both ways of acting.
3. Steps of the Q-networks towards reward + best value of what comes next, as a target network sees it; steps of the
   policy networks towards the actions in the reservoir.

Fictitious play is what this comes to when both networks have learnt what they should: the Q-network's greedy policy is
then a best response to the opponent's average, and the reservoir's mean is the average of all responses so far.
Networks are read once an iteration, into tables by entry, so that episodes need no network.

Two things differ from the paper, where a few steps of play follow each step of learning, and there are millions of
both. Here an iteration is many episodes, so there are fewer iterations, and averages change fast in the first ones:

- Q-learning draws from the latest share of all transitions instead of a fixed number, so that what it learns from is
  never much older than the averages it has to respond to; later, when they hardly move, it has more to learn from.
- Adam takes the place of plain gradient descent, with steps that shrink from iteration to iteration.
"""

import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from equipoise.compiled import kernel, uncounted
from equipoise.errors import EquipoiseError
from equipoise.games import CHANCE, TERMINAL
from equipoise.games.bluff import Bluff
from equipoise.networks.fitting import Examples, Fitting
from equipoise.networks.infosets import Infosets
from equipoise.networks.modules import Architecture
from equipoise.networks.trained import TrainedNetwork
from equipoise.sampling.collect import Rows
from equipoise.sampling.dice import choose_index, choose_weighted, draw, happens, start_stream
from equipoise.sampling.traversal import (
    CHILDREN,
    FIRST,
    FIRST_CHILD,
    KIND,
    NODE_WIDTH,
    STAGE,
    draw_deal,
    payoff_at,
)
from equipoise.sampling.tree import SampledGame, SampledTree
from equipoise.solvers.neural import Prepared, architecture_of, largest_payoff
from equipoise.solvers.setup import Setup
from equipoise.stores.memories import Memory
from equipoise.stores.networks import fit_diagnostics, softmax
from equipoise.stores.sums import Diagnostics, State, joined, part_of
from equipoise.trees.tables import Pair, TableMap
from equipoise.trees.treeplex import Float, Int32, Int64, UInt64

U = np.uint64
ROW, COLUMN, NEXT, REWARD = range(4)  # of a transition
OVER = -1  # in place of the next row: the episode ended
HEAD = 0.4  # scale of a fresh output layer, as of other networks that are fitted from memories
LEAST_RECENT = 20_000  # transitions to draw from, if there are as many
_NO_TAPE = np.zeros((0, 3))

Int32Tables = npt.NDArray[np.int32]
Float32Tables = npt.NDArray[np.float32]
FloatTables = npt.NDArray[np.float64]


class Kept(NamedTuple):
    """Where episodes leave what they find; the first axis of all is the player."""

    transitions: Int32Tables  # [2, capacity, 4] the columns above
    rewards: Float32Tables  # the same memory
    seen: Int64  # [2] transitions so far
    response_rows: Int32Tables  # [2, room] where a player responded in this iteration,
    responses: FloatTables  # [2, room, columns] and what it chose there, as 1 among zeros
    responded: Int64  # [2] how often
    last: Int64  # [2] where a player's last transition is
    responds: Int64  # [2] how a player acts in the episode
    dice: UInt64


@kernel
def most_decisions(tree: SampledTree) -> int:
    """Return how often one player can act in an episode, at most."""
    width = int(NODE_WIDTH)
    count = tree.nodes.size // width
    longest = np.zeros((count, 2), np.int64)
    for node in range(count - 1, -1, -1):  # children come after their parents
        row = tree.nodes[node * width : (node + 1) * width]
        kind = row[KIND]
        if kind != TERMINAL:
            for child in range(row[FIRST_CHILD], row[FIRST_CHILD] + row[CHILDREN]):
                for player in range(2):
                    longest[node, player] = max(longest[node, player], longest[child, player])
            if kind != CHANCE:
                longest[node, kind] += 1
    return int(longest[tree.roots[0]].max())


@uncounted
def _play(
    tree: SampledTree,
    deal_width: np.uint64,
    values: Float,
    policy: Float,
    epsilon: float,
    anticipatory: float,
    unit: float,
    iteration: int,
    seed: int,
    episodes: int,
    entry_row: Int32,
    entry_column: Int32,
    kept: Kept,
    tape: Float,
) -> int:
    """Play episodes between two agents whose networks are given by table entry; return the number of nodes."""
    nodes, amounts, probability, matrices, roots, _, deal_range, deal_cumulative, deals = tree[:9]
    transitions, rewards, seen, response_rows, responses, responded, last, responds, dice = kept
    capacity = transitions.shape[1]
    touched = 0
    responded[0] = responded[1] = 0
    for episode in range(episodes):
        start_stream(dice, seed, iteration, 0, episode)
        deal = U(draw_deal(deal_range, deal_cumulative, 0, dice, tape))
        for player in range(2):
            last[player] = -1
            responds[player] = int(happens(dice, tape, anticipatory))
        node = U(roots[0])
        row = node * NODE_WIDTH
        touched += 1
        while nodes[row + KIND] != TERMINAL:
            kind, first, count = nodes[row + KIND], U(nodes[row + FIRST_CHILD]), U(nodes[row + CHILDREN])
            node = first
            if kind == CHANCE:
                if probability.size > 0:
                    node = first + U(choose_weighted(dice, tape, probability, first, count, 1.0))
            else:
                hand = U(deals[deal * deal_width + U(3) * U(nodes[row + STAGE]) + U(kind)])
                entry = U(nodes[row + FIRST]) + hand * count
                seen_as = entry_row[entry]
                action = U(0)
                if not responds[kind]:
                    action = U(choose_weighted(dice, tape, policy, entry, count, 1.0))
                elif happens(dice, tape, epsilon):
                    action = U(choose_index(dice, tape, int(count)))
                else:
                    for other in range(count):
                        if values[entry + other] > values[entry + action]:
                            action = U(other)
                column = entry_column[entry + action]
                node = first + action
                if responds[kind]:
                    place = responded[kind]
                    response_rows[kind, place] = seen_as
                    for other_column in range(responses.shape[2]):
                        responses[kind, place, other_column] = 0.0
                    responses[kind, place, column] = 1.0
                    responded[kind] += 1
                if last[kind] >= 0:
                    transitions[kind, last[kind], NEXT] = seen_as
                place = seen[kind] % capacity
                transitions[kind, place, ROW], transitions[kind, place, COLUMN] = seen_as, column
                transitions[kind, place, NEXT] = OVER
                rewards[kind, place, REWARD] = 0.0
                last[kind] = place
                seen[kind] += 1
            row = node * NODE_WIDTH
            touched += 1
        payoff = payoff_at(nodes, amounts, matrices, deals, deal_width, node, deal) / unit
        if last[0] >= 0:
            rewards[0, last[0], REWARD] = payoff
        if last[1] >= 0:
            rewards[1, last[1], REWARD] = -payoff
    return touched


@kernel
def _draw_transitions(
    transitions: Int32Tables,
    rewards: Float32Tables,
    player: int,
    seen: int,
    recent: int,
    best: Float,
    dice: UInt64,
    tape: Float,
    chosen: UInt64,
    place_of: Int64,
    drawn: Int64,
    weight: FloatTables,
    target: FloatTables,
) -> int:
    """Draw transitions, sum their targets by row and column, and return the number of different rows.

    The squared loss of a sum by row and column differs from that of the single transitions by a constant.
    """
    for number in range(chosen.size):  # all first, so that the look-ups below need not wait for one another
        back = min(int(draw(dice, tape) * recent), recent - 1)
        chosen[number] = (seen - 1 - back) % transitions.shape[1]
    distinct = 0
    for number in range(chosen.size):
        sample = chosen[number]
        row, column = transitions[player, sample, ROW], transitions[player, sample, COLUMN]
        following = transitions[player, sample, NEXT]
        place = place_of[row]
        if place < 0:
            place = distinct
            place_of[row] = place
            drawn[place] = row
            weight[place] = 0.0
            target[place] = 0.0
            distinct += 1
        weight[place, column] += 1.0
        target[place, column] += rewards[player, sample, REWARD] + (best[following] if following >= 0 else 0.0)
    for place in range(distinct):
        place_of[drawn[place]] = -1
        for column in range(target.shape[1]):
            if weight[place, column] > 0.0:
                target[place, column] /= weight[place, column]
    return distinct


@kernel
def _start(dice: UInt64, seed: int, iteration: int, player: int) -> None:
    start_stream(dice, seed, iteration, player, 0)


@dataclass(frozen=True, kw_only=True)
class NFSPConfig:
    """How agents play, what they keep, and how their networks are fitted."""

    architecture: Architecture
    q_fitting: Fitting  # epochs are steps here: each draws its own batch
    policy_fitting: Fitting
    episodes: int = 2048  # an iteration
    anticipatory: float = 0.1  # how often a player responds instead of playing its average
    epsilon: float = 1.0  # of responses, in the first iteration; it falls by the inverse square root
    epsilon_floor: float = 0.0
    q_capacity: int = 2_000_000  # transitions a player
    recent: float = 0.05  # the latest share of all transitions so far that Q-learning draws from; 1: all that are kept
    capacity: int = 2_000_000  # responses a player
    target_every: int = 5  # iterations


class NFSP:
    """Two agents that learn from playing each other."""

    threads = 1

    def __init__(
        self,
        tables: TableMap,
        game: SampledGame,
        infosets: Infosets,
        config: NFSPConfig,
        *,
        seed: int,
        device: torch.device,
    ) -> None:
        self.form = tables.form
        self.tables = tables
        self.iteration = 0
        self.nodes_touched = 0
        self._game = game
        self._infosets = infosets
        self._config = config
        self._seed = seed
        self._unit = largest_payoff(game)
        seeds = [int(word) for word in np.random.SeedSequence(seed).generate_state(4, np.uint32)]
        self._draw_seed = seeds[3]
        self._q, self._policy = (
            tuple(
                TrainedNetwork(infosets, (player,), config.architecture, head=HEAD, seed=own, device=device)
                for player in range(2)
            )
            for own in seeds[:2]
        )
        num_rows, columns = infosets.legal.shape
        self._reservoirs = tuple(
            Memory("reservoir", config.capacity, num_rows, columns, weighted=False, seed=4 * seeds[2] + player)
            for player in range(2)
        )
        room = config.episodes * most_decisions(game.tree)
        transitions = np.zeros((2, config.q_capacity, 4), np.int32)
        self._kept = Kept(
            transitions=transitions,
            rewards=transitions.view(np.float32),
            seen=np.zeros(2, np.int64),
            response_rows=np.zeros((2, room), np.int32),
            responses=np.zeros((2, room, columns)),
            responded=np.zeros(2, np.int64),
            last=np.zeros(2, np.int64),
            responds=np.zeros(2, np.int64),
            dice=np.zeros(2, np.uint64),
        )
        self._place_of = np.full(num_rows, -1, np.int64)
        self._entry_row, self._entry_column = (
            each.astype(np.int32) for each in (infosets.entry_row, infosets.entry_column)
        )
        self._read()
        self._best = self._best_values()

    def run(self, iterations: int) -> None:
        """Run some iterations; where a long run is cut into calls makes no difference to its result."""
        for _ in range(iterations):
            self.iteration += 1
            self._play_episodes()
            for player in range(2):
                self._fit_q(player)
                self._fit_policy(player)
            self._read()
            if self.iteration % self._config.target_every == 0:
                self._best = self._best_values()

    @property
    def epsilon(self) -> float:
        """Return how often a response explores: less and less, by the inverse square root of the iteration."""
        config = self._config
        return max(config.epsilon_floor, config.epsilon / math.sqrt(max(1, self.iteration)))

    def _play_episodes(self) -> None:
        kept, config = self._kept, self._config
        self.nodes_touched += _play(
            self._game.tree,
            U(self._game.deal_width),
            self._infosets.to_table(self._values),
            self._table(),
            self.epsilon,
            config.anticipatory,
            self._unit,
            self.iteration,
            self._seed,
            config.episodes,
            self._entry_row,
            self._entry_column,
            kept,
            _NO_TAPE,
        )
        for player, reservoir in enumerate(self._reservoirs):
            found = slice(0, int(kept.responded[player]))
            reservoir.add(Rows(kept.response_rows[player, found], kept.responses[player, found]), self.iteration)

    def _fit_q(self, player: int) -> None:
        """Step down the squared error of Q-learning, with the best values of the target network."""
        network, kept, fitting = self._q[player], self._kept, self._config.q_fitting
        seen = int(kept.seen[player])
        if seen == 0:
            return
        recent = min(max(int(self._config.recent * seen), LEAST_RECENT), seen, self._config.q_capacity)
        size = min(fitting.batch, len(self._place_of))
        chosen, drawn = np.empty(fitting.batch, np.uint64), np.empty(size, np.int64)
        weight, target = (np.empty((size, self._infosets.num_columns)) for _ in range(2))
        _start(kept.dice, self._draw_seed, self.iteration, player)

        def draw_batch() -> Examples:
            distinct = _draw_transitions(
                kept.transitions,
                kept.rewards,
                player,
                seen,
                recent,
                self._best,
                kept.dice,
                _NO_TAPE,
                chosen,
                self._place_of,
                drawn,
                weight,
                target,
            )
            return Examples(
                network.inputs(drawn[:distinct] - network.rows.start),
                network.tensor(target[:distinct]),
                network.tensor(weight[:distinct] / fitting.batch),
            )

        network.fit(draw_batch, replace(fitting, batch=0), self.iteration, fitting.epochs)

    def _fit_policy(self, player: int) -> None:
        """Step down the cross-entropy between the policy and the responses in the reservoir."""
        network, reservoir, fitting = self._policy[player], self._reservoirs[player], self._config.policy_fitting
        if reservoir.seen == 0:
            return
        reservoir.start_drawing(self.iteration)

        def draw_batch() -> Examples:
            rows, weight, target = reservoir.draw(fitting.batch, self.iteration)
            places = rows - network.rows.start
            share = weight / fitting.batch
            return Examples(
                network.inputs(places),
                network.tensor(target),
                network.tensor(share[:, None] * network.legal[places]),
            )

        network.fit(draw_batch, replace(fitting, batch=0), self.iteration, fitting.epochs)

    def _read(self) -> None:
        """Read all networks, for the next episodes to play by."""
        self._values = np.concatenate([network.read() for network in self._q])
        outputs = np.concatenate([network.read() for network in self._policy])
        self._strategies = softmax(outputs, self._infosets.legal)

    def _best_values(self) -> Float:
        """Return, by row, the value of the best legal action as the Q-networks have it now."""
        best: Float = np.where(self._infosets.legal, self._values, -np.inf).max(axis=1)
        return best

    def _table(self) -> Float:
        return self._infosets.to_table(self._strategies)

    def average_strategy(self) -> Pair:
        """Return the average policy networks' strategy in the form's order."""
        return self.tables.to_form(self._table())

    def diagnostics(self) -> Diagnostics:
        """Return what the last fits came to, and how much is kept."""
        return {
            **fit_diagnostics("q", self._q),
            **fit_diagnostics("policy", self._policy),
            "epsilon": self.epsilon,
            "episodes": float(self.iteration * self._config.episodes),
            "transitions": float(np.minimum(self._kept.seen, self._config.q_capacity).sum()),
            "responses": float(sum(min(each.seen, self._config.capacity) for each in self._reservoirs)),
        }

    def state(self) -> State:
        """Return all that the next iterations depend on (random streams start from the iteration's number)."""
        parts: dict[str, State] = {}
        for player in range(2):
            seen = self._kept.seen[player]
            parts[f"q{player}"] = self._q[player].state()
            parts[f"policy{player}"] = self._policy[player].state()
            parts[f"reservoir{player}"] = self._reservoirs[player].state()
            parts[f"transitions{player}"] = {"kept": self._kept.transitions[player, :seen]}
        return {
            **joined(parts),
            "seen": self._kept.seen,
            "best": self._best,
            "nodes_touched": np.array([float(self.nodes_touched)]),
        }

    def restore(self, iteration: int, state: State) -> None:
        """Continue from a saved state, bit for bit."""
        for player in range(2):
            self._q[player].restore(part_of(state, f"q{player}"))
            self._policy[player].restore(part_of(state, f"policy{player}"))
            self._reservoirs[player].restore(part_of(state, f"reservoir{player}"))
            kept = part_of(state, f"transitions{player}")["kept"]
            self._kept.transitions[player, : len(kept)] = kept
        self._kept.seen[:] = state["seen"]
        self._best = state["best"].copy()
        self.nodes_touched = int(state["nodes_touched"][0])
        self.iteration = iteration
        self._read()


def make_nfsp(setup: Setup, parameters: dict[str, Any]) -> NFSP:
    """Return NFSP."""
    if isinstance(setup.game, Bluff) and len(setup.game.rounds()) > 1:
        raise EquipoiseError(
            f"nfsp cannot play {setup.game.name}: its rounds are solved as games of their own, and an episode would "
            f"have to go through all of them"
        )
    prepared = Prepared(setup, parameters["cards"])
    # Averages move ever more slowly, and steps that shrink with them leave less noise in what is learnt.
    common: dict[str, Any] = {
        "batch": parameters["minibatch"],
        "final_share": 1.0,
        "slower_after": 1000.0,
        "slower_power": 0.5,
    }
    config = NFSPConfig(
        architecture=architecture_of(parameters["network"], parameters["width"], parameters["layers"]),
        q_fitting=Fitting(**common, epochs=parameters["q_steps"], rate=parameters["rate"]),
        policy_fitting=Fitting(
            **common, epochs=parameters["policy_steps"], rate=parameters["policy_rate"], loss="cross_entropy"
        ),
        episodes=parameters["episodes"],
        anticipatory=parameters["anticipatory"],
        epsilon=parameters["epsilon"],
        epsilon_floor=parameters["epsilon_floor"],
        q_capacity=parameters["q_capacity"],
        recent=parameters["recent"],
        capacity=parameters["capacity"],
        target_every=parameters["target_every"],
    )
    return NFSP(prepared.tables, prepared.sampled, prepared.infosets, config, seed=setup.seed, device=prepared.device)
