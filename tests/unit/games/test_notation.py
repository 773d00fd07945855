"""Cards, betting and infosets as players write them: read, written, and refused in one sentence."""

import pytest

from equipoise.errors import EquipoiseError
from equipoise.games import CHANCE, TERMINAL, load_game
from equipoise.games.notation import read_betting, read_cards, read_infoset, read_state
from equipoise.games.poker import HOLDEM_DECK
from tests.hands import HOLDEM, random_hand


def test_cards_are_numbered_by_rank_then_suit():
    assert read_cards(HOLDEM_DECK, "2c2d3cAs") == (0, 1, 4, 51)
    assert read_cards(HOLDEM_DECK, "ahKD") == read_cards(HOLDEM_DECK, "AhKd")
    assert HOLDEM_DECK.text(range(52)) == "".join(rank + suit for rank in "23456789TJQKA" for suit in "cdhs")


@pytest.mark.parametrize(
    ("written", "key"),
    [
        ("AhKd", "AhKd|"),
        ("KdAh|cr", "AhKd|cr"),
        ("AhKd/2c7d9s|crc/r", "AhKd/2c7d9s|crc/r"),
        ("kdah/9s2c7d|crc", "AhKd/2c7d9s|crc/"),
    ],
)
def test_infosets_have_one_key_however_they_are_written(written, key):
    infoset = read_infoset(load_game("flop_holdem"), written)
    assert infoset.key == key
    assert read_infoset(load_game("flop_holdem"), key) == infoset


def test_the_turn_and_the_river_stay_what_they_are():
    game = load_game("limit_holdem")
    infoset = read_infoset(game, "AhKd/9s7d2c/Th/3c|cc/cc/cc/r")
    assert infoset.key == "AhKd/2c7d9sTh3c|cc/cc/cc/r" and infoset.player == 0
    assert infoset.action_names() == ("fold", "call", "raise")
    assert read_infoset(game, infoset.key.replace("Th3c", "3cTh")).key != infoset.key


@pytest.mark.parametrize(
    "text", [*HOLDEM, "leduc_poker", "nl_leduc(stack=5)", "kuhn_poker", "one_card_poker(cards=20)"]
)
def test_every_infoset_and_state_of_a_hand_is_read_back(text):
    game = load_game(text)
    for seed in range(5):
        for state, _ in random_hand(game, seed):
            if len(state.hands) < 2:
                continue
            hands = tuple(game.hand_text(game.hands[hand]) for hand in state.hands)
            betting = state.betting.text
            assert read_state(game, hands=hands, board=game.deck.text(state.board), betting=betting) == state
            if state.player >= 0:
                infoset = read_infoset(game, state.infoset_key())
                assert infoset.key == state.infoset_key()
                assert infoset.betting == state.betting
                assert infoset.action_names() == tuple(map(state.action_name, state.actions()))


def test_amounts_are_totals_of_the_hand():
    rules = load_game("nolimit_holdem(actions=full)").betting
    state = read_betting(rules, "cr200c/r400c")
    assert (state.spent, state.round, state.player, state.text) == ((400, 400), 2, 1, "cr200c/r400c/")


def test_betting_of_a_limit_game_may_have_amounts_or_not():
    rules = load_game("limit_holdem").betting
    assert read_betting(rules, "cr200c/r300c/") == read_betting(rules, "crc/rc")


def test_all_in_ends_the_betting_and_slashes_for_the_rest_are_read():
    game = load_game("nolimit_holdem")
    state = read_betting(game.betting, "r20000c")
    assert state.finished and state.round == 3
    assert read_betting(game.betting, "r20000c///") == state
    later = read_state(game, hands=("AhKd", "QsQd"), betting="r20000c///")
    assert later.player == CHANCE and len(later.actions()) == 17_296
    shown = read_state(game, hands=("AhKd", "QsQd"), board="2c7d9s/Th/3c", betting="r20000c///")
    assert shown.player == TERMINAL and shown.payoff() == -20_000


@pytest.mark.parametrize(
    ("text", "written", "says"),
    [
        (
            "flop_holdem",
            "AhKx",
            "cannot read the cards 'AhKx' at 'Kx': write each as a rank (2 3 4 5 6 7 8 9 T J Q K A) "
            "and a suit (c d h s), as in As2c",
        ),
        ("flop_holdem", "Ah1d", "cannot read the cards 'Ah1d' at '1d'"),
        ("kuhn_poker", "A", "cannot read the cards 'A': write each as a rank (J Q K), as in KJ"),
        ("flop_holdem", "AhAh", "the card Ah twice"),
        ("flop_holdem", "AhKd/Ah7d9s|cc/", "the card Ah is dealt twice"),
        ("flop_holdem", "AA|", "cannot read the cards 'AA': write each as a rank"),
        ("flop_holdem", "AhKdQc", "'AhKdQc' has a hand of 3 cards; flop_holdem deals 2, as in AsAh"),
        ("flop_holdem", "Ah|", "'Ah|' has a hand of 1 card; flop_holdem deals 2, as in AsAh"),
        ("flop_holdem", "AhKd|cc/", "has a board of no cards; after this betting it should have 3"),
        ("flop_holdem", "AhKd/2c7d9s|c", "has a board of 3 cards; after this betting it should have none"),
        ("flop_holdem", "AhKd|rrrr", "'r' after 'rrr' is not legal betting; player 1 may f, c"),
        ("flop_holdem", "AhKd|cf", "'f' after 'c' is not legal betting; player 1 may c, r"),
        ("flop_holdem", "AhKd|r300", "'r300' as the first action is not legal betting; player 0 may f, c, r"),
        ("flop_holdem", "AhKd|cx", "'x' after 'c' is not legal betting"),
        ("flop_holdem", "AhKd|ccr", "the round is over after 'cc'; write a '/' there"),
        ("flop_holdem", "AhKd|c/r", "has a '/' where no round ends"),
        ("flop_holdem", "AhKd|cc//", "has a '/' where no round ends"),
        ("flop_holdem", "AhKd|rf", "nobody has to act"),
        ("flop_holdem", "AhKd|rff", "the hand is over after 'rf', but 'f' follows"),
        ("flop_holdem", "AhKd|rf/", "has a '/' where no round ends"),
        ("nolimit_holdem(actions=full)", "AhKd|r150", "player 0 may f, c, r200 to r20000"),
        ("nolimit_holdem(actions=full)", "AhKd|r300r499", "player 1 may f, c, r500 to r20000"),
        ("nolimit_holdem", "AhKd|r", "player 0 may f, c, r300, r20000"),
        ("nolimit_holdem", "AhKd|r20000c////", "has a '/' where no round ends"),
    ],
)
def test_mistakes_are_told(text, written, says):
    with pytest.raises(EquipoiseError) as told:
        read_infoset(load_game(text), written)
    assert says in str(told.value) and "\n" not in str(told.value)
