"""What every recipe has learnt after a few iterations, on every representation it has: a change of bits shows up.

Tables that our own kernels fill are kept as hashes: they are the same on every machine. Where networks are in between,
a BLAS rounds as its processor asks it to. There a few numbers of every array are compared, to a tolerance; and hashes,
too, on machines that compute as the one did that made the file.

Make the file again, after a change that is meant, with: python -m tests.golden.test_states
Say in the commit which recipes changed, and why.
"""

import hashlib
import json
import os
import platform
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest
import torch

import equipoise
from equipoise.games import sizes
from equipoise.games.poker import PokerGame
from equipoise.solvers.recipes import RECIPES
from tests.holdem import flop_holdem_of, small_holdem, three_rounds

FILE = Path(__file__).parent / "states.json"
SEED = 7
# A float32 network rounds to one part in 10^7. Fits amplify it: Adam divides gradients by their own size.
TOLERANCE = 1e-3
SETTINGS_OF_MACHINES = (
    *("NUMBA_CPU_NAME", "ATEN_CPU_CAPABILITY", "MKL_CBWR", "ONEDNN_MAX_CPU_ISA"),
    *("NPY_DISABLE_CPU_FEATURES", "GLIBC_TUNABLES"),
)


@dataclass(frozen=True, kw_only=True)
class Case:
    """A run that is pinned."""

    algorithm: str
    representation: str
    game: Callable[[], PokerGame] | str
    iterations: int
    parameters: dict[str, object] = field(default_factory=dict)
    engine: str = "auto"
    unlisted: bool = False

    @property
    def name(self) -> str:
        given = ",".join(f"{name}={value}" for name, value in self.parameters.items() if name in TOLD)
        return f"{self.algorithm} {self.representation}" + (f" {given}" if given else "")


TOLD = (
    *("storage", "updates", "rule", "averaging", "buckets", "precision", "batch", "probe", "network", "fitting"),
    *("targets", "memory", "fit", "strategy_kind", "shared", "scale", "fallback", "weighted"),
)


def few_hands() -> PokerGame:
    """Return flop hold'em of eight cards with one raise a round."""
    return flop_holdem_of(4, 2, 1)


def no_limit_turn() -> PokerGame:
    return three_rounds(3, 3, stack=500)


FULL_WIDTH = ("cfr", "cfr+", "lcfr", "dcfr", "pcfr+", "xfp")
SAMPLED = ("es-mccfr", "os-mccfr", "rs-mccfr", "rs-mccfr+", "is-mccfr", "probing")
BATCH = {"rs-mccfr": {"batch": 50}, "rs-mccfr+": {"batch": 50}}
DOUBLE = {"batch": 100, "steps": 5}
AVERAGED = {"strategy_steps": 5, "strategy_every": 2}
DEEP = {"traversals": 60, "capacity": 500, "steps": 5, "fresh_steps": 10, "fresh_every": 2, "minibatch": 64}
PLAY = {"episodes": 200, "minibatch": 128, "capacity": 400, "q_capacity": 400, "target_every": 2}
NEURAL = {
    "dncfr": {**DOUBLE, **AVERAGED},
    "rs-mccfr+-rsn": DOUBLE,
    "rs-mccfr+-asn": {"batch": 100, **AVERAGED},
    "deep-cfr": {**DEEP, "policy_steps": 10},
    "sd-cfr": DEEP,
    "nfsp": PLAY,
}
NARROW = {"width": 8}
SCRATCH = {"fresh_every": None, "steps": None}  # settings that a variant does not have
VARIANTS: dict[str, list[dict[str, object]]] = {
    "dncfr": [
        {"network": "lstm+attention", "width": 4, "strategy_width": 4, "shared": "yes", "scale": "sqrt"},
        {"network": "lstm+residual-attention", "cards": "cards", "width": 4, "steps": 20, "strategy_steps": 20},
        {"averaging": "own_reach", "strategy_kind": "sum", "updates": "simultaneous", "rule": "cfr_plus_plain"},
        {"averaging": "stochastic", "fitting": "algorithm2", "rule": "linear", "strategy_every": 1},
        {"network": "gru", "width": 4, "strategy_width": 4, "anchor_memory": 2},
    ],
    "deep-cfr": [
        {"fit": "scratch", "memory": "window", "weighted": "no", **SCRATCH},
        {"fit": "fine_tune", "fallback": "uniform", "clip_norm": 0.5, "fresh_every": None},
        {"targets": "aggregated", **SCRATCH, "fresh_steps": None, "minibatch": None, "capacity": None},
    ],
    "sd-cfr": [{"fit": "scratch", "network": "lstm", "width": 4, **SCRATCH}],
}


