"""Games of one's own as files and as objects: found by their path, told by their rules, and never run unasked."""

import json
import re
import shutil
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import equipoise
from equipoise.cli import main
from equipoise.errors import EquipoiseError, EquipoiseWarning, GameChanged, InvalidGame, NotTrusted, UnknownGame
from equipoise.evaluation.exploitability import evaluate
from equipoise.evaluation.players import BASELINES
from equipoise.games import StoredText, load_game
from equipoise.policies import read_policy
from equipoise.trees.compile import compile_game
from tests.random_games import RandomGame

EXAMPLE = Path(__file__).parents[2] / "examples" / "own_game.py"
WIN, LOSS = "return 1.0 if", "return 2.0 if"
EVIL = "import pathlib\npathlib.Path({mark!r}).touch()\n"


@pytest.fixture
def own(tmp_path, monkeypatch):
    """The shipped example, copied to a folder of its own; commands run in another one."""
    path = tmp_path / "some where" / "spiel für zwei"
    path.parent.mkdir()
    shutil.copy(EXAMPLE, path)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(path.parent)
    return path


def run(monkeypatch, capsys, *arguments):
    """Return the exit code and what was printed."""
    monkeypatch.setattr(sys, "argv", ["equipoise", *map(str, arguments)])
    code = 0
    try:
        main()
    except SystemExit as stop:
        code = stop.code
    printed = capsys.readouterr()
    return code, printed.out + printed.err


def changed(path, old=WIN, new=LOSS):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_a_game_is_known_by_its_path_from_any_folder(own, tmp_path, monkeypatch, capsys):
    folder = tmp_path / "run"
    code, said = run(monkeypatch, capsys, "solve", f"python:{own.name}", "--iterations", "50", "--out", folder)
    assert code == 0, said
    assert json.loads((folder / "config.json").read_text())["game"] == f"python:{own}"
    assert read_policy(folder / "policy.npz").game == f"python:{own}"
    monkeypatch.chdir(tmp_path / "elsewhere")
    for command in (
        ["evaluate", folder],
        ["match", folder, "uniform", "--hands", "10"],
        ["match", folder, folder / "policy.npz", "--exact"],
        ["resume", folder, "--iterations", "60"],
        ["show", folder],
        ["export", folder, "--to", "efg", "-o", "own.efg"],
        ["export", folder, "--to", "json", "-o", "own.json"],
    ):
        code, said = run(monkeypatch, capsys, *command, "--trust-game")
        assert code == 0, said
    code, said = run(monkeypatch, capsys, "plot", folder, "-o", "own.svg")
    assert code == 0, said
    assert compile_game(load_game("efg:own.efg")).num_infosets == 4
    assert load_game("efg:own.efg").address == f"efg:{tmp_path / 'elsewhere' / 'own.efg'}"


@pytest.mark.parametrize(
    ("old", "new", "name"),
    [
        ('name = "peek"\n', "", None),
        ('name = "peek"', 'name = "leduc_poker"', "leduc_poker"),
        ('name = "peek"', 'name = "python:nowhere.py"', "python:nowhere.py"),
    ],
)
def test_the_name_is_for_display_only(own, old, new, name):
    changed(own, old, new)
    game = load_game(f"python:{own}")
    assert game.name == (name or f"python:{own}")
    assert game.address == f"python:{own}"
    solution = equipoise.solve(game, iterations=50)
    assert solution.game == solution.policy.game == f"python:{own}"
    assert equipoise.exploitability(solution.policy.game, solution.policy) == pytest.approx(solution.exploitability)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("class Peek(equipoise.Game):", "class Peek(equipoise.Gme):", "line 30: AttributeError: module 'equipoise'"),
        ("class Peek(", "class Peek (", None),
        ("import equipoise\n", "import equipoise\nraise SystemExit(0)\n", "line 7: SystemExit: 0"),
        ("import equipoise\n", "import equipoise\n1 +\n", "SyntaxError: invalid syntax"),
        ("import equipoise\n", "import equipoise\nraise ValueError('a\\nb')\n", "line 7: ValueError: a b"),
        ("    def root(self):", "    def roots(self):", "class Peek lacks root()"),
        ("    def payoff(self):", "    def payof(self):", "at the start: "),
        ('name = "peek"', "name = 7", "name is 7; it must be a line of text"),
        ('name = "peek"', 'name = ""', "name is ''; it must be a line of text"),
        ('name = "peek"', "name = property(lambda self: self.x)", "AttributeError"),
        ('name = "peek"', "def chip_unit(self): return None", "chip_unit() is None"),
        ('name = "peek"', "def __init__(self, n): pass", "Peek() raised TypeError"),
        ('if __name__ == "__main__":', "class Other(equipoise.Game):\n  if False:", "it has 2: Peek, Other"),
        ("class Peek(equipoise.Game):", "class Peek:", "must define one subclass of equipoise.Game; it has 0"),
    ],
)
def test_a_file_that_is_no_game_is_refused_in_one_line(own, old, new, said, monkeypatch, capsys, tmp_path):
    changed(own, old, new)
    code, printed = run(monkeypatch, capsys, "solve", f"python:{own}", "--iterations", "2", "--out", tmp_path / "run")
    assert "Traceback" not in printed
    if said is None:
        assert code == 0
        return
    assert code == 2
    assert printed.strip().count("\n") == 0
    assert said in printed
    assert str(own) in printed or "peek" in printed
    assert not (tmp_path / "run").exists()


