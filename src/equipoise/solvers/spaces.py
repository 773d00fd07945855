"""A game as solvers with stores see it: infosets that are listed, or infosets known by their codes.

A *space* is made once per solver. It knows how to walk the game, what networks see of infosets, and how a store's
average becomes a strategy that can be evaluated and played. Nobody else asks which of the two kinds it is.
"""

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import torch

from equipoise.errors import NotSupported
from equipoise.games import TERMINAL
from equipoise.memory import require
from equipoise.networks.devices import find_device, require_bf16
from equipoise.networks.infosets import Infosets, infosets_of
from equipoise.networks.poker_rows import PokerRows, poker_rows
from equipoise.networks.rows import SeenRows
from equipoise.sampling.collect import Collector
from equipoise.sampling.gather import Averaging, MiniBatches
from equipoise.sampling.lockstep import Lockstep
from equipoise.sampling.rows import Sampler
from equipoise.sampling.schemes import External, Outcome, Robust
from equipoise.sampling.tree import AMOUNT, KIND, WIDTH, SampledGame, chance_reach, compile_listed
from equipoise.sampling.vectors import BoardVectors
from equipoise.solvers.parameters import Network
from equipoise.solvers.representations import Representation
from equipoise.solvers.setup import Form, Setup
from equipoise.stores.board_average import BoardAverage, MixturePlay
from equipoise.stores.sums import Mixture, StrategyStore
from equipoise.trees.betting_tree import betting_tree
from equipoise.trees.board_form import BoardForm, UnmeasuredForm
from equipoise.trees.codes import require_codes
from equipoise.trees.sequence_form import SequenceForm
from equipoise.trees.tables import Listing
from equipoise.trees.treeplex import Float

Bool = npt.NDArray[np.bool_]
NO_BOARDS = (
    "targets=vector is for games that are too large to list and end on the board cards of their second round, such as "
    "flop_holdem"
)


class Space(Protocol):
    """What solvers with stores need of a game."""

    device: torch.device

    @property
    def form(self) -> Form:
        """Return the game as evaluation sees it."""

    @property
    def seen(self) -> SeenRows:
        """Return what networks see of infosets."""

    @property
    def layout(self) -> str:
        """Return a hash of how infosets are numbered or coded."""

    @property
    def unit(self) -> float:
        """Return the largest amount that can change hands."""

    def listed(self) -> "ListedSpace":
        """Return the space of a listed game, or refuse."""

    @property
    def coded(self) -> "CodedSpace | None":
        """Return the space of a game too large to list; None: it is listed."""

    def samples(self, scheme: External | Robust | Outcome, *, batch: int, fallback: int) -> Sampler:
        """Return traversals whose findings come one by one."""

    def means(self, scheme: Robust, *, batch: int, averaging: Averaging, fallback: int) -> Sampler:
        """Return mini-batches of traversals, whose findings add up to means over the batch."""

    def vectors(self, *, kept: int, fresh: int, fallback: int) -> BoardVectors:
        """Return exact regrets of all hands on some boards: kept ones, or only boards that are drawn anew."""

    def require_memories(self, count: int, capacity: int, bytes_a_sample: int) -> None:
        """Refuse memories of samples that do not fit."""

    def best_responses(self, evaluator: Any, strategy: Any) -> Any:
        """Return the value of a strategy and of best responses to it, by an evaluator of the form."""

    def played(self, strategies: StrategyStore) -> Any:
        """Return a store's average strategy as the form's evaluator takes it."""

    def reached(self, strategies: StrategyStore) -> Bool | None:
        """Return, by infoset of a listed game, whether a store's average has any weight there."""


def require_boards(representation: Representation) -> None:
    """Refuse a game whose hands cannot be valued board by board."""
    if representation.settings != "codes" or representation.evaluator is None:
        raise NotSupported(NO_BOARDS)


def space_of(setup: Setup, representation: Representation, network: Network) -> Space:
    """Return a game's space; ``network`` says what networks see of infosets."""
    torch.set_num_threads(1)  # these networks are too small to share out; parts of a batch are shared out instead
    if network.mixed:
        require_bf16(find_device(setup.device))
    return SPACES[representation.settings](setup, representation, network)


class ListedSpace:
    """A game whose infosets are listed: stores are read for all of them once a turn."""

    def __init__(self, setup: Setup, representation: Representation, network: Network) -> None:
        self.tables, self.sampled = compile_listed(setup.game, representation.name, buffered=True)
        self.form: SequenceForm = self.tables.form
        self.seen: Infosets = infosets_of(self.form, network.cards)
        self.device = find_device(setup.device)
        self._seed, self._threads, self._workers = setup.seed, setup.threads, setup.workers

    @property
    def listing(self) -> Listing:
        """Return how infosets lie in tables."""
        return self.seen.listing

    @property
    def layout(self) -> str:
        return self.form.layout

    @cached_property
    def unit(self) -> float:
        return largest_payoff(self.sampled)

    coded = None

    def listed(self) -> "ListedSpace":
        return self

    def samples(self, scheme: External | Robust | Outcome, *, batch: int, fallback: int) -> Collector:
        return Collector(self.sampled, scheme, self.listing, batch=batch, fallback=fallback, seed=self._seed)

    def means(self, scheme: Robust, *, batch: int, averaging: Averaging, fallback: int) -> MiniBatches:
        return MiniBatches(
            self.sampled,
            scheme,
            self.listing,
            self.tables,
            batch=batch,
            averaging=averaging,
            fallback=fallback,
            seed=self._seed,
            threads=self._threads,
            workers=self._workers,
        )

    def vectors(self, *, kept: int, fresh: int, fallback: int) -> BoardVectors:
        raise NotSupported(NO_BOARDS)

    def require_memories(self, count: int, capacity: int, bytes_a_sample: int) -> None:
        """Do nothing: a listed game's memories are small."""

    def mass(self, averaging: Averaging) -> Callable[[Float], Float]:
        """Return what a strategy's own reach is worth, by entry, in the sums that averaging makes.

        Sampled visits count an infoset as often as chance leads to it: their expectation is own reach x chance's reach.
        """
        if averaging != "stochastic":
            return self.tables.own_reach
        chance = chance_reach(self.sampled, self.form)
        return lambda strategy: self.tables.own_reach(strategy) * chance

    def best_responses(self, evaluator: Any, strategy: Any) -> Any:
        return evaluator.best_responses(strategy)

    def played(self, strategies: StrategyStore) -> Any:
        return self.tables.to_form(strategies.average())

    def reached(self, strategies: StrategyStore) -> Bool:
        return self.tables.has_weight(strategies.average())


