"""Strategies that one can play, query, save, load and export."""

from equipoise.policies.policy import Policy, read_policy

__all__ = ["Policy", "read_policy"]
