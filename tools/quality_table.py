#!/usr/bin/env python3
"""Measures what compression costs in quality: runs every arm with every seed and writes a Markdown table.

    tools/quality_table.py --data FILE [--test-rows N] [--seeds 3] [--out docs/results/quality.md] [--set KEY=VALUE]...

Each run is `weir launch examples/demo.yaml` with the arm's settings; its folder is runs/quality/<arm>-<seed>. A run that has its result.json is not
run again, so the table can be finished later. Quality is on held-out rows; bytes are those of training, counted at the socket.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys

SAMPLE = "compression.lookup={method: dct, sparsity: %s}"
# Name, what it is, settings over examples/demo.yaml. The first is the yardstick.
ARMS = [
    ("plain", "fp32, every key and row of every sample, dense all-reduce", ["compression.lookup={method: plain}", "compression.push={method: plain}",
                                                                            "compression.dense={method: none}"]),
    ("frugal", "examples/frugal.yaml: lookup DCT 97 % in change scope after 600 steps of warm-up, push DCT 97 %, dense DCT 99.9 %, all fp8 and packed",
     ["compression.lookup={method: dct, scope: change, sparsity: 0.97, warmup_steps: 600, values: fp8, entropy: huffman}",
      "compression.push={method: dct, sparsity: 0.97, values: fp8, entropy: huffman}",
      "compression.dense={method: dct, sparsity: 0.999, refresh_every: 20, values: fp8, entropy: huffman}"]),
    ("default", "lookup fp16; push DCT 90 %, residual a row; dense DCT 99 %", []),
    ("fp16", "fp16 values, unique keys once a step, fp16 reduction: a careful peer", ["compression.lookup={method: fp16}", "compression.push={method: fp16}",
                                                                                    "compression.dense={method: fp16}"]),
    ("change", "lookup DCT 90 % in change scope, int8; push DCT 90 %, int8; dense DCT 99.9 %, fp16",
     ["compression.lookup={method: dct, scope: change, sparsity: 0.9, values: int8}", "compression.push={method: dct, sparsity: 0.9, values: int8}",
      "compression.dense={method: dct, sparsity: 0.999, refresh_every: 100, values: fp16}"]),
    ("error-bounded", "lookup error_bounded 3 % of the range, from 6 % over 1,221 steps; push DCT 90 %; dense DCT 99 %",
     ["compression.lookup={method: error_bounded, error_bound_steps: 1221}"]),
    ("error-bounded-classes", "error-bounded with classes of tables",
     ["compression.lookup={method: error_bounded, error_bound_steps: 1221, classes: measured}"]),
    ("topk", "default with dense topk 99 %", ["compression.dense={method: topk, sparsity: 0.99}"]),
    ("dgc", "default with dense DGC 99 %, momentum 0.9 and a tenth of the rate", ["compression.dense={method: dgc, sparsity: 0.99, warmup_steps: 400, clip_norm: 1}",
                                                                                  "model.optimizer.learning_rate=0.003"]),
    ("powersgd", "default with dense PowerSGD of rank 4", ["compression.dense={method: powersgd, rank: 4}"]),
    ("dct-mp-50", "lookup DCT-MP 50 % in sample scope; dense DCT 99 %", [SAMPLE % 0.5, "compression.push={}"]),
    ("dct-mp-75", "lookup DCT-MP 75 % in sample scope; dense DCT 99 %", [SAMPLE % 0.75, "compression.push={}"]),
    ("dct-mp-90", "lookup DCT-MP 90 % in sample scope; dense DCT 99 %", [SAMPLE % 0.9, "compression.push={}"]),
]
EDGES = ["lookup_request", "lookup_reply", "push", "dense", "control"]


def run(weir, arm, settings, seed, args):
    name = f"{arm}-{seed}"
    folder = os.path.join("runs", "quality", name)
    result = os.path.join(folder, "result.json")
    if not os.path.exists(result):
        sets = [f"name={name}", f"seed={seed}", "output.dir=runs/quality", f"data.train=[{os.path.abspath(args.data)}]",
                f"data.test_last_rows={args.test_rows}"] + settings + args.set
        command = [weir, "launch", "examples/demo.yaml"] + [word for s in sets for word in ("--set", s)]
        subprocess.run(command, check=True)
    with open(result) as f:
        return json.load(f)


def bytes_per_sample(result, edges):
    return sum(result["wire_bytes"][e] - result["wire_bytes_evaluation"][e] for e in edges) / result["samples"]


def mean_and_spread(values):
    return statistics.mean(values), (statistics.stdev(values) if len(values) > 1 else 0.0)


def table(rows_by_arm):
    base_loss = statistics.mean(r["logloss"] for r in rows_by_arm[0][2])
    base_bytes = statistics.mean(bytes_per_sample(r, EDGES) for r in rows_by_arm[0][2])
    lines = [
        "| arm | seeds | log-loss | against plain | AUC | NE | request | reply | push | dense | control | bytes/sample | fewer | samples/s |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name, _, results in rows_by_arm:
        loss, loss_spread = mean_and_spread([r["logloss"] for r in results])
        auc, auc_spread = mean_and_spread([r["auc"] for r in results])
        ne, _ = mean_and_spread([r["ne"] for r in results])
        edges = [statistics.mean(bytes_per_sample(r, [e]) for r in results) for e in EDGES]
        total = sum(edges)
        speed = statistics.mean(r["samples_per_second"] for r in results)
        lines.append(f"| {name} | {len(results)} | {loss:.5f} ± {loss_spread:.5f} | {100 * (loss / base_loss - 1):+.3f} % | "
                     f"{auc:.5f} ± {auc_spread:.5f} | {ne:.5f} | " + " | ".join(f"{e:,.1f}" for e in edges) +
                     f" | {total:,.1f} | {base_bytes / total:.1f}x | {speed:,.0f} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, help="Criteo TSV; the last --test-rows rows are held out")
    parser.add_argument("--test-rows", type=int, default=200000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--arms", help="comma-separated; default: all")
    parser.add_argument("--set", action="append", default=[], help="a setting for every run")
    parser.add_argument("--weir", default="bazel-bin/tools/weir")
    parser.add_argument("--out", help="also write the table into this file")
    args = parser.parse_args()
    arms = [a for a in ARMS if not args.arms or a[0] in args.arms.split(",")]
    results = {name: [] for name, _, _ in arms}
    # The yardstick and the default codecs first, with all their seeds: they carry the claim.
    for group in (arms[:2], arms[2:]):
        for seed in range(1, args.seeds + 1):
            for name, _, settings in group:
                results[name].append(run(args.weir, name, settings, seed, args))
                finished = [(n, what, results[n]) for n, what, _ in arms if results[n]]
                text = table(finished) + "\n\n" + "\n".join(f"- `{n}`: {what}" for n, what, _ in finished) + "\n"
                if args.out:
                    with open(args.out, "w") as f:
                        f.write(text)
    print(text)


if __name__ == "__main__":
    sys.exit(main())
