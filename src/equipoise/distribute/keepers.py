"""Objects that Ray's actors keep: asked in order, and made again when their process is lost.

Ray can start an actor again, but not with what it knew. So a lost one is replaced by a new one, wherever there is room,
which is brought to the last saved state and then asked again all that was asked since. An actor that does not answer
counts as lost, too: it may be frozen, or on the far side of a broken cable. Answers of a lost actor are never used.
"""

import os
import socket
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from equipoise.distribute.cluster import NO_NODE, PATIENCE, SECONDS_A_LOOK, Cluster, bytes_of
from equipoise.errors import ClusterLost, EquipoiseError

PATIENCE_BY_LAST = 30.0  # an answer may take so many times as long as the last one, if that is more than PATIENCE
MOST_LOSSES = 20  # in a row, before anything was answered


class _Lost(Exception):
    """An actor is gone, or does not answer."""


class Keeper:
    """What runs in the actor."""

    def __init__(self) -> None:
        self._kept: Any = None

    def where(self) -> tuple[str, int]:
        """Return the node and the process."""
        import ray

        return str(ray.get_runtime_context().get_node_id()), os.getpid()

    def make(self, make: Callable[[Any, int], Any], spec: Any, neighbours: int) -> None:
        """Make what is to be kept."""
        try:
            self._kept = make(spec, neighbours)
        except EquipoiseError as error:
            raise type(error)(f"node {socket.gethostname()} of the cluster: {error}") from None

    def ask(self, method: str, given: tuple[Any, ...]) -> Any:
        """Ask once."""
        return getattr(self._kept, method)(*given)

    def ask_again(self, calls: Sequence[tuple[str, tuple[Any, ...]]]) -> None:
        """Ask for all that was asked before."""
        for method, given in calls:
            getattr(self._kept, method)(*given)


class ActorKeepers:
    """See `equipoise.workers.Keepers`."""

    def __init__(self, cluster: Cluster, make: Callable[[Any, int], Any], specs: Sequence[Any]) -> None:
        self.count = len(specs)
        self.losses = 0
        self._cluster, self._ray = cluster, cluster.ray
        self._make, self._specs = make, specs
        self._class = self._ray.remote(max_restarts=0, max_task_retries=0)(Keeper)
        self._asked: list[tuple[str, tuple[Any, ...]]] = []
        self._saved: Callable[[int], Any] | None = None
        self.patience = PATIENCE
        self._last: dict[str, float] = {}  # seconds that an answer took, by method
        self._actors: list[Any] = [None] * self.count
        actors = [self._class.options(num_cpus=1, scheduling_strategy="SPREAD").remote() for _ in specs]
        places = self._places(actors)
        on_node = Counter(places)
        made = [
            actor.make.remote(make, spec, on_node[place])
            for actor, spec, place in zip(actors, specs, places, strict=True)
        ]
        for number, (actor, one) in enumerate(zip(actors, made, strict=True)):
            try:
                self._answer(one)
                self._actors[number] = actor
            except _Lost:
                self._replace(number)

    def _places(self, actors: Sequence[Any]) -> list[str]:
        """Return the nodes of actors."""
        asked, places = [actor.where.remote() for actor in actors], []
        for one in asked:
            try:
                places.append(self._answer(one)[0])
            except _Lost:
                places.append("")
        return places

    def processes(self) -> list[tuple[str, int]]:
        """Return the node and the process of each keeper."""
        return [self._answer(actor.where.remote()) for actor in self._actors]

    def one(self, number: int, method: str, *given: Any) -> Any:
        return self._finish(number, self._start(number, method, given), method, given)

    def each(self, method: str, *given: Any) -> list[Any]:
        started = [self._start(number, method, given) for number in range(self.count)]
        return [self._finish(number, one, method, given) for number, one in enumerate(started)]

    def change(self, method: str, *given: Any) -> list[Any]:
        answers = self.each(method, *given)
        self._asked.append((method, given))
        return answers

    def saved(self, given: Callable[[int], Any]) -> None:
        self._saved = given
        self._asked = []

    def restore(self, given: Callable[[int], Any]) -> None:
        self.saved(given)
        for number in range(self.count):  # one after the other: a state may be as large as all the memory here
            self.one(number, "restore", given(number))

    def close(self) -> None:
        """Let all objects go."""
        for actor in self._actors:
            with suppress(Exception):
                self._ray.kill(actor)

    def _start(self, number: int, method: str, given: tuple[Any, ...]) -> Any:
        self._cluster.bytes_out += bytes_of(given)
        return self._actors[number].ask.remote(method, given)

    def _finish(self, number: int, one: Any, method: str, given: tuple[Any, ...]) -> Any:
        """Return an answer, from another actor if the first one is lost."""
        for _ in range(MOST_LOSSES):
            try:
                started = time.monotonic()
                answer = self._answer(one, max(self.patience, PATIENCE_BY_LAST * self._last.get(method, 0.0)))
                self._last[method] = time.monotonic() - started
                self._cluster.bytes_back += bytes_of(answer)
                return answer
            except _Lost:
                self._replace(number)
                one = self._start(number, method, given)
        raise ClusterLost(f"the cluster loses its workers again and again ({MOST_LOSSES} times in a row)")

    def _answer(self, one: Any, patience: float = PATIENCE) -> Any:
        errors, started = self._ray.exceptions, time.monotonic()
        while not self._ray.wait([one], timeout=SECONDS_A_LOOK)[0]:
            self._cluster.require_head()
            if time.monotonic() - started > patience:
                raise _Lost
        try:
            return self._ray.get(one)
        except errors.RayTaskError as error:
            raise error.cause from None
        except (errors.RayActorError, errors.ObjectLostError, errors.WorkerCrashedError):
            raise _Lost from None

    def _replace(self, number: int) -> None:
        """Put a new actor in the place of a lost one, and bring it to where that was."""
        for _ in range(MOST_LOSSES):
            self.losses += 1
            with suppress(Exception):
                self._ray.kill(self._actors[number])  # so that a frozen one never wakes up
            actor = self._place_new()
            try:
                self._answer(actor.make.remote(self._make, self._specs[number], 1))
                if self._saved is not None:
                    self._answer(actor.ask.remote("restore", (self._saved(number),)))
                if self._asked:
                    self._answer(actor.ask_again.remote(self._asked), float("inf"))
                self._actors[number] = actor
                return
            except _Lost:
                continue
        raise ClusterLost(f"the cluster loses its workers again and again ({MOST_LOSSES} times in a row)")

    def _place_new(self) -> Any:
        """Return a new actor: on a core of its own if there are enough, else it shares that of another."""
        strategies = self._ray.util.scheduling_strategies
        deadline = time.monotonic() + PATIENCE
        while True:
            nodes = [node for node in self._cluster.nodes() if node["Resources"].get("CPU", 0) > 0]
            if nodes:
                break
            self._cluster.require_head()
            if time.monotonic() > deadline:
                raise ClusterLost(NO_NODE)
            time.sleep(SECONDS_A_LOOK)
        if sum(int(node["Resources"]["CPU"]) for node in nodes) >= self.count:
            actor = self._class.options(num_cpus=1).remote()
            with suppress(_Lost):
                self._answer(actor.where.remote(), 15.0)
                return actor
            with suppress(Exception):
                self._ray.kill(actor)
        node = nodes[self.losses % len(nodes)]
        place = strategies.NodeAffinitySchedulingStrategy(node_id=node["NodeID"], soft=True)
        return self._class.options(num_cpus=0, scheduling_strategy=place).remote()
