"""Full and read-only disks, damaged files, homes that cannot be written: one line, and nothing is lost."""

import io
import json
import os
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

import equipoise
from equipoise.errors import DamagedFile, EquipoiseError, NotFound
from equipoise.runs.directory import RunDirectory
from equipoise.runs.settings import settings_of


def call(*arguments, cwd, before="", environment=None):
    """Run a command, in a shell that has done something first; return exit code, standard output and standard error."""
    command = f'{before} exec {sys.executable} -m equipoise "$@"'
    done = subprocess.run(
        ["bash", "-c", command, "bash", *map(str, arguments)],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, **(environment or {})},
    )
    return done.returncode, done.stdout, done.stderr


def assert_one_line(code, err, says):
    assert code == 2, err
    ours = [line for line in err.splitlines() if line.startswith("equipoise: ")]
    assert "Traceback" not in err
    assert says in ours[-1]
    assert len(ours) == 1


# ---- a damaged config.json


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("finished")
    equipoise.solve("kuhn_poker", "dcfr", iterations=20, out=folder / "run")
    return folder / "run"


@pytest.fixture
def run(finished, tmp_path):
    return Path(shutil.copytree(finished, tmp_path / "run"))


VALUES = (None, True, -1, 1.5, "text", [], {}, float("nan"), float("inf"), 10**30)


def test_every_key_of_the_configuration_may_be_missing_or_wrong(run):
    file = run / "config.json"
    config = json.loads(file.read_text())
    policy = (run / "policy.npz").read_bytes()
    refused = 0
    for name in config:
        for value in (..., *VALUES):
            changed = {key: other for key, other in {**config, name: value}.items() if other is not ...}
            file.write_text(json.dumps(changed))
            try:
                settings = settings_of(RunDirectory.open(run))
                equipoise.resume(run)
            except EquipoiseError:
                refused += 1
            else:
                assert settings["game"] == "kuhn_poker"
    file.write_text(json.dumps(config))
    assert refused > 0.7 * len(config) * (1 + len(VALUES))
    assert equipoise.resume(run).iterations == 20
    with np.load(run / "policy.npz") as ours:
        assert len(ours["probabilities"]) and policy


def test_every_parameter_of_the_configuration_may_be_wrong(run):
    file = run / "config.json"
    config = json.loads(file.read_text())
    for name in [*config["parameters"], "unknown"]:
        for value in set(VALUES[:5]) - {config["parameters"].get(name)}:
            file.write_text(json.dumps({**config, "parameters": {**config["parameters"], name: value}}))
            with pytest.raises(EquipoiseError):
                equipoise.resume(run)


@pytest.mark.parametrize("flip", [0xFF, 0x01, 0x20])
def test_every_changed_byte_of_the_configuration_is_one_line_or_harmless(run, flip):
    file = run / "config.json"
    content = file.read_bytes()
    for place in range(0, len(content), 3):
        file.write_bytes(content[:place] + bytes([content[place] ^ flip]) + content[place + 1 :])
        with suppress(EquipoiseError):
            assert equipoise.resume(run, iterations=20).iterations == 20


@pytest.mark.parametrize("name", ["policy.npz", "result.json"])
@pytest.mark.parametrize("content", [b"", b"damaged", b"PK\x03\x04"])
def test_a_damaged_result_is_told_and_made_again(run, name, content):
    (run / name).write_bytes(content)
    for command in (("show", run), ("evaluate", run), ("export", run, "--to", "csv", "-o", "out")):
        code, _, err = call(*command, cwd=run.parent)
        if name == "policy.npz":
            assert_one_line(code, err, "policy.npz is not a policy file, or is damaged")
            assert not (run.parent / "out").exists()
        else:
            assert code == 0
    assert call("resume", run, "--iterations", 30, cwd=run.parent)[0] == 0
    assert call("show", run, cwd=run.parent)[0] == 0


# ---- disks


