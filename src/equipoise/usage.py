"""The command line's own mistakes, in plain words: numbers that are none, options that do not exist or are missing."""

from collections.abc import Sequence
from typing import Any, Literal, get_args, get_origin

from cyclopts import CycloptsError, Parameter, Token
from cyclopts.exceptions import (
    CoercionError,
    MissingArgumentError,
    RepeatArgumentError,
    UnknownCommandError,
    UnknownOptionError,
    UnusedCliTokensError,
)

from equipoise.errors import InvalidParameter, nearest


def _whole(kind: object, tokens: Sequence[Token]) -> int:
    """Read a whole number; 1e6 is one, 1.5 is not."""
    text = tokens[0].value
    try:
        return int(text)
    except ValueError:
        pass
    try:
        if float(text).is_integer():
            return int(float(text))
    except ValueError:
        pass
    raise InvalidParameter(f"{tokens[0].keyword} {text} is not valid; give a whole number")


def _number(kind: object, tokens: Sequence[Token]) -> float:
    try:
        return float(tokens[0].value)
    except ValueError:
        raise InvalidParameter(f"{tokens[0].keyword} {tokens[0].value} is not valid; give a number") from None


WHOLE = Parameter(converter=_whole)
NUMBER = Parameter(converter=_number)


def in_words(error: CycloptsError) -> str:
    """Return what is wrong with a command in one line, and where to look it up."""
    return f"{_mistake(error)}; see equipoise {' '.join([*(error.command_chain or ()), '--help'])}"


def _mistake(error: CycloptsError) -> str:
    match error:
        case UnusedCliTokensError(unused_tokens=[*left]):
            return f"'{' '.join(left)}' is not expected here"
        case UnknownCommandError(unused_tokens=[name, *_], app=app):
            commands = [] if app is None else [each for each in app if not each.startswith("-")]
            return f"there is no command '{name}'{nearest(name, commands)}"
        case UnknownOptionError():
            option = (error.token.keyword or error.token.value).partition("=")[0]
            known = [name for argument in error.argument_collection for name in argument.names if argument.parse]
            return f"there is no option {option}{nearest(option, known).replace(chr(39), '')}"
        case MissingArgumentError(argument=argument) if argument is not None:
            asked = error.keyword or next((token.keyword for token in argument.tokens if token.keyword), None)
            if asked is not None:
                return f"{asked} needs a value"
            wanted = argument.name if argument.name.startswith("-") else argument.name.upper()
            return f"{wanted} is missing"
        case RepeatArgumentError():
            return f"{error.token.keyword} is given twice"
        case CoercionError(token=token) if token is not None and get_origin(error.target_type) is Literal:
            return f"{token.keyword or ''} {token.value} is not valid; give {_choices(error.target_type)}".strip()
        case _:
            error.verbose = False
            return " ".join(str(error).split()).rstrip(".")


def _choices(kind: Any) -> str:
    *others, last = map(str, get_args(kind))
    return f"{', '.join(others)} or {last}"
