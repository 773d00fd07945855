"""Strategies that one can play, query, save, load and export."""

from equipoise.policies.policy import Policy, load_policy

__all__ = ["Policy", "load_policy"]
