"""Work on a Ray cluster: the only room that imports Ray."""
