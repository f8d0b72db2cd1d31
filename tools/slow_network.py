#!/usr/bin/env python3
"""What compression is worth on a network: one job on hosts with limited links, by codec settings. Needs root (network namespaces).

    tools/slow_network.py --data FILE [--rates 100mbit,1gbit] [--shapes 1x2,2x4] [--arms plain,fp16,default,change,frugal]
                          [--rows 1000000] [--test-rows 100000] [--target 0.52] [--out TABLE.md]

Every process of a job gets a host of its own (tools/netlab): the coordinator, servers x workers of --shapes. A rate bounds what each host sends.
Time to target: until the training log-loss (each sample is predicted before it is learnt), averaged over the last 200,000 samples, is first at
or below --target. Prints a Markdown table; runs/slow-network/ keeps every run, and one that has its result.json is not run again.
"""
import argparse
import json
import os
import subprocess
import sys
import time

from quality_table import ARMS

WINDOW = 200_000  # samples


def netlab(*words):
    subprocess.run(["tools/netlab", *words], check=True, stdout=subprocess.DEVNULL)


def address(host):
    return f"10.77.0.{10 + host}"


def write_job(folder, arm_settings, shape, args):
    servers, workers = shape
    steps = args.rows // 2048 // 2
    sets = [f"name={os.path.basename(folder)}", "output.dir=runs/slow-network", f"data.train=[{os.path.abspath(args.data)}]",
            f"data.test_last_rows={args.test_rows}", f"data.train_rows_max={args.rows}", f"cluster.servers={servers}",
            f"cluster.workers={workers}", "output.metrics_every_seconds=0.5",
            f"training.schedule={{decay_start: {steps}, decay_steps: {steps}}}"] + arm_settings
    command = [os.path.join(args.bin_dir, "tools/weir"), "job", "examples/demo.yaml"] + [word for s in sets for word in ("--set", s)]
    with open(os.path.join(folder, "job.yaml"), "w") as f:
        subprocess.run(command, check=True, stdout=f)


def start(host, binary, folder, name, *words):
    with open(os.path.join(folder, "logs", name + ".log"), "w") as log:
        return subprocess.Popen(["tools/netlab", "exec", str(host), binary, "--listen", address(host) + ":0", *words], stdout=log, stderr=log)


def run_job(folder, shape, args):
    """Starts the processes, each on its host, and waits for them; the coordinator writes the run folder."""
    servers, workers = shape
    address_file = os.path.join(folder, "coordinator.address")
    processes = [start(0, os.path.join(args.bin_dir, "server/coordinator/weir-coordinator"), folder, "coordinator",
                       "--job", os.path.join(folder, "job.yaml"), "--run-dir", folder, "--address-file", address_file)]
    deadline = time.monotonic() + 30
    while not os.path.exists(address_file) or os.path.getsize(address_file) == 0:
        if time.monotonic() > deadline or processes[0].poll() is not None:
            raise RuntimeError(f"the coordinator did not start; see {folder}/logs/coordinator.log")
        time.sleep(0.05)
    with open(address_file) as f:
        coordinator = f.read().strip()
    names = [("server/weir-server", f"server-{i}") for i in range(servers)] + [("worker/weir-worker", f"worker-{i}") for i in range(workers)]
    for host, (binary, name) in enumerate(names, start=1):
        processes.append(start(host, os.path.join(args.bin_dir, binary), folder, name, "--coordinator", coordinator))
    for process, (_, name) in zip(processes, [("", "coordinator")] + names):
        if process.wait() != 0:
            raise RuntimeError(f"{name} ended with {process.returncode}; see {folder}/logs/{name}.log")


def seconds_to_target(folder, target):
    """A line of metrics.jsonl has the mean log-loss of the samples since the line before."""
    points = [(0, 0.0)]  # samples, sum of their log-loss
    with open(os.path.join(folder, "metrics.jsonl")) as f:
        for line in f:
            point = json.loads(line)
            samples, total = points[-1]
            if point["samples"] == samples or point["logloss"] is None:
                continue
            points.append((point["samples"], total + point["logloss"] * (point["samples"] - samples)))
            old = next(p for p in reversed(points) if p[0] <= max(0, points[-1][0] - WINDOW))
            if points[-1][0] >= WINDOW and (points[-1][1] - old[1]) / (points[-1][0] - old[0]) <= target:
                return point["seconds"]
    return None


def measure(arm, rate, shape, args):
    name = f"{arm[0]}-{rate}-{shape[0]}x{shape[1]}"
    folder = os.path.join("runs", "slow-network", name)
    if not os.path.exists(os.path.join(folder, "result.json")):
        print(name, file=sys.stderr)
        subprocess.run(["rm", "-rf", folder], check=True)
        os.makedirs(os.path.join(folder, "logs"))
        write_job(folder, arm[2], shape, args)
        netlab("up", str(1 + sum(shape)), rate)
        try:
            run_job(folder, shape, args)
        finally:
            netlab("down")
    with open(os.path.join(folder, "result.json")) as f:
        result = json.load(f)
    return result, seconds_to_target(folder, args.target)


def table(rows):
    lines = ["| link | servers x workers | arm | time to target | against plain | samples/s | bytes/sample | held-out log-loss |",
             "|---|---|---|---|---|---|---|---|"]
    plain = {(rate, shape): seconds for rate, shape, arm, _, seconds in rows if arm == "plain"}
    for rate, shape, arm, result, seconds in rows:
        sent = sum(result["wire_bytes"].values()) - sum(result["wire_bytes_evaluation"].values())
        base = plain.get((rate, shape))
        reached = f"{seconds:.1f} s" if seconds else "not reached"
        ratio = f"{base / seconds:.1f}x" if base and seconds else "-"
        lines.append(f"| {rate} | {shape[0]} x {shape[1]} | {arm} | {reached} | {ratio} | {result['samples_per_second']:,.0f} | "
                     f"{sent / result['samples']:,.0f} | {result['logloss']:.5f} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, help="Criteo TSV; the last --test-rows rows are held out")
    parser.add_argument("--rates", default="100mbit,1gbit")
    parser.add_argument("--shapes", default="1x2,2x4", help="servers x workers")
    parser.add_argument("--arms", default="plain,fp16,default,change,frugal", help="names of tools/quality_table.py")
    parser.add_argument("--rows", type=int, default=1_000_000, help="to train on")
    parser.add_argument("--test-rows", type=int, default=100_000)
    parser.add_argument("--target", type=float, default=0.52, help="training log-loss")
    parser.add_argument("--bin-dir", default="bazel-bin")
    parser.add_argument("--out", help="also write the table into this file")
    args = parser.parse_args()
    arms = {arm[0]: arm for arm in ARMS}
    rows = []
    for shape in [tuple(int(n) for n in s.split("x")) for s in args.shapes.split(",")]:
        for rate in args.rates.split(","):
            for arm in args.arms.split(","):
                result, seconds = measure(arms[arm], rate, shape, args)
                rows.append((rate, shape, arm, result, seconds))
                if args.out:
                    with open(args.out, "w") as f:
                        f.write(table(rows) + "\n")
    print(table(rows))


if __name__ == "__main__":
    sys.exit(main())
