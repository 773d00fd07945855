"""The command line. Each command is a typed function, and imports what it needs when it runs: --help stays quick."""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import App, CycloptsError, Parameter

from equipoise.errors import EquipoiseError
from equipoise.files import is_standard_output

if TYPE_CHECKING:
    from equipoise.policies.holdem_policy import HoldemPolicy

app = App(
    name="equipoise",
    help="Find near-unexploitable strategies for imperfect-information games, and look at them.",
    version_flags=["--version"],
)

Json = Annotated[bool, Parameter(name="--json", negative="", help="Print one JSON object as the last line.")]
Run = Annotated[Path, Parameter(help="A run directory, as `solve` writes it.")]
Settings = Annotated[
    list[str] | None,
    Parameter(name="--set", negative="", help="A parameter of the algorithm as name=value; may be given again."),
]
Threads = Annotated[int, Parameter(help="Cores to use where it pays; the result does not depend on it.")]


@app.command
def games(*, json: Json = False) -> None:
    """List the games, with sizes and one line each."""
    from equipoise.games import ADAPTERS, CATALOGUE

    sizes = _sizes()
    if json:
        listed = [
            {
                "game": e.name,
                "usage": e.usage,
                "parameters": {parameter.name: parameter.meaning for parameter in e.parameters},
                "about": e.about,
                "source": e.source,
                "infosets": sizes[e.name],
            }
            for e in CATALOGUE.values()
        ]
        return _print_json({"games": listed, "adapters": ADAPTERS})
    from equipoise.views.tables import print_rows

    rows = [(e.usage, f"{sizes[e.name]:,}", e.about, e.source) for e in CATALOGUE.values()]
    print_rows(rows, columns=("game", "infosets", "what it is", "source"))
    print()
    print_rows(list(ADAPTERS.items()), columns=("more games", "what they are"))
    return None


def _sizes() -> dict[str, int]:
    """Count the infosets of each built-in game at its default parameters."""
    from equipoise.games import CATALOGUE, load_game
    from equipoise.trees.compile import count_infosets

    return {entry.name: count_infosets(load_game(entry.usage)) for entry in CATALOGUE.values()}


@app.command
def algorithms(*, json: Json = False) -> None:
    """List the algorithms, with their papers and parameters."""
    from equipoise.solvers.recipes import RECIPES

    if json:
        return _print_json(
            {
                "algorithms": [
                    {
                        "algorithm": r.name,
                        "about": r.about,
                        "paper": r.paper,
                        "parameters": r.parameters,
                        "presets": {name: dict(values) for name, values in r.presets.items()},
                    }
                    for r in RECIPES.values()
                ]
            }
        )
    from equipoise.views.tables import print_rows

    rows = [
        (r.name, r.about, " ".join(_shown(r.parameters) + [f"--preset {p}" for p in r.presets]), r.paper)
        for r in RECIPES.values()
    ]
    print_rows(rows, columns=("algorithm", "what it does", "parameters (--set)", "paper"))
    return None


def _shown(parameters: dict[str, object]) -> list[str]:
    """Return parameters as one would give them; k = 0 inside is k=max."""
    return [f"{key}={'max' if key == 'k' and value == 0 else value}" for key, value in parameters.items()]


