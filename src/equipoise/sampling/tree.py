"""A game as the sampling traversal sees it: one row of integers a node, and deals that are drawn once per traversal.

From a PublicTree, a traversal draws both players' private hands and all board cards at its start, and then walks public
nodes only; games too large to list their histories need nothing else. From a BettingTree with buckets even the deals
are too many to list, and are drawn card by card. From a GameTree, chance is drawn on the way.
Tables hold player 0's infosets, then player 1's, each infoset's actions together: action a of a node with the private
entry e has the place ``FIRST + e * CHILDREN + a``. Infosets come in the order of the game's treeplex (the order of a
policy) or, for games too large to have one, node after node.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from equipoise.abstraction.bucket_tables import BucketTables, UInt8, UInt16, UInt64
from equipoise.abstraction.buckets import Buckets
from equipoise.compiled import kernel
from equipoise.errors import NotSupported
from equipoise.games import CHANCE, TERMINAL, Game
from equipoise.games.bluff import Bluff
from equipoise.games.suits import Int16
from equipoise.memory import require
from equipoise.sampling.deals import NO_CARDS, NO_SHOWDOWN, SHOWDOWN
from equipoise.sampling.schemes import LabelledActions, Scheme, SchemePlan
from equipoise.trees.betting_tree import BettingTree
from equipoise.trees.compile import BYTES_PER_SEQUENCE, build_game_tree, build_public_tree
from equipoise.trees.digest import digest
from equipoise.trees.game_tree import GameTree, Int8
from equipoise.trees.public_tree import PublicTree, private_widths, stage_map, vector_form
from equipoise.trees.sequence_form import SequenceForm, sequence_form
from equipoise.trees.tables import TableMap
from equipoise.trees.treeplex import Float, Int32, Int64

KIND, CHILDREN, STAGE, LABEL, FIRST_CHILD, FIRST, MATRIX, DEALS = range(8)
WIDTH = 8
AMOUNT = 2  # a terminal has its amount where others have FIRST_CHILD and FIRST, as the third of four float64 a row

Int32Table = npt.NDArray[np.int32]
Int64Table = npt.NDArray[np.int64]
FloatTable = npt.NDArray[np.float64]


class SampledTree(NamedTuple):
    """The arrays of the sampling traversal."""

    nodes: Int32  # [nodes x 8], flat: the columns above; KIND is 0, 1, CHANCE or TERMINAL
    amounts: Float  # the same memory; the payoff to player 0 is amount x matrices[MATRIX + the deal's cell]
    probability: Float  # [nodes] of chance outcomes, or empty when chance is all in the deals
    matrices: Float
    roots: Int32  # [subgames]
    continuation: Int32Table  # [subgames, 2]
    deal_range: Int64Table  # [subgames, 3] first deal, last deal + 1, whether all are equally likely
    deal_cumulative: Float  # [deals]
    deals: Int32  # [deals x 3 stages], flat; per stage: player 0's entry, player 1's, place in a payoff matrix
    # BucketTables of hold'em, where deals are drawn and not listed; field by field, because kernels that are shared out
    # over threads take no tuple within a tuple.
    board_cards: Int64
    first_raw: Int64
    board_of: Int32
    renaming_of: UInt8
    base: Int32
    code: UInt16
    cuts: Int64
    first_cut: Int64
    cut: Int32
    image: Int16
    choose: Int64
    bits: UInt64


class SampledGame(NamedTuple):
    """A game ready for sampling: the tree, what it was made from, and the sizes of the two players' tables."""

    tree: SampledTree
    game: Game
    table_sizes: tuple[int, int]
    entries: tuple[tuple[int, int], ...]  # per stage: private entries of the two players
    # What it was made from: one of these.
    histories: GameTree | None = None
    public: PublicTree | None = None
    betting: BettingTree | None = None

    @property
    def deal_width(self) -> int:
        """Return the numbers a deal, three a stage."""
        return 3 * len(self.entries)

    @property
    def bucket_tables(self) -> tuple[Any, ...]:
        """Return the map from cards to buckets, of hold'em; elsewhere nothing."""
        made = tuple(getattr(self.tree, name) for name in BucketTables._fields)
        return made if self.tree.bits.size else ()

    @property
    def table_layout(self) -> str:
        """Return a hash of which infoset and action each number of a table belongs to."""
        return digest(self.layout, self.bucket_tables)

    @property
    def layout(self) -> str:
        """Return a hash of where in a table each node's infosets are."""
        nodes = self.tree.nodes.reshape(-1, WIDTH)
        acting = nodes[:, KIND] >= 0
        return digest(self.table_sizes, self.entries, *(nodes[acting, k] for k in (KIND, CHILDREN, STAGE, FIRST)))


