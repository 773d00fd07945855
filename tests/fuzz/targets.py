"""What is fuzzed: each target has inputs, and what is done with one of them in a folder of its own."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

import equipoise
from equipoise.evaluation.exploitability import evaluate
from equipoise.evaluation.hand_logs import hand_history, log_line
from equipoise.evaluation.match import play_match
from equipoise.evaluation.players import BASELINES
from equipoise.games import CATALOGUE, Game, load_game
from equipoise.games.catalogue import as_game
from equipoise.games.efg import load_efg, write_efg
from equipoise.games.hand_histories import read_acpc_line, read_phh, read_phhs
from equipoise.games.ranges import read_range
from equipoise.games.spots import Spot, load_spot_file
from equipoise.policies import Policy, read_policy
from equipoise.policies.holdem_policy import HoldemPolicy
from equipoise.runs.run_file import run_file
from equipoise.settings import GAMES, Choice, Number, Whole, completed
from equipoise.solvers.recipes import RECIPES
from equipoise.solving import load_policy
from equipoise.trees.compile import compile_game
from tests.fuzz.inputs import (
    damaged_arrays,
    damaged_bytes,
    damaged_json,
    damaged_text,
    json_values,
    words,
)
from tests.fuzz.own_games import FaultyGame, faulty_games
from tests.fuzz.property import command, require_exit, unchanged, works_or_says

SMALL_GAMES = ("kuhn_poker", "one_card_poker(cards=4)", "leduc_poker", "nl_leduc(stack=3)", "goofspiel(cards=3)")


@dataclass(frozen=True)
class Target:
    """Inputs, and what must hold for each; ``make`` may write files for it, once, into a folder."""

    name: str
    make: Callable[[Path], tuple[st.SearchStrategy[Any], Callable[[Any], object]]]


def _solved(game: Game | str, algorithm: str = "cfr+", **options: Any) -> object:
    solution = equipoise.solve(game, algorithm, iterations=2, **options)
    return repr(solution), repr(solution.policy), solution.exploitability


# ---- games


SPOT_TEXTS = (
    "spot(board=Td9d6hQc2s,pot=200,stack=900,first=66+|A8s+|KQo,second=22-99|AKs:0.5,bets=0.5-1-allin)",
    "spot(board=AhKd2c7s3d,pot=10,stack=5,first=AA|KhQh,second=QQ|JTs,bets=allin,raises=1,rake=0.05,cap=3)",
    "spot(board=2c3c4c5c7d,pot=1,stack=3,first=all,second=random,bets=1)",
)
GAME_TEXTS = (
    *SMALL_GAMES,
    *(entry.usage for entry in CATALOGUE.values()),
    *SPOT_TEXTS,
    "open_spiel:kuhn_poker(players=2)",
    "open_spiel:leduc_poker",
    "open_spiel:liars_dice(numdice=1,dice_sides=3)",
    "efg:nowhere.efg",
    "python:nowhere.py",
    "spot:nowhere.txt",
)


def _small(game: Game) -> bool:
    if isinstance(game, Spot):
        return game.rounds == 1
    return game.name in SMALL_GAMES


def game_texts(folder: Path) -> tuple[Any, Any]:
    os.chdir(folder)
    names = tuple(parameter.name for entry in CATALOGUE.values() for parameter in entry.parameters)

    def check(text: str) -> None:
        def load() -> None:
            game = load_game(text)
            assert len(game.name.splitlines()) == 1
            if _small(game):
                _solved(game)

        works_or_says(load)

    return damaged_text(GAME_TEXTS, (*CATALOGUE, *names, "spot", "open_spiel", "efg", "python")) | words, check


TINY = {  # as short as each setting allows: a fuzzed run is a run of milliseconds
    "batch": 3,
    "steps": 2,
    "strategy_steps": 2,
    "strategy_every": 1,
    "traversals": 3,
    "fresh_steps": 2,
    "policy_steps": 2,
    "episodes": 3,
    "width": 3,
    "strategy_width": 3,
    "capacity": 50,
    "q_capacity": 50,
    "minibatch": 8,
    "strategy_minibatch": 8,
}


def _values(kind: object) -> st.SearchStrategy[Any]:
    if isinstance(kind, Choice):
        return st.sampled_from(kind.words) | words
    if isinstance(kind, Whole):  # a large count is much work, not a fault
        return st.integers(-2, 6) | st.floats(-3, 8) | words | st.just(kind.word or "max")
    if isinstance(kind, Number):
        return st.floats() | st.sampled_from([0, 1, 0.5, 1e-300, 1e300, -1.0]) | words
    return st.sampled_from(["yes", "no", "none", "ehs2:3", "kmeans:2", "ehs2:0", "call|fold", "ends", "auto"]) | words


@st.composite
def _settings(draw: Any) -> tuple[str, dict[str, Any]]:
    recipe = RECIPES[draw(st.sampled_from(sorted(RECIPES)))]
    given = {}
    for knob in (
        draw(st.lists(st.sampled_from(recipe.knobs), max_size=4, unique_by=lambda k: k.name)) if recipe.knobs else ()
    ):
        given[knob.name] = draw(_values(knob.kind))
    if draw(st.integers(0, 9)) == 0:
        given[draw(words)] = draw(words)
    return recipe.name, given


def settings_of_algorithms(folder: Path) -> tuple[Any, Any]:
    def check(chosen: tuple[str, dict[str, Any]]) -> None:
        name, given = chosen
        recipe = RECIPES[name]
        for game in GAMES:
            works_or_says(lambda game=game: recipe.resolve(given, game=game))  # type: ignore[misc]
        tiny = {knob.name: TINY[knob.name] for knob in recipe.knobs if knob.name in TINY}

        def solve() -> None:
            here = recipe.resolve({})  # what a variant does not have would be refused, and nothing else tried
            for knob in recipe.knobs:
                if knob.name in given and isinstance(knob.kind, Choice) and given[knob.name] in knob.kind.words:
                    here = {**here, knob.name: given[knob.name]}
            has = completed(recipe.knobs, here, owner=name, game="listed")
            _solved("kuhn_poker", name, parameters={**{k: v for k, v in tiny.items() if k in has}, **given})

        works_or_says(solve)

    return _settings(), check


def efg_files(folder: Path) -> tuple[Any, Any]:
    samples = []
    for text in ("kuhn_poker", "one_card_poker(cards=2)", "goofspiel(cards=3)"):
        write_efg(load_game(text), folder / "sample.efg")
        samples.append((folder / "sample.efg").read_text(encoding="utf-8"))
    file = folder / "game.efg"
    encoded = st.one_of([damaged_bytes(sample.encode()) for sample in samples])
    texts = damaged_text(tuple(samples), ("c", "p", "t", "EFG", "2", "R", "1/2", "1/0", "1e999", "{", "}", '"'))

    def check(content: bytes) -> None:
        file.write_bytes(content)

        def load() -> None:
            game = load_efg(file)
            compile_game(game)
            _solved(game)

        with unchanged(folder):
            works_or_says(load)

    return encoded | texts.map(lambda text: text.encode("utf-8", "surrogatepass")), check


def own_games(folder: Path) -> tuple[Any, Any]:
    def check(chosen: tuple[FaultyGame, str, str]) -> None:
        game, algorithm, engine = chosen
        works_or_says(lambda: _solved(game, algorithm, engine=engine))
        works_or_says(lambda: write_efg(as_game(game), folder / "own.efg"))
        works_or_says(lambda: play_match(BASELINES["uniform"], BASELINES["uniform"], hands=4, game=game))

    algorithms = st.sampled_from(["cfr+", "xfp", "es-mccfr", "os-mccfr", "is-mccfr"])
    return st.tuples(faulty_games(), algorithms, st.sampled_from(["auto", "sequence", "vector"])), check


def spots_and_ranges(folder: Path) -> tuple[Any, Any]:
    ranges = ("66+,A8s+,KQo,72o:0.25", "22-99 AKs AhKd", "all", "random", "A2s-A9s,KTs+,TT:1.0", "AsAh,AsAd:0")
    file = folder / "spot.txt"
    spot_file = (
        "# a spot\nname test\nboard Td9d6hQc2s\npot 200\nstack 900\noop 66+,A8s+\nip 22-99,AKs:0.5\nbet 0.5-1-allin\n",
        "board AhKd2c7s3d\npot 10\nstack 5\nfirst AA\nsecond QQ\nbets 0.5/1/1\nraises 2\nrake 0.05\ncap 3\n",
    )
    deck = (
        "A",
        "K",
        "Q",
        "T",
        "9",
        "2",
        "s",
        "o",
        "h",
        "d",
        "+",
        "-",
        ":",
        "allin",
        "0.5",
        "1",
        "board",
        "pot",
        "stack",
    )

    def check(chosen: tuple[str, str]) -> None:
        kind, text = chosen
        if kind == "range":
            works_or_says(lambda: str(read_range(text)))
            return
        if kind == "text":
            works_or_says(lambda: load_game(text))
            return
        file.write_bytes(text.encode("utf-8", "surrogatepass"))

        def load() -> None:
            spot = load_spot_file(str(file))
            if _small(spot):
                _solved(spot, "dcfr")

        with unchanged(folder):
            works_or_says(load)

    return (
        st.tuples(st.just("range"), damaged_text(ranges, deck))
        | st.tuples(st.just("text"), damaged_text(SPOT_TEXTS, deck))
        | st.tuples(st.just("file"), damaged_text(spot_file, deck)),
        check,
    )


# ---- files


@cache
def _sample_run(folder: Path, algorithm: str = "dcfr", game: str = "kuhn_poker") -> Path:
    run = folder / f"sample-{algorithm}"
    tiny = {knob.name: TINY[knob.name] for knob in RECIPES[algorithm].knobs if knob.name in TINY}
    equipoise.solve(game, algorithm, iterations=6, out=run, evaluation_growth=1.5, parameters=tiny)
    return run


def _network_policy(folder: Path, algorithm: str) -> bytes:
    """Return a policy file of networks on a hold'em game that is too large to list."""
    few = {"traversals": 4, "width": 3, "steps": 2, "fresh_steps": 2, "minibatch": 8, "capacity": 50}
    more = {"policy_steps": 2} if algorithm == "deep-cfr" else {}
    found = equipoise.solve("limit_holdem(caps=1-1-1-1)", algorithm, iterations=2, parameters={**few, **more})
    found.policy.save(folder / "networks.npz")
    return (folder / "networks.npz").read_bytes()