@app.command
def solve(
    game: Annotated[str, Parameter(help="A game, such as leduc_poker or 'nl_leduc(stack=5)'; see `equipoise games`.")],
    /,
    *,
    algorithm: Annotated[
        str | None, Parameter(help="See `equipoise algorithms`; cfr+ if not given, dcfr for flop_holdem.")
    ] = None,
    iterations: Annotated[int | None, Parameter(help="Stop after this many iterations.")] = None,
    until: Annotated[float | None, Parameter(help="Stop at this exploitability (nash_conv / 2).")] = None,
    until_mbb: Annotated[
        float | None, Parameter(help="Hold'em: stop at this nash_conv in mbb/g, both players' gains together.")
    ] = None,
    seconds: Annotated[float | None, Parameter(help="Stop after this time.")] = None,
    core_seconds: Annotated[
        float | None, Parameter(help="Stop after this processor time, of all threads together.")
    ] = None,
    seed: Annotated[int, Parameter(help="Seed of all randomness.")] = 0,
    out: Annotated[Path | None, Parameter(help="The run directory; runs/GAME-ALGORITHM-... if not given.")] = None,
    threads: Threads = 1,
    engine: Annotated[
        Literal["auto", "sequence", "vector", "boards"], Parameter(help="Which compiled form to solve.")
    ] = "auto",
    set_: Settings = None,
    preset: Annotated[
        str | None, Parameter(help="Other defaults of the algorithm, such as paper; see `equipoise algorithms`.")
    ] = None,
    init_from: Annotated[
        Path | None, Parameter(help="A run of the game whose sums the networks take over before they go on.")
    ] = None,
    device: Annotated[str, Parameter(help="Where networks are: cpu or cuda.")] = "cpu",
    tensorboard: Annotated[
        bool, Parameter(negative="", help="Write every evaluation for TensorBoard too, into the run directory.")
    ] = False,
    checkpoint_seconds: Annotated[float, Parameter(help="Time between checkpoints.")] = 30.0,
    first_evaluation: Annotated[int | None, Parameter(help="The iteration of the first evaluation.")] = None,
    evaluation_growth: Annotated[
        float | None, Parameter(help="By what factor iterations grow between evaluations; 1.1 in most games.")
    ] = None,
    json: Json = False,
) -> None:
    """Solve a game and keep the run: configuration, log, checkpoints and the policy.

    Stops at whichever of --iterations, --until, --until-mbb, --seconds and --core-seconds is reached first (1000
    iterations if none is given).
    """
    from equipoise.games import load_game
    from equipoise.solving import default_algorithm
    from equipoise.solving import solve as solve_game
    from equipoise.views.progress import show_progress

    algorithm = algorithm or default_algorithm(load_game(game))
    folder = out if out is not None else _free_folder(game, algorithm, seed)
    with _resumable(folder), show_progress(f"{game} by {algorithm}") as on_progress:
        solution = solve_game(
            game,
            algorithm,
            iterations=iterations,
            until=until,
            until_mbb=until_mbb,
            seconds=seconds,
            core_seconds=core_seconds,
            seed=seed,
            out=folder,
            threads=threads,
            engine=engine,
            parameters=_settings(set_),
            preset=preset,
            init_from=init_from,
            device=device,
            tensorboard=tensorboard,
            checkpoint_seconds=checkpoint_seconds,
            evaluation_growth=evaluation_growth,
            first_evaluation=first_evaluation,
            on_progress=on_progress,
            on_complaint=_warn,
        )
    _print_solution(solution.summary(), folder, json)


@app.command
def resume(
    run: Run,
    /,
    *,
    iterations: Annotated[int | None, Parameter(help="Go on to this many iterations in all.")] = None,
    until: Annotated[float | None, Parameter(help="Go on to this exploitability.")] = None,
    until_mbb: Annotated[float | None, Parameter(help="Hold'em: go on to this nash_conv in mbb/g.")] = None,
    seconds: Annotated[float | None, Parameter(help="Go on to this time in all.")] = None,
    core_seconds: Annotated[float | None, Parameter(help="Go on to this processor time in all.")] = None,
    threads: Annotated[int | None, Parameter(help="Cores to use where it pays.")] = None,
    json: Json = False,
) -> None:
    """Go on with a run that was interrupted, or take a finished one further."""
    from equipoise.solving import resume as resume_run
    from equipoise.views.progress import show_progress

    with _resumable(run), show_progress(f"resuming {run}") as on_progress:
        solution = resume_run(
            run,
            iterations=iterations,
            until=until,
            until_mbb=until_mbb,
            seconds=seconds,
            core_seconds=core_seconds,
            threads=threads,
            on_progress=on_progress,
            on_complaint=_warn,
        )
    _print_solution(solution.summary(), run, json)


@app.command
def evaluate(
    run: Annotated[Path, Parameter(help="A run directory or a policy file.")],
    /,
    *,
    threads: Threads = 1,
    json: Json = False,
) -> None:
    """Compute the exact value, nash_conv and exploitability of a run's policy."""
    import time

    from equipoise.evaluation.exploitability import evaluate as evaluate_policy
    from equipoise.games import load_game
    from equipoise.solving import load_policy, named
    from equipoise.views.progress import show_counts

    policy = load_policy(run)
    started = time.perf_counter()
    with show_counts(f"evaluating {run}", hands=0) as watched:
        found = evaluate_policy(policy.game, policy, threads=threads, on_boards=watched.boards)
    numbers = {
        "game": policy.game,
        **{name: policy.origin.get(name) for name in ("algorithm", "iterations", "seed")},
        **named(load_game(policy.game), found),
        "seconds": time.perf_counter() - started,
        "threads": threads,
    }
    if json:
        return _print_json(numbers)
    from equipoise.views.tables import print_numbers

    return print_numbers(numbers, unit=load_game(policy.game).chip_unit())


