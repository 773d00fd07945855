"""Cells that are evaluated once for all sequences that begin alike: the outputs and gradients of plain PyTorch."""

import copy

import numpy as np
import pytest
import torch
from torch import nn

from equipoise.networks.infosets import infosets_of, sub_trie
from equipoise.networks.modules import ATTENTIONS, LEAK, Recurrent
from equipoise.networks.network import Network, make_network, read

torch.set_num_threads(1)  # as the solvers do: these networks are too small to share out
CPU = torch.device("cpu")
PLAIN = {"lstm": nn.LSTM, "gru": nn.GRU, "rnn": nn.RNN}
every_network = pytest.mark.parametrize(
    "architecture",
    [
        Recurrent(cell=cell, width=5, attention=attention, hidden=hidden)
        for cell in PLAIN
        for attention in ATTENTIONS
        for hidden in (False, True)
    ],
    ids=lambda each: f"{each.cell}-{each.attention}{'-hidden' if each.hidden else ''}",
)
every_precision = pytest.mark.parametrize(
    ("precision", "tolerance"), [(torch.float64, 1e-12), (torch.float32, 2e-6)], ids=["float64", "float32"]
)


def network_of(rows, architecture, precision=torch.float64):
    network = make_network(rows, architecture, torch.Generator().manual_seed(1), head=1.0).to(precision)
    if network.attention is not None:
        with torch.no_grad():  # relu must neither keep nor block everything
            network.attention.weight.mul_(3.0)
    return network


def prefixes_of(rows, network, precision, chosen=slice(None)):
    inputs = network.inputs_of(rows, chosen, CPU)
    return inputs._replace(cells=inputs.cells.to(precision))


class OneByOne(nn.Module):
    """The same network as PyTorch writes it: each sequence by itself, attention by hand."""

    def __init__(self, shared):
        super().__init__()
        self.cells = PLAIN[shared.cell](shared.weight_ih.shape[1], shared.weight_hh.shape[1], batch_first=True)
        self.cells = self.cells.to(shared.weight_ih.dtype)
        self.residual = shared.architecture.attention == "residual"
        with torch.no_grad():
            for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
                getattr(self.cells, f"{name}_l0").copy_(getattr(shared, name))
        self.attention, self.hidden, self.head = (
            copy.deepcopy(part) for part in (shared.attention, shared.hidden, shared.head)
        )

    def forward(self, sequence):
        states = self.cells(sequence[None])[0][0]
        if self.attention is None:
            summary = states[-1]
        elif self.residual:
            summary = sum((1.0 + self.attention.weight[0] @ state) * state for state in states)
        else:  # DN19 Eq. 15: a_j = relu(w_a e_j), summary sum_j a_j e_j
            summary = sum(torch.relu(self.attention.weight[0] @ state) * state for state in states)
        if self.hidden is not None:
            summary = self.hidden(summary)
        if self.residual:
            summary = torch.where(summary > 0.0, summary, LEAK * summary)
        elif self.hidden is not None or self.attention is not None:
            summary = torch.relu(summary)
        return self.head.weight @ summary

    def gradients(self):
        """Return gradients under the names of the network that shares."""
        return {name.removeprefix("cells.").removesuffix("_l0"): each.grad for name, each in self.named_parameters()}


@pytest.fixture(scope="module")
def leduc(compiled):
    return infosets_of(compiled("leduc_poker"))


@pytest.fixture(scope="module")
def some(leduc):
    """Some rows of all lengths, twice the same one among them."""
    rows = np.random.default_rng(2).choice(len(leduc.row_keys), 40, replace=False)
    return np.append(rows, rows[7])


def sequences_of(rows, chosen, precision):
    return [
        torch.from_numpy(rows.grammar.cells(rows.grammar.steps(rows.row_keys[row]))).to(precision) for row in chosen
    ]


@every_network
@every_precision
def test_outputs_and_gradients_are_those_of_plain_networks(leduc, some, architecture, precision, tolerance):
    shared = network_of(leduc, architecture, precision)
    plain = OneByOne(shared)
    expected = torch.stack([plain(sequence) for sequence in sequences_of(leduc, some, precision)])
    pull = torch.randn(expected.shape, generator=torch.Generator().manual_seed(3), dtype=torch.float64).to(precision)
    seen = []

    def gradient_of(outputs, rows):
        seen.append(outputs)
        return pull

    shared.backpropagate(prefixes_of(leduc, shared, precision, some), gradient_of)
    torch.testing.assert_close(seen[0], expected.detach(), rtol=tolerance, atol=tolerance)
    expected.backward(pull)
    gradients = plain.gradients()
    assert {name for name, _ in shared.named_parameters()} == set(gradients)
    for name, parameter in shared.named_parameters():
        scale = float(gradients[name].abs().max())
        assert scale > 1e-3, name
        torch.testing.assert_close(parameter.grad, gradients[name], rtol=0.0, atol=20 * tolerance * scale, msg=name)


def test_gradients_do_not_pile_up(leduc, some):
    network = network_of(leduc, Recurrent(attention="relu"))
    inputs = prefixes_of(leduc, network, torch.float64, some)
    found = []
    for _ in range(2):
        network.backpropagate(inputs, lambda outputs, rows: torch.ones_like(outputs))
        found.append([parameter.grad.clone() for parameter in network.parameters()])
    assert all(torch.equal(one, two) for one, two in zip(*found, strict=True))


