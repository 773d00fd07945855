"""Neural Fictitious Self-Play (Heinrich and Silver 2016): Q-learning makes the responses, supervised learning the mean.

One iteration:

1. Episodes of self-play (`sampling.episodes`). At the start of each, each player chooses how to act in it: by
   epsilon-greedy on its Q-network with the anticipatory probability, by its average-policy network otherwise.
2. What a player did while it responded goes to its reservoir; all of its transitions go to its circular buffer, for
   Q-learning is off-policy and may learn from both ways of acting.
3. Steps of the Q-networks towards reward + best value of what comes next, as a target network sees it; steps of the
   policy networks towards the actions in the reservoir.

Fictitious play is what this comes to when both networks have learnt what they should: the Q-network's greedy policy is
then a best response to the opponent's average, and the reservoir's mean is the average of all responses so far.
Who plays the episodes, and how networks are read, depends on whether infosets can be listed (`self_play`).

Two things differ from the paper, where a few steps of play follow each step of learning, and there are millions of
both. Here an iteration is many episodes, so there are fewer iterations, and averages change fast in the first ones:

- Q-learning draws from the latest share of all transitions instead of a fixed number, so that what it learns from is
  never much older than the averages it has to respond to; later, when they hardly move, it has more to learn from.
- Adam takes the place of plain gradient descent, with steps that shrink from iteration to iteration.
"""

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import torch

from equipoise.errors import EquipoiseError
from equipoise.games.bluff import Bluff
from equipoise.memory import require
from equipoise.networks.fitting import Examples, Fitting
from equipoise.networks.network import Architecture
from equipoise.networks.rows import SeenRows
from equipoise.networks.trained import TrainedNetwork
from equipoise.sampling.episodes import Episodes
from equipoise.sampling.lockstep_episodes import LockstepEpisodes
from equipoise.solvers.neural import architecture_of
from equipoise.solvers.parameters import SelfPlaying
from equipoise.solvers.representations import Representation
from equipoise.solvers.self_play import Agents, CodedPlay, ListedPlay, SelfPlay
from equipoise.solvers.setup import Setup
from equipoise.solvers.solver import Solver
from equipoise.solvers.spaces import space_of
from equipoise.stores.board_average import MixturePlay
from equipoise.stores.memories import Memory, drawn_examples, sample_bytes
from equipoise.stores.networks import fit_diagnostics
from equipoise.stores.sums import Diagnostics, State, joined, part_of
from equipoise.stores.transitions import Transitions, transition_bytes
from equipoise.threads import do_parts
from equipoise.trees.tables import Pair
from equipoise.work import spending

HEAD = 0.4  # scale of a fresh output layer, as of other networks that are fitted from memories
LEAST_RECENT = 20_000  # transitions to draw from, if there are as many


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


@dataclass(frozen=True, kw_only=True)
class Seeds:
    """Seeds of an agent's parts."""

    q: int
    policy: int
    reservoir: int
    draws: int

    @classmethod
    def of(cls, seed: int) -> "Seeds":
        """Return the seeds that follow from a run's."""
        q, policy, reservoir, draws = (int(word) for word in np.random.SeedSequence(seed).generate_state(4, np.uint32))
        return cls(q=q, policy=policy, reservoir=reservoir, draws=draws)


def make_agents(infosets: SeenRows, architecture: Architecture, seeds: Seeds, device: torch.device) -> Agents:
    """Return fresh networks for both players."""
    q, policy = (
        tuple(
            TrainedNetwork(infosets, (player,), architecture, head=HEAD, seed=seed, device=device)
            for player in range(2)
        )
        for seed in (seeds.q, seeds.policy)
    )
    return Agents(q, policy)