@pytest.fixture(scope="session")
def mounts():
    """Skip, loudly, where mounting is impossible."""
    if subprocess.run(["unshare", "-m", "bash", "-c", "mount -t tmpfs none /mnt"], capture_output=True).returncode:
        pytest.skip("NOT TESTED: a full or read-only disk needs the right to mount one (run as root)")
    return lambda script: subprocess.run(
        ["unshare", "-m", "bash", "-c", script], capture_output=True, text=True, timeout=300
    )


EQUIPOISE = f"{sys.executable} -m equipoise"


def test_a_full_disk(mounts, tmp_path):
    """Solving, going on, exporting: what was there before stays readable, and nothing half-written is left."""
    disk, keep = tmp_path / "disk", tmp_path / "keep"
    disk.mkdir()
    keep.mkdir()
    done = mounts(f"""
        mount -t tmpfs -o size=4m none {disk} && cd {disk} || exit 77
        {EQUIPOISE} solve leduc_poker --iterations 50 --out run >/dev/null || exit 76
        cp -r run {keep}/before
        dd if=/dev/zero of=filler bs=4k 2>/dev/null  # until the disk is full
        for command in "resume run --iterations 100" "export run --to json -o out.json" "plot run -o out.png" \\
                       "match run run --hands 5000 --log out.log" "solve kuhn_poker --iterations 5 --out other"; do
            {EQUIPOISE} $command >/dev/null 2>{keep}/err; echo "$? $(grep '^equipoise: ' {keep}/err)" >> {keep}/said
            grep Traceback {keep}/err && exit 75
        done
        ls -A >> {keep}/files; ls -A run/checkpoints >> {keep}/files
        cp -r run {keep}/after
        rm filler
        {EQUIPOISE} resume run --iterations 100 > {keep}/resumed || exit 74
        """)
    assert done.returncode == 0, done
    for line in (keep / "said").read_text().splitlines():
        assert line.startswith("2 ")
        assert "equipoise: " in line
    files = (keep / "files").read_text().split()
    assert [file for file in files if file.startswith((".", "out"))] == []
    assert "100" in (keep / "resumed").read_text()
    for name in ("config.json", "policy.npz", "result.json", "checkpoints/000000000050.npz"):
        assert (keep / "before" / name).read_bytes() == (keep / "after" / name).read_bytes()
    assert len(RunDirectory.open(keep / "after").read_log()) >= len(RunDirectory.open(keep / "before").read_log()) > 0


