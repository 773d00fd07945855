"""The test suite. Slow, obvious twins of what is tested live in ``tests.naive``."""
