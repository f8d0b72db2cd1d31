#!/usr/bin/python3
"""Rows/s of Redis MGET, one core for the server and one for the client, at the best of three shapes: {"rows_per_second": ...}.

2 million keys of 64 bytes; redis-benchmark draws them at random. Shapes: 26 keys a command and 64 commands in flight, 64 and 32,
2,048 and 4. Server and client speak over loopback TCP, as Weir's do.
"""
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time

NOT_INSTALLED = 3
KEYS = 2_000_000
VALUE_BYTES = 64
SHAPES = [(26, 64), (64, 32), (2048, 4)]
KEYS_A_SHAPE = 4_000_000


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def fill(port):
    """Through redis-cli --pipe, in Redis's protocol, with the names that redis-benchmark draws: 12 digits."""
    pipe = subprocess.Popen(["redis-cli", "-p", str(port), "--pipe"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    value = b"x" * VALUE_BYTES
    for first in range(0, KEYS, 10_000):
        pipe.stdin.write(b"".join(b"*3\r\n$3\r\nSET\r\n$12\r\n%012d\r\n$%d\r\n%b\r\n" % (key, VALUE_BYTES, value)
                                  for key in range(first, first + 10_000)))
    pipe.stdin.close()
    if pipe.wait() != 0:
        raise RuntimeError("redis-cli --pipe failed")


def measure(port, core, keys, in_flight):
    commands = max(KEYS_A_SHAPE // keys, in_flight * 4)
    words = ["taskset", "-c", str(core), "redis-benchmark", "-p", str(port), "-c", "1", "-P", str(in_flight), "-r", str(KEYS), "-n", str(commands),
             "--csv", "MGET"] + ["__rand_int__"] * keys
    lines = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout.strip().splitlines()
    return float(re.findall(r'"([0-9.]+)"', lines[-1])[0]) * keys


def main():
    if not shutil.which("redis-server") or not shutil.which("redis-benchmark"):
        sys.stderr.write("Redis is not installed: tools/bench_peers installs it\n")
        sys.exit(NOT_INSTALLED)
    cores = sorted(os.sched_getaffinity(0))
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        server = subprocess.Popen(["taskset", "-c", str(cores[-1]), "redis-server", "--port", str(port), "--save", "", "--dir", folder,
                                   "--bind", "127.0.0.1"], stdout=subprocess.DEVNULL)
        try:
            while subprocess.run(["redis-cli", "-p", str(port), "PING"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode != 0:
                if server.poll() is not None:
                    raise RuntimeError("redis-server ended")
                time.sleep(0.05)
            fill(port)
            rates = {f"{keys} keys, {in_flight} in flight": max(measure(port, cores[0], keys, in_flight) for _ in range(3))
                     for keys, in_flight in SHAPES}
        finally:
            server.terminate()
            server.wait()
    json.dump({"rows_per_second": max(rates.values()), "shapes": rates}, sys.stdout)


main()
