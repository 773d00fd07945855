"""Regenerating a claim: run its sweep, judge it, draw its figures, keep the numbers; and the page of all claims."""

import json
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, get_args

from equipoise.errors import EquipoiseError, NotFound, nearest
from equipoise.experiments.claim import OWN_OUTCOMES, Claim, Figure, NotAttempted, Outcome, as_json, scale_of
from equipoise.experiments.claim import outcome as verdict
from equipoise.experiments.claims import CLAIMS, NOT_ATTEMPTED, ORDER
from equipoise.experiments.published import recipe_of
from equipoise.experiments.sweep import History, Setting
from equipoise.files import make_folder, write_text
from equipoise.runs import provenance
from equipoise.views.plot import plot_sweep

KEPT_POINTS = 25  # a history is thinned to this many points in the data file, or more if its judge needs them


def find_claim(claim_id: str) -> Claim:
    """Return a claim of the ledger."""
    if claim_id in NOT_ATTEMPTED:
        there = NOT_ATTEMPTED[claim_id]
        raise NotFound(f"{claim_id} was not attempted: {there.why}; an attempt costs {there.cost}")
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
    kept = _thinned(claim, results)
    outcome: dict[str, Any] = {
        "claim": claim.id,
        "quick": quick,
        "seeds": sweep.seeds,
        "scale": sweep.scale,
        "core_seconds": _cost([history for histories in results.values() for history in histories]),
        "wall_seconds_of_this_call": round(time.monotonic() - started),
        "command": f"equipoise reproduce {claim.id}{' --quick' if quick else ''}",
        **provenance.of_data(),
        "settings": [{**asdict(setting), "histories": kept[setting.label]} for setting in sweep.settings],
    }
    judged = {**outcome, **_judged(claim, outcome)}
    judged["figures"] = _pictures(claim, judged, folder)
    write_text(folder / f"{_name(judged)}.json", json.dumps(judged) + "\n")
    return judged


def rejudged(path: Path) -> dict[str, Any]:
    """Return a data file with the verdict that the claim's judge has now: data are kept, judgements are made."""
    outcome: dict[str, Any] = json.loads(path.read_text())
    return {**outcome, **_judged(find_claim(outcome["claim"]), outcome)}


def _judged(claim: Claim, outcome: dict[str, Any]) -> dict[str, Any]:
    """Return what is made from data: the findings and the three parts of the verdict."""
    results = _results(outcome)
    findings = claim.judge(results)
    settings = [_setting(content) for content in outcome["settings"]]
    return {
        "title": claim.title,
        "paper": claim.paper,
        "says": claim.says,
        "unit": claim.unit,
        "own": claim.own,
        "findings": [as_json(finding) for finding in findings],
        "verdict": {
            "outcome": verdict(findings),
            "scale": scale_of(claim.published, results, quick=outcome["quick"])._asdict(),
            "recipe": recipe_of(claim.published, settings)._asdict(),
        },
    }


def _results(outcome: dict[str, Any]) -> dict[str, list[History]]:
    return {setting["label"]: setting["histories"] for setting in outcome["settings"]}


def _setting(content: dict[str, Any]) -> Setting:
    known = {field.name for field in fields(Setting)}
    return Setting.from_json({"start": None, **{name: value for name, value in content.items() if name in known}})


def _name(outcome: dict[str, Any]) -> str:
    return str(outcome["claim"]) + ("-quick" if outcome["quick"] else "")


def _pictures(claim: Claim, outcome: dict[str, Any], folder: Path) -> list[str]:
    """Draw a claim's figures and return their names."""
    names = []
    for number, figure in enumerate(claim.figures):
        names.append(f"{_name(outcome)}{'' if number == 0 else f'-{number + 1}'}.png")
        draw(_results(outcome), figure, f"{claim.id}: {claim.paper}", folder / names[-1], claim.lines)
    return names


def draw(
    results: dict[str, list[History]], figure: Figure, title: str, path: Path, lines: Mapping[str, float] | None = None
) -> None:
    """Draw a claim's figure: mean over seeds with the range, the paper's levels as lines.

    Curves that do not have its axis are left out.
    """
    curves = {
        _curve_label(label, y, figure, len(results)): [
            [(record[figure.x], record[y]) for record in history] for history in histories
        ]
        for label, histories in results.items()
        for y in figure.y
        if figure.x in histories[0][-1]
    }
    plot_sweep(curves, path, title=title, x_label=figure.x_label, y_label=figure.y_label, log=figure.log, levels=lines)