def cases() -> list[Case]:
    made: list[Case] = []
    for name in FULL_WIDTH:
        for engine in ("sequence", "vector"):
            made.append(Case(algorithm=name, representation=engine, game="leduc_poker", iterations=10, engine=engine))
        if name not in ("pcfr+", "xfp"):
            made.append(Case(algorithm=name, representation="boards", game=small_holdem, iterations=5))
    simultaneous = {"updates": "simultaneous"}
    made += [
        Case(algorithm="cfr", representation="vector", game="leduc_poker", iterations=10, parameters=simultaneous),
        Case(algorithm="cfr+", representation="rounds", game="bluff(dice=2x1)", iterations=5),
        Case(algorithm="cfr+", representation="goofspiel", game="goofspiel(cards=4)", iterations=5),
        Case(algorithm="pcs", representation="boards", game=small_holdem, iterations=6, parameters={"boards": 6}),
        Case(algorithm="dcfr", representation="boards", game=small_holdem, iterations=5, parameters=simultaneous),
    ]
    for storage in ("float64", "int16"):
        given: dict[str, object] = {"storage": storage}
        made.append(Case(algorithm="dcfr", representation="boards", game=small_holdem, iterations=5, parameters=given))
    for name in SAMPLED:
        few: dict[str, object] = dict(BATCH.get(name, {}))
        iterations = 10 if few else 300
        for engine in ("sequence", "vector"):
            made.append(
                Case(
                    algorithm=name,
                    representation=engine,
                    game="leduc_poker",
                    iterations=iterations,
                    parameters=few,
                    engine=engine,
                )
            )
        made += [
            Case(
                algorithm=name, representation="rounds", game="bluff(dice=2x1)", iterations=iterations, parameters=few
            ),
            Case(algorithm=name, representation="hands", game=few_hands, iterations=iterations, parameters=few),
            Case(
                algorithm=name,
                representation="buckets",
                game=few_hands,
                iterations=iterations,
                parameters={**few, "buckets": "ehs2:3"},
            ),
        ]
    for given in (
        {"averaging": "own_reach"},
        {"batch": 20, "rule": "discounted"},
        {"batch": 20, "updates": "simultaneous", "rule": "cfr_plus", "averaging": "own_reach"},
    ):
        made.append(
            Case(algorithm="es-mccfr", representation="vector", game="leduc_poker", iterations=20, parameters=given)
        )
    for kind, precision in (("kmeans:4", "float64"), ("ehs2:2", "float32")):
        made.append(
            Case(
                algorithm="es-mccfr",
                representation="buckets",
                game=no_limit_turn,
                iterations=100,
                parameters={"buckets": kind, "precision": precision},
            )
        )
    for name, small in NEURAL.items():
        few = {**small, **({} if name == "rs-mccfr+-asn" else NARROW)}
        for engine in ("sequence", "vector"):
            made.append(
                Case(
                    algorithm=name,
                    representation=engine,
                    game="leduc_poker",
                    iterations=4,
                    parameters=few,
                    engine=engine,
                )
            )
        for changes in VARIANTS.get(name, []):
            made.append(
                Case(
                    algorithm=name,
                    representation="vector",
                    game="leduc_poker",
                    iterations=4,
                    parameters={key: value for key, value in {**few, **changes}.items() if value is not None},
                )
            )
        if name in ("rs-mccfr+-rsn", "rs-mccfr+-asn"):
            continue  # half of these is a table
        coded = {**few, "strategy_width": 8} if name == "dncfr" else few
        made += [
            Case(
                algorithm=name,
                representation="codes",
                game="leduc_poker",
                iterations=4,
                parameters={**coded, "network": "mlp"},
                unlisted=True,
            ),
            Case(
                algorithm=name,
                representation="codes over boards",
                game=few_hands,
                iterations=3,
                parameters=coded,
                unlisted=True,
            ),
        ]
    return made


VECTOR: dict[str, object] = {"targets": "vector", "boards": 4, "steps": 5, "minibatch": 64, "width": 8}
ON_BOARDS: dict[str, dict[str, object]] = {
    "dncfr": {"strategy_width": 8, "strategy_steps": 5, "strategy_minibatch": 64},
    "deep-cfr": {"fresh_boards": 3, "policy_steps": 10},
    "sd-cfr": {"fresh_boards": 3},
}


def on_boards() -> list[Case]:
    return [
        Case(
            algorithm=name,
            representation="codes over boards",
            game=few_hands,
            iterations=3,
            parameters={**VECTOR, **own},
            unlisted=True,
        )
        for name, own in ON_BOARDS.items()
    ]


