"""Public trees of Bluff: the bids of a round are the public tree, the rolls are the private vectors.

Each round is a subgame of its own; winning or losing it leads to the next round, or ends the game.
"""

from functools import cache, lru_cache

import numpy as np

from equipoise.games import TERMINAL
from equipoise.games.bluff import Bluff, BluffRound, Roll, bid_holds, roll_probabilities, rolls
from equipoise.trees.public_tree import PublicTree, Stage
from equipoise.trees.treeplex import Float, Int64


def count_public_nodes(game: Bluff) -> int:
    """Return the number of public nodes: each rising list of bids, and each of them called (but the empty one)."""
    return sum(2 ** (current.bids + 1) - 1 for current in game.rounds())


def bluff_public_tree(game: Bluff) -> PublicTree:
    """Return the public tree of Bluff with all rounds that can occur."""
    rounds = game.rounds()
    parts = [_round_nodes(current) for current in rounds]
    sizes = [len(part["parent"]) for part in parts]
    starts = np.cumsum([0, *sizes])
    matrices: list[Float] = []
    first_matrix = []
    for current in rounds:
        first_matrix.append(len(matrices))
        matrices += [_called(current, bid) for bid in range(current.bids)]
    # A called node's matrix says whether the bid holds; that is to the gain of the bidder, whose turn it would be next.
    player, amount, matrix = [], [], []
    for part, current, first in zip(parts, rounds, first_matrix, strict=True):
        acting = (current.opener + part["bids"]) % 2
        called = part["called"].astype(bool)
        player.append(np.where(called, TERMINAL, acting))
        amount.append(np.where(called, np.where(acting == 0, 1.0, -1.0), 0.0))
        matrix.append(np.where(called, first + part["last_bid"], -1))

    def place(node: int) -> tuple[int, list[int]]:
        """Return a node's round and the bids that lead to it."""
        number = int(np.searchsorted(starts, node, side="right")) - 1
        part, bids = parts[number], []
        local = node - int(starts[number])
        while part["parent"][local] >= 0:
            bids.append(int(part["last_bid"][local]))
            local = int(part["parent"][local])
        return number, bids[::-1]

    @lru_cache(maxsize=64)  # keys are asked for node by node
    def known_at(node: int) -> tuple[BluffRound, dict[str, Roll], str]:
        """Return what the keys at a node have in common: the round, the rolls by their labels, and the bids."""
        number, bids = place(node)
        current = rounds[number]
        return current, stage_rolls[number][(current.opener + len(bids)) % 2], game.bids_text(bids)

    def infoset_text(node: int, label: str) -> str:
        current, rolls_by_label, bids = known_at(node)
        return game.infoset_text(current, rolls_by_label[label], bids)

    @cache
    def action_names(node: int) -> tuple[str, ...]:
        number, bids = place(node)
        current = rounds[number]
        actions = range(bids[-1] + 1, current.bids + 1) if bids else range(current.bids)
        return tuple(game.action_text(current, action) for action in actions)

    stages = tuple(_stage(current) for current in rounds)
    stage_rolls = [
        [dict(zip(stage.labels[p], rolls(current.dice[p]), strict=True)) for p in range(2)]
        for stage, current in zip(stages, rounds, strict=True)
    ]
    following = [[current.after_loss(loser) for loser in (1, 0)] for current in rounds]
    offsets = starts[:-1]
    return PublicTree(
        game=game,
        stages=stages,
        player=np.concatenate(player).astype(np.int8),
        parent=_shifted(parts, "parent", offsets),
        first_child=_shifted(parts, "first_child", offsets),
        num_children=np.concatenate([part["num_children"] for part in parts]).astype(np.int32),
        stage=np.repeat(np.arange(len(rounds)), sizes).astype(np.int8),
        subgame=np.repeat(np.arange(len(rounds)), sizes).astype(np.int32),
        terminal_matrix=np.concatenate(matrix).astype(np.int32),
        terminal_amount=np.concatenate(amount),
        payoff_matrices=tuple(matrices),
        continuation=np.array([[rounds.index(r) if r else -1 for r in pair] for pair in following], np.int32),
        infoset_text=infoset_text,
        action_names=action_names,
    )


def _shifted(parts: list[dict[str, Int64]], name: str, offsets: Int64) -> np.ndarray:
    moved = [np.where(part[name] >= 0, part[name] + offset, -1) for part, offset in zip(parts, offsets, strict=True)]
    return np.concatenate(moved).astype(np.int32)


def _round_nodes(current: BluffRound) -> dict[str, Int64]:
    """Return the nodes of one round, level by level: each bid list's children are all higher bids, then the call."""
    last_bid = [np.array([-1])]
    called = [np.array([0])]
    parent = [np.array([-1])]
    bids = [np.array([0])]
    first_child, num_children = [], []
    start, count = 0, 1
    while count:
        open_node = called[-1] == 0
        # The root has no bid to call, but every bid to make; a list that ends in the highest bid can only be called.
        children = np.where(open_node, current.bids - last_bid[-1] - (last_bid[-1] < 0), 0)
        children = np.where(open_node & (last_bid[-1] < 0), current.bids, children)
        end = start + count
        first_child.append(end + np.cumsum(children) - children)
        num_children.append(children)
        above = np.repeat(np.arange(start, end), children)
        ordinal = np.arange(children.sum()) - np.repeat(np.cumsum(children) - children, children)
        bid = np.repeat(last_bid[-1], children) + 1 + ordinal
        is_call = bid == current.bids
        last_bid.append(np.where(is_call, np.repeat(last_bid[-1], children), bid))
        called.append(is_call.astype(np.int64))
        bids.append(np.repeat(bids[-1], children) + 1)
        parent.append(above)
        start, count = end, len(above)
    names = {"last_bid": last_bid, "called": called, "parent": parent, "bids": bids}
    nodes = {name: np.concatenate(values) for name, values in names.items()}
    nodes["first_child"] = np.concatenate(first_child)
    nodes["num_children"] = np.concatenate(num_children)
    return nodes


def _stage(current: BluffRound) -> Stage:
    probability = np.outer(roll_probabilities(current.dice[0]), roll_probabilities(current.dice[1]))
    first, second = (tuple("".join(str(die + 1) for die in roll) for roll in rolls(current.dice[p])) for p in range(2))
    return Stage(
        groups=1,
        labels=(first, second),
        previous=(np.zeros(len(first), np.int32), np.zeros(len(second), np.int32)),
        probability=probability[None],
    )


def _called(current: BluffRound, bid: int) -> Float:
    """Return +1 where the bid holds and -1 where it does not, by the two players' rolls."""
    holds = [[bid_holds(bid, mine, theirs) for theirs in rolls(current.dice[1])] for mine in rolls(current.dice[0])]
    return np.where(np.array(holds), 1.0, -1.0)[None]
