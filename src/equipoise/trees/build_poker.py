"""Public trees of poker games: the betting tree from the game's own rules, and one stage of hands per betting round."""

from functools import cache

import numpy as np

from equipoise.games import CHANCE
from equipoise.games.poker import Cards, PokerGame
from equipoise.trees.betting_tree import betting_tree
from equipoise.trees.public_tree import PublicTree, Stage
from equipoise.trees.treeplex import Float


def poker_public_tree(game: PokerGame) -> PublicTree:
    """Return the public tree of a poker game, without card isomorphism: every infoset of the rules is there."""
    rounds = len(game.betting.rounds)
    stages = tuple(_stage(game, betting_round) for betting_round in range(rounds))
    player: list[int] = []
    parent: list[int] = [-1]
    first_child: list[int] = []
    num_children: list[int] = []
    stage: list[int] = []
    matrix: list[int] = []
    amount: list[float] = []
    tree = betting_tree(game)
    betting = [0]  # nodes of the betting tree
    waiting_stage = [0]  # the stage of a node that is listed but not yet written: a deal lags behind its betting
    node = 0
    while node < len(betting):  # grows while it is walked: breadth first
        bets, here = betting[node], waiting_stage[node]
        state = tree.states[bets]
        first_child.append(len(betting))
        stage.append(here)
        matrix.append(-1)
        amount.append(0.0)
        if state.folded < 0 and here < state.round:
            player.append(CHANCE)
            children, later = [bets], here + 1
        else:
            player.append(int(tree.nodes.player[bets]))
            first = int(tree.nodes.first_child[bets])
            children, later = list(range(first, first + int(tree.nodes.num_children[bets]))), here
            if state.finished:
                matrix[-1] = 2 * here + int(tree.nodes.showdown[bets])
                amount[-1] = float(tree.nodes.amount[bets])
        num_children.append(len(children))
        betting.extend(children)
        waiting_stage.extend([later] * len(children))
        parent.extend([node] * len(children))
        node += 1
    matrices: list[Float] = []
    for betting_round, built in enumerate(stages):
        matrices += [np.ones_like(built.probability), _showdown(game, betting_round)]

    def infoset_text(node: int, label: str) -> str:
        return f"{label}|{tree.states[betting[node]].text}"

    @cache
    def action_names(node: int) -> tuple[str, ...]:
        return tree.action_names(betting[node])

    return PublicTree(
        game=game,
        stages=stages,
        player=np.array(player, np.int8),
        parent=np.array(parent, np.int32),
        first_child=np.array(first_child, np.int32),
        num_children=np.array(num_children, np.int32),
        stage=np.array(stage, np.int8),
        subgame=np.zeros(len(player), np.int32),
        terminal_matrix=np.array(matrix, np.int32),
        terminal_amount=np.array(amount),
        payoff_matrices=tuple(matrices),
        continuation=np.full((1, 2), -1, np.int32),
        infoset_text=infoset_text,
        action_names=action_names,
    )


def _live_hands(game: PokerGame, board: Cards) -> list[int]:
    return [index for index, hand in enumerate(game.hands) if set(board).isdisjoint(hand)]


def _stage(game: PokerGame, betting_round: int) -> Stage:
    boards = game.boards(betting_round)
    live = [_live_hands(game, board) for board in boards]
    hands = len(live[0])
    probability = np.zeros((len(boards), hands, hands))
    for group, indices in enumerate(live):
        for i, mine in enumerate(indices):
            for j, theirs in enumerate(indices):
                probability[group, i, j] = set(game.hands[mine]).isdisjoint(game.hands[theirs])
    probability /= probability.sum()
    labels = tuple(
        game.infoset_text(game.hands[index], board, "").rstrip("|")
        for board, indices in zip(boards, live, strict=True)
        for index in indices
    )
    previous = np.zeros(len(boards) * hands, np.int32)
    if betting_round > 0:
        # A hand under a board comes from the same hand under a part of that board; which part does not matter to the
        # deal probabilities, and games with one deal of board cards have only the empty board before.
        before = game.boards(betting_round - 1)
        assert len(before) == 1, "several deals of board cards need ordered boards"
        previous[:] = [index for indices in live for index in indices]
    return Stage(groups=len(boards), labels=(labels, labels), previous=(previous, previous), probability=probability)


def _showdown(game: PokerGame, betting_round: int) -> Float:
    boards = game.boards(betting_round)
    signs = []
    for board in boards:
        strength = np.array([game.strength_of(game.hands[h], board) for h in _live_hands(game, board)])
        signs.append(np.sign(strength[:, None] - strength[None, :]).astype(np.float64))
    return np.array(signs)
