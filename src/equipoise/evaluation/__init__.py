"""How good a policy is."""

from equipoise.evaluation.exploitability import exploitability, nash_conv, value

__all__ = ["exploitability", "nash_conv", "value"]
