"""Value networks: what they see, what closings are worth by them, labels, training that can be killed, and mistakes."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import equipoise
from equipoise.errors import EquipoiseError
from equipoise.games.spots import spot, valued
from equipoise.regret.rules import DiscountedCFR
from equipoise.solvers.spot_cfr import SpotCFR
from equipoise.solvers.spot_completion import complete
from equipoise.solvers.value_labels import (
    example,
    is_held_out,
    label,
    met_situations,
    places_of,
    random_situation,
    spot_of,
)
from equipoise.trees.spot_evaluator import SpotEvaluator
from equipoise.trees.spot_form import spot_form
from equipoise.trees.spot_leaves import Entering
from equipoise.trees.value_network import BINS, EDGES, INPUTS, ValueNetwork, see, stack_inputs
from tests.spots import small_spot
from tests.unit.test_cli import last_json, run  # noqa: F401 - a fixture

TURN = "spot(board=Td9d6hQc,pot=200,stack=900,first=66+|A8s+,second=QQ-22|KQ,bets=1-allin,until=river)"


def network(path, scale=0.1, **header):
    """Write a network of random numbers; with a scale of 0 it always says 0."""
    generator = np.random.default_rng(3)
    weights = [generator.normal(size=size) * 0.1 for size in ((INPUTS, 16), (16, 16))]
    weights.append(generator.normal(size=(16, 2 * (BINS + 1))) * scale)
    made = ValueNetwork(
        header={"round": "river", "layers": 3, **header},
        weights=tuple(each.astype(np.float32) for each in weights),
        biases=tuple(np.zeros(each.shape[1], np.float32) for each in weights),
    )
    made.save(path)
    return str(path)


def interpolated(points, place):
    return np.interp(place, EDGES, points)


def naive_closing(game, form, net, k, child, image, reaches):
    """Return what a network says of a closing on one board, hand by hand of the deck, by the definition."""
    state = form.rounds[1].roots[k]
    renaming = form.rounds[1].renamings[child][image]
    suits = len(game.deck.suits)
    back = [renaming.index(suit) for suit in range(suits)]
    card = form.rounds[1].cards[child][-1]
    river = card // suits * suits + back[card % suits]
    board = (*game.board, river)
    live = [h for h, hand in enumerate(game.hands) if not set(hand) & set(board)]
    held = [[h for h in live if reaches[p].get(h) is not None] for p in range(2)]
    strength = {h: game.strength(game.hands[h], board) for h in live}
    total = [sum(reaches[p][h] for h in held[p]) for p in range(2)]
    if min(total) <= 0.0:
        return None
    levels = sorted({strength[h] for p in range(2) for h in held[p]})
    seen, place, at, tie = np.zeros(2 * BINS + 1), {}, 0.0, 0.0
    for level in levels:
        mass = [sum(reaches[p][h] for h in held[p] if strength[h] == level) / total[p] for p in range(2)]
        width = sum(mass) / 2
        place[level] = at + width / 2
        tie += mass[0] * mass[1]
        for b in range(BINS):
            covered = max(min(at + width, EDGES[b + 1]) - max(at, EDGES[b]), 0.0) / (EDGES[b + 1] - EDGES[b])
            if width > 0.0:
                seen[b] += covered * mass[0] / sum(mass)
                seen[BINS + b] += covered * width
        at += width
    seen[-1] = tie
    pot = game.pot + 2 * min(state.spent)
    stack = stack_inputs(np.array([game.stack - min(state.spent)]), np.array([pot]))[0]
    read = net.read(np.concatenate([seen, stack])[None].astype(np.float32))[0]
    beside = [
        {h: sum(reaches[1 - p][o] for o in held[1 - p] if not set(game.hands[h]) & set(game.hands[o])) for h in held[p]}
        for p in range(2)
    ]
    gain = [
        {h: interpolated(read[p * (BINS + 1) :][: BINS + 1], place[strength[h]]) for h in held[p]} for p in range(2)
    ]
    weights = [(reaches[p][h] * beside[p][h], gain[p][h]) for p in range(2) for h in held[p]]
    if sum(w for w, _ in weights) <= 0.0:
        return None
    shift = sum(w * g for w, g in weights) / sum(w for w, _ in weights)
    deal = form.rounds[1].deal
    return [{h: deal * pot * (gain[p][h] - shift) * beside[p][h] for h in held[p]} for p in range(2)]


@pytest.mark.parametrize("name", ["turn", "turn, two suits alike"])
def test_closings_by_the_definition(name, tmp_path):
    game = small_spot(name, until="river", values=network(tmp_path / "net.npz"))
    form = spot_form(game)
    net = form.leaves._network
    first = form.rounds[0]
    widths = tuple(int(width) for width in first.boards.width[0])
    generator = np.random.default_rng(5)
    plans = []
    for player in range(2):
        rows = np.zeros((int(first.betting.rows[player]), widths[player]))
        live = int(first.boards.live[0, player])
        rows[:, :live] = generator.random((len(rows), live)) * (generator.random((len(rows), live)) > 0.2)
        if form.rounds[1].boards.images.max() > 1:  # hands that only suits tell apart are played alike
            rows[:, :live] = rows[:, first.boards.alike[int(first.boards.start[0, player]) :][:live]]
        plans.append(rows)
    entering = Entering(0, (plans[0].ravel(), plans[1].ravel()), widths, range(form.rounds[1].num_boards))
    for player in range(2):
        found = form.leaves.closings(entering, player, 1)
        expected = np.zeros_like(found)
        for k, state in enumerate(form.rounds[1].roots):
            if not game.is_left_open(state):
                continue
            reaches = [
                dict(zip(first.hands[p][0].tolist(), plans[p][form.rounds[1].closings[p, k]], strict=False))
                for p in range(2)
            ]
            place = {h: j for j, h in enumerate(first.hands[player][0].tolist())}
            for child in range(form.rounds[1].num_boards):
                for image in range(int(form.rounds[1].boards.images[child])):
                    worth = naive_closing(game, form, net, k, child, image, reaches)
                    for h, value in ({} if worth is None else worth[player]).items():
                        expected[k, place[h]] += value
        assert np.abs(expected).max() > 1e-3
        np.testing.assert_allclose(found, expected, atol=1e-6 * np.abs(expected).max())


def test_a_network_that_says_nothing_is_check_down(tmp_path):
    game = equipoise.load_game(TURN)
    silent = valued(game, network(tmp_path / "net.npz", scale=0.0))
    one, other = (SpotCFR(spot_form(each), DiscountedCFR()) for each in (game, silent))
    for solver in (one, other):
        solver.run(10)
    for a, b in zip(one.state().values(), other.state().values(), strict=True):
        assert (a == b).all()
    values = [SpotEvaluator(solver.form).best_responses(solver.average_strategy()) for solver in (one, other)]
    assert values[0] == values[1]


def test_networks_are_zero_sum(tmp_path):
    game = valued(equipoise.load_game(TURN), network(tmp_path / "net.npz"))
    solver = SpotCFR(spot_form(game), DiscountedCFR())
    solver.run(20)
    found = SpotEvaluator(solver.form).best_responses(solver.average_strategy())
    assert sum(found.values) == pytest.approx(0.0, abs=1e-6 * game.pot)
    plain = SpotEvaluator(spot_form(valued(game, "check-down"))).best_responses(solver.average_strategy())
    assert abs(plain.value - found.value) > 0.01


def test_the_axis_holds_both_ranges():
    generator = np.random.default_rng(2)
    groups = [np.sort(generator.integers(0, 30, 200)) for _ in range(2)]
    reach = [generator.random(200) for _ in range(2)]
    seen, middle = see(groups[0], groups[1], reach[0], reach[1], 30, EDGES)
    widths = np.diff(EDGES)
    assert (seen[:BINS] * widths).sum() == pytest.approx(0.5, abs=1e-6)  # half of the axis is player 0's
    assert (np.diff(middle) >= 0).all()
    assert 0 < middle[0] < middle[-1] < 1


def test_labels_are_values_of_the_solved_spot():
    at = random_situation(5, np.random.default_rng(4), held_out=False)
    found = label(at, 200)
    game = spot_of(at)
    solver = SpotCFR(spot_form(game), DiscountedCFR())
    solver.run(600)
    values = SpotEvaluator(solver.form).best_responses(solver.average_strategy())
    total = sum(float(found.reach[0] @ found.beside[0]) for _ in range(1))
    assert at.pot * (found.reach[0] @ found.cfv[0]) / total == pytest.approx(values.value, abs=0.01 * game.pot)
    assert found.reach[0] @ found.cfv[0] == pytest.approx(-(found.reach[1] @ found.cfv[1]), abs=1e-9)
    made, places = example(found), places_of(found)
    y = np.random.default_rng(5).normal(size=(2, BINS + 1))
    for player in range(2):  # the quadratic form is the squared error over hands
        low, share = places.low[player], places.share[player]
        read = (1 - share) * y[player, low] + share * y[player, low + 1]
        errors = read * found.beside[player] - (found.cfv[player] - found.check_down[player])
        form = (made.diagonal[player] * y[player] ** 2).sum()
        form += 2 * (made.beside_it[player] * y[player, 1:] * y[player, :-1]).sum()
        form += made.square[player] - 2 * made.moment[player] @ y[player]
        assert form == pytest.approx((errors**2).mean(), rel=1e-9)


def test_situations_are_as_printed():
    generator = np.random.default_rng(0)
    boards = [random_situation(5, generator, held_out=held) for held in (False, True) for _ in range(20)]
    for number, at in enumerate(boards):
        assert is_held_out(at.board) == (number >= 20)
        assert at.stack == 20_000 - at.pot // 2 and 200 <= at.pot <= 39_900
        for weights in at.weights:
            assert weights.sum() == pytest.approx(1.0)
            assert (weights > 0).sum() == 1081
    met = list(met_situations(5, 3, generator, iterations=5))
    assert len(met) == 3 and all(len(at.board) == 5 and not is_held_out(at.board) for at in met)


def test_completing_a_strategy_that_was_solved_to_the_end_gives_it_back():
    ranges = {"first": "66+,A8s+,KQo", "second": "QQ-22,AJo:0.5,T9s"}
    full = SpotCFR(spot_form(spot("Td9d6hQc", 200, 900, **ranges)), DiscountedCFR())
    full.run(200)
    before = SpotEvaluator(full.form).best_responses(full.average_strategy())
    ending = spot_form(spot("Td9d6hQc", 200, 900, **ranges, until="river"))
    whole, strategy = complete(ending, full.average_strategy(), 200)
    after = SpotEvaluator(whole).best_responses(strategy)
    assert after.value == pytest.approx(before.value, abs=0.2)
    assert after.exploitability < before.exploitability + 0.4  # chips; the pot has 200


SMALL = ("--labels", "100", "--held-out", "100", "--met", "0.1", "--iterations", "4", "--width", "8", "--layers", "1")


def test_training_goes_on_after_a_kill(run, tmp_path):  # noqa: F811
    command = [sys.executable, "-m", "equipoise", "train-values", "river", *SMALL, "--passes", "3", "--out", "killed"]
    process = subprocess.Popen(command, cwd=tmp_path, env=os.environ.copy(), stderr=subprocess.DEVNULL)
    until = time.monotonic() + 300
    while not (tmp_path / "killed" / "held-out" / "00000.npz").exists() and time.monotonic() < until:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert (tmp_path / "killed" / "held-out" / "00000.npz").exists()
    assert not (tmp_path / "killed" / "network.npz").exists()
    for out in ("killed", "whole"):
        code, text, err = run("train-values", "river", *SMALL, "--passes", "3", "--out", out, "--json")
        assert code == 0, err
        found = last_json(text)
    assert found["published_Supremus"] == 0.015 and 0 < found["huber"] < 10
    one, other = (np.load(tmp_path / out / "network.npz") for out in ("killed", "whole"))
    for name in one.files:
        if name != "header":
            assert (one[name] == other[name]).all()
    header = json.loads(bytes(one["header"]).decode())
    assert header["command"].startswith("equipoise train-values river --labels 100")
    code, text, err = run("solve", TURN, "--values", "whole/network.npz", "--iterations", "5", "--out", "spot")
    assert code == 0, err
    assert run("evaluate", "spot", "--complete", "5")[0] == 0
    code, _, err = run("train-values", "river", *SMALL[:-1], "2", "--out", "whole")
    assert code == 2 and "was begun with layers=1" in err


@pytest.mark.parametrize(
    ("header", "words"),
    [
        ({"round": "turn"}, "is a network of the turn, and values are needed where the river is dealt"),
        ({"version": 2}, "of version 2"),
        ({"format": "something"}, "is not a value network"),
        ({"layers": 4}, "is damaged"),
    ],
)
def test_other_networks_are_refused(run, tmp_path, header, words):  # noqa: F811
    path = network(tmp_path / "net.npz")
    with np.load(path) as stored:
        arrays = dict(stored)
    told = json.loads(bytes(arrays.pop("header")).decode()) | header
    np.savez(path, header=np.frombuffer(json.dumps(told).encode(), np.uint8), **arrays)
    code, _, err = run("solve", TURN, "--values", path)
    assert code == 2
    assert words in err and len(err.strip().splitlines()) == 1


def test_files_that_are_no_networks_are_refused(run, tmp_path):  # noqa: F811
    (tmp_path / "text.npz").write_text("hello")
    for path, words in (("text.npz", "is damaged or not a value network"), ("none.npz", "there is no such file")):
        code, _, err = run("solve", TURN, "--values", path)
        assert code == 2
        assert words in err and len(err.strip().splitlines()) == 1
    with pytest.raises(EquipoiseError):
        equipoise.train_values("flop")
