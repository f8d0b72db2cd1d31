#!/usr/bin/python3
"""Samples/s of a training job of the paper's DLRM from a TSV file, one worker and one server: {"samples_per_second": ...}, the best of three.

    tools/bench/programs/training.py --weir bazel-bin/tools/weir --rows FILE
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

SETTINGS = ["name=bench", "data.test_last_rows=2048", "cluster.servers=1", "cluster.workers=1", "training.batch_size=2048", "training.threads=2",
            "compression.lookup.method=none", "compression.push.method=none", "compression.dense.method=none"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weir", required=True)
    parser.add_argument("--rows", required=True)
    parser.add_argument("--set", action="append", default=[], help="KEY=VALUE over the job's settings")
    args = parser.parse_args()
    rates = []
    with tempfile.TemporaryDirectory() as folder:
        settings = SETTINGS + [f"data.train=[{os.path.abspath(args.rows)}]", f"output.dir={folder}"] + args.set
        words = [args.weir, "launch", "examples/demo.yaml"] + [word for setting in settings for word in ("--set", setting)]
        for _ in range(3):
            subprocess.run(words, check=True, stdout=sys.stderr)
            with open(os.path.join(folder, "bench", "result.json")) as f:
                rates.append(json.load(f)["samples_per_second"])
    json.dump({"samples_per_second": max(rates), "all": rates}, sys.stdout)


main()
