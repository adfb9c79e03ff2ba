#!/usr/bin/env python3
"""The suites of others, and slow clients of our own, against the conformance server on both engines: a table of scores.

  make conformance                                      builds what is needed, and runs this
  tests/conformance/suites.py [--engine uring|epoll]... [--build build/release] [--only TEXT]

Code 1 when a score is below what is demanded; a suite whose program is not there fails too. Everything happens on
127.0.0.1, each suite has a time limit, and what was started is ended.
"""

import argparse
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

import differential
import proxies

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
REQUIREMENTS = pathlib.Path(__file__).with_name("requirements.txt")
REQUIREMENTS_TO_BUILD = pathlib.Path(__file__).with_name("requirements-build.txt")
VENV = proxies.VENV

SLOW_CLIENTS = 1000
SLOW_SECONDS = 5  # After the 2.5 of the good clients: the five of the server, and two bytes until it is noticed.
GOOD_RATE = 1000
SLOWDOWN_MAX = 1.5
# What slowhttptest sends, for as long as the server's limits of five seconds let it, and what is read of a file slowly.
ATTACKS = {
    "slow heads": ["-H", "-i", "1"],
    "slow bodies": ["-B", "-i", "1", "-s", "8192"],
    "many ranges": ["-R", "-a", "10", "-b", "3000"],
    "slow readers": ["-X", "-w", "512", "-y", "1024", "-n", "5", "-z", "32", "-k", "3"],
}


class Failed(Exception):
    """Why a suite has no score."""


@contextlib.contextmanager
def serving(build, engine, *arguments):
    """The server, its two ports, in a folder of its own; it must end well."""
    with tempfile.TemporaryDirectory(prefix="keel-conformance-") as folder:
        log = open(f"{folder}/log", "w+")
        server = subprocess.Popen(
            [build / "tests/conformance/server", "--port", "0", "--describe-port", "0", "--engine", engine,
             *arguments],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True)
        try:
            line = server.stdout.readline()
            ports = re.search(r"port (\d+), describing on port (\d+), engine (\w+)", line)
            if not ports or ports[3] != engine:
                raise Failed(f"no server on {engine}: {line.strip() or pathlib.Path(log.name).read_text()[-300:]}")
            yield int(ports[1])
            server.send_signal(signal.SIGTERM)
            if server.wait(timeout=30) != 0:
                raise Failed(f"the server ended with {server.returncode}: {pathlib.Path(log.name).read_text()[-300:]}")
        finally:
            if server.poll() is None:
                server.kill()
                server.wait()
            log.close()


def run(command, seconds, **options):
    if shutil.which(command[0]) is None:
        raise Failed(f"{command[0]} is not installed: scripts/setup conformance")
    try:
        return subprocess.run(command, capture_output=True, timeout=seconds, **options)
    except subprocess.TimeoutExpired:
        raise Failed(f"{command[0]} took more than {seconds} s") from None


def fetch(port, path, accept="*/*"):
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers={"Accept": accept})
    with urllib.request.urlopen(request, timeout=10) as answer:
        return answer.read().decode(), answer.headers["Content-Type"]


# --- The suites: each gives (score, whether it is enough, what is demanded).


def own_tests(build, engine, _port):
    """Vectors, JSONTestSuite and the seeds of fuzzers, by the server that the test itself starts."""
    with tempfile.TemporaryDirectory() as folder:
        report = f"{folder}/report.json"
        done = run([
            str(build / "tests/conformance/conformance_test"), f"--gtest_filter=*/{engine}", "--gtest_brief=1",
            f"--gtest_output=json:{report}"
        ], 300, cwd=folder)
        if not os.path.exists(report):
            raise Failed(done.stdout.decode()[-300:])
        tests = [test for suite in json.load(open(report))["testsuites"] for test in suite["testsuite"]]
    skipped = [test["name"].split("/")[0] for test in tests if test["result"] == "SKIPPED"]
    failed = [test["name"] for test in tests if "failures" in test]
    score = f"{len(tests) - len(failed) - len(skipped)} of {len(tests)}"
    return score + (f", skipped: {', '.join(skipped)}" if skipped else ""), not failed and bool(tests), "0 failed"