@app.command
def match(
    a: Annotated[str, Parameter(help="A run directory or policy file, or uniform, always-call, always-raise.")],
    b: Annotated[str, Parameter(help="The other player, likewise.")],
    /,
    *,
    hands: Annotated[
        int, Parameter(help="How many hands to play; each deal is played twice, seats swapped.")
    ] = 100_000,
    game: Annotated[str | None, Parameter(help="The game, where neither player is a saved policy.")] = None,
    exact: Annotated[bool, Parameter(negative="", help="Compute the expected result instead of playing.")] = False,
    aivat: Annotated[
        Literal["both", "a", "b", "none"] | None,
        Parameter(
            help="Whose strategy AIVAT may use to take out luck; both if not given, but none on hold'em: it takes time."
        ),
    ] = None,
    seed: Annotated[int, Parameter(help="Seed of all randomness.")] = 0,
    threads: Threads = 1,
    log: Annotated[Path | None, Parameter(help="Write a line a hand to this file: poker as ACPC logs do.")] = None,
    phh: Annotated[Path | None, Parameter(help="Write hands of hold'em to this file: PHH, a table a hand.")] = None,
    json: Json = False,
) -> None:
    """Let two policies of a game play each other: A's mean payoff a hand, with its 95% interval.

    Payoffs are A's. Poker results are given in mbb/g too: thousandths of the big blind (or ante) a hand.
    """
    from equipoise.evaluation.hand_logs import writing_hands
    from equipoise.evaluation.match import big_blind_of, exact_match, play_match
    from equipoise.games import load_game
    from equipoise.views.progress import show_counts
    from equipoise.views.tables import print_exact_match, print_match

    players = _entrant(a), _entrant(b)
    if exact:
        if log is not None or phh is not None:
            raise EquipoiseError(
                "--exact plays no hands, so there is nothing to write: leave out --exact, --log, --phh"
            )
        with show_counts(f"{a} against {b}", hands=0) as watched:
            expected = exact_match(*players, game=game, threads=threads, on_boards=watched.boards)
        played = load_game(expected.game)
        if json:
            return _print_json(expected.to_json(played))
        return print_exact_match(expected, unit=played.chip_unit(), big_blind=big_blind_of(played))
    with (
        writing_hands((a, b), log=log, phh=phh) as on_hand,
        show_counts(f"{a} against {b}", hands=hands) as watched,
    ):
        result = play_match(
            *players,
            hands=hands,
            game=game,
            known=aivat,
            seed=seed,
            threads=threads,
            on_progress=watched.hands,
            on_boards=watched.boards,
            on_hand=on_hand,
        )
    played = load_game(result.game)
    with _apart_from(log, phh):
        if json:
            return _print_json(result.to_json(played))
        return print_match(result, unit=played.chip_unit(), big_blind=big_blind_of(played))


def _entrant(text: str) -> Any:
    """Return the player that a text names: a baseline, or the policy of a run directory or policy file."""
    from equipoise.evaluation.players import BASELINES, player_of
    from equipoise.solving import load_policy

    if text in BASELINES:
        return BASELINES[text]
    if not Path(text).exists():
        raise EquipoiseError(f"'{text}' is neither a run, nor a policy file, nor one of {', '.join(BASELINES)}")
    return player_of(text, load_policy(text))


