"""Regenerating a claim: run its sweep, judge it, draw its figures, keep the numbers; and the page of all claims."""

import json
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from equipoise.errors import EquipoiseError, NotFound, nearest
from equipoise.experiments.claim import Claim, Figure, verdict
from equipoise.experiments.claims import CLAIMS
from equipoise.experiments.sweep import History
from equipoise.files import make_folder, write_text
from equipoise.runs import provenance
from equipoise.views.plot import plot_sweep

KEPT_POINTS = 25  # a history is thinned to this many points in the data file


def find_claim(claim_id: str) -> Claim:
    """Return a claim of the ledger."""
    if claim_id not in CLAIMS:
        hint = nearest(claim_id, CLAIMS) or "; `equipoise reproduce --list` shows them"
        raise NotFound(f"unknown claim '{claim_id}'{hint}")
    return CLAIMS[claim_id]


def reproduce(
    claim_id: str, *, quick: bool, folder: Path, report: Callable[[str], None], cluster: str | None = None
) -> dict[str, Any]:
    """Run a claim's sweep (what is missing of it) and return the outcome, which is also written as JSON and figures."""
    claim = find_claim(claim_id)
    sweep = claim.quick if quick else claim.full
    make_folder(folder)
    started = time.monotonic()
    results = sweep.run(folder, report, cluster)
    missing = [label for label, histories in results.items() if any(not history for history in histories)]
    if missing:
        raise EquipoiseError(f"{claim_id} was interrupted; run the same command again to continue")
    findings = claim.judge(results)
    outcome: dict[str, Any] = {
        "claim": claim.id,
        "paper": claim.paper,
        "says": claim.says,
        "unit": claim.unit,
        "scale": sweep.scale,
        "quick": quick,
        "seeds": sweep.seeds,
        "verdict": verdict(findings),
        "findings": [vars(finding) for finding in findings],
        "core_seconds": round(sum(_cost(history) for histories in results.values() for history in histories)),
        "wall_seconds_of_this_call": round(time.monotonic() - started),
        "command": f"equipoise reproduce {claim.id}{' --quick' if quick else ''}",
        **provenance.of_data(),
        "settings": [
            {**asdict(setting), "histories": [_thinned(history) for history in results[setting.label]]}
            for setting in sweep.settings
        ],
        "figures": [],
    }
    name = claim.id + ("-quick" if quick else "")
    for number, figure in enumerate(claim.figures):
        picture = f"{name}{'' if number == 0 else f'-{number + 1}'}.png"
        draw(results, figure, f"{claim.id}: {claim.paper}", folder / picture)
        outcome["figures"].append(picture)
    write_text(folder / f"{name}.json", json.dumps(outcome) + "\n")
    return outcome


def draw(results: dict[str, list[History]], figure: Figure, title: str, path: Path) -> None:
    """Draw a claim's figure: mean over seeds, with the range. Curves that do not have its axis are left out."""
    curves = {
        label if len(figure.y) == 1 else y.removeprefix("variance_"): [
            [(record[figure.x], record[y]) for record in history] for history in histories
        ]
        for label, histories in results.items()
        for y in figure.y
        if figure.x in histories[0][-1]
    }
    plot_sweep(curves, path, title=title, x_label=figure.x_label, y_label=figure.y_label, log=figure.log)


def _cost(history: History) -> float:
    last = {"seconds": 0.0, **history[-1]}
    return float(last.get("core_seconds", last["seconds"]))


def _thinned(history: History) -> History:
    """Return a history with at most KEPT_POINTS records, first and last included."""
    if len(history) <= KEPT_POINTS:
        return history
    step = (len(history) - 1) / (KEPT_POINTS - 1)
    return [history[round(index * step)] for index in range(KEPT_POINTS)]


def write_page(data: Path, page: Path) -> None:
    """Collect the outcomes in ``data`` into one Markdown page."""
    outcomes = [json.loads(path.read_text()) for path in sorted(data.glob("*.json"))]
    if not outcomes:
        raise NotFound(f"{data} has no results yet; make some with `equipoise reproduce ID`")
    order = {claim_id: number for number, claim_id in enumerate(CLAIMS)}
    outcomes.sort(key=lambda outcome: (order.get(outcome["claim"], 99), outcome["quick"]))
    folder = _relative(data, page.parent)
    lines = [
        "# Reproductions",
        "Claims of the papers, run again by this software. Written by `equipoise reproduce --page` from the data files",
        f"in [{folder}]({folder}), which hold the settings, seeds and thinned histories behind each number.",
        "Exploitability is nash_conv / 2. Costs are core-seconds of the runs with their evaluations, up to where the",
        "last one begins (in Deep CFR, evaluations also fit the policy networks).",
        "",
        "| claim | what the paper says | verdict | scale | cost |",
        "|---|---|---|---|---|",
    ]
    lines += [
        f"| [{o['claim']}](#{o['claim'].lower()}) | {o['says']} | **{o['verdict']}** | {o['scale']} | "
        f"{o['core_seconds']:,} core-s, {o['seeds']} seed(s) |"
        for o in outcomes
    ]
    for o in outcomes:
        lines += _section(o, folder)
    write_text(page, "\n".join(lines) + "\n")


def _section(outcome: dict[str, Any], folder: str) -> Sequence[str]:
    rows = [
        f"| {f['what']} | {f['paper']} | {f['ours']} | {'yes' if f['holds'] else '**no**'} |"
        for f in outcome["findings"]
    ]
    return [
        "",
        f"## {outcome['claim']}",
        f"{outcome['paper']}: {outcome['says']}.",
        "",
        f"Scale: {outcome['scale']}. Unit: {outcome['unit']}. Reproduce with `{outcome['command']}`.",
        "",
        "| what | paper | ours | holds |",
        "|---|---|---|---|",
        *rows,
        "",
        *(f"![{outcome['claim']}]({folder}/{picture})" for picture in outcome["figures"]),
    ]


def _relative(target: Path, start: Path) -> str:
    return Path(os.path.relpath(target, start)).as_posix()
