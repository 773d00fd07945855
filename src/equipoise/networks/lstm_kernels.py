"""An LSTM over the prefixes that some rows need, and no others: forth and back, in float32, on one core.

Cells are sparse (a card, a bet, who acts), states are short, and a minibatch needs a small part of a trie. So prefixes
are walked one by one, parents first, and each is a few short loops that the compiler vectorises. Gates lie side by side
(inward, forget, candidate, outward), each with room for a whole number of vectors; what is beyond the width stays zero
in all that counts. The same as `RecurrentNetwork` does in PyTorch, up to rounding: tests compare the two.
"""

from typing import NamedTuple

import numpy as np

from equipoise.compiled import inlined, kernel
from equipoise.networks.grammars import Float32
from equipoise.networks.rows import Trie
from equipoise.trees.treeplex import Int64

NO_ATTENTION, RELU, RESIDUAL = range(3)  # a state's weight in the summary: the last one only, relu(w e), 1 + w e
LANES = 16  # widths are filled up to a multiple of it

ZERO, HALF, ONE = np.float32(0.0), np.float32(0.5), np.float32(1.0)
# tanh as a quotient of two polynomials in x, a minimax fit as in Eigen: right to a few units in the last place, without
# a branch. Beyond the bound, float32 has no number nearer than 1.
BOUND = np.float32(7.90531110763549805)
A1, A3 = np.float32(4.89352455891786e-03), np.float32(6.37261928875436e-04)
A5, A7 = np.float32(1.48572235717979e-05), np.float32(5.12229709037114e-08)
A9, A11 = np.float32(-8.60467152213735e-11), np.float32(2.00018790482477e-13)
A13 = np.float32(-2.76076847742355e-16)
B0, B2 = np.float32(4.89352518554385e-03), np.float32(2.26843463243900e-03)
B4, B6 = np.float32(1.18534705686654e-04), np.float32(1.19825839466702e-06)


class SparseTrie(NamedTuple):
    """A trie whose cells are lists of what is not zero in them."""

    parent: Int64  # [prefixes] among all prefixes; -1: none
    start: Int64  # [prefixes + 1] of each cell, its first number
    column: Int64
    value: Float32


class Parameters(NamedTuple):
    """An LSTM's parameters as PyTorch has them, and the attention's weights (none: no attention)."""

    weight_ih: Float32  # [4 width, inputs]
    weight_hh: Float32  # [4 width, width]
    bias_ih: Float32
    bias_hh: Float32
    attention: Float32


class Walked(NamedTuple):
    """What the way back needs to know of the way forth: prefixes that were needed, parents first, and their states."""

    needed: Int64  # [prefixes]
    above: Int64  # [prefixes] the parent's place among these; -1: none
    ends: Int64  # [rows] the place of each row's last prefix
    gates: Float32  # [prefixes, 4 room]
    memory: Float32  # [prefixes, room]
    squashed: Float32  # tanh of it
    state: Float32
    share: Float32  # [prefixes] of the state in the summary
    summary: Float32


def sparse_trie(trie: Trie, cells: Float32) -> SparseTrie:
    """Return a trie with given cells as kernels take it."""
    row, column = np.nonzero(cells)
    start = np.searchsorted(row, np.arange(len(cells) + 1)).astype(np.int64)
    before = np.concatenate([[0], trie.level_start[:-2]])  # where the level above begins
    parent = trie.parent + np.repeat(before, np.diff(trie.level_start))
    parent[: trie.level_start[1]] = -1
    return SparseTrie(parent, start, column.astype(np.int64), cells[row, column])


@inlined
def _tanh(x: np.float32) -> np.float32:
    x = BOUND if x > BOUND else x
    x = -BOUND if x < -BOUND else x
    y = x * x
    above = ((((((A13 * y + A11) * y + A9) * y + A7) * y + A5) * y + A3) * y + A1) * x
    return above / (((B6 * y + B4) * y + B2) * y + B0)


