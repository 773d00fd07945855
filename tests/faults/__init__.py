"""Kills at random moments, full and read-only disks, two writers: `make faults` runs it; see docs/reliability.md."""
