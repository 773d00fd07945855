"""The command line. Each command is a typed function, and imports what it needs when it runs: --help stays quick."""

import json
import math
import os
import sys
import warnings
import zlib
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, redirect_stdout, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NoReturn

from cyclopts import App, CycloptsError, Parameter

from equipoise.errors import (
    EquipoiseError,
    EquipoiseWarning,
    InvalidParameter,
    NotFound,
    NotSupported,
    TooLarge,
    nearest,
    one_line,
    require_whole,
)
from equipoise.files import is_standard_output, write_atomically
from equipoise.usage import NUMBER, WHOLE, in_words

if TYPE_CHECKING:
    from equipoise.games import Game
    from equipoise.policies.holdem_policy import HoldemPolicy, Line
    from equipoise.policies.spot_policy import SpotPolicy
    from equipoise.runs.directory import RunDirectory
    from equipoise.solving import Solution

LONGEST_NAME = 120  # of a run directory
MOST_ROWS = 5_000_000  # of an export of a spot

app = App(
    name="equipoise",
    help="Find near-unexploitable strategies for imperfect-information games, and look at them.",
    version_flags=["--version"],
    suppress_keyboard_interrupt=False,  # main() says a word
)

Json = Annotated[
    bool, Parameter(name="--json", negative="", help="Print one JSON object as the last line, errors too.")
]
Run = Annotated[Path, Parameter(help="A run directory, as written by `equipoise solve`.")]
Settings = Annotated[
    list[str] | None,
    Parameter(name="--set", negative="", help="Set a parameter of the algorithm: name=value. Repeat for more."),
]
Device = Annotated[
    str, Parameter(help="Where networks are: cpu, cuda, cuda:1, mps; auto is an accelerator if there is one, else cpu.")
]
TrustGame = Annotated[
    bool,
    Parameter(negative="", help="Run the Python code of the game (python:PATH) that the run or the policy names."),
]
OwnGame = Annotated[
    str | None, Parameter(name="--game", help="The game, in place of what the run or policy says: python:PATH.")
]
Threads = Annotated[int, Parameter(help="Threads to use where they help; the result does not depend on it."), WHOLE]
OnCluster = Annotated[
    str | None,
    Parameter(
        help="Work on a Ray cluster: local:N (N workers on this machine), auto (the cluster of this machine) or "
        "ray://HOST:PORT. The result does not depend on it."
    ),
]


@app.command
def games(*, json: Json = False) -> None:
    """List the games, with their sizes."""
    from equipoise.games import ADAPTERS, CATALOGUE
    from equipoise.views.games import list_games, sizes

    if json:
        return _print_json(list_games())
    from equipoise.views.tables import print_rows

    counted = sizes()
    rows = [(e.usage, f"{counted[e.name]:,}", e.about, e.source) for e in CATALOGUE.values()]
    print_rows(rows, columns=("game", "infosets", "what it is", "source"))
    print()
    print_rows(list(ADAPTERS.items()), columns=("more games", "what they are"))
    return None


@app.command
def algorithms(
    name: Annotated[str | None, Parameter(help="Explain this algorithm: paper, parameters, presets.")] = None,
    /,
    *,
    json: Json = False,
) -> None:
    """List the algorithms, or explain one of them: its paper, parameters and presets."""
    from equipoise.solvers.recipes import RECIPES, find_recipe
    from equipoise.views.algorithms import list_algorithms, print_algorithm, print_algorithms

    if json:
        return _print_json(list_algorithms(name))
    recipes = list(RECIPES.values()) if name is None else [find_recipe(name)]
    return print_algorithms(recipes) if name is None else print_algorithm(recipes[0])


@app.command
def solve(
    game: Annotated[
        str | None, Parameter(help="A game, such as leduc_poker or 'nl_leduc(stack=5)'; see `equipoise games`.")
    ] = None,
    /,
    *,
    config: Annotated[
        Path | None,
        Parameter(
            help="Read options from this TOML file; what the command line says comes first. See `equipoise config`."
        ),
    ] = None,
    algorithm: Annotated[
        str | None, Parameter(help="See `equipoise algorithms`; by default cfr+; dcfr for flop_holdem and spots.")
    ] = None,
    iterations: Annotated[int | None, Parameter(help="Stop after this many iterations."), WHOLE] = None,
    until: Annotated[float | None, Parameter(help="Stop at this exploitability (nash_conv / 2)."), NUMBER] = None,
    until_mbb: Annotated[
        float | None,
        Parameter(help="Hold'em: stop at this nash_conv (both players' gains added up), in mbb/g."),
        NUMBER,
    ] = None,
    until_pot: Annotated[
        float | None, Parameter(help="Spots: stop at this exploitability in per cent of the pot, such as 0.5.")
    ] = None,
    seconds: Annotated[
        float | None,
        Parameter(
            help="Stop solving after this many seconds. Compiling kernels and preparing the game come before, the last "
            "evaluation after."
        ),
        NUMBER,
    ] = None,
    core_seconds: Annotated[
        float | None,
        Parameter(help="Stop solving after this many seconds of processor time, all threads together."),
        NUMBER,
    ] = None,
    seed: Annotated[int | None, Parameter(help="Seed of the random numbers; by default 0."), WHOLE] = None,
    out: Annotated[Path | None, Parameter(help="The run directory; by default runs/GAME-ALGORITHM-seedN.")] = None,
    threads: Annotated[
        int | None,
        Parameter(help="Threads to use where they help, by default 1; the result does not depend on it."),
        WHOLE,
    ] = None,
    engine: Annotated[
        Literal["auto", "sequence", "vector", "boards"] | None,
        Parameter(help="How the game is stored: auto, the default, chooses the fastest."),
    ] = None,
    set_: Settings = None,
    lock: Annotated[
        list[str] | None,
        Parameter(
            negative="",
            help="Spots: bind hands to a strategy at a line, LINE:RANGE=STRATEGY, such as 'c:QQ+,AK=check:0.3,bet "
            "200:0.7'; the rest is solved around it. Repeat for more.",
        ),
    ] = None,
    values: Annotated[
        str | None,
        Parameter(
            help="Spots that end early (until=river): what the next round is worth: check-down (equity, the default), "
            "zero, exact (solved on), network, or the file of a value network."
        ),
    ] = None,
    preset: Annotated[
        str | None, Parameter(help="A named set of parameters, such as dn19; see `equipoise algorithms NAME`.")
    ] = None,
    init_from: Annotated[Path | None, Parameter(help="Initialise the networks from this run of the same game.")] = None,
    device: Annotated[
        str | None,
        Parameter(
            help="Where networks are: cpu, cuda, cuda:1, mps; auto, the default, is an accelerator if there is one, or "
            "else cpu."
        ),
    ] = None,
    amp: Annotated[
        Literal["bf16"] | None,
        Parameter(help="Fit networks in mixed precision, where the hardware has it; the same as --set amp=bf16."),
    ] = None,
    cluster: OnCluster = None,
    tensorboard: Annotated[
        bool | None, Parameter(negative="", help="Also log evaluations for TensorBoard, in the run directory.")
    ] = None,
    versus: Annotated[
        str | None,
        Parameter(
            help="Play a match at each evaluation against this fixed opponent: a run, a policy file, uniform, "
            "always-fold, always-call or always-raise. For games that are too large for exact evaluation."
        ),
    ] = None,
    versus_hands: Annotated[int | None, Parameter(help="Hands of each such match; by default 10,000."), WHOLE] = None,
    checkpoint_seconds: Annotated[
        float | None, Parameter(help="Seconds between checkpoints; by default 30."), NUMBER
    ] = None,
    first_evaluation: Annotated[int | None, Parameter(help="Evaluate first after this iteration."), WHOLE] = None,
    evaluation_growth: Annotated[
        float | None,
        Parameter(help="Evaluate whenever iterations have grown by this factor; 1.1 in most games."),
        NUMBER,
    ] = None,
    dry_run: Annotated[
        bool,
        Parameter(
            negative="", help="Only print all settings, memory, disk and the time per iteration, by trying two of them."
        ),
    ] = False,
    trust_game: TrustGame = False,
    json: Json = False,
) -> None:
    """Solve a game and save the run: configuration, log, checkpoints and policy.

    Stops at whichever of --iterations, --until, --until-mbb, --until-pot, --seconds and --core-seconds is reached
    first (1000 iterations if none is given).
    """
    from equipoise.games import load_game
    from equipoise.games.catalogue import StoredText
    from equipoise.games.spots import Spot, locked, valued
    from equipoise.runs.run_file import read_run_file
    from equipoise.solving import default_algorithm
    from equipoise.solving import solve as solve_game
    from equipoise.views.progress import show_progress

    options: dict[str, Any] = {} if config is None else read_run_file(config)
    written = options.pop("game", None)
    if game is None and written is not None:
        game = StoredText(written)
    if game is None:
        raise InvalidParameter("GAME is missing; see equipoise solve --help")
    limits = {
        "iterations": iterations,
        "until": until,
        "until_mbb": until_mbb,
        "until_pot": until_pot,
        "seconds": seconds,
        "core_seconds": core_seconds,
    }
    if any(limit is not None for limit in limits.values()):  # other limits take the place of the file's
        options = {name: value for name, value in options.items() if name not in limits}
    given = {
        **limits,
        "algorithm": algorithm,
        "seed": seed,
        "threads": threads,
        "engine": engine,
        "preset": preset,
        "init_from": init_from,
        "device": device,
        "cluster": cluster,
        "tensorboard": tensorboard,
        "versus": versus,
        "versus_hands": versus_hands,
        "checkpoint_seconds": checkpoint_seconds,
        "evaluation_growth": evaluation_growth,
        "first_evaluation": first_evaluation,
    }
    options |= {name: value for name, value in given.items() if value is not None}
    options["parameters"] = {**options.get("parameters", {}), **_settings(set_)}
    if amp is not None:
        options["parameters"]["amp"] = amp
    loaded = load_game(game, trusted=trust_game)
    if lock:
        if not isinstance(loaded, Spot):
            raise NotSupported(f"--lock is for spots; {loaded.name} is not a spot")
        loaded = locked(loaded, lock)
    if values is not None:
        if not isinstance(loaded, Spot):
            raise NotSupported(f"--values is for spots; {loaded.name} is not a spot")
        loaded = valued(loaded, values)
    algorithm = options.pop("algorithm", None)
    if algorithm is None:
        algorithm = default_algorithm(loaded)
    if dry_run:
        if cluster is not None:
            raise NotSupported("--dry-run tries a run on this machine; leave out --cluster")
        return _rehearse(loaded, algorithm, out, options, json)
    with (
        nullcontext(out) if out is not None else _new_folder(game, algorithm, options.get("seed", 0)) as folder,
        _resumable(folder, loaded.address.startswith("python:")),
        show_progress(f"{game} by {algorithm}") as on_progress,
    ):
        solution = solve_game(loaded, algorithm, out=folder, on_progress=on_progress, on_complaint=_warn, **options)
    return _print_solution(solution, folder, json)