class Tables(Protocol):
    """What a table of sums is in the game that evaluation sees."""

    @property
    def form(self) -> Any:
        """Return the game as evaluation sees it."""

    def to_form(self, table: Float) -> Any:
        """Return the strategy that is proportional to sums, as the form's evaluator takes it."""

    def has_weight(self, table: Float) -> npt.NDArray[np.bool_] | None:
        """Return, by infoset, whether there is any weight; None: the strategy itself says."""


@dataclass(frozen=True)
class LargeForm:
    """A public tree with tables but no treeplexes. Strategies are tables of sums, normalised where they are read."""

    game: Game
    public: PublicTree
    sampled: SampledGame

    @property
    def fingerprint(self) -> str:
        """Return the fingerprint of the game."""
        return self.public.fingerprint


@dataclass(frozen=True)
class NodeTables:
    """Tables that lie node after node."""

    form: LargeForm

    def to_form(self, table: Float) -> tuple[Float, Float]:
        """Return the two players' parts."""
        split = self.form.sampled.table_sizes[0]
        return table[:split], table[split:]

    def has_weight(self, table: Float) -> None:
        """Return nothing: the infosets are too many to tell."""


TABLE_BYTES = 16  # regret and strategy sums, per (infoset, action)
BATCH_BYTES = 40  # with what a mini-batch and an evaluation need


def compile_listed(game: Game, listed_as: str, *, buffered: bool) -> tuple[TableMap, SampledGame]:
    """Return a game that is listed (as ``sequence`` or ``vector``) ready for sampling, its tables in a form's order."""
    if listed_as == "sequence":
        tree = build_game_tree(game)
        if tree.num_infosets == 0:
            raise NotSupported(f"{game.name} has no decisions: there is nothing to sample")
        form = sequence_form(tree)
        return TableMap(form), from_game_tree(tree, form)
    public = build_public_tree(game, bytes_per_sequence=BATCH_BYTES if buffered else TABLE_BYTES)
    require(
        _count_sequences(public) * BYTES_PER_SEQUENCE,
        what=f"{game.name} with its tables in the order of its treeplexes",
    )
    form = vector_form(public)
    return TableMap(form), from_public_tree(public, form)


def compile_nodes(game: Game, *, buffered: bool) -> tuple[NodeTables, SampledGame]:
    """Return a game too large for treeplexes ready for sampling, its tables node after node."""
    public = build_public_tree(game, bytes_per_sequence=BATCH_BYTES if buffered else TABLE_BYTES)
    sampled = from_public_tree(public, None)
    return NodeTables(LargeForm(game, public, sampled)), sampled


def _count_sequences(tree: PublicTree) -> int:
    total = 0
    for player in range(2):
        own = np.flatnonzero(tree.player == player)
        total += int((private_widths(tree, player, own) * tree.num_children[own].astype(np.int64)).sum())
    return total


def from_game_tree(tree: GameTree, form: SequenceForm) -> SampledGame:
    """Return the sampling view of a tree of histories, with tables in the order of the form's infosets."""
    place = np.zeros(tree.num_infosets, np.int64)
    sizes: list[int] = []
    for player, plex in enumerate(form.treeplexes):
        _, first_action = plex.sequence_table()
        place[form.infosets[player]] = sum(sizes) + first_action[:-1]
        sizes.append(int(first_action[-1]))
    nodes, amounts = _rows(tree.player, tree.num_children, tree.first_child, tree.payoff)
    acting = tree.infoset >= 0
    nodes[acting, FIRST] = place[tree.infoset[acting]]
    has_chance = bool((tree.player == CHANCE).any())
    sampled = SampledTree(
        nodes=nodes.ravel(),
        amounts=amounts,
        probability=tree.probability if has_chance else np.zeros(0),
        matrices=np.ones(1),
        roots=np.zeros(1, np.int32),
        continuation=np.full((1, 2), -1, np.int32),
        deal_range=np.array([[0, 1, 1]]),
        deal_cumulative=np.ones(1),
        deals=np.zeros(3, np.int32),
        **NO_CARDS._asdict(),
    )
    return SampledGame(sampled, tree.game, (sizes[0], sizes[1]), ((1, 1),), histories=tree)