def _spot_policy(folder: Path) -> bytes:
    """Return a policy file of a spot."""
    equipoise.solve(SPOT_TEXTS[1], "dcfr", iterations=3).policy.save(folder / "spot.npz")
    return (folder / "spot.npz").read_bytes()


def policy_files(folder: Path) -> tuple[Any, Any]:
    sample = (_sample_run(folder) / "policy.npz").read_bytes()
    shutil.rmtree(_sample_run(folder))
    samples = [sample, _spot_policy(folder), *(_network_policy(folder, name) for name in ("deep-cfr", "sd-cfr"))]
    work, elsewhere = folder / "work", folder / "elsewhere"
    work.mkdir()
    elsewhere.mkdir()
    file = work / "policy.npz"

    def check(content: bytes) -> None:
        file.write_bytes(content)

        def use() -> None:
            policy = read_policy(file)
            repr(policy), len(policy), policy.parts()
            if isinstance(policy, HoldemPolicy):
                found = policy["AhKd|"]
                assert abs(sum(found.values()) - 1.0) < 1e-6, found
                policy.line("c")
            elif isinstance(policy, Policy):
                [policy[key] for key in policy]
                evaluate(load_game(policy.game), policy)
            else:
                evaluate(policy.rules, policy)
                policy.line("")
            play_match(load_policy(file), BASELINES["uniform"], hands=4)

        with unchanged(work):
            works_or_says(use)
            command("show", file)
            command("evaluate", file, "--json")
            command("match", file, "uniform", "--hands", 4)
            for to in ("csv", "json", "open-spiel"):
                command("export", file, "--to", to, "-o", elsewhere / "out")

    return st.one_of([each(sample) for sample in samples for each in (damaged_bytes, damaged_arrays)]), check


