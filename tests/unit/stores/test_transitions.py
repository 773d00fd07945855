"""The memory of transitions: a list of the latest, of which a share is drawn."""

import numpy as np
import pytest

from equipoise.sampling.episodes import OVER, Moves
from equipoise.stores.transitions import Transitions
from tests.naive.lockstep import Stream

COLUMNS = 3
SPREAD = (3 << 40) + 1


def some_moves(generator, count, scale=1):
    following = np.where(generator.random(count) < 0.4, OVER, generator.integers(0, 20, count) * scale)
    return Moves(
        generator.integers(0, 20, count) * scale,
        generator.integers(0, COLUMNS, count).astype(np.int32),
        following,
        np.where(following == OVER, generator.normal(size=count).astype(np.float32), 0.0),
        generator.random(count) < 0.3,
    )


def filled(scale, capacity=70, calls=(30, 1, 25, 0, 40, 33)):
    generator = np.random.default_rng(0)
    memory, added = Transitions(capacity, COLUMNS, coded=scale > 1), []
    for count in calls:
        moves = some_moves(generator, count, scale)
        memory.add(moves)
        added += list(zip(*moves[:4], strict=True))
    return memory, added


@pytest.mark.parametrize("scale", [1, SPREAD])
@pytest.mark.parametrize("capacity", [7, 70, 500])
def test_the_latest_are_kept_in_a_circle(scale, capacity):
    memory, added = filled(scale, capacity)
    assert (memory.seen, memory.kept) == (129, min(129, capacity))
    circle = dict(enumerate(added)) if capacity > 129 else {k % capacity: each for k, each in enumerate(added)}
    row, column, following, reward = memory.moves(np.arange(memory.kept))
    for place in range(memory.kept):
        assert (row[place], column[place], following[place], reward[place]) == circle[place]


@pytest.mark.nojit
@pytest.mark.parametrize("scale", [1, SPREAD])
def test_targets_are_means_over_what_was_drawn(scale):
    memory, added = filled(scale)

    def best_at(rows):
        return np.sin(rows / scale)

    with np.errstate(over="ignore"):  # streams count modulo 2^64, which only compiled code takes as given
        memory.start_drawing(3, 1, 0)
        drawn = memory.draw(200, 50, best_at)
    stream, cells = Stream(3, 1, 0, 0), {}
    for _ in range(200):
        row, column, following, reward = added[len(added) - 1 - stream.index(50)]
        worth = reward + (best_at(following) if following != OVER else 0.0)
        cells.setdefault(row, [[] for _ in range(COLUMNS)])[column].append(worth)
    assert drawn.row.tolist() == list(cells)
    for place, columns in enumerate(cells.values()):
        assert drawn.weight[place].tolist() == [len(worth) for worth in columns]
        np.testing.assert_allclose(drawn.target[place], [np.mean(worth) if worth else 0.0 for worth in columns])
    assert drawn.weight.max() > 3.0


def test_memories_of_codes_draw_as_memories_of_rows_and_go_on_after_a_pause():
    (listed, _), (coded, _) = filled(1), filled(SPREAD)
    again = Transitions(70, COLUMNS, coded=True)
    again.restore({name: array.copy() for name, array in coded.state().items()}, coded.seen)
    drawn = []
    for memory, scale in ((listed, 1), (coded, SPREAD), (again, SPREAD)):
        memory.start_drawing(3, 2, 1)
        drawn.append([memory.draw(40, 60, lambda rows, scale=scale: np.cos(rows / scale)) for _ in range(2)])
    for one, *others in zip(*drawn, strict=True):
        for other in others:
            np.testing.assert_array_equal(one.row * SPREAD, other.row)
            np.testing.assert_array_equal(one.target, other.target)
            np.testing.assert_array_equal(one.weight, other.weight)
