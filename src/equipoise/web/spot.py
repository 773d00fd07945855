"""The room Solve a spot: ranges as grids; spots checked, solved, saved and loaded, as ``spot:PATH`` has them."""

import re

import numpy as np

from equipoise.errors import InvalidParameter
from equipoise.files import make_folder, write_text
from equipoise.games.poker import HOLDEM_DECK
from equipoise.games.ranges import Range, hand_classes, read_range, write_range
from equipoise.games.sizes import betting_size
from equipoise.games.spots import PARAMETERS, Spot, spot_file, spot_from_texts
from equipoise.web.answers import Answer, Answers, Asked
from equipoise.web.runs import limits, start_run
from equipoise.web.site import Site

SPOTS = "spots"  # the folder of saved ones, below the page's
MOST_SAVED = 1000
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 _.+=-]{0,79}")


def range_(site: Site, asked: Asked) -> Answer:
    """Return a range as a text and as a grid: the weight of each class of hands; ``set`` changes some of them first."""
    text = asked.text("text", "")
    changes = asked.mapping("set", most=200)
    asked.require_all_read()
    classes = hand_classes()
    given = read_range(text) if text.strip() else Range(np.zeros(sum(map(len, classes.values()))))
    if changes:
        weights = given.weights.copy()
        for name, weight in changes.items():
            if name not in classes or isinstance(weight, str) or not 0.0 <= weight <= 1.0:
                raise InvalidParameter(f"{name}={weight} is not a class of hands with a weight from 0 to 1")
            weights[classes[name]] = weight
        given = Range(weights)
    cells = {name: round(float(given.weights[hands].mean()), 6) for name, hands in classes.items()}
    return {"text": write_range(given), "hands": cells, "combos": round(float(given.weights.sum()), 3)}


def _spot(asked: Asked) -> Spot:
    """Return the spot that is asked for, parameter by parameter."""
    given = {name: asked.text(name) for name in PARAMETERS if name in asked}
    return spot_from_texts(given)


def check(site: Site, asked: Asked) -> Answer:
    """Return a spot as the command line takes it, and its size; or what is wrong with it."""
    return _described(_spot(asked))


def _described(game: Spot) -> Answer:
    texts = {name: text.replace("|", ",") if name in ("first", "second") else text for name, text in game.texts.items()}
    hands = [int((weights > 0.0).sum()) for weights in game.weights]
    return {"game": game.name, "spot": texts, "betting_nodes": betting_size(game.betting).nodes, "hands": hands}


def solve(site: Site, asked: Asked) -> Answer:
    """Start solving a spot, as a run."""
    game = _spot(asked)
    arguments = [game.name, *limits(asked, but=("until",))]
    if "storage" in asked:
        arguments.append(f"--set=storage={asked.one_of('storage', ('float32', 'int16'))}")
    return start_run(site, asked, arguments, game=game.name, algorithm="", seed=0)


def save(site: Site, asked: Asked) -> Answer:
    """Keep a spot as a file under a name; one of the same name is replaced."""
    name = asked.text("name")
    if not _NAME.fullmatch(name):
        raise InvalidParameter(
            f"{name!r} is not a good name: take up to 80 letters, digits, spaces and any of _ . + = -"
        )
    game = _spot(asked)
    asked.require_all_read()
    folder = site.home / SPOTS
    make_folder(folder)
    file = site.path(str(folder)) / f"{name}.txt"
    if file.is_symlink():
        raise InvalidParameter(f"{file} is a link; choose another name")
    write_text(file, spot_file(game))
    return {"file": str(file), **_described(game)}


def saved(site: Site, asked: Asked) -> Answer:
    """Return the files of saved spots."""
    files = sorted((site.home / SPOTS).glob("*.txt"))[:MOST_SAVED]
    return {"spots": [{"name": file.stem, "file": str(file)} for file in files]}


def load(site: Site, asked: Asked) -> Answer:
    """Return a spot, parameter by parameter: of a file, of a run, or of the text of a game."""
    if "file" in asked:
        text = f"spot:{asked.text('file')}"
    elif "run" in asked:
        text = str(site.run(asked.text("run")).config["game"])
    else:
        text = asked.text("game")
    game = site.game(text)
    if not isinstance(game, Spot):
        raise InvalidParameter(f"{text!r:.80} is not a spot")
    return _described(game)


def deck(site: Site, asked: Asked) -> Answer:
    """Return the cards, the highest first, and the classes of hands by rows of their grid."""
    ranks = HOLDEM_DECK.ranks[::-1]
    rows = [
        [
            high + low if high == low else (high + low + "s" if row < column else low + high + "o")
            for column, low in enumerate(ranks)
        ]
        for row, high in enumerate(ranks)
    ]
    return {"ranks": list(ranks), "suits": list(HOLDEM_DECK.suits)[::-1], "classes": rows}


ANSWERS: Answers = {
    "POST /api/range": range_,
    "GET /api/deck": deck,
    "POST /api/spot/check": check,
    "POST /api/spot/solve": solve,
    "POST /api/spot/save": save,
    "GET /api/spots": saved,
    "GET /api/spot": load,
}
