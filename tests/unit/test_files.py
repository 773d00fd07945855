"""Outputs: whatever a user names is written to, and nothing that is there comes to harm."""

import errno
import io
import os
import resource
import stat
import subprocess
import sys
import threading

import numpy as np
import pytest

from equipoise.errors import EquipoiseError
from equipoise.files import ScratchFolder, is_standard_output, make_folder, same_output, write_atomically, write_text

as_root = pytest.mark.skipif(os.getuid() != 0, reason="NOT TESTED: only root can make devices and change owners")


def parts(folder):
    return [file.name for file in folder.iterdir() if file.name.endswith(".part")]


def test_a_file_appears_whole(tmp_path):
    with write_atomically(tmp_path / "file", "w") as file:
        file.write("one")
        assert not (tmp_path / "file").exists()
    assert (tmp_path / "file").read_text() == "one"
    assert parts(tmp_path) == []


def test_a_new_file_has_the_permissions_of_any_new_file(tmp_path):
    before = os.umask(0o027)
    try:
        write_text(tmp_path / "file", "one")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o640


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_what_goes_wrong_leaves_the_old_file(tmp_path, error):
    write_text(tmp_path / "file", "old")

    def fail(file):
        file.write("new")
        file.flush()
        raise error

    with pytest.raises(error), write_atomically(tmp_path / "file", "w") as file:
        fail(file)
    assert (tmp_path / "file").read_text() == "old"
    assert parts(tmp_path) == []


def test_a_link_stays_and_its_target_is_replaced(tmp_path):
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "target").write_text("old")
    (tmp_path / "middle").symlink_to("far/target")
    (tmp_path / "link").symlink_to("middle")
    inode = (tmp_path / "far" / "target").stat().st_ino
    write_text(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "middle").is_symlink()
    assert (tmp_path / "far" / "target").read_text() == "new"
    assert (tmp_path / "far" / "target").stat().st_ino != inode  # replaced, not written over: all or nothing
    assert parts(tmp_path) == parts(tmp_path / "far") == []


def test_a_link_to_nothing_makes_its_target(tmp_path):
    (tmp_path / "link").symlink_to("target")
    write_text(tmp_path / "link", "new")
    assert (tmp_path / "target").read_text() == "new"
    assert (tmp_path / "link").is_symlink()


