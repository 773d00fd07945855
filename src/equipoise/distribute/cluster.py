"""A Ray cluster: started here (``local:N``), found (``auto``) or named (``ray://HOST:PORT``), and left again.

Ray schedules, retries and moves data. What is added here is order (results come in the order of work, never in the
order in which it is done), errors in one line, and a watch on the head: Ray itself waits for a head that is gone.
"""

import logging
import os
import re
import secrets
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from equipoise.distribute.packing import Constant, Packed, pack, some_parts, unpacked
from equipoise.errors import ClusterLost, EquipoiseError, InvalidParameter, MissingPackage, NotSupported, require_whole
from equipoise.files import ScratchFolder
from equipoise.runs import provenance
from equipoise.workers import nothing

if TYPE_CHECKING:
    from equipoise.distribute.keepers import ActorKeepers

Spec = TypeVar("Spec")
Shared = TypeVar("Shared")
Result = TypeVar("Result")

FORMS = "local:N (N workers on this machine), auto (the cluster of this machine) or ray://HOST:PORT"
OBJECT_STORE_BYTES = 1 << 30  # of a cluster started here, in shared memory; Ray would take a third of all there is
SECONDS_A_COUNT = 5.0  # between two counts of cores
SECONDS_A_LOOK = 1.0  # how often a wait looks whether there still is a cluster
SECONDS_TO_SHOW = 20.0  # until a node that is gone is known to be, by Ray's defaults
PATIENCE = 300.0  # seconds that an answer may take, kernels that are compiled for it included
TASKS_A_WORKER = 4  # that wait for it: more would only fill memory with results
SECONDS_A_TASK = 0.05  # at least, where parts are that short: a task costs about two milliseconds
NO_NODE = "the cluster has no node left to work on"
TRIES = 5  # of a task whose worker was killed; a task that raises is not tried again
LIVELY = {  # a killed node is noticed within two seconds, not sixteen
    "health_check_initial_delay_ms": 0,
    "health_check_period_ms": 500,
    "health_check_timeout_ms": 1000,
    "health_check_failure_threshold": 3,
}

KEPT = {"idle_worker_killing_time_threshold_ms": 600_000}  # a worker that waits a second would be ended, and made anew


def workers_wanted(text: str) -> int | None:
    """Return N of ``local:N``, None of a cluster that is there already; refuse anything else."""
    if found := re.fullmatch(r"local:(\d+)", text):
        require_whole("the number of workers", count := int(found.group(1)), high=1024)
        return count
    if text == "auto" or re.fullmatch(r"ray://\S+:\d+", text):
        return None
    raise InvalidParameter(f"--cluster {text} is not valid; give {FORMS}")


def _ray() -> Any:
    # Ray reads these when it is imported.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_IGNORE_UNHANDLED_ERRORS", "1")  # they are raised where a result is waited for
    try:
        import ray
    except ImportError:
        raise MissingPackage(
            "a cluster needs Ray, which is not installed; install it by: pip install 'equipoise[cluster]'"
        ) from None
    return ray


@contextmanager
def open_cluster(text: str) -> Iterator["Cluster"]:
    """Start or join a cluster; what was started here ends with the block."""
    count = workers_wanted(text)
    if count is None:
        with _joined(text) as ray:
            cluster = Cluster(ray, text)
            cluster.require_same_versions()
            yield cluster
        return
    with _started(count) as ray:
        yield Cluster(ray, text)


