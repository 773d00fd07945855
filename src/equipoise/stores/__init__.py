"""Where sums by infoset live: in a table, in a network that is fitted to them, or in a memory of samples and a network.

A solver has two stores, of regrets and of strategies. A regret store gives the scores that regret matching reads, as a
table of all infosets, and absorbs a batch's increments; a strategy store absorbs strategies and gives their average.
"""