def _rehearse(game: "Game", algorithm: str, out: Path | None, options: dict[str, Any], as_json: bool) -> None:
    """Print what a run would be, and what it would take."""
    from equipoise.memory import readable_bytes
    from equipoise.solving import rehearse, written_out
    from equipoise.views.progress import show_progress

    left_out = ("tensorboard", "versus", "versus_hands", "checkpoint_seconds")
    kept = {name: value for name, value in options.items() if name not in left_out}
    with show_progress(f"trying {game.name} by {algorithm}") as on_progress:
        config, numbers = rehearse(game, algorithm, out=out, on_progress=on_progress, on_complaint=_warn, **kept)
    if as_json:
        return _print_json({"config": config, **numbers})
    print(written_out(config))
    for name, number in numbers.items():
        what = name.removesuffix("_bytes").replace("_seconds", "").replace("_", " ")
        print(f"# {what:<33}{readable_bytes(number) if name.endswith('_bytes') else f'{number:.4g} s'}")
    return print("# evaluations and checkpoints come on top; memories that fill make iterations slower")


@app.command(name="config")
def print_config(run: Run, /, *, json: Json = False) -> None:
    """Print a run's configuration as TOML, every setting in full; `equipoise solve --config` makes the run again."""
    from equipoise.runs.directory import RunDirectory
    from equipoise.runs.settings import settings_of
    from equipoise.solving import run_file_of

    opened = RunDirectory.open(run)
    if json:
        return _print_json(settings_of(opened))
    print(run_file_of(opened), end="")
    return None


@app.command
def resume(
    run: Run,
    /,
    *,
    iterations: Annotated[int | None, Parameter(help="Continue until this many iterations in total."), WHOLE] = None,
    until: Annotated[
        float | None, Parameter(help="Continue until this exploitability (nash_conv / 2)."), NUMBER
    ] = None,
    until_mbb: Annotated[
        float | None, Parameter(help="Hold'em: continue until this nash_conv in mbb/g."), NUMBER
    ] = None,
    until_pot: Annotated[
        float | None, Parameter(help="Spots: go on to this exploitability in per cent of the pot.")
    ] = None,
    seconds: Annotated[
        float | None, Parameter(help="Continue until this time in total, earlier runs included."), NUMBER
    ] = None,
    core_seconds: Annotated[
        float | None, Parameter(help="Continue until this processor time in total."), NUMBER
    ] = None,
    threads: Annotated[int | None, Parameter(help="Threads to use where they help."), WHOLE] = None,
    restart: Annotated[
        bool, Parameter(negative="", help="Start again from the beginning if no checkpoint can be used.")
    ] = False,
    device: Device = "auto",
    cluster: OnCluster = None,
    game: OwnGame = None,
    trust_game: TrustGame = False,
    json: Json = False,
) -> None:
    """Continue a run that was interrupted, or take a finished one further."""
    from equipoise.solving import resume as resume_run
    from equipoise.views.progress import show_progress

    with _resumable(run, trust_game or game is not None), show_progress(f"resuming {run}") as on_progress:
        solution = resume_run(
            run,
            iterations=iterations,
            until=until,
            until_mbb=until_mbb,
            until_pot=until_pot,
            seconds=seconds,
            core_seconds=core_seconds,
            threads=threads,
            restart=restart,
            device=device,
            cluster=cluster,
            game=game,
            trust_game=trust_game,
            on_progress=on_progress,
            on_complaint=_warn,
        )
    _print_solution(solution, run, json)


@app.command(name="runs")
def print_runs(
    folder: Annotated[Path, Parameter(help="Where to look for run directories, folders in it included.")] = Path(
        "runs"
    ),
    /,
    *,
    json: Json = False,
) -> None:
    """List the runs below a folder: what each is, how far it is, and whether it is running now."""
    from equipoise.runs.listing import list_runs
    from equipoise.views.tables import print_rows

    if not folder.is_dir():
        raise NotFound(f"there is no folder {folder}; name the one that your runs are in")
    found = list_runs(folder)
    if json:
        return _print_json({"runs": found, "folder": str(folder)})
    rows = [
        (each["run"], "damaged", each["error"], "", "", "")
        if "error" in each
        else (
            each["run"],
            each["status"],
            each["game"] if len(each["game"]) <= 40 else f"{each['game'][:39]}…",
            each["algorithm"],
            f"{each['iteration']:,}" if "iteration" in each else "",
            f"{each['exploitability']:.4g}" if "exploitability" in each else "",
        )
        for each in found
    ]
    return print_rows(rows, columns=("run", "status", "game", "algorithm", "iterations", "exploitability"))


@app.command
def stop(run: Run, /, *, json: Json = False) -> None:
    """Ask the process that writes a run to stop; it writes a checkpoint first, and the run can be resumed."""
    from equipoise.runs.listing import stop_run

    stop_run(run)
    if json:
        return _print_json({"run": str(run), "asked_to_stop": True})
    return print(f"{run} stops after the step at hand; continue with: equipoise resume {run}")


@app.command
def serve(
    what: Annotated[
        list[str] | None,
        Parameter(help="Folders of runs, run directories, policy files and games to show; by default the folder runs."),
    ] = None,
    /,
    *,
    browser: Annotated[bool, Parameter(negative="--no-browser", help="Open the page in the browser.")] = True,
    port: Annotated[
        int | None, Parameter(help="The port to listen at; by default 8017, or a free one; 0 is a free one."), WHOLE
    ] = None,
    host: Annotated[
        str,
        Parameter(
            help="The address to listen at. Any but this machine's own makes the page need a token, printed once."
        ),
    ] = "127.0.0.1",
    device: Device = "auto",
    json: Json = False,
) -> None:
    """Show runs and strategies in the browser, as a page that this machine serves until Ctrl-C.

    New runs are kept in the first folder that is given. The page runs a game in Python (python:PATH) only if you
    name it here.
    """
    from equipoise.web.server import serve as serve_page
    from equipoise.web.site import site_of

    if device not in ("auto", "cpu"):
        from equipoise.networks.devices import find_device

        find_device(device)
    site = site_of(what or [], device=device)

    def ready(address: str) -> None:
        if json:
            _print_json({"url": address, "folder": str(site.home)})
        else:
            print(f"the page is at {address} (Ctrl-C ends it; runs that it has started go on)")
        sys.stdout.flush()

    serve_page(site, host=host, port=port, browser=browser, on_ready=ready)


