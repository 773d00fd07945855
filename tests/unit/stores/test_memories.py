"""Memories of samples: what they keep, what they draw, how they weigh it, and networks that are fitted from them."""

from collections import defaultdict

import numpy as np
import pytest
import torch
from scipy import stats

from equipoise.networks.fitting import Fitting, loss_and_gradient
from equipoise.networks.infosets import infosets_of
from equipoise.networks.modules import FeedForward
from equipoise.stores.memories import FIRST_VALUE, FittedMemory, Memory, MemoryConfig

torch.set_num_threads(1)  # as the solvers do: these networks are too small to share out
COLUMNS = 3


def samples(rows, seed=0):
    rows = np.asarray(rows, np.int32)
    return np.asarray(rows, np.int64), np.random.default_rng([seed, len(rows)]).normal(size=(len(rows), COLUMNS))


def memory_of(kind="reservoir", capacity=500, num_rows=10_000, *, weighted=True, seed=0):
    return Memory(kind, capacity, num_rows, COLUMNS, weighted=weighted, seed=seed)


def kept(memory):
    """Return the rows of all samples that a memory keeps."""
    return memory.state()["samples"][:, 0]


def fill(memory, parts):
    """Give a memory rows 0, 1, 2, ... in parts of some sizes, an iteration each; return how many."""
    start = 0
    for iteration, size in enumerate(parts, start=1):
        memory.add(*samples(np.arange(start, start + size), iteration), iteration)
        start += size
    return start


PARTS = (300, 450, 1, 2_249, 4_000, 3_000)  # the memory is full in the second part, and the parts are not alike