class NFSP(Solver):
    """Two agents that learn from playing each other."""

    def __init__(
        self, infosets: SeenRows, agents: Agents, self_play: SelfPlay, config: NFSPConfig, seeds: Seeds
    ) -> None:
        self.agents = agents
        self.iteration = 0
        self.self_play, self.form, self.threads = self_play, self_play.form, self_play.threads
        self._config = config
        self._draw_seed = seeds.draws
        self._spent = {"traversal_seconds": 0.0, "fit_seconds": 0.0}  # by this process
        num_rows = infosets.num_listed
        self._columns = infosets.num_columns
        self._reservoirs = tuple(
            Memory(
                "reservoir",
                config.capacity,
                num_rows,
                self._columns,
                weighted=False,
                seed=4 * seeds.reservoir + player,
            )
            for player in range(2)
        )
        self.transitions = tuple(
            Transitions(config.q_capacity, self._columns, coded=num_rows is None) for _ in range(2)
        )

    @property
    def nodes_touched(self) -> int:
        """Return how many nodes all episodes have visited."""
        return self.self_play.episodes.nodes_touched

    def run(self, iterations: int) -> None:
        """Run some iterations; where a long run is cut into calls makes no difference to its result."""
        for _ in range(iterations):
            self.iteration += 1
            with spending(self._spent, "traversal_seconds"):
                for both in self.self_play.play(self.epsilon, self.iteration):
                    for player, moves in enumerate(both):
                        self.transitions[player].add(moves)
                        self._reservoirs[player].add(*moves.responses(self._columns), self.iteration)
            with spending(self._spent, "fit_seconds"):
                do_parts(NFSP._fit, range(2), self, threads=min(2, self.threads))
            self.self_play.read()
            if self.iteration % self._config.target_every == 0:
                self.self_play.renew_target()

    @property
    def epsilon(self) -> float:
        """Return how often a response explores: less and less, by the inverse square root of the iteration."""
        config = self._config
        return max(config.epsilon_floor, config.epsilon / math.sqrt(max(1, self.iteration)))

    def _fit(self, lane: int, player: int) -> None:
        """Fit a player's networks; players share nothing that a fit writes to."""
        del lane
        self._fit_q(player)
        self._fit_policy(player)

    def _fit_q(self, player: int) -> None:
        """Step down the squared error of Q-learning, with the best values of the target network."""
        network, transitions, fitting = self.agents.q[player], self.transitions[player], self._config.q_fitting
        if transitions.seen == 0:
            return
        recent = min(max(int(self._config.recent * transitions.seen), LEAST_RECENT), transitions.kept)
        transitions.start_drawing(self._draw_seed, self.iteration, player)
        best_at = partial(self.self_play.best_at, player)

        def draw_batch() -> Examples:
            drawn = transitions.draw(fitting.batch, recent, best_at)
            return Examples(
                network.inputs_at(drawn.row),
                network.tensor(drawn.target),
                network.tensor(drawn.weight / fitting.batch),
            )

        network.fit(draw_batch, replace(fitting, batch=0), self.iteration, fitting.epochs)

    def _fit_policy(self, player: int) -> None:
        """Step down the cross-entropy between the policy and the responses in the reservoir."""
        network, reservoir, fitting = self.agents.policy[player], self._reservoirs[player], self._config.policy_fitting
        if reservoir.seen == 0:
            return
        reservoir.start_drawing(self.iteration)
        draw = partial(drawn_examples, network, reservoir, fitting.batch, self.iteration)
        network.fit(draw, replace(fitting, batch=0), self.iteration, fitting.epochs)

    def average_strategy(self) -> Pair | MixturePlay:
        """Return the average policy networks' strategy, as the form's evaluator takes it."""
        return self.self_play.average_strategy()

    def best_responses(self, evaluator: Any) -> Any:
        """Return the value of the average strategy and of best responses to it; workers share the boards."""
        return self.self_play.best_responses(evaluator)

    @property
    def layout(self) -> str:
        """Return a hash of which infoset and action each number of the state belongs to."""
        return self.self_play.layout

    def diagnostics(self) -> Diagnostics:
        """Return what the last fits came to, how much is kept, and what episodes and fits took in this process."""
        return {
            **self._spent,
            **fit_diagnostics("q", self.agents.q),
            **fit_diagnostics("policy", self.agents.policy),
            "epsilon": self.epsilon,
            "episodes": float(self.iteration * self._config.episodes),
            "transitions": float(sum(each.kept for each in self.transitions)),
            "responses": float(sum(each.kept for each in self._reservoirs)),
        }

    def state(self) -> State:
        """Return all that the next iterations depend on (random streams start from the iteration's number)."""
        parts: dict[str, State] = {}
        for player in range(2):
            parts[f"q{player}"] = self.agents.q[player].state()
            parts[f"policy{player}"] = self.agents.policy[player].state()
            parts[f"reservoir{player}"] = self._reservoirs[player].state()
            parts[f"transitions{player}"] = self.transitions[player].state()
        return {
            **joined(parts),
            **self.self_play.state(),
            "seen": np.array([each.seen for each in self.transitions]),
            "nodes_touched": np.array([float(self.nodes_touched)]),
        }

    def restore(self, iteration: int, state: State) -> None:
        """Continue from a saved state, bit for bit."""
        for player in range(2):
            self.agents.q[player].restore(part_of(state, f"q{player}"))
            self.agents.policy[player].restore(part_of(state, f"policy{player}"))
            self._reservoirs[player].restore(part_of(state, f"reservoir{player}"))
            self.transitions[player].restore(part_of(state, f"transitions{player}"), int(state["seen"][player]))
        self.self_play.restore(state)
        self.self_play.episodes.nodes_touched = int(state["nodes_touched"][0])
        self.iteration = iteration