@app.command
def evaluate(
    run: Annotated[Path, Parameter(help="A run directory or a policy file.")],
    /,
    *,
    complete: Annotated[
        int | None,
        Parameter(
            help="Spots that end early: solve what follows by this many iterations, and evaluate exactly in the whole "
            "spot."
        ),
        WHOLE,
    ] = None,
    lbr: Annotated[
        bool,
        Parameter(
            negative="",
            help="Poker: play local best response instead, which gives a lower bound on exploitability in any game.",
        ),
    ] = False,
    menu: Annotated[
        Literal["fc", "fcpa", "all"],
        Parameter(help="--lbr: what it may do: fold and call; also pot and all-in; or every action of the game."),
    ] = "all",
    hands: Annotated[int, Parameter(help="--lbr: hands to play, half of them from each seat."), WHOLE] = 1000,
    seed: Annotated[int, Parameter(help="--lbr: seed of the random numbers."), WHOLE] = 0,
    threads: Threads = 1,
    device: Device = "auto",
    game: OwnGame = None,
    trust_game: TrustGame = False,
    json: Json = False,
) -> None:
    """Compute the exact value, nash_conv and exploitability of a policy; or a lower bound, by local best response."""
    import time

    if lbr:
        return _play_lbr(str(run), menu, hands, seed, game, trust_game, device, json)

    from equipoise.evaluation.exploitability import evaluate as evaluate_policy
    from equipoise.runs.phases import EVALUATION, SOLVING, Phases
    from equipoise.solving import bound, completed, load_policy, named
    from equipoise.views.progress import show_progress

    started = time.perf_counter()
    with show_progress(f"evaluating {run}") as on_progress:
        policy = load_policy(run, game=game, trust_game=trust_game, device=device, on_progress=on_progress)
        rules = policy.rules
        phases = Phases(on_progress)
        if complete is not None:
            with phases.noticing_compilation(), phases.doing(SOLVING, "solving what follows"):
                policy = completed(policy, complete, threads=threads, report=phases.report)
                rules = policy.rules
        with phases.noticing_compilation(), phases.doing(EVALUATION):
            found = evaluate_policy(
                rules,
                policy,
                threads=threads,
                on_boards=lambda done, boards: phases.report("exact evaluation", done / boards),
            )
    numbers = {
        "game": policy.game,
        **{name: policy.origin.get(name) for name in ("algorithm", "iterations", "seed")},
        **named(rules, found),
        **bound(rules),
        "seconds": time.perf_counter() - started,
        "threads": threads,
    }
    if json:
        return _print_json(numbers)
    from equipoise.views.tables import print_numbers

    return print_numbers(numbers, unit=rules.chip_unit())


@app.command
def resolve(
    game: Annotated[
        str,
        Parameter(
            help="A game with public states: Kuhn, One-Card, Leduc and Bluff games. Or a solved spot or flop hold'em, "
            "as a run or a policy's file: what follows a deal is solved anew."
        ),
    ],
    /,
    *,
    gadget: Annotated[
        Literal["cfrd", "maxmargin", "unsafe"],
        Parameter(help="What bounds the opponent: cfrd, maxmargin, or unsafe for nothing but its range."),
    ] = "cfrd",
    values: Annotated[
        str,
        Parameter(
            help="What a deal of board cards is worth: exact (solved on), check-down (equity), zero, or the file of a "
            "value network."
        ),
    ] = "exact",
    iterations: Annotated[
        int | None, Parameter(help="Iterations of each solve: 1,000 by default, 300 on boards."), WHOLE
    ] = None,
    from_round: Annotated[
        Literal["turn", "river"] | None,
        Parameter(name="--from", help="Spots: the round that is solved anew; by default that of the next deal."),
    ] = None,
    threads: Annotated[
        int | None, Parameter(help="Flop hold'em: threads to share flops out to, by default 1."), WHOLE
    ] = None,
    output: Annotated[
        Path | None, Parameter(name=("--output", "-o"), help="Write the agent's strategy to this policy file.")
    ] = None,
    trust_game: TrustGame = False,
    json: Json = False,
) -> None:
    """Let an agent re-solve every public state at which it acts, or what follows a deal in a solved spot or in flop
    hold'em, and evaluate it exactly."""
    from equipoise.games import load_game
    from equipoise.resolving import BOARD_ITERATIONS, Resolved, ResolvedFlops, ResolvedSpot, resolve_flops, resolve_spot
    from equipoise.resolving import resolve as resolve_game
    from equipoise.solvers.resolving import DEFAULT_ITERATIONS
    from equipoise.solving import load_policy
    from equipoise.views.progress import show_progress

    found: Resolved | ResolvedFlops | ResolvedSpot
    if Path(game).exists():
        if values != "exact":
            raise NotSupported("a solved game is solved on to its end: leave out --values")
        with show_progress(f"{game} re-solved") as on_progress:
            policy = load_policy(game, trust_game=trust_game)
            chosen = BOARD_ITERATIONS if iterations is None else iterations
            if policy.game.startswith("spot("):
                _refuse_threads(threads)
                found = resolve_spot(
                    policy, gadget=gadget, from_round=from_round, iterations=chosen, on_progress=on_progress
                )
            else:
                if from_round is not None:
                    raise NotSupported("--from is for solved spots; flop hold'em is solved anew on every flop")
                found = resolve_flops(
                    policy, gadget=gadget, iterations=chosen, threads=threads or 1, on_progress=on_progress
                )
        unit = found.policy.rules.chip_unit()
    else:
        loaded, chosen = load_game(game), DEFAULT_ITERATIONS if iterations is None else iterations
        unit = loaded.chip_unit()
        if loaded.name.startswith("spot("):
            raise NotSupported("a spot is re-solved from its solution: solve it first, then equipoise resolve RUN")
        if from_round is not None:
            raise NotSupported("--from is for solved spots; other games are re-solved at every decision")
        _refuse_threads(threads)
        with show_progress(f"{game} by continual re-solving") as on_progress:
            found = resolve_game(loaded, gadget=gadget, values=values, iterations=chosen, on_progress=on_progress)
    if found.warning is not None:
        _warn(found.warning)
    if output is not None:
        found.policy.save(output)
    numbers = found.summary() | ({} if output is None else {"output": str(output)})
    if json:
        return _print_json(numbers)
    from equipoise.views.tables import print_numbers

    return print_numbers(numbers, unit=unit)


def _refuse_threads(threads: int | None) -> None:
    if threads is not None:
        raise NotSupported("--threads is for flop hold'em, whose flops are shared out; here everything is one thread's")


@app.command(name="train-values")
def train_values(
    round: Annotated[
        str,
        Parameter(
            help="river or turn: the round at whose beginning values are known; or a small game: nl_leduc(stack=5)."
        ),
    ],
    /,
    *,
    out: Annotated[
        Path | None, Parameter(help="A folder, values-ROUND by default; one that was begun is gone on with.")
    ] = None,
    labels: Annotated[int | None, Parameter(help="Situations to solve for training; by default 20,000."), WHOLE] = None,
    held_out: Annotated[
        int | None,
        Parameter(help="Situations to judge by, on boards that training never sees; by default 500."),
        WHOLE,
    ] = None,
    met: Annotated[
        float | None,
        Parameter(
            help="The share of labels whose ranges come from our own solving, by default 0.25; others are random."
        ),
        NUMBER,
    ] = None,
    iterations: Annotated[
        int | None,
        Parameter(help="Iterations of each label, by default 200; two or three times as many for deep stacks."),
        WHOLE,
    ] = None,
    width: Annotated[int | None, Parameter(help="Units of a layer, by default 384."), WHOLE] = None,
    layers: Annotated[int | None, Parameter(help="Residual layers, by default 4."), WHOLE] = None,
    passes: Annotated[int | None, Parameter(help="Passes over all labels, by default 60."), WHOLE] = None,
    batch: Annotated[int | None, Parameter(help="Labels a step, by default 256."), WHOLE] = None,
    rate: Annotated[
        float | None, Parameter(help="The rate of Adam at the beginning, by default 0.001."), NUMBER
    ] = None,
    seed: Annotated[int | None, Parameter(help="Seed of the random numbers; by default 0."), WHOLE] = None,
    device: Device = "auto",
    cluster: OnCluster = None,
    json: Json = False,
) -> None:
    """Train a value network: make labels by solving, fit, and print losses on boards that were kept out.

    Stopped or killed, the same command goes on. More --labels, --held-out or --passes take a folder further.
    """
    from equipoise.value_training import train_values as train
    from equipoise.views.progress import show_progress

    with show_progress(f"a value network of {round}") as on_progress:
        given = {
            "labels": labels,
            "held_out": held_out,
            "met": met,
            "iterations": iterations,
            "width": width,
            "layers": layers,
            "passes": passes,
            "batch": batch,
            "rate": rate,
            "seed": seed,
        }
        chosen: dict[str, Any] = {name: number for name, number in given.items() if number is not None}
        found = train(round, out, device=device, cluster=cluster, on_progress=on_progress, **chosen)
    if json:
        return _print_json(found.summary())
    from equipoise.views.tables import print_losses

    return print_losses(found.summary())


def _play_lbr(
    run: str,
    menu: Literal["fc", "fcpa", "all"],
    hands: int,
    seed: int,
    game: str | None,
    trust_game: bool,
    device: str,
    as_json: bool,
) -> None:
    """Print what local best response wins against a policy, or against a simple opponent."""
    from equipoise.evaluation.local_best_response import local_best_response
    from equipoise.evaluation.match import seat_players
    from equipoise.views.progress import show_counts

    player = _entrant(run, game, trust_game, device)
    rules, _ = seat_players(player, player, game)
    with show_counts(f"local best response to {run}", hands=hands) as watched:
        found = local_best_response(player, rules, hands=hands, menu=menu, seed=seed, on_progress=watched.hands)
    numbers = found.to_json()
    if as_json:
        return _print_json({**numbers, "seed": seed})
    low, high = numbers["mbb_interval"]
    print(f"local best response to {run} ({menu}), {found.hands:,} hands of {found.game}")
    print(f"wins {numbers['mbb_per_game']:.4g} mbb/g, 95% interval {low:.4g} to {high:.4g}")
    return print("exploitability (nash_conv / 2) is at least as much, up to the luck of these hands")


