"""A run directory on a machine that crashes: whole files or none, and the last good checkpoint."""

import errno
import json
import os
import subprocess
import sys
from collections import namedtuple

import numpy as np
import pytest

from equipoise.errors import EquipoiseError, EquipoiseWarning, RunBusy, TooLarge
from equipoise.files import write_atomically, write_text
from equipoise.runs.directory import Checkpoint, RunDirectory, largest_bytes, new_folder, require_disk

Usage = namedtuple("Usage", "total used free")

CONFIG = {"game": "kuhn_poker", "algorithm": "cfr+", "parameters": {}, "seed": 0, "created": "today"}


@pytest.fixture
def run(tmp_path):
    return RunDirectory.create(tmp_path / "run", CONFIG)


def checkpoint(iteration):
    state = {"regret_sum_0": np.full(50, float(iteration)), "plan": np.arange(3.0)}
    return Checkpoint(iteration, iteration / 10, iteration / 5, state)


def saved(run):
    return sorted(file.name for file in (run.path / "checkpoints").iterdir())


def assert_is(found, iteration):
    assert (found.iteration, found.seconds) == (iteration, iteration / 10)
    assert found.state.keys() == {"regret_sum_0", "plan"}
    for name, array in checkpoint(iteration).state.items():
        np.testing.assert_array_equal(found.state[name], array)


# ---- atomic writes


def test_a_file_is_replaced_only_when_the_new_one_is_whole(tmp_path):
    file = tmp_path / "file.txt"
    write_text(file, "old")

    def fail():
        with write_atomically(file, "w") as handle:
            handle.write("half of the n")
            handle.flush()
            assert file.read_text() == "old"
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert file.read_text() == "old"
    assert list(tmp_path.iterdir()) == [file]  # nothing is left lying about
    write_text(file, "new")
    assert file.read_text() == "new"


def test_written_files_have_ordinary_permissions(tmp_path):
    mask = os.umask(0o027)
    try:
        write_text(tmp_path / "file.txt", "text")
    finally:
        os.umask(mask)
    assert (tmp_path / "file.txt").stat().st_mode & 0o777 == 0o640


def test_a_full_disk_is_told_and_the_old_file_stays(tmp_path, monkeypatch):
    write_text(tmp_path / "a", "old")

    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(EquipoiseError, match=r"cannot write .*/a: No space left on device"):
        write_text(tmp_path / "a", "new")
    assert [path.name for path in tmp_path.iterdir()] == ["a"] and (tmp_path / "a").read_text() == "old"


def test_a_place_that_does_not_exist_is_told(tmp_path):
    with pytest.raises(EquipoiseError, match=r"cannot write .*missing/file\.txt: No such file or directory"):
        write_text(tmp_path / "missing" / "file.txt", "text")


# ---- making and opening


def test_an_opened_run_has_the_configuration_it_was_made_with(run):
    opened = RunDirectory.open(run.path)
    assert opened.config == run.config == {"format": "equipoise-run", "version": 1, **CONFIG}


def test_a_directory_with_content_is_not_overwritten(run, tmp_path):
    with pytest.raises(EquipoiseError, match="already holds a run; continue it with `equipoise resume`"):
        RunDirectory.create(run.path, CONFIG)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.tex").write_text("precious")
    with pytest.raises(EquipoiseError, match="is not empty; choose another --out"):
        RunDirectory.create(tmp_path / "other", CONFIG)
    (tmp_path / "empty").mkdir()
    assert RunDirectory.create(tmp_path / "empty", CONFIG).path == tmp_path / "empty"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "is not a run: it has no config.json"),
        ("", "is damaged"),
        ('{"format": "equipoise-run", "vers', "is damaged"),
        ("[]", "is not the configuration of an equipoise run"),
        ('{"format": "other"}', "is not the configuration of an equipoise run"),
        ('{"format": "equipoise-run", "version": 2}', "has version 2; this equipoise reads version 1"),
    ],
)
def test_what_is_not_a_run_is_told(tmp_path, content, message):
    if content is not None:
        (tmp_path / "config.json").write_text(content)
    with pytest.raises(EquipoiseError, match=message):
        RunDirectory.open(tmp_path)