def _fresh(sample: Path, folder: Path) -> Path:
    run = folder / "run"
    shutil.rmtree(run, ignore_errors=True)
    shutil.copytree(sample, run)
    (run / "notes.txt").write_text("the user's own")
    return run


READERS = (("show",), ("evaluate",), ("config",), ("match", "uniform", "--hands", 4), ("show", "--json"))


def _use(run: Path, damaged: str, iterations: int = 8) -> None:
    """Read a run in every way, which changes nothing; then go on with it, which loses nothing."""
    with unchanged(run):
        for name, *more in READERS:
            command(name, run, *more)
        command("export", run, "--to", "csv", "-o", run.parent / "out.csv")
        command("plot", run, "-o", run.parent / "out.svg")
    before = {file: file.read_bytes() for file in run.rglob("*") if file.is_file()}
    went_on = command("resume", run, "--iterations", iterations)
    assert (run / "notes.txt").read_text() == "the user's own"
    kept = ("config.json", damaged) if went_on else [str(file.relative_to(run)) for file in before]
    for name in kept:
        if name == "lock" or (went_on and name.startswith(("checkpoints", "policy", "result"))):
            continue
        content = before.get(run / name, b"")
        if went_on and name == "config.json":  # written again, with another end
            assert _without_end(content) == _without_end((run / name).read_bytes()), "settings were lost"
            continue
        there = [file.read_bytes() for file in run.glob(f"{name}*") if file.is_file()]
        assert content in there or not content or (went_on and name == "log.jsonl"), f"{name} was lost"