@app.command
def match(
    a: Annotated[
        str, Parameter(help="A run directory or policy file, or uniform, always-fold, always-call, always-raise.")
    ],
    b: Annotated[str, Parameter(help="The other player.")],
    /,
    *,
    hands: Annotated[
        int, Parameter(help="Hands to play; each deal is played twice, with seats swapped."), WHOLE
    ] = 100_000,
    game: Annotated[str | None, Parameter(help="The game, if neither player is a saved policy.")] = None,
    exact: Annotated[
        bool, Parameter(negative="", help="Compute the expected result instead of playing hands.")
    ] = False,
    aivat: Annotated[
        Literal["both", "a", "b", "none"] | None,
        Parameter(help="Whose strategy AIVAT may use to remove luck; by default both, on hold'em none (it is slow)."),
    ] = None,
    seed: Annotated[int, Parameter(help="Seed of the random numbers."), WHOLE] = 0,
    threads: Threads = 1,
    cluster: OnCluster = None,
    log: Annotated[
        Path | None, Parameter(help="Write the hands to this file, one line each; poker in ACPC format.")
    ] = None,
    phh: Annotated[Path | None, Parameter(help="Hold'em: write the hands to this file in PHH format.")] = None,
    standings: Annotated[
        Path | None, Parameter(help="Write how the match stands to this file as it goes on, one JSON object a line.")
    ] = None,
    device: Device = "auto",
    trust_game: TrustGame = False,
    json: Json = False,
) -> None:
    """Let two policies play each other: A's mean payoff per hand, with its 95% interval.

    Poker results are also given in mbb/g: thousandths of the big blind (or ante) per hand.
    """
    from equipoise.distribute.cluster import open_cluster
    from equipoise.evaluation.hand_logs import writing_hands, writing_standings
    from equipoise.evaluation.match import big_blind_of, exact_match, play_match
    from equipoise.views.progress import show_counts
    from equipoise.views.tables import print_exact_match, print_match

    players = _entrants(a, b, game, trust_game, device)
    if exact:
        if log is not None or phh is not None:
            raise NotSupported("--exact plays no hands, so there are none to write; leave out --log and --phh")
        if cluster is not None:
            raise NotSupported("--exact is worked out on one machine: leave out --cluster, or give --threads")
        if standings is not None:
            raise NotSupported("--exact plays no hands, so there are no standings on the way; leave out --standings")
        with show_counts(f"{a} against {b}", hands=0) as watched:
            expected = exact_match(*players, game=game, threads=threads, on_boards=watched.boards)
        played = expected.rules
        if json:
            return _print_json(expected.to_json())
        return print_exact_match(expected, unit=played.chip_unit(), big_blind=big_blind_of(played))
    with (
        writing_hands((a, b), log=log, phh=phh) as on_hand,
        writing_standings(standings) as on_standing,
        show_counts(f"{a} against {b}", hands=hands) as watched,
        nullcontext() if cluster is None else open_cluster(cluster) as workers,
    ):
        result = play_match(
            *players,
            hands=hands,
            game=game,
            known=aivat,
            seed=seed,
            threads=threads,
            workers=workers,
            on_progress=watched.hands,
            on_boards=watched.boards,
            on_hand=on_hand,
            on_standing=on_standing,
        )
    played = result.rules
    with _apart_from(log, phh):
        if json:
            return _print_json(result.to_json())
        return print_match(result, unit=played.chip_unit(), big_blind=big_blind_of(played))


def _entrants(a: str, b: str, game: str | None, trust_game: bool, device: str) -> tuple[Any, Any]:
    """Return the two players of a match; those with networks have them on the device."""
    from equipoise.solving import has_networks

    placed = {text: device if has_networks(text) else "auto" for text in (a, b)}
    if device not in ("auto", "cpu", *placed.values()):
        raise EquipoiseError(f"neither {a} nor {b} has networks to put on a device: leave out --device {device}")
    own = game if game is not None and game.startswith("python:") else None  # may stand in for what a file names
    games = {text: game if text.endswith(".csv") else own for text in (a, b)}  # such a file names none
    return _entrant(a, games[a], trust_game, placed[a]), _entrant(b, games[b], trust_game, placed[b])


def _entrant(text: str, game: str | None, trust_game: bool, device: str) -> Any:
    """Return the player that a text names: a baseline, or the policy of a run directory or policy file."""
    from equipoise.evaluation.players import BASELINES, player_of

    if text in BASELINES:
        return BASELINES[text]
    if not Path(text).exists():
        raise NotFound(
            f"'{text}' is not a run, a policy file or one of {', '.join(BASELINES)}{nearest(text, BASELINES)}"
        )
    return player_of(text, _opened(text, game, trust_game, device))


def _opened(path: str | Path, game: str | None, trust_game: bool, device: str) -> Any:
    """Return the policy of a run or file, and show what that takes: Deep CFR may have to fit its networks."""
    from equipoise.solving import load_policy
    from equipoise.views.progress import show_progress

    with show_progress(f"opening {path}") as on_progress:
        return load_policy(path, game=game, trust_game=trust_game, device=device, on_progress=on_progress)


@app.command(name="hands")
def read_hands(
    game: Annotated[str, Parameter(help="The poker game that was played, such as 'nolimit_holdem(actions=full)'.")],
    file: Annotated[Path, Parameter(help="A log of hands: ACPC lines, or PHH (one hand or many).")],
    /,
    *,
    log: Annotated[Path | None, Parameter(help="Write the hands to this file as an ACPC log.")] = None,
    phh: Annotated[Path | None, Parameter(help="Hold'em: write the hands to this file in PHH format.")] = None,
    json: Json = False,
) -> None:
    """Read a log of poker hands: play each by the rules, sum up who won what, write it in another format."""
    from equipoise.evaluation.hand_logs import deals_come_twice, read_log, winnings, write_hands
    from equipoise.games import load_game
    from equipoise.games.poker import PokerGame
    from equipoise.views.tables import print_winnings

    loaded = load_game(game)
    if not isinstance(loaded, PokerGame):
        raise NotSupported(f"{loaded.name} is not poker; only logs of poker hands can be read")
    played = read_log(loaded, file)
    write_hands(played, log=log, phh=phh)
    won = winnings(played)
    with _apart_from(log, phh):
        if json:
            players = [each.to_dict() for each in won]
            numbers = {"game": loaded.name, "hands": len(played), "deals_come_twice": deals_come_twice(played)}
            return _print_json(numbers | {"players": players})
        print(f"{loaded.name}: {len(played):,} hand{'s' * (len(played) != 1)}, all legal and paid by the rules")
        print_winnings(won, unit=loaded.chip_unit(), big_blind=loaded.big_blind)
        if deals_come_twice(played):
            return print("each deal is played twice with the seats swapped: the intervals count deals, not hands")
        return print("the intervals take the hands to be independent")


@app.command
def show(
    run: Annotated[Path, Parameter(help="A run directory or a policy file.")],
    /,
    *,
    infoset: Annotated[
        str | None, Parameter(help="Show this infoset only, such as 'Ks|cr' or 'AhKd/2c7d9s|crc/r'.")
    ] = None,
    player: Annotated[Literal[0, 1] | None, Parameter(help="Show this player's infosets only.")] = None,
    limit: Annotated[int | None, Parameter(help="Show at most this many infosets; 40 by default."), WHOLE] = None,
    line: Annotated[str | None, Parameter(help="Hold'em: show play after this betting, such as cr or crc/r.")] = None,
    hand: Annotated[
        str | None, Parameter(help="Hold'em: show one hand, such as AhKd, or one class, such as AKs.")
    ] = None,
    board: Annotated[str | None, Parameter(help="Hold'em: the board after --line, such as 2c7d9s.")] = None,
    output: Annotated[
        Path | None, Parameter(name=["--output", "-o"], help="Hold'em: draw the grid to this .png, .svg or .pdf file.")
    ] = None,
    runouts: Annotated[
        bool, Parameter(negative="", help="Spots: show the play after --line on every next card, one row per card.")
    ] = False,
    device: Device = "auto",
    game: OwnGame = None,
    trust_game: TrustGame = False,
    json: Json = False,
) -> None:
    """Print a strategy: the probability of each action at each infoset; hold'em as grids of starting hands."""
    from equipoise.policies.holdem_policy import HoldemPolicy
    from equipoise.policies.spot_policy import SpotPolicy

    policy = _opened(run, game, trust_game, device)
    if isinstance(policy, SpotPolicy):
        if not (infoset is None and player is None and limit is None):
            raise NotSupported(
                "--infoset, --player and --limit are for other games; a spot has --line, --board, --hand"
            )
        return _show_spot(policy, line or "", board or "", hand or "", runouts, output, json)
    if runouts:
        raise NotSupported(f"--runouts is for spots; {policy.game} is not a spot")
    if isinstance(policy, HoldemPolicy):
        if player is not None or limit is not None:
            raise NotSupported(
                f"--player and --limit are for lists of infosets; for {policy.game} use --line and --hand"
            )
        if output is not None and (infoset is not None or hand is not None):
            raise NotSupported("-o draws the grid of all hands; leave out --hand and --infoset")
        if infoset is not None and any(given is not None for given in (line, hand, board)):
            raise NotSupported("--infoset already names the hand, the board and the betting; give nothing else")
        if hand is not None and (named := policy.hand_class(hand)):
            return _show_class(policy.line(line or "", board or ""), named, policy.origin, json)
        if hand is not None:
            infoset = f"{hand}{f'/{board}' if board else ''}|{line or ''}"
        return _show_holdem(policy, infoset, line or "", board or "", output, json)
    if any(given is not None for given in (line, hand, board, output)):
        raise NotSupported(f"--line, --hand, --board and -o are for hold'em; for {policy.game} use --infoset KEY")
    if infoset is not None and not (player is None and limit is None):
        raise NotSupported("--infoset shows one infoset; leave out --player and --limit")
    limit = 40 if limit is None else limit
    require_whole("--limit", limit, low=0)
    if infoset is not None:
        policy.action_probabilities(infoset)  # says what is wrong with an unknown key
        indices = [policy.keys.index(infoset)]
    else:
        indices = [index for index in range(len(policy)) if player is None or policy.players[index] == player]
    if json:
        shown = {policy.keys[index]: policy.action_probabilities(policy.keys[index]) for index in indices[:limit]}
        never = [key for key, found in shown.items() if not found.reached]
        listed = {"infosets": shown, "never_reached": never, "of": len(indices)}
        return _print_json({"game": policy.game, **policy.origin, **listed})
    from equipoise.views.tables import print_policy

    print_policy(policy, indices[:limit])
    if len(indices) > limit:
        print(f"... and {len(indices) - limit:,} more infosets; --limit N shows more, --infoset KEY one of them")
    return None


