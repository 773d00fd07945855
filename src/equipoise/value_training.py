"""Train a value network: make labels, fit, and judge on boards that were kept out. One folder, which can be resumed.

equipoise.train_values("river", out="values-river", labels=20_000)

A folder holds ``settings.json``, ``labels/`` and ``held-out/`` in files of a hundred labels (each made from the seed
and its number alone), ``fit.npz`` (the fit after its last pass), and at the end ``network.npz`` and ``result.json``.
Whatever is there is not made again, so a process that was killed goes on where it stopped, to the same network.
"""

import json
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from equipoise.distribute.cluster import open_cluster, workers_wanted
from equipoise.errors import (
    DamagedFile,
    InvalidParameter,
    NotSupported,
    damage,
    require_number,
    require_seed,
    require_whole,
)
from equipoise.files import make_folder, write_atomically, write_text
from equipoise.games import load_game
from equipoise.games.spots import ROUND_NAMES
from equipoise.runs import provenance
from equipoise.runs.interrupts import interrupts
from equipoise.runs.lock import Lock
from equipoise.runs.phases import EVALUATION, FITTING, PREPARING, OnProgress, Phases, unseen
from equipoise.solvers.public_values import PublicLabel, PublicSituations, require_deal
from equipoise.solvers.value_labels import (
    BETS,
    Example,
    Label,
    example,
    label,
    met_situations,
    places_of,
    random_situation,
)
from equipoise.trees.treeplex import Float
from equipoise.trees.value_network import ValueNetwork
from equipoise.work import Report

LABELS_A_FILE = 100
SECONDS_A_FILE = 7200.0  # at most; a worker that takes longer is thought to be lost
MET_ITERATIONS = 60  # of the spots in which situations are met
PUBLISHED = {  # held-out Huber losses, as printed; how they average is not known
    "river": {"Supremus": 0.015, "DeepHoldem": 0.042},
    "turn": {"DeepStack": 0.026, "Supremus": 0.010, "DeepHoldem": 0.045},
}
SMALL_GAMES: dict[str, Any] = {"width": 128, "layers": 2, "met": 0.6, "iterations": 400}
_TRAINING, _MET, _HELD_OUT = range(3)


@dataclass(frozen=True, kw_only=True)
class TrainingSettings:
    """What a value network is made from."""

    round: str = "river"
    labels: int = 20_000  # for training
    held_out: int = 500  # on boards that training never sees
    met: float = 0.25  # the share of labels whose ranges were met in our own solving
    iterations: int = 200  # of each label; two or three times as many for deep stacks
    width: int = 384
    layers: int = 4  # residual ones
    passes: int = 60  # over all labels
    batch: int = 256
    rate: float = 1e-3
    seed: int = 0

    def check(self) -> None:
        """Refuse what makes no sense."""
        if self.round == ROUND_NAMES[0]:
            raise NotSupported("value networks are trained for the turn and the river, not yet for the flop")
        if not self.of_holdem:
            require_deal(load_game(self.round))
        for name in ("labels", "held_out", "iterations", "width", "layers", "passes", "batch"):
            require_whole(name, getattr(self, name))
        require_number("met", self.met, low=0)
        if self.met > 1:
            raise InvalidParameter(f"met={self.met} is not a share; give a number from 0 to 1")
        require_number("rate", self.rate, above=0)
        require_seed(self.seed)

    @property
    def of_holdem(self) -> bool:
        """Return whether the round is one of hold'em; else it is that of a small game, after its deal."""
        return self.round in ROUND_NAMES


MAY_GROW = ("labels", "held_out", "passes")  # when a folder is gone on with


@dataclass(frozen=True, kw_only=True)
class Losses:
    """How far a network is from held-out labels. CFVs over the whole pot, hands of both players weighted alike."""

    huber: float
    huber_error: float  # its standard error
    mean_absolute: float
    weighted_absolute: float  # hands by their reach
    half_pot_huber: float  # values over half the pot, as some count
    check_down_huber: float  # of no network at all


@dataclass(frozen=True, kw_only=True, repr=False)
class TrainedValues:
    """A network with what is known of it."""

    network: ValueNetwork
    path: Path
    losses: Losses
    seconds: float

    def summary(self) -> dict[str, Any]:
        """Return the numbers, each under its name."""
        told = self.network.header
        names = ("round", "labels", "held_out", "passes", "weights")
        published = {f"published_{name}": loss for name, loss in PUBLISHED.get(self.network.round, {}).items()}
        numbers = {name: told[name] for name in names} | asdict(self.losses) | published
        return numbers | {"seconds": self.seconds, "network": str(self.path)}

    def __repr__(self) -> str:
        return f"<value network of the {self.network.round}, held-out Huber {self.losses.huber:.4f}, in {self.path}>"


