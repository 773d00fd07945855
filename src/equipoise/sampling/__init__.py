"""Sampling: schemes that say which actions are walked, and the one traversal that follows them."""