class CodedSpace:
    """A poker game too large to list: traversals run in lockstep, and ask for the scores of what they meet."""

    def __init__(self, setup: Setup, representation: Representation, network: Network) -> None:
        self.form: BoardForm | UnmeasuredForm = representation.form(setup.game)
        require_codes(self.form.game)
        self.tree = betting_tree(self.form.game)
        strength = network.network in ("cards", "heads") and network.strength
        self.seen: PokerRows = poker_rows(self.tree, network.cards, strength=strength)
        self._play = MixturePlay if representation.evaluator is None else partial(BoardAverage, self.form)
        self.device = find_device(setup.device)
        self._seed, self._threads, self.workers = setup.seed, setup.threads, setup.workers
        if self.workers is not None:
            self.workers.once(self.seen)
        self._vectors: Callable[..., BoardVectors] | None = None
        if representation.evaluator is not None:
            parts = self.form, self.tree, self.seen.layout
            self._vectors = partial(BoardVectors, *parts, seed=setup.seed, threads=setup.threads)

    @property
    def layout(self) -> str:
        return self.seen.digest

    @property
    def unit(self) -> float:
        return self.tree.largest_payoff

    @property
    def coded(self) -> "CodedSpace":
        return self

    def listed(self) -> ListedSpace:
        raise NotSupported(
            f"{self.tree.game.name} has too many infosets to list: --init-from needs a game whose infosets can be"
        )

    def samples(self, scheme: External | Robust | Outcome, *, batch: int, fallback: int) -> Lockstep:
        if isinstance(scheme, Outcome):
            raise NotSupported(
                f"{self.tree.game.name} is too large to list, and traversed without outcome sampling; "
                "give sampling=robust and k=1"
            )
        return self._lockstep(scheme, batch, fallback, mean=False)

    def means(self, scheme: Robust, *, batch: int, averaging: Averaging, fallback: int) -> Lockstep:
        if averaging == "exact":
            raise NotSupported(
                f"averaging=exact needs a list of infosets, and {self.tree.game.name} has too many; "
                "give averaging=stochastic"
            )
        return self._lockstep(scheme, batch, fallback, mean=True, own_reach=averaging == "own_reach")

    def _lockstep(
        self, scheme: External | Robust, batch: int, fallback: int, *, mean: bool, own_reach: bool = False
    ) -> Lockstep:
        return Lockstep(
            self.tree,
            self.seen.layout,
            scheme,
            batch=batch,
            fallback=fallback,
            seed=self._seed,
            mean=mean,
            own_reach=own_reach,
            threads=self._threads,
            workers=self.workers,
        )

    def vectors(self, *, kept: int, fresh: int, fallback: int) -> BoardVectors:
        assert self._vectors is not None, NO_BOARDS
        if not self.seen.layout.renamed:
            raise NotSupported("targets=vector works on hands up to names of suits: give cards=ranks")
        return self._vectors(kept=kept, fresh=fresh, fallback=fallback)

    def require_memories(self, count: int, capacity: int, bytes_a_sample: int) -> None:
        require(
            count * bytes_a_sample * capacity,
            what=f"{count} memories of {capacity:,} samples",
            instead="give a smaller capacity: --set capacity=N",
        )

    def best_responses(self, evaluator: Any, strategy: Any) -> Any:
        return evaluator.best_responses(strategy, self.workers)

    def played(self, strategies: StrategyStore) -> Any:
        return self.play((strategies.mixture(0), strategies.mixture(1)))

    def play(self, mixtures: tuple[Mixture, Mixture]) -> MixturePlay:
        """Return what two players' mixtures play: as the form's evaluator takes it, or as it can be asked for."""
        return self._play(self.seen, mixtures)

    def reached(self, strategies: StrategyStore) -> None:
        """Return nothing: the average strategy itself says where it has any weight."""


SPACES: dict[str, Callable[[Setup, Representation, Network], Space]] = {"listed": ListedSpace, "codes": CodedSpace}


def largest_payoff(game: SampledGame) -> float:
    """Return the largest amount that can change hands."""
    terminal = game.tree.nodes.reshape(-1, WIDTH)[:, KIND] == TERMINAL
    amounts = np.abs(game.tree.amounts.reshape(-1, WIDTH // 2)[terminal, AMOUNT])
    return float(amounts.max() * np.abs(game.tree.matrices).max()) or 1.0