def train_values(
    round: str = "river",
    out: str | Path | None = None,
    *,
    device: str = "auto",
    cluster: str | None = None,
    on_progress: OnProgress = unseen,
    **settings: Any,
) -> TrainedValues:
    """Train a value network for the beginning of the turn or the river, or go on with a folder where that was begun.

    The network is fitted on ``device``. The workers of a Ray ``cluster`` (``local:N``, ``auto`` or
    ``ray://HOST:PORT``) may make the labels: the same ones.
    In place of a round, a small poker game is trained for what follows its deal, as in ``nl_leduc(stack=5)``.
    """
    if round not in ROUND_NAMES:
        round = load_game(round).name
        settings = {**SMALL_GAMES, **settings}
    chosen = TrainingSettings(round=round, **settings)
    chosen.check()
    if cluster is not None:
        workers_wanted(cluster)
    if device not in ("auto", "cpu"):
        from equipoise.networks.devices import find_device

        find_device(device)  # one that does not work is refused before labels are made
    folder = Path(f"values-{round.partition('(')[0]}" if out is None else out)
    begun = time.perf_counter()
    make_folder(folder)
    lock = Lock(folder)
    try:
        with interrupts() as asked_to_stop:
            phases = Phases(on_progress, asked_to_stop)
            with phases.noticing_compilation():
                _settle(folder, chosen)
                with phases.doing(PREPARING, "making labels"):
                    _make_files(folder, chosen, cluster, phases.report)
                with phases.doing(FITTING, "fitting the network"):
                    network = _fit(folder, chosen, device, phases.report)
                with phases.doing(EVALUATION):
                    losses = judge(network, _held_out(folder, chosen), phases.report)
        seconds = time.perf_counter() - begun
        made = ValueNetwork(
            header={**network.header, "losses": asdict(losses)},
            weights=network.weights,
            biases=network.biases,
        )
        made.save(folder / "network.npz")
        found = TrainedValues(network=made, path=folder / "network.npz", losses=losses, seconds=seconds)
        write_text(folder / "result.json", json.dumps(found.summary(), indent=1) + "\n")
        return found
    finally:
        lock.release()


def _settle(folder: Path, chosen: TrainingSettings) -> None:
    """Write a folder's settings, or refuse to go on with others."""
    path = folder / "settings.json"
    now = asdict(chosen)
    if path.exists():
        try:
            known = json.loads(path.read_text(encoding="utf-8"))
            differing = [name for name in now if name not in MAY_GROW and known[name] != now[name]]
        except (ValueError, KeyError, TypeError, OSError) as error:
            raise DamagedFile(f"{path} is damaged ({damage(error)}); choose another --out") from None
        if differing:
            told = ", ".join(f"{name}={known[name]}" for name in differing)
            raise InvalidParameter(f"{folder} was begun with {told}; give the same, or choose another --out")
    elif any(entry.name != "lock" for entry in folder.iterdir()):
        raise InvalidParameter(f"{folder} is not empty; choose another --out")
    write_text(path, json.dumps(now, indent=1) + "\n")


class FileOfLabels(NamedTuple):
    """A file of a hundred labels."""

    folder: str
    number: int

    def path_in(self, home: Path) -> Path:
        """Return where the file is."""
        return home / self.folder / f"{self.number:05}.npz"


def _make_files(folder: Path, chosen: TrainingSettings, cluster: str | None, report: Report) -> None:
    """Make the files of labels that are not there yet, here or by the workers of a cluster."""
    files = [FileOfLabels("held-out", k) for k in range(_files(chosen.held_out))]
    files += [FileOfLabels("labels", k) for k in range(_files(chosen.labels))]
    missing = [file for file in files if not file.path_in(folder).exists()]
    there = len(files) - len(missing)

    def part(share: float) -> None:
        report("labels", (there + share) / len(files))

    if not missing:
        return
    with ExitStack() as stack:
        made: Generator[dict[str, Any], None, None]
        if cluster is None:
            made = (_labels_of((chosen, part), 0, file) for file in missing)
        else:
            workers = stack.enter_context(open_cluster(cluster))
            common: dict[str, Any] = {"patience": SECONDS_A_FILE, "on_wait": lambda: part(0.0)}
            made = workers.map(_labels_of, missing, (chosen, nobody), **common)
        stack.callback(made.close)
        for file, arrays in zip(missing, made, strict=True):
            make_folder(folder / file.folder)
            with write_atomically(file.path_in(folder)) as out:
                np.savez(out, **arrays)
            there += 1
            part(0.0)


