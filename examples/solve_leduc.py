"""Solve Leduc poker and look at what it found."""

import equipoise

solution = equipoise.solve("leduc_poker", algorithm="cfr+", iterations=1000)
print(f"value to player 0: {solution.value:.5f} chips a game")
print(f"exploitability (nash_conv / 2): {solution.exploitability:.5f} chips a game")
print("with a queen, before any action:", solution.policy.action_probabilities("Qs|"))
