"""Runs: the loop around a solver that evaluates, logs, checkpoints and resumes. Nothing here knows of algorithms."""
