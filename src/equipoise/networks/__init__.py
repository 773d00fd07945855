"""Networks from infosets to a vector over actions, what they see of an infoset, and the one loop that fits them."""
