"""Analyse the results of any study: they become one data frame, and all else works on that."""