@kernel
def _needed(parent: Int64, last: Int64) -> tuple[Int64, Int64, Int64]:
    """Return the prefixes that rows need, parents first; the places of their parents; and of each row's last."""
    place = np.full(len(parent), -1, np.int64)
    needed, above = np.empty(len(parent), np.int64), np.empty(len(parent), np.int64)
    ends = np.empty(len(last), np.int64)
    count = 0
    for row in range(len(last)):
        new, prefix = 0, last[row]
        while prefix >= 0 and place[prefix] < 0:
            new += 1
            prefix = parent[prefix]
        top = place[prefix] if prefix >= 0 else -1
        prefix = last[row]
        for back in range(new - 1, -1, -1):
            place[prefix] = count + back
            needed[count + back] = prefix
            above[count + back] = count + back - 1 if back else top
            prefix = parent[prefix]
        count += new
        ends[row] = place[last[row]]
    return needed[:count].copy(), above[:count].copy(), ends


@kernel
def walk(trie: SparseTrie, own: Parameters, kind: int, last: Int64) -> Walked:
    """Return all states of the prefixes that rows need, given each row's last prefix."""
    width, inputs = own.weight_hh.shape[1], own.weight_ih.shape[1]
    room = (width + LANES - 1) // LANES * LANES
    needed, above, ends = _needed(trie.parent, last)
    count = len(needed)
    from_inputs, from_state = np.zeros((inputs, 4 * room), np.float32), np.zeros((room, 4 * room), np.float32)
    bias, attention = np.zeros(4 * room, np.float32), np.zeros(room, np.float32)
    for gate in range(4):
        for unit in range(width):
            source, target = gate * width + unit, gate * room + unit
            bias[target] = own.bias_ih[source] + own.bias_hh[source]
            for k in range(inputs):
                from_inputs[k, target] = own.weight_ih[source, k]
            for k in range(width):
                from_state[k, target] = own.weight_hh[source, k]
    for unit in range(len(own.attention)):
        attention[unit] = own.attention[unit]
    gates = np.empty((count, 4 * room), np.float32)
    memory, squashed = np.empty((count, room), np.float32), np.empty((count, room), np.float32)
    state, summary = np.empty((count, room), np.float32), np.empty((count, room), np.float32)
    share = np.ones(count, np.float32)
    for place in range(count):
        prefix, up, row = needed[place], above[place], gates[place]
        for j in range(4 * room):
            row[j] = bias[j]
        for entry in range(trie.start[prefix], trie.start[prefix + 1]):
            value, weights = trie.value[entry], from_inputs[trie.column[entry]]
            for j in range(4 * room):
                row[j] += value * weights[j]
        if up >= 0:
            before = state[up]
            for k in range(0, room, 4):
                w0, w1, w2, w3 = from_state[k], from_state[k + 1], from_state[k + 2], from_state[k + 3]
                v0, v1, v2, v3 = before[k], before[k + 1], before[k + 2], before[k + 3]
                for j in range(4 * room):
                    row[j] += (v0 * w0[j] + v1 * w1[j]) + (v2 * w2[j] + v3 * w3[j])
        inward, forget = row[:room], row[room : 2 * room]
        candidate, outward = row[2 * room : 3 * room], row[3 * room :]
        for j in range(room):
            inward[j] = HALF + HALF * _tanh(HALF * inward[j])
        for j in range(room):
            forget[j] = HALF + HALF * _tanh(HALF * forget[j])
        for j in range(room):
            candidate[j] = _tanh(candidate[j])
        for j in range(room):
            outward[j] = HALF + HALF * _tanh(HALF * outward[j])
        kept, small, out = memory[place], squashed[place], state[place]
        for j in range(room):
            kept[j] = inward[j] * candidate[j]
        if up >= 0:
            for j in range(room):
                kept[j] += forget[j] * memory[up, j]
        for j in range(room):
            small[j] = _tanh(kept[j])
        for j in range(room):
            out[j] = outward[j] * small[j]
        if kind != NO_ATTENTION:
            weight = ZERO if kind == RELU else ONE
            for j in range(width):
                weight += attention[j] * out[j]
            share[place] = max(weight, ZERO) if kind == RELU else weight
        for j in range(room):
            summary[place, j] = share[place] * out[j]
        if kind != NO_ATTENTION and up >= 0:
            for j in range(room):
                summary[place, j] += summary[up, j]
    return Walked(needed, above, ends, gates, memory, squashed, state, share, summary)