# ---- checkpoints


def test_a_checkpoint_is_loaded_to_the_bit(run):
    state = {"regret_sum_0": np.random.default_rng(0).normal(size=100), "extreme": np.array([np.nan, -0.0, 5e-324])}
    run.save_checkpoint(Checkpoint(7, 1.5, 2.5, state))
    found, complaints = run.load_checkpoint()
    assert (found.iteration, found.seconds, complaints) == (7, 1.5, [])
    for name, array in state.items():
        assert found.state[name].tobytes() == array.tobytes()


def test_the_last_two_checkpoints_are_kept(run):
    for iteration in (5, 50, 999, 1000, 123_456):
        run.save_checkpoint(checkpoint(iteration))
    assert saved(run) == ["000000001000.npz", "000000123456.npz"]
    assert_is(run.load_checkpoint()[0], 123_456)


def test_a_run_without_checkpoints_has_none(run):
    assert run.load_checkpoint() == (None, [])


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: b"",
        lambda content: content[: len(content) // 2],
        lambda content: content[:-1],
        lambda content: b"\0" * len(content),
        lambda content: content.replace(np.full(3, 20.0).tobytes(), np.full(3, 21.0).tobytes(), 1),
        lambda content: b"hello",
    ],
    ids=["empty", "half", "one byte short", "zeros", "other numbers", "text"],
)
def test_a_damaged_checkpoint_is_passed_over_for_the_one_before(run, damage):
    for iteration in (10, 20):
        run.save_checkpoint(checkpoint(iteration))
    newest = run.path / "checkpoints" / "000000000020.npz"
    newest.write_bytes(damage(newest.read_bytes()))
    found, complaints = run.load_checkpoint()
    assert_is(found, 10)
    assert len(complaints) == 1
    assert complaints[0].startswith(f"{newest} is damaged")
    assert complaints[0].endswith("passed over")


def test_every_changed_byte_of_a_checkpoint_is_noticed_or_harmless(run):
    for iteration in (10, 20):
        run.save_checkpoint(checkpoint(iteration))
    newest = run.path / "checkpoints" / "000000000020.npz"
    content = newest.read_bytes()
    passed_over = 0
    for place in range(len(content)):
        newest.write_bytes(content[:place] + bytes([content[place] ^ 0xFF]) + content[place + 1 :])
        found, complaints = run.load_checkpoint()
        assert_is(found, 10 if complaints else 20)
        passed_over += bool(complaints)
    assert passed_over > 0.5 * len(content)


@pytest.mark.parametrize("arrays", [{}, {"header": np.frombuffer(b"[]", np.uint8)}, {"header": np.arange(3)}])
def test_a_checkpoint_of_another_program_is_passed_over(run, arrays):
    run.save_checkpoint(checkpoint(10))
    np.savez(run.path / "checkpoints" / "000000000020.npz", weights=np.zeros(3), **arrays)
    found, complaints = run.load_checkpoint()
    assert_is(found, 10)
    assert len(complaints) == 1


@pytest.mark.parametrize(
    "change", [{"seed": 1}, {"algorithm": "dcfr"}, {"parameters": {"alpha": 2.0}}, {"created": "later"}]
)
def test_a_checkpoint_of_another_run_is_passed_over(run, tmp_path, change):
    other = RunDirectory.create(tmp_path / "other", {**CONFIG, **change})
    other.save_checkpoint(checkpoint(20))
    run.save_checkpoint(checkpoint(10))
    foreign = run.path / "checkpoints" / "000000000020.npz"
    foreign.write_bytes((other.path / "checkpoints" / "000000000020.npz").read_bytes())
    found, complaints = run.load_checkpoint()
    assert_is(found, 10)
    assert complaints == [f"{foreign} belongs to another run; passed over"]