def _show_spot(
    policy: "SpotPolicy", line: str, board: str, hand: str, runouts: bool, output: Path | None, as_json: bool
) -> None:
    """Show a line of a spot: means, class by class, or as a picture; or all cards that may come before it."""
    from equipoise.views.grids import draw_grid, print_grids
    from equipoise.views.spots import line_rows, pot_of, print_runouts, print_spot_line

    if runouts:
        if board or output is not None:
            raise NotSupported("--runouts goes through all boards; leave out --board and -o")
        dealt = policy.betting_at(line).round
        if dealt == 0:
            raise NotSupported("--runouts needs a --line that goes on to the next round, such as --line cc/")
        found = [(cards, count, policy.line(line, cards).select(hand)) for cards, count in policy.runouts(dealt)]
        if as_json:
            rows = [{"board": cards, "stands_for": count, **each.means()} for cards, count, each in found]
            return _print_json({"game": policy.game, **policy.origin, "line": line, "runouts": rows})
        return print_runouts(found)
    shown = policy.line(line, board)
    if output is not None:
        draw_grid(shown.select(hand), output)
        return _say_written(output, as_json, {"game": policy.game, "line": line, "board": board})
    if as_json:
        chosen = shown.select(hand)
        numbers = {
            "line": shown.betting.text,
            "board": shown.board_text(),
            "player": shown.player,
            "pot": pot_of(shown),
            "locks": shown.locks,
        }
        listed = {"all": chosen.means(), "hands": list(line_rows([chosen]))}
        return _print_json({"game": policy.game, **policy.origin, **numbers, **listed})
    print_spot_line(shown, hand)
    return None if hand else print_grids(shown)


def _show_class(line: "Line", name: str, origin: Mapping[str, Any], as_json: bool) -> None:
    """Show a class of starting hands, such as AKs: the mean over its hands, and each of them where they differ."""
    from equipoise.views.tables import print_class

    hands = line.hands_of(name)
    if as_json:
        never = [key for key, found in hands.items() if not found.reached]
        shown = {"hands": {name: line.mean_of(name)}, "infosets": hands, "never_reached": never}
        where = {"line": line.betting.text, "board": line.board_text()}
        return _print_json({"game": line.game.name, **origin, **where, **shown})
    return print_class(line, name)


def _show_holdem(
    policy: "HoldemPolicy", infoset: str | None, line: str, board: str, output: Path | None, as_json: bool
) -> None:
    """Show one infoset, or a betting line as grids."""
    from equipoise.policies.policy import NEVER_REACHED
    from equipoise.views.grids import draw_grid, print_grids
    from equipoise.views.tables import print_rows

    if infoset is not None:
        probabilities = policy.action_probabilities(infoset)
        if as_json:
            never = [] if probabilities.reached else [infoset]
            shown_one = {"infosets": {infoset: probabilities}, "never_reached": never, "of": 1}
            return _print_json({"game": policy.game, **policy.origin, **shown_one})
        note = "" if probabilities.reached else f"({NEVER_REACHED})"
        rows = [(infoset if not n else "", name, f"{p:.4f}", note) for n, (name, p) in enumerate(probabilities.items())]
        return print_rows(rows, columns=("infoset", "action", "probability", ""))
    shown = policy.line(line, board)
    if output is not None:
        draw_grid(shown, output)
        return _say_written(output, as_json, {"game": policy.game, "line": line, "board": board})
    if as_json:
        grid, unreached, names = shown.grid(), shown.unreached(), shown.cell_names()
        cells = {
            names[row][column]: dict(zip(shown.actions, grid[row, column].tolist(), strict=True))
            for row in range(len(names))
            for column in range(len(names))
            if grid[row, column, 0] == grid[row, column, 0]  # not NaN: the board leaves a hand there
        }
        never = [names[row][column] for row, column in zip(*unreached.nonzero(), strict=True)]
        listed = {"line": line, "board": board, "hands": cells, "never_reached": never}
        return _print_json({"game": policy.game, **policy.origin, **listed})
    return print_grids(shown)


@app.command
def explore(
    run: Annotated[str, Parameter(help="A run directory or a policy file; or uniform, with --game.")],
    /,
    *,
    line: Annotated[str | None, Parameter(help="Poker: go to this betting line, such as crc/r.")] = None,
    board: Annotated[str | None, Parameter(help="Poker: the board of the line, such as 2c7d9s.")] = None,
    hand: Annotated[
        str | None, Parameter(help="Poker: show these hands only: one (AhKd), a class (AKs) or any range (66+,A8s+).")
    ] = None,
    path: Annotated[
        str | None,
        Parameter(help="Other games: go to this history, by places among the actions on the way, such as 0.2.1."),
    ] = None,
    infoset: Annotated[str | None, Parameter(help="Go to this infoset, such as 'Ks|cr'.")] = None,
    against: Annotated[
        str | None, Parameter(help="The opponent that values are against: a run, a policy or uniform; by default RUN.")
    ] = None,
    compare: Annotated[
        str | None, Parameter(help="Show where RUN differs most from this run or policy, weighted by reach.")
    ] = None,
    sort: Annotated[
        Literal["reach", "gain", "value", "infoset"] | None,
        Parameter(help="List infosets instead, sorted: gain is what the best action there would win more, x reach."),
    ] = None,
    player: Annotated[Literal[0, 1] | None, Parameter(help="With --sort: this player's infosets only.")] = None,
    contains: Annotated[str, Parameter(help="With --sort: infosets with this text only.")] = "",
    limit: Annotated[int | None, Parameter(help="Show at most this many rows."), WHOLE] = None,
    threads: Threads = 1,
    device: Device = "auto",
    game: Annotated[str | None, Parameter(help="The game, if RUN does not name it.")] = None,
    trust_game: TrustGame = False,
    json: Json = False,
) -> None:
    """Walk through a strategy: what each infoset does, how often it is met, what each action and a best response win.

    Values are exact where the game can be evaluated exactly, and estimated by playing on elsewhere; the last line says
    which. --json prints what the page shows in Explore.
    """
    from equipoise.evaluation.appraisers import appraiser
    from equipoise.exploring import Explorer, differences
    from equipoise.views.explore import print_differences, print_infosets, print_node
    from equipoise.views.progress import show_counts

    placed = any(given is not None for given in (line, board, hand, path, infoset))
    if sort is not None and placed:
        raise NotSupported("--sort lists infosets of the whole game; leave out --line, --board, --hand and --path")
    if sort is None and (player is not None or contains):
        raise NotSupported("--player and --contains are for lists of infosets; add --sort reach")
    others = [text for text in (against, compare) if text is not None]
    own = game if game is not None and game.startswith("python:") else None
    mine, *more = (_entrant(text, own, trust_game, _device_of(text, device)) for text in (run, *others))
    rows = {} if limit is None else {"limit": limit}
    with show_counts(f"opening {run}", hands=0) as watched:
        options: dict[str, Any] = {"game": game, "threads": threads, "on_boards": watched.boards}
        explorer = Explorer(appraiser(mine, more[0] if against is not None else None, **options))
        if compare is not None:
            other = Explorer(appraiser(more[-1], **{**options, "game": explorer.game}))
            found = differences(explorer, other, line=line or "", board=board or "", **rows)
        elif sort is not None:
            found = explorer.infosets(player=player, contains=contains, sort=sort, descending=sort != "infoset", **rows)
        else:
            at = {"line": line, "board": board, "path": path, "infoset": infoset, "hands": hand or ""}
            found = explorer.node(**at, **rows)  # type: ignore[arg-type]
    if json:
        return _print_json(found)
    if compare is not None:
        return print_differences(found, (run, compare))
    return print_infosets(found) if sort is not None else print_node(found)