def promtool(_build, _engine, port):
    text, _ = fetch(port, "/metrics")
    done = run(["promtool", "check", "metrics"], 30, input=text.encode())
    lines = (done.stdout + done.stderr).decode().splitlines()
    return f"{len(lines)} complaints of {len(text.splitlines())} lines", done.returncode == 0 and not lines, "0 complaints"


def samples_read(port, accept, parser):
    """What a parser of prometheus_client reads of /metrics."""
    text, _ = fetch(port, "/metrics", accept)
    script = (f"import sys; from prometheus_client.{parser} import text_string_to_metric_families as parse; "
              "print(sum(len(family.samples) for family in parse(sys.stdin.read())))")
    done = run([str(VENV / "bin/python"), "-c", script], 60, input=text.encode())
    demand = "all samples read"
    if done.returncode != 0:
        return done.stderr.decode().strip().splitlines()[-1], False, demand
    samples = sum(1 for line in text.splitlines() if line and not line.startswith("#"))
    return f"{int(done.stdout)} of {samples} samples", int(done.stdout) == samples, demand


def prometheus_client(_build, _engine, port):
    return samples_read(port, "text/plain", "parser")


def open_metrics(_build, _engine, port):
    return samples_read(port, "application/openmetrics-text", "openmetrics.parser")


def redbot(_build, _engine, port):
    bad = []
    notes = 0
    for path in ("/static/x", "/echo", "/json", "/live"):
        done = run([str(VENV / "bin/redbot"), "-o", "har", f"http://127.0.0.1:{port}{path}"], 60)
        if done.returncode != 0:
            raise Failed(done.stderr.decode()[-300:])
        for entry in json.loads(done.stdout)["log"]["entries"]:
            notes += len(entry["_red_messages"])
            bad += [f"{path}: {note['summary']}" for note in entry["_red_messages"] if note["level"] == "BAD"]
    return f"{len(bad)} bad of {notes} notes" + "".join(f"; {text}" for text in bad), notes > 0 and not bad, "0 bad"


def slowhttptest(build, _engine, port):
    results = []
    for name, options in ATTACKS.items():
        done = run(["slowhttptest", "-c", "1000", "-r", "1000", "-l", "9", "-x", "24", "-p", "3", "-t", "GET"] + options +
                   ["-u", f"http://127.0.0.1:{port}/static/{'big' if name == 'slow readers' else 'x'}"], 40)
        text = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout.decode(errors="replace"))
        states = re.findall(r"service available:\s+(\w+)", text)
        if not states:
            raise Failed(f"slowhttptest said nothing of the service: {text[-200:]}")
        # What sends slowly is ended by the header's and the body's time; who reads slowly may take its time.
        over = name == "slow readers" or "No open connections left" in text
        results.append((name, all(state == "YES" for state in states) and over))
    wrong = [name for name, good in results if not good]
    score = f"{len(results) - len(wrong)} of {len(results)} attacks"
    return score + (f", not: {', '.join(wrong)}" if wrong else ""), not wrong, "all served beside, all ended"


def others(build, _engine, port):
    """Nothing is accepted that most other servers refuse."""
    vectors = run([str(build / "tests/conformance/print_vectors")], 30).stdout.decode()
    try:
        bold, needless, strict, names = differential.compare(port, vectors)
    except differential.NotThere as error:
        raise Failed(str(error)) from None
    score = f"{len(bold)} of {len(vectors.splitlines()) - 1} accepted alone, {len(strict)} refused alone"
    if bold:
        score += f"; accepted: {', '.join(bold)}"
    if needless:
        score += f"; excused for nothing: {', '.join(needless)}"
    return score, not bold and not needless, f"0 accepted alone; beside {', '.join(names)}"