def make_nfsp(setup: Setup, representation: Representation, chosen: SelfPlaying) -> NFSP:
    """Return NFSP."""
    if isinstance(setup.game, Bluff) and len(setup.game.rounds()) > 1:
        raise EquipoiseError(
            f"nfsp cannot play {setup.game.name}: its rounds are solved as games of their own, and an episode would "
            f"have to go through all of them"
        )
    config, seeds = _config(chosen, setup.network), Seeds.of(setup.seed)
    common: dict[str, Any] = {"episodes": config.episodes, "anticipatory": config.anticipatory, "seed": setup.seed}
    space = space_of(setup, representation, chosen.network)
    agents = make_agents(space.seen, config.architecture, seeds, space.device)
    play: SelfPlay
    if (coded := space.coded) is not None:
        responses, transitions = 2 * config.capacity, 2 * config.q_capacity
        require(
            responses * sample_bytes(coded.seen.num_columns) + transitions * transition_bytes(),
            what=f"a memory of {responses:,} responses and {transitions:,} transitions",
            instead="give smaller ones: --set capacity=N --set q_capacity=N",
        )
        at_once = LockstepEpisodes(
            coded.tree, coded.seen.layout, **common, unit=coded.unit, threads=setup.threads, workers=setup.workers
        )
        play = CodedPlay(coded, agents, at_once, threads=setup.threads)
    else:
        listed = space.listed()
        seen = listed.seen
        episodes = Episodes(listed.sampled, seen.entry_row, seen.entry_column, **common, unit=space.unit)
        play = ListedPlay(listed, agents, episodes)
    return NFSP(space.seen, agents, play, config, seeds)


def _config(chosen: SelfPlaying, own: Architecture | None) -> NFSPConfig:
    common: dict[str, Any] = {
        "batch": chosen.minibatch,
        "final_share": 1.0,
        "slower_after": chosen.rate_after,
        "slower_power": chosen.rate_power,
        "mixed": chosen.network.mixed,
    }
    return NFSPConfig(
        architecture=architecture_of(chosen.network, chosen.network.width, own),
        q_fitting=Fitting(**common, epochs=chosen.q_steps, rate=chosen.rate),
        policy_fitting=Fitting(**common, epochs=chosen.policy_steps, rate=chosen.policy_rate, loss="cross_entropy"),
        episodes=chosen.episodes,
        anticipatory=chosen.anticipatory,
        epsilon=chosen.epsilon,
        epsilon_floor=chosen.epsilon_floor,
        q_capacity=chosen.q_capacity,
        recent=chosen.recent,
        capacity=chosen.capacity,
        target_every=chosen.target_every,
    )
