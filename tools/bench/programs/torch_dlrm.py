#!/usr/bin/python3
"""Samples/s of the paper's DLRM in PyTorch on this machine, batch 2,048: {"samples_per_second": ...}, the best of 1 and 2 threads and of two
choices of OpenBLAS' kernels: its own, and those for AVX-512, which it does not take by itself on processors newer than it is.

The model of examples/demo.yaml: bottom 13-512-256-64-16, pairwise dots of 27 vectors, top 367-512-256-1; 26 tables of 16, EmbeddingBag with
sparse gradients, SGD. Batches are tensors before the clock starts. jemalloc without decay.
"""
import json
import os
import subprocess
import sys
import time

NOT_INSTALLED = 3
BATCH = 2048
DIM = 16
TABLES = 26
ROWS = 250_000  # of a table
BATCHES = 8
JEMALLOC = "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2"


def mlp(torch, widths, last_relu):
    layers = []
    for i in range(len(widths) - 1):
        layers.append(torch.nn.Linear(widths[i], widths[i + 1]))
        if last_relu or i + 2 < len(widths):
            layers.append(torch.nn.ReLU())
    return torch.nn.Sequential(*layers)


def train(threads):
    import torch
    torch.manual_seed(1)
    torch.set_num_threads(threads)
    bottom, top = mlp(torch, [13, 512, 256, 64, DIM], True), mlp(torch, [TABLES * (TABLES + 1) // 2 + DIM, 512, 256, 1], False)
    tables = [torch.nn.EmbeddingBag(ROWS, DIM, mode="sum", sparse=True) for _ in range(TABLES)]
    parameters = [p for module in [bottom, top, *tables] for p in module.parameters()]
    optimizer = torch.optim.SGD(parameters, lr=0.01)
    loss_of = torch.nn.BCEWithLogitsLoss()
    offsets = torch.arange(BATCH)
    rows, columns = torch.tril_indices(TABLES + 1, TABLES + 1, offset=-1)
    # Ids as skewed as those of generated rows.
    batches = [(torch.rand(BATCH, 13), [(ROWS * torch.rand(BATCH) ** 3).long() for _ in range(TABLES)], torch.randint(0, 2, (BATCH, 1)).float())
               for _ in range(BATCHES)]

    def step(dense, ids, labels):
        x = bottom(dense)
        vectors = torch.stack([x] + [table(i, offsets) for table, i in zip(tables, ids)], dim=1)
        dots = torch.bmm(vectors, vectors.transpose(1, 2))[:, rows, columns]
        loss = loss_of(top(torch.cat([x, dots], dim=1)), labels)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()

    for batch in batches:
        step(*batch)
    best = 0.0
    for _ in range(4):
        start = time.perf_counter()
        for batch in batches:
            step(*batch)
        best = max(best, BATCH * BATCHES / (time.perf_counter() - start))
    return best


def main():
    if len(sys.argv) > 1:
        json.dump(train(int(sys.argv[1])), sys.stdout)
        return
    if subprocess.run([sys.executable, "-c", "import torch"], stderr=subprocess.DEVNULL).returncode != 0:
        sys.stderr.write("PyTorch is not installed: tools/bench_peers installs it\n")
        sys.exit(NOT_INSTALLED)
    environment = {name: value for name, value in os.environ.items() if name not in ("OPENBLAS_CORETYPE", "OMP_NUM_THREADS")}
    if os.path.exists(JEMALLOC):
        environment.update(LD_PRELOAD=JEMALLOC, MALLOC_CONF="dirty_decay_ms:-1,muzzy_decay_ms:-1")
    with open("/proc/cpuinfo") as f:
        kernels = ["", "SKYLAKEX"] if "avx512f" in f.read() else [""]
    rates = {}
    for threads in (1, 2):
        for kernel in kernels:
            chosen = dict(environment, OPENBLAS_CORETYPE=kernel) if kernel else environment
            words = [sys.executable, __file__, str(threads)]
            output = subprocess.run(words, check=True, stdout=subprocess.PIPE, env=chosen).stdout
            rates[f"{threads} {kernel or 'own'}"] = json.loads(output)
    json.dump({"samples_per_second": max(rates.values()), "settings": rates, "jemalloc": "LD_PRELOAD" in environment}, sys.stdout)


main()