def behind_proxies(build, engine, _port):
    """Nothing that a client makes up passes the proxies of docs/proxies.md; without their fields everything does."""
    with serving(build, engine, "--forwarded-by", "x_forwarded") as port:
        try:
            wrong = {
                name: proxies.complaints_about(name, proxies.blocks(language)[0], port)
                for name, language in proxies.LANGUAGES.items()
            }
            control = proxies.complaints_about("nginx", proxies.NGINX_WITHOUT_FIELDS, port)
        except differential.NotThere as error:
            raise Failed(str(error)) from None
    told = [f"{name}: {', '.join(those)}" for name, those in wrong.items() if those]
    score = "; ".join(told) or f"0 complaints; {len(control)} without the fields"
    return score, not told and len(control) >= len(proxies.FIELDS), "0 complaints"


def upgraded_behind_proxies(_build, _engine, _port):
    """A WebSocket reaches the service, with its Host and Origin, and bytes then pass in both directions."""
    try:
        wrong = {
            name: proxies.complaints_about_upgrade(name, proxies.blocks(language)[0])
            for name, language in proxies.LANGUAGES.items()
        }
    except differential.NotThere as error:
        raise Failed(str(error)) from None
    told = [f"{name}: {', '.join(those)}" for name, those in wrong.items() if those]
    return "; ".join(told) or f"0 complaints; {', '.join(wrong)}", not told, "0 complaints"


def behind_proxy_protocol(build, engine, _port):
    """The PROXY protocol, versions 1 and 2, names the client, and what the client makes up is not believed."""
    with serving(build, engine, "--forwarded-by", "x_forwarded", "--proxy-protocol", "true") as port:
        try:
            wrong = {version: proxies.complaints_about_header(version, port)
                     for version in ("send-proxy", "send-proxy-v2")}
        except differential.NotThere as error:
            raise Failed(str(error)) from None
        is_closed = proxies.is_closed_without_header(port)
    told = [f"{version}: {', '.join(those)}" for version, those in wrong.items() if those]
    if not is_closed:
        told.append("served without a header")
    return "; ".join(told) or "0 complaints", not told, "0 complaints"


def continued_behind_proxies(build, _engine, port):
    """A body that waits for 100 (Continue) reaches a handler that streams its response while it reads."""
    try:
        wrong = {
            name: proxies.continued(name, proxies.blocks(language)[0], port)
            for name, language in proxies.LANGUAGES.items()
        }
    except differential.NotThere as error:
        raise Failed(str(error)) from None
    whole = ", ".join(f"{name} {proxies.CONTINUED_TIMES - len(those)}" for name, those in wrong.items())
    told = "".join(f"; {name}: {those[0]}" for name, those in wrong.items() if those)
    return f"of {proxies.CONTINUED_TIMES} each: {whole}{told}", not any(wrong.values()), "all of them whole"


def memcheck(build, _engine, _port):
    """Nothing that was not written is sent: files and streams of the simulation, whose disk gives less than is asked
    for. valgrind knows neither io_uring nor openat2(2)."""
    ran = []
    for test in ("http_static_files_test", "http_compression_stream_test"):
        done = run(["valgrind", "-q", "--error-exitcode=99", str(build / "src/keel/http" / test),
                    "--gtest_filter=*/sim", "--gtest_brief=1"], 300)
        passed = re.search(r"PASSED  \] (\d+) test", done.stdout.decode())
        if done.returncode != 0 or not passed or passed[1] == "0":
            return f"{test}: {(done.stderr + done.stdout).decode()[-500:]}", False, "0 errors"
        ran.append(int(passed[1]))
    return f"0 errors in {sum(ran)} tests", True, "0 errors"


