"""What holds for every input: it works, or one line says what is wrong; files that were only read do not change."""

import contextlib
import io
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from equipoise.cli import main
from equipoise.errors import EquipoiseError


class Hung(BaseException):
    """An input took far longer than any should. Not an Exception: nothing may catch it as a damaged file."""


def files_below(folder: Path) -> dict[Path, bytes]:
    """Return the contents of all files; locks say who held them last, and may change."""
    return {
        file: file.read_bytes()
        for file in sorted(folder.rglob("*"))
        if file.is_file() and file.name not in ("lock", "input")
    }


@contextlib.contextmanager
def unchanged(folder: Path) -> Iterator[None]:
    """Refuse code that changes, adds or removes a file."""
    before = files_below(folder)
    yield
    after = files_below(folder)
    assert after.keys() == before.keys(), f"files came or went: {after.keys() ^ before.keys()}"
    for file, content in before.items():
        assert after[file] == content, f"{file} was changed"


def works_or_says(do: Callable[[], object]) -> bool:
    """Return whether code worked; it may also refuse, in one line."""
    try:
        do()
    except EquipoiseError as error:
        said = str(error)
        assert said.strip(), "an error without words"
        assert len(said.splitlines()) == 1, f"not one line: {said!r}"
        return False
    return True


def command(*arguments: object) -> bool:
    """Run a command in this process; return whether it worked. Only exit codes 0 and 2 are allowed, 2 with one line."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    argv, sys.argv = sys.argv, ["equipoise", *map(str, arguments)]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main()
    except SystemExit as stop:
        code = 0 if stop.code is None else stop.code
    finally:
        sys.argv = argv
    require_exit(code, err.getvalue())
    return code == 0


def require_exit(code: object, err: str) -> None:
    assert code in (0, 2), f"exit code {code}: {err}"
    assert "Traceback" not in err, err
    if code == 2:
        *_, last = err.rstrip("\n").split("\n")
        assert last.startswith("equipoise: "), f"not one line: {err!r}"