def unevenness(kind):
    """Return how likely numbers as uneven as these are, if every sample is kept with the same probability."""
    counts = np.zeros(25, np.int64)
    for seed in range(150):
        memory = memory_of(kind, seed=seed)
        assert fill(memory, PARTS) == 10_000 == memory.seen
        assert len(set(kept(memory))) == 500
        counts += np.bincount(kept(memory) // 400, minlength=25)
    return stats.chisquare(counts).pvalue


def test_a_reservoir_keeps_every_sample_with_the_same_probability():
    assert unevenness("reservoir") > 1e-3


def test_a_window_does_not():
    assert unevenness("window") < 1e-9


def test_neighbours_are_kept_independently():
    """If one draw decided on several samples, pairs of neighbours would be kept together, or never."""
    together = []
    for seed in range(100):
        memory = memory_of(seed=seed)
        fill(memory, PARTS)
        present = np.zeros(10_000, bool)
        present[kept(memory)] = True
        together.append(np.sum(present[1:] & present[:-1]))
    expected = 9_999 * 500 * 499 / (10_000 * 9_999)
    assert np.mean(together) == pytest.approx(expected, abs=4 * np.std(together) / 10)


def test_reservoirs_of_different_seeds_keep_different_samples():
    first, again, other = (memory_of(seed=seed) for seed in (1, 1, 2))
    for memory in (first, again, other):
        fill(memory, PARTS)
    np.testing.assert_array_equal(kept(first), kept(again))
    assert len(np.intersect1d(kept(first), kept(other))) < 100


@pytest.mark.parametrize("parts", [(300, 100), PARTS, (500, 1), (1,) * 700, (5_000,)])
def test_a_window_keeps_the_last_samples(parts):
    memory = memory_of("window")
    count = fill(memory, parts)
    assert sorted(kept(memory)) == list(range(max(0, count - 500), count))


@pytest.mark.parametrize("kind", ["reservoir", "window"])
def test_samples_keep_their_values_and_iterations(kind):
    memory = memory_of(kind)
    given = {}
    for iteration in range(1, 9):
        new = samples(np.arange(100) + 100 * iteration, iteration)
        given.update((int(row), (iteration, values)) for row, values in zip(*new, strict=True))
        memory.add(*new, iteration)
    stored = memory.state()["samples"]
    assert len(stored) == 500
    for head, values in zip(stored, stored.view(np.float32), strict=True):
        iteration, expected = given[int(head[0])]
        assert head[1] == iteration
        np.testing.assert_array_equal(values[FIRST_VALUE:], expected.astype(np.float32))


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("kind", ["reservoir", "window"])
def test_nothing_is_drawn_from_the_part_that_is_not_filled(kind, weighted):
    memory = memory_of(kind, capacity=1_000, num_rows=50, weighted=weighted)
    memory.add(*samples([7, 8, 9, 7]), 2)
    memory.start_drawing(1)
    for _ in range(20):
        rows, weight, _ = memory.draw(5_000, latest=4)
        assert sorted(rows) == [7, 8, 9]  # an empty place would be row 0, of iteration 0
        assert weight.sum() == pytest.approx(5_000)  # a draw counts 2 x 2 / 4, or 1


@pytest.mark.parametrize("weighted", [True, False])
def test_draws_are_even_and_weighted_by_iteration(weighted):
    memory, batch = memory_of(num_rows=10, weighted=weighted), 100_000
    for row in range(10):
        memory.add(*samples([row]), row + 1)
    memory.start_drawing(1)
    rows, weight, _ = memory.draw(batch, latest=10)
    factor = 2.0 * (rows + 1) / 10 if weighted else np.ones(10)  # B19: 2 t / T
    counts = weight / factor
    np.testing.assert_allclose(counts, np.round(counts), atol=1e-6)
    assert counts.sum() == pytest.approx(batch)
    assert stats.chisquare(np.round(counts)).pvalue > 1e-4


def test_every_fit_has_draws_of_its_own():
    memory = memory_of(num_rows=1_000)
    fill(memory, (400,))
    drawn = []
    for fit in (1, 2, 1):
        memory.start_drawing(fit)
        drawn.append([tuple(memory.draw(50, 1)[0]) for _ in range(2)])
    assert drawn[0] == drawn[2]
    assert drawn[0] != drawn[1]
    assert drawn[0][0] != drawn[0][1]


@pytest.mark.parametrize("loss", ["squared", "cross_entropy"])
@pytest.mark.parametrize("weighted", [True, False])
def test_a_batch_summed_by_row_has_the_gradient_of_its_samples(loss, weighted):
    """The same samples twice: under the rows they have, and each under a row of its own, which shows the draws."""
    random = np.random.default_rng(3)
    merged, single = (memory_of(capacity=300, num_rows=n, weighted=weighted, seed=5) for n in (12, 700))
    row_of, value_of = np.empty(700, np.int64), np.empty((700, COLUMNS))
    for iteration in range(1, 8):
        own = np.arange(100 * (iteration - 1), 100 * iteration)
        row_of[own] = random.integers(0, 12, 100)
        value_of[own] = random.dirichlet(np.ones(COLUMNS), 100)
        merged.add(row_of[own].astype(np.int64), value_of[own], iteration)
        single.add(own.astype(np.int64), value_of[own], iteration)
    for memory in (merged, single):
        memory.start_drawing(1)
    rows, weight, target = merged.draw(256, latest=7)
    ids, id_weight, id_target = single.draw(256, latest=7)
    assert len(rows) == len(set(rows)) == 12 < len(ids)
    np.testing.assert_allclose(id_target, value_of[ids], atol=1e-6)
    outputs = torch.from_numpy(random.normal(size=(12, COLUMNS)))

    def gradient(rows, weight, target):
        spread = torch.from_numpy(np.repeat(weight[:, None] / 256, COLUMNS, axis=1))
        _, found = loss_and_gradient(loss, outputs[rows], torch.from_numpy(target), spread)
        return torch.zeros(12, COLUMNS, dtype=torch.float64).index_add(0, torch.from_numpy(rows), found)

    found, expected = gradient(rows, weight, target), gradient(row_of[ids], id_weight, id_target)
    torch.testing.assert_close(found, expected, rtol=0.0, atol=1e-7)
    assert float(found.abs().max()) > 0.01


@pytest.mark.parametrize("weighted", [True, False])
def test_aggregated_memories_have_weighted_means(weighted):
    memory = memory_of("aggregated", num_rows=20, weighted=weighted)
    sums, weights = defaultdict(lambda: np.zeros(COLUMNS)), defaultdict(float)
    random = np.random.default_rng(1)
    for iteration in range(1, 6):
        new = samples(random.integers(3, 15, 80), iteration)
        memory.add(*new, iteration)
        for row, values in zip(*new, strict=True):
            share = float(iteration) if weighted else 1.0
            sums[int(row)] += share * values
            weights[int(row)] += share
    rows, weight, target = memory.draw(7, latest=5)
    assert rows.tolist() == sorted(weights)
    np.testing.assert_allclose(target, [sums[row] / weights[row] for row in rows], atol=1e-12)
    expected = np.array([weights[row] for row in rows])
    np.testing.assert_allclose(weight / weight.sum(), expected / expected.sum(), atol=1e-12)
    assert memory.seen == 400


@pytest.mark.parametrize("kind", ["reservoir", "window", "aggregated"])
def test_a_restored_memory_goes_on_as_if_nothing_had_happened(kind):
    first = memory_of(kind, num_rows=50)
    random = np.random.default_rng(2)
    parts = [samples(random.integers(0, 50, 300), part) for part in range(6)]
    for iteration, part in enumerate(parts[:3], start=1):
        first.add(*part, iteration)
    saved = {name: array.copy() for name, array in first.state().items()}
    second = memory_of(kind, num_rows=50)
    second.add(*parts[5], 1)  # what was there before is gone
    second.restore(saved)
    for memory in (first, second):
        for iteration, part in enumerate(parts[3:], start=4):
            memory.add(*part, iteration)
        memory.start_drawing(6)
    for one, two in zip(first.draw(64, 6), second.draw(64, 6), strict=True):
        np.testing.assert_array_equal(one, two)
    for name, array in first.state().items():
        np.testing.assert_array_equal(array, second.state()[name], err_msg=name)


@pytest.fixture
def fitted_memory(compiled):
    def made(kind="reservoir", unit=1.0, *, player=0, seed=0, **options):
        infosets = infosets_of(compiled("kuhn_poker"))
        batch = options.pop("batch", 256)
        config = MemoryConfig(
            architecture=FeedForward(width=16),
            fitting=Fitting(epochs=5, batch=batch, rate=1e-2, slower_power=0.0, **options.pop("fitting", {})),
            kind=kind,
            capacity=5_000,
            **options,
        )
        return infosets, FittedMemory(infosets, (player,), config, unit=unit, seed=seed, device=torch.device("cpu"))

    return made


@pytest.mark.parametrize("player", [0, 1])
@pytest.mark.parametrize("kind", ["reservoir", "window", "aggregated"])
def test_networks_are_fitted_to_weighted_means(fitted_memory, kind, player, seed, level):
    infosets, store = fitted_memory(kind, unit=8.0, player=player, seed=seed, fresh_steps=800)
    own, random = infosets.rows_of(player), np.random.default_rng(seed)
    legal = infosets.legal[own]
    levels = random.normal(size=(3, *legal.shape)) * 8.0
    for iteration in (1, 2, 3):
        rows = np.tile(np.arange(own.start, own.stop, dtype=np.int32), 40)
        noise = random.normal(size=(len(rows), infosets.num_columns))
        store.memory.add(rows, levels[iteration - 1][rows - own.start] + noise, iteration)
    store.fit(3)
    means = (levels * np.array([1, 2, 3])[:, None, None]).sum(axis=0) / 6 / 8.0
    errors = (store.network.read() - means)[legal]
    constant = np.sqrt(np.mean((means - means[legal].mean())[legal] ** 2))
    # 16 seeds, all kinds: the network 0.010, medians 0.013 to 0.022, 0.041; the best constant 0.35, 0.54, 0.64.
    assert level(np.sqrt(np.mean(errors**2)), "network") < 0.12 < 0.25 < level(constant, "constant")


@pytest.mark.parametrize(("fresh_every", "expected"), [(1, [1, 2, 3, 4, 5, 6, 7]), (3, [1, 4, 7]), (0, [1])])
def test_networks_start_afresh_as_often_as_they_are_told(fitted_memory, monkeypatch, fresh_every, expected):
    infosets, store = fitted_memory(fresh_every=fresh_every, fresh_steps=9)
    rows = np.arange(infosets.num_rows[0], dtype=np.int32)
    store.memory.add(rows, np.ones((len(rows), infosets.num_columns)), 1)
    afresh, steps = [], []
    restart = store.network.restart
    monkeypatch.setattr(store.network, "restart", lambda number: (afresh.append(number), restart(number)))
    for iteration in range(1, 8):
        store.fit(iteration)
        steps.append(store.network.fitted.steps)
    assert afresh == expected
    assert steps == [9 if number in expected else 5 for number in range(1, 8)]


def test_illegal_actions_of_a_memory_never_reach_its_network(fitted_memory):
    found = []
    for junk in (0.0, 1e3):
        infosets, store = fitted_memory(fresh_steps=20)
        legal = infosets.legal[infosets.rows_of(0)]
        values = np.where(legal, np.random.default_rng(1).normal(size=legal.shape), junk)
        store.memory.add(np.arange(len(legal)), values, 1)
        store.fit(1)
        found.append(store.network.parameters())
    np.testing.assert_array_equal(found[0], found[1])
    assert not legal.all()


@pytest.mark.parametrize("count", [400, 1_300])  # while it fills, and when it is full
def test_a_batch_of_a_reservoir_holds_early_and_late_samples_alike(count):
    """A batch is a stretch of the memory: if samples lay there as they came, it would hold neighbours in time."""
    mean_ages, spreads = [], []
    for seed in range(300):
        memory = memory_of(capacity=500, seed=seed)
        fill(memory, [100] * (count // 100))
        memory.start_drawing(1)
        drawn, _, _ = memory.draw(20, latest=1)
        mean_ages.append(drawn.mean() / count)
        spreads.append(drawn.std() / count)
    error = np.sqrt(1 / 12 / 20 / 300)
    assert abs(np.mean(mean_ages) - 0.5) < 4 * error
    assert np.mean(spreads) > 0.25  # of neighbours: 0.014; of independent samples: about 0.28


def test_a_fit_draws_no_sample_twice_before_it_has_drawn_all():
    memory = memory_of(capacity=500)
    fill(memory, [500])
    memory.start_drawing(1)
    drawn = np.concatenate([memory.draw(100, latest=1)[0] for _ in range(5)])
    assert len(np.unique(drawn)) == 500