@contextlib.contextmanager
def beside_slow_clients(port):
    """Those of the lab, while the block runs; gives a list that then has what they did."""
    process = subprocess.Popen([sys.executable, str(ROOT / "bench/keel_lab/slow_clients.py"), str(port), str(SLOW_CLIENTS)],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    told = []
    try:
        if process.stdout.readline() != "ready\n":
            raise Failed(f"{SLOW_CLIENTS} slow clients did not connect")
        yield told
        told.append(json.loads(process.communicate("", timeout=30)[0]))
    finally:
        process.kill()
        process.wait()


def slow_clients(build, _engine, port):
    """p99 of 64 good clients in an open loop, alone and beside the slow ones, in turns."""

    def p99():
        with tempfile.NamedTemporaryFile(suffix=".json") as report:
            done = run([
                str(build / "tools/keel/keel"), "load", f"http://127.0.0.1:{port}/static/x", "--rate",
                str(GOOD_RATE), "--connections", "64", "--duration", "2s", "--warmup", "500ms", "--json", report.name
            ], 30)
            if done.returncode != 0:
                raise Failed(f"good clients were not served: {done.stdout.decode()[-300:]}{done.stderr.decode()[-300:]}")
            return json.load(open(report.name))["latency"]["percentiles"]["99"]

    ratios = []
    ended = 0
    for turn in range(5):
        alone = p99() if turn % 2 == 0 else None
        with beside_slow_clients(port) as told:
            beside = p99()
            time.sleep(SLOW_SECONDS)  # The server ends each of them after the header's time.
        ended += told[0]["reconnected"]
        ratios.append(beside / (alone if alone is not None else p99()))
    ratio = statistics.median(ratios)
    score = f"p99 x {ratio:.2f} beside {SLOW_CLIENTS:,} slow clients, {ended:,} of them ended"
    return score, ratio <= SLOWDOWN_MAX and ended > 0, f"at most x {SLOWDOWN_MAX}"


SUITES = {
    "own vectors, JSONTestSuite, fuzz seeds": own_tests,
    "differential": others,
    "behind nginx, HAProxy and Envoy": behind_proxies,
    "PROXY protocol of HAProxy": behind_proxy_protocol,
    "upgrade behind these proxies": upgraded_behind_proxies,
    "100 Continue behind these proxies": continued_behind_proxies,
    "valgrind": memcheck,
    "promtool": promtool,
    "prometheus_client": prometheus_client,
    "prometheus_client, OpenMetrics": open_metrics,
    "REDbot": redbot,
    "slowhttptest": slowhttptest,
    "slow clients": slow_clients,
}


def install_packages():
    stamp = VENV / "requirements.txt"
    wanted = REQUIREMENTS_TO_BUILD.read_text() + REQUIREMENTS.read_text()
    if stamp.exists() and stamp.read_text() == wanted:
        return
    subprocess.run([sys.executable, "-m", "venv", "--clear", VENV], check=True)
    # Nothing is installed that is not one of the files that were looked at, nor to make a wheel.
    install = [VENV / "bin/pip", "install", "-q", "--disable-pip-version-check", "--require-hashes"]
    subprocess.run([*install, "--only-binary=:all:", "-r", REQUIREMENTS_TO_BUILD], check=True)
    subprocess.run([*install, "--use-pep517", "--no-build-isolation", "-r", REQUIREMENTS], check=True)
    stamp.write_text(wanted)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", action="append", choices=["uring", "epoll"])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--only", default="", help="suites whose name contains this")
    options = parser.parse_args()
    install_packages()
    rows = []
    for engine in options.engine or ["uring", "epoll"]:
        for name, suite in SUITES.items():
            if options.only.lower() not in name.lower():
                continue
            began = time.monotonic()
            try:
                with serving(options.build.resolve(), engine) as port:
                    score, good, demand = suite(options.build.resolve(), engine, port)
            except (Failed, OSError) as error:
                score, good, demand = str(error), False, "a score"
            rows.append((engine, name, score, demand, good))
            print(f"{engine:6} {name:40} {'met   ' if good else 'MISSED'} {score} ({demand}; "
                  f"{time.monotonic() - began:.0f} s)", flush=True)
    missed = sum(not row[4] for row in rows)
    print(f"{len(rows) - missed} of {len(rows)} scores met")
    return 1 if missed or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
