"""How many threads a loop uses: never much slower than one thread, near the speed of all where they pay."""

import itertools

import pytest

from equipoise.threads import Pace, on_threads

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


@pytest.mark.parametrize("threads", [1, 3])
def test_items_are_each_worked_on_once_and_a_lane_by_one_at_a_time(threads):
    seen, in_use = [], set()

    def work(lane, item):
        assert lane < threads
        assert lane not in in_use
        in_use.add(lane)
        seen.append(item)
        in_use.remove(lane)

    on_threads(threads, work, range(100))
    assert sorted(seen) == list(range(100))
