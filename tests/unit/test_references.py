"""Every paper that the code cites is in docs/references.md."""

import re
from pathlib import Path

from equipoise.solvers.papers import TITLES

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "references.md").read_text(encoding="utf-8")
KEY = re.compile(r"\b(?:DN|B|G)[12]\d\b")
NAME = r"[A-Z][a-z]+(?:-[A-Z][a-z]+)?"
CITED = re.compile(rf"\b({NAME}(?: et al\.| and {NAME})?),? \(?((?:19|20)\d\d)\b")
SELF = (Path(__file__).name, "references.md")


def sources() -> str:
    files = [*(ROOT / "src").rglob("*.py"), *(ROOT / "tests").rglob("*.py"), *(ROOT / "docs").glob("*.md")]
    return "\n".join(file.read_text(encoding="utf-8") for file in files if file.name not in SELF)


def test_all_keys_are_explained() -> None:
    keys = set(KEY.findall(sources()))
    assert keys >= {"DN19", "DN20", "B19", "G12"}
    assert not {key for key in keys if f"| {key} |" not in PAGE}


def test_all_cited_papers_are_listed() -> None:
    cited = {f"{names} {year}" for names, year in CITED.findall(sources())}
    assert len(cited) > 15
    assert not {name for name in cited if name not in PAGE}


def test_all_papers_of_algorithms_are_listed_with_their_titles() -> None:
    for cited, title in TITLES.items():
        assert cited in PAGE
        assert title.split(" (")[0] in PAGE, title