@contextmanager
def _started(count: int) -> Iterator[Any]:
    """Start a cluster on this machine that nobody else can reach: loopback only, and a token besides."""
    scratch = ScratchFolder("eqp-", _short_folder())
    folder = scratch.path
    _FOLDERS.append(folder)
    token = folder / "token"
    token.touch(mode=0o600)
    token.write_text(secrets.token_hex(32))
    package = str(Path(__file__).parents[2])
    settings = {
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # odd as it sounds: without it, Ray listens on all interfaces
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN_PATH": str(token),
        "RAY_worker_niceness": "0",
        "RAY_TMPDIR": str(folder),
        "PYTHONPATH": os.pathsep.join([package, *filter(None, [os.environ.get("PYTHONPATH")])]),
    }
    before = dict(os.environ)
    for name in ("RAY_ADDRESS", "RAY_AUTH_TOKEN"):
        os.environ.pop(name, None)
    os.environ.update(settings)
    try:
        ray = _ray()
        with _init(
            ray,
            "local",
            num_cpus=count,
            include_dashboard=False,
            object_store_memory=OBJECT_STORE_BYTES,
            _temp_dir=str(folder),
            _node_ip_address="127.0.0.1",
            _system_config={**LIVELY, **KEPT},
        ):
            yield ray
    finally:
        os.environ.clear()
        os.environ.update(before)
        scratch.remove()
        _remove_folders()


_FOLDERS: list[Path] = []  # of clusters that this process has started: Ray makes that of the last one anew for the next


def _remove_folders() -> None:
    """Remove folders, in which Ray's processes may write a little longer than they are said to live."""
    for _ in range(10):
        for folder in _FOLDERS:
            shutil.rmtree(folder, ignore_errors=True)
        if not any(folder.exists() for folder in _FOLDERS):
            return
        time.sleep(0.1)


def _short_folder() -> str | None:
    """Return a folder whose name leaves room for Ray's sockets, whose names may have 107 characters."""
    usual = tempfile.gettempdir()
    return usual if len(usual) < 30 or not os.access("/tmp", os.W_OK) else "/tmp"


@contextmanager
def _joined(text: str) -> Iterator[Any]:
    ray = _ray()
    if text.startswith("ray://"):
        host, port = text.removeprefix("ray://").rsplit(":", 1)
        try:
            socket.create_connection((host, int(port)), 10.0).close()
        except OSError as error:
            raise ClusterLost(
                f"{text} does not answer ({error.strerror or error}); is `ray start --head` running?"
            ) from None
    with _init(ray, text):
        yield ray


@contextmanager
def _init(ray: Any, address: str, **options: Any) -> Iterator[None]:
    if ray.is_initialized():
        raise NotSupported("this process is in a Ray cluster already; call ray.shutdown() first")
    forget_token()
    try:
        ray.init(address=address, log_to_driver=False, logging_level="error", **options)
    except EquipoiseError:
        raise
    except Exception as error:
        raise ClusterLost(_why_not(address, error)) from None
    try:
        with _silent(ray):
            yield
    finally:
        with suppress(Exception):  # of a cluster that is gone
            ray.shutdown()
        logging.getLogger("ray").setLevel(logging.NOTSET)


def forget_token() -> None:
    """Let Ray read the token of the cluster that comes next: it would go on with that of the one before."""
    from ray import _raylet

    loader = getattr(_raylet, "AuthenticationTokenLoader", None)  # no public name
    if loader is not None:
        loader.instance().reset_cache()


@contextmanager
def _silent(ray: Any) -> Iterator[None]:
    """Keep what Ray has to say of killed workers from standard output, where answers are; it has no switch for that."""
    module = ray._private.worker
    usual = getattr(module, "print_to_stdstream", None)
    if usual is not None:
        module.print_to_stdstream = lambda *given, **options: None
    try:
        yield
    finally:
        if usual is not None:
            module.print_to_stdstream = usual


def _why_not(address: str, error: Exception) -> str:
    """Return in one line why a cluster was not joined."""
    said = " ".join(str(error).split())
    if "ersion mismatch" in said:
        here = f"Ray {_ray().__version__}, Python {sys.version.split()[0]}"
        return f"the cluster runs other versions than this machine ({here}): {said}"
    if isinstance(error, ConnectionError) and address == "auto":
        return "there is no Ray cluster on this machine; start one by `ray start --head`, or give --cluster local:N"
    if "grpc" in said and isinstance(error, ImportError):
        return "ray://... needs gRPC, which is not installed; install it by: pip install 'equipoise[cluster]'"
    started = "could not be started" if address == "local" else "does not answer"
    return f"the Ray cluster ({address}) {started}: {said[:300]}"


