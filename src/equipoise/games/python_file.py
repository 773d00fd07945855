"""Games of one's own: a Python file that defines a subclass of :class:`~equipoise.games.game.Game`.

The path is what counts. It is kept absolute, and it is how files know the game, whatever the class calls itself.
Loading runs the file: :func:`~equipoise.games.catalogue.load_game` is the only caller, and decides whether that may be.
"""

import hashlib
import inspect
import os
import sys
from numbers import Real
from pathlib import Path
from types import ModuleType

from equipoise.errors import EquipoiseError, InvalidGame, NotFound
from equipoise.games.game import Game

SCHEME = "python"


def load_python_file(given: str) -> Game:
    """Run a file and return the game that it defines."""
    path = os.path.abspath(given)
    address = f"{SCHEME}:{path}"
    found = _game_class(address, _run(address, path))
    try:
        game = found()
    except Exception as error:
        raise _broken(address, f"{found.__name__}() raised", error) from error
    object.__setattr__(game, "_loaded_from", address)  # past a frozen dataclass's own
    return checked_game(game)


def checked_game(game: object) -> Game:
    """Return what was given as a game, if it is one that can say what it is."""
    if not isinstance(game, Game):
        raise InvalidGame(f"{game!r} is not a game: give a text such as 'leduc_poker', or an equipoise.Game")
    where = game._loaded_from or f"class {type(game).__name__}"
    try:
        name, unit, per_chip, elsewhere = game.name, game.chip_unit(), game.mbb_per_chip(), game.open_spiel_name()
    except EquipoiseError:
        raise
    except Exception as error:
        raise _broken(where, "name, chip_unit(), mbb_per_chip() or open_spiel_name() raised", error) from error
    for what, text in (("name", name), ("chip_unit()", unit), ("open_spiel_name()", elsewhere or "-")):
        if not isinstance(text, str) or not text.strip() or not text.isprintable():
            raise InvalidGame(f"{where}: {what} is {text!r}; it must be a line of text")
    for bound in ("max_depth", "max_nodes"):
        try:
            most = getattr(game, bound)
            right = not isinstance(most, bool) and isinstance(most, Real) and float(most) >= 1
        except Exception as error:
            raise _broken(where, f"{bound} raised", error) from error
        if not right:
            raise InvalidGame(f"{where}: {bound} is {most!r}; it must be a number of 1 or more")
    if per_chip is not None and not 0 < per_chip < float("inf"):
        raise InvalidGame(f"{where}: mbb_per_chip() is {per_chip!r}; it must be a number above 0, or None")
    return game


def _run(address: str, path: str) -> ModuleType:
    try:
        source = Path(path).read_bytes()
    except FileNotFoundError:
        raise NotFound(f"{address}: there is no such file") from None
    except (OSError, ValueError) as error:  # a ValueError is a path that no system takes, with a null in it
        reason = (isinstance(error, OSError) and error.strerror) or error
        raise EquipoiseError(f"{address}: cannot be read ({reason})") from None
    name = f"equipoise_game_{hashlib.blake2b(os.fsencode(path), digest_size=8).hexdigest()}"
    module = ModuleType(name)
    module.__file__ = path
    sys.modules[name] = module  # dataclasses and pickle look for a class's module there
    try:
        # Compiled from its text each time: a cache of bytecode may be older than a file changed within a second.
        exec(compile(source, path, "exec"), module.__dict__)
    except (Exception, SystemExit) as error:
        raise _broken(address, "", error) from error
    return module


def _game_class(address: str, module: ModuleType) -> type[Game]:
    """Return the one class of the file that is a game and that no other class of the file is made from."""
    found = [
        value
        for value in vars(module).values()
        if inspect.isclass(value) and issubclass(value, Game) and value.__module__ == module.__name__
    ]
    found = [
        cls for cls in dict.fromkeys(found) if not any(cls is not other and issubclass(other, cls) for other in found)
    ]
    if len(found) != 1:
        listed = f": {', '.join(cls.__name__ for cls in found)}" if found else ""
        raise InvalidGame(
            f"{address}: the file must define one subclass of equipoise.Game; it has {len(found)}{listed}"
        )
    if missing := sorted(getattr(found[0], "__abstractmethods__", ())):
        raise InvalidGame(f"{address}: class {found[0].__name__} lacks {', '.join(f'{name}()' for name in missing)}")
    return found[0]


def _broken(where: str, what: str, error: BaseException) -> InvalidGame:
    said = " ".join(str(error).split())[:300]
    line = ""
    trace = error.__traceback__
    while trace is not None:  # the last line of the file itself
        if f"{SCHEME}:{trace.tb_frame.f_code.co_filename}" == where:
            line = f", line {trace.tb_lineno}"
        trace = trace.tb_next
    return InvalidGame(f"{where}{line}: {what}{' ' * bool(what)}{type(error).__name__}{f': {said}' if said else ''}")
