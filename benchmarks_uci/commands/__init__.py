"""The commands of `python -m benchmarks_uci`, one file each."""