@pytest.mark.parametrize("text", ["kuhn_poker", "leduc_poker", "goofspiel(cards=4)", "open_spiel:kuhn_poker"])
def test_every_prefix_is_in_the_trie_once(compiled, text):
    rows = infosets_of(compiled(text), "cards")
    steps = [rows.grammar.steps(key) for key in rows.row_keys]
    distinct = {each[: length + 1] for each in steps for length in range(len(each))}
    assert len(rows.trie.cells) == len(rows.trie.parent) == len(distinct)
    assert np.diff(rows.trie.level_start).tolist() == [
        sum(len(each) == length for each in distinct) for length in range(1, max(map(len, steps)) + 1)
    ]
    assert len(distinct) < sum(map(len, steps))


@every_network
def test_parts_of_a_trie_have_the_outputs_of_the_whole(leduc, architecture):
    network = network_of(leduc, architecture)
    everything = network(prefixes_of(leduc, network, torch.float64)).detach()
    random = np.random.default_rng(4)
    for size in (1, 2, 17, 150):
        chosen = random.choice(len(leduc.row_keys), size)  # some twice, in no order
        part = network(prefixes_of(leduc, network, torch.float64, chosen)).detach()
        torch.testing.assert_close(part, everything[chosen], rtol=0.0, atol=1e-14)
    assert everything.std(dim=0).min() > 1e-3


def test_parts_of_a_trie_hold_no_prefix_that_they_do_not_need(leduc):
    random = np.random.default_rng(5)
    for size in (1, 5, 60):
        chosen = random.choice(len(leduc.row_keys), size)
        steps = [leduc.grammar.steps(leduc.row_keys[row]) for row in chosen]
        distinct = {each[: length + 1] for each in steps for length in range(len(each))}
        assert len(sub_trie(leduc.trie, chosen).cells) == len(distinct) < len(leduc.trie.cells)


@pytest.mark.parametrize("player", [0, 1])
def test_reading_in_parts_changes_nothing(leduc, player, monkeypatch):
    network = network_of(leduc, Recurrent(), torch.float32)
    rows = leduc.rows_of(player)
    at_once = read(leduc, network, rows, CPU)
    monkeypatch.setattr(Network, "rows_at_once", 37)
    np.testing.assert_allclose(read(leduc, network, rows, CPU), at_once, rtol=0.0, atol=1e-6)
    expected = network(network.inputs_of(leduc, slice(None), CPU)).detach().numpy()[rows]
    np.testing.assert_allclose(at_once, expected, rtol=0.0, atol=1e-6)


@pytest.mark.parametrize("attention", ATTENTIONS)
@pytest.mark.parametrize(("width", "hidden"), [(1, False), (5, True), (16, False), (16, True), (17, False)])
def test_kernels_walk_as_pytorch_does(compiled, attention, width, hidden):
    """Parts of a trie with suits, hints and rows given twice, by kernels and level by level."""
    rows = infosets_of(compiled("leduc_poker"), "cards")
    network = network_of(rows, Recurrent(width=width, attention=attention, hidden=hidden), torch.float32)
    whole = network.inputs_of(rows, slice(None), CPU)
    assert whole.sparse is not None
    for size in (1, 60, len(rows.row_keys)):
        chosen = torch.from_numpy(np.random.default_rng(size).choice(len(rows.row_keys), size))
        inputs, found = network.some(whole, chosen), []
        pull = torch.randn(size, rows.num_columns, generator=torch.Generator().manual_seed(size))
        for part in (inputs, inputs._replace(sparse=None)):
            network.backpropagate(part, lambda outputs, rows, pull=pull: pull)
            with torch.no_grad():
                outputs = network(part)
            found.append([outputs, *(parameter.grad.clone() for parameter in network.parameters())])
        for kernels, slow in zip(*found, strict=True):
            scale = float(slow.abs().max())
            torch.testing.assert_close(kernels, slow, rtol=0.0, atol=1e-7 + 2e-5 * scale)


def test_hints_are_for_residual_attention_alone(compiled):
    """22 inputs and 2,672 numbers with suits on no-limit Leduc; with ranks, cells have the flag already."""
    form = compiled("nl_leduc(stack=5)")
    for cards, hints, numbers in (("cards", 1, 2672), ("ranks", 0, 2672 - 64 * 9)):
        rows = infosets_of(form, cards)
        assert rows.trie.hints.shape == (len(rows.trie.cells), hints)
        widths = [
            sum(each.numel() for each in network_of(rows, Recurrent(attention=kind, hidden=False)).parameters())
            for kind in ("residual", "relu")
        ]
        assert widths == [numbers, numbers - 64 * hints]
    rows = infosets_of(form, "cards")
    steps = [("Ks", "Kh", "board", -1, 0), ("Ks", "Qs", "board", -1, 0), ("Ks", "", "deal", -1, 0)]
    assert rows.grammar.hints(steps).ravel().tolist() == [1.0, 0.0, 0.0]


def test_no_two_gradients_share_memory(leduc, some):
    """Or clipping, which is done in place, would clip one of them twice."""
    network = network_of(leduc, Recurrent(attention="relu"), torch.float32)
    network.backpropagate(network.inputs_of(leduc, some, CPU), lambda outputs, rows: torch.ones_like(outputs))
    places = [parameter.grad.data_ptr() for parameter in network.parameters()]
    assert len(set(places)) == len(places)
