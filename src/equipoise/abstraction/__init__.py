"""Card abstraction: maps from (private hand, board) to buckets, in which a strategy is the same for all hands."""