def _device_of(text: str, device: str) -> str:
    """Return the device, if what a text names has networks to put there."""
    from equipoise.solving import has_networks

    return device if has_networks(text) else "auto"


@app.command
def play(
    what: Annotated[
        str | None, Parameter(help="A run directory or a policy file, to play against it; or a game.")
    ] = None,
    /,
    *,
    opponent: Annotated[
        str | None, Parameter(help="Whom to play: a run, a policy, uniform, always-call ...; by default WHAT.")
    ] = None,
    seat: Annotated[Literal["0", "1", "turns"] | None, Parameter(help="Your seat; by default both in turn.")] = None,
    hints: Annotated[
        bool, Parameter(negative="", help="Show before each choice what the solution (WHAT) does.")
    ] = False,
    costs: Annotated[
        bool, Parameter(negative="", help="Show after each choice what it has cost against the solution.")
    ] = False,
    hands: Annotated[int | None, Parameter(help="End after so many hands."), WHOLE] = None,
    seed: Annotated[int | None, Parameter(help="Seed of cards and of the opponent's choices."), WHOLE] = None,
    line: Annotated[str | None, Parameter(help="Poker: practise from this betting line on.")] = None,
    board: Annotated[str | None, Parameter(help="Poker: the board of the line.")] = None,
    infoset: Annotated[str | None, Parameter(help="Practise from this infoset on.")] = None,
    session: Annotated[
        Path | None,
        Parameter(help="The file that keeps the game; an old one goes on. By default a new one in the folder plays."),
    ] = None,
    log: Annotated[Path | None, Parameter(help="At the end, write the hands here; poker in ACPC format.")] = None,
    phh: Annotated[Path | None, Parameter(help="At the end, write hands of hold'em here in PHH format.")] = None,
    device: Device = "auto",
    game: OwnGame = None,
    trust_game: TrustGame = False,
    json: Json = False,
) -> None:
    """Play against a strategy in the terminal, in any game.

    Choices are given by number, by name, or by how the name begins. q ends, and the game can be gone on with. The score
    is shown plain and with luck taken out: by AIVAT where values are exact, else by all-in equity. With --json each
    line of output is what the page would show, and each line of input a choice.
    """
    import secrets

    from equipoise.evaluation.match import seat_players
    from equipoise.exploring.play import Record, Session, make_table, read_record
    from equipoise.games import StoredText, load_game
    from equipoise.runs.directory import new_folder
    from equipoise.views.play import print_cost, print_hint, print_result, print_score, print_table_of, prompt_of
    from equipoise.views.play import read_choice as read
    from equipoise.views.progress import show_counts

    start = {name: text for name, text in (("line", line), ("board", board), ("infoset", infoset)) if text is not None}
    going_on = session is not None and session.exists()
    if going_on:
        assert session is not None
        if what is not None or opponent is not None or seat is not None or start or seed is not None:
            raise NotSupported(f"{session} says who plays what: leave out WHAT, --opponent, --seat, --seed and places")
        record = read_record(session)
    elif what is None:
        raise InvalidParameter(
            "WHAT is missing: a run, a policy file or a game; or --session with a game to go on with"
        )
    else:
        is_policy = Path(what).exists()
        record = Record(
            game="" if is_policy else what,
            opponent=opponent or (what if is_policy else "uniform"),
            solution=what if is_policy else None,
            seat=seat or "turns",
            seed=secrets.randbits(32) if seed is None else seed,
            practice=start or None,
        )
        if (hints or costs or start) and not is_policy:
            raise NotSupported(f"{what} is a game: hints, costs and practice need a solution; give a run or a policy")
    record.hints, record.costs = record.hints or hints, record.costs or costs
    own = game if game is not None else record.game if record.game.startswith("python:") and trust_game else None
    named = {
        text: _entrant(text, own, trust_game, _device_of(text, device))
        for text in dict.fromkeys(text for text in (record.solution, record.opponent) if text is not None)
    }
    solution = None if record.solution is None else named[record.solution]
    loaded: Any = game
    if record.solution is None and loaded is None:
        loaded = load_game(record.game) if not going_on or trust_game else load_game(StoredText(record.game))
    rules, _ = seat_players(named[record.opponent], solution or named[record.opponent], loaded)
    record.game = rules.address
    with show_counts(f"{rules.name} against {record.opponent}", hands=0) as watched:
        table = make_table(rules, named[record.opponent], solution, on_boards=watched.boards)
        played = Session(record, table)
    if session is None:
        with new_folder(Path("plays"), _plain(f"{Path(what or 'game').name}")) as folder:
            session = folder / "session.json"
            record.save(session)
    left, first = False, len(record.hands)
    while not left and (hands is None or len(record.hands) - first < hands or not played.is_over):
        if played.is_over:
            played.deal()
            record.save(session)
        while not played.is_over and not left:
            view = played.view()
            if json:
                _print_json(view)
            else:
                print_table_of(view)
                if "hint" in view:
                    print_hint(view["hint"])
            try:
                sys.stdout.flush()
                answer = input("" if json else prompt_of(view["actions"]))
                if answer.strip().casefold() in ("q", "quit"):
                    left = True
                elif answer.strip() == "?":
                    _hint_once(played, print_hint, json)
                else:
                    choice = played.act(read(answer, view["actions"]))
                    record.save(session)
                    if record.costs and not json:
                        print_cost(choice.to_json(), view["unit"], view["mbb_per_chip"])
            except EOFError:
                left = True
            except InvalidParameter as mistake:
                _warn(str(mistake))
        if not left:
            view = played.view()
            _print_json(view) if json else print_result(view)
    for file, form in ((log, "acpc"), (phh, "phh")):
        if file is not None:
            with write_atomically(file, "w") as out:
                out.write(played.history(form))  # type: ignore[arg-type]
    if json:
        return _print_json({"session": str(session), "score": played.score()})
    print()
    print_score(played.score())
    trusted = " --trust-game" if rules.address.startswith("python:") else ""
    print(f"go on with: equipoise play --session {session}{trusted}")
    return None


def _hint_once(played: Any, show: Any, as_json: bool) -> None:
    """Show what the solution does, once."""
    if played.table.judge is None:
        raise InvalidParameter("there is no solution to ask; play a run or a policy with --hints or --costs")
    before = played.record.hints
    played.record.hints = True
    try:
        hint = played.view().get("hint")
    finally:
        played.record.hints = before
    if hint is None:
        raise InvalidParameter("the solution does not know this place")
    if as_json:
        _print_json({"hint": hint})
    else:
        show(hint)


def _plain(text: str) -> str:
    return "".join(c if c.isalnum() or c in "_+=-" else "-" for c in text)[:LONGEST_NAME].strip("-") or "game"


@app.command
def plot(
    runs: Annotated[list[Path], Parameter(help="Run directories.")],
    /,
    *,
    output: Annotated[Path, Parameter(name=["--output", "-o"], help="The picture to write: .png, .svg or .pdf.")],
    by: Annotated[
        Literal["iteration", "seconds", "core_seconds", "nodes"], Parameter(help="What the horizontal axis shows.")
    ] = "iteration",
    measure: Annotated[
        str, Parameter(help="What the vertical axis shows: any number that the runs log, such as regret_loss.")
    ] = "exploitability",
    level: Annotated[
        list[str] | None,
        Parameter(negative="", help="Draw a horizontal line: NUMBER=NAME, such as 0.02=paper. Repeat for more."),
    ] = None,
    title: Annotated[str | None, Parameter(help="The title; by default the game.")] = None,
    json: Json = False,
) -> None:
    """Draw curves of runs; runs with the same settings are one curve, the mean of their seeds, with a band."""
    from equipoise.runs.directory import RunDirectory
    from equipoise.views.plot import convergence, save_picture

    opened = [RunDirectory.open(run) for run in runs]
    units = {_unit(run.config) for run in opened}
    groups = {label: [run.read_log() for run in members] for label, members in _grouped(opened).items()}
    games = sorted({str(run.config["game"]) for run in opened})
    figure = convergence(
        groups,
        by=by,
        measure=measure,
        unit=" or ".join(sorted(units)),
        title=title if title is not None else games[0] if len(games) == 1 else "",
        levels=dict(_level(text) for text in level or []),
    )
    save_picture(figure, output)
    _say_written(output, json, {"runs": [str(run) for run in runs], "curves": list(groups)})


def _level(text: str) -> tuple[str, float]:
    number, equals, name = text.partition("=")
    try:
        level = float(number)
    except ValueError:
        level = math.nan
    if not equals or not 0.0 < level < math.inf:
        raise InvalidParameter(f"--level {text} is not valid; write --level NUMBER=NAME, such as 0.02=paper")
    return name or number, level


