"""Commands in the documents can be pasted, and links lead somewhere."""

import importlib.util
import re
import shlex
from pathlib import Path

import pytest

from equipoise.cli import app

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def commands() -> list[str]:
    """Return the commands of all blocks, those over several lines joined."""
    fenced = [
        pair for page in PAGES for pair in re.findall(r"^```(\w*)\n(.*?)^```", page.read_text(), re.DOTALL | re.M)
    ]
    lines = [line for language, block in fenced if not language for line in block.replace("\\\n", " ").splitlines()]
    return [line for line in lines if line.startswith("equipoise ")]


def test_commands_in_blocks_are_found():
    assert len(commands()) >= 25


@pytest.mark.parametrize("command", commands())
def test_command_can_be_pasted(command):
    words = shlex.split(command, comments=False)
    assert "#" not in words  # zsh takes no comments on the command line
    if ">" in words:
        words = words[: words.index(">")]
    app.parse_args(words[1:], exit_on_error=False, print_error=False)  # raises if there is a word too many


def anchors(page: Path) -> set[str]:
    titles = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target, anchor in re.findall(r"\]\(([^)#\s:]+)(?:#([^)\s]*))?\)", page.read_text()):
        there = (page.parent / target).resolve()
        assert there.exists(), target
        assert not anchor or anchor in anchors(there), f"{target}#{anchor}"


def test_pages_that_are_made_from_the_code_are_up_to_date():
    spec = importlib.util.spec_from_file_location("build_docs", ROOT / "docs" / "build.py")
    build = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(build)
    assert build.outdated() == [], "run: python docs/build.py pages"
    listed = (ROOT / "docs" / "mkdocs.yml").read_text()
    assert all(f"docs/{page.name}" in listed for page in (ROOT / "docs").glob("*.md"))  # the site shows every page