def _curve_label(label: str, y: str, figure: Figure, runs: int) -> str:
    if len(figure.y) == 1:
        return label
    quantity = y.removeprefix("variance_").replace("_", " ")
    return quantity if runs == 1 else f"{label}: {quantity}"


def _cost(histories: Iterable[History]) -> int | None:
    """Return the core-seconds of some runs; None where one of them was timed by the clock only."""
    last = [history[-1] for history in histories]
    return (
        round(sum(record["core_seconds"] for record in last)) if all("core_seconds" in each for each in last) else None
    )


def shown_cost(outcome: Mapping[str, Any]) -> str:
    """Return what the runs of a claim have cost."""
    return "not measured" if outcome["core_seconds"] is None else f"{outcome['core_seconds']:,} core-s"


def _thinned(claim: Claim, results: dict[str, list[History]]) -> dict[str, list[History]]:
    """Return histories with fewer points, but as many as the judge needs to find the same in them."""
    findings = claim.judge(results)
    longest = max(len(history) for histories in results.values() for history in histories)
    points = KEPT_POINTS
    while points < longest:
        fewer = {label: [_some(history, points) for history in runs] for label, runs in results.items()}
        if claim.judge(fewer) == findings:
            return fewer
        points *= 2
    return results


def _some(history: History, points: int) -> History:
    """Return at most so many records of a history, first and last included."""
    if len(history) <= points:
        return history
    step = (len(history) - 1) / (points - 1)
    return [history[round(index * step)] for index in range(points)]


def write_page(data: Path, page: Path) -> None:
    """Draw the figures of the data files in ``data`` again, and collect their outcomes into one Markdown page."""
    for path in _data_files(data):
        outcome = rejudged(path)
        outcome["figures"] = _pictures(find_claim(outcome["claim"]), outcome, data)
        write_text(path, json.dumps(outcome) + "\n")
    write_text(page, page_of(data, page.parent))


def _data_files(data: Path) -> list[Path]:
    """Return the data files of a folder in the order of the ledger."""
    order = {claim_id: number for number, claim_id in enumerate(ORDER)}
    paths = {path: json.loads(path.read_text()) for path in sorted(data.glob("*.json"))}
    if not paths:
        raise NotFound(f"{data} has no results yet; make some with `equipoise reproduce ID`")
    return sorted(paths, key=lambda path: (order.get(paths[path]["claim"], len(order)), paths[path]["quick"]))


def page_of(data: Path, start: Path) -> str:
    """Return the page of all claims, judged now; links are relative to the folder ``start``."""
    outcomes = {path: rejudged(path) for path in _data_files(data)}
    folder = _relative(data, start)
    lines = [
        "# Reproductions",
        "Every claim of the papers that software can check. Written by `equipoise reproduce --page` from the data",
        f"files in [{folder}]({folder}), which hold settings, seeds, machine and thinned histories behind each number.",
        "",
        "A verdict has three parts. **Outcome**: reproduced (every finding holds), partly, not reproduced, undecided",
        "(one seed only, within the noise of the seeds, or not tested at this scale) or not attempted. **Scale**: the",
        "paper's, larger, or scaled down. **Recipe**: as published, or ours. Comparisons between seeds are decided by",
        "the 95 % interval of the ratio of their means; a level must be met by every seed, of at least two.",
        "L1 to L10 are levels that we set ourselves: they are met or not, and reproduce nothing.",
        "Exploitability is nash_conv / 2. Costs are core-seconds of the runs with their evaluations, up to where the",
        "last one begins (in Deep CFR, evaluations also fit the policy networks).",
        "",
        "| claim | what the paper says | outcome | scale | recipe | cost |",
        "|---|---|---|---|---|---|",
    ]
    lines += [_row(outcome) for outcome in outcomes.values()]
    left = _not_attempted(outcomes.values())
    lines += [
        f"| [{claim.id}](#not-attempted) | {claim.says} | **not attempted** | | | {claim.cost} |" for claim in left
    ]
    for outcome in outcomes.values():
        lines += _section(outcome, folder)
    lines += [
        "",
        "## Not attempted",
        "",
        "| claim | paper | what an attempt costs | why there was none |",
        "|---|---|---|---|",
    ]
    lines += [f"| {claim.id}: {claim.says} | {claim.paper} | {claim.cost} | {claim.why} |" for claim in left]
    return "\n".join(lines) + "\n"