def test_a_class_made_from_another_one_in_the_file_is_the_game(own):
    own.write_text(own.read_text().replace('if __name__ == "__main__":', "class Loud(Peek):\n    pass\n\n\nif False:"))
    assert type(load_game(f"python:{own}")).__name__ == "Loud"


def test_a_file_changed_within_a_second_is_read_again(own):
    first = compile_game(load_game(f"python:{own}")).fingerprint
    changed(own)  # as long as before, and as old
    assert compile_game(load_game(f"python:{own}")).fingerprint != first


@pytest.fixture
def evil(tmp_path):
    """A run whose files name a program that leaves a mark."""
    mark = tmp_path / "mark"
    program = tmp_path / "evil.py"
    program.write_text(EVIL.format(mark=str(mark)) + EXAMPLE.read_text())
    equipoise.solve("kuhn_poker", iterations=20, out=tmp_path / "run")
    for name in ("config.json", "policy.npz"):
        _rename_game(tmp_path / "run" / name, f"python:{program}")
    return tmp_path / "run", mark


def _rename_game(file, game):
    if file.suffix == ".json":
        config = json.loads(file.read_text())
        file.write_text(json.dumps({**config, "game": game}))
        return
    policy = read_policy(file)
    replace(policy, game=game).save(file)


@pytest.mark.parametrize(
    "command",
    [
        ["evaluate", "{run}"],
        ["evaluate", "{run}/policy.npz"],
        ["match", "{run}", "uniform", "--hands", "10"],
        ["match", "{run}/policy.npz", "{run}", "--exact"],
        ["match", "uniform", "{run}", "--hands", "10"],
        ["resume", "{run}", "--iterations", "30"],
        ["export", "{run}", "--to", "efg", "-o", "{run}/x"],
        ["export", "{run}", "--to", "open_spiel", "-o", "{run}/x"],
        [
            "solve",
            "kuhn_poker",
            "--algorithm",
            "dncfr",
            "--init-from",
            "{run}",
            "--out",
            "{run}/x",
            "--iterations",
            "1",
        ],
    ],
    ids=" ".join,
)
def test_a_file_never_makes_code_run(evil, command, monkeypatch, capsys):
    folder, mark = evil
    command = [word.format(run=folder) for word in command]
    code, said = run(monkeypatch, capsys, *command)
    assert code == 2
    assert "no file may run code by itself" in said or command[0] == "solve"
    assert not mark.exists()
    if command[0] in ("evaluate", "match", "resume"):
        run(monkeypatch, capsys, *command, "--trust-game")
        assert mark.exists()


def test_looking_at_a_run_runs_no_code(evil, monkeypatch, capsys):
    folder, mark = evil
    for command in (["show", folder], ["plot", folder, "-o", folder / "x.svg"]):
        assert run(monkeypatch, capsys, *command)[0] == 0
    config = json.loads((folder / "config.json").read_text())
    del config["unit"]  # as older runs
    (folder / "config.json").write_text(json.dumps(config))
    assert run(monkeypatch, capsys, "plot", folder, "-o", folder / "x.svg")[0] == 0
    (folder / "policy.npz").unlink()
    code, said = run(monkeypatch, capsys, "show", folder)
    assert (code, "no file may run code by itself" in said) == (2, True)
    assert not mark.exists()


