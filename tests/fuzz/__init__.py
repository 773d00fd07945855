"""Hostile input: whatever is given works or is refused in one line. `make fuzz` runs it; see docs/reliability.md."""
