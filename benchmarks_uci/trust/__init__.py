"""Situations in which intervals are easily wrong, and a score for each.

A situation is a pure function of a seed. `runner` fits and scores, `results` stores the scores as
CSV, and `report` compares versions of the package with the goals.
"""