def test_in_python_a_policys_word_is_no_permission_either(evil):
    folder, mark = evil
    policy = equipoise.load_policy(folder)
    for use in (
        lambda: load_game(policy.game),
        lambda: equipoise.exploitability(policy.game, policy),
        lambda: equipoise.play_match(policy, "uniform", hands=10),
        lambda: equipoise.exact_match(policy, "uniform"),
        lambda: policy.rules,
        lambda: policy.to_open_spiel(),
        lambda: equipoise.resume(folder),
        lambda: equipoise.solve(policy.game),
    ):
        with pytest.raises(NotTrusted, match="trust_game=True"):
            use()
    assert not mark.exists()
    assert equipoise.load_policy(folder, trust_game=True).rules.name == "peek"
    assert mark.exists()


def test_the_game_on_the_command_line_is_the_users_word(own, tmp_path, monkeypatch, capsys):
    folder, moved = tmp_path / "run", tmp_path / "moved.py"
    equipoise.solve(f"python:{own}", iterations=20, out=folder)
    own.rename(moved)
    for command in (["evaluate", folder], ["match", folder, "uniform", "--hands", "10"], ["resume", folder]):
        code, said = run(monkeypatch, capsys, *command, "--game", f"python:{moved}")
        assert code == 0, said
    changed(moved)
    for command in (["evaluate", folder], ["match", folder, "uniform", "--hands", "10"], ["resume", folder]):
        code, said = run(monkeypatch, capsys, *command, "--game", f"python:{moved}")
        assert code == 2, said
        assert "other rules" in said or "plays" in said


class Uniform:
    """Asked state by state, so that the match goes through the rules."""

    name = "mine"
    action_probabilities = staticmethod(BASELINES["uniform"].action_probabilities)


def test_changed_rules_are_refused(own, tmp_path, monkeypatch, capsys):
    text, folder = f"python:{own}", tmp_path / "run"
    equipoise.solve(text, iterations=20, out=folder)
    policy = equipoise.load_policy(folder, trust_game=True)
    own.write_text("# a remark\n" + own.read_text())
    assert equipoise.exploitability(text, policy) < 0.1
    for old, new in ((WIN, LOSS), ('"blind"', '"dark"'), ("return PeekState()", "return PeekState((0,))")):
        before = own.read_text()
        changed(own, old, new)
        for command in (["evaluate"], ["match", "uniform", "--hands", "10"], ["resume", "--iterations", "30"]):
            code, said = run(monkeypatch, capsys, command[0], folder, *command[1:], "--trust-game")
            assert code == 2
            assert "made with other rules" in said
            assert f"{text} has changed since" in said
        with pytest.raises(GameChanged):
            equipoise.play_match(policy, Uniform(), hands=10, game=text)
        with pytest.raises(GameChanged):
            equipoise.resume(folder, trust_game=True)
        with pytest.raises(GameChanged):
            equipoise.solve(text, "dncfr", init_from=folder, iterations=1)
        own.write_text(before)
    assert equipoise.resume(folder, trust_game=True, iterations=30).iterations == 30


def test_a_changed_efg_file_is_refused(tmp_path):
    from equipoise.games.efg import write_efg

    path = tmp_path / "kuhn.efg"
    write_efg(load_game("kuhn_poker"), path)
    equipoise.solve(f"efg:{path}", iterations=20, out=tmp_path / "run")
    path.write_text(path.read_text().replace("{ 2, -2 }", "{ 3, -3 }"))
    with pytest.raises(GameChanged):
        equipoise.resume(tmp_path / "run", iterations=30)
    policy = equipoise.load_policy(tmp_path / "run")
    with pytest.raises(GameChanged):
        equipoise.exploitability(policy.game, policy)


def test_files_without_a_fingerprint_are_taken_with_a_note(tmp_path):
    solution = equipoise.solve("kuhn_poker", iterations=20, out=tmp_path / "run")
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    assert config.pop("fingerprint") == solution.policy.fingerprint
    (tmp_path / "run" / "config.json").write_text(json.dumps(config))
    said = []
    equipoise.resume(tmp_path / "run", iterations=30, on_complaint=said.append)
    assert any("not known whether kuhn_poker has changed" in sentence for sentence in said)
    replace(solution.policy, fingerprint=None).save(tmp_path / "old.npz")
    with pytest.warns(EquipoiseWarning, match="not known whether kuhn_poker has changed"):
        equipoise.exploitability("kuhn_poker", equipoise.load_policy(tmp_path / "old.npz"))


