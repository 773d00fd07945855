"""Neural recipes on games that are not listed: the same stores and loop, with infosets known by code."""

import numpy as np
import pytest
import torch

from equipoise.errors import EquipoiseError
from equipoise.games import load_game, sizes
from equipoise.games.betting import BettingRound, BettingRules
from equipoise.games.poker import Deck, PokerGame, best_five_cards
from equipoise.networks.holdem import CardsAndBets
from equipoise.networks.poker_rows import poker_rows
from equipoise.regret.matching import UNIFORM, match_rows
from equipoise.sampling.lockstep import Lockstep
from equipoise.sampling.schemes import Robust
from equipoise.sampling.tree import chance_reach
from equipoise.solvers.parameters import Network
from equipoise.solvers.recipes import find_recipe
from equipoise.solvers.representations import REPRESENTATIONS
from equipoise.solvers.setup import Setup
from equipoise.solvers.spaces import CodedSpace
from equipoise.stores.board_average import BoardAverage
from equipoise.stores.coded import InfosetSums, sum_by_infoset
from equipoise.stores.memories import Memory
from equipoise.trees.best_response import Evaluator
from equipoise.trees.betting_tree import betting_tree
from equipoise.trees.board_evaluator import BoardEvaluator
from equipoise.trees.board_form import board_form
from equipoise.trees.codes import nodes_of
from equipoise.trees.compile import compile_game
from equipoise.trees.tables import TableMap
from tests.codes import code_of_key
from tests.naive.cfr import regret_matching
from tests.samples import prepared

torch.set_num_threads(1)
LEDUC = "leduc_poker"
UNIFORM_LEDUC = 2.37  # the exploitability of uniform play
SMALL = {"network": "mlp", "width": 32, "traversals": 1500, "minibatch": 1024, "capacity": 300_000, "fresh_every": 10}
RECIPES = {
    "deep-cfr": {**SMALL, "fresh_steps": 150, "steps": 40, "policy_steps": 600, "rate": 5e-3},
    "sd-cfr": {**SMALL, "fresh_steps": 150, "steps": 40, "rate": 5e-3},
    "dncfr": {
        "network": "mlp",
        "width": 32,
        "strategy_width": 24,
        "batch": 1500,
        "steps": 60,
        "rate": 4e-3,
        "strategy_every": 5,
        "strategy_steps": 200,
        "strategy_rate": 4e-3,
    },
}


@pytest.fixture
def _nothing_is_listed(monkeypatch):
    monkeypatch.setattr(sizes, "MOST_LISTED", 0)


def made(algorithm, text=LEDUC, seed=0, game=None, **changes):
    recipe = find_recipe(algorithm)
    parameters = recipe.resolve({**RECIPES[algorithm], **changes}, game="codes")
    return recipe.make(Setup(game=game or load_game(text), seed=seed), parameters)


def codes_of_keys(rows, keys):
    return np.array([code_of_key(rows.tree, rows.layout, key) for key in keys])


def behaviour(rows, mixture, codes):
    """Return what a mixture comes to at codes: the sum of weight x own reach x strategy, normalised."""
    total = sum(
        weight * rows.own_reach_at(codes, strategy_at)[:, None] * strategy_at(codes) for weight, strategy_at in mixture
    )
    mass = total.sum(axis=1, keepdims=True)
    legal = rows.legal_at(codes)
    return np.where(mass > 0.0, total / np.maximum(mass, 1e-300), legal / legal.sum(axis=1, keepdims=True))


def as_strategies(form, rows, played):
    """Return strategies in a form's order, from probabilities by player and code."""
    tables = TableMap(form)
    entries = []
    for player in range(2):
        codes = codes_of_keys(rows, form.keys(player))
        chosen = played(player, codes)
        entries.append(chosen[rows.legal_at(codes)])
    return tables.to_form(np.concatenate(entries))


def exploitability(solver):
    solver.conclude()
    rows = solver.space.seen
    form = compile_game(rows.tree.game)
    mixtures = [solver.strategies.mixture(player) for player in range(2)]
    strategies = as_strategies(form, rows, lambda player, codes: behaviour(rows, mixtures[player], codes))
    return Evaluator(form).best_responses(strategies).exploitability


