"""Strategies that one can play, query, save, load and export."""

from equipoise.policies.opening import AnyPolicy, open_strategy, read_policy
from equipoise.policies.policy import Policy

__all__ = ["AnyPolicy", "Policy", "open_strategy", "read_policy"]