def test_new_checkpoints_outlive_bad_ones_with_higher_numbers(run):
    """Two damaged checkpoints stay in the directory while the run is made again from the start."""
    for iteration in (1000, 2000):
        (run.path / "checkpoints" / f"{iteration:012d}.npz").write_bytes(b"damaged")
    for iteration in (10, 20):
        run.save_checkpoint(checkpoint(iteration))
        assert_is(run.load_checkpoint()[0], iteration)


def test_what_a_killed_writer_left_behind_is_no_checkpoint(run):
    run.save_checkpoint(checkpoint(10))
    (run.path / "checkpoints" / ".000000000020.npz.abc.part").write_bytes(b"half")
    found, complaints = run.load_checkpoint()
    assert_is(found, 10)
    assert complaints == []


# ---- the log


def test_a_log_line_that_was_cut_off_is_ignored(run):
    for iteration in (1, 2):
        run.append_log({"iteration": iteration, "exploitability": 1 / iteration})
    with open(run.path / "log.jsonl", "a") as log:
        log.write('{"iteration": 3, "exploit')
    assert [record["iteration"] for record in run.read_log()] == [1, 2]
    assert [record["iteration"] for record in run.cut_log(10)[0]] == [1, 2]
    run.append_log({"iteration": 3, "exploitability": 0.3})  # the cut line is gone: the new one is a line of its own
    assert [record["iteration"] for record in run.read_log()] == [1, 2, 3]


def test_the_log_is_cut_to_where_the_run_goes_on(run):
    for iteration in range(1, 6):
        run.append_log({"iteration": iteration})
    assert run.cut_log(3) == ([{"iteration": 1}, {"iteration": 2}, {"iteration": 3}], [])
    assert run.read_log() == [{"iteration": 1}, {"iteration": 2}, {"iteration": 3}]
    assert RunDirectory.open(run.path).cut_log(0) == ([], [])


def test_a_run_without_a_log_has_an_empty_one(run):
    (run.path / "log.jsonl").unlink()
    assert run.read_log() == []
    assert run.cut_log(5) == ([], [])


def test_every_changed_byte_of_a_log_costs_its_own_line_at_most(run):
    for iteration in (1, 2, 3):
        run.append_log({"iteration": iteration, "seconds": 0.5, "exploitability": 1 / iteration})
    log = run.path / "log.jsonl"
    content = log.read_bytes()
    ends = [place for place, byte in enumerate(content) if byte == ord("\n")]
    whole = run.read_log()
    for place in range(len(content)):
        for byte in {content[place] ^ 0xFF, content[place] ^ 1, ord("9"), ord("\n"), 0} - {content[place]}:
            log.write_bytes(content[:place] + bytes([byte]) + content[place + 1 :])
            line = sum(end < place for end in ends)
            records, complaints = run.cut_log(3)
            if place in ends:  # the line break itself: the records on both sides of it are good
                assert records == whole
            else:
                assert records == whole[:line] + whole[line + 1 :]
            assert len(complaints) == 1
            aside = run.path / "log.jsonl.damaged-1"
            assert aside.read_bytes() == content[:place] + bytes([byte]) + content[place + 1 :]
            aside.unlink()
            assert run.cut_log(3) == (records, [])


def test_logs_of_earlier_versions_have_no_checksums(run):
    lines = ['{"iteration": 1, "exploitability": 0.5}', '{"iteration": 2, "explo', '{"iteration": "3"}', "[]"]
    lines += ['{"iteration": 4, "note": "x"}', '{"iteration": 5, "exploitability": 0.25}']
    (run.path / "log.jsonl").write_text("\n".join(lines) + "\n")
    records, complaints = run.cut_log(10)
    assert [record["iteration"] for record in records] == [1, 5]
    assert "4 damaged line(s)" in complaints[0]


def test_damaged_logs_do_not_displace_each_other(run):
    for number in (1, 2):
        (run.path / "log.jsonl").write_text(f"damaged {number}\n")
        run.cut_log(0)
        assert (run.path / f"log.jsonl.damaged-{number}").read_text() == f"damaged {number}\n"


