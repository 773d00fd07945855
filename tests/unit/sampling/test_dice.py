"""Streams that look random and depend on nothing but their names; choices that fit their probabilities; the tape."""

import numba
import numpy as np
import pytest
from scipy import stats

from equipoise.sampling.dice import choose_index, choose_weighted, draw, happens, start_stream

nojit = pytest.mark.nojit
NO_TAPE = np.zeros((0, 3))
DRAWS = 100_000
LARGEST = 1.0 - 2.0**-53  # the largest number that a stream can give


@pytest.fixture(autouse=True)
def _arithmetic_modulo_two_to_the_64():
    """Streams count modulo 2^64; NumPy's scalars, in the run without compilation, would warn of it."""
    with np.errstate(over="ignore"):
        yield


@numba.njit
def _fill(dice, tape, out):
    for position in range(out.size):
        out[position] = draw(dice, tape)


def stream(seed=0, iteration=1, player=0, traversal=0, draws=DRAWS):
    dice, numbers = np.zeros(2, np.uint64), np.empty(draws)
    start_stream(dice, seed, iteration, player, traversal)
    _fill(dice, NO_TAPE, numbers)
    return numbers


def first_numbers(names):
    """Return the first number of each of many streams: what decides the deal of a traversal."""
    return np.array([stream(*name, draws=1)[0] for name in names])


def assert_uniform(numbers):
    assert numbers.min() >= 0.0
    assert numbers.max() < 1.0
    assert numbers.mean() == pytest.approx(0.5, abs=4 / np.sqrt(12 * len(numbers)))
    assert numbers.var() == pytest.approx(1 / 12, abs=4 / np.sqrt(180 * len(numbers)))
    counts = np.bincount((numbers * 50).astype(int), minlength=50)
    assert stats.chisquare(counts).pvalue > 1e-4


def test_a_stream_is_uniform():
    numbers = stream()
    assert_uniform(numbers)
    assert len(np.unique(numbers)) == DRAWS
    assert abs(np.corrcoef(numbers[:-1], numbers[1:])[0, 1]) < 4 / np.sqrt(DRAWS)
    pairs = np.histogram2d(numbers[::2], numbers[1::2], bins=10, range=[[0, 1], [0, 1]])[0]
    assert stats.chisquare(pairs.ravel()).pvalue > 1e-4