@app.command
def show(
    run: Annotated[Path, Parameter(help="A run directory or a policy file.")],
    /,
    *,
    infoset: Annotated[str | None, Parameter(help="Show one infoset, by its key, such as 'AhKd/2c7d9s|crc/r'.")] = None,
    player: Annotated[Literal[0, 1] | None, Parameter(help="Show one player's infosets only.")] = None,
    limit: Annotated[int | None, Parameter(help="Show at most this many infosets; 40 if not given.")] = None,
    line: Annotated[str | None, Parameter(help="Hold'em: after this betting, such as cr or crc/r.")] = None,
    hand: Annotated[str | None, Parameter(help="Hold'em: one hand, such as AhKd, at --line.")] = None,
    board: Annotated[str | None, Parameter(help="Hold'em: the board, such as 2c7d9s, at --line.")] = None,
    output: Annotated[
        Path | None, Parameter(name=["--output", "-o"], help="Hold'em: draw the grid: .png, .svg or .pdf.")
    ] = None,
    json: Json = False,
) -> None:
    """Print a strategy: action by action, infoset by infoset; hold'em as grids of starting hands at a betting line."""
    from equipoise.policies.holdem_policy import HoldemPolicy
    from equipoise.solving import load_policy

    policy = load_policy(run)
    if isinstance(policy, HoldemPolicy):
        if player is not None or limit is not None:
            raise EquipoiseError(f"--player and --limit are for lists of infosets; {policy.game} has --line and --hand")
        if output is not None and (infoset is not None or hand is not None):
            raise EquipoiseError("-o draws the grid of all hands at a line: leave out --hand and --infoset")
        if infoset is None and hand is not None:
            infoset = f"{hand}{f'/{board}' if board else ''}|{line or ''}"
        return _show_holdem(policy, infoset, line or "", board or "", output, json)
    if any(given is not None for given in (line, hand, board, output)):
        raise EquipoiseError(f"--line, --hand, --board and -o are for hold'em; {policy.game} has --infoset KEY")
    limit = 40 if limit is None else limit
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
        print(f"... and {len(indices) - limit:,} more infosets (--limit, --player or --infoset KEY choose)")
    return None


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
def plot(
    runs: Annotated[list[Path], Parameter(help="Run directories.")],
    /,
    *,
    output: Annotated[Path, Parameter(name=["--output", "-o"], help="The picture: .png, .svg or .pdf.")],
    by: Annotated[Literal["iteration", "seconds"], Parameter(help="What the horizontal axis shows.")] = "iteration",
    json: Json = False,
) -> None:
    """Draw the convergence curves of runs."""
    from equipoise.games import load_game
    from equipoise.runs.directory import RunDirectory
    from equipoise.views.plot import plot_convergence

    opened = [RunDirectory.open(run) for run in runs]
    units = {load_game(run.config["game"]).chip_unit() for run in opened}
    histories = {_label(run.config, opened, run.path): run.read_log() for run in opened}
    plot_convergence(histories, output, by=by, unit=" or ".join(sorted(units)))
    _say_written(output, json, {"runs": [str(run) for run in runs]})


def _label(config: dict[str, Any], opened: list[Any], path: Path) -> str:
    """Name a curve by what sets it apart: game and algorithm, or the directory where these are the same."""
    label = f"{config['game']}, {config['algorithm']}"
    same = [
        run for run in opened if (run.config["game"], run.config["algorithm"]) == (config["game"], config["algorithm"])
    ]
    return label if len(same) == 1 else f"{label} ({path})"


@app.command
def export(
    run: Annotated[Path, Parameter(help="A run directory or a policy file.")],
    /,
    *,
    to: Annotated[Literal["json", "csv", "open_spiel", "efg"], Parameter(help="The format; efg writes the game.")],
    output: Annotated[Path, Parameter(name=["--output", "-o"], help="The file to write; - is standard output.")],
    board: Annotated[
        str | None, Parameter(help="Hold'em: the part beside this board, such as 2c7d9s; else that before the flop.")
    ] = None,
    json: Json = False,
) -> None:
    """Write a policy as JSON, CSV or a pickled OpenSpiel TabularPolicy, or its game as a Gambit .efg file."""
    from equipoise.games import load_game
    from equipoise.policies.export import write_csv, write_json, write_open_spiel
    from equipoise.policies.holdem_policy import HoldemPolicy
    from equipoise.solving import load_policy

    policy = load_policy(run)
    if isinstance(policy, HoldemPolicy):
        if to not in ("csv", "json"):
            raise EquipoiseError(f"{policy.game} is too large for {to}; export a part of it as csv or json")
        policy = policy.listed(board or "")
    elif board is not None:
        raise EquipoiseError(f"--board is for hold'em; {policy.game} is exported as a whole")
    if to == "efg":
        from equipoise.games.efg import write_efg

        write_efg(load_game(policy.game), output)
    else:
        {"json": write_json, "csv": write_csv, "open_spiel": write_open_spiel}[to](policy, output)
    _say_written(output, json, {"game": policy.game, "to": to})


