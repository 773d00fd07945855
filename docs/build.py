"""The pages that are made from the code, and the site: `python docs/build.py pages | site | check`.

- ``pages`` writes docs/parameters.md (from the settings), docs/python.md (from docstrings), docs/reproductions.md and
  the README's table of claims (both from docs/data, judged again), and the numbers in docs/scaling.md (from
  docs/data/bench/cluster.json);
- ``check`` says whether they are up to date (a test does, too);
- ``site`` builds all documents into build/site, to be read without a network: open build/site/index.html.
"""

import dataclasses
import inspect
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import equipoise
from equipoise.bench import scaling
from equipoise.experiments.ledger import page_of, summary_of
from equipoise.solvers.papers import TITLES
from equipoise.solvers.recipes import RECIPES, Recipe

ROOT = Path(__file__).parents[1]
KINDS = {  # what python.md lists, and in which order
    "Solve": ("solve", "resume", "Solution", "compare", "Comparison", "spot", "resolve", "Resolved"),
    "Policies": ("load_policy", "as_policy", "Policy"),
    "Evaluate": (
        "exploitability",
        "nash_conv",
        "value",
        "action_values",
        "appraiser",
        "exact_match",
        "play_match",
    ),
    "Games": ("load_game", "Game", "State"),
}


def parameters_page() -> str:
    """Return every setting of every algorithm, as a page."""
    parts = [
        "# Parameters",
        "Every setting of every algorithm, made from the code by `python docs/build.py pages`; `equipoise algorithms NAME` "
        "prints the same. Set them with `--set name=value`, or in Python with `parameters={...}`. What a variant does not "
        "have is refused, never ignored. Settings as the papers publish them are [presets](presets.md).",
    ]
    parts += [_algorithm(recipe) for recipe in RECIPES.values()]
    return "\n\n".join(parts) + "\n"