def test_a_reader_leaves_alone_what_a_writer_is_writing(run):
    part = run.path / "checkpoints" / ".000000000020.npz.abc.part"
    part.write_bytes(b"half")
    RunDirectory.open(run.path).load_checkpoint()
    assert part.exists()
    run.load_checkpoint()
    assert not part.exists()


# ---- the folder and its lock


def test_folders_by_default_names_are_new_ones(tmp_path):
    with new_folder(tmp_path / "runs", "kuhn") as first, new_folder(tmp_path / "runs", "kuhn") as second:
        assert (first.name, second.name) == ("kuhn", "kuhn-2")
        RunDirectory.create(first, CONFIG).close()
    assert [folder.name for folder in (tmp_path / "runs").iterdir()] == ["kuhn"]  # an empty one does not stay
    with new_folder(tmp_path / "other", "kuhn"):
        pass
    assert not (tmp_path / "other").exists()


def test_many_processes_at_once_get_a_folder_each(tmp_path):
    code = (
        "import sys, pathlib; from equipoise.runs.directory import new_folder\n"
        "with new_folder(pathlib.Path(sys.argv[1]), 'kuhn') as folder: (folder / 'x').touch(); print(folder)"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "runs")]
    started = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(6)]
    folders = {process.communicate(timeout=300)[0] for process in started}
    assert len(folders) == 6


def test_a_second_writer_is_told_who_the_first_is(run):
    with pytest.raises(RunBusy, match=f"is being written by process {os.getpid()} on .* since 2") as caught:
        RunDirectory.open_to_write(run.path)
    assert str(run.path) in str(caught.value)
    assert RunDirectory.open(run.path).config == run.config  # readers are welcome
    run.close()
    with RunDirectory.open_to_write(run.path) as again, pytest.raises(RunBusy):
        RunDirectory.open_to_write(again.path)
    RunDirectory.open_to_write(run.path).close()


def test_a_lock_dies_with_its_process(run):
    run.close()
    code = (
        "import sys, time; from equipoise.runs.directory import RunDirectory\n"
        "run = RunDirectory.open_to_write(sys.argv[1]); print('held', flush=True); time.sleep(60)"
    )
    process = subprocess.Popen([sys.executable, "-c", code, str(run.path)], stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"held\n"
    with pytest.raises(RunBusy, match=f"process {process.pid} on "):
        RunDirectory.open_to_write(run.path)
    process.kill()
    process.wait()
    process.stdout.close()
    RunDirectory.open_to_write(run.path).close()


def test_a_lock_file_that_says_nothing_still_locks(run):
    (run.path / "lock").write_text("")
    with pytest.raises(RunBusy, match="another process"):
        RunDirectory.open_to_write(run.path)


def test_a_file_system_without_locks_is_one_warning(run, monkeypatch):
    run.close()

    def refuse(*arguments):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr("equipoise.runs.lock.fcntl.flock", refuse)
    with pytest.warns(EquipoiseWarning, match="let only one process write to it"):
        RunDirectory.open_to_write(run.path).close()


def test_disk_is_counted_before_it_is_needed(run, monkeypatch):
    assert require_disk(run.path / "not" / "yet", 1000) == 3000
    memory = np.zeros(1000)
    assert largest_bytes({"filled": memory[:10], "own": np.zeros(3)}) == 8024
    monkeypatch.setattr("equipoise.runs.directory.shutil.disk_usage", lambda path: Usage(10**9, 10**9, 5 << 20))
    with pytest.raises(TooLarge, match=r"need 6.0 MiB of disk \(3 of 2.0 MiB\), and .* has 5.0 MiB"):
        require_disk(run.path, 2 << 20)
    run.save_checkpoint(Checkpoint(1, 0.0, 0.0, {"array": np.zeros(1 << 18)}))  # of 2 MiB, whose place will be free
    assert require_disk(run.path, 2 << 20) == 6 << 20


def test_the_result_is_readable(run):
    run.save_result({"exploitability": 0.25})
    assert json.loads((run.path / "result.json").read_text()) == {"exploitability": 0.25}
