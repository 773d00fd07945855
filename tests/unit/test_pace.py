"""How many threads a loop uses: never much slower than one thread, near the speed of all where they pay."""

import itertools
import pickle
import time

import pytest

from equipoise.games import load_game
from equipoise.sampling.lockstep import Lockstep
from equipoise.sampling.schemes import External
from equipoise.threads import Pace, do_parts, map_parts
from equipoise.trees.betting_tree import betting_tree
from equipoise.trees.codes import card_layout
from equipoise.work import Stopped

ONE_THREAD = 0.01  # seconds a step


class Machine:
    """A clock, and how long a step takes with some threads; ``speedup`` may change on the way."""

    def __init__(self, speedup):
        self.now = 0.0
        self.speedup = speedup

    def clock(self):
        return self.now

    def run(self, pace, steps):
        """Return the seconds that some steps take."""
        started, done = self.now, 0
        for first, last, threads in pace.slices(steps):
            assert first == done
            done = last
            self.now += (last - first) * ONE_THREAD / self.speedup(threads)
        assert done == steps
        return self.now - started


def idle(threads):
    return 0.85 * threads if threads > 1 else 1.0


def busy(threads):
    return 0.1 if threads > 1 else 1.0


def paced(threads, speedup):
    machine = Machine(speedup)
    return machine, Pace(threads, clock=machine.clock)


def test_one_thread_is_one_slice():
    assert list(Pace(1).slices(1000)) == [(0, 1000, 1)]


@pytest.mark.parametrize(("threads", "counts"), [(1, [1]), (2, [1, 2]), (3, [1, 2, 3]), (8, [1, 2, 4, 8])])
def test_numbers_of_threads_that_may_be_used(threads, counts):
    assert Pace(threads).counts == counts


@pytest.mark.parametrize("threads", [2, 8])
@pytest.mark.parametrize("steps_a_call", [1, 7, 1000])
def test_on_an_idle_machine_nearly_all_time_goes_to_all_threads(threads, steps_a_call):
    machine, pace = paced(threads, idle)
    seconds = sum(machine.run(pace, steps_a_call) for _ in range(4000 // steps_a_call))
    assert seconds < 1.1 * 4000 * ONE_THREAD / idle(threads)


@pytest.mark.parametrize("threads", [2, 8])
@pytest.mark.parametrize("steps_a_call", [1, 7, 1000])
def test_on_a_busy_machine_it_is_nearly_as_fast_as_one_thread(threads, steps_a_call):
    machine, pace = paced(threads, busy)
    seconds = sum(machine.run(pace, steps_a_call) for _ in range(4000 // steps_a_call))
    assert seconds < 4000 * ONE_THREAD / 0.9


def test_a_machine_that_becomes_busy_and_idle_again_is_noticed():
    machine, pace = paced(2, idle)
    machine.run(pace, 2000)
    machine.speedup = busy
    assert machine.run(pace, 2000) < 2000 * ONE_THREAD / 0.9
    machine.speedup = idle
    machine.run(pace, 2000)
    assert machine.run(pace, 2000) < 1.1 * 2000 * ONE_THREAD / idle(2)


def test_what_is_best_between_one_and_all_is_found():
    machine, pace = paced(8, lambda threads: {1: 1.0, 2: 1.8, 4: 3.0, 8: 0.5}[threads])
    assert machine.run(pace, 8000) < 1.1 * 8000 * ONE_THREAD / 3.0


def test_the_first_step_of_each_number_of_threads_says_nothing_for_it_may_compile():
    machine, pace = paced(2, idle)
    compiled = set()
    for _first, _last, threads in itertools.islice(pace.slices(100), 50):
        machine.now += ONE_THREAD / idle(threads)
        if threads not in compiled:
            compiled.add(threads)
            machine.now += 30.0
    assert machine.run(pace, 1000) < 1.1 * 1000 * ONE_THREAD / idle(2)


def square_in_lane(in_use, lane, number):
    assert lane not in in_use
    in_use.add(lane)
    time.sleep(0.001 * (number % 3))
    in_use.remove(lane)
    return lane, number**2


@pytest.mark.parametrize("threads", [1, 3])
def test_parts_come_in_order_each_once_and_a_lane_is_used_by_one_at_a_time(threads):
    found = list(map_parts(square_in_lane, range(60), set(), threads=threads))
    assert [square for _, square in found] == [number**2 for number in range(60)]
    assert {lane for lane, _ in found} <= set(range(threads))


def test_functions_that_could_not_be_sent_to_another_process_are_refused():
    """A cluster comes behind the same seam: what a closure holds on to would stay behind."""

    def closure(shared, lane, spec):
        return spec

    for function in (closure, lambda shared, lane, spec: spec):
        with pytest.raises(TypeError, match="cannot be sent elsewhere"):
            list(map_parts(function, range(3), None))


@pytest.mark.parametrize("threads", [1, 2])
def test_work_ends_where_whoever_hears_of_parts_stops_it(threads):
    heard = []

    def hear(done):
        heard.append(done)
        if done == 3:
            raise Stopped

    with pytest.raises(Stopped):
        do_parts(square_in_lane, range(200), set(), threads=threads, on_parts=hear)
    assert heard == [1, 2, 3]


def test_parts_of_a_batch_cross_a_process_boundary():
    tree = betting_tree(load_game("leduc_poker"))
    lockstep = Lockstep(tree, card_layout(tree.game, renamed=True), External(), batch=5000, fallback=0, seed=1)
    parts = list(lockstep.parts(1, 7))
    assert sum(part.size for part in parts) == 5000 and len(parts) > 1
    assert pickle.loads(pickle.dumps((Lockstep._walk_some, parts))) == (Lockstep._walk_some, parts)
