"""The loops, and recipes: named combinations of an update rule and what it is applied to."""
