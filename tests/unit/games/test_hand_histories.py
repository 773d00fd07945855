"""Logs of the ACPC and PHH hand histories: written, read back here, and replayed by PokerKit to the same payoffs."""

import re
import warnings

import pytest
from pokerkit import Automation, HandHistory

from equipoise.errors import EquipoiseError
from equipoise.games import load_game
from equipoise.games.hand_histories import PlayedHand, acpc_line, phh, phh_table, read_acpc_line, read_phh, read_phhs
from equipoise.games.notation import read_state
from tests.hands import HOLDEM, random_hand
from tests.pokerkit_games import STACK_WITHOUT_LIMIT, pokerkit_game


def random_hands(text, count=12):
    game = load_game(text)
    return [
        PlayedHand(number=seed, state=[state for state, _ in random_hand(game, seed)][-1], names=("Ada", "Bob B."))
        for seed in range(count)
    ]


@pytest.fixture
def queens():
    """Return a hand in which player 0, the dealer, has ace and king, and player 1 a pair of queens."""
    game = load_game("nolimit_holdem(actions=full)")
    state = read_state(game, hands=("AhKd", "QsQd"), board="2c7d9sTh3c", betting="cr200c/r400c/cc/cc")
    return PlayedHand(number=7, state=state, names=("Ada", "Bob"))


def test_a_line_of_the_acpc_has_the_big_blind_first(queens):
    assert acpc_line(queens) == "STATE:7:cr200c/r400c/cc/cc:QsQd|AhKd/2c7d9s/Th/3c:400|-400:Bob|Ada"
    assert read_acpc_line(queens.state.game, acpc_line(queens) + "\n") == queens


def test_leduc_has_the_first_player_first():
    game = load_game("leduc_poker")
    state = read_state(game, hands=("Ks", "Qh"), board="Qs", betting="crc/rc")
    line = acpc_line(PlayedHand(number=0, state=state, names=("A", "B")))
    assert line == "STATE:0:crc/rc:Ks|Qh/Qs:-7|7:A|B"
    assert read_acpc_line(game, line).state == state


@pytest.mark.parametrize("text", [*HOLDEM, "leduc_poker", "nl_leduc(stack=5)"])
def test_acpc_lines_are_read_back(text):
    for hand in random_hands(text):
        assert read_acpc_line(hand.state.game, acpc_line(hand)) == hand


@pytest.mark.parametrize("text", HOLDEM)
def test_phh_is_read_back(text):
    hands = random_hands(text)
    game = hands[0].state.game
    assert [read_phh(game, phh(hand)) for hand in hands] == hands
    assert read_phhs(game, "\n".join(map(phh_table, hands))) == hands


def test_phh_is_what_the_format_says(queens):
    assert phh(queens).splitlines()[:6] == [
        'variant = "NT"',
        "antes = [0, 0]",
        "blinds_or_straddles = [50, 100]",
        "min_bet = 100",
        "starting_stacks = [20000, 20000]",
        'actions = ["d dh p1 QsQd", "d dh p2 AhKd", "p2 cc", "p1 cbr 200", "p2 cc", "d db 2c7d9s", "p1 cbr 200", '
        '"p2 cc", "d db Th", "p1 cc", "p2 cc", "d db 3c", "p1 cc", "p2 cc", "p1 sm QsQd", "p2 sm AhKd"]',
    ]
    assert "finishing_stacks = [20400, 19600]" in phh(queens)


@pytest.mark.parametrize("text", [text for text in HOLDEM if text != "flop_holdem"])
def test_pokerkit_replays_phh_to_the_same_payoffs(text):
    hands = random_hands(text)
    for hand, history in zip(hands, HandHistory.loads_all("\n".join(map(phh_table, hands))), strict=True):
        *_, end = history
        assert not end.status
        assert end.payoffs == [hand.payoffs[1], hand.payoffs[0]]
        assert end.stacks == history.finishing_stacks
        assert history.players == [hand.names[1], hand.names[0]] and history.hand == hand.number


class TwoRounds(HandHistory):
    """Limit hold'em in PokerKit that ends after the flop."""

    def create_game(self):
        return pokerkit_game(load_game("flop_holdem"), tuple({*self.automations} - {Automation.CARD_BURNING}))