def nobody(share: float) -> None:
    """Tell nobody how far a file is."""


def _labels_of(shared: "tuple[TrainingSettings, Part]", lane: int, file: FileOfLabels) -> dict[str, Any]:
    del lane
    chosen, part = shared
    return (_training_file if file.folder == "labels" else _held_out_file)(chosen, file.number, part)


def _files(labels: int) -> int:
    return -(-labels // LABELS_A_FILE)


def _cards(chosen: TrainingSettings) -> int:
    return 3 + ROUND_NAMES.index(chosen.round)


Part = Callable[[float], None]


def _training_file(chosen: TrainingSettings, number: int, part: Part) -> dict[str, Any]:
    generator = np.random.default_rng([chosen.seed, _TRAINING, number])
    if not chosen.of_holdem:
        labels = _small_labels(chosen, generator, part, round(chosen.met * LABELS_A_FILE))
        return {
            name: np.stack(column).astype(np.float32)
            for name, column in zip(Example._fields, zip(*map(_small_example, labels), strict=True), strict=True)
        }
    met = round(chosen.met * LABELS_A_FILE)
    cards = _cards(chosen)
    situations = [random_situation(cards, generator, held_out=False) for _ in range(LABELS_A_FILE - met)]
    generator = np.random.default_rng([chosen.seed, _MET, number])
    situations += met_situations(cards, met, generator, iterations=MET_ITERATIONS)
    made: list[Example] = []
    for at in situations:
        part(len(made) / LABELS_A_FILE)
        made.append(example(label(at, chosen.iterations)))
    columns = (np.stack(column).astype(np.float32) for column in zip(*made, strict=True))
    return dict(zip(Example._fields, columns, strict=True))


def _held_out_file(chosen: TrainingSettings, number: int, part: Part) -> dict[str, Any]:
    """Return labels hand by hand; numbers of different lengths lie one after the other."""
    generator = np.random.default_rng([chosen.seed, _HELD_OUT, number])
    kept: list[list[Float]] = []
    if not chosen.of_holdem:
        kept = [_small_judged(found) for found in _small_labels(chosen, generator, part, LABELS_A_FILE)]
    for k in range(LABELS_A_FILE if chosen.of_holdem else 0):
        part(k / LABELS_A_FILE)
        found = label(random_situation(_cards(chosen), generator, held_out=True), 2 * chosen.iterations)
        kept.append(_judged(found))
    names = ("seen", "length", "low", "share", "cfv", "check_down", "beside", "reach")
    return {
        name: np.concatenate(column).astype(np.float32)
        for name, column in zip(names, zip(*kept, strict=True), strict=True)
    }


def _judged(found: Label) -> list[Float]:
    places = places_of(found)
    hands = np.array([len(each) for each in found.cfv], np.float64)
    both = (places.low, places.share, found.cfv, found.check_down, found.beside, found.reach)
    return [places.seen, hands, *(np.concatenate(pair).astype(np.float64) for pair in both)]


def _small_labels(
    chosen: TrainingSettings, generator: np.random.Generator, part: Part, met: int
) -> Iterator[PublicLabel]:
    """Return a file's labels: some situations are met in our own solving, the others random."""
    known = PublicSituations(load_game(chosen.round))
    drawn = [known.random(generator) for _ in range(LABELS_A_FILE - met)]
    while len(drawn) < LABELS_A_FILE:
        found = known.met(generator, MET_ITERATIONS)
        chosen_ones = generator.permutation(len(found))[: min(30, LABELS_A_FILE - len(drawn))]
        drawn += [found[k] for k in chosen_ones]
    for k, at in enumerate(drawn):
        part(k / LABELS_A_FILE)
        yield known.label(*at, chosen.iterations)


def _small_example(found: PublicLabel) -> Example:
    """Return a label of a small game as a network is fitted to it: one number a hand, and no interpolation."""
    gain = np.array([cfv - down for cfv, down in zip(found.cfv, found.check_down, strict=True)])
    beside = np.array(found.beside)
    hands = gain.shape[1]
    return Example(
        found.seen,
        beside**2 / hands,
        np.zeros((2, hands - 1)),
        beside * gain / hands,
        (gain**2).sum(axis=1) / hands,
    )


def _small_judged(found: PublicLabel) -> list[Float]:
    hands = [len(each) for each in found.cfv]
    places = np.concatenate([np.arange(count) for count in hands]).astype(np.float64)
    both = (found.cfv, found.check_down, found.beside, found.reach)
    return [found.seen, np.array(hands, np.float64), places, 0.0 * places, *(np.concatenate(pair) for pair in both)]


Stored = dict[str, npt.NDArray[np.float32]]


def _load(path: Path) -> Stored:
    try:
        with np.load(path, allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}
    except (OSError, ValueError, KeyError, EOFError) as error:
        raise DamagedFile(f"{path} is damaged ({damage(error)}); remove it, and it is made again") from None


def _held_out(folder: Path, chosen: TrainingSettings) -> list[Stored]:
    return [_load(folder / "held-out" / f"{k:05}.npz") for k in range(_files(chosen.held_out))]


def _fit(folder: Path, chosen: TrainingSettings, device: str, report: Report) -> ValueNetwork:
    from equipoise.networks.devices import find_device
    from equipoise.networks.value_fitting import fit_values

    files = [_load(folder / "labels" / f"{k:05}.npz") for k in range(_files(chosen.labels))]
    data = {name: np.concatenate([file[name] for file in files]) for name in Example._fields}
    weights, biases = fit_values(
        data,
        width=chosen.width,
        layers=chosen.layers,
        passes=chosen.passes,
        batch=chosen.batch,
        rate=chosen.rate,
        seed=chosen.seed,
        kept=folder / "fit.npz",
        report=report,
        device=find_device(device),
    )
    header = asdict(chosen) | {
        "layers": len(weights),
        "weights": sum(each.size for each in (*weights, *biases)),
        "bets": BETS,
        "command": command_of(chosen),
        "versions": provenance.versions(),
        "commit": provenance.commit(),
    }
    return ValueNetwork(header=header, weights=weights, biases=biases)


def command_of(chosen: TrainingSettings) -> str:
    """Return the command that makes a network."""
    usual = asdict(TrainingSettings())
    given = {name: value for name, value in asdict(chosen).items() if name != "round" and value != usual[name]}
    return f"equipoise train-values {chosen.round}" + "".join(
        f" --{name.replace('_', '-')} {value}" for name, value in given.items()
    )


def huber(errors: Float) -> Float:
    """Return the Huber losses of errors, with its corner at 1."""
    size = np.abs(errors)
    losses: Float = np.where(size < 1.0, 0.5 * size**2, size - 0.5)
    return losses


def judge(network: ValueNetwork, files: list[Stored], report: Report) -> Losses:
    """Return how far a network is from labels that are kept hand by hand."""
    rows: list[tuple[float, ...]] = []
    for number, file in enumerate(files):
        report("held-out labels", number / len(files))
        lengths = file["length"].astype(np.int64).reshape(-1, 2)
        read = network.read(file["seen"].reshape(len(lengths), -1)).astype(np.float64)
        start = 0
        for row, pair in enumerate(lengths):
            hands = slice(start, start + int(pair.sum()))
            start = hands.stop
            part = {
                name: file[name][hands].astype(np.float64) for name in ("share", "cfv", "check_down", "beside", "reach")
            }
            column = file["low"][hands].astype(np.int64) + np.repeat([0, read.shape[1] // 2], pair)
            after = np.minimum(column + 1, read.shape[1] - 1)
            gain = (1.0 - part["share"]) * read[row, column] + part["share"] * read[row, after]
            weight = part["reach"] * part["beside"]
            gain -= (weight @ gain) / weight.sum()
            errors = part["check_down"] + gain * part["beside"] - part["cfv"]
            rows.append(
                (
                    float(huber(errors).mean()),
                    float(np.abs(errors).mean()),
                    float(part["reach"] @ np.abs(errors)) / 2.0,
                    float(huber(2.0 * errors).mean()),
                    float(huber(part["check_down"] - part["cfv"]).mean()),
                )
            )
    table = np.array(rows)
    means = table.mean(axis=0)
    error = float(table[:, 0].std(ddof=1) / np.sqrt(len(table))) if len(table) > 1 else float("nan")
    return Losses(
        huber=float(means[0]),
        huber_error=error,
        mean_absolute=float(means[1]),
        weighted_absolute=float(means[2]),
        half_pot_huber=float(means[3]),
        check_down_huber=float(means[4]),
    )
