"""Errors: what is suggested in place of a mistyped name, what numbers are refused, and the kinds of errors."""

import math

import numpy as np
import pytest

import equipoise
from equipoise import errors
from equipoise.errors import EquipoiseError, nearest, require_number, require_seed, require_whole
from equipoise.games import CATALOGUE
from equipoise.games.notation import read_cards
from equipoise.games.poker import HOLDEM_DECK
from equipoise.solvers.recipes import RECIPES


@pytest.mark.parametrize(
    ("word", "known", "meant"),
    [
        ("leduc", CATALOGUE, "leduc_poker"),
        ("Leduc-Poker", CATALOGUE, "leduc_poker"),
        ("kuhn", CATALOGUE, "kuhn_poker"),
        ("leduk_poker", CATALOGUE, "leduc_poker"),
        ("liars_dice", CATALOGUE, "bluff"),
        ("cfrplus", RECIPES, "cfr+"),
        ("CFR+", RECIPES, "cfr+"),
        ("crf+", RECIPES, "cfr+"),
        ("deepcfr", RECIPES, "deep-cfr"),
        ("pcfrplus", RECIPES, "pcfr+"),
        ("mccfr", RECIPES, "es-mccfr"),
        ("ks|", ["Qs|", "Js|", "Ks|", "Kh|"], "Ks|"),
        ("Qs|rx", ["Ks|r", "Qs|r", "Qs|c"], "Qs|r"),
        ("lr", RECIPES["deep-cfr"].parameters, "rate"),
        ("learning_rate", RECIPES["deep-cfr"].parameters, "rate"),
        ("stak", ["stack"], "stack"),
        ("STACK", ["stack"], "stack"),
    ],
)
def test_a_mistyped_name_is_answered_with_what_was_meant(word, known, meant):
    assert nearest(word, known) == f"; did you mean '{meant}'?"


def test_several_names_may_have_been_meant_and_sometimes_none():
    assert nearest("holdem", CATALOGUE) == "; did you mean 'limit_holdem', 'nolimit_holdem' or 'flop_holdem'?"
    assert nearest("zzzz", CATALOGUE) == ""
    assert nearest("", CATALOGUE) == "" and nearest("|", ["Q|", "K|"]) in (
        "; did you mean 'Q|'?",
        "; did you mean 'K|'?",
    )


@pytest.mark.parametrize("value", [0, -1, 1.5, 2.0, math.nan, math.inf, True, "3", None, 11])
def test_what_is_not_a_whole_number_in_range_is_refused(value):
    with pytest.raises(errors.InvalidParameter, match=r"n=.* is not valid; give a whole number from 1 to 10"):
        require_whole("n", value, low=1, high=10)
    require_whole("n", 10, low=1, high=10)
    require_whole("n", np.int64(3))


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf, -math.inf, "3", None, True, 10**400, np.ones(2)])
def test_what_is_not_a_number_in_range_is_refused(value):
    with pytest.raises(errors.InvalidParameter, match="give a finite number above 0"):
        require_number("x", value, above=0)
    with pytest.raises(errors.InvalidParameter, match="give a finite number of 1 or more"):
        require_number("x", value, low=1)
    require_number("x", 1, above=0, low=1)


def test_seeds_have_64_bits():
    for seed in (-1, 2**64, 0.5):
        with pytest.raises(errors.InvalidParameter, match="seed="):
            require_seed(seed)
    for seed in (0, 2**64 - 1):
        require_seed(seed)


def test_every_error_is_an_equipoise_error_with_a_plain_sentence():
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, EquipoiseError)]
    assert len(kinds) > 10
    for kind in kinds:
        assert str(kind("what is wrong; what to do")) == "what is wrong; what to do" and kind.__doc__
    assert issubclass(errors.UnknownInfoset, KeyError)


_REASONS = (  # what raises each kind, by a call that a user might make
    (errors.UnknownGame, lambda: equipoise.load_game("leduc")),
    (errors.UnknownGame, lambda: equipoise.load_game("open_spiel:no_such_game")),
    (errors.InvalidParameter, lambda: equipoise.load_game("nl_leduc(stack=0)")),
    (errors.InvalidGame, lambda: equipoise.load_game("open_spiel:kuhn_poker(players=3)")),
    (errors.NotFound, lambda: equipoise.load_game("python:missing.py")),
    (errors.NotFound, lambda: equipoise.load_policy("missing.npz")),
    (errors.DamagedFile, lambda: equipoise.load_policy(__file__)),
    (errors.TooLarge, lambda: equipoise.solve("goofspiel(cards=13)")),
    (errors.InvalidParameter, lambda: equipoise.solve("kuhn_poker", seconds=math.nan)),
    (errors.InvalidParameter, lambda: equipoise.solve("kuhn_poker", seed=2**64)),
    (errors.NotSupported, lambda: equipoise.solve("kuhn_poker", until_mbb=5)),
    (errors.NotSupported, lambda: equipoise.solve("goofspiel(cards=4)", engine="vector")),
    (errors.NotSupported, lambda: equipoise.play_match("uniform", "always-call", hands=4, game="goofspiel(cards=3)")),
    (errors.InvalidParameter, lambda: equipoise.play_match("uniform", "uniform", hands=4)),
    (errors.InvalidNotation, lambda: read_cards(HOLDEM_DECK, "AA")),
)


@pytest.mark.parametrize(("kind", "call"), _REASONS)
def test_mistakes_raise_their_kind(kind, call):
    with pytest.raises(kind) as told:
        call()
    assert type(told.value) is kind and "\n" not in str(told.value)


def test_foreign_files_are_refused_without_talk_of_pickles(tmp_path):
    (tmp_path / "foreign.npz").write_text("import this")
    np.savez(tmp_path / "arrays.npz", other=np.zeros(3))
    for name, says in (("foreign.npz", "it is not a file of arrays"), ("arrays.npz", "header")):
        with pytest.raises(errors.DamagedFile, match=f"{name} is not a policy file, or is damaged .*{says}") as told:
            equipoise.load_policy(tmp_path / name)
        assert "pickle" not in str(told.value)


@pytest.mark.parametrize("odd", ["\n", "\r", "\x85", "\u2028", "\x1b[2J", "\0", "\ud800"])
def test_an_error_is_one_line_whatever_it_quotes(odd):
    with pytest.raises(EquipoiseError) as caught:
        equipoise.solve(f"a{odd}b")
    assert str(caught.value).isprintable()
    assert ascii(odd[0])[1:-1] in str(caught.value)