def test_pokerkit_replays_flop_holdem_to_the_flop_and_in_two_rounds_to_the_same_payoffs():
    shown = 0
    for hand in random_hands("flop_holdem", 20):
        history = HandHistory.loads(phh(hand))
        *_, stopped = history
        assert stopped.starting_stacks == (STACK_WITHOUT_LIMIT,) * 2
        spent = hand.state.betting.spent
        if hand.state.betting.folded < 0:
            shown += 1
            assert stopped.status and stopped.street_index == 2  # waits for a turn that this game does not have
            assert stopped.stacks == [STACK_WITHOUT_LIMIT - spent[1], STACK_WITHOUT_LIMIT - spent[0]]
        automations = (*HandHistory.automations, Automation.HOLE_CARDS_SHOWING_OR_MUCKING)
        *_, end = TwoRounds.loads(phh(hand), automations=automations)
        assert not end.status
        assert end.payoffs == [hand.payoffs[1], hand.payoffs[0]]
        assert end.stacks == history.finishing_stacks
    assert shown > 5


@pytest.mark.parametrize("text", HOLDEM)
def test_pokerkit_reads_acpc_lines_to_the_same_payoffs(text):
    hands = random_hands(text)
    game = hands[0].state.game
    stack = game.betting.stack or STACK_WITHOUT_LIMIT
    lines = "\n".join(map(acpc_line, hands))
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a line that PokerKit cannot read is a warning there
        histories = list(HandHistory.from_acpc_protocol(pokerkit_game(game), stack, lines))
    for hand, history in zip(hands, histories, strict=True):
        kind = TwoRounds if text == "flop_holdem" else HandHistory
        *_, end = kind.loads(history.dumps())
        assert end.payoffs == history.user_defined_fields["_results"] == [hand.payoffs[1], hand.payoffs[0]]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("STATE", "MATCHSTATE"), "is not an ACPC line"),
        (("400|-400", "300|-300"), "the log pays 300|-300, which the rules of nolimit_holdem"),
        (("400|-400", "much|-400"), "the log pays much|-400"),
        (("AhKd", "AhQs"), "the card Qs is dealt twice"),
        (("/cc:", "/c:"), "is not over"),
        (("r200", "r120"), "player 1 may c, r200 to r20000"),
        (("/3c", ""), "is not over"),
    ],
)
def test_a_line_with_a_mistake_is_refused(queens, change, says):
    with pytest.raises(EquipoiseError) as told:
        read_acpc_line(queens.state.game, acpc_line(queens).replace(*change))
    assert says in str(told.value) and "\n" not in str(told.value)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("p1 cbr 200", "p2 cbr 200"), "'p2 cbr 200' is out of turn after 'c'"),
        (("p1 cbr 200", "p1 cbr some"), "needs a whole number of chips"),
        (("p1 cbr 200", "p1 sd"), "'p1 sd' is not an action of hold'em"),
        (("min_bet = 100", "min_bet = 50"), "min_bet is 50, but 100 in nolimit_holdem"),
        (("actions = [", "actions = "), "not a PHH hand"),
    ],
)
def test_a_phh_hand_with_a_mistake_is_refused(queens, change, says):
    with pytest.raises(EquipoiseError) as told:
        read_phh(queens.state.game, phh(queens).replace(*change))
    assert says in str(told.value) and "\n" not in str(told.value)


def test_what_cannot_be_written_is_refused(queens):
    leduc = random_hands("leduc_poker", 1)[0]
    with pytest.raises(EquipoiseError, match="cannot be written as PHH, which is for hold'em; write an ACPC log"):
        phh(leduc)
    with pytest.raises(EquipoiseError, match=r"'A\|B' cannot be a player's name"):
        PlayedHand(number=0, state=queens.state, names=("A|B", "C"))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("actions = [", "actions = [1, ", "actions must be a list of texts"),
        ("actions = [", "actions = 5 #", "actions must be a list of texts"),
        ("players = [", "players = ['c', ", "players must be a list of two names"),
        ("players = [", "players = [] #", "players must be a list of two names"),
        ("players = [", "players = 'ab' #", "players must be a list of two names"),
        ("hand = 0", "hand = 'x'", "hand = 'x' is not the number of a hand"),
        ("[1]\n", "", "stands outside a hand"),
        ("[1]\n", "number = 7\n[1]\n", "'number' stands outside a hand"),
    ],
)
def test_phh_with_values_of_another_kind_is_refused(queens, old, new, said):
    text = phh_table(queens)
    changed = re.sub(r"hand = \d+", "hand = 0", re.sub(r"^\[\d+\]", "[1]", text))
    assert old in changed
    with pytest.raises(EquipoiseError, match=re.escape(said)):
        read_phhs(queens.state.game, changed.replace(old, new, 1))
