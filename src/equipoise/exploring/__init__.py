"""Walking through a game with what a policy does there, comparing two policies, and playing against them."""

from equipoise.exploring.compare import differences
from equipoise.exploring.explorer import Explorer
from equipoise.exploring.play import Session

__all__ = ["Explorer", "Session", "differences"]