def _rows(player: Int8, num_children: Int32, first_child: Int32, amount: Float) -> tuple[Int32Table, Float]:
    """Return the rows of nodes that every tree form has, and the view of their memory that holds amounts."""
    nodes = np.zeros((len(player), WIDTH), np.int32)
    nodes[:, KIND], nodes[:, CHILDREN], nodes[:, FIRST_CHILD] = player, num_children, first_child
    amounts = nodes.view(np.float64)
    terminal = player == TERMINAL
    amounts[terminal, AMOUNT] = amount[terminal]
    return nodes, amounts.ravel()


def from_public_tree(tree: PublicTree, form: SequenceForm | None) -> SampledGame:
    """Return the sampling view of a public tree; without a form, tables are laid out node after node."""
    nodes, amounts = _rows(tree.player, tree.num_children, tree.first_child, tree.terminal_amount)
    nodes[:, STAGE] = tree.stage
    if isinstance(tree.game, Bluff):
        nodes[:, LABEL] = _bid_labels(tree)
    starts = np.cumsum([0, *(matrix.size for matrix in tree.payoff_matrices)])
    nodes[:, MATRIX] = starts[tree.terminal_matrix]
    sizes: list[int] = []
    for player in range(2):
        own = np.flatnonzero(tree.player == player) if form is None else tree.deciding[player]
        lengths = private_widths(tree, player, own) * tree.num_children[own]
        nodes[own, FIRST] = sum(sizes) + np.cumsum(lengths) - lengths
        sizes.append(int(lengths.sum()))
    deal_range, cumulative, deals = _deals(tree)
    sampled = SampledTree(
        nodes=nodes.ravel(),
        amounts=amounts,
        probability=np.zeros(0),
        matrices=np.concatenate([matrix.ravel() for matrix in tree.payoff_matrices]),
        roots=np.searchsorted(tree.subgame, np.arange(len(tree.continuation))).astype(np.int32),
        continuation=tree.continuation,
        deal_range=deal_range,
        deal_cumulative=cumulative,
        deals=deals.ravel(),
        **NO_CARDS._asdict(),
    )
    entries = tuple((stage.width(0), stage.width(1)) for stage in tree.stages)
    return SampledGame(sampled, tree.game, (sizes[0], sizes[1]), entries, public=tree)


def from_betting_tree(tree: BettingTree, buckets: Buckets) -> SampledGame:
    """Return the sampling view of hold'em in buckets: tables have a row per (betting node, bucket), node after node."""
    found = tree.nodes
    nodes, amounts = _rows(found.player, found.num_children, found.first_child, found.amount)
    nodes[:, STAGE] = found.round
    nodes[:, MATRIX] = len(NO_SHOWDOWN) * found.showdown
    nodes[:, DEALS] = found.deals  # public trees have nodes of chance in their place
    counts = np.array(buckets.counts, np.int64)
    sizes: list[int] = []
    for player in range(2):
        own = tree.decisions(player)
        lengths = counts[found.round[own]] * found.num_children[own]
        nodes[own, FIRST] = sum(sizes) + np.cumsum(lengths) - lengths
        sizes.append(int(lengths.sum()))
    sampled = SampledTree(
        nodes=nodes.ravel(),
        amounts=amounts,
        probability=np.zeros(0),
        matrices=np.array([*NO_SHOWDOWN, *SHOWDOWN]),
        roots=np.zeros(1, np.int32),
        continuation=np.full((1, 2), -1, np.int32),
        deal_range=np.zeros((1, 3), np.int64),
        deal_cumulative=np.zeros(0),
        deals=np.zeros(0, np.int32),
        **buckets.tables._asdict(),
    )
    entries = tuple((int(count), int(count)) for count in counts)
    return SampledGame(sampled, tree.game, (sizes[0], sizes[1]), entries, betting=tree)


def _deals(tree: PublicTree) -> tuple[Int64Table, Float, Int32Table]:
    """Return all ways to deal hands and boards, subgame by subgame: ranges, probabilities, where each hand stands."""
    subgames, stages = len(tree.continuation), len(tree.stages)
    tables, cumulative, ranges, start = [], [], [], 0
    for subgame in range(subgames):
        # A subgame of several stages is dealt at its last: earlier stages see a part of that deal.
        own = range(stages) if subgames == 1 else range(subgame, subgame + 1)
        probability = tree.stages[own[-1]].probability
        group, first, second = np.nonzero(probability)
        chances = probability[group, first, second]
        places = [group * probability.shape[1] + first, group * probability.shape[2] + second]
        table = np.zeros((len(group), 3 * stages), np.int32)
        for stage in own:
            hands = tree.stages[stage].probability.shape[2]
            for player in range(2):
                table[:, 3 * stage + player] = stage_map(tree, player, own[-1], stage)[places[player]]
            table[:, 3 * stage + 2] = table[:, 3 * stage] * hands + table[:, 3 * stage + 1] % hands
        tables.append(table)
        cumulative.append(np.cumsum(chances) / chances.sum())
        ranges.append((start, start + len(group), int(np.ptp(chances) < 1e-15)))
        start += len(group)
    return np.array(ranges), np.concatenate(cumulative), np.concatenate(tables)


