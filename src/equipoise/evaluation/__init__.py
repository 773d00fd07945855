"""How good a policy is, by itself and against another."""

from equipoise.evaluation.exploitability import exploitability, nash_conv, value
from equipoise.evaluation.match import exact_match, play_match

__all__ = ["exact_match", "exploitability", "nash_conv", "play_match", "value"]