def _algorithm(recipe: Recipe) -> str:
    title = f"*{TITLES[recipe.paper]}*" if recipe.paper in TITLES else ""
    lines = [f"## {recipe.name}", f"{recipe.about}. {recipe.paper}{f', {title}' if title else ''}.", ""]
    if not recipe.knobs:
        return "\n".join([*lines, "It has no parameters."])
    large = any(knob.unlisted != knob.default for knob in recipe.knobs)
    lines += [
        f"| name | default |{' in large games |' if large else ''} meaning | values | in papers |",
        f"|---|---|{'---|' if large else ''}---|---|---|",
    ]
    for knob in recipe.knobs:
        there = knob.shown(knob.unlisted) if knob.unlisted != knob.default else ""
        only = f" (only {knob.where})" if knob.when else ""
        cells = [f"`{knob.name}`", knob.shown(knob.default), *([there] if large else [])]
        cells += [knob.meaning + only, knob.kind.wanted, knob.published or ""]
        lines.append("| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines)


def python_page() -> str:
    """Return the public names with their signatures and docstrings, as a page."""
    parts = [
        "# Python",
        "What `import equipoise` offers, made from the docstrings by `python docs/build.py pages`. Errors are kinds of "
        "`equipoise.EquipoiseError` (`equipoise.errors` has them all); how to log to other tools is in "
        "[training.md](training.md).",
    ]
    listed = {name for names in KINDS.values() for name in names}
    apart = {"CHANCE", "TERMINAL", "EquipoiseError", "__version__", "errors"}
    assert listed <= set(equipoise.__all__), sorted(listed - set(equipoise.__all__))
    more = tuple(name for name in equipoise.__all__ if name not in listed | apart)
    for kind, names in {**KINDS, **({"More": more} if more else {})}.items():
        parts.append(f"## {kind}")
        parts += [_described(name, getattr(equipoise, name)) for name in names]
    return "\n\n".join(parts) + "\n"


def _described(name: str, thing: object) -> str:
    if not inspect.isclass(thing):
        return f"### {name}\n```python\n{name}{_signature(thing)}\n```\n{_text(thing)}"
    lines = [f"### {name}", _text(thing)]
    if dataclasses.is_dataclass(thing) and name != "Policy":
        fields = ", ".join(f"`{each.name}`" for each in dataclasses.fields(thing) if not each.name.startswith("_"))
        lines.append(f"Fields: {fields}.")
    private = [
        each for each in thing.__mro__[1:] if each.__module__.startswith("equipoise") and each.__name__[0] == "_"
    ]
    members = {member: found for each in (*reversed(private), thing) for member, found in vars(each).items()}
    for member, found in members.items():
        function = getattr(found, "func", getattr(found, "fget", getattr(found, "__func__", found)))
        if member.startswith("_") or not inspect.isfunction(function) or not function.__doc__:
            continue
        shown = "" if function is not found and not isinstance(found, classmethod) else _signature(function, short=True)
        lines.append(f"- `{member}{shown}`: {_text(function, one_line=True)}")
    return "\n\n".join(lines[:2]) + ("\n\n" + "\n".join(lines[2:]) if lines[2:] else "")


def _signature(function: object, *, short: bool = False) -> str:
    signature = inspect.signature(function)
    if short:
        names = [p for p in signature.parameters.values() if p.name not in ("self", "cls")]
        return (
            "(" + ", ".join(p.name if p.default is p.empty else f"{p.name}={_default(p.default)}" for p in names) + ")"
        )
    lines = []
    starred = False
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            lines.append("    *,")
            starred = True
        prefix = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
        default = "" if parameter.default is parameter.empty else f"={_default(parameter.default)}"
        lines.append(f"    {prefix}{parameter.name}{default},")
    return "(\n" + "\n".join(lines) + "\n)" if lines else "()"


def _default(value: object) -> str:
    if callable(value):
        return "..."
    return f"{str(value)!r}" if isinstance(value, Path) else repr(value)


def _text(thing: object, *, one_line: bool = False) -> str:
    text = inspect.getdoc(thing) or ""
    text = re.sub(r":\w+:`([^`]*)`", r"`\1`", text.replace("``", "`"))
    return " ".join(text.split()) if one_line else text


LEDGER = ("<!-- claims: made by docs/build.py pages -->\n", "<!-- end of claims -->\n")


def reproductions_page() -> str:
    """Return the page of the claims, judged now from docs/data."""
    return page_of(ROOT / "docs" / "data", ROOT / "docs")


def readme() -> str:
    """Return the README with the claims by outcome between its two marks."""
    before, rest = (ROOT / "README.md").read_text().split(LEDGER[0])
    after = rest.split(LEDGER[1])[1]
    table = summary_of(ROOT / "docs" / "data", "docs/reproductions.md")
    return f"{before}{LEDGER[0]}{table}\n{LEDGER[1]}{after}"


MEASURE = "equipoise bench cluster --json | tail -1 > docs/data/bench/cluster.json"
SCALING = ("<!-- measured: made by docs/build.py pages -->\n", "<!-- end of what was measured -->\n")


def scaling_page() -> str:
    """Return the page about clusters, with what docs/data/bench/cluster.json says between its two marks."""
    before, rest = (ROOT / "docs" / "scaling.md").read_text().split(SCALING[0])
    after = rest.split(SCALING[1])[1]
    data = ROOT / "docs" / "data" / "bench" / "cluster.json"
    made = f"Not measured yet on a machine with nothing else to do: `{MEASURE}`, then `python docs/build.py pages`.\n"
    if data.exists():
        told = json.loads(data.read_text())
        machine = f"{told['machine']['cpu']}, {told['machine']['usable_cores']} cores"
        made = scaling.page(told["rows"], told["load"], machine, told["date"][:10])
    return f"{before}{SCALING[0]}{made}{SCALING[1]}{after}"


PAGES = {
    ROOT / "docs" / "scaling.md": scaling_page,
    ROOT / "docs" / "parameters.md": parameters_page,
    ROOT / "docs" / "python.md": python_page,
    ROOT / "docs" / "reproductions.md": reproductions_page,
    ROOT / "README.md": readme,
}


def outdated() -> list[Path]:
    """Return the pages that say something else than the code."""
    return [path for path, make in PAGES.items() if not path.exists() or path.read_text() != make()]


def build_site() -> None:
    """Copy all documents to one place, and let MkDocs make a site of them."""
    sources, site = ROOT / "build" / "site-sources", ROOT / "build" / "site"
    shutil.rmtree(sources, ignore_errors=True)
    sources.mkdir(parents=True)
    for page in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "LICENSE", "CITATION.cff"):
        shutil.copy(ROOT / page, sources)
    for folder in ("docs", "examples"):
        shutil.copytree(ROOT / folder, sources / folder, ignore=shutil.ignore_patterns("*.pyc", "__pycache__"))
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-f", str(ROOT / "docs" / "mkdocs.yml")]
    quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    subprocess.run([*command, "-d", str(site)], check=True, env=quiet)
    print(f"open {site / 'index.html'}")


def main() -> None:
    """Do what the command line says."""
    what = sys.argv[1] if len(sys.argv) == 2 else ""
    if what == "pages":
        for path, make in PAGES.items():
            path.write_text(make())
    elif what == "site":
        build_site()
    elif what == "check":
        if stale := outdated():
            sys.exit(f"out of date: {', '.join(str(path) for path in stale)}; run: python docs/build.py pages")
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
