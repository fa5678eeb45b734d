"""The cost of training and prediction as ratios: `python -m benchmarks_uci speed`.

What is compared runs in turns on the same machine, so a ratio means more than a time.
"""