def test_a_disk_that_is_too_small_is_said_before_solving(mounts, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    done = mounts(f"""
        mount -t tmpfs -o size=1m none {disk} && cd {disk} || exit 77
        {EQUIPOISE} solve "nl_leduc(stack=10)" --iterations 5 --out run
        code=$?; ls -A; exit $code
        """)
    assert_one_line(done.returncode, done.stderr, "the run's checkpoints need")
    assert "of disk (3 of" in done.stderr
    assert done.stdout == ""


def test_a_disk_that_is_read_only(mounts, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    done = mounts(f"""
        mount -t tmpfs none {disk} && cd {disk} || exit 77
        {EQUIPOISE} solve kuhn_poker --iterations 20 --out run >/dev/null || exit 76
        mount -o remount,ro {disk} || exit 77
        for command in "resume run --iterations 40" "export run --to csv -o out.csv" "solve kuhn_poker" \\
                       "solve kuhn_poker --out other" "reproduce L1 --quick"; do
            {EQUIPOISE} $command >/dev/null 2>{tmp_path}/err; echo "$? $(tail -1 {tmp_path}/err)"
        done
        {EQUIPOISE} show run > /dev/null; echo "$?"
        """)
    *said, shown = done.stdout.splitlines()
    assert shown == "0"  # what needs no writing works
    assert len(said) == 5
    for line in said:
        assert line.startswith("2 equipoise: cannot ")
        assert "Read-only file system" in line


def test_files_that_may_not_grow(tmp_path):
    """Without any rights: a limit on the size of files stops a checkpoint in the middle."""
    code, _, err = call("solve", "leduc_poker", "--iterations", 50, "--out", "run", cwd=tmp_path)
    assert code == 0, err
    before = {file: file.read_bytes() for file in (tmp_path / "run").rglob("*") if file.is_file()}
    code, _, err = call("resume", "run", "--iterations", 100, cwd=tmp_path, before="ulimit -f 20;")
    assert_one_line(code, err, "cannot write run/checkpoints/000000000100.npz: File too large")
    assert list((tmp_path / "run" / "checkpoints").glob(".*")) == []
    for file, content in before.items():
        if file.name == "config.json":  # has the new limits, and is otherwise as it was
            assert {**json.loads(content), "stop": None} == {**json.loads(file.read_text()), "stop": None}
        elif file.name not in ("lock", "log.jsonl"):
            assert file.read_bytes() == content
    assert call("resume", "run", "--iterations", 100, cwd=tmp_path)[0] == 0


# ---- homes and caches


@pytest.mark.parametrize("variables", [{"HOME": "/proc/none", "XDG_CACHE_HOME": ""}, {"XDG_CACHE_HOME": "/proc/none"}])
def test_a_home_that_cannot_be_written_is_one_warning(run, variables):
    environment = {**variables, "NUMBA_CACHE_DIR": "", "NUMBA_DISABLE_JIT": "0"}
    code, out, err = call("evaluate", run, cwd=run.parent, environment=environment)
    assert code == 0
    assert "exploitability" in out
    ours = [line for line in err.splitlines() if line.startswith("equipoise: ")]
    assert len(ours) == 1
    assert "compiled kernels cannot be kept in /proc/none" in ours[0]
    assert "kernel_cache.py" not in err


def test_a_cache_of_matplotlib_that_cannot_be_written_is_one_warning(run):
    code, _, err = call("plot", run, "-o", "out.png", cwd=run.parent, environment={"MPLCONFIGDIR": "/proc/none"})
    assert code == 0
    assert (run.parent / "out.png").read_bytes().startswith(b"\x89PNG")
    ours = [line for line in err.splitlines() if line]
    assert len(ours) == 1
    assert ours[0].startswith("equipoise: Matplotlib cannot keep its cache")


def test_buckets_that_cannot_be_kept_are_made(tmp_path, monkeypatch):
    from equipoise.abstraction.cache import cached

    for home in ("/proc/none", "/dev/null"):
        monkeypatch.setenv("XDG_CACHE_HOME", home)
        complaints = []
        made = cached("test", 0, lambda: {"table": np.arange(3)}, complaints.append)
        np.testing.assert_array_equal(made["table"], np.arange(3))
        assert len(complaints) == 1
        assert "cannot be kept for the next run" in complaints[0]


# ---- devices


SMALL = {
    "traversals": 20,
    "steps": 2,
    "fresh_steps": 2,
    "width": 8,
    "policy_steps": 2,
    "minibatch": 32,
    "capacity": 1000,
}


def test_a_run_that_was_trained_elsewhere_is_opened_here(tmp_path):
    """The device in config.json is where it was trained; networks are opened where they are asked for."""
    run = tmp_path / "run"
    equipoise.solve("kuhn_poker", "deep-cfr", iterations=2, parameters=SMALL, out=run)
    config = json.loads((run / "config.json").read_text())
    assert config["device"] in ("cpu", "cuda", "mps", "xpu")  # what auto has chosen
    (run / "config.json").write_text(json.dumps({**config, "device": "cuda:7"}))
    (run / "policy.npz").unlink()  # else the networks would not be opened
    for command in (("show", "run"), ("evaluate", "run"), ("match", "run", "uniform", "--hands", 10)):
        code, _, err = call(*command, *(["--device", "cpu"] if command[0] == "show" else []), cwd=tmp_path)
        assert code == 0, err
    code, _, err = call("export", "run", "--to", "csv", "-o", "out.csv", cwd=tmp_path)
    assert code == 0, err
    code, _, err = call("resume", "run", "--iterations", 3, cwd=tmp_path)
    assert code == 0, err


@pytest.mark.parametrize(
    ("device", "says"),
    [("x", "'x' is not a device; give auto, cpu, cuda"), ("meta", "device meta cannot be used here (")],
)
def test_a_device_that_does_not_work_is_a_short_line(tmp_path, device, says):
    code, _, err = call("solve", "kuhn_poker", "--algorithm", "deep-cfr", "--device", device, cwd=tmp_path)
    assert_one_line(code, err, says)
    assert len(err) < 250
    assert list(tmp_path.iterdir()) == []


def test_a_device_for_what_has_no_networks_is_refused(run):
    folder = run.parent
    for command in (
        ("solve", "kuhn_poker", "--algorithm", "cfr+", "--out", "new"),
        ("resume", run, "--iterations", 30),
        ("evaluate", run),
        ("show", run / "policy.npz"),
        ("match", run, "uniform"),
        ("export", run, "--to", "csv", "-o", "out"),
    ):
        code, _, err = call(*command, "--device", "cuda", cwd=folder)
        assert_one_line(code, err, "leave out --device cuda")
    assert not (folder / "new").exists()
    assert call("solve", "kuhn_poker", "--iterations", 5, "--device", "cpu", cwd=folder)[0] == 0


# ---- files whose checksums are right, and whose contents are not (found by `make fuzz`)


def rewritten(file, **changes):
    """Write an .npz file again with some arrays changed."""
    with np.load(file) as old:
        arrays = {name: old[name] for name in old.files}
    for name, change in changes.items():
        arrays[name] = change(arrays[name])
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    file.write_bytes(buffer.getvalue())


def changed_header(**changes):
    return lambda header: np.frombuffer(json.dumps({**json.loads(header.tobytes()), **changes}).encode(), np.uint8)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("first_action", lambda a: a.astype(float)),
        ("first_action", lambda a: a[0]),
        ("first_action", lambda a: a + 1),
        ("players", lambda a: a[:, None]),
        ("players", lambda a: a + 5),
        ("players", lambda a: a * 1.0),
        ("probabilities", lambda a: a[:, None]),
        ("probabilities", lambda a: a.astype(str)),
    ],
)
def test_a_policy_whose_parts_are_of_another_kind_is_damaged(run, name, change):
    rewritten(run / "policy.npz", **{name: change})
    with pytest.raises(DamagedFile, match="its parts do not fit together"):
        equipoise.load_policy(run / "policy.npz")


