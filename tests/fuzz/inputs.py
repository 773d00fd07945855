"""Inputs: right ones with something wrong in them find more than noise does."""

import io
import json
import re
import zipfile
from typing import Any

import numpy as np
from hypothesis import strategies as st

ODD_WORDS = (
    *("", " ", "0", "-0", "-1", "1", "2", "3", "7", "10", "1.5", "1e400", "-1e-400", "nan", "inf", "-inf", "9" * 30),
    *("0x10", "1_000", "1e3", "None", "True", "true", "all", "max", "auto", "none", "\0", "é", "٣", "²", "½", "\n"),
    *("\ud800", "🂡", "%s", "{}", "../..", "/", ".", "'", '"', "=", ",", "(", ")", "|", ":", "-", "+", "\\", "\t"),
)
words = st.sampled_from(ODD_WORDS) | st.text(max_size=5)
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from([10**30, -1, 0, 1, 2**63, "cfr+", "dncfr", "kuhn_poker", "leduc_poker", "python:evil.py"])
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=4,
)


@st.composite
def damaged_text(draw: Any, samples: tuple[str, ...], more: tuple[str, ...] = ()) -> str:
    """Return one of some texts with a few of its words and signs lost, doubled, swapped or made odd."""
    pieces = re.findall(r"\w+|\s+|.", draw(st.sampled_from(samples)), re.DOTALL)
    own = st.sampled_from((*more, *pieces)) | words
    for _ in range(draw(st.integers(0, 4))):
        place = draw(st.integers(0, len(pieces)))
        match draw(st.integers(0, 4)):
            case 0:
                pieces[place : place + 1] = []
            case 1:
                pieces[place : place + 1] = [draw(own)]
            case 2:
                pieces.insert(place, draw(own))
            case 3:
                end = draw(st.integers(place, len(pieces)))
                pieces[place:place] = pieces[place:end]
            case 4:
                del pieces[place : draw(st.integers(place, len(pieces)))]
    return "".join(pieces)


@st.composite
def damaged_bytes(draw: Any, sample: bytes) -> bytes:
    """Return bytes of which some are flipped, lost, doubled or new; or the beginning only."""
    data = bytearray(sample)
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, max(len(data) - 1, 0)))
        match draw(st.integers(0, 4)):
            case 0 if data:
                data[place] ^= draw(st.integers(1, 255))
            case 1:
                del data[place:]
            case 2:
                del data[place : place + draw(st.integers(1, 64))]
            case 3:
                data[place:place] = draw(st.binary(min_size=1, max_size=16))
            case 4:
                data[place:place] = data[place : place + draw(st.integers(1, 64))]
    return bytes(data)


def _places(value: Any, way: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [way, *(place for name, each in inner for place in _places(each, (*way, name)))]


@st.composite
def damaged_json(draw: Any, sample: Any) -> Any:
    """Return a JSON value with a few of its parts lost or of another kind."""
    made = json.loads(json.dumps(sample))
    for _ in range(draw(st.integers(1, 3))):
        *way, last = draw(st.sampled_from(_places(made)[1:] or [(None,)]))
        owner = made
        for name in way:
            owner = owner[name]
        if not isinstance(owner, dict | list) or last is None:
            break
        if draw(st.booleans()):
            owner[last] = draw(json_values)
        else:
            del owner[last]
    return made


TYPES = ("<f8", "<f4", "<i8", "<i4", "<u1", "<u8", "?", "<c16", "<U3", "S2", "<M8[s]", "<f2")


@st.composite
def damaged_array(draw: Any, sample: np.ndarray) -> np.ndarray:
    """Return an array of another length, shape or type, or with numbers that do not belong."""
    match draw(st.integers(0, 5)):
        case 0:
            with np.errstate(all="ignore"):
                return sample.astype(draw(st.sampled_from(TYPES[:8])))
        case 1:
            return np.resize(sample, draw(st.sampled_from([(), (0,), (1,), (2, 2), (len(np.atleast_1d(sample)) + 1,)])))
        case 2:
            return np.zeros(draw(st.sampled_from([sample.shape, (3,), ()])), draw(st.sampled_from(TYPES)))
        case 3:
            return sample[..., None]
        case _:
            if not sample.size:
                return np.zeros(1, sample.dtype)
            made = np.array(sample)
            value = draw(st.sampled_from([0, 1, -1, 2**31, 2**62, np.nan, np.inf, -np.inf, 0.5, 255]))
            with np.errstate(all="ignore"):
                made.reshape(-1)[draw(st.integers(0, made.size - 1))] = np.array(value).astype(made.dtype)
            return made


@st.composite
def damaged_arrays(draw: Any, sample: bytes) -> bytes:
    """Return an .npz file with right checksums whose arrays, or the JSON in them, are not what they should be."""
    with np.load(io.BytesIO(sample)) as file:
        arrays = {name: file[name] for name in file.files}
    texts, changed = {"header", "action_names"}, set[str]()
    for _ in range(draw(st.integers(1, 2))):
        name = draw(st.sampled_from(sorted(arrays)))
        if name in texts - changed and draw(st.booleans()):
            made = draw(damaged_json(json.loads(arrays[name].tobytes())))
            arrays[name] = np.frombuffer(json.dumps(made).encode(), np.uint8)
        elif draw(st.integers(0, 5)):
            arrays[name] = draw(damaged_array(arrays[name]))
        elif len(arrays) > 1:
            del arrays[name]
        changed.add(name)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as packed:
        for name, array in arrays.items():
            with packed.open(f"{name}.npy", "w") as file:
                np.lib.format.write_array(file, np.asarray(array), allow_pickle=False)
    return buffer.getvalue()
