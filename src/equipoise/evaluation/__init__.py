"""How good a policy is, by itself and against another; what its infosets are worth."""

from equipoise.evaluation.appraisers import action_values, appraiser
from equipoise.evaluation.exploitability import exploitability, nash_conv, value
from equipoise.evaluation.match import exact_match, play_match

__all__ = ["action_values", "appraiser", "exact_match", "exploitability", "nash_conv", "play_match", "value"]
