"""The cost of training and prediction as ratios: `python -m benchmarks_uci speed`.

The compared functions run in turns on the same machine, so ratios are more reliable than times.
"""