def test_a_policy_whose_actions_are_not_texts_is_damaged(run):
    rewritten(run / "policy.npz", action_names=lambda a: np.frombuffer(b"[[[1], 2]]", np.uint8))
    with pytest.raises(DamagedFile, match="its actions are not named by texts"):
        equipoise.load_policy(run / "policy.npz")


@pytest.mark.parametrize("number", [-0.5, 1e30, np.nan, np.inf])
def test_a_policy_with_numbers_that_are_no_probabilities_is_damaged(run, number):
    rewritten(run / "policy.npz", probabilities=lambda a: np.append(a[:-1], number))
    with pytest.raises(DamagedFile, match="its probabilities are not numbers from 0 to 1"):
        equipoise.load_policy(run / "policy.npz")


@pytest.mark.parametrize(
    "changes",
    [{"game": 5}, {"fingerprint": 5}, {"origin": []}, {"origin": {"iterations": "x"}}, {"origin": {"algorithm": 1}}],
)
def test_a_policy_whose_header_makes_no_sense_is_damaged(run, changes):
    rewritten(run / "policy.npz", header=changed_header(**changes))
    with pytest.raises(DamagedFile, match="its header makes no sense"):
        equipoise.load_policy(run / "policy.npz")


@pytest.mark.parametrize(
    "changes",
    [{"iteration": None}, {"iteration": "6"}, {"iteration": -1}, {"seconds": "x"}, {"seconds": None}, {"spent": [1]}],
)
def test_a_checkpoint_whose_header_makes_no_sense_is_passed_over(run, changes):
    (file,) = (run / "checkpoints").glob("*.npz")
    rewritten(file, header=changed_header(**changes))
    with pytest.raises(NotFound, match="is damaged"):
        equipoise.resume(run, iterations=30)