def test_both_engines_have_one_fingerprint():
    for text in ("kuhn_poker", "leduc_poker", "bluff(dice=1x1)"):
        game = load_game(text)
        assert compile_game(game, "vector").fingerprint == compile_game(game, "sequence").fingerprint
    texts = ["kuhn_poker", "one_card_poker(cards=3)", "leduc_poker", "nl_leduc(stack=3)", "nl_leduc(stack=4)"]
    texts += ["goofspiel(cards=3)", "goofspiel(cards=3,last_round=played)", "open_spiel:kuhn_poker"]
    prints = [compile_game(load_game(text)).fingerprint for text in texts]
    assert len(set(prints[1:])) == len(texts) - 1


def test_a_game_given_as_an_object_is_solved_saved_and_resumed(tmp_path):
    game = RandomGame(3, 4)
    solution = equipoise.solve(game, iterations=50, out=tmp_path / "run")
    assert solution.policy.rules is game
    assert equipoise.exploitability(game, solution.policy) == pytest.approx(solution.exploitability)
    assert equipoise.play_match(solution.policy, "uniform", hands=10).hands == 10
    for use in (
        lambda: equipoise.resume(tmp_path / "run", iterations=60),
        lambda: equipoise.load_policy(tmp_path / "run").rules,
    ):
        with pytest.raises(UnknownGame, match=re.escape("give it again by game=...")):
            use()
    assert equipoise.resume(tmp_path / "run", iterations=60, game=game).iterations == 60
    policy = equipoise.load_policy(tmp_path / "run", game=game)
    assert equipoise.play_match(policy, "uniform", hands=10).hands == 10
    assert evaluate(game, equipoise.load_policy(tmp_path / "run")).exploitability < 0.5
    other = RandomGame(4, 4)
    with pytest.raises(EquipoiseError, match=r"has other rules|has changed since"):
        equipoise.resume(tmp_path / "run", iterations=70, game=other)


class SameKeys(equipoise.Game):
    """Matching pennies in which both players know nothing: their keys are one text."""

    def root(self):
        return SameKeysState()


class SameKeysState(equipoise.State):
    def __init__(self, moves=()):
        self.moves = moves

    player = property(lambda self: (0, 1, equipoise.TERMINAL)[len(self.moves)])

    def actions(self):
        return (0, 1) if len(self.moves) < 2 else ()

    def child(self, action):
        return SameKeysState((*self.moves, action))

    def infoset_key(self):
        return "nothing"

    def payoff(self):
        return 3.0 * self.moves[0] - self.moves[1]


def test_players_with_keys_of_one_text_play_through_the_rules_too():
    policy = equipoise.solve(SameKeys(), iterations=100).policy
    assert list(policy) == ["P0|nothing", "P1|nothing"]
    played = equipoise.play_match(policy, Uniform(), hands=1000)
    assert played.through == "rules"
    exact = equipoise.exact_match(policy, "uniform")
    assert played.duplicate.mean == pytest.approx(exact.mean, abs=5 * played.duplicate.standard_error)
    assert exact.mean == pytest.approx(1.0, abs=0.1)


class Claims(SameKeys):
    def __init__(self, name):
        self.elsewhere = name

    def open_spiel_name(self):
        return self.elsewhere


@pytest.mark.parametrize(
    ("name", "said"),
    [("no_such_game", "says it is OpenSpiel's no_such_game"), ("leduc_poker", "Claims and OpenSpiel's leduc_poker")],
)
def test_a_game_that_is_not_what_it_claims_is_not_written_for_open_spiel(name, said):
    pytest.importorskip("pyspiel")
    with pytest.raises(EquipoiseError, match=said):
        equipoise.solve(Claims(name), iterations=2).policy.to_open_spiel()


def test_what_is_no_game_at_all_is_refused():
    for given in (42, None, equipoise.State, object()):
        with pytest.raises(InvalidGame, match="is not a game"):
            equipoise.solve(given)


def test_a_stored_text_stays_one_through_files(tmp_path):
    equipoise.solve("kuhn_poker", iterations=5).policy.save(tmp_path / "p.npz")
    assert isinstance(read_policy(tmp_path / "p.npz").game, StoredText)


def test_pickles_are_still_refused(tmp_path):
    path = tmp_path / "p.npz"
    equipoise.solve("kuhn_poker", iterations=5).policy.save(path)
    with np.load(path) as arrays:
        content = dict(arrays)
    content["keys"] = np.array([{"a": 1}], object)
    np.savez(path, **content)
    assert zipfile.is_zipfile(path)
    with pytest.raises(EquipoiseError, match="not a policy file, or is damaged"):
        equipoise.load_policy(path)