@app.command
def reproduce(
    claim: Annotated[str | None, Parameter(help="A claim's id, such as D1; see --list.")] = None,
    /,
    *,
    list_: Annotated[bool, Parameter(name="--list", negative="", help="List the claims.")] = False,
    quick: Annotated[bool, Parameter(negative="", help="A scaled-down version, in under two minutes.")] = False,
    out: Annotated[Path, Parameter(help="Where runs, numbers and figures go; an interrupted sweep goes on.")] = Path(
        "reproductions"
    ),
    page: Annotated[Path | None, Parameter(help="Collect the outcomes in --out into this Markdown page.")] = None,
    json: Json = False,
) -> None:
    """Regenerate a claim of the papers: run it, judge it, draw the figure."""
    from equipoise.experiments.claims import CLAIMS
    from equipoise.experiments.ledger import reproduce as reproduce_claim
    from equipoise.experiments.ledger import write_page
    from equipoise.views.tables import print_rows

    if page is not None:
        write_page(out, page)
        return _say_written(page, json, {})
    if list_ or claim is None:
        rows = [(c.id, c.says, c.full.scale, c.paper) for c in CLAIMS.values()]
        if json:
            return _print_json(
                {"claims": [dict(zip(("id", "says", "scale", "paper"), row, strict=True)) for row in rows]}
            )
        return print_rows(rows, columns=("id", "what the paper says", "scale here", "paper"))
    outcome = reproduce_claim(claim, quick=quick, folder=out, report=_note)
    if json:
        return _print_json({name: value for name, value in outcome.items() if name != "settings"})
    print(f"{outcome['claim']} ({outcome['paper']}): {outcome['says']}; in {outcome['unit']}")
    found = [(f["what"], f["paper"], f["ours"], "yes" if f["holds"] else "NO") for f in outcome["findings"]]
    print_rows(found, columns=("what", "paper", "ours", "holds"))
    print(f"scale: {outcome['scale']}; cost: {outcome['core_seconds']:,} core-seconds, {outcome['seeds']} seed(s)")
    return print(f"verdict: {outcome['verdict']}; figures and numbers in {out}")


@app.command
def bench(
    suite: Annotated[Literal["tabular", "sampling", "neural"], Parameter(help="What to measure.")] = "tabular",
    /,
    *,
    rounds: Annotated[int, Parameter(help="How often each measurement is repeated; medians are shown.")] = 5,
    json: Json = False,
) -> None:
    """Measure our speed beside OpenSpiel's and LiteEFG's, in one run on one core."""
    from equipoise.bench import SUITES
    from equipoise.bench.measure import format_rows

    rows = SUITES[suite](rounds=rounds, report=_note)
    if json:
        return _print_json({"suite": suite, "rounds": rounds, "rows": [row.to_json() for row in rows]})
    return print(format_rows(rows))


def _settings(pairs: list[str] | None) -> dict[str, object]:
    settings: dict[str, object] = {}
    for pair in pairs or []:
        name, equals, value = pair.partition("=")
        if not equals:
            raise EquipoiseError(f"--set {pair} is not valid; write it as --set name=value")
        settings[name.strip()] = value.strip()
    return settings


def _free_folder(game: str, algorithm: str, seed: int) -> Path:
    """Return a run directory that does not exist yet, named after what runs."""
    plain = "".join(c if c.isalnum() or c in "_+=-" else "-" for c in f"{game}-{algorithm}-seed{seed}").strip("-")
    number, folder = 1, Path("runs") / plain
    while folder.exists():
        number += 1
        folder = Path("runs") / f"{plain}-{number}"
    return folder


@contextmanager
def _resumable(folder: Path) -> Iterator[None]:
    """End an interrupted run with the command that goes on with it."""
    from equipoise.runs.drive import Interrupted

    try:
        yield
    except Interrupted as error:
        _note(f"saved after iteration {error.iteration:,}; go on with: equipoise resume {folder}")
        sys.exit(130)


def _print_solution(summary: dict[str, Any], folder: Path, json: bool) -> None:
    if json:
        return _print_json({**summary, "run": str(folder)})
    from equipoise.games import load_game
    from equipoise.views.tables import print_numbers

    print_numbers(summary, unit=load_game(summary["game"]).chip_unit())
    return print(f"{'run':<15}{folder}")


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
    _note(f"equipoise: {text}")


_OUTPUTS = ("-o", "--output", "--log", "--phh", "--page")


def _read_hyphens(arguments: list[str]) -> list[str]:
    """Return arguments with standard output's other name in place of a hyphen that would be read as an option."""
    before = ["", *arguments]
    return ["/dev/fd/1" if (a, b in _OUTPUTS) == ("-", True) else a for a, b in zip(arguments, before, strict=False)]


def main() -> None:
    """Run the command line; mistakes end with one line on standard error and exit code 2."""
    try:
        app(_read_hyphens(sys.argv[1:]), exit_on_error=False, print_error=False)
    except CycloptsError as error:
        error.verbose = False
        _warn(" ".join(str(error).split()) + " (see --help)")
        sys.exit(2)
    except EquipoiseError as error:
        _warn(str(error))
        sys.exit(2)
    except KeyboardInterrupt:
        _warn("interrupted")
        sys.exit(130)
    except BrokenPipeError:  # the reader (head, less) has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