def test_links_in_a_circle_are_one_line(tmp_path):
    (tmp_path / "link").symlink_to("link")
    with pytest.raises(EquipoiseError, match=r"cannot write .*link: "):
        write_text(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()


def test_an_existing_file_keeps_its_permissions(tmp_path):
    write_text(tmp_path / "file", "old")
    (tmp_path / "file").chmod(0o604)
    write_text(tmp_path / "file", "new")
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o604
    assert (tmp_path / "file").read_text() == "new"


@as_root
def test_an_existing_file_keeps_its_owner(tmp_path):
    write_text(tmp_path / "file", "old")
    os.chown(tmp_path / "file", 12345, 54321)
    write_text(tmp_path / "file", "new")
    found = (tmp_path / "file").stat()
    assert (found.st_uid, found.st_gid) == (12345, 54321)


@pytest.mark.parametrize("text", ["a longer text than before", "short"])
def test_all_names_of_a_file_stay_names_of_it(tmp_path, text):
    write_text(tmp_path / "file", "the old text")
    os.link(tmp_path / "file", tmp_path / "other")
    write_text(tmp_path / "file", text)
    assert (tmp_path / "other").read_text() == text
    assert (tmp_path / "file").samefile(tmp_path / "other")
    assert parts(tmp_path) == []


def as_somebody(code, *arguments):
    """Run code as a user without rights, whoever runs the tests; return its standard error."""
    drop = "import sys; from equipoise.files import *\n"
    drop += "if os.getuid() == 0: os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
    command = [sys.executable, "-c", drop + code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300).stderr


@pytest.fixture
def open_path(tmp_path_factory):
    """Return a folder that other users can reach."""
    folder = tmp_path_factory.mktemp("open")
    for above in [folder, *folder.parents]:
        if above.stat().st_uid == os.getuid() and str(above).startswith("/tmp/"):
            above.chmod(0o755)
    return folder


@as_root
def test_a_file_in_a_folder_that_cannot_be_written_is_written_itself(open_path):
    write_text(open_path / "file", "the old text")
    (open_path / "file").chmod(0o666)
    assert as_somebody("write_text(sys.argv[1], 'new')", open_path / "file") == ""
    assert (open_path / "file").read_text() == "new"
    assert (open_path / "file").stat().st_uid == 0
    (open_path / "file").chmod(0o644)
    assert "cannot write" in as_somebody("write_text(sys.argv[1], 'newer')", open_path / "file")
    assert "Permission denied" in as_somebody("write_text(sys.argv[1], 'newer')", open_path / "another")
    assert (open_path / "file").read_text() == "new"


@as_root
def test_a_file_of_another_owner_stays_theirs(open_path):
    (open_path / "shared").mkdir()
    (open_path / "shared").chmod(0o777)
    write_text(open_path / "shared" / "file", "old")
    (open_path / "shared" / "file").chmod(0o666)
    assert as_somebody("write_text(sys.argv[1], 'new')", open_path / "shared" / "file") == ""
    assert (open_path / "shared" / "file").read_text() == "new"
    assert (open_path / "shared" / "file").stat().st_uid == 0
    assert parts(open_path / "shared") == []


def test_a_file_that_is_read_only_is_not_replaced(open_path):
    (open_path / "mine").mkdir()
    if os.getuid() == 0:
        os.chown(open_path / "mine", 65534, 65534)
    made = "write_text(sys.argv[1], 'old'); os.chmod(sys.argv[1], 0o444); write_text(sys.argv[1], 'new')"
    assert "cannot write" in as_somebody(made, open_path / "mine" / "file")
    assert (open_path / "mine" / "file").read_text() == "old"


@pytest.mark.parametrize("name", [".", "folder", "folder/", "new/"])
def test_a_folder_is_refused(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    with pytest.raises(EquipoiseError, match=f"cannot write {name}: it is a folder; give the name of a file"):
        write_text(name, "new")
    assert [file.name for file in tmp_path.iterdir()] == ["folder"]


def test_a_folder_that_is_not_there_is_one_line(tmp_path):
    with pytest.raises(EquipoiseError, match=r"cannot write .*file: No such file"):
        write_text(tmp_path / "missing" / "file", "new")
    (tmp_path / "text").write_text("")
    for broken in (tmp_path / "text" / "folder", "/dev/null/folder"):
        with pytest.raises(EquipoiseError, match="cannot make the folder"):
            make_folder(broken)


def test_a_pipe_is_written_to_as_a_stream(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    read = []
    reader = threading.Thread(target=lambda: read.append((tmp_path / "pipe").read_bytes()))
    reader.start()
    with write_atomically(tmp_path / "pipe") as file:
        np.savez(file, numbers=np.arange(100_000))
    reader.join(timeout=60)
    np.testing.assert_array_equal(np.load(io.BytesIO(read[0]))["numbers"], np.arange(100_000))
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


@as_root
def test_a_device_stays_a_device(tmp_path):
    device = tmp_path / "null"
    os.mknod(device, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
    write_text(device, "gone")
    (tmp_path / "link").symlink_to(device)
    write_text(tmp_path / "link", "gone")
    assert stat.S_ISCHR(device.stat().st_mode)
    full = tmp_path / "full"
    os.mknod(full, 0o666 | stat.S_IFCHR, os.makedev(1, 7))
    with pytest.raises(EquipoiseError, match=r"cannot write .*full: No space left on device"):
        write_text(full, "gone")


@as_root
def test_a_disk_is_refused(tmp_path):
    os.mknod(tmp_path / "disk", 0o666 | stat.S_IFBLK, os.makedev(7, 250))
    with pytest.raises(EquipoiseError, match="it is a disk, and what is on it would be lost"):
        write_text(tmp_path / "disk", "gone")


@pytest.mark.parametrize("name", ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "link"])
@pytest.mark.parametrize("redirect", ["pipe", "file", "append"])
def test_standard_output_by_all_its_names(tmp_path, name, redirect):
    """A zip file is written backwards where that works; where text stands before it, it must not be."""
    (tmp_path / "link").symlink_to("/dev/stdout")
    code = (
        "import sys, numpy; from equipoise.files import *; print('before'); assert is_standard_output(sys.argv[1])\n"
        "with write_atomically(sys.argv[1]) as file: numpy.savez(file, numbers=numpy.arange(10))\n"
        "print('after')"
    )
    command = [sys.executable, "-c", code, name]
    if redirect == "pipe":
        content = subprocess.run(command, capture_output=True, cwd=tmp_path, check=True, timeout=300).stdout
    else:
        with open(tmp_path / "out", "wb" if redirect == "file" else "ab") as out:
            subprocess.run(command, stdout=out, cwd=tmp_path, check=True, timeout=300)
        content = (tmp_path / "out").read_bytes()
    assert content.startswith(b"before\nPK") and content.endswith(b"after\n")
    zipped = content.removeprefix(b"before\n").removesuffix(b"after\n")
    np.testing.assert_array_equal(np.load(io.BytesIO(zipped))["numbers"], np.arange(10))


def test_other_open_files_by_number(tmp_path):
    with open(tmp_path / "out", "w+") as out:
        write_text(f"/dev/fd/{out.fileno()}", "one")
        write_text(f"/dev/fd/{out.fileno()}", "two")
        assert not is_standard_output(f"/dev/fd/{out.fileno()}")
        closed = out.fileno()
    assert (tmp_path / "out").read_text() == "onetwo"
    with pytest.raises(EquipoiseError, match=f"cannot write /dev/fd/{closed}: Bad file descriptor"):
        write_text(f"/dev/fd/{closed}", "three")


def test_one_output_by_two_names(tmp_path):
    (tmp_path / "link").symlink_to("file")
    assert same_output("-", "/dev/stdout") and same_output(tmp_path / "link", tmp_path / "file")
    assert not same_output("-", "/dev/stderr") and not same_output(tmp_path / "file", "-")


def test_a_file_that_may_not_grow_leaves_the_old_one(tmp_path):
    """As on a full disk, and without being root."""
    write_text(tmp_path / "file", "old")
    write_text(tmp_path / "named twice", "older")
    os.link(tmp_path / "named twice", tmp_path / "second name")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
    try:
        for name in ("file", "new", "named twice"):
            with pytest.raises(EquipoiseError, match=f"cannot write .*{name}: {os.strerror(errno.EFBIG)}"):
                write_text(tmp_path / name, "x" * 200_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert (tmp_path / "file").read_text() == "old"
    assert (tmp_path / "second name").read_text() == "older"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["file", "named twice", "second name"]


def test_folders_of_killed_processes_go_when_the_next_one_is_made(tmp_path):
    def folders():
        return {path.name for path in tmp_path.iterdir()}

    code = (
        "import os, sys; from equipoise.files import ScratchFolder; "
        "one = ScratchFolder('mine-', sys.argv[1]); one.path.joinpath('table').touch(); os.kill(os.getpid(), 9)"
    )
    mine = ScratchFolder("mine-", str(tmp_path))
    (tmp_path / "mine-else").mkdir()  # without a mark: somebody else's
    subprocess.run([sys.executable, "-c", code, tmp_path], check=False)
    assert len(folders()) == 3
    another = ScratchFolder("mine-", str(tmp_path))
    assert folders() == {mine.path.name, another.path.name, "mine-else"}
    another.remove()
    del mine
    assert folders() == {"mine-else"}
