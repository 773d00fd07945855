"""Ray clusters for tests: several nodes on this machine, on loopback only; skipped, with a word, without Ray."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest

from equipoise.distribute.cluster import forget_token
from equipoise.distribute.packing import Constant, pack, unpacked

REQUIRED = "EQUIPOISE_REQUIRE_RAY"  # set in CI

needs_ray = pytest.mark.skipif(
    find_spec("ray") is None and not os.environ.get(REQUIRED), reason="Ray is not installed: pip install '.[cluster]'"
)

LIVELY = {
    "health_check_initial_delay_ms": 0,
    "health_check_period_ms": 200,
    "health_check_timeout_ms": 500,
    "health_check_failure_threshold": 3,
}
STORE = 100 << 20


class Nodes:
    """A head without cores, and nodes with one core each, of which some may go and others come."""

    def __init__(self) -> None:
        from ray.cluster_utils import Cluster

        head = {"num_cpus": 0, "include_dashboard": False, "no_monitor": True, "include_log_monitor": False}
        self.cluster = Cluster(
            initialize_head=True, head_node_args={**head, "object_store_memory": STORE, "_system_config": LIVELY}
        )
        self.address = self.cluster.address
        self.nodes = []

    def add(self):
        node = self.cluster.add_node(num_cpus=1, object_store_memory=STORE, include_log_monitor=False)
        self.nodes.append(node)
        return node

    def remove(self, node) -> None:
        self.nodes.remove(node)
        self.cluster.remove_node(node, allow_graceful=False)


@contextmanager
def nodes(count: int) -> Iterator[Nodes]:
    """Start a cluster that ``--cluster auto`` finds."""
    home = Path(tempfile.mkdtemp(prefix="eqt-", dir="/tmp"))
    token = home / "token"
    token.write_text("0" * 64)
    token.chmod(0o600)
    settings = {
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN_PATH": str(token),
        "RAY_TMPDIR": str(home),
        "HOME": str(home),
        "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1] / "src"), str(Path(__file__).parents[1])]),
        "OMP_NUM_THREADS": "1",
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in settings.items():
            patch.setenv(name, value)
        forget_token()
        started = Nodes()
        try:
            for _ in range(count):
                started.add()
            patch.setenv("RAY_ADDRESS", started.address)
            yield started
        finally:
            started.cluster.shutdown()
            shutil.rmtree(home, ignore_errors=True)


class Copies:
    """Workers that are none: parts are done here, on copies of what they are sent, when their results are asked for."""

    workers = 2

    def __init__(self) -> None:
        self.parts = 0
        self._constants: dict[int, Constant] = {}
        self._there: dict[str, object] = {}

    def once(self, thing: object) -> None:
        self._constants.setdefault(id(thing), Constant(thing))

    def map(self, function, specs, shared, **patience):
        packed = pack(shared, self._constants)
        for name in packed.constants:
            self._there.setdefault(name, unpacked(pack(self._constants[int(name)].thing, {})))
        return self._results(function, specs, unpacked(packed, self._there))

    def _results(self, function, specs, shared):
        for spec in specs:
            self.parts += 1
            yield unpacked(pack(function(shared, 0, unpacked(pack(spec, {}))), {}))