def _not_attempted(outcomes: Iterable[dict[str, Any]]) -> list[NotAttempted]:
    """Return the claims that no data file is about, in the order of the ledger."""
    there = {outcome["claim"] for outcome in outcomes}
    left = []
    for claim_id in ORDER:
        if claim_id in there:
            continue
        claim = NOT_ATTEMPTED.get(claim_id) or CLAIMS[claim_id]
        if isinstance(claim, Claim):
            why = f"its runs are not in this folder: `equipoise reproduce {claim.id}`"
            claim = NotAttempted(
                id=claim.id, title=claim.title, paper=claim.paper, says=claim.says, cost=claim.full.scale, why=why
            )
        left.append(claim)
    return left


def _shown_outcome(outcome: dict[str, Any]) -> str:
    found: Outcome = outcome["verdict"]["outcome"]
    return OWN_OUTCOMES[found] if outcome["own"] else found


def _row(outcome: dict[str, Any]) -> str:
    name, scale, recipe = outcome["claim"], outcome["verdict"]["scale"], outcome["verdict"]["recipe"]
    return (
        f"| [{name}](#{name.lower()}) | {outcome['says']} | **{_shown_outcome(outcome)}** | "
        f"{'' if outcome['own'] else scale['kind'] + ': '}{scale['how']} | {recipe['kind']} | "
        f"{shown_cost(outcome)} |"
    )


def _section(outcome: dict[str, Any], folder: str) -> Sequence[str]:
    scale, recipe = outcome["verdict"]["scale"], outcome["verdict"]["recipe"]
    rows = [
        f"| {f['what']}{'' if f['counts'] else ' (beside the claim)'} | {f['paper']} | {f['ours']} | "
        f"{f['holds'] if f['holds'] == 'yes' else '**' + f['holds'] + '**'} |"
        for f in outcome["findings"]
    ]
    return [
        "",
        f"## {outcome['claim']}",
        f"{outcome['paper']}: {outcome['says']}.",
        "",
        f"- Outcome: **{_shown_outcome(outcome)}**",
        f"- Scale: {'' if outcome['own'] else scale['kind'] + ', '}{scale['how']} ({outcome['scale']})",
        f"- Recipe: {recipe['kind']}{'. ' if recipe['how'] else ''}{recipe['how'][:1].upper()}{recipe['how'][1:]}",
        f"- Unit: {outcome['unit']}. Reproduce with `{outcome['command']}`",
        "",
        "| what | paper | ours | holds |",
        "|---|---|---|---|",
        *rows,
        "",
        *(f"![{outcome['claim']}]({folder}/{picture})" for picture in outcome["figures"]),
    ]


def summary_of(data: Path, page: str) -> str:
    """Return the README's table: the claims of the papers by outcome, then our own levels; links go to ``page``."""
    outcomes = [rejudged(path) for path in _data_files(data)]
    groups: dict[tuple[str, str, str], list[str]] = {}
    for outcome in outcomes:
        scale, recipe = outcome["verdict"]["scale"]["kind"], outcome["verdict"]["recipe"]["kind"]
        link = f"[{outcome['claim']}]({page}#{outcome['claim'].lower()}) {outcome['title']}"
        named = "levels of our own, " if outcome["own"] else ""
        key = (named + _shown_outcome(outcome), "" if outcome["own"] else scale, "" if outcome["own"] else recipe)
        groups.setdefault(key, []).append(link)
    left = [f"[{claim.id}]({page}#not-attempted) {claim.title}" for claim in _not_attempted(outcomes)]
    if left:
        groups["not attempted", "", ""] = left
    kinds = (*get_args(Outcome), *(f"levels of our own, {each}" for each in OWN_OUTCOMES.values()))
    ranked = sorted(groups, key=lambda key: (kinds.index(key[0]), key[1:]))
    total: dict[str, int] = {}
    for key in ranked:
        if not key[0].startswith("levels"):
            total[key[0]] = total.get(key[0], 0) + len(groups[key])
    papers = {name.split("-")[0] for name in ORDER if not name.startswith("L")}
    parts = f", in {sum(total.values())} parts" if sum(total.values()) > len(papers) else ""
    counted = ", ".join(f"{count} {name}" for name, count in total.items())
    return "\n".join(
        [
            f"{len(papers)} claims{parts}: {counted}.",
            "",
            "| outcome | scale | recipe | claims |",
            "|---|---|---|---|",
            *(f"| {key[0]} | {key[1]} | {key[2]} | {'; '.join(groups[key])} |" for key in ranked),
        ]
    )


def _relative(target: Path, start: Path) -> str:
    return Path(os.path.relpath(target, start)).as_posix()