class Cluster:
    """Workers that take parts of some work. A worker is one core."""

    def __init__(self, ray: Any, text: str) -> None:
        self.ray, self.text = ray, text
        self.bytes_out = self.bytes_back = 0  # of arrays and other arguments, as they were handed over
        self._tasks: dict[Callable[..., Any], Any] = {}
        self._seconds_a_part: dict[Callable[..., Any], float] = {}  # of late
        self._constants: dict[int, Constant] = {}
        self._constant_refs: dict[str, Any] = {}
        self._count, self._count_again_at = 1, 0.0
        self.patience = self.patience_for_nodes = PATIENCE
        self._head = "" if text.startswith("ray://") else str(ray.get_runtime_context().gcs_address)

    @property
    def workers(self) -> int:
        """Return how many cores there are, as of a few seconds ago at most: the head is not asked for each turn."""
        if (now := time.monotonic()) >= self._count_again_at:
            self._count = max(1, int(sum(node["Resources"].get("CPU", 0) for node in self.nodes())))
            self._count_again_at = now + SECONDS_A_COUNT
        return self._count

    def nodes(self) -> list[dict[str, Any]]:
        """Return the nodes that are alive. Ray asks the head, and waits a minute for one that is gone."""
        self.require_head()
        return [node for node in self.ray.nodes() if node["Alive"]]

    def require_same_versions(self) -> None:
        """Refuse a cluster on which another version would compute, or none."""
        here = {**provenance.versions(), "ray": self.ray.__version__}
        strategy = self.ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy
        nodes = [node for node in self.nodes() if node["Resources"].get("CPU", 0) > 0]
        if not nodes:
            raise NotSupported(f"the cluster ({self.text}) has no node with a core to work on")
        task = self.ray.remote(num_cpus=0, max_retries=TRIES)(_versions)
        asked = [
            task.options(scheduling_strategy=strategy(node_id=node["NodeID"], soft=False)).remote() for node in nodes
        ]
        for node, one in zip(nodes, asked, strict=True):
            name = f"node {node['NodeManagerAddress']} of the cluster"
            try:
                there = self.wait_for(one)
            except ClusterLost:
                if self._goes(node):
                    continue  # it is not asked for any work
                raise
            except ModuleNotFoundError as error:
                raise NotSupported(f"{name} has no {error.name}; install the same version of equipoise there") from None
            for package, version in here.items():
                if there.get(package, version) != version:
                    raise NotSupported(
                        f"{name} has {package} {there[package]}, and here it is {version}: results would differ; "
                        "install the same versions on all machines"
                    )

    def _goes(self, node: Mapping[str, Any]) -> bool:
        """Return whether a node that did not answer is gone, which may take a while to show."""
        deadline = time.monotonic() + SECONDS_TO_SHOW
        while time.monotonic() < deadline:
            if all(alive["NodeID"] != node["NodeID"] for alive in self.nodes()):
                return True
            time.sleep(0.2)
        return False

    def once(self, thing: object) -> None:
        """Take note that a thing never changes: wherever it is part of what is shared, a process is sent it once."""
        self._constants.setdefault(id(thing), Constant(thing))

    def map(
        self,
        function: Callable[[Shared, int, Spec], Result],
        specs: Sequence[Spec],
        shared: Shared,
        *,
        patience: float | None = None,
        on_wait: Callable[[], None] = nothing,
        cores: int = 1,
    ) -> Generator[Result, None, None]:
        """Return ``function(shared, 0, spec)`` for all specs, in their order, as ``threads.map_parts`` does on threads.

        What is shared goes out once, and work begins at once. A part whose worker is killed is made again, so
        ``function`` may depend on nothing but its arguments: random streams belong to parts. One that takes longer than
        ``patience`` (seconds, by default five minutes, or 30 times the longest so far) is begun again elsewhere: its
        worker may be frozen. A part takes so many ``cores`` of a node.
        """
        packed = self._packed(shared)
        names = [*packed.constants]
        refs = [self._constant_refs[name] for name in names]
        out = self.ray.put(packed)
        self.bytes_out += packed.nbytes + sum(bytes_of(spec) for spec in specs)
        task, workers = self._task(some_parts), max(1, self.workers // cores)
        size = together(len(specs), workers, self._seconds_a_part.get(function))
        groups = [specs[first : first + size] for first in range(0, len(specs), size)]

        def start(group: Sequence[Spec], **options: Any) -> Any:
            return task.options(**{"num_cpus": cores, **options}).remote(function, [out], names, refs, group)

        waiting = [[start(group)] for group in groups[: 2 + TASKS_A_WORKER * workers]]
        patient = self.patience if patience is None else patience
        return self._in_order(function, groups, waiting, start, patient, on_wait)

    def _in_order(
        self,
        function: Callable[..., Any],
        groups: Sequence[Sequence[Any]],
        waiting: list[list[Any]],
        start: Callable[..., Any],
        patience: float,
        on_wait: Callable[[], None],
    ) -> Generator[Any, None, None]:
        """Yield what parts bring; ``waiting`` has the tries of each group that was started, from the next one on."""
        started, longest = len(waiting), 0.0
        try:
            for group in groups:
                tries, began = waiting[0], time.monotonic()

                def once_more(group: Sequence[Any] = group, tries: list[Any] = tries) -> None:
                    tries.append(start(group, num_cpus=0))  # a frozen worker still holds its core

                packed = self._first_of(tries, max(patience, 30.0 * longest), once_more, on_wait)
                longest = max(longest, time.monotonic() - began)
                del waiting[0]
                if started < len(groups):
                    waiting.append([start(groups[started])])
                    started += 1
                self.bytes_back += packed.nbytes
                seconds, results = unpacked(packed)
                self._seconds_a_part[function] = seconds / len(group)
                yield from results
        finally:
            for one in [one for tries in waiting for one in tries]:
                with suppress(Exception):
                    self.ray.cancel(one)

    def _first_of(
        self, tries: list[Any], patience: float, once_more: Callable[[], None], on_wait: Callable[[], None]
    ) -> Any:
        """Return what the first of several tries brings."""
        last_try, seen = time.monotonic(), time.monotonic()
        while not (ready := self.ray.wait(tries, num_returns=1, timeout=SECONDS_A_LOOK)[0]):
            on_wait()
            self.require_head()
            now = time.monotonic()
            if any(node["Resources"].get("CPU", 0) > 0 for node in self.nodes()):
                seen = now
            elif now - seen > self.patience_for_nodes:
                raise ClusterLost(NO_NODE)
            if now - last_try > patience and len(tries) <= TRIES:
                once_more()
                last_try = now
        return self.wait_for(ready[0])

    def _packed(self, shared: Any) -> Packed:
        """Return what is shared as it is sent, its constants apart: these are sent when they first occur."""
        packed = pack(shared, self._constants)
        for name in packed.constants:
            if name not in self._constant_refs:
                thing = self._constants[int(name)].thing
                alone = pack(thing, {})
                self._constant_refs[name] = self.ray.put(alone)
                self.bytes_out += alone.nbytes
        return packed

    def keep(self, make: Callable[[Spec, int], Any], specs: Sequence[Spec]) -> "ActorKeepers":
        """Make an object from each spec, and keep it where it was made."""
        from equipoise.distribute.keepers import ActorKeepers

        return ActorKeepers(self, make, specs)

    def run_all(
        self,
        function: Callable[[Spec], str],
        jobs: Sequence[Spec],
        on_wait: Callable[[int], None],
        pause: float,
        *,
        cores: Sequence[int],
        one_a_node: bool = False,
        seconds_to_save: float = 120.0,
    ) -> dict[int, str]:
        """Work off jobs, and call ``on_wait`` with the number of those done now and then; return what went wrong.

        A job takes so many ``cores`` of a node, or the largest node. Ctrl-C is passed on to the jobs, which have some
        time to save what they have.
        """
        task = self._task(function)
        waiting, under_way, failed = list(enumerate(jobs)), dict[Any, int](), dict[int, str]()
        finished, last_told = 0, time.monotonic()
        try:
            while waiting or under_way:
                most = [int(node["Resources"].get("CPU", 0)) for node in self.nodes()]
                while waiting and (not one_a_node or len(under_way) < len(most)):
                    number, job = waiting.pop(0)
                    taken = max(1, min(cores[number], max(most, default=1)))
                    under_way[task.options(num_cpus=taken, scheduling_strategy="SPREAD").remote(job)] = number
                ready, _ = self.ray.wait(list(under_way), num_returns=1, timeout=min(pause, SECONDS_A_LOOK))
                for one in ready:
                    number = under_way.pop(one)
                    error = self._error_of(one)
                    finished += 1
                    if error:
                        failed[number] = error
                if not ready:
                    self.require_head()
                if ready or time.monotonic() - last_told >= pause:
                    on_wait(finished)
                    last_told = time.monotonic()
        except BaseException:
            for one in under_way:
                with suppress(Exception):
                    self.ray.cancel(one)  # raises KeyboardInterrupt there
            with suppress(Exception):
                self.ray.wait(list(under_way), num_returns=len(under_way), timeout=seconds_to_save)
            raise
        return failed

    def _task(self, function: Callable[..., Any]) -> Any:
        """Return a function as a task, which Ray has to be told of once."""
        if function not in self._tasks:
            self._tasks[function] = self.ray.remote(num_cpus=1, max_retries=TRIES)(function)
        return self._tasks[function]

    def _error_of(self, one: Any) -> str:
        try:
            return str(self.wait_for(one))
        except EquipoiseError as error:
            return str(error)

    def wait_for(self, one: Any) -> Any:
        """Return a result when it is there; say in one line why it will never be."""
        ray, errors = self.ray, self.ray.exceptions
        while True:
            ready, _ = ray.wait([one], timeout=SECONDS_A_LOOK)
            if ready:
                break
            self.require_head()
        try:
            return ray.get(one)
        except errors.RayTaskError as error:
            raise error.cause from None
        except errors.OutOfMemoryError:
            raise ClusterLost("a node of the cluster has too little memory for its part of the work") from None
        except errors.RayActorError:
            raise
        except errors.RayError as error:
            said = " ".join(str(error).split())
            raise ClusterLost(f"a part was lost {TRIES + 1} times, and is not tried again: {said[:200]}") from None

    def require_head(self) -> None:
        """Say that the head is gone, if it is: Ray itself would wait for it."""
        if not self._head:
            if not self.ray.is_initialized():
                raise ClusterLost(f"the head of the cluster ({self.text}) is gone")
            return None
        host, port = self._head.rsplit(":", 1)
        for _ in range(3):
            try:
                return socket.create_connection((host.strip("[]"), int(port)), 5.0).close()
            except OSError:
                time.sleep(0.2)
        raise ClusterLost(f"the head of the cluster ({self.text}) is gone")


def together(parts: int, workers: int, seconds: float | None) -> int:
    """Return how many parts of so many seconds (None: not known yet) make a task: few, but each worker has some."""
    if seconds is None:
        return 1
    return max(1, min(round(SECONDS_A_TASK / max(seconds, 1e-6)), -(-parts // workers)))


def _versions() -> Mapping[str, str]:
    import ray

    return {**provenance.versions(), "ray": ray.__version__}


def bytes_of(value: Any) -> int:
    """Return about how many bytes a value takes on its way: those of its arrays."""
    if hasattr(value, "nbytes"):
        return int(value.nbytes)
    if isinstance(value, Mapping):
        return sum(map(bytes_of, value.values()))
    if isinstance(value, list | tuple):
        return sum(map(bytes_of, value))
    if isinstance(value, str | bytes):
        return len(value)
    return 8