def chance_reach(game: SampledGame, form: SequenceForm) -> Float:
    """Return, by table entry, chance's reach of the entry's infoset, summed over its histories."""
    parts = []
    if (source := game.histories) is not None:
        reach = np.ones(source.num_nodes)
        _push_reach(source.parent, source.probability, reach)
        acting = source.infoset >= 0
        total = np.bincount(source.infoset[acting], weights=reach[acting], minlength=source.num_infosets)
        parts = [total[form.infosets[player]] for player in range(2)]
    elif (public := game.public) is not None:
        for player in range(2):
            by_stage = [stage.probability.sum(axis=2 - player).ravel() for stage in public.stages]
            parts.append(np.concatenate([by_stage[public.stage[node]] for node in public.deciding[player]]))
    return np.concatenate(
        [np.repeat(part, plex.num_actions()) for part, plex in zip(parts, form.treeplexes, strict=True)]
    )


@kernel
def _push_reach(parent: Int32, probability: Float, reach: Float) -> None:
    for node in range(1, parent.size):
        reach[node] = reach[parent[node]] * probability[node]


def planned(game: SampledGame, scheme: Scheme) -> tuple[SampledTree, SchemePlan]:
    """Return a scheme's plan for a game, and the game's tree with the action labels that the plan is about."""
    tree = game.tree
    rows: list[Int32Table] = []

    def label_by_names(classify: Callable[[Sequence[str]], Sequence[int]]) -> None:
        # A copy: another solver may be at work on the same game with other labels.
        nodes = tree.nodes.reshape(-1, WIDTH).copy()
        rows.append(nodes)
        known: dict[tuple[str, ...], Sequence[int]] = {}

        def labels(names: tuple[str, ...]) -> Sequence[int]:
            if names not in known:
                known[names] = classify(names)
            return known[names]

        if (acting := game.public or game.betting) is not None:
            for node in np.flatnonzero(nodes[:, KIND] >= 0):
                first = nodes[node, FIRST_CHILD]
                chosen = labels(acting.action_names(int(node)))
                nodes[first : first + len(chosen), LABEL] = chosen
        elif (source := game.histories) is not None:
            first_action = np.concatenate([[0], np.cumsum(source.infoset_actions, dtype=np.int64)])
            flat = np.concatenate([labels(source.labels.action_names(i)) for i in range(source.num_infosets)])
            _label_children(nodes, source.infoset, first_action, flat.astype(np.int32))

    plan = scheme.plan(LabelledActions(game.game, len(game.entries), game.entries, label_by_names))
    if rows:
        tree = tree._replace(nodes=rows[0].ravel(), amounts=rows[0].view(np.float64).ravel())
    return tree, plan


@kernel
def _label_children(nodes: Int32Table, infoset: Int32, first: Int64, labels: Int32) -> None:
    for node in range(nodes.shape[0]):
        if infoset[node] >= 0:
            for action in range(nodes[node, CHILDREN]):
                nodes[nodes[node, FIRST_CHILD] + action, LABEL] = labels[first[infoset[node]] + action]


def _bid_labels(tree: PublicTree) -> Int32:
    """Return the bid (or call) that leads to each public node of Bluff, from where it stands among its siblings."""
    labels = np.zeros(tree.num_nodes, np.int32)
    rounds = tree.game.rounds() if isinstance(tree.game, Bluff) else []
    bids = np.array([current.bids for current in rounds])
    inner = np.flatnonzero(tree.parent >= 0)
    above = tree.parent[inner]
    # Children end with the call, except below a root, where they end with the highest bid.
    ordinal = inner - tree.first_child[above]
    is_root = tree.parent[above] < 0
    last = bids[tree.subgame[inner]] - is_root
    labels[inner] = last - (tree.num_children[above] - 1 - ordinal)
    return labels
