"""Slow, obvious twins of the kernels: plain recursion over ``State`` objects, with dictionaries. Nothing is shared with
the package but the rules of the games."""
