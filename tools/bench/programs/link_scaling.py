#!/usr/bin/python3
"""Samples/s of 1 and of 4 workers where the links are what limits them: {"four_workers": ..., "four_times_one": ...}.

    tools/bench/programs/link_scaling.py --weir bazel-bin/tools/weir --rows FILE

Every process has a host of its own (tools/netlab), which sends 4 Mbit/s at most; each worker has a server of its own beside it, and the same
number of samples a step. Rows go by the demo's codecs; dense gradients, which only several workers exchange, by a threshold of 99.9 %, in fp8
and packed: what such a link asks for (docs/codecs.md). Needs root, for network namespaces.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
import slow_network

NOT_INSTALLED = 3
RATE = "4mbit"
SAMPLES = 2048  # of a worker in a step
STEPS = 20
DENSE = "compression.dense={method: dct, sparsity: 0.999, refresh_every: 10, values: fp8, entropy: huffman}"


def measure(args, folder, workers):
    folder = os.path.join(folder, f"workers-{workers}")
    os.makedirs(os.path.join(folder, "logs"))
    sets = [f"name={os.path.basename(folder)}", f"data.train=[{os.path.abspath(args.rows)}]", "data.test_last_rows=2048",
            f"data.train_rows_max={SAMPLES * STEPS * workers}", f"cluster.servers={workers}", f"cluster.workers={workers}",
            f"training.batch_size={SAMPLES * workers}", DENSE]
    with open(os.path.join(folder, "job.yaml"), "w") as f:
        subprocess.run([args.weir, "job", "examples/demo.yaml"] + [word for s in sets for word in ("--set", s)], check=True, stdout=f)
    args.bin_dir = os.path.join(os.path.dirname(args.weir), "..")
    slow_network.netlab("up", str(1 + 2 * workers), RATE)
    try:
        slow_network.run_job(folder, (workers, workers), args)
    finally:
        slow_network.netlab("down")
    with open(os.path.join(folder, "result.json")) as f:
        return json.load(f)["samples_per_second"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weir", required=True)
    parser.add_argument("--rows", required=True)
    args = parser.parse_args()
    if os.geteuid() != 0:
        sys.stderr.write("limited links need root (network namespaces)\n")
        sys.exit(NOT_INSTALLED)
    with tempfile.TemporaryDirectory() as folder:
        one, four = measure(args, folder, 1), measure(args, folder, 4)
    json.dump({"four_workers": four, "four_times_one": 4 * one, "one_worker": one}, sys.stdout)


main()
