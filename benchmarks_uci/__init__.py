"""Measure how well and how fast sk_deltauq predicts on real data: `python -m benchmarks_uci`.

It uses only public names of `sk_deltauq`, and is not part of the installed package.
"""