@pytest.mark.usefixtures("_nothing_is_listed")
@pytest.mark.parametrize(
    ("algorithm", "changes", "highest"),  # 16 seeds here and as elsewhere: least, medians, largest
    [
        ("deep-cfr", {}, 1.2),  # 0.44, 0.55 and 0.56, 0.84
        ("sd-cfr", {}, 1.2),  # 0.42, 0.55 and 0.56, 0.84
        ("dncfr", {}, 1.4),  # 0.47, 0.67 and 0.70, 1.02
        # What suits a game whose infosets are met many times: 0.13, 0.18 and 0.17, 0.21.
        ("dncfr", {"rule": "cfr_plus_quadratic"}, 0.3),
    ],
)
def test_leduc_without_a_list_of_its_infosets_is_learnt(algorithm, changes, highest, seed, level):
    solver = made(algorithm, seed=seed, **changes)
    assert isinstance(solver.space, CodedSpace)
    solver.run(20)
    assert level(exploitability(solver)) < highest < UNIFORM_LEDUC


@pytest.mark.usefixtures("_nothing_is_listed")
@pytest.mark.parametrize("algorithm", list(RECIPES))
@pytest.mark.parametrize(
    ("network", "text"), [("mlp", LEDUC), ("lstm", LEDUC), ("lstm", "flop_holdem"), ("cards", "flop_holdem")]
)
def test_a_restored_solver_goes_on_as_if_nothing_had_happened(algorithm, network, text):
    few = {"deep-cfr": {"traversals": 60}, "sd-cfr": {"traversals": 60}, "dncfr": {"batch": 60}}[algorithm]
    steps = {"deep-cfr": "fresh_steps", "sd-cfr": "fresh_steps", "dncfr": "strategy_steps"}[algorithm]
    changes = {**few, "network": network, "width": 8, "steps": 3, steps: 4}
    first, second = (made(algorithm, text, **changes) for _ in range(2))
    first.run(4)
    saved = {name: array.copy() for name, array in first.state().items()}
    first.run(4)
    second.run(1)
    second.restore(4, saved)
    second.run(4)
    assert first.iteration == second.iteration == 8
    for name, array in first.state().items():
        np.testing.assert_array_equal(array, second.state()[name], err_msg=name)
    other = made(algorithm, text, seed=1, **changes)
    other.run(8)
    assert any(np.any(other.state()[name] != array) for name, array in first.state().items() if "network" in name)


