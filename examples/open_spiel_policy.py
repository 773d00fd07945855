"""Solve with equipoise, go on in OpenSpiel: both agree on how exploitable the policy is (needs the extra 'spiel')."""

import pyspiel
from open_spiel.python.algorithms import exploitability

import equipoise

solution = equipoise.solve("kuhn_poker", iterations=500)
theirs = exploitability.nash_conv(pyspiel.load_game("kuhn_poker"), solution.policy.to_open_spiel())
print(f"nash_conv: {solution.nash_conv:.12f} here, {theirs:.12f} in OpenSpiel")
