"""What ``import equipoise`` offers: names, versions, short representations, policies like mappings, and types."""

import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

import equipoise
from equipoise.errors import NotFound, TooLarge, UnknownInfoset
from equipoise.games import load_game
from equipoise.policies.holdem_policy import HoldemPolicy

README = Path(__file__).parents[2] / "README.md"


def test_dir_shows_the_public_names_and_only_these():
    code = "import equipoise; print(*dir(equipoise)); import equipoise.solving, equipoise.cli; print(*dir(equipoise))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    before, after = (line.split() for line in done.stdout.splitlines())
    assert before == after == sorted(equipoise.__all__)
    assert {"solve", "load_policy", "Solution", "errors", "__version__"} <= set(before)
    assert all(getattr(equipoise, name) is not None for name in before)


def test_the_version_is_that_of_the_package():
    assert equipoise.__version__ == version("equipoise")


@pytest.fixture(scope="module")
def solution(tmp_path_factory):
    return equipoise.solve("leduc_poker", iterations=20, out=tmp_path_factory.mktemp("runs") / "leduc")


def test_a_solution_and_its_policy_are_shown_in_a_line(solution):
    assert re.fullmatch(
        r"<Solution of leduc_poker: 20 iterations of cfr\+ in \S+ s, value -0\.\d+, exploitability 0\.\d+, in .*leduc>",
        repr(solution),
    )
    assert re.fullmatch(
        r"<Policy of leduc_poker, 936 infosets, by cfr\+, 20 iterations, exploitability 0\.\d+>", repr(solution.policy)
    )


def test_a_policy_is_asked_like_a_mapping(solution):
    policy = solution.policy
    assert policy["Qs|cr"] == policy.action_probabilities("Qs|cr") and set(policy["Qs|cr"]) == {"fold", "call", "raise"}
    assert list(policy) == list(policy.keys) and len(policy) == 936 and "Qs|cr" in policy
    listed = dict(policy.items())
    assert len(listed) == 936 and all(sum(actions.values()) == pytest.approx(1.0) for actions in listed.values())
    with pytest.raises(KeyError, match=r"^leduc_poker has no infoset 'ks\|'; did you mean 'Ks\|'\?$"):
        policy["ks|"]


def test_a_policy_of_holdem_is_asked_like_a_mapping_but_not_gone_through():
    policy = HoldemPolicy(rules=load_game("limit_holdem"), strategy=None, origin={"algorithm": "es-mccfr"})
    assert repr(policy) == "<HoldemPolicy of limit_holdem(caps=3-4-4-4), by es-mccfr>"
    assert "AhKd|cr" in policy and "AhKd" in policy
    assert "AhAh" not in policy and "AhKd|x" not in policy and 3 not in policy
    assert len(policy) > 1e14
    for go in (lambda: list(iter(policy)), lambda: dict(policy.items()), policy.to_open_spiel):
        with pytest.raises(TooLarge, match="too many infosets"):
            go()


def test_load_policy_takes_a_file_and_a_run(solution, tmp_path):
    solution.policy.save(tmp_path / "policy.npz")
    for path in (tmp_path / "policy.npz", solution.directory, str(solution.directory)):
        assert equipoise.load_policy(path)["Qs|cr"] == solution.policy["Qs|cr"]
    with pytest.raises(NotFound, match="there is no such file or run"):
        equipoise.load_policy(tmp_path / "nothing")
    assert issubclass(UnknownInfoset, equipoise.EquipoiseError)


def test_the_types_accept_the_code_in_the_readme(tmp_path):
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    assert blocks
    for number, block in enumerate(blocks):
        (tmp_path / f"readme_{number}.py").write_text(block)
    command = [sys.executable, "-m", "mypy", "--strict", "--no-incremental", "--follow-imports=silent"]
    done = subprocess.run([*command, *map(str, tmp_path.glob("*.py"))], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout


def test_the_code_in_the_readme_runs(tmp_path):
    for block in re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL):
        done = subprocess.run([sys.executable, "-c", block], cwd=tmp_path, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr


def test_solving_loads_without_what_only_few_need():
    """The first answer of a river spot should not wait for what it has no use for."""
    slow = ("scipy.spatial", "scipy.sparse", "torch", "matplotlib")
    code = f"import sys, equipoise.solving; print([name for name in {slow} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=True)
    assert done.stdout.strip() == "[]"
