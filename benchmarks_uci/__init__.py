"""How well DeltaUQ predicts, and how fast, on real data: `python -m benchmarks_uci`.

A client of the public names of `sk_deltauq`; it is not part of the installed package.
"""
