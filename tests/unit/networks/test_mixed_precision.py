"""Fits in mixed precision: they learn, parameters stay in 32 bits, and hardware that cannot is refused."""

import numpy as np
import pytest
import torch

import equipoise
from equipoise.errors import InvalidParameter, NotSupported
from equipoise.games import load_game
from equipoise.networks import devices
from equipoise.networks.devices import BF16_FLAGS, cpu_flags, require_bf16
from equipoise.networks.fitting import Examples, Fitting, fit, make_optimiser
from equipoise.networks.holdem import CardsAndBets
from equipoise.networks.network import make_network
from equipoise.solvers.recipes import find_recipe
from equipoise.solvers.setup import Setup
from tests.unit.networks.test_holdem_network import rows_of, some_codes

able = pytest.mark.skipif(
    not BF16_FLAGS & cpu_flags() or torch.backends.cpu.get_cpu_capability() == "DEFAULT",
    reason="this CPU has no instructions for bfloat16, or they are switched off",
)
CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def _asked_anew():
    devices._why_no_bf16.cache_clear()
    yield
    devices._why_no_bf16.cache_clear()


def test_a_cpu_without_the_flags_is_refused_before_anything_is_tried(monkeypatch):
    monkeypatch.setattr(devices, "cpu_flags", lambda: frozenset({"avx2", "fma"}))
    monkeypatch.setattr(devices.subprocess, "run", lambda *_, **__: pytest.fail("it was tried"))
    with pytest.raises(NotSupported, match=r"amp=bf16 cannot be used here \(the CPU has no instructions for it\)"):
        require_bf16(CPU)


def test_a_cpu_whose_products_end_in_an_illegal_instruction_is_refused(monkeypatch):
    monkeypatch.setattr(devices, "cpu_flags", lambda: BF16_FLAGS)
    monkeypatch.setattr(devices, "_TRY", "import os; os.kill(os.getpid(), 4)")
    with pytest.raises(NotSupported, match="says that it has instructions for it, and they fail"):
        require_bf16(CPU)


def test_it_is_a_setting_of_networks_with_autograd_alone():
    with pytest.raises(InvalidParameter, match="amp"):
        equipoise.solve("leduc_poker", "sd-cfr", parameters={"amp": "bf16"}, iterations=1)


def learnt(mixed: bool, *, epochs: int = 200) -> tuple[float, torch.Tensor]:
    """Return the loss of a fit to random targets, and its parameters."""
    torch.set_num_threads(1)
    seen = rows_of("flop_holdem", "ranks")
    codes = np.unique(some_codes(seen, 256))
    network = make_network(seen, CardsAndBets(width=32), torch.Generator().manual_seed(1), head=0.4, rows=codes)
    target = torch.from_numpy(np.random.default_rng(2).normal(size=(len(codes), 3)).astype(np.float32))
    found = fit(
        network,
        make_optimiser(network),
        Examples(network.inputs_of(seen, codes, CPU), target, torch.full_like(target, 1.0 / len(codes))),
        Fitting(rate=5e-3, mixed=mixed),
        fit_number=1,
        generator=torch.Generator().manual_seed(3),
        epochs=epochs,
    )
    return found.loss, torch.nn.utils.parameters_to_vector(network.parameters())


@able
def test_a_fit_comes_about_as_far_and_keeps_its_parameters_in_32_bits():
    full, mixed, start = learnt(False), learnt(True), learnt(False, epochs=1)[0]
    assert mixed[1].dtype == torch.float32 and bool(torch.isfinite(mixed[1]).all())
    assert not torch.equal(full[1], mixed[1]), "nothing was mixed"
    assert full[0] < start / 3
    assert mixed[0] < start / 2


@able
@pytest.mark.parametrize(("network", "game"), [("gru", "leduc_poker"), ("cards", "flop_holdem")])
def test_runs_in_mixed_precision_resume_bit_for_bit(network, game):
    def made():
        given = {"network": network, "amp": "bf16", "width": 16, "traversals": 200, "minibatch": 128}
        return find_recipe("sd-cfr").solver(
            Setup(game=load_game(game), seed=4), {**given, "steps": 5, "fresh_steps": 5, "capacity": 10_000}
        )

    whole, first, second = made(), made(), made()
    whole.run(4)
    first.run(2)
    second.restore(2, {name: np.array(array) for name, array in first.state().items()})
    second.run(2)
    for name, array in whole.state().items():
        np.testing.assert_array_equal(second.state()[name], array, err_msg=name)
