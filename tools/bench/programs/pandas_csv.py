#!/usr/bin/python3
"""How fast pandas' C engine parses a Criteo TSV file, one core: {"rows_per_second": ...}, the best of three readings.

    tools/bench/programs/pandas_csv.py FILE
"""
import json
import os
import sys
import time

NOT_INSTALLED = 3

try:
    import pandas
except ImportError:
    sys.stderr.write("pandas is not installed: tools/bench_peers installs it\n")
    sys.exit(NOT_INSTALLED)


def main():
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    best = 0.0
    for _ in range(3):
        start = time.perf_counter()
        frame = pandas.read_csv(sys.argv[1], sep="\t", header=None, engine="c")
        best = max(best, len(frame) / (time.perf_counter() - start))
    json.dump({"rows_per_second": best, "pandas": pandas.__version__}, sys.stdout)


main()
