#!/usr/bin/env python3
"""Checks keel load against wrk, and h2load where it is installed: the same server, in interleaved pairs.

  tools/keel/load/cross_check.py --build build/release [--pairs 5] [--seconds 3] [--server-core 0] [--client-core 1]

Two questions. Do the clients count the same, where the server is the bound (bench_beast)? What does a request cost the
client, where the server is cheap (bench_raw_epoll)? CPU time is that of the whole client process, by the system's own
account, start included; the count is what the client says. Ends with 1 when the counts differ by more than 3 % or keel
load costs more than 0.7 of wrk.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import socket
import statistics
import subprocess
import sys
import time

CONNECTIONS = 64
COUNT_MARGIN = 0.03
CPU_BOUND = 0.70


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(port, seconds=5):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.01)
    sys.exit(f"cross_check: nothing answers at port {port}")


def run(command, core):
    """(output, CPU seconds) of one client."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               preexec_fn=lambda: os.sched_setaffinity(0, {core}))
    out, err = process.stdout.read(), process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"cross_check: {' '.join(command)} ended with {process.returncode}:\n{out}{err}")
    return out, usage.ru_utime + usage.ru_stime


def keel(engine):
    def measure(program, url, seconds, core):
        out, cpu = run([program, "load", url, f"--connections={CONNECTIONS}", f"--duration={seconds}s", "--warmup=0s",
                        f"--cores={core}", f"--engine={engine}", "--json=-"], core)
        report = json.loads(out)
        return report["requests"], report["achieved"], cpu
    return measure


def wrk(program, url, seconds, core):
    out, cpu = run([program, "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", url], core)
    if "Non-2xx" in out or "Socket errors" in out:
        sys.exit(f"cross_check: wrk met errors:\n{out}")
    count = int(re.search(r"(\d+) requests in", out).group(1))
    return count, float(re.search(r"Requests/sec:\s*([\d.]+)", out).group(1)), cpu


def h2load(program, url, seconds, core):
    out, cpu = run([program, "--h1", "-t1", f"-c{CONNECTIONS}", "-D", str(seconds), url], core)
    count = int(re.search(r"(\d+) succeeded", out).group(1))
    return count, count / seconds, cpu


def compare(server, clients, options):
    """{client: [(rate, CPU microseconds per request), ...]}, a new server for each pair, the order turned each time."""
    results = {name: [] for name in clients}
    for pair in range(options.pairs):
        port = free_port()
        process = subprocess.Popen([str(server), f"--port={port}"], stdout=subprocess.DEVNULL,
                                   preexec_fn=lambda: os.sched_setaffinity(0, {options.server_core}))
        try:
            wait_for(port)
            for name in sorted(clients, reverse=pair % 2 == 1):
                program, measure = clients[name]
                count, rate, cpu = measure(program, f"http://127.0.0.1:{port}/plaintext", options.seconds,
                                           options.client_core)
                results[name].append((rate, cpu / count * 1e6))
                print(f"    {server.name:16} pair {pair + 1:2}  {name:11} {rate:10,.0f}/s   "
                      f"{cpu / count * 1e6:6.2f} us", flush=True)
        finally:
            process.terminate()
            process.wait()
    return results


def ratios(results, name, base, index):
    return [ours[index] / theirs[index] for ours, theirs in zip(results[name], results[base])]


def show(what, values, target, is_met):
    print(f"  {what:46} median {statistics.median(values):5.3f}   {min(values):5.3f} to {max(values):5.3f}"
          f"   {target}: {'met' if is_met else 'missed'}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build/release"))
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--server-core", type=int, default=0)
    parser.add_argument("--client-core", type=int, default=1)
    options = parser.parse_args()

    program = str(options.build / "tools/keel/keel")
    wrk_program = shutil.which("wrk")
    if wrk_program is None:
        sys.exit("cross_check: wrk is not installed (scripts/setup bench)")
    clients = {"keel uring": (program, keel("uring")), "keel epoll": (program, keel("epoll")),
               "wrk": (wrk_program, wrk)}
    if (h2load_program := shutil.which("h2load")) is not None:
        clients["h2load"] = (h2load_program, h2load)
    else:
        print("h2load is not installed (Debian: nghttp2-client): left out")

    passed = True
    counts = compare(options.build / "bench/bench_beast", clients, options)
    costs = compare(options.build / "bench/bench_raw_epoll", clients, options)
    print("\nClients against wrk")
    for name in ("keel uring", "keel epoll"):
        values = ratios(counts, name, "wrk", 0)
        is_met = abs(statistics.median(values) - 1) <= COUNT_MARGIN
        show(f"{name}: answers per second, server bound", values, "within 0.03 of 1", is_met)
        passed = passed and is_met
    if "h2load" in clients:
        values = ratios(counts, "keel uring", "h2load", 0)
        show("keel uring: the same, against h2load", values, "within 0.03 of 1",
             abs(statistics.median(values) - 1) <= COUNT_MARGIN)
    values = ratios(costs, "keel uring", "wrk", 1)
    is_met = statistics.median(values) <= CPU_BOUND
    show("keel uring: CPU per request, client bound", values, f"at most {CPU_BOUND}", is_met)
    passed = passed and is_met
    values = ratios(costs, "keel epoll", "wrk", 1)
    show("keel epoll: the same", values, f"at most {CPU_BOUND}", statistics.median(values) <= CPU_BOUND)
    sys.exit(0 if passed else 1)


if __name__ == "__main__":
    main()