@kernel
def walk_back(trie: SparseTrie, own: Parameters, kind: int, walked: Walked, pull: Float32) -> Parameters:
    """Return the gradient of all parameters, given that of the summaries of rows."""
    width, inputs = own.weight_hh.shape[1], own.weight_ih.shape[1]
    count, room = walked.state.shape
    to_state = np.zeros((4 * room, room), np.float32)
    attention = np.zeros(room, np.float32)
    for gate in range(4):
        for unit in range(width):
            for k in range(width):
                to_state[gate * room + unit, k] = own.weight_hh[gate * width + unit, k]
    for unit in range(len(own.attention)):
        attention[unit] = own.attention[unit]
    from_inputs, from_state = np.zeros((inputs, 4 * room), np.float32), np.zeros((width, 4 * room), np.float32)
    bias, of_attention = np.zeros(4 * room, np.float32), np.zeros(room, np.float32)
    of_summary, of_state = np.zeros((count, room), np.float32), np.zeros((count, room), np.float32)
    of_memory, of_gates = np.zeros((count, room), np.float32), np.empty(4 * room, np.float32)
    for row in range(len(walked.ends)):
        for j in range(width):
            of_summary[walked.ends[row], j] += pull[row, j]
    for place in range(count - 1, -1, -1):
        prefix, up = walked.needed[place], walked.above[place]
        state, by_summary, by_state = walked.state[place], of_summary[place], of_state[place]
        share = walked.share[place]
        for j in range(room):
            by_state[j] += share * by_summary[j]
        if kind != NO_ATTENTION:
            if kind == RESIDUAL or share > ZERO:
                by_share = ZERO
                for j in range(width):
                    by_share += by_summary[j] * state[j]
                for j in range(room):
                    by_state[j] += by_share * attention[j]
                for j in range(room):
                    of_attention[j] += by_share * state[j]
            if up >= 0:
                for j in range(room):
                    of_summary[up, j] += by_summary[j]
        gates, by_memory, small = walked.gates[place], of_memory[place], walked.squashed[place]
        for j in range(room):
            outward = gates[3 * room + j]
            of_gates[3 * room + j] = by_state[j] * small[j] * outward * (ONE - outward)
            by_memory[j] += by_state[j] * outward * (ONE - small[j] * small[j])
        for j in range(room):
            inward, candidate = gates[j], gates[2 * room + j]
            of_gates[j] = by_memory[j] * candidate * inward * (ONE - inward)
            of_gates[2 * room + j] = by_memory[j] * inward * (ONE - candidate * candidate)
        if up >= 0:
            for j in range(room):
                forget = gates[room + j]
                of_gates[room + j] = by_memory[j] * walked.memory[up, j] * forget * (ONE - forget)
                of_memory[up, j] += by_memory[j] * forget
            before, above = walked.state[up], of_state[up]
            for k in range(width):
                value, weights = before[k], from_state[k]
                for j in range(4 * room):
                    weights[j] += value * of_gates[j]
            for j in range(width):  # four at a time: what is added to is loaded and stored less often
                w0, w1, w2, w3 = to_state[j], to_state[room + j], to_state[2 * room + j], to_state[3 * room + j]
                v0, v1, v2, v3 = of_gates[j], of_gates[room + j], of_gates[2 * room + j], of_gates[3 * room + j]
                for k in range(room):
                    above[k] += (v0 * w0[k] + v1 * w1[k]) + (v2 * w2[k] + v3 * w3[k])
        else:
            for j in range(room):
                of_gates[room + j] = ZERO
        for j in range(4 * room):
            bias[j] += of_gates[j]
        for entry in range(trie.start[prefix], trie.start[prefix + 1]):
            value, weights = trie.value[entry], from_inputs[trie.column[entry]]
            for j in range(4 * room):
                weights[j] += value * of_gates[j]
    weight_ih, weight_hh = np.empty((4 * width, inputs), np.float32), np.empty((4 * width, width), np.float32)
    biases = np.empty(4 * width, np.float32)
    for gate in range(4):
        for unit in range(width):
            source, target = gate * room + unit, gate * width + unit
            biases[target] = bias[source]
            for k in range(inputs):
                weight_ih[target, k] = from_inputs[k, source]
            for k in range(width):
                weight_hh[target, k] = from_state[k, source]
    # Each its own: gradients are clipped in place.
    return Parameters(weight_ih, weight_hh, biases, biases.copy(), of_attention[: len(own.attention)])


@kernel
def summaries(walked: Walked, width: int) -> Float32:
    """Return the summary of each row."""
    table = np.empty((len(walked.ends), width), np.float32)
    for row in range(len(walked.ends)):
        for j in range(width):
            table[row, j] = walked.summary[walked.ends[row], j]
    return table