CASES = {case.name: case for case in [*cases(), *on_boards()]}


def machine() -> str:
    """Return all that decides how a network's last bits are rounded."""
    cpu = next(
        (line.split(":")[1].strip() for line in _cpu_lines() if line.startswith("model name")), platform.processor()
    )
    flags = next((line for line in _cpu_lines() if line.startswith("flags")), "")
    chosen = [f"{name}={os.environ.get(name, '')}" for name in SETTINGS_OF_MACHINES]
    versions = [f"{name} {version(name)}" for name in ("torch", "numpy", "numba")]
    parts = [cpu, hashlib.sha256(flags.encode()).hexdigest()[:8], torch.backends.cpu.get_cpu_capability()]
    return "; ".join([*parts, platform.python_version(), *versions, *chosen])


def _cpu_lines() -> list[str]:
    path = Path("/proc/cpuinfo")
    return path.read_text().splitlines() if path.exists() else []


def run(case: Case, monkeypatch: pytest.MonkeyPatch) -> equipoise.Solution:
    if case.unlisted:
        monkeypatch.setattr(sizes, "MOST_LISTED", 0)
    return equipoise.solve(
        case.game if isinstance(case.game, str) else case.game(),
        case.algorithm,
        iterations=case.iterations,
        parameters=case.parameters,
        engine=case.engine,
        seed=SEED,
        first_evaluation=case.iterations,
    )


def hash_of(array: np.ndarray) -> str:
    kept = np.ascontiguousarray(array)
    content = f"{kept.dtype.str} {kept.shape}".encode() + kept.tobytes()
    return hashlib.sha256(content).hexdigest()[:16]


def numbers_of(name: str, array: np.ndarray) -> list[float]:
    """Return the size of an array, its root mean square, and its mean with signs and weights that have no pattern."""
    if name.endswith("samples") and array.size:  # of each, two whole numbers, then values in single precision
        array = array[:, 2:].copy().view(np.float32)
    numbers = np.nan_to_num(np.asarray(array, np.float64).ravel())
    if numbers.size == 0:
        return [0.0]
    weights = np.cos(np.arange(numbers.size) * 1.7 + 0.3)
    kept = (numbers.size, np.sqrt(np.mean(numbers**2)), np.mean(numbers * weights))
    return [float(f"{number:.6g}") for number in kept]


def observed(case: Case, monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    solution = run(case, monkeypatch)
    state = solution.solver.state()
    found: dict[str, object] = {"hashes": {name: hash_of(array) for name, array in sorted(state.items())}}
    if not np.isnan(solution.value):
        found["measured"] = [solution.value, solution.nash_conv]
    if case.algorithm in NEURAL:
        found["numbers"] = {name: numbers_of(name, array) for name, array in sorted(state.items())}
    return found


def kept() -> dict[str, object]:
    return json.loads(FILE.read_text())


def test_every_recipe_is_pinned():
    assert {case.algorithm for case in CASES.values()} == set(RECIPES)
    assert list(CASES) == list(kept()["states"])
    assert len(CASES) == len(cases()) + len(on_boards())


@pytest.mark.parametrize("name", list(CASES))
def test_states_are_what_they_were(name, monkeypatch):
    file, found = kept(), observed(CASES[name], monkeypatch)
    before = file["states"][name]
    if "numbers" in found:
        assert found["numbers"].keys() == before["numbers"].keys()
        for array, numbers in found["numbers"].items():
            kept_numbers = before["numbers"][array]
            # Numbers of both signs nearly cancel in a mean: its error goes by their size, the root mean square.
            scale = max([1.0, *kept_numbers[1:2]])
            assert numbers == pytest.approx(kept_numbers, rel=TOLERANCE, abs=TOLERANCE * scale), array
    if "measured" in found:
        tolerance = TOLERANCE if "numbers" in found else 1e-12
        assert found["measured"] == pytest.approx(before["measured"], rel=tolerance, abs=tolerance)
    if "numbers" not in found or file["machine"] == machine():
        assert found["hashes"] == before["hashes"]


def make_file() -> None:
    """Run all cases and keep what they came to."""
    states: dict[str, object] = {}
    for name, case in CASES.items():
        with pytest.MonkeyPatch.context() as patch:
            states[name] = observed(case, patch)
    # A line for each case, so that a difference says which changed.
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(state)}" for name, state in states.items())
    FILE.write_text(f'{{"machine": {json.dumps(machine())}, "states": {{\n{lines}\n}}}}\n')


if __name__ == "__main__":
    make_file()
