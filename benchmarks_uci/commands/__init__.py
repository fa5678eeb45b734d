"""The commands of `python -m benchmarks_uci`, a file each."""
