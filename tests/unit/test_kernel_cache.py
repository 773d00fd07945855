"""Compiled kernels on disk: found again, told apart by all they are made of, and nobody else's files touched."""

import json
import os
import subprocess
import sys
import time

import numba
import pytest

from equipoise.compiled import inlined, kernel

pytestmark = pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")

_MODULE = """
from equipoise.compiled import inlined, kernel

STEP = {step}

@inlined
def stepped(x: float) -> float:
    return x + STEP

@kernel
def twice(x: float) -> float:
    return stepped(stepped(x))
"""
_CALL = """
import warnings
import made
from equipoise import kernel_cache, work
compiled = []
kernel_cache.on_compile.append(compiled.append)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    print(made.twice(1.0), len(compiled), len([w for w in caught if "kernels cannot be kept" in str(w.message)]))
assert (work.compiling.seconds > 0.01) == bool(compiled)
"""


def call(folder, step, cache):
    """Return what the kernel gives in a new process, how many kernels that compiled, and the number of warnings."""
    (folder / "made.py").write_text(_MODULE.format(step=step))
    env = {**os.environ, "NUMBA_CACHE_DIR": str(cache), "PYTHONPATH": os.pathsep.join([str(folder), *sys.path])}
    done = subprocess.run([sys.executable, "-B", "-c", _CALL], env=env, capture_output=True, text=True, check=True)
    result, compiled, warned = done.stdout.split()
    return float(result), int(compiled), int(warned)


def test_kernels_are_kept_and_compiled_again_when_a_constant_of_a_callee_changes(tmp_path):
    cache = tmp_path / "cache"
    assert call(tmp_path, 1.0, cache) == (3.0, 1, 0)
    assert call(tmp_path, 1.0, cache) == (3.0, 0, 0)
    assert call(tmp_path, 5.0, cache) == (11.0, 1, 0)
    assert call(tmp_path, 1.0, cache) == (3.0, 0, 0)


def test_other_folders_and_files_are_left_alone(tmp_path):
    long_ago = time.time() - 1e8
    mine = [tmp_path / f"sixteen-letters{n}" for n in range(6)]
    for folder in mine:
        folder.mkdir()
        (folder / "thesis.tex").write_text("years of work")
    kernels = tmp_path / "equipoise-kernels"
    assert call(tmp_path, 1.0, tmp_path)[2] == 0
    (kernels / "notes.txt").write_text("mine too")
    for file in kernels.iterdir():
        os.utime(file, (long_ago, long_ago))
    assert call(tmp_path, 1.0, tmp_path)[1] == 1  # forgotten, because nobody used it for so long
    assert all((folder / "thesis.tex").exists() for folder in mine)
    assert (kernels / "notes.txt").exists()


def test_nothing_is_removed_from_a_folder_that_equipoise_did_not_make(tmp_path):
    kernels = tmp_path / "equipoise-kernels"
    kernels.mkdir()
    (kernels / "mine.kernel").write_text("a kernel of corn")
    os.utime(kernels / "mine.kernel", (1.0, 1.0))
    assert call(tmp_path, 1.0, tmp_path) == (3.0, 1, 0)
    assert (kernels / "mine.kernel").exists()


def test_a_folder_that_cannot_be_written_is_one_warning(tmp_path):
    (tmp_path / "cache").write_text("a file, not a folder")
    assert call(tmp_path, 1.0, tmp_path / "cache") == (3.0, 1, 1)


def test_a_damaged_file_is_compiled_again(tmp_path):
    call(tmp_path, 1.0, tmp_path)
    for file in (tmp_path / "equipoise-kernels").glob("*.kernel"):
        file.write_bytes(file.read_bytes()[:100])
    assert call(tmp_path, 1.0, tmp_path) == (3.0, 1, 0)
    assert call(tmp_path, 1.0, tmp_path) == (3.0, 0, 0)


_SOLVE = """
import json
import equipoise
from equipoise import kernel_cache, work
compiled = []
kernel_cache.on_compile.append(compiled.append)
equipoise.solve("leduc_poker", iterations=10)
print(json.dumps(compiled))
"""


def test_a_first_solve_compiles_only_what_it_calls(tmp_path):
    """Time says the same, but not on every machine: compiling these takes about twice as long as a second solve."""
    env = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", _SOLVE], env=env, capture_output=True, text=True, check=True)
    assert set(json.loads(done.stdout)) == {
        "_follow_decisions",
        "write_plan",
        "_iterate_serial",
        "_normalise",
        "_sweep_serial",
    }


@inlined
def _half(x: float) -> float:
    return 0.5 * x


@kernel
def _quarter(x: float) -> float:
    return _half(_half(x))


def test_python_can_call_a_piece_of_a_kernel_before_and_after_the_kernel():
    assert _half(3.0) == 1.5
    assert _quarter(3.0) == 0.75
    assert _half(3.0) == 1.5
    assert _half(3) == 1.5
