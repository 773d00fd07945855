"""What the suite of spots rests on, without timing."""

import itertools

import numpy as np
import pytest

from equipoise.bench import spot_suite
from equipoise.errors import EquipoiseError
from equipoise.games import load_game
from equipoise.trees.spot_form import spot_form


def test_a_spot_is_solved_to_the_goal():
    form = spot_form(load_game(f"spot:{spot_suite.resources.files('equipoise.bench') / 'spots' / 'river_small'}.txt"))
    found = spot_suite.solve_to(form, 0.5)
    assert found.exploitability_pot <= 0.5
    assert found.iterations % spot_suite.EVERY == 0
    assert found.ev_first == pytest.approx(39.47, abs=0.5)
    assert spot_suite.solve_to(form, 1e-9, at_most=20).exploitability_pot > 0.1


def test_endgames_of_libratus_are_read_in_their_order_of_hands(tmp_path):
    cards = [rank + suit for rank in "23456789TJQKA" for suit in "shdc"]
    hands = [f"{a}{b}" for a, b in itertools.combinations(cards, 2)]
    reach = np.zeros((2, 1326))
    reach[0, hands.index("2sAc")] = 0.5
    reach[0, hands.index("KhKd")] = 0.25
    reach[1, hands.index("AdAc")] = 1.0
    file = tmp_path / "subgame3.txt"
    file.write_text(f"-round 4\n-board 4s8hTc9h2s\n-pot 500\n-reach {' '.join(map(str, reach.ravel()))}\n")
    with pytest.raises(EquipoiseError, match="No such file"):
        spot_suite.libratus_spot(tmp_path / "nowhere.txt", 100)
    reach[0, hands.index("3sAc")] = 0.125
    file.write_text(f"-round 4\n-board 4s8hTc9h2s\n-pot 500\n-reach {' '.join(map(str, reach.ravel()))}\n")
    found = spot_suite.libratus_spot(file, 19750)
    assert (found.pot, found.stack) == (500, 19750)
    assert set(str(found.ranges[0]).split(",")) == {
        "KhKd:0.25",
        "Ac2s:0.5",
        "Ac3s:0.125",
    }
    assert str(found.ranges[1]) == "AdAc"


PRINTING = """#!/bin/sh
head -1 "$1" | grep -q Ks || exit 3
echo "10 wall 0.5 cpu 0.40 exploitability 1.5 %"
echo "20 wall 1.1 cpu 0.90 exploitability 0.45 %"
"""


def test_the_peer_is_asked_for_its_first_look_below_the_goal(tmp_path, monkeypatch):
    program = tmp_path / "peer"
    program.write_text(PRINTING)
    program.chmod(0o755)
    monkeypatch.setenv("EQUIPOISE_POSTFLOP", str(program))
    game = load_game("spot(board=KsTh7s4d2s,pot=100,stack=250,first=AA|QQ,second=KK|JJ)")
    reference = spot_suite.REFERENCES[0]
    assert spot_suite._peer(reference, game, 100, tmp_path) == (0.9, 20)
    written = (tmp_path / "river_full.txt").read_text().splitlines()
    assert written[:3] == ["Ks Th 7s 4d 2s", "100 250", "100%, a;100%, a"]
    assert len(written[3].split()) == 12
    program.write_text(PRINTING.replace("0.45", "0.55"))
    with pytest.raises(EquipoiseError, match="did not come to"):
        spot_suite._peer(reference, game, 100, tmp_path)