@pytest.fixture(scope="module")
def deep(tmp_path_factory):
    folder = tmp_path_factory.mktemp("deep")
    equipoise.solve("kuhn_poker", "deep-cfr", iterations=2, parameters=SMALL, out=folder / "run")
    equipoise.solve(
        "kuhn_poker",
        "dncfr",
        iterations=2,
        parameters={"batch": 9, "steps": 2, "strategy_steps": 2},
        out=folder / "two",
    )
    return folder


def first_with(ending, arrays):
    return next(name for name in arrays if name.endswith(ending))


@pytest.mark.parametrize(
    ("which", "ending", "change"),
    [
        ("run", "samples", lambda a: a + 1_000_000),  # rows that kernels would write to
        ("run", "counts", lambda a: np.add(a, [1, 0])),
        ("run", "counts", lambda a: np.flip(a) * [1, 0]),
        ("two", "exp_avg", lambda a: a.astype(np.float64)),
        ("two", ".step", lambda a: a.astype(np.float64)),
        ("two", "exp_avg_sq", lambda a: a[:1]),
        ("two", "scale", lambda a: a.astype(np.complex128)),
        ("two", "last_seen", lambda a: a[..., None]),
        ("two", "last_seen", lambda a: a[:0]),
        ("two", "weight", lambda a: a[:1]),
        ("two", "nodes_touched", lambda a: a + np.inf),
        ("two", "nodes_touched", lambda a: a * np.nan),
    ],
)
def test_a_checkpoint_that_does_not_fit_its_solver_is_refused(deep, tmp_path, which, ending, change):
    run = Path(shutil.copytree(deep / which, tmp_path / "run"))
    (file,) = (run / "checkpoints").glob("*.npz")
    with np.load(file) as arrays:
        name = first_with(ending, arrays.files)
    rewritten(file, **{name: change})
    before = file.read_bytes()
    with pytest.raises(DamagedFile, match="does not fit its solver"):
        equipoise.resume(run, iterations=4)
    assert file.read_bytes() == before


@pytest.mark.parametrize(("name", "value"), [("seed", []), ("parameters", 3), ("stop", "soon")])
def test_a_picture_of_a_run_with_a_wrong_configuration_is_refused(run, name, value):
    file = run / "config.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), name: value}))
    code, _, err = call("plot", "run", "-o", "out.svg", cwd=run.parent)
    assert_one_line(code, err, f"'{name}' is not")


RIVER = "spot(board=AhKd2c7s3d,pot=10,stack=5,first=AA|KhQh,second=QQ|JTs,bets=allin,raises=1)"


def test_a_policy_of_a_spot_with_texts_for_numbers_is_refused(tmp_path):
    file = tmp_path / "policy.npz"
    equipoise.solve(RIVER, iterations=2).policy.save(file)
    with np.load(file) as arrays:
        name = first_with("_last", arrays.files)
    rewritten(file, **{name: lambda a: a.astype(np.str_)})
    with pytest.raises(DamagedFile):
        equipoise.load_policy(file)


def test_a_configuration_that_lacks_its_limits_is_not_printed(run):
    file = run / "config.json"
    config = json.loads(file.read_text())
    del config["stop"]
    file.write_text(json.dumps(config))
    code, _, err = call("config", "run", cwd=run.parent)
    assert_one_line(code, err, "it has no 'stop'")