def _without_end(config: bytes) -> str:
    return json.dumps({name: value for name, value in json.loads(config).items() if name != "stop"})


def checkpoints(folder: Path) -> tuple[Any, Any]:
    samples = [_sample_run(folder, name) for name in ("dcfr", "rs-mccfr+", "dncfr", "deep-cfr", "nfsp", "xfp")]
    contents = [(sample, sorted((sample / "checkpoints").glob("*.npz"))[-1]) for sample in samples]

    def check(chosen: tuple[int, bytes]) -> None:
        number, content = chosen
        sample, file = contents[number]
        run = _fresh(sample, folder)
        name = f"checkpoints/{file.name}"
        (run / name).write_bytes(content)
        (run / "policy.npz").unlink()  # else the checkpoint is not read
        before = {each.name: each.read_bytes() for each in run.iterdir() if each.is_file() and each.name != "lock"}
        with unchanged(run):
            works_or_says(lambda: load_policy(run))
            command("evaluate", run)
        if not command("resume", run, "--iterations", 8):
            assert (run / name).read_bytes() == content
            assert before == {each.name: each.read_bytes() for each in run.iterdir() if each.name in before}
        assert (run / "notes.txt").read_bytes() == before["notes.txt"]

    damaged = [
        st.tuples(st.just(number), damaged_bytes(file.read_bytes()) | damaged_arrays(file.read_bytes()))
        for number, (_, file) in enumerate(contents)
    ]
    return st.one_of(damaged), check


def run_directories(folder: Path) -> tuple[Any, Any]:
    sample = _sample_run(folder)
    inputs = []
    for name in ("config.json", "log.jsonl", "result.json"):
        content = (sample / name).read_bytes()
        inputs.append(st.tuples(st.just(name), damaged_bytes(content)))
        if name != "log.jsonl":
            as_json = damaged_json(json.loads(content)).map(lambda value: json.dumps(value).encode())
            inputs.append(st.tuples(st.just(name), as_json))
    lines = (sample / "log.jsonl").read_text().splitlines()
    odd_lines = st.lists(st.sampled_from(lines) | json_values.map(json.dumps) | words, max_size=6)
    inputs.append(
        st.tuples(st.just("log.jsonl"), odd_lines.map(lambda some: "\n".join(some).encode("utf-8", "surrogatepass")))
    )

    def check(chosen: tuple[str, bytes]) -> None:
        name, content = chosen
        run = _fresh(sample, folder)
        (run / name).write_bytes(content)
        _use(run, name)

    return st.one_of(inputs), check


HISTORIES = ("kuhn_poker", "leduc_poker", "flop_holdem", "limit_holdem", "nolimit_holdem")


def hand_histories(folder: Path) -> tuple[Any, Any]:
    games = {name: load_game(name) for name in HISTORIES}
    inputs = []
    for name, game in games.items():
        played: list[Any] = []
        baseline = BASELINES["always-call" if "holdem" in name else "uniform"]
        play_match(baseline, BASELINES["uniform"], hands=12, game=game, on_hand=played.append, known="none")
        lines = tuple(log_line(hand, ("a", "b")) for hand in played)
        inputs.append(
            st.tuples(st.just(name), st.just("acpc"), damaged_text(lines, ("STATE", "r", "c", "f", "/", "|")))
        )
        if "holdem" in name:
            tables = tuple(hand_history(hand, ("a", "b")) for hand in played[:4])
            more = (
                "p1",
                "p2",
                "cbr",
                "cc",
                "f",
                "d",
                "dh",
                "db",
                "sm",
                "[",
                "]",
                "actions",
                "players",
                "hand",
                "_game",
            )
            inputs.append(st.tuples(st.just(name), st.just("phhs"), damaged_text(tables, more)))
            single = tuple(table.split("\n", 1)[1] for table in tables)
            inputs.append(st.tuples(st.just(name), st.just("phh"), damaged_text(single, more)))

    def check(chosen: tuple[str, str, str]) -> None:
        name, kind, text = chosen
        read = {"acpc": read_acpc_line, "phh": read_phh, "phhs": read_phhs}[kind]
        works_or_says(lambda: read(games[name], text))  # type: ignore[operator]

    return st.one_of(inputs), check