def _grouped(opened: "list[RunDirectory]") -> "dict[str, list[RunDirectory]]":
    """Return runs by their label; where two are the same run, seed and all, each is named by its folder."""
    from equipoise.runs.identity import labels

    groups: dict[str, list[RunDirectory]] = {}
    for label, run in zip(labels([run.config for run in opened]), opened, strict=True):
        groups.setdefault(label, []).append(run)
    named: dict[str, list[RunDirectory]] = {}
    for label, members in groups.items():
        if len({run.config.get("seed") for run in members}) == len(members):
            named[label] = members
        else:
            named |= {f"{label} ({run.path})": [run] for run in members}
    return named


def _unit(config: dict[str, Any]) -> str:
    """Return the unit of a run's payoffs; older runs do not say it, and their games may not be at hand."""
    from equipoise.games import load_game

    if "unit" in config:
        return str(config["unit"])
    with suppress(EquipoiseError):
        return load_game(config["game"]).chip_unit()
    return "chips"


@app.command
def sweep(
    game: Annotated[str | None, Parameter(help="A game, such as leduc_poker; see `equipoise games`.")] = None,
    /,
    *,
    config: Annotated[
        Path | None, Parameter(help="Read the sweep from this TOML file; what the command line says comes first.")
    ] = None,
    algorithm: Annotated[
        list[str] | None, Parameter(negative="", help="An algorithm, or several: cfr+,dcfr. Repeat for more.")
    ] = None,
    set_: Annotated[
        list[str] | None,
        Parameter(
            name="--set",
            negative="",
            help="Set a parameter: name=value, or to each of several values: width=32,64. Repeat for all combinations.",
        ),
    ] = None,
    preset: Annotated[str | None, Parameter(help="A named set of parameters, such as dn19.")] = None,
    seeds: Annotated[int | None, Parameter(help="Run each setting with this many seeds; by default 5."), WHOLE] = None,
    jobs: Annotated[
        int | None, Parameter(help="Make this many runs at a time, each in its own process; by default 1."), WHOLE
    ] = None,
    iterations: Annotated[int | None, Parameter(help="Stop each run after this many iterations."), WHOLE] = None,
    until: Annotated[float | None, Parameter(help="Stop each run at this exploitability."), NUMBER] = None,
    until_mbb: Annotated[
        float | None, Parameter(help="Hold'em: stop each run at this nash_conv in mbb/g."), NUMBER
    ] = None,
    until_pot: Annotated[
        float | None, Parameter(help="Spots: stop each run at this exploitability in per cent of the pot."), NUMBER
    ] = None,
    seconds: Annotated[float | None, Parameter(help="Stop each run after this many seconds."), NUMBER] = None,
    core_seconds: Annotated[
        float | None, Parameter(help="Stop each run after this many seconds of processor time."), NUMBER
    ] = None,
    device: Device = "auto",
    cluster: OnCluster = None,
    out: Annotated[Path | None, Parameter(help="The folder for runs, numbers and curves; by default sweeps.")] = None,
    json: Json = False,
) -> None:
    """Run settings and seeds side by side: means, spreads and curves with bands.

    Interrupted or killed, it goes on by the same command. Runs that are there already are used if they are the same:
    settings, seed, limits, the rules of the game, and the revision of the algorithm.
    """
    from equipoise.experiments.compare import FOLDER, each_of, read_sweep_file, run_comparison, settings_of
    from equipoise.views.tables import print_rows

    written: dict[str, Any] = {"runs": [{}]} if config is None else read_sweep_file(config)
    all_limits = {
        "iterations": iterations,
        "until": until,
        "until_mbb": until_mbb,
        "until_pot": until_pot,
        "seconds": seconds,
        "core_seconds": core_seconds,
    }
    limits = {name: limit for name, limit in all_limits.items() if limit is not None}
    asked = {name: value for name, value in {"game": game, "preset": preset}.items() if value is not None}
    names: list[str | None] = [name.strip() for text in algorithm or [] for name in text.split(",")]
    swept = {name: str(value).split(",") for name, value in _settings(set_).items()}
    given: list[dict[str, Any]] = []
    for run in written["runs"]:
        kept = {name: value for name, value in run.items() if not limits or name not in all_limits}
        kept |= {**asked, **limits}
        for chosen in each_of({**kept.pop("parameters", {}), **swept}):
            given += [{**kept, "algorithm": name, "parameters": chosen} for name in names or [kept.get("algorithm")]]
    if device != "auto":
        _place(given, device)
    found = run_comparison(
        settings_of(given),
        seeds=seeds if seeds is not None else written.get("seeds", 5),
        jobs=jobs if jobs is not None else None if cluster is not None else written.get("jobs", 1),
        folder=FOLDER if out is None else out,
        report=_note,
        cluster=cluster,
    )
    if json:
        return _print_json(found.to_json())
    rows = found.rows()
    print_rows([[_cell(value) for value in row.values()] for row in rows], columns=list(rows[0]))
    return print(f"numbers in {found.folder / 'result.json'}, curves in {found.folder / 'curves.png'}")


def _place(runs: list[dict[str, Any]], device: str) -> None:
    """Say of those runs that have networks on which device these are."""
    from equipoise.solvers.recipes import find_recipe

    have = [run for run in runs if run["algorithm"] is not None and find_recipe(run["algorithm"]).networks]
    if not have and device != "cpu":
        raise EquipoiseError(f"none of these runs has networks to put on a device: leave out --device {device}")
    for run in have:
        run["device"] = device


def _cell(value: object) -> str:
    return "" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)


@app.command
def export(
    run: Annotated[Path, Parameter(help="A run directory or a policy file.")],
    /,
    *,
    to: Annotated[
        Literal["json", "csv", "open_spiel", "efg"], Parameter(help="The format; efg writes the game, not the policy.")
    ],
    output: Annotated[Path, Parameter(name=["--output", "-o"], help="The file to write; - is standard output.")],
    board: Annotated[
        str | None,
        Parameter(help="Hold'em: export play on this board, such as 2c7d9s; by default play before the flop."),
    ] = None,
    line: Annotated[
        str | None, Parameter(help="Spots: export this line only, such as r200c/; by default all lines of the round.")
    ] = None,
    round_: Annotated[
        Literal["flop", "turn", "river", "all"] | None,
        Parameter(name="--round", help="Spots: export all lines of this round on all boards, or of all rounds."),
    ] = None,
    device: Device = "auto",
    game: OwnGame = None,
    trust_game: TrustGame = False,
    json: Json = False,
) -> None:
    """Write a policy as JSON, CSV or a pickled OpenSpiel TabularPolicy, or its game as a Gambit .efg file."""
    from equipoise.policies.export import write_csv, write_json, write_open_spiel, write_rows
    from equipoise.policies.holdem_policy import HoldemPolicy
    from equipoise.policies.spot_policy import SpotPolicy
    from equipoise.views.spots import line_rows

    policy = _opened(run, game, trust_game, device)
    if isinstance(policy, SpotPolicy):
        if to not in ("csv", "json"):
            raise NotSupported(f"spots are exported as csv or json, not as {to}")
        if round_ is not None:
            if line is not None or board is not None:
                raise NotSupported("--round exports all lines on all boards; leave out --line and --board")
            return _export_rounds(policy, round_, to, output, json)
        lines = [line] if line is not None else list(policy.lines_on(board or ""))
        write_rows(line_rows(policy.line(each, board or "") for each in lines), to, output)
        return _say_written(output, json, {"game": policy.game, "to": to, "lines": lines})
    if line is not None or round_ is not None:
        raise NotSupported(f"--line and --round are for spots; leave them out for {policy.game}")
    if isinstance(policy, HoldemPolicy):
        if to not in ("csv", "json"):
            raise NotSupported(f"{policy.game} is too large for {to}; export part of it as csv or json")
        policy = policy.listed(board or "")
    elif board is not None:
        raise NotSupported(f"--board is for hold'em; leave it out for {policy.game}")
    if to == "efg":
        from equipoise.games.efg import write_efg

        write_efg(policy.rules, output)
    else:
        {"json": write_json, "csv": write_csv, "open_spiel": write_open_spiel}[to](policy, output)
    return _say_written(output, json, {"game": policy.game, "to": to})


def _export_rounds(policy: "SpotPolicy", chosen: str, to: Literal["csv", "json"], output: Path, as_json: bool) -> None:
    """Write all lines of a spot's rounds, if they are not too many."""
    from equipoise.policies.export import write_rows
    from equipoise.views.spots import line_rows

    rounds = policy.round_names if chosen == "all" else (chosen,)
    if not set(rounds) <= set(policy.round_names):
        raise NotSupported(f"the {chosen} is not a round of this spot; it has {', '.join(policy.round_names)}")
    rows = policy.num_rows(rounds)
    if rows > MOST_ROWS:
        raise TooLarge(
            f"this would be {rows:,} rows, and at most {MOST_ROWS:,} are written; choose by --board or --line"
        )
    write_rows(line_rows(policy.lines(rounds)), to, output)
    _say_written(output, as_json, {"game": policy.game, "to": to, "rounds": rounds, "rows": rows})


