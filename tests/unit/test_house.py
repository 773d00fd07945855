"""The house stays a house: what it was rebuilt for does not come back by the side door."""

from tests.type_questions import KINDS, SOURCES, type_questions

MOST_QUESTIONS = 13  # there were 77; whoever takes one away lowers this


def test_nobody_asks_what_forms_trees_policies_and_players_are():
    found = list(type_questions())
    assert len(found) <= MOST_QUESTIONS, "ask the representation, or the thing itself: " + ", ".join(
        f"{where} ({kind})" for kind, where in found
    )


def test_questions_are_counted(tmp_path):
    (tmp_path / "one.py").write_text("isinstance(x, BoardForm | SpotForm) and isinstance(y, int)")
    (tmp_path / "two.py").write_text("isinstance(z, Policy)")
    assert list(type_questions(tmp_path)) == [("forms", "one.py:1"), ("policies", "two.py:1")]


def test_types_that_are_counted_exist():
    sources = "".join(path.read_text() for path in SOURCES.rglob("*.py"))
    for name in set().union(*KINDS.values()):
        assert f"class {name}" in sources or f"\n{name} = " in sources, name


def test_no_solver_is_asked_whether_it_has_something():
    asked = [path.name for path in SOURCES.rglob("*.py") if "hasattr(solver" in path.read_text()]
    assert not asked
