"""The room Play: games against policies. Each is a file (``.page/games/ID.json``), written after every choice."""

import re
import secrets
import tempfile
from pathlib import Path

from equipoise.errors import EquipoiseError, InvalidParameter, NotFound, NotSupported
from equipoise.evaluation.match import seat_players
from equipoise.exploring.play import SEATS, Record, Session, make_table, read_record
from equipoise.web.answers import Answer, Answers, Asked, Download
from equipoise.web.explore import AT_WORK, appraiser_of, kept_for, player_named
from equipoise.web.site import Site

MOST_KEPT = 8  # sessions with an opponent
MOST_LISTED = 50
_ID = re.compile(r"[0-9a-f]{16}")
_FORMS = {"acpc": ("log", "text/plain"), "phh": ("phhs", "application/toml")}


def _file(site: Site, name: str) -> Path:
    if not _ID.fullmatch(name):
        raise NotFound(f"there is no game in progress {name!r:.40}")
    return site.kept("games") / f"{name}.json"


def _opened(site: Site, name: str) -> Session:
    """Return a session as its file has it."""
    path = _file(site, name)
    if not path.exists():
        raise NotFound(f"there is no game in progress {name}")
    changed, record = path.stat().st_mtime_ns, read_record(path)
    kept = kept_for(player_named(site, record.opponent), "sessions")
    found: Session | None = kept.get((str(path.resolve()), changed))
    return _session(site, record) if found is None else found


def _session(site: Site, record: Record) -> Session:
    opponent = player_named(site, record.opponent)
    solution = None if record.solution is None else player_named(site, record.solution)
    game = site.game(record.game) if record.solution is None and not hasattr(opponent, "policy") else None
    rules, _ = seat_players(opponent, solution or opponent, game)
    record.game = rules.address
    table = make_table(rules, opponent, solution, known_appraiser=lambda player: appraiser_of(player, rules))
    return Session(record, table)


def _kept(site: Site, name: str, session: Session) -> Answer:
    """Write a session to its file, and return what its player sees."""
    path = _file(site, name)
    session.record.save(path)
    kept = kept_for(session.table.opponent, "sessions")
    for key in [key for key in kept if key[0] == str(path.resolve())]:
        del kept[key]
    while len(kept) >= MOST_KEPT:
        kept.popitem(last=False)
    kept[str(path.resolve()), path.stat().st_mtime_ns] = session
    return _seen(name, session)


def _seen(name: str, session: Session) -> Answer:
    return {"session": name, "step": step_of(session), **session.view()}


def start(site: Site, asked: Asked) -> Answer:
    """Begin to play: against a policy or a simple player, with a solution that judges if there is one."""
    with AT_WORK:
        solution, opponent = asked.text("solution", ""), asked.text("opponent", "")
        if not (solution or opponent):
            raise InvalidParameter("choose a policy to play against, or a simple player and a game")
        practice = {str(name): str(value) for name, value in asked.mapping("practice", most=4).items()}
        record = Record(
            game=asked.text("game", ""),
            opponent=opponent or solution,
            solution=solution or None,
            seat=asked.one_of("seat", SEATS, "turns"),  # type: ignore[arg-type]
            seed=asked.whole("seed", secrets.randbits(32), high=2**32 - 1),
            hints=asked.flag("hints"),
            costs=asked.flag("costs"),
            practice=practice or None,
        )
        if not record.solution and (record.hints or record.costs or record.practice):
            raise NotSupported("hints, costs and practice need a solution")
        session = _session(site, record)
        session.deal()
        return _kept(site, secrets.token_hex(8), session)


def look(site: Site, asked: Asked) -> Answer:
    """Return where a game stands, as its player sees it."""
    with AT_WORK:
        name = asked.text("session")
        return _seen(name, _opened(site, name))


def act(site: Site, asked: Asked) -> Answer:
    """Make a choice."""
    with AT_WORK:
        name, place, step = asked.text("session"), asked.whole("place"), asked.text("step", "")
        session = _opened(site, name)
        if step and step != step_of(session):
            raise InvalidParameter("this choice was made for an earlier moment of the game; look again")
        session.act(place)
        return _kept(site, name, session)


def step_of(session: Session) -> str:
    """Return what names a moment of a game: two clicks on one button are one choice."""
    return f"{len(session.record.hands)}.{len(session.hand.actions) if session.hand else 0}"


def deal(site: Site, asked: Asked) -> Answer:
    """Deal the next hand."""
    with AT_WORK:
        name = asked.text("session")
        session = _opened(site, name)
        session.deal()
        return _kept(site, name, session)


def change(site: Site, asked: Asked) -> Answer:
    """Change what is shown, or where hands begin."""
    with AT_WORK:
        name = asked.text("session")
        session = _opened(site, name)
        record = session.record
        hints, costs = asked.flag("hints"), asked.flag("costs")
        practice = {str(key): str(value) for key, value in asked.mapping("practice", most=4).items()}
        if (hints or costs or practice) and record.solution is None:
            raise NotSupported("hints, costs and practice need a solution")
        record.hints, record.costs = hints, costs
        record.practice = practice or None
        return _kept(site, name, session)


def worst(site: Site, asked: Asked) -> Answer:
    """Return the choices that cost most."""
    with AT_WORK:
        session = _opened(site, asked.text("session"))
        before = session.record.costs
        session.record.costs = True
        try:
            return {"worst": session.worst(asked.whole("limit", 10, high=100))}
        finally:
            session.record.costs = before


def sessions(site: Site, asked: Asked) -> Answer:
    """Return the games in progress, the last one first."""
    files = sorted(site.kept("games").glob("*.json"), key=lambda file: -file.stat().st_mtime)
    found = []
    for file in files[:MOST_LISTED]:
        try:
            record = read_record(file)
        except EquipoiseError:
            continue
        said = {"session": file.stem, "hands": len(record.hands), "practice": record.practice}
        found.append({**said, "game": record.game, "opponent": record.opponent, "solution": record.solution})
    return {"sessions": found, "of": len(files)}


def history(site: Site, asked: Asked) -> Download:
    """Return the hands that are over, to keep."""
    with AT_WORK:
        name, form = asked.text("session"), asked.one_of("form", tuple(_FORMS), "acpc")
        text = _opened(site, name).history(form)  # type: ignore[arg-type]
    end, kind = _FORMS[form]
    with tempfile.NamedTemporaryFile(
        "w", encoding="utf-8", prefix="hands.", dir=site.kept("uploads"), delete=False
    ) as file:
        file.write(text)
    return Download(Path(file.name), f"hands-{name}.{end}", kind, passing=True)


ANSWERS: Answers = {
    "POST /api/play/start": start,
    "GET /api/play/look": look,
    "POST /api/play/act": act,
    "POST /api/play/deal": deal,
    "POST /api/play/change": change,
    "GET /api/play/worst": worst,
    "GET /api/play/sessions": sessions,
    "GET /api/play/history": history,
}
