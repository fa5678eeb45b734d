"""Run targets of the Makefile one after another and print how long each takes.

Usage: python tools/run_stages.py STAGE...
"""

import os
import subprocess
import sys
import time


def run(stages: list[str]) -> int:
    """Return 0, or the exit status of the first stage that fails."""
    start, timings = time.monotonic(), []
    for stage in stages:
        print(f"\n=== {stage}", flush=True)
        began = time.monotonic()
        command = [os.environ.get("MAKE", "make"), "--no-print-directory", stage]
        status = subprocess.run(command, check=False).returncode
        timings.append(f"{time.monotonic() - began:5.0f} s  {stage}")
        if status:
            print(f"\n=== FAILED: {stage} (exit status {status})", flush=True)
            return status
    print("\n=== Passed", *timings, f"{time.monotonic() - start:5.0f} s  in all", sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