@pytest.mark.parametrize("cards", ["cards", "ranks"])
@pytest.mark.parametrize("text", [LEDUC, "nl_leduc(stack=4)"])
def test_reach_and_chance_by_code_are_those_of_tables_and_rehearsals_meet_them(text, cards):
    sample = prepared(text, "public")
    rows = poker_rows(betting_tree(sample.game), cards)
    tables, chance = TableMap(sample.form), chance_reach(sample.sampled, sample.form)
    generator = np.random.default_rng(0)
    table, by_code, codes = [], {}, []
    for player in range(2):
        codes.append(codes_of_keys(rows, sample.form.keys(player)))
        for code, count in zip(codes[player].tolist(), sample.form.treeplexes[player].num_actions(), strict=True):
            table.append(by_code.setdefault(code, generator.dirichlet(np.ones(count))))
    strategy = np.concatenate(table)
    first = tables.first[:-1]
    reach = tables.own_reach(strategy)[first]

    def strategy_at(codes):
        out = np.zeros((len(codes), rows.num_columns))
        for row, code in enumerate(codes.tolist()):
            out[row, rows.tree.legal[code >> 42]] = by_code[code]
        return out

    every_code = np.concatenate(codes)
    np.testing.assert_allclose(rows.own_reach_at(every_code, strategy_at), reach, rtol=1e-12)
    listed = dict.fromkeys(every_code.tolist(), 0.0)
    for code, own in zip(every_code.tolist(), chance[first], strict=True):
        listed[code] += own
    np.testing.assert_allclose(rows.chance_at(every_code), [listed[code] for code in every_code.tolist()], rtol=1e-12)
    assert len(by_code) < len(every_code) or cards == "cards"

    # The expectation of a rehearsal is own reach x chance's reach x strategy, summed over what a code stands for.
    batch, repeats = 500, 20
    sampler = Lockstep(rows.tree, rows.layout, Robust(k=2), batch=batch, fallback=UNIFORM, seed=1, mean=True)
    for player in range(2):
        order = np.unique(codes[player])
        mass = rows.own_reach_at(order, strategy_at) * rows.chance_at(order)
        expected = mass[:, None] * strategy_at(order)
        found = np.zeros((repeats, *expected.shape))
        for repeat in range(repeats):
            for met in sampler.rows(lambda who, asked: strategy_at(asked), (1 - player,), repeat):
                if met.kind == "strategy":
                    assert met.player == player
                    values = met.weight[:, None] * met.values
                    np.add.at(found[repeat], np.searchsorted(order, met.infoset), values)
        along = (found - expected).reshape(repeats, -1) @ generator.normal(size=(expected.size, 10))
        assert np.abs(along.mean(axis=0) / (along.std(axis=0, ddof=1) / np.sqrt(repeats))).max() < 5.0
        assert np.corrcoef(found.mean(axis=0).ravel(), expected.ravel())[0, 1] > 0.95

    # By own reach, the traverser's infosets that were met count in full, once each (DN19 Algorithm 3).
    options = {"batch": batch, "fallback": UNIFORM, "seed": 1, "mean": True, "own_reach": True}
    by_own_reach = Lockstep(rows.tree, rows.layout, Robust(k=2), **options)
    for player in range(2):
        found = by_own_reach.rows(lambda who, asked: strategy_at(asked), (player,), 1)
        (met,) = (each for each in found if each.kind == "strategy")
        assert met.player == player
        assert len(np.unique(met.infoset)) == len(met.infoset) > 100
        reach = rows.own_reach_at(met.infoset, strategy_at)
        np.testing.assert_allclose(met.weight, reach, rtol=1e-9)
        np.testing.assert_allclose(met.values, strategy_at(met.infoset), rtol=1e-9, atol=1e-12)
        assert reach.min() < 0.2


def tiny_holdem():
    """Return flop hold'em with 8 cards, one raise a round: small enough to list."""
    rules = BettingRules(
        blinds=(1, 2),
        rounds=(BettingRound(max_raises=1, bet_size=2), BettingRound(first_player=1, max_raises=1, bet_size=2)),
    )
    deck = Deck(ranks=("2", "3"), suits=("c", "d", "h", "s"))
    return PokerGame("tiny_holdem", deck, rules, (0, 3), hole_cards=2, strength=best_five_cards)


@pytest.mark.parametrize("cards", ["ranks", "cards"])
@pytest.mark.parametrize("snapshots", [1, 3])
def test_what_is_played_board_by_board_is_what_is_played_by_key(cards, snapshots):
    """The exact evaluation over boards, of mixtures by code, beside that of the listed game."""
    game = tiny_holdem()
    rows = poker_rows(betting_tree(game), cards)

    def strategy(number):
        def at(codes):
            # Suits must not matter to what is played: the evaluator asks for one hand of each kind.
            canonical = poker_rows(rows.tree, "ranks")
            from equipoise.trees.codes import cards_of, codes_of

            held = cards_of(codes, 5).astype(np.int8)
            same = codes_of(
                canonical.layout, held, rows.tree.nodes.round[nodes_of(codes)].astype(np.int64), nodes_of(codes)
            )
            mixed = (
                same.astype(np.uint64)[:, None] + np.arange(3, dtype=np.uint64) + np.uint64(99 * number)
            ) * np.uint64(0x9E3779B97F4A7C15)
            mixed ^= mixed >> np.uint64(31)
            scores = (mixed * np.uint64(0xBF58476D1CE4E5B9) >> np.uint64(40)).astype(np.float64) / 2**24
            return match_rows(scores, rows.legal_at(codes), 0)

        return at

    mixture = [(float(number + 1), strategy(number)) for number in range(snapshots)]
    found = BoardEvaluator(board_form(game)).best_responses(BoardAverage(board_form(game), rows, (mixture, mixture)))
    form = compile_game(game, "vector")
    strategies = as_strategies(form, rows, lambda player, codes: behaviour(rows, mixture, codes))
    expected = Evaluator(form).best_responses(strategies)
    assert found.value == pytest.approx(expected.value, abs=1e-9)
    assert found.nash_conv == pytest.approx(expected.nash_conv, abs=1e-9)
    assert expected.nash_conv > 0.5


