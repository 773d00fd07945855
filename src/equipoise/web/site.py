"""What the page may show and do: the folders and files that it was given, games that it may load, policies it has open.

The page names things by the paths that its user would type. A path is taken only if, with all links followed, it leads
into one of the folders (or is one of the files) that ``equipoise serve`` was given. What a file or the page names is
never run as code: games in Python are those that were given on the command line.
"""

import gc
import os
import re
import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from equipoise.errors import EquipoiseError, InvalidParameter, NotFound, NotTrusted, UnknownGame
from equipoise.files import make_folder
from equipoise.games import Game, load_game
from equipoise.games.catalogue import ADAPTERS, CATALOGUE
from equipoise.memory import require
from equipoise.policies import AnyPolicy
from equipoise.policies.exported import read_exported
from equipoise.policies.files import game_named_in
from equipoise.runs.directory import RunDirectory
from equipoise.solving import has_networks, load_policy

DEFAULT_FOLDER = "runs"
KEPT = ".page"  # below the folder: what the page itself keeps
MOST_POLICIES = 4  # open at a time
OPEN_BYTES_A_STORED_BYTE = 3  # of memory, at most, that a policy takes once it is open
LONGEST_GAME = 20_000  # characters; ranges can be long
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+=-]{0,99}")
_RUN_FILES = ("config.json", "log.jsonl", "policy.npz", "result.json", "lock", "checkpoints")


@dataclass(frozen=True, kw_only=True)
class Site:
    """What one page is about."""

    home: Path  # where runs are looked for, and new ones are kept
    given: tuple[Path, ...] = ()  # runs, policy files and further folders that it may show
    games: Mapping[str, Game] = field(default_factory=dict)  # by their texts: given on the command line, so trusted
    policies: "OpenPolicies" = field(default_factory=lambda: OpenPolicies(MOST_POLICIES), repr=False, compare=False)

    # ---- paths

    @property
    def roots(self) -> tuple[Path, ...]:
        """Return all that the page may show."""
        return (self.home, *self.given)

    def path(self, address: str) -> Path:
        """Return the file or folder that the page names, if it is one that the page may show."""
        path = Path(address)
        if "\0" in address or not address or not self._is_within(path):
            raise NotFound(f"{address!r} is not in {self.home} or anything else that this page was given")
        if not path.exists():
            raise NotFound(f"{address}: there is no such file or run")
        return path

    def _is_within(self, path: Path) -> bool:
        real = Path(os.path.realpath(path))
        return any(real.is_relative_to(os.path.realpath(root)) for root in self.roots)

    def run(self, address: str) -> RunDirectory:
        """Return the run that the page names; none of its files may be a link that leads elsewhere."""
        path = self.path(address)
        checkpoints = path / "checkpoints"
        names = [
            *_RUN_FILES,
            *(f"checkpoints/{name}" for name in (os.listdir(checkpoints) if checkpoints.is_dir() else ())),
        ]
        for name in names:
            if not self._is_within(path / name):
                raise NotFound(f"{path / name} leads out of what this page was given")
        return RunDirectory.open(path)

    def new(self, name: str) -> Path:
        """Return the path of something new in the page's folder."""
        if not _NAME.fullmatch(name):
            raise InvalidParameter(
                f"{name!r} is not a good name: take up to 100 letters, digits and any of _ . + = -, a letter first"
            )
        path = self.home / name
        if path.exists() or path.is_symlink():
            raise InvalidParameter(f"{path} is there already; choose another name")
        make_folder(self.home)
        return path

    def kept(self, *names: str) -> Path:
        """Return a folder in which the page keeps things of one kind, such as ``hands``; made if it is not there."""
        path = self.home.joinpath(KEPT, *names)
        make_folder(path)
        if not self._is_within(path):
            raise NotFound(f"{path} leads out of what this page was given")
        return path

    # ---- games and policies

    @property
    def given_games(self) -> list[str]:
        """Return the addresses of the games that were given."""
        return list(dict.fromkeys(game.address for game in self.games.values()))

    def game(self, text: str) -> Game:
        """Return the game that the page, or a file that it shows, names; no code runs, no file elsewhere is read."""
        text = text.strip()
        if text in self.games:
            return self.games[text]
        self.check_game(text)
        return load_game(text)

    def check_game(self, text: str) -> None:
        """Refuse a game that the page may not load."""
        if len(text) > LONGEST_GAME:
            raise InvalidParameter(f"the name of a game has at most {LONGEST_GAME:,} characters")
        scheme, colon, rest = text.strip().partition(":")
        if text.strip() in self.games:
            return
        if colon and scheme == "python":
            raise NotTrusted(
                f"{text} is Python code, which no page and no file makes run: if you trust it, end this server and "
                f"start it with the game: equipoise serve {self.home} {text}"
            )
        if colon and scheme in ("efg", "spot"):
            self.path(rest)
        if colon and scheme == "open_spiel" and re.search(r"[/\\]|file", rest, re.IGNORECASE):
            raise NotTrusted(f"{text} names a file; name such games on the command line: equipoise serve {text}")

    def policy(self, address: str) -> AnyPolicy:
        """Return the policy of a run or a policy file, which stays open for a while."""
        path = self.path(address)
        files, own = self.checked(path)
        return self.policies.get(path, files, None if own is None else self.games[own])

    def checked(self, path: Path) -> tuple[list[Path], str | None]:
        """Return the files of a policy, and which of the given games it is of, if any; refuse one of another's code."""
        if path.is_dir():
            run = self.run(str(path))
            texts = {str(run.config["game"])}
            stored = [run.policy_path] if run.policy_path.exists() else []
            checkpoints = sorted((path / "checkpoints").glob("*.npz"))[-1:]
        else:
            texts, stored, checkpoints = set(), [path], []
        texts |= {self._game_named_in(file) for file in stored}
        for text in texts:
            self.check_game(text)
        return [*stored, *checkpoints], next((text for text in texts if text in self.games), None)

    def _game_named_in(self, file: Path) -> str:
        """Return the game that a policy file is of; CSV does not say it, and takes the one that was given."""
        if file.suffix == ".csv":
            if len(self.given_games) != 1:
                raise InvalidParameter(f"{file} does not say which game it is for: equipoise serve {file} GAME")
            return self.given_games[0]
        return read_exported(file, None).game if file.suffix == ".json" else game_named_in(file)