@app.command
def reproduce(
    claim: Annotated[str | None, Parameter(help="The id of a claim, such as D1; see --list.")] = None,
    /,
    *,
    list_: Annotated[bool, Parameter(name="--list", negative="", help="List the claims.")] = False,
    quick: Annotated[bool, Parameter(negative="", help="Run a smaller version that takes under two minutes.")] = False,
    out: Annotated[
        Path, Parameter(help="The folder for runs, numbers and figures; interrupted work continues.")
    ] = Path("reproductions"),
    page: Annotated[Path | None, Parameter(help="Write the results in --out as this Markdown page.")] = None,
    cluster: OnCluster = None,
    json: Json = False,
) -> None:
    """Check a claim of the papers: run it, judge it, draw its figure."""
    from equipoise.experiments.claims import CLAIMS, NOT_ATTEMPTED
    from equipoise.experiments.ledger import reproduce as reproduce_claim
    from equipoise.experiments.ledger import shown_cost, write_page
    from equipoise.views.tables import print_rows

    if page is not None:
        write_page(out, page)
        return _say_written(page, json, {})
    if list_ or claim is None:
        rows = [(c.id, c.says, c.full.scale, c.paper) for c in CLAIMS.values()]
        rows += [(c.id, c.says, f"not attempted; {c.cost}", c.paper) for c in NOT_ATTEMPTED.values()]
        if json:
            return _print_json(
                {"claims": [dict(zip(("id", "says", "scale", "paper"), row, strict=True)) for row in rows]}
            )
        return print_rows(rows, columns=("id", "what the paper says", "scale here", "paper"))
    outcome = reproduce_claim(claim, quick=quick, folder=out, report=_note, cluster=cluster)
    if json:
        return _print_json({name: value for name, value in outcome.items() if name != "settings"})
    print(f"{outcome['claim']} ({outcome['paper']}): {outcome['says']}; in {outcome['unit']}")
    found = [
        (f["what"], f["paper"], f["ours"], f["holds"] if f["counts"] else f"({f['holds']})")
        for f in outcome["findings"]
    ]
    print_rows(found, columns=("what", "paper", "ours", "holds"))
    parts = outcome["verdict"]
    print(f"outcome: {parts['outcome']}")
    print(f"scale: {parts['scale']['kind']} ({parts['scale']['how']}); {outcome['scale']}")
    print(f"recipe: {parts['recipe']['kind']}{': ' if parts['recipe']['how'] else ''}{parts['recipe']['how']}")
    return print(f"cost: {shown_cost(outcome)}; figures and numbers in {out}")


@app.command
def bench(
    suite: Annotated[
        Literal["tabular", "sampling", "neural", "threads", "spots", "page", "cluster"],
        Parameter(help="What to measure."),
    ] = "tabular",
    /,
    *,
    rounds: Annotated[int, Parameter(help="Repeat each measurement this often; medians are shown."), WHOLE] = 5,
    json: Json = False,
) -> None:
    """Compare our speed with OpenSpiel's and LiteEFG's, in one run on one core.

    `threads` compares two threads with one instead: alone, then with one and two other busy programs running.
    `cluster` compares two workers of a local Ray cluster with one, and one with no cluster.
    """
    from equipoise.bench import SUITES
    from equipoise.bench.measure import format_rows
    from equipoise.runs.provenance import of_data

    load = os.getloadavg()[0]  # of other programs
    rows = SUITES[suite](rounds=rounds, report=_note)
    made = {**of_data(), "load": load}  # after the suite: now PyTorch is loaded if it was used
    if json:
        return _print_json({"suite": suite, "rounds": rounds, "rows": [row.to_json() for row in rows], **made})
    print(format_rows(rows))
    libraries = ", ".join(f"{name} {number}" for name, number in made["versions"].items())
    print(f"measured on {made['machine']['cpu']}, {made['machine']['usable_cores']} cores; {libraries}")
    return print(f"{made['date'][:10]}, commit {made['commit'] or 'not known (not run from a checkout)'}")


def _settings(pairs: list[str] | None) -> dict[str, object]:
    settings: dict[str, object] = {}
    for pair in pairs or []:
        name, equals, value = pair.partition("=")
        if not equals:
            raise InvalidParameter(f"--set {pair} is not valid; write --set name=value")
        if name.strip() in settings:
            raise InvalidParameter(f"--set {name.strip()} is given twice")
        settings[name.strip()] = value.strip()
    return settings


def _new_folder(game: str, algorithm: str, seed: int) -> AbstractContextManager[Path]:
    """Make a run directory that is named after what runs."""
    from equipoise.runs.directory import new_folder

    text = f"{game}-{algorithm}-seed{seed}"
    if len(text) > LONGEST_NAME:  # ranges can be longer than names of files may be
        text = f"{game[:LONGEST_NAME]}-{zlib.crc32(game.encode()):08x}-{algorithm}-seed{seed}"
    plain = "".join(c if c.isalnum() or c in "_+=-" else "-" for c in text).strip("-")
    return new_folder(Path("runs"), plain)


@contextmanager
def _resumable(folder: Path, own_game: bool) -> Iterator[None]:
    """End an interrupted run with the command that goes on with it."""
    from equipoise.errors import ClusterLost
    from equipoise.runs import interrupts
    from equipoise.runs.drive import Interrupted

    def saved() -> str:
        if any((folder / "checkpoints").glob("*.npz")):
            return f"continue with: equipoise resume {folder}{' --trust-game' if own_game else ''}"
        return "nothing is saved yet"

    def end_at_once() -> None:
        if sys.stderr.isatty():
            sys.stderr.write("\x1b[?25h\n")  # the cursor, which a live bar hides
        _warn(f"stopped; {saved()}")
        os._exit(130)

    interrupts.on_overdue.append(end_at_once)
    try:
        yield
    except Interrupted as error:
        if error.iteration == 0:
            _fail(f"stopped; {saved()}", 130)
        _fail(f"stopped after iteration {error.iteration:,}, which is saved; {saved()}", 130)
    except KeyboardInterrupt:
        _fail(f"stopped; {saved()}", 130)
    except ClusterLost as error:
        raise ClusterLost(f"{error}; {saved()}") from None
    finally:
        interrupts.on_overdue.remove(end_at_once)


def _print_solution(solution: "Solution", folder: Path, json: bool) -> None:
    summary = solution.summary()
    if json:
        return _print_json({**summary, "run": str(folder)})
    from equipoise.views.tables import print_numbers

    if "not_evaluated" in summary and "versus_mean" not in summary:
        summary["not_evaluated"] += f"; play matches instead: equipoise match {folder} always-call"
    return print_numbers({**summary, "run": str(folder)}, unit=solution.rules.chip_unit())


def _say_written(output: Path, as_json: bool, more: dict[str, Any]) -> None:
    with _apart_from(output):
        if as_json:
            return _print_json({**more, "output": str(output)})
        return print(f"wrote {'to standard output' if is_standard_output(output) else output}")


def _apart_from(*outputs: Path | None) -> AbstractContextManager[Any]:
    """Print to standard error while standard output is one of the outputs."""
    return redirect_stdout(sys.stderr) if any(map(is_standard_output, outputs)) else nullcontext()


def _print_json(content: dict[str, Any]) -> None:
    print(json.dumps(content))


def _note(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _warn(text: str) -> None:
    _note(f"equipoise: {one_line(text)}")


_OUTPUTS = ("-o", "--output", "--log", "--phh", "--page", "--standings")


def _read_hyphens(arguments: list[str]) -> list[str]:
    """Return arguments with standard output's other name in place of a hyphen that would be read as an option."""
    before = ["", *arguments]
    return ["/dev/fd/1" if (a, b in _OUTPUTS) == ("-", True) else a for a, b in zip(arguments, before, strict=False)]


@contextmanager
def _warnings_in_a_line() -> Iterator[None]:
    """Print our own warnings as everything else that we say; those of libraries stay as they are."""
    with warnings.catch_warnings():
        warnings.simplefilter("once", EquipoiseWarning)
        others = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *more: Any) -> None:
            if issubclass(category, EquipoiseWarning):
                _warn(str(message))
            else:
                others(message, category, *more)

        warnings.showwarning = show  # type: ignore[assignment]
        yield


def _open_closed_streams() -> None:
    """Open standard streams that were closed (``2>&-``) on nothing, before a file of the user's gets their numbers."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115 (open to the end)


def main() -> None:
    """Run the command line; mistakes end with one line on standard error (and as JSON on request) and exit code 2."""
    _open_closed_streams()
    try:
        try:
            with _warnings_in_a_line():
                app(_read_hyphens(sys.argv[1:]), exit_on_error=False, print_error=False)
        except CycloptsError as error:
            _fail(in_words(error), 2)
        except EquipoiseError as error:
            _fail(str(error), 2)
        except KeyboardInterrupt:
            _fail("interrupted", 130)
        except SystemExit as stop:
            if isinstance(stop.__context__, BrokenPipeError):  # rich makes it an exit of its own
                raise stop.__context__ from None
            raise
        finally:
            sys.stdout.flush()  # here, where a reader that has gone away is no error
    except BrokenPipeError:  # the reader (head, less) has seen enough
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        sys.exit(0)


def _fail(text: str, code: int) -> NoReturn:
    """End with a sentence on standard error and, with --json, as the last line of standard output."""
    _warn(text)
    if "--json" in sys.argv[1:]:
        _print_json({"error": text, "exit_code": code})
    sys.exit(code)
