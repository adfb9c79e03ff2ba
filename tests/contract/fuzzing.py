"""schemathesis against services that are made from a contract: all checks, all phases."""

import contextlib
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
VENV = ROOT / "build/contract-venv"
REQUIREMENTS = pathlib.Path(__file__).with_name("requirements.txt")


class Failed(Exception):
    """Why a suite has no score."""


def install():
    """The packages of requirements.txt."""
    for command in ([sys.executable, "-m", "venv", VENV],
                    [VENV / "bin/pip", "install", "--quiet", "--require-hashes", "-r", REQUIREMENTS]):
        if command[0] == sys.executable and (VENV / "bin/pip").exists():
            continue
        done = subprocess.run(command, text=True, capture_output=True, timeout=600, check=False)
        if done.returncode != 0:
            raise Failed(f"Python's packages: {(done.stderr or done.stdout).strip()[-300:]}")


@contextlib.contextmanager
def served(program, config, bug=None):
    """The URL of a service with a database of its own, on a free port."""
    with tempfile.TemporaryDirectory() as folder:
        log = pathlib.Path(folder) / "log"
        command = [program, "--config", config, "--network.http.port=0", "--monitoring.metrics.export_port=0",
                   f"--database.path={folder}/test.db"]
        environment = {**os.environ, **({"PLANTED_BUG": bug} if bug else {})}
        with log.open("w") as out, subprocess.Popen(command, cwd=ROOT, env=environment, stdout=out,
                                                    stderr=subprocess.STDOUT) as service:
            try:
                yield address(service, log)
                if service.poll() is not None:
                    raise Failed(f"the service has ended: {log.read_text()[-300:]}")
            finally:
                service.send_signal(signal.SIGTERM)
                service.wait(timeout=20)


def address(service, log):
    """Where it says that it serves."""
    for _ in range(200):
        found = re.search(r"service +(http://\S+)", log.read_text())
        if found:
            return found[1]
        if service.poll() is not None:
            break
        time.sleep(0.05)
    raise Failed(f"the service does not start: {log.read_text()[-300:]}")


def run(url, seed, examples):
    """The kinds of the failures that are found, the phases that were run, and how many requests it took."""
    with tempfile.TemporaryDirectory() as folder:  # It writes where it runs.
        done = subprocess.run(
            [VENV / "bin/st", "run", f"{url}/openapi.json", "--checks", "all", "--max-examples", str(examples),
             "--seed", str(seed), "--no-color", "--workers", "1", "--generation-database", "none"], cwd=folder,
            text=True, capture_output=True, timeout=3600, check=False)
    requests = re.search(r"(\d+) generated", done.stdout)
    if requests is None or done.returncode not in (0, 1):
        raise Failed((done.stdout + done.stderr)[-500:])
    failures = re.findall(r"^- (?:ST\d+ )?(.+)$", done.stdout, re.MULTILINE)
    if done.returncode == 1 and not failures:
        raise Failed(done.stdout[-500:])
    phases = re.findall(r"^ +✅ +(Examples|Coverage|Fuzzing|Stateful)", done.stdout, re.MULTILINE)
    return failures, set(phases), int(requests[1])