def run_files(folder: Path) -> tuple[Any, Any]:
    config = json.loads((_sample_run(folder) / "config.json").read_text())
    samples = (
        run_file(config),
        'game = "leduc_poker"\nalgorithm = "es-mccfr"\nseed = 3\nfirst_evaluation = 1\n[parameters]\nbatch = 2\n',
        'game = "kuhn_poker"\nuntil = 0.5\nseconds = 0.1\nengine = "vector"\nevaluation_growth = 2.0\n',
    )
    file, out = folder / "run.toml", folder / "out"

    def check(text: str) -> None:
        file.write_bytes(text.encode("utf-8", "surrogatepass"))
        shutil.rmtree(out, ignore_errors=True)
        content = file.read_bytes()
        # The command line's limit takes the place of the file's: a large number there is much work, not a fault.
        command("solve", "--config", file, "--iterations", 2, "--out", out)
        assert file.read_bytes() == content

    more = ("game", "true", "1.5", "[parameters]", '"auto"', "-1", "1e400", "nan", "2", "alpha", "seed", "until_mbb")
    return damaged_text(samples, more), check


# ---- command lines


COMMANDS = ("games", "algorithms", "solve", "resume", "evaluate", "match", "show", "plot", "export", "config", "--help")
OPTIONS = (
    *("--iterations", "--until", "--seed", "--threads", "--engine", "--set", "--preset", "--device", "--algorithm"),
    *("--json", "--infoset", "--player", "--limit", "--line", "--hand", "--board", "--hands", "--exact", "--aivat"),
    *("--evaluation-growth", "--first-evaluation", "--checkpoint-seconds", "--to", "-o", "--game", "--log", "--phh"),
    *("--restart", "--trust-game", "--version", "--help", "--until-mbb", "--until-pot", "--core-seconds", "--output"),
)


def _arguments(folder: Path) -> st.SearchStrategy[list[str]]:
    values = (
        *("kuhn_poker", "cfr+", "deep-cfr", "1", "0", "-1", "csv", "json", "uniform", "always-call", "K|", "out.csv"),
        *("alpha=1", "updates=simultaneous", "run", "run/policy.npz", "run/config.json", ".", "auto", "cpu", "vector"),
    )
    plain = st.text(st.characters(blacklist_characters="/\0", blacklist_categories=("Cs",)), max_size=4)
    value = st.sampled_from(values) | plain
    pair = st.tuples(st.sampled_from(OPTIONS), value)
    return st.builds(
        lambda first, subject, pairs: [first, *subject, *(each for pair in pairs for each in pair)],
        st.sampled_from(COMMANDS),
        st.lists(value, max_size=2),
        st.lists(pair, max_size=3),
    )


# What these would do is long, or another test's: all else is as given.
def _bounded(arguments: list[str]) -> list[str]:
    limits = {"solve": ["--iterations", "2"], "resume": ["--iterations", "8"], "match": ["--hands", "10"]}
    wanted = limits.get(arguments[0], [])
    return arguments if not wanted or wanted[0] in arguments else [*arguments, *wanted]


def _prepared(folder: Path) -> None:
    shutil.copytree(_sample_run(folder), folder / "work" / "run")
    os.chdir(folder / "work")


def command_lines(folder: Path) -> tuple[Any, Any]:
    sample = _sample_run(folder)
    work = folder / "work"

    def check(arguments: list[str]) -> None:
        os.chdir(folder)
        shutil.rmtree(work, ignore_errors=True)
        _prepared(folder)
        command(*_bounded(arguments))

    assert sample.exists()
    return _arguments(folder), check


def processes(folder: Path) -> tuple[Any, Any]:
    """A few of the command lines as users run them: a process each."""
    _prepared(folder)

    def check(arguments: list[str]) -> None:
        if any("\0" in argument for argument in arguments):
            return
        done = subprocess.run(
            [sys.executable, "-m", "equipoise", *_bounded(arguments)], capture_output=True, timeout=100
        )
        require_exit(done.returncode, done.stderr.decode(errors="replace"))

    return _arguments(folder), check


TARGETS = {
    target.name: target
    for target in (
        Target("game texts", game_texts),
        Target("--set", settings_of_algorithms),
        Target(".efg files", efg_files),
        Target("own games", own_games),
        Target("spots and ranges", spots_and_ranges),
        Target("policies", policy_files),
        Target("checkpoints", checkpoints),
        Target("run directories", run_directories),
        Target("hand histories", hand_histories),
        Target("run files (TOML)", run_files),
        Target("command lines", command_lines),
        Target("processes", processes),
    )
}
