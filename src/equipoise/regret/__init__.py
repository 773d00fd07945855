"""Regret matching and the update rules. Nothing here knows of sampling, tables or networks."""
