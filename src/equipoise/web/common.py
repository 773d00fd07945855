"""What every room asks: what this page is about, games, algorithms, and what can be opened."""

import os
from pathlib import Path

from equipoise import __version__
from equipoise.errors import EquipoiseError
from equipoise.evaluation.players import BASELINES
from equipoise.runs.listing import list_runs
from equipoise.solving import load_policy
from equipoise.views.algorithms import list_algorithms
from equipoise.views.games import list_games
from equipoise.web.answers import Answer, Answers, Asked, Upload
from equipoise.web.site import KEPT, Site

MOST_FILES = 1000
MOST_UPLOADED = 256 << 20  # bytes


def page(site: Site, asked: Asked) -> Answer:
    """Return what this page is about."""
    return {
        "version": __version__,
        "folder": str(site.home),
        "given": [str(path) for path in site.given],
        "games": site.given_games,
        "baselines": list(BASELINES),
    }


def games(site: Site, asked: Asked) -> Answer:
    """Return the games, as ``equipoise games --json`` does, and those that this page was given."""
    return {**list_games(), "given": site.given_games}


def algorithms(site: Site, asked: Asked) -> Answer:
    """Return the algorithms, as ``equipoise algorithms --json`` does; or one of them."""
    return list_algorithms(asked.text("name", "") or None)


def policies(site: Site, asked: Asked) -> Answer:
    """Return what has a policy that can be opened: runs with a checkpoint or a policy, and policy files."""
    runs = [each for root in site.roots if root.is_dir() for each in list_runs(root)]
    found = [
        {
            "policy": each["run"],
            **{name: each.get(name) for name in ("game", "algorithm", "iteration", "exploitability")},
        }
        for each in runs
        if "error" not in each and (each["checkpoint"] > 0 or (Path(each["run"]) / "policy.npz").exists())
    ]
    files = [path for root in site.roots for path in _policy_files(root)]
    return {"policies": [*found, *({"policy": str(file)} for file in files[:MOST_FILES])]}


def _policy_files(root: Path) -> list[Path]:
    """Return the policy files of a folder and of the folders in it; not those of runs."""
    if root.is_file():
        return [root]
    inside = [*root.glob("*.npz"), *root.glob("*/*.npz")]
    return sorted(file for file in inside if not (file.parent / "config.json").exists() and KEPT not in file.parts)


def upload(site: Site, asked: Asked) -> Answer:
    """Take a policy file into the page's folder, if it is one; what it says is not trusted more than any file."""
    name = asked.text("name")
    target = site.new(f"{name}.npz")
    asked.require_all_read()
    assert asked.upload is not None
    try:
        _, own = site.checked(asked.upload)
        policy = load_policy(asked.upload, game=None if own is None else site.games[own])
    except EquipoiseError as error:
        raise type(error)(str(error).replace(str(asked.upload), f"{name}.npz")) from None
    os.replace(asked.upload, target)
    return {"policy": str(target), "game": policy.game}


ANSWERS: Answers = {
    "GET /api/page": page,
    "GET /api/games": games,
    "GET /api/algorithms": algorithms,
    "GET /api/policies": policies,
    "POST /api/policy/upload": Upload(upload, most_bytes=MOST_UPLOADED),
}
