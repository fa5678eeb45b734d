"""Studies of predictive intervals, with commands of their own.

`choice` compares the methods that a reader would choose between. `conformal` compares conformal
intervals with MAPIE's. Both need the extra `external`. `simulated` measures the coverage of our
conformal intervals.
"""