class OpenPolicies:
    """Policies that are open, the last used ones of them; opened again if their files have changed."""

    def __init__(self, most: int, device: str = "auto") -> None:
        self._most, self._device = most, device
        self._open: OrderedDict[tuple[object, ...], AnyPolicy] = OrderedDict()
        self._lock = threading.Lock()  # of the list
        self._opening = threading.Lock()  # one is opened at a time, so that memory is counted

    def get(self, path: Path, files: Sequence[Path], game: Game | None) -> AnyPolicy:
        """Return the policy in a path, which lies in these files; ``game`` is its game if that is not to be loaded."""
        found = [file.stat() for file in files]
        stamp = (str(path), *((each.st_ino, each.st_size, each.st_mtime_ns) for each in found))
        if (kept := self._kept(stamp)) is not None:
            return kept
        with self._opening:
            if (kept := self._kept(stamp)) is not None:  # somebody else has opened it meanwhile
                return kept
            with self._lock:
                while len(self._open) >= self._most:
                    self._open.popitem(last=False)
            gc.collect()  # what is kept with a policy knows the policy
            needed = OPEN_BYTES_A_STORED_BYTE * max((each.st_size for each in found), default=0)
            try:
                require(needed, what=f"opening {path}")
            except EquipoiseError:
                with self._lock:
                    self._open.clear()
                gc.collect()
                require(needed, what=f"opening {path}")
            policy = load_policy(path, game=game, device=self._device if has_networks(path) else "auto")
            with self._lock:
                self._open[stamp] = policy
            return policy

    @staticmethod
    def with_policy(policy: AnyPolicy, kind: str) -> OrderedDict[Any, Any]:
        """Return what is kept of one kind as long as a policy is open: with the policy, it is forgotten."""
        kept: OrderedDict[Any, Any] = vars(policy).setdefault(f"_kept_{kind}", OrderedDict())
        return kept

    def _kept(self, stamp: tuple[object, ...]) -> AnyPolicy | None:
        with self._lock:
            if stamp in self._open:
                self._open.move_to_end(stamp)
            return self._open.get(stamp)


def site_of(arguments: Iterable[str], *, device: str = "auto") -> Site:
    """Return the site that ``equipoise serve`` is asked for: runs, policies, folders of runs and games.

    Networks are opened on ``device``.
    """
    folders: list[Path] = []
    given: list[Path] = []
    games: dict[str, Game] = {}
    for text in arguments:
        path = Path(text)
        if path.is_dir() and not (path / "config.json").exists():
            folders.append(path)
        elif path.exists():
            given.append(path)
        else:
            game = _given_game(text)
            games |= {text.strip(): game, game.address: game}
    home = folders[0] if folders else Path(DEFAULT_FOLDER)
    return Site(home=home, given=(*folders[1:], *given), games=games, policies=OpenPolicies(MOST_POLICIES, device))


def _given_game(text: str) -> Game:
    known = re.match(r"\w*", text)
    if ":" in text or (known and known[0] in (*CATALOGUE, "spot")):
        return load_game(text)
    raise UnknownGame(
        f"'{text}' is not a run, a policy file, a folder of runs or a game; games are {', '.join(CATALOGUE)}, "
        f"{', '.join(adapter.partition(':')[0] + ':...' for adapter in ADAPTERS if ':' in adapter.partition('(')[0])}"
    )