@pytest.mark.parametrize(
    "names",
    [
        [(0, 1, 0, traversal) for traversal in range(20_000)],
        [(0, iteration, 0, 0) for iteration in range(1, 20_001)],
        [(0, iteration // 2, iteration % 2, 0) for iteration in range(2, 20_002)],
        [(seed, 1, 0, 0) for seed in range(20_000)],
    ],
    ids=["traversals", "iterations", "players", "seeds"],
)
def test_the_first_numbers_of_neighbouring_streams_are_uniform_and_unrelated(names):
    numbers = first_numbers(names)
    assert_uniform(numbers)
    assert len(np.unique(numbers)) == len(numbers)
    assert abs(np.corrcoef(numbers[:-1], numbers[1:])[0, 1]) < 4 / np.sqrt(len(numbers))


@pytest.mark.parametrize(
    "other", [(1, 1, 0, 0), (0, 2, 0, 0), (0, 1, 1, 0), (0, 1, 0, 1), (2**40, 1, 0, 0), (0, 10**6, 1, 4999)]
)
def test_streams_of_different_names_are_uncorrelated(other):
    one, two = stream(), stream(*other)
    for shift in (0, 1, 2):
        assert abs(np.corrcoef(one[: DRAWS - shift], two[shift:])[0, 1]) < 4 / np.sqrt(DRAWS)
    assert not np.intersect1d(one, two).size


@nojit
def test_a_stream_is_known_by_its_name():
    np.testing.assert_array_equal(stream(5, 6, 1, 7, draws=20), stream(5, 6, 1, 7, draws=20))
    assert np.all(stream(5, 6, 1, 7, draws=20) != stream(5, 6, 1, 8, draws=20))


@nojit
def test_streams_are_the_same_with_and_without_compilation():
    """SplitMix64 in whole numbers of Python."""
    step, one, two, full = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB, 2**64 - 1

    def mixed(z):
        z = (z ^ (z >> 30)) * one & full
        z = (z ^ (z >> 27)) * two & full
        return z ^ (z >> 31)

    seed, iteration, player, traversal = 12345, 678, 1, 9
    state = mixed((seed + step) & full)
    state = mixed(state ^ ((2 * iteration + player) * step & full))
    state = mixed((state + (traversal + 1) * one) & full)
    expected = []
    for _ in range(10):
        state = (state + step) & full
        expected.append((mixed(state) >> 11) * 2.0**-53)
    assert stream(seed, iteration, player, traversal, draws=10).tolist() == expected


@numba.njit
def _count_weighted(dice, tape, weights, start, counts, draws):
    for _ in range(draws):
        counts[choose_weighted(dice, tape, weights, start, np.uint64(counts.size), 1.0)] += 1


@numba.njit
def _count_indices(dice, tape, counts, draws):
    for _ in range(draws):
        counts[choose_index(dice, tape, counts.size)] += 1


@numba.njit
def _count_happenings(dice, tape, probability, draws):
    count = 0
    for _ in range(draws):
        count += happens(dice, tape, probability)
    return count


def fresh_dice():
    dice = np.zeros(2, np.uint64)
    start_stream(dice, 1, 1, 0, 0)
    return dice


@pytest.mark.parametrize(
    "weights", [[0.2, 0.3, 0.5], [0.0, 0.1, 0.0, 0.9, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 0.0, 1.0, 0.0], [1.0]]
)
def test_weighted_choices_fit_their_probabilities_and_never_fall_on_zero(weights):
    table, counts = np.array([0.7, 0.3, *weights, 0.4]), np.zeros(len(weights), np.int64)
    _count_weighted(fresh_dice(), NO_TAPE, table, np.uint64(2), counts, DRAWS)
    possible = np.array(weights) > 0.0
    assert counts[~possible].sum() == 0
    if possible.sum() > 1:
        assert stats.chisquare(counts[possible], DRAWS * np.array(weights)[possible]).pvalue > 1e-4


@pytest.mark.parametrize("count", [1, 2, 7, 120])
def test_indices_are_equally_likely(count):
    counts = np.zeros(count, np.int64)
    _count_indices(fresh_dice(), NO_TAPE, counts, DRAWS)
    assert counts.sum() == DRAWS
    if count > 1:
        assert stats.chisquare(counts).pvalue > 1e-4


@pytest.mark.parametrize("probability", [0.0, 0.01, 0.3, 0.99, 1.0])
def test_events_happen_as_often_as_they_should(probability):
    count = _count_happenings(fresh_dice(), NO_TAPE, probability, DRAWS)
    spread = np.sqrt(DRAWS * probability * (1 - probability))
    assert abs(count - DRAWS * probability) <= 4 * spread


def tape_of(*draws):
    tape = np.zeros((len(draws), 3))
    tape[:, 0] = draws
    return tape


def chosen(weights, u):
    """Return the choice for a draw, and the interval that it notes."""
    dice, tape = np.zeros(2, np.uint64), tape_of(u)
    index = int(choose_weighted(dice, tape, np.array(weights), np.uint64(0), np.uint64(len(weights)), 1.0))
    assert dice[1] == 1
    return index, tape[0, 1], tape[0, 2]


@nojit
@pytest.mark.parametrize(
    "weights",
    [
        [0.25, 0.25, 0.5],
        [0.0, 0.5, 0.5],
        [0.5, 0.0, 0.5],
        [0.5, 0.5, 0.0],
        [0.0, 0.0, 1.0],
        [1.0],
        [1 / 3] * 3,
        [0.1] * 10,
    ],
)
def test_the_intervals_of_weighted_choices_cover_all_draws_once(weights):
    low = 0.0
    met = []
    while low < 1.0 - 1e-12:
        index, start, end = chosen(weights, low)
        assert start == low
        assert end - start == pytest.approx(weights[index], abs=1e-15)
        assert chosen(weights, np.nextafter(end, 0.0)) == (index, start, end)
        met.append(index)
        low = end
    assert met == [index for index, weight in enumerate(weights) if weight > 0.0]


@nojit
@pytest.mark.parametrize(
    "weights", [[0.1] * 10, [0.1] * 10 + [0.0, 0.0], [1 / 3, 1 / 3, 1 / 3, 0.0], [0.5, 0.25, 0.25 - 1e-15]]
)
def test_a_draw_above_a_sum_that_rounding_made_small_takes_the_last_possible_choice(weights):
    last = max(index for index, weight in enumerate(weights) if weight > 0.0)
    assert chosen(weights, LARGEST)[0] == last


@nojit
def test_events_and_indices_note_their_intervals():
    dice, tape = np.zeros(2, np.uint64), tape_of(0.29, 0.31, 0.0, 0.5, 0.999)
    assert happens(dice, tape, 0.3)
    assert not happens(dice, tape, 0.3)
    assert [choose_index(dice, tape, 4) for _ in range(3)] == [0, 2, 3]
    assert tape[:, 1:].tolist() == [[0.0, 0.3], [0.3, 1.0], [0.0, 0.25], [0.5, 0.75], [0.75, 1.0]]
    assert dice.tolist() == [0, 5]  # a tape leaves the stream alone


@nojit
def test_certain_events_draw_nothing():
    dice, tape = np.zeros(2, np.uint64), tape_of(0.5)
    assert happens(dice, tape, 1.0)
    assert dice.tolist() == [0, 0]
    dice = fresh_dice()
    before = dice.copy()
    assert happens(dice, NO_TAPE, 1.0)
    np.testing.assert_array_equal(dice, before)
    assert not happens(dice, NO_TAPE, 0.0)


@nojit
def test_without_a_tape_nothing_is_noted():
    dice = fresh_dice()
    weights = np.array([0.5, 0.5])
    for _ in range(3):
        choose_weighted(dice, NO_TAPE, weights, np.uint64(0), np.uint64(2), 1.0)
    assert dice[1] == 0
