"""How often the package asks what something is, instead of asking the thing itself: ``python tests/type_questions.py``.

Counted are calls of ``isinstance`` with a form, a tree, rows or a space, a policy or a player. What a run is made of is
chosen once (``solvers/representations.py``), and what a player can do is found out once (``evaluation/players.py``).
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

SOURCES = Path(__file__).parent.parent / "src"
KINDS = {
    "forms": {"Form", "SequenceForm", "LargeForm", "BoardForm", "UnmeasuredForm", "SpotForm"},
    "trees": {"GameTree", "PublicTree", "BettingTree"},
    "rows": {"Rows", "SeenRows", "Infosets", "PokerRows", "Space", "ListedSpace", "CodedSpace"},
    "policies": {"AnyPolicy", "Policy", "HoldemPolicy", "SpotPolicy"},
    "players": {
        "Player",
        "ListedPlayer",
        "LockstepPlayer",
        "BoardPlayer",
        "SpotPlayer",
        "QueriedPlayer",
        "PolicyPlayer",
        "HoldemPlayer",
        "SpotPolicyPlayer",
        "Baseline",
    },
}


def type_questions(folder: Path = SOURCES) -> Iterator[tuple[str, str]]:
    """Yield the kind of thing that is asked for, and where, for every question."""
    for path in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance":
                names = {each.id for each in ast.walk(node.args[1]) if isinstance(each, ast.Name)}
                where = f"{path.relative_to(folder)}:{node.lineno}"
                yield from ((kind, where) for kind, types in KINDS.items() if names & types)


if __name__ == "__main__":
    found = list(type_questions())
    lines = [f"{kind:10} {where}\n" for kind, where in found]
    sys.stdout.write("".join([*lines, f"{len(found)}\n"]))