def test_memories_of_codes_draw_as_memories_of_rows():
    spread = 3 << 40
    memories = [Memory("reservoir", 300, rows, 3, weighted=True, seed=5) for rows in (50, None)]
    generator = np.random.default_rng(0)
    for iteration in range(1, 6):
        rows, values = generator.integers(0, 50, 150), generator.normal(size=(150, 3))
        for memory, scale in zip(memories, (1, spread), strict=True):
            memory.add(rows * scale, values, iteration)
    for memory in memories:
        memory.start_drawing(1)
    for _ in range(3):
        listed, coded = (memory.draw(200, 5) for memory in memories)
        np.testing.assert_array_equal(listed[0] * spread, coded[0])
        for one, two in zip(listed[1:], coded[1:], strict=True):
            np.testing.assert_array_equal(one, two)
    again = Memory("reservoir", 300, None, 3, weighted=True, seed=5)
    again.restore({name: array.copy() for name, array in memories[1].state().items()})
    again.start_drawing(1)
    memories[1].start_drawing(1)
    np.testing.assert_array_equal(again.draw(200, 5)[0], memories[1].draw(200, 5)[0])
    with pytest.raises(EquipoiseError, match="aggregated"):
        Memory("aggregated", 300, None, 3, weighted=True, seed=5)


@pytest.mark.nojit
def test_sums_by_code_and_matching_by_row():
    generator = np.random.default_rng(1)
    codes, values = generator.integers(0, 9, 80) << 50, generator.normal(size=(80, 3))
    sums = sum_by_infoset([InfosetSums(codes[:30], values[:30]), InfosetSums(codes[30:], values[30:])])
    assert len(set(sums.infoset.tolist())) == len(sums.infoset) == 9
    for code, row in zip(sums.infoset, sums.values, strict=True):
        np.testing.assert_allclose(row, values[codes == code].sum(axis=0))
    legal = generator.random((40, 3)) < 0.7
    legal[:, 1] = True
    scores = generator.normal(size=(40, 3))
    for row, found in enumerate(match_rows(scores, legal, 0)):
        np.testing.assert_allclose(found[legal[row]], regret_matching(scores[row][legal[row]].tolist()))
        assert np.all(found[~legal[row]] == 0.0)


@pytest.mark.parametrize(
    ("algorithm", "changes", "words"),
    [
        ("dncfr", {"averaging": "exact"}, "averaging=stochastic"),
        ("deep-cfr", {"sampling": "outcome"}, "sampling=robust and k=1"),
        ("deep-cfr", {"capacity": 10**12}, "capacity"),
    ],
)
def test_what_needs_a_list_is_refused(algorithm, changes, words):
    with pytest.raises(EquipoiseError, match=words):
        made(algorithm, "flop_holdem", **changes)


def test_means_by_infoset_need_a_list_of_them():
    recipe = find_recipe("deep-cfr")
    with pytest.raises(EquipoiseError, match="targets=aggregated needs a list of infosets"):
        recipe.solver(Setup(game=load_game("flop_holdem")), {"targets": "aggregated"})


def test_the_cards_network_is_for_games_that_are_not_listed():
    with pytest.raises(EquipoiseError, match="network=cards"):
        made("deep-cfr", LEDUC, network="cards")


def test_the_paper_preset_has_the_papers_sizes():
    resolved = find_recipe("deep-cfr").resolve({}, "paper", game="codes")
    named = {"traversals": 10_000, "fresh_steps": 4000, "minibatch": 10_000, "capacity": 40_000_000, "fit": "scratch"}
    assert {name: resolved[name] for name in named} == named
    assert CardsAndBets(width=resolved["width"]) == CardsAndBets(width=64)
    assert (
        CodedSpace(
            Setup(game=load_game("limit_holdem")), REPRESENTATIONS["codes"], Network(network="cards")
        ).seen.num_columns
        == 3
    )
